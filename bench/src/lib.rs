//! Benchmarks: criterion micro-benchmarks under `benches/`, the binary `remat-bench`, recorded runs
//! under `results/`.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod bars;
pub mod checkmate;
pub mod clock;
#[cfg(feature = "highs")]
pub mod highs;
pub mod mip;
pub mod monet;
pub mod netlib;
pub mod offload;
pub mod optimum;
pub mod order;
pub mod place;
pub mod planted;
mod random;
pub mod reorder;
pub mod sequences;
