//! Plans of a step with several micro-batches in flight.
//!
//! While one micro-batch runs, each of the `k - 1` others holds what the step keeps between its two
//! passes. With `saved` bytes there, and `live(t)` bytes at a moment `t`, a plan fits a budget `B`
//! if `fixed + (k - 1) saved + live(t) <= B` at every moment.
//!
//! For a known limit `s` on `saved` this is the ordinary program twice over: the step fits the
//! budget `B - (k - 1) s`, and a node between the passes takes so much memory that no more than `s`
//! stays beside it ([`bounded`]). What is best over all limits is found by branch and bound over
//! ranges `[low, high]` of `saved`. The limit `high` with the budget `B - (k - 1) low` is a
//! relaxation of the range: its bound holds for all plans of the range. Its plan may fit as it is.
//! Otherwise the range is divided at the bytes that this plan saves, which leaves it out of both
//! parts. The limit `s` with the budget `B - (k - 1) s` has only plans that fit.

mod bounded;
mod search;
#[cfg(test)]
mod tests;

pub use search::InFlight;
