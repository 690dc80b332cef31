//! Rematerialization as a domain: programs, their bounds, and the search for schedules. Instances, schedules and plans
//! are those of [`remat_instances`].
//!
//! | module | concept |
//! |---|---|
//! | [`baselines`] | the known ways to get a schedule without an integer program |
//! | [`anneal`] | our own primal heuristic: annealing over the retained sets |
//! | [`life`] | lives of tensors: what interval forms share |
//! | [`checkmate`] | Checkmate's integer program: the forms that are solved, and their cuts |
//! | [`monet`] | MONeT's integer program: as it was published, its interval form, its annealing |
//! | [`solve`] | an instance and a budget to a schedule and a bound |
//! | [`frontier`] | the same for one budget after another |
//! | [`batch`] | the largest batch that can be trained within a budget and a bounded cost |
//! | [`bound`] | combinatorial dual bounds that need no linear program |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod anneal;
pub mod baselines;
pub mod batch;
pub mod bound;
pub mod checkmate;
pub mod frontier;
pub mod life;
pub mod monet;
pub mod solve;
