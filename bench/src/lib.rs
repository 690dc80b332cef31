//! Benchmarks and tools for those who develop solvers: the binary `remat-bench`, criterion
//! micro-benchmarks under `benches/`, recorded runs under `results/`.
//!
//! | module | concept |
//! |---|---|
//! | [`arguments`] | arguments of the command line |
//! | [`export`] | compact programs as files, for other solvers |
//! | [`fetch`] | data of others: downloads, and checks of hashes |
//! | [`figures`] | pictures and tables of pages, from recorded results |
//! | [`library`] | the benchmark library: programs, index, runs of solvers, tables |
//! | [`others`] | other solvers, as separate processes |
//! | [`reduce`](mod@reduce) | small models that still make a program fail |
//! | [`part`] | generated parts of pages |
//! | [`planted`] | models drawn around known points |
//! | [`profile`] | performance profiles as pictures |
//! | the others | one comparison each |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod arguments;
mod bars;
pub mod checkmate;
pub mod clock;
mod csv;
mod curve;
pub mod export;
pub mod fetch;
pub mod figures;
#[cfg(feature = "highs")]
pub mod highs;
pub mod library;
pub mod metamorphic;
pub mod mip;
pub mod mip_report;
pub mod monet;
pub mod netlib;
pub mod offload;
pub mod optimum;
pub mod order;
pub mod others;
pub mod part;
pub mod pipeline;
pub mod place;
pub mod planted;
pub mod profile;
mod random;
pub mod reduce;
pub mod reorder;
pub mod run;
