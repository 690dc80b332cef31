//! Tests of the interface, in one binary, so that shared code is compiled once.

mod barrier;
mod changes;
mod differential;
mod endings;
mod files;
mod first_order;
mod gated;
mod netlib;
mod presolve;
mod quadratic;
mod refine;
mod robust;
mod safe_bounds;
mod spread;
mod support;
