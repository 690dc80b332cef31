//! Executes a rematerialization plan on a real device.
//!
//! This crate is the place of the executor: it will run a `remat-plan/1` operator by operator with libtorch, on CPU or
//! CUDA, measure time and peak memory, and profile operators into instances. It is not written yet; nothing in the
//! workspace depends on it so far.
#![deny(missing_docs)]
