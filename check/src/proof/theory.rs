//! A program, as the tree of a proof sees it: its rows, the lives of its tensors, and their readers
//! (`docs/theory/proof/lagrangian.md`).

use super::text::ProofLine;
use std::fmt::Debug;

/// A quantity is at least, or at most, so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityBranch<Q> {
    /// The quantity that is bounded: an integer at every schedule.
    pub quantity: Q,
    /// True if it is bounded below, false if above.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl<Q: PartialEq> QuantityBranch<Q> {
    /// Returns whether, at every schedule, one of the two branchings holds.
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
/// The faulty word, and the expected text.
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

/// The rows of a program for one instance and budget, the lives of its tensors, and their readers.
pub(crate) trait Theory {
    /// Its rows.
    type Row;
    /// Quantities of a schedule that are integers.
    type Quantity: Clone + PartialEq + Debug;
    /// Value of the multipliers of rows.
    type Prices;
    /// Steps that no better schedule has.
    type Exclusions: Clone;

    /// Reads the row of a line.
    ///
    /// # Errors
    /// The faulty word, and the expected text.
    fn read_row(line: &mut ProofLine<'_>) -> Result<Self::Row, String>;
    /// Reads a quantity.
    ///
    /// # Errors
    /// The faulty word, and the expected text.
    fn read_quantity(line: &mut ProofLine<'_>) -> Result<Self::Quantity, String>;

    /// The branching that a row states; `None` for a row that holds at every schedule.
    fn branch(row: &Self::Row) -> Option<&QuantityBranch<Self::Quantity>>;
    /// Checks that a row holds at every schedule that fits. A branching must count an integer.
    ///
    /// # Errors
    /// A description of the fault.
    fn check_row(&self, row: &Self::Row) -> Result<(), String>;
    /// More than the cost of any schedule without useless computations.
    fn beyond(&self) -> u64;

    /// Exclusions before anything is proven.
    fn excluded_at_first(&self) -> Self::Exclusions;
    /// Number of exclusions.
    fn count(exclusions: &Self::Exclusions) -> usize;

    /// The value of rows with multipliers; `one` makes a unit of cost. All rows are known to hold.
    /// `None` if 128 bits might not hold a sum.
    fn prices<'a>(
        &self,
        rows: impl Iterator<Item = (&'a Self::Row, i128)>,
        one: i128,
    ) -> Option<Self::Prices>
    where
        Self::Row: 'a;
    /// Checks the conditions on multipliers under which [`Theory::lagrangian_bound`] holds.
    ///
    /// # Errors
    /// A description of the fault.
    fn check_prices(&self, _: &Self::Prices) -> Result<(), String> {
        Ok(())
    }
    /// The least cost of a permitted schedule, in units of which `one` makes a unit of cost. `None`
    /// if no schedule is permitted.
    fn lagrangian_bound(
        &self,
        prices: &Self::Prices,
        exclusions: &Self::Exclusions,
    ) -> Option<i128>;
    /// Excludes the steps that no permitted schedule of cost at most `most` has.
    fn exclude(&self, prices: &Self::Prices, most: i128, exclusions: &mut Self::Exclusions);
}
