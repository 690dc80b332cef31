//! Tests of the executor with libtorch, in one binary.

mod arena;
mod common;
mod copies;
mod models;
mod state;
mod training;
