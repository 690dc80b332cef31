//! Branch and bound for mixed-integer programs, with extension traits for domain knowledge.
//!
//! This crate is the place of the MIP core on top of `remat-lp`: tree search, cuts, presolve, branching and heuristics
//! that know nothing of tensors. It is not written yet; nothing in the workspace depends on it so far.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
