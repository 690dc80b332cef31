//! Branch and bound for mixed-integer programs, with extension traits for domain knowledge.
//!
//! A model is a [`remat_lp::Model`] with integer markers; [`Solver`] solves it. The tree search, presolve, cuts,
//! branching and heuristics know nothing of tensors: what makes them fast on a domain comes in through the traits
//! [`BranchingRule`], [`Separator`], [`Heuristic`], [`Propagator`] and [`NodeSelector`].
//! Programs with too many columns to be written down go to [`pricing`]: branch-price-and-cut.
//!
//! A result can be trusted: solutions are checked against the model given ([`check_point`]), leaves are pruned by bounds
//! that hold in spite of rounding, and by verified Farkas proofs.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
// Columns and rows index many parallel arrays; iterating over one of them would hide that.
#![allow(clippy::needless_range_loop)]

mod branching;
mod certificate;
mod check;
mod clauses;
mod cliques;
mod conflict;
mod control;
mod cuts;
mod debug_solution;
mod domain;
mod exact;
mod extend;
#[cfg(feature = "good_lp")]
pub mod good_lp;
mod heuristics;
mod implications;
mod outcome;
mod packed;
mod presolve;
pub mod pricing;
mod problem;
mod relaxation;
mod root;
mod safe;
mod search;
mod settings;
mod solver;
mod spill;
mod state_file;
mod tree;
mod worker;

pub use branching::Decision;
pub use branching::split::{IntegerExpressions, OrderedGroups};
pub use check::{Refusal, check_point};
pub use control::{Checkpoint, Control, Observer, Progress};
pub use extend::{
    BestBound, BestEstimate, BranchingRule, CutRow, CutSink, DepthFirst, Heuristic, NodeSelector,
    NodeSummary, NodeView, Propagator, Separator, SolutionSink,
};
pub use outcome::{Info, Solution, SolveError, SolveResult, SolveStatus};
pub use settings::{Limits, NodeSelection, Settings};
pub use solver::Solver;
