//! Rematerialization as a domain: everything that is known before any integer program is solved.
//!
//! | module | concept |
//! |---|---|
//! | [`instance`] | a training graph with costs and sizes; its readers and writers |
//! | [`zoo`] | training graphs of well-known networks, built by code from shapes and a roofline model |
//! | [`budget`] | memory budgets and their units |
//! | [`document`] | JSON files, and errors that point into them |
//! | [`schedule`] | which node is computed, and which tensor is kept, in which stage |
//! | [`simulate`] | the judge: replays a schedule or a plan, step by step |
//! | [`plan`] | a schedule as a program of `allocate`, `compute`, `deallocate` |
//! | [`baselines`] | the known ways to get a schedule without an integer program |
//! | [`anneal`] | our own primal heuristic: annealing over the retained sets |
//! | [`interval`] | branch, price and cut over interval forms: relaxation, root, tree |
//! | [`checkmate`] | Checkmate's integer program: the forms that are solved, and their cuts |
//! | [`monet`] | MONeT's integer program: as it was published, its interval form, its annealing |
//! | [`solve`] | an instance and a budget to a schedule and a bound |
//! | [`frontier`] | the same for one budget after another |
//! | [`batch`] | the largest batch that can be trained within a budget and a bounded cost |
//! | [`explain`] | a plan in words: what is recomputed, when, and what it saves |
//! | [`bound`] | combinatorial dual bounds that need no linear program |
//!
//! Arrows point one way: [`simulate`] judges what the others make and borrows nothing from them.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod anneal;
pub mod baselines;
pub mod batch;
pub mod bound;
pub mod budget;
pub mod checkmate;
pub mod document;
mod entries;
pub mod explain;
pub mod frontier;
pub mod instance;
pub mod interval;
pub mod monet;
pub mod plan;
pub mod schedule;
pub mod simulate;
pub mod solve;
pub mod zoo;

pub use budget::Budget;
pub use instance::{Instance, NodeId};
