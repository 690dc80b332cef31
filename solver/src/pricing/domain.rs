//! What a domain tells: what columns and rows are, how columns are priced, and how the tree is grown.

use remat_lp::Bounds;
use std::fmt::Debug;
use std::sync::Arc;

/// Columns and rows of a minimised master program that has too many of them to be written down, and the search for
/// columns that pay.
///
/// A column is described by a value of the domain's own type [`Pricer::Column`], a row (of the model, a cut, a branching)
/// by one of [`Pricer::Row`], and [`Pricer::coefficient`] gives the coefficient of any column in any row, whichever of
/// the two came first. Every column of the master is at least 0 and has no upper bound of its own; where one is needed it
/// is a row. Equal descriptors are the same row or column.
///
/// Implementations must be deterministic; they are called from several threads at once.
pub trait Pricer: Sync {
    /// Describes a column.
    type Column: Clone + Debug + Ord + Send + Sync;
    /// Describes a row.
    type Row: Clone + Debug + Ord + Send + Sync;

    /// Cost of a column; the sum is minimised.
    fn cost(&self, column: &Self::Column) -> f64;

    /// A constant in the objective.
    fn offset(&self) -> f64 {
        0.0
    }

    /// Bounds of the activity of a row.
    fn row_bounds(&self, row: &Self::Row) -> Bounds;

    /// Coefficient of a column in a row.
    fn coefficient(&self, row: &Self::Row, column: &Self::Column) -> f64;

    /// The class of a column, a small number (agents, vehicles, tensors): see [`Pricer::classes`].
    fn class(&self, _column: &Self::Column) -> u32 {
        0
    }

    /// The classes whose columns may have a coefficient in the row; `None` for all of them. Spares the evaluation of
    /// coefficients that are zero, and nothing else.
    fn classes(&self, _row: &Self::Row) -> Option<Vec<u32>> {
        None
    }

    /// Columns with a negative reduced cost under the prices given, best first: `cost - dual . coefficients` in
    /// [`Phase::Cost`], and the same without the cost in [`Phase::Farkas`].
    ///
    /// All active rows are listed, also those with a dual of zero, so that a branching row may be enforced by leaving
    /// out columns instead of by its dual. An answer without columns means that there are none: a pricer that looks
    /// heuristically first must look exactly before it says so.
    fn price(&self, prices: &Prices<'_, Self::Row>) -> Priced<Self::Column>;

    /// A proven lower bound on the objective (offset included) of every solution of the problem that satisfies the rows
    /// given, from multipliers for them: the Lagrangian bound
    ///
    /// ```text
    /// offset + sum of dual * side + min { (cost - dual . coefficients) . x : x in X }
    /// ```
    ///
    /// where `X` is anything that contains the solutions of interest and that the pricer can minimise over (at most so
    /// many columns, a set of disjoint intervals of each tensor, ...). Every dual has the sign its [`RowPrice::side`]
    /// asks for, and any such multipliers give a bound, so an implementation is free to round them, which is how it
    /// stays safe: [`super::FixedPoint`]. The search believes this number.
    ///
    /// In [`Phase::Farkas`] the costs and the offset are zero, and a result above 0 proves that there is no solution.
    /// `f64::NEG_INFINITY` says nothing. Not called more often than it can be of use: when nothing pays any more, or
    /// when [`Priced::estimate`] promises to close the node.
    fn bound(&self, prices: &Prices<'_, Self::Row>) -> f64;
}

/// A problem for [`super::BranchAndPrice`]: where it starts, what is violated, how it is split, what a solution is.
pub trait Domain: Pricer {
    /// The rows every restricted master has.
    fn rows(&self) -> Vec<Self::Row>;

    /// Columns to start with. There may be none: rows that cannot be satisfied are repaired by Farkas pricing.
    fn columns(&self) -> Vec<Self::Column> {
        Vec::new()
    }

    /// If positive: the objective of every solution is a multiple of this. Bounds are rounded up accordingly; use a step
    /// of which doubles hold multiples exactly (1, or a power of two).
    fn objective_step(&self) -> f64 {
        0.0
    }

    /// Rows of the problem that the point violates and that are separated because they are many. Asked after every
    /// solve, also before columns are priced.
    fn separate_required(&self, _point: &Point<'_, Self>) -> Vec<Self::Row> {
        Vec::new()
    }

    /// Cuts: rows that every solution of the problem satisfies (at every node, not just at this one) and the point does
    /// not. Asked when nothing pays any more.
    fn separate(&self, _point: &Point<'_, Self>) -> Vec<Self::Row> {
        Vec::new()
    }

    /// Ways to split the node, the preferred one first; with strong branching some are tried. Each must lose no
    /// solution below the node and cut off the point in every child, or the search need not end. None at all says that
    /// the point is a solution, or that [`Domain::round`] makes one of it that is as good.
    fn branch(&self, point: &Point<'_, Self>) -> Vec<Branching<Self::Row>>;

    /// Columns and integral values that may be solutions, made from a point; each is checked. Asked at every node that
    /// is not pruned, so it should be quick.
    fn round(&self, _point: &Point<'_, Self>) -> Vec<Vec<(Self::Column, f64)>> {
        Vec::new()
    }

    /// The objective (offset included) of a solution made of these columns, with integral values, or `None` if it is
    /// not a solution. Every incumbent passes here; do not trust the caller.
    fn check(&self, columns: &[(Self::Column, f64)]) -> Option<f64>;

    /// Solutions found elsewhere (in another thread, say). Asked between rounds; what comes in here is the one thing
    /// that may make two runs differ.
    fn incoming(&self) -> Vec<Vec<(Self::Column, f64)>> {
        Vec::new()
    }

    /// Told between rounds and at the end how far the search is.
    fn progress(&self, _progress: &Progress) {}
}

/// What a price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Duals of the restricted master: a column pays if `cost - dual . coefficients < 0`.
    Cost,
    /// The restricted master is infeasible and the duals prove it (Farkas): a column with
    /// `dual . coefficients > 0` breaks the proof.
    Farkas,
}

/// Duals of the active rows.
#[derive(Clone, Copy, Debug)]
pub struct Prices<'a, R> {
    pub(crate) rows: &'a [Arc<R>],
    pub(crate) bounds: &'a [Bounds],
    pub(crate) duals: &'a [f64],
    /// What the duals are.
    pub phase: Phase,
}

/// A row with its dual.
#[derive(Clone, Copy, Debug)]
pub struct RowPrice<'a, R> {
    /// The row.
    pub row: &'a R,
    /// Its dual: not negative where the row has only a lower side, not positive where it has only an upper side.
    pub dual: f64,
    /// The side that the dual prices: the lower one if it is positive, the upper one if it is negative, 0 if it is zero.
    pub side: f64,
}

impl<'a, R> Prices<'a, R> {
    /// All active rows, those with a dual of zero too, in the order of the master.
    pub fn iter(&self) -> impl Iterator<Item = RowPrice<'a, R>> + '_ {
        let each = self.rows.iter().zip(self.bounds).zip(self.duals);
        each.map(|((row, bounds), &dual)| RowPrice {
            row: row.as_ref(),
            dual,
            side: priced_side(*bounds, dual),
        })
    }

    /// Sum of dual times side, in plain floating point.
    pub fn value(&self) -> f64 {
        self.iter().map(|p| p.dual * p.side).sum()
    }
}

pub(crate) fn priced_side(bounds: Bounds, dual: f64) -> f64 {
    if dual > 0.0 {
        bounds.lower
    } else if dual < 0.0 {
        bounds.upper
    } else {
        0.0
    }
}

/// What pricing found.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced<C> {
    /// Columns that pay.
    pub columns: Vec<C>,
    /// What [`Pricer::bound`] would say about these prices, in plain floating point and not to be relied on:
    /// it decides whether the bound is worth computing, and which duals smoothing leans to. `f64::NEG_INFINITY` if
    /// unknown.
    pub estimate: f64,
}

/// A point of the restricted master at a node.
#[derive(Debug)]
pub struct Point<'a, D: Pricer + ?Sized> {
    /// The columns that are not zero, with their values.
    pub columns: &'a [(Arc<D::Column>, f64)],
    /// The branching rows of the node, from the root down.
    pub branchings: &'a [Arc<D::Row>],
    /// Objective of the point, offset included.
    pub objective: f64,
    /// Proven lower bound of the node.
    pub bound: f64,
    /// Objective of the best solution known, infinite without one.
    pub incumbent: f64,
    /// Branchings above.
    pub depth: u32,
}

/// A way to split a node: the rows each child has in addition.
#[derive(Clone, Debug, PartialEq)]
pub struct Branching<R> {
    /// One entry per child, the one to be explored first in front.
    pub children: Vec<Vec<R>>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Proven lower bound.
    pub bound: f64,
    /// Objective of the best solution, infinite without one.
    pub incumbent: f64,
    /// Nodes done.
    pub nodes: u64,
    /// Nodes open.
    pub open: u64,
    /// Seconds since the start.
    pub seconds: f64,
}
