//! Interface of a program, split by who reads it: its columns, its rows, their pricing, what a
//! point violates, and what is branched on.
//!
//! Columns come in *blocks* (tensors, agents, vehicles; one block if there is no such thing).
//! Beside them there may be a few *static* columns that are always there. Costs and right sides are
//! integers; units scale them for the LP solver.

use super::{Branch, Open, Priced};
use std::fmt::Debug;

/// Sense in which a row limits its left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// At least the right side.
    AtLeast,
    /// Equal to it.
    Equal,
    /// At most, of a resource: memory. What overflows is paid for by the overflow column.
    AtMost,
}

/// Traits of a row that the restricted master must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTraits {
    /// Sense in which it limits.
    pub sense: Sense,
    /// Columns that meet it may be missing from the restricted master, or there are none: what it
    /// lacks is paid for.
    pub elastic: bool,
    /// It stays, slack or not.
    pub permanent: bool,
}

impl RowTraits {
    /// A row that stays, and whose lack is paid for.
    pub fn elastic(sense: Sense) -> Self {
        RowTraits {
            sense,
            elastic: true,
            permanent: true,
        }
    }

    /// A row that stays, and that is met where all columns are 0.
    pub fn always_met(sense: Sense) -> Self {
        RowTraits {
            sense,
            elastic: false,
            permanent: true,
        }
    }
}

/// Columns and their costs.
pub trait Columns: Clone + Debug + Send + Sync {
    /// A column.
    type Column: Clone + Ord + Debug + Send + Sync;

    /// Number of blocks.
    fn blocks(&self) -> usize {
        1
    }
    /// The block of a column.
    fn block(_: &Self::Column) -> usize {
        0
    }
    /// Cost of a column.
    fn cost(&self, column: &Self::Column) -> u64;
    /// Returns whether a column stays in the restricted master even if it does not pay.
    fn is_never_purged(&self, _: &Self::Column) -> bool {
        false
    }
    /// Cost of every static column.
    fn static_costs(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Cost that is in no column.
    fn offset(&self) -> u64 {
        0
    }
    /// A cost that every solution reaches.
    fn base_cost(&self) -> u64;
    /// A cost that no solution worth having exceeds: a bound above it proves that there is none.
    fn cost_upper_bound(&self) -> u64;
    /// The unit in which the LP solver counts cost.
    fn cost_unit(&self) -> f64 {
        1.0
    }
}

/// Rows, of the program and cuts. A row gives every column its coefficient, whichever of the two
/// came first.
pub trait Rows: Columns {
    /// A row. Ordered, so that sets of rows are deterministic.
    type Row: Clone + Ord + Debug + Send + Sync;
    /// A part of a row that concerns one block.
    type Part: Copy + Send + Sync;

    /// Rows and columns to start from: feasible but for resources and elastic rows.
    fn start(&self) -> (Vec<Self::Row>, Vec<Self::Column>);
    /// Traits of a row.
    fn row_traits(&self, row: &Self::Row) -> RowTraits;
    /// Its right side: a count, or units of the resource.
    fn right_side(&self, row: &Self::Row) -> i64;
    /// Tells `note` every part of a row with its block; coefficients of a column in several parts
    /// add up.
    fn parts(&self, row: &Self::Row, note: &mut dyn FnMut(usize, Self::Part));
    /// Coefficient of a column in a part of a row.
    fn coefficient(&self, row: &Self::Row, part: Self::Part, column: &Self::Column) -> i64;
    /// Coefficients of static columns in a row.
    fn static_entries(&self, _: &Self::Row) -> Vec<(u32, i64)> {
        Vec::new()
    }
    /// The unit in which the LP solver counts the resource.
    fn resource_unit(&self) -> f64 {
        1.0
    }
    /// About how much there is of the resource.
    fn resource_capacity(&self) -> f64 {
        1.0
    }
}

/// Pricing, bounds from duals, and what they exclude.
///
/// Duals are in units of cost, per unit of the resource for rows that are [`Sense::AtMost`]. Any
/// duals whatever give a bound: wrong signs count as 0.
pub trait Pricing: Rows {
    /// Record of what no solution below the cost to beat does. Excluded columns are neither priced
    /// nor kept.
    type Exclusions: Clone + PartialEq + Debug + Send + Sync;

    /// Nothing is excluded.
    fn no_exclusions(&self) -> Self::Exclusions;
    /// Excludes what another excludes, too.
    fn exclude_all_of(&self, _: &mut Self::Exclusions, _other: &Self::Exclusions) {}
    /// Returns whether nothing about a column is excluded.
    fn is_permitted(&self, _: &Self::Column, _: &Self::Exclusions) -> bool {
        true
    }
    /// Returns whether each static column is permitted, in their order; empty if all are.
    fn permitted_statics(&self, _: &Self::Exclusions) -> Vec<bool> {
        Vec::new()
    }
    /// Prices all permitted columns; for each block about `per_block` of those whose reduced cost
    /// is below `-tolerance`.
    fn price(
        &self,
        exclusions: &Self::Exclusions,
        rows: &[Self::Row],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Self::Column>;
    /// A lower bound on the cost of every solution that does what is permitted, in integers, so
    /// safe.
    fn lagrangian_bound(
        &self,
        exclusions: &Self::Exclusions,
        rows: &[Self::Row],
        duals: &[f64],
    ) -> u64;
    /// Excludes what no permitted solution that costs less than `target` does, as far as these
    /// duals tell.
    fn exclude(&self, _: &mut Self::Exclusions, _rows: &[Self::Row], _duals: &[f64], _target: u64) {
    }
}

/// Settings of cut separation in a round: what it looks for, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeparationSettings {
    /// Violation below which a cut is left alone.
    pub violation: f64,
    /// Cuts for each thing that is to be met (a need, an item) in a round.
    pub per_target: usize,
    /// Cuts in a round.
    pub limit: usize,
    /// True if cuts on the resource are separated.
    pub resource_cuts: bool,
    /// Cuts on the resource in a round.
    pub resource_cut_limit: usize,
    /// True if families with dense rows (lifted covers) are separated. The root turns them on once
    /// other cuts are idle, and off again where they gain little.
    pub dense: bool,
}

impl Default for SeparationSettings {
    fn default() -> Self {
        SeparationSettings {
            violation: 0.03,
            per_target: 4,
            limit: 400,
            resource_cuts: true,
            resource_cut_limit: 80,
            dense: false,
        }
    }
}

/// Limits on how much of what is violated is reported.
pub struct RowLimits<'a, R> {
    /// Units of the resource that count as there, beside the capacity.
    pub overflow: f64,
    /// Violation below which a row of counts is left alone.
    pub tolerance: f64,
    /// Resource rows at most for one group (a stage).
    pub per_group: usize,
    /// Resource rows at most.
    pub resource_rows: usize,
    /// Rows that are in the restricted master already.
    pub known: &'a dyn Fn(&R) -> bool,
}

/// Points, and the rows and cuts they violate.
pub trait Separation: Rows {
    /// A fractional solution.
    type Point: Clone + Debug + Default + Send + Sync;

    /// The point of columns and static columns with values.
    fn point(
        &self,
        columns: &mut dyn Iterator<Item = (Self::Column, f64)>,
        statics: &[f64],
    ) -> Self::Point;
    /// Rows of the program that a point violates.
    fn violated(&self, _: &Self::Point, _: &RowLimits<'_, Self::Row>) -> Vec<Self::Row> {
        Vec::new()
    }
    /// Cuts that a point violates.
    fn cuts(&self, _: &Self::Point, _: &SeparationSettings) -> Vec<Self::Row> {
        Vec::new()
    }
}

/// Branching on integer quantities that are linear in the columns: each is one more row.
pub trait Branching: Separation {
    /// An integer quantity to branch on.
    type Quantity: Clone + Ord + Debug + Send + Sync;

    /// Integer quantities that a point leaves open, the most promising first, at most `limit`; none
    /// only where it is a solution.
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<Self::Quantity>>;
    /// A branching as a row.
    fn branch_row(&self, branch: &Branch<Self::Quantity>) -> Self::Row;
    /// The kind of a quantity: branchings of one kind gain about the same per unit of distance.
    fn kind(_: &Self::Quantity) -> (u32, u8) {
        (0, 0)
    }
}

/// A program that branch, price and cut can solve.
pub trait Program: Pricing + Branching {}

impl<P: Pricing + Branching> Program for P {}
