//! A program, as the tree of a proof sees it.

use super::Branch;
use std::fmt::Debug;

/// Rows, prices, exclusions of a program for one instance and budget.
pub trait Program {
    /// Its rows.
    type Row;
    /// Quantities of a schedule that are integers.
    type Quantity: Clone + PartialEq + Debug;
    /// Worth of the multipliers of rows.
    type Prices;
    /// Things that no better schedule does.
    type Exclusions: Clone;

    /// The branching that a row states, if it is none that holds at every schedule.
    fn branch(row: &Self::Row) -> Option<&Branch<Self::Quantity>>;
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
    /// Checks what multipliers must be for [`Program::reach`] to hold.
    ///
    /// # Errors
    /// A description of what is wrong with them.
    fn check_prices(&self, _: &Self::Prices) -> Result<(), String> {
        Ok(())
    }
    /// The least cost of a permitted schedule, in units of which `one` makes a unit of cost;
    /// `None` where there is none.
    fn reach(&self, prices: &Self::Prices, exclusions: &Self::Exclusions) -> Option<i128>;
    /// Excludes what no permitted schedule that costs at most so much does.
    fn exclude(&self, prices: &Self::Prices, most: i128, exclusions: &mut Self::Exclusions);
}
