//! A program, as the tree of a proof sees it: its rows, the lives of its tensors, and the reading
//! of both (`docs/theory/proof/lagrangian.md`).

use super::text::ProofLine;
use std::fmt::Debug;

/// A quantity is at least, or at most, so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityBranch<Q> {
    /// The quantity that is bounded: an integer at every schedule.
    pub quantity: Q,
    /// Bounded below rather than above.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl<Q: PartialEq> QuantityBranch<Q> {
    /// Returns whether one of the two holds at every schedule.
    pub fn completes(&self, other: &Self) -> bool {
        let (low, high) = match (self.at_least, other.at_least) {
            (false, true) => (self, other),
            (true, false) => (other, self),
            _ => return false,
        };
        self.quantity == other.quantity && high.count <= low.count.saturating_add(1)
    }
}

/// Reads a branching, whose quantity is read by `quantity`.
///
/// # Errors
/// The word that is wrong, and what would be right.
pub(super) fn read_branch<Q>(
    line: &mut ProofLine<'_>,
    quantity: impl Fn(&mut ProofLine<'_>) -> Result<Q, String>,
) -> Result<QuantityBranch<Q>, String> {
    let quantity = quantity(line)?;
    let at_least = match line.word("<= or >=")? {
        "<=" => false,
        ">=" => true,
        other => return line.refuse(other, "<= or >="),
    };
    Ok(QuantityBranch {
        quantity,
        at_least,
        count: line.number("a count")?,
    })
}

/// The rows of a program for one instance and budget, the lives of its tensors, and the reading of
/// both.
pub(crate) trait Theory {
    /// Its rows.
    type Row;
    /// Quantities of a schedule that are integers.
    type Quantity: Clone + PartialEq + Debug;
    /// Worth of the multipliers of rows.
    type Prices;
    /// Things that no better schedule does.
    type Exclusions: Clone;

    /// Reads the row of a line.
    ///
    /// # Errors
    /// The word that is wrong, and what would be right.
    fn read_row(line: &mut ProofLine<'_>) -> Result<Self::Row, String>;
    /// Reads a quantity.
    ///
    /// # Errors
    /// The word that is wrong, and what would be right.
    fn read_quantity(line: &mut ProofLine<'_>) -> Result<Self::Quantity, String>;

    /// The branching that a row states, if it is none that holds at every schedule.
    fn branch(row: &Self::Row) -> Option<&QuantityBranch<Self::Quantity>>;
    /// Checks that a row holds at every schedule that fits; or, if it is a branching, that what it
    /// counts is an integer.
    ///
    /// # Errors
    /// A description of what is wrong with it.
    fn check_row(&self, row: &Self::Row) -> Result<(), String>;
    /// More than any schedule without useless computations costs.
    fn beyond(&self) -> u64;

    /// Exclusions before anything is proven.
    fn excluded_at_first(&self) -> Self::Exclusions;
    /// Number of things that are excluded.
    fn count(exclusions: &Self::Exclusions) -> usize;

    /// The worth of rows with multipliers, of which `one` makes a unit of cost, all of which are
    /// known to hold. `None` where 128 bits might not hold a sum.
    fn prices<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Self::Row, i128)>,
        one: i128,
    ) -> Option<Self::Prices>
    where
        Self::Row: 'a;
    /// Checks what multipliers must be for [`Theory::lagrangian_bound`] to hold.
    ///
    /// # Errors
    /// A description of what is wrong with them.
    fn check_prices(&self, _: &Self::Prices) -> Result<(), String> {
        Ok(())
    }
    /// The least cost of a permitted schedule, in units of which `one` makes a unit of cost;
    /// `None` where there is none.
    fn lagrangian_bound(
        &self,
        prices: &Self::Prices,
        exclusions: &Self::Exclusions,
    ) -> Option<i128>;
    /// Excludes what no permitted schedule that costs at most so much does.
    fn exclude(&self, prices: &Self::Prices, most: i128, exclusions: &mut Self::Exclusions);
}
