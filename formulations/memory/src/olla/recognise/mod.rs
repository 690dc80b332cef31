//! OLLA's programs recognised in models of unknown origin: by their structure, not by their names
//! or the order of their rows and columns.
//!
//! Columns that are 0 in every point, such as spilling columns, are removed first ([`rows`]). The
//! rest shows its roles ([`roles`]):
//!
//! - `sum of x = 1` gives the steps at which a tensor may be made.
//! - `y <= y' + x` with columns of one tensor states that it stays: chains of such rows begin at
//!   the column that makes it.
//! - `x <= y` with `x` of another tensor states that its operator reads this one; `x = x'` that one
//!   operator makes both; columns of `sum of l >= 1` give the steps of an operator without outputs.
//!
//! Columns in one row of memory belong to one step, and so do pairs; chains order the steps
//! ([`steps`]). Sizes are coefficients in rows of memory ([`memory`]), or sizes of items in an
//! arena: rows state for which columns two items lie apart ([`apart`], [`arena`]).
//!
//! [`crate::order`] solves the graph ([`graph`]). Its least peak is a bound on the model. Every
//! fact of the graph is read from a row. Facts that rows state for some steps only are left out,
//! which can only lower the peak. Let a point of the model be given. Sort its operators by their
//! steps, with ties in any order. This is an order of the graph, because every tensor is made at an
//! earlier step than it is read. While an operator runs, take a tensor that is made and still to be
//! read. It was made at the operator's step or before, and is read at this step or behind. So it
//! counts in the row of memory of this step: as made, or as staying by its chain. So the order
//! needs no more memory than the point. In an arena the tensor has an item then, apart from the
//! items of all others in memory: together they are no higher than the peak.
//!
//! An order becomes a point by steps for its operators ([`super::pack`]). The point is checked in
//! the model, so the model may have further rows and columns.

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
    /// Time limit, if any.
    pub time_limit: Option<Duration>,
    /// Worker threads.
    pub threads: usize,
    /// Seed of random choices.
    pub seed: u64,
    /// Decides when to end.
    pub listener: &'a dyn remat_search::Listener,
}

/// Knowledge of a model that was recognised.
#[derive(Clone, Debug)]
pub struct RecognisedOlla {
    /// Name of the program, as `--formulation` has it.
    pub program: &'static str,
    /// Operators of the graph, or buffers.
    pub nodes: usize,
    /// Lower bound on the peak.
    pub peak: u32,
    /// Lower bound on it.
    pub least_peak: f64,
    /// Values of columns that may be a point of the model; the model checks them.
    pub point: Option<Vec<f64>>,
}

/// Knowledge of a model that is one of the programs.
pub fn known(model: &Model, effort: &Effort<'_>) -> Option<RecognisedOlla> {
    let joint = || joint_program(model, effort);
    let order = order_program(model, effort).or_else(joint);
    order.or_else(|| place_program(model, effort))
}
