//! Plans of a step with several micro-batches in flight.
//!
//! While one micro-batch runs, each of the `k - 1` others holds what the step keeps between its two
//! passes. With `saved` bytes there, and `live(t)` bytes at a moment `t`, a plan fits a budget `B`
//! if `fixed + (k - 1) saved + live(t) <= B` at every moment.
//!
//! Checkmate's program has the term itself: a tensor that is there at a *wait node* between the
//! passes counts `k - 1` times more in every row of memory ([`waiting`](crate::waiting)). So one
//! branch, price and cut, with the same annealing, finds plan and bound.
//!
//! Other programs (MONeT's) have no such term. For a known limit `s` on `saved` they solve the
//! ordinary program twice over: the step fits the budget `B - (k - 1) s`, and the wait node takes so
//! much memory that no more than `s` stays beside it. What is best over all limits is found by
//! branch and bound over ranges `[low, high]` of `saved` (`ranges`). The limit `high` with the
//! budget `B - (k - 1) low` is a relaxation of the range: its bound holds for all plans of the
//! range. Its plan may fit as it is. Otherwise the range is divided at the bytes that this plan
//! saves, which leaves it out of both parts. The limit `s` with the budget `B - (k - 1) s` has only
//! plans that fit.

mod graph;
mod ranges;
mod search;
#[cfg(test)]
mod tests;

pub use search::InFlight;
