//! The outcome of pricing.

use std::cmp::Ordering;

/// A column with negative reduced cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<C> {
    /// Reduced cost, negative.
    pub reduced_cost: f64,
    /// The column.
    pub column: C,
}

/// The outcome of pricing.
#[derive(Clone, Debug)]
pub struct Priced<C> {
    /// Columns with negative reduced cost, the best ones of each block, most negative first.
    pub candidates: Vec<Candidate<C>>,
    /// The Lagrangian bound of the duals, up to rounding.
    pub bound: f64,
}

impl<C: Clone + Ord> Priced<C> {
    /// A bound without columns.
    pub fn new(bound: f64) -> Self {
        Priced {
            candidates: Vec::new(),
            bound,
        }
    }

    /// Adds the best `limit` of a block's candidates, and all that are `free`.
    pub fn add_best(&mut self, own: &mut [Candidate<C>], limit: usize, free: impl Fn(&C) -> bool) {
        own.sort_by(order);
        let mut left = limit;
        for c in own {
            let free = free(&c.column);
            if free || left > 0 {
                self.candidates.push(c.clone());
                left -= usize::from(!free);
            }
        }
    }

    /// Adds columns whose reduced cost is below a limit.
    pub fn add_below(&mut self, limit: f64, columns: impl IntoIterator<Item = (f64, C)>) {
        let paying = columns.into_iter().filter(|c| c.0 < limit);
        self.candidates
            .extend(paying.map(|(reduced_cost, column)| Candidate {
                reduced_cost,
                column,
            }));
    }

    /// Orders the candidates: most negative first, then by column.
    pub fn sorted(mut self) -> Self {
        self.candidates.sort_by(order);
        self
    }
}

fn order<C: Ord>(a: &Candidate<C>, b: &Candidate<C>) -> Ordering {
    let cost = a.reduced_cost.total_cmp(&b.reduced_cost);
    cost.then_with(|| a.column.cmp(&b.column))
}
