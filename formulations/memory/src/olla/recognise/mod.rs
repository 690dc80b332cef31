//! OLLA's programs recognised in models of unknown origin: by their structure, not by their names
//! or the order of their rows and columns.
//!
//! Columns that are 0 in every point go first, those of spilling among them ([`rows`]). What is left
//! speaks for itself ([`roles`]):
//!
//! - `sum of x = 1` says at which steps a tensor may be made.
//! - `y <= y' + x` with columns of one tensor says that it stays: chains of such rows begin at what
//!   makes it.
//! - `x <= y` with `x` of another tensor says that its operator reads this one; `x = x'` that one
//!   operator makes both; columns of `sum of l >= 1` say when an operator without outputs runs.
//!
//! Columns in one row of memory are of one step, and so are pairs; chains order the steps
//! ([`steps`]). Sizes are coefficients in rows of memory ([`memory`]), or those of items in an
//! arena: rows say of which columns two items lie apart ([`apart`], [`arena`]).
//!
//! The graph so read ([`graph`]) is solved by [`crate::order`]. Its least peak is a bound on the
//! model: every fact that it rests on is read from a row, and what rows say of some steps only is
//! left out, which can but lower the peak. Let a point of the model be given. Operators in the order
//! of their steps, those of one step in any order, are an order of the graph: who is read was made at
//! an earlier step. While an operator runs, everything that is made and still to be read was made at
//! its step or before and is read at its step or behind, so that it counts in the row of memory of
//! this step: as made, or as staying by way of its chain. So the order needs no more than the point.
//! In an arena it has an item then, apart from those of all others that are there: together they
//! are no higher than the peak.
//!
//! An order becomes a point by steps for its operators ([`super::pack`]), which is checked in the
//! model. So the model may have further rows and columns.

mod apart;
mod arena;
mod graph;
mod intervals;
mod joint;
mod memory;
mod order;
mod place;
mod roles;
mod rows;
mod steps;

pub(crate) use joint::joint_program;
pub(crate) use order::order_program;
pub(crate) use place::place_program;

use remat_lp::Model;
use std::time::Duration;

/// Effort for a recognised program.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Time for it, where there is a limit.
    pub time_limit: Option<Duration>,
    /// Worker threads.
    pub threads: usize,
    /// Seed of random choices.
    pub seed: u64,
    /// Says when to end.
    pub listener: &'a dyn remat_search::Listener,
}

/// Knowledge of a model that was recognised.
#[derive(Clone, Debug)]
pub struct RecognisedOlla {
    /// Name of the program, as `--formulation` has it.
    pub program: &'static str,
    /// Operators of the graph, or buffers.
    pub nodes: usize,
    /// The column whose cost is the objective: the peak.
    pub peak: u32,
    /// Lower bound on it.
    pub least_peak: f64,
    /// Values of columns that may be a point of the model: it says so.
    pub point: Option<Vec<f64>>,
}

/// Knowledge of a model that is one of the programs.
pub fn known(model: &Model, effort: &Effort<'_>) -> Option<RecognisedOlla> {
    let joint = || joint_program(model, effort);
    let order = order_program(model, effort).or_else(joint);
    order.or_else(|| place_program(model, effort))
}
