//! Branch and cut for any mixed-integer model, with extension traits for domain knowledge.
//!
//! A model is a [`remat_lp::Model`] with integer markers; [`Solver`] solves it. The tree search,
//! presolve, cuts, branching and heuristics are independent of any domain. Domain knowledge is
//! added through the traits [`BranchingRule`], [`Separator`], [`Heuristic`], [`Propagator`],
//! [`PresolveStep`] and [`NodeSelector`].
//!
//! Results are reliable: solutions are checked against the original model ([`check_point`]). Leaves
//! are pruned by bounds that hold in spite of rounding, and by verified Farkas proofs.
//!
//! # Events
//!
//! The library never prints. A search emits `tracing` events with the target `remat_solver::mip`,
//! all from the thread that called [`Solver::run`], so that a subscriber of that thread sees them.
//! Restricted programs and other searches inside the search emit no events themselves; the search
//! emits one event for each.
//!
//! | name | level | when | fields |
//! |---|---|---|---|
//! | `progress` | `INFO` | before the tree, at a new incumbent, after five seconds of silence, at the end | the fields of [`Progress`]: `seconds`, `nodes`, `open`, `lp_iterations`, `bound`, `objective` if there is one; relative `gap` if there are both; `found_by` at a new solution. A solution of a single worker, as at the root, is reported at once: the other fields are from before that work, without `lp_iterations` |
//! | `file problem` | `WARN` | when a state or node file cannot be written or read, for the first time in succession | `problem`, and its `consequence` for the search |
//! | `cuts` | `DEBUG` | after each round of cuts at the root | `round`, `new` rows, rows `kept` with them, `objective` (minimised form) |
//! | `symmetry` | `DEBUG` | after the root, if there is a tree | `generators` found, `orbits` of integer columns, `ticks` used |
//! | `restricted` | `DEBUG` | after each restricted program, unless the search is opportunistic | `kind`, `verdict`, `ticks` used, `ticks_limit`, largest `share` fixed |
//! | `worker` | `DEBUG` | at the end, for each | `slot`, `lp_iterations` in all, `node_iterations` in `node_solves`, `strong_iterations`, `dive_iterations` |
// Columns and rows index many parallel arrays; iterating over one array would hide that.
#![allow(clippy::needless_range_loop)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod branching;
mod certificate;
mod check;
mod cliques;
mod clock;
mod control;
mod cuts;
mod debug_solution;
mod domain;
mod exact;
mod extend;
mod heuristics;
mod outcome;
mod presolve;
mod problem;
mod relaxation;
mod root;
mod run;
mod search;
mod settings;
mod solver;
mod state;
mod statistics;
mod symmetry;
mod tree;
mod watch;
mod worker;

pub use branching::split::{IntegerExpressions, OrderedGroups};
pub use check::{Refusal, check_point};
pub use control::{Checkpoint, Control, NodeChange, NodeEvent, Observer, Progress};
pub use extend::{
    BestBound, BestEstimate, BranchingRule, CutRow, CutSink, Decision, DepthFirst, Heuristic,
    Needs, NodeSelector, NodeSummary, NodeView, PresolveEffect, PresolveStep, Propagator,
    Separator, SolutionSink, StatedRow, StatedRows, WayBack,
};
pub use outcome::{ExactClaim, FileProblems, Info, Solution, SolveError, SolveResult, SolveStatus};
pub use settings::{Confirmation, Limits, NodeSelection, Settings};
pub use solver::Solver;
pub use statistics::{Component, ComponentRow, ComponentTally, Statistics};
pub use watch::{Curve, VbcTree};
