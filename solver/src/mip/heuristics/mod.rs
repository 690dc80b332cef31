//! Primal heuristics.

mod diving;
mod exchange;
mod fixing;
mod jump;
pub(crate) mod neighbourhood;
mod paths;
mod pump;
mod rounding;
mod starts;
mod violated;
