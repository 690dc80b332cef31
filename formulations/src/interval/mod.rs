//! Branch, price and cut over interval forms: what the forms of Checkmate's and of MONeT's program share.
//!
//! An interval form ([`Program`]) has one column for each stretch of time that a tensor spends in memory, far too many to
//! write down. Its rows are as many. A restricted program ([`Master`]) holds some of both; a relaxation ([`relax`]) adds
//! violated rows and intervals that pay until there are none, then cuts, and again ([`root`]); a tree branches on integer
//! quantities that are linear in the columns ([`tree`]). Every bound is a Lagrangian bound over *all* intervals, in integers
//! ([`Program::lagrangian_bound`]), so it is safe before convergence and whatever the LP solver rounds.
//!
//! | module | concept |
//! |---|---|
//! | [`master`] | some intervals, some rows, and the LP solver that holds them |
//! | [`relax`], `tail` | the relaxation of a node, and how long it is cut |
//! | `values` | its solution, and points between solutions |
//! | `lagrangian` | bounds from duals |
//! | [`permits`] | what a better schedule may still do |
//! | [`root`] | the first one |
//! | [`tree`], `warm` | the search, and what its nodes take along |
//! | `strong`, `history` | trials of branchings, and what they have gained |
//! | `share` | how tree and annealing share the time |
//! | [`proof`] | what a tree leaves behind as a proof |
//! | `cover` | what fits beside each other, as integers see it |
//! | `classes` | like tensors, counted together |
//! | `price` | what pricing finds, and the numbers that it and proofs are computed in |

mod classes;
pub(crate) mod cover;
mod history;
mod lagrangian;
mod master;
mod node;
mod permits;
mod price;
mod proof;
mod relax;
mod root;
mod share;
mod strong;
mod tail;
mod tree;
mod values;
mod warm;
mod work;

pub use classes::Group;
pub(crate) use classes::{classes, classes_of_tensors};
pub use cover::Cover;
pub use master::{Journal, Master};
pub use node::Visited;
pub(crate) use permits::EXCLUSION_PASSES;
pub use permits::{Extent, Permits};
pub use price::{Candidate, Pricing};
pub(crate) use price::{Number, most_below, rounded_up};
pub use proof::{ProvenNode, TreeProof};
pub use relax::{Company, RelaxEnd};
pub use root::{Relaxed, Root, RootBound, RootSettings, RootStatus};
pub(crate) use share::is_far;
pub use tail::Tail;
pub use tree::{Exchange, TreeEnd, TreeOutcome, TreeSettings, search};
pub use work::Work;

use std::fmt::Debug;

/// How a row limits its left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// At least the right side.
    AtLeast,
    /// Equal to it.
    Equal,
    /// At most, in bytes: memory. What overflows is paid for by the overflow column.
    Memory,
}

/// What the restricted program must know of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// How it limits.
    pub sense: Sense,
    /// Intervals that meet it may be missing from the restricted program, or there are none: that is paid for.
    pub elastic: bool,
    /// It stays, slack or not.
    pub permanent: bool,
}

/// What cut separation looks for in a round, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeparationSettings {
    /// Violation below which a cut is left alone.
    pub violation: f64,
    /// Cuts for each need (node, reader) in a round.
    pub per_need: usize,
    /// Path cuts in a round.
    pub limit: usize,
    /// Path memory cuts in a round.
    pub memory_limit: usize,
    /// Whether covers are separated.
    pub covers: bool,
}

impl Default for SeparationSettings {
    fn default() -> Self {
        SeparationSettings {
            violation: 0.03,
            per_need: 4,
            limit: 400,
            memory_limit: 80,
            covers: false,
        }
    }
}

/// A quantity is at least, or at most, so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch<Q> {
    /// What is bounded.
    pub quantity: Q,
    /// Bounded below rather than above.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl<Q> Branch<Q> {
    /// 1 for at least, -1 for at most: as a row it reads `sign * quantity >= sign * count`.
    pub fn sign(&self) -> i64 {
        if self.at_least { 1 } else { -1 }
    }
}

/// An integer quantity that a fractional point leaves open, with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open<Q> {
    /// The quantity.
    pub quantity: Q,
    /// Its value, fractional.
    pub value: f64,
    /// What looks best to branch on without looking further: the cost at stake.
    pub score: f64,
}

impl<Q: Copy> Open<Q> {
    /// How far the value is from the bound of a branch: the one above, or the one below.
    pub fn distance(&self, up: bool) -> f64 {
        let below = self.value - self.value.floor();
        if up { 1.0 - below } else { below }
    }

    /// At most the value rounded down, and at least it rounded up.
    pub fn branches(&self) -> [Branch<Q>; 2] {
        let floor = self.value.floor();
        [(false, floor), (true, floor + 1.0)].map(|(at_least, count)| Branch {
            quantity: self.quantity,
            at_least,
            count: count as u32,
        })
    }
}

/// What is at stake with a count of a class against one of a single one.
pub(crate) const CLASS_WEIGHT: f64 = 1.5;

/// Values this near an integer count as integer.
pub(crate) const INTEGRAL: f64 = 1e-5;

/// How far a value is from the nearest integer.
pub(crate) fn fraction(value: f64) -> f64 {
    (value - value.floor()).min(value.ceil() - value)
}

/// An open quantity, if its value is fractional: the cost at stake is `weight` for the farthest value.
pub(crate) fn open<Q>(quantity: Q, value: f64, weight: f64) -> Option<Open<Q>> {
    let f = fraction(value);
    (f > INTEGRAL).then_some(Open {
        quantity,
        value,
        score: f * weight,
    })
}

/// The most promising of some open quantities first, at most `limit`.
pub(crate) fn most_promising<Q: Ord>(mut open: Vec<Open<Q>>, limit: usize) -> Vec<Open<Q>> {
    open.sort_by(|a, b| {
        let order = b.score.total_cmp(&a.score);
        order.then_with(|| a.quantity.cmp(&b.quantity))
    });
    open.truncate(limit);
    open
}

/// How much of what is violated is reported.
pub struct RowLimits<'a, R> {
    /// Memory that counts as there, in bytes, beside the budget.
    pub overflow_bytes: f64,
    /// Memory rows at most for one stage.
    pub memory_per_stage: usize,
    /// Memory rows at most.
    pub memory: usize,
    /// Rows that are in the program already.
    pub known: &'a dyn Fn(&R) -> bool,
}

/// A program in interval form, for one instance and budget.
///
/// A column belongs to one *tensor*. Beside them there may be a few *choices*, columns that are always there. Costs and
/// right sides are integers; `cost_unit` and `memory_unit` scale them for the LP solver.
pub trait Program: Clone + Debug + Send + Sync {
    /// An interval.
    type Column: Copy + Ord + Debug + Send + Sync;
    /// A row, of the program or a cut. Ordered, so that sets of rows are deterministic.
    type Row: Clone + Ord + Debug + Send + Sync;
    /// A part of a row that concerns one tensor.
    type Use: Copy + Send + Sync;
    /// A fractional solution.
    type Point: Clone + Debug + Default + Send + Sync;
    /// An integer quantity to branch on.
    type Quantity: Copy + Ord + Debug + Send + Sync;

    /// Its size.
    fn extent(&self) -> Extent;
    /// The tensor of an interval.
    fn tensor(column: &Self::Column) -> usize;
    /// Whether nothing about an interval is excluded.
    fn is_permitted(&self, column: &Self::Column, permits: &Permits) -> bool;
    /// Whether each choice is permitted, in the order of their columns.
    fn permitted_choices(&self, _: &Permits) -> Vec<bool> {
        Vec::new()
    }
    /// Rows and intervals to start from: feasible but for memory.
    fn start(&self) -> (Vec<Self::Row>, Vec<Self::Column>);
    /// Cost of every choice.
    fn choice_costs(&self) -> Vec<u64>;

    /// Cost that is in no column.
    fn offset(&self) -> u64;
    /// A cost that every schedule reaches.
    fn base_cost(&self) -> u64;
    /// No schedule without useless computations costs more.
    fn costliest(&self) -> u64;
    /// The unit in which the LP counts cost.
    fn cost_unit(&self) -> f64;
    /// The unit in which the LP counts memory, in bytes.
    fn memory_unit(&self) -> f64;
    /// Bytes that there are, about.
    fn capacity(&self) -> f64;

    /// Cost of an interval.
    fn cost(&self, column: &Self::Column) -> u64;
    /// Whether an interval stays in the program even if it is dear.
    fn stays(&self, column: &Self::Column) -> bool;

    /// What kind of row it is.
    fn nature(&self, row: &Self::Row) -> Nature;
    /// Its right side: a count, or bytes.
    fn right_side(&self, row: &Self::Row) -> i64;
    /// Tells `note` every part of a row with its tensor; coefficients of an interval in several parts add up.
    fn uses(&self, row: &Self::Row, note: &mut dyn FnMut(usize, Self::Use));
    /// Coefficient of an interval in a part of a row.
    fn coefficient(&self, row: &Self::Row, part: Self::Use, column: &Self::Column) -> i64;
    /// Coefficients of choices in a row.
    fn choice_entries(&self, row: &Self::Row) -> Vec<(u32, i64)>;
    /// A branching as a row.
    fn branch_row(&self, branch: &Branch<Self::Quantity>) -> Self::Row;

    /// The point of columns and choices with values.
    fn point(
        &self,
        columns: &mut dyn Iterator<Item = (Self::Column, f64)>,
        choices: &[f64],
    ) -> Self::Point;
    /// Rows of the program that a point violates.
    fn violated(&self, point: &Self::Point, limits: &RowLimits<'_, Self::Row>) -> Vec<Self::Row>;
    /// Cuts that a point violates; path memory cuts if `memory`.
    fn cuts(
        &self,
        point: &Self::Point,
        settings: &SeparationSettings,
        memory: bool,
    ) -> Vec<Self::Row>;
    /// Integer quantities that a point leaves open, the most promising first, at most `limit`; none only where it is a
    /// schedule.
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<Self::Quantity>>;
    /// Quantities of which a branching gains about the same, per unit of distance.
    fn kind(quantity: &Self::Quantity) -> (u32, u8);

    /// Prices all permitted intervals at duals in the instance's unit of cost, per byte for memory rows; for each tensor about
    /// `per_tensor` of those whose reduced cost is below `-tolerance`.
    fn price(
        &self,
        permits: &Permits,
        rows: &[Self::Row],
        duals: &[f64],
        per_tensor: usize,
        tolerance: f64,
    ) -> Pricing<Self::Column>;
    /// A lower bound on the cost of every schedule that fits and does what is permitted, from any duals whatever (as for
    /// [`Program::price`]; wrong signs count as 0), in integers.
    fn lagrangian_bound(&self, permits: &Permits, rows: &[Self::Row], duals: &[f64]) -> u64;
    /// Excludes what no permitted schedule that costs less than `target` does, as far as these duals tell.
    fn exclude(&self, permits: &mut Permits, rows: &[Self::Row], duals: &[f64], target: u64);
}
