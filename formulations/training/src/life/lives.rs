//! A program whose columns are stretches of lives: its starts, their inputs and the moments that
//! they occupy.

use super::bound::clamped;
use super::{AtomPrices, Exclusions, Found, Scratch, Sizes, Term, Walk};
use remat_solver::price::{Number, Rows};
use std::ops::Range;

/// A program whose columns are stretches, one block for each tensor.
pub(crate) trait Lives: Rows {
    /// Passes the terms of a row to `note`.
    fn terms(&self, row: &Self::Row, note: impl FnMut(Term));
    /// Number of stages, and of moments in each, where bytes have prices.
    fn moments(&self) -> (usize, usize) {
        (0, 1)
    }
    /// Bounds on numbers that occur.
    fn sizes(&self) -> Sizes;

    /// The dual of a row that columns are priced at: 0 in place of a wrong sign.
    fn pricing_dual(&self, row: &Self::Row, y: f64) -> f64 {
        clamped(self.row_traits(row).sense, y)
    }
    /// Puts payments in the order that [`Lives::walk`] needs.
    fn prepare<T: Number>(_: &mut AtomPrices<T>) {}
    /// Walks through the automaton of a tensor, which has the permitted arcs. `found` receives the
    /// cheapest stretch from every stage if its price is below 0.
    fn walk<T: Number>(
        &self,
        prices: &AtomPrices<T>,
        exclusions: &Exclusions,
        node: u32,
        walk: &mut Walk<T>,
        scratch: &mut Scratch<T>,
        found: &mut impl FnMut(T, Found),
    );
    /// The column of a stretch of a tensor.
    fn column(&self, node: u32, found: Found) -> Self::Column;
    /// Returns whether pricing keeps a column of negative price even beyond the limit of its block.
    fn is_free(&self, _: &Self::Column) -> bool {
        false
    }

    /// Tensors that a start reads in each of its ways.
    fn inputs(&self, node: u32) -> &[u32];
    /// A tensor that is computed wherever this one is.
    fn made_with(&self, _: u32) -> Option<u32> {
        None
    }
    /// Stages in which it can be useful to compute a tensor again.
    fn stages_again(&self, node: u32) -> Range<u32>;
    /// Number of ways to compute a tensor in a stage.
    fn ways(&self, _node: u32, _stage: u32) -> usize {
        1
    }

    /// Number of choices by stage.
    fn choices(&self) -> impl Iterator<Item = usize> {
        std::iter::empty()
    }
    /// Cost of a choice of a stage.
    fn choice_cost(&self, _stage: usize, _way: usize) -> u64 {
        0
    }
}
