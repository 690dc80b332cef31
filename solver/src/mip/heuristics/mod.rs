//! Primal heuristics.

mod diving;
mod fixing;
mod jump;
pub(crate) mod neighbourhood;
mod pump;
mod rounding;
