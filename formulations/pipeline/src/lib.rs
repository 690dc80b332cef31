//! Where to cut a model into pipeline stages, and what each stage recomputes, with proven bounds.
//!
//! The whole program falls apart. *Inner problems*: the least time of a stage for one micro-batch,
//! with as many micro-batches in flight as the schedule holds there. *Outer problem*: the cuts, a
//! shortest path over intervals of the forward pass for each limit on the slowest stage. Bounds and
//! plans of inner problems give a bound and a plan of the whole by the same search for paths.
//!
//! | module | concept |
//! |---|---|
//! | [`path`] | the outer problem: cuts from times of intervals |
//! | [`labels`] | cuts where every stage offers several trade-offs |
//! | `limits` | least sums under limits on the maximum, for both |
//! | `intervals` | intervals between positions: base costs, fixed memory, sends |
//! | `classes` | inner problems, each solved once for equal graphs |
//! | [`baselines`], `rules`, `measured`, `layers` | known ways to cut a model and to recompute |
//! | `knapsack` | a quick bound on an inner problem |
//! | [`Pipeline`] | the whole, to be solved |
//! | `descent` | cuts for several stages on a device |
//! | `tables` | bounds and plans of all intervals |
//! | `search` | solves the inner problems that matter |
//! | `solve` | from a search to the answer, also for interleaved schedules |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod baselines;
mod classes;
mod descent;
mod devices;
mod intervals;
mod knapsack;
pub mod labels;
mod layers;
mod limits;
mod measured;
pub mod path;
mod pipeline;
mod rules;
mod search;
mod solution;
mod solve;
mod tables;

pub use devices::{Devices, DevicesError};
pub use pipeline::{Pipeline, PipelineError, PipelineSettings};
pub use rules::StageRule;
pub use solution::{Arranged, PipelineSolution, StagePlan};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
