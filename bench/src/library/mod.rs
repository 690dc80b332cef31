//! The benchmark library: rematerialization programs as a family of mixed-integer programs, made by
//! commands, and solvers side by side on them.
//!
//! | module | concept |
//! |---|---|
//! | [`arguments`], [`command`] | the command `remat-bench library` |
//! | [`catalogue`] | families and programs, each with the command that makes it |
//! | [`index`] | hash, size, relaxation, best value and bound of every program |
//! | [`check`] | solutions judged by the model |
//! | [`results`] | a run of a solver as a line of a table |
//! | [`verdict`] | answers that contradict each other |
//! | [`summary`] | counts, means, primal integrals, performance profiles |
//! | [`page`] | the generated part of a page |
//! | [`known`] | values that are known beforehand |
//! | [`miplib`] | programs in the form in which MIPLIB takes them |
//!
//! Catalogue and index lie in `bench/library` and are built in.

pub mod arguments;
pub mod catalogue;
pub mod check;
pub mod command;
pub mod index;
pub mod known;
pub mod miplib;
pub mod page;
pub mod results;
pub mod summary;
pub mod verdict;
