//! Sparse linear programming for branch and bound.
//!
//! This crate is the place of the LP core: a bounded dual simplex (and a primal simplex for column generation) with
//! warm starts, rows and columns added while it runs, and outcomes that carry their proof. It is not written yet;
//! nothing in the workspace depends on it so far.
#![deny(missing_docs)]
