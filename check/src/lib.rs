//! Checkers for the claims of the solvers. This crate shares no code with any solver: it depends
//! only on the crate of instances.
//!
//! | module | concept |
//! |---|---|
//! | [`order`] | proofs of bounds on the peak of orders, checked in integers |
//! | [`place`] | addresses of buffers, and bounds on their height |
//! | [`proof`] | proofs of bounds on schedules, checked in integers |
//! | [`vipr`] | certificates of mixed-integer programs, checked in rational numbers |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod order;
pub mod place;
pub mod proof;
pub mod vipr;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
