//! Branch and cut for any mixed-integer model, with extension traits for domain knowledge.
//!
//! A model is a [`remat_lp::Model`] with integer markers; [`Solver`] solves it. The tree search, presolve, cuts,
//! branching and heuristics know nothing of tensors: what makes them fast on a domain comes in through the traits
//! [`BranchingRule`], [`Separator`], [`Heuristic`], [`Propagator`] and [`NodeSelector`].
//!
//! A result can be trusted: solutions are checked against the model given ([`check_point`]), leaves are pruned by bounds
//! that hold in spite of rounding, and by verified Farkas proofs.
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
mod heuristics;
mod implications;
pub(crate) mod outcome;
mod packed;
mod presolve;
mod problem;
mod relaxation;
mod root;
mod safe;
mod search;
pub(crate) mod settings;
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
