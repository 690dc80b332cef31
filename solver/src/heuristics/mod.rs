//! Primal heuristics.

mod diving;
pub(crate) mod neighbourhood;
mod rounding;
