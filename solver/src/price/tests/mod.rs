//! Tests of the engine on a small made-up program.

mod nodes;
mod panics;
mod search;
mod tenants;
