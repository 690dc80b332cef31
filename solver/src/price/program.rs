//! Interface of a program, split by reader: columns, rows, pricing, separation and branching.
//!
//! Columns come in *blocks* (tensors, agents, vehicles; one block if there are no such groups). A
//! few *static* columns may be present in every master. Costs and right sides are integers; units
//! scale them for the LP solver.

use super::{Branch, Open, Priced};
use std::fmt::Debug;

/// Sense in which a row limits its left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// At least the right side.
    AtLeast,
    /// Equal to it.
    Equal,
    /// At most, of a resource: memory. The slack column for overflow pays for the excess.
    AtMost,
}

/// Traits of a row that the restricted master must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTraits {
    /// Sense of the row.
    pub sense: Sense,
    /// True if a slack column pays for its shortfall: the columns that meet it may be missing from
    /// the restricted master, or may not exist.
    pub elastic: bool,
    /// True if it is never purged.
    pub permanent: bool,
}

impl RowTraits {
    /// A row that is never purged and may be met by a slack column.
    pub fn elastic(sense: Sense) -> Self {
        RowTraits {
            sense,
            elastic: true,
            permanent: true,
        }
    }

    /// A row that is never purged and is met if all columns are 0.
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
    /// Returns whether a column stays in the restricted master even if its reduced cost is high.
    fn is_never_purged(&self, _: &Self::Column) -> bool {
        false
    }
    /// Cost of every static column.
    fn static_costs(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Cost outside all columns.
    fn offset(&self) -> u64 {
        0
    }
    /// A lower bound on the cost of every solution.
    fn base_cost(&self) -> u64;
    /// An upper bound on the cost of any useful solution: a lower bound above it proves
    /// infeasibility.
    fn cost_upper_bound(&self) -> u64;
    /// The unit in which the LP solver counts cost.
    fn cost_unit(&self) -> f64 {
        1.0
    }
}

/// Rows of the program, and cuts. A row defines a coefficient for every column, in whichever order
/// rows and columns are added.
pub trait Rows: Columns {
    /// A row. Ordered, so that sets of rows are deterministic.
    type Row: Clone + Ord + Debug + Send + Sync;
    /// A part of a row, in one block.
    type Part: Copy + Send + Sync;

    /// Initial rows and columns: feasible except for resources and elastic rows.
    fn start(&self) -> (Vec<Self::Row>, Vec<Self::Column>);
    /// Traits of a row.
    fn row_traits(&self, row: &Self::Row) -> RowTraits;
    /// Right side of a row: a count, or units of the resource.
    fn right_side(&self, row: &Self::Row) -> i64;
    /// Passes every part of a row and its block to `note`. Coefficients of a column in several
    /// parts add up.
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
    /// Approximate capacity of the resource.
    fn resource_capacity(&self) -> f64 {
        1.0
    }
}

/// Pricing, bounds from duals, and exclusions.
///
/// Duals are in units of cost, per unit of the resource for rows that are [`Sense::AtMost`]. Any
/// duals prove a bound: those with wrong signs count as 0.
pub trait Pricing: Rows {
    /// Record of the choices that no solution below the cost to beat makes (reduced-cost fixing).
    /// Excluded columns are neither priced nor kept.
    type Exclusions: Clone + PartialEq + Debug + Send + Sync;

    /// The empty record.
    fn no_exclusions(&self) -> Self::Exclusions;
    /// Adds the exclusions of another record.
    fn exclude_all_of(&self, _: &mut Self::Exclusions, _other: &Self::Exclusions) {}
    /// Returns whether a column makes no excluded choice.
    fn is_permitted(&self, _: &Self::Column, _: &Self::Exclusions) -> bool {
        true
    }
    /// Returns whether each static column is permitted, in order; an empty list if all are.
    fn permitted_statics(&self, _: &Self::Exclusions) -> Vec<bool> {
        Vec::new()
    }
    /// Prices all permitted columns. Each block yields about `per_block` columns with a reduced
    /// cost below `-tolerance`.
    fn price(
        &self,
        exclusions: &Self::Exclusions,
        rows: &[Self::Row],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Self::Column>;
    /// A lower bound on the cost of every permitted solution, safe because it is computed in
    /// integers.
    fn lagrangian_bound(
        &self,
        exclusions: &Self::Exclusions,
        rows: &[Self::Row],
        duals: &[f64],
    ) -> u64;
    /// Excludes the choices that no permitted solution cheaper than `target` makes, as far as these
    /// duals prove it.
    fn exclude(&self, _: &mut Self::Exclusions, _rows: &[Self::Row], _duals: &[f64], _target: u64) {
    }
}

/// Settings of the separation of cuts in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeparationSettings {
    /// Violation below which a cut is ignored.
    pub violation: f64,
    /// Limit on the cuts for each target (a need, an item) in a round.
    pub per_target: usize,
    /// Limit on the cuts in a round.
    pub limit: usize,
    /// True if cuts on the resource are separated.
    pub resource_cuts: bool,
    /// Limit on the cuts on the resource in a round.
    pub resource_cut_limit: usize,
    /// True if families with dense rows (lifted covers) are separated. The root enables them once
    /// other cuts are idle, and disables them if they gain little.
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

/// Limits on the violated rows to report.
pub struct RowLimits<'a, R> {
    /// Units of the resource by which the capacity may be exceeded.
    pub overflow: f64,
    /// Violation below which a row of counts is ignored.
    pub tolerance: f64,
    /// Limit on the resource rows of one group (a stage).
    pub per_group: usize,
    /// Limit on resource rows.
    pub resource_rows: usize,
    /// Returns whether a row is in the restricted master already.
    pub known: &'a dyn Fn(&R) -> bool,
}

/// Points, and the rows and cuts they violate.
pub trait Separation: Rows {
    /// A fractional solution.
    type Point: Clone + Debug + Default + Send + Sync;

    /// A point from columns and static columns with values.
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

/// Branching on integer quantities that are linear in the columns: each branching adds a row.
pub trait Branching: Separation {
    /// An integer quantity to branch on.
    type Quantity: Clone + Ord + Debug + Send + Sync;

    /// Integer quantities that a point leaves open, the most promising first, at most `limit`.
    /// Empty only if the point is a solution.
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<Self::Quantity>>;
    /// A branching as a row.
    fn branch_row(&self, branch: &Branch<Self::Quantity>) -> Self::Row;
    /// The kind of a quantity: branchings of one kind have similar gains per unit of distance.
    fn kind(_: &Self::Quantity) -> (u32, u8) {
        (0, 0)
    }
}

/// A program that branch, price and cut can solve.
pub trait Program: Pricing + Branching {}

impl<P: Pricing + Branching> Program for P {}
