//! Cross-crate tests: published schedules, brute force, malformed input, and the binary end to end.
//!
//! The tests stand in `tests/tests/`; this library holds what they share.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod brute;
pub mod graphs;
