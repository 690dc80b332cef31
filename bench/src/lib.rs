//! Benchmarks: criterion micro-benchmarks under `benches/`, recorded runs under `results/`.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
pub mod remat_lp;
