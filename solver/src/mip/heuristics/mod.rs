//! Primal heuristics.

mod diving;
mod jump;
pub(crate) mod neighbourhood;
mod pump;
mod rounding;
