//! Rows of binaries as knapsacks of literals, clauses, and exclusions by one literal.

use super::WorkingProblem;
use crate::mip::cliques::{Literal, column, is_complement};

/// One side of a row as `sum of weight * literal <= capacity`, with positive weights.
pub(super) struct LiteralKnapsack {
    pub items: Vec<(f64, Literal)>,
    pub capacity: f64,
}

/// The complementary literal.
pub(super) fn negated(l: Literal) -> Literal {
    l ^ 1
}

impl WorkingProblem {
    pub(super) fn is_binary(&self, j: usize) -> bool {
        self.integer[j] && self.lower[j] == 0.0 && self.upper[j] == 1.0
    }

    /// The upper (`sign` 1) or lower (-1) side of a row, if it is finite and all columns are
    /// binary.
    pub(super) fn knapsack(&self, i: usize, sign: f64) -> Option<LiteralKnapsack> {
        let side = if sign > 0.0 {
            self.row_upper[i]
        } else {
            -self.row_lower[i]
        };
        if !side.is_finite() || !self.rows[i].iter().all(|e| self.is_binary(e.0 as usize)) {
            return None;
        }
        let mut capacity = side;
        let items = (self.rows[i].iter())
            .map(|&(j, a)| {
                let a = sign * a;
                if a < 0.0 {
                    capacity -= a;
                }
                (a.abs(), 2 * j + u32::from(a < 0.0))
            })
            .collect();
        Some(LiteralKnapsack { items, capacity })
    }

    /// Adds the row `sum of terms <= side` in literals, with coefficients 1 for `plus` and -1 for
    /// `minus`.
    pub(super) fn add_literal_row(
        &mut self,
        plus: &[Literal],
        minus: &[Literal],
        side: f64,
    ) -> usize {
        let mut side = side;
        let mut row: Vec<(u32, f64)> = Vec::with_capacity(plus.len() + minus.len());
        for (l, sign) in plus
            .iter()
            .map(|&l| (l, 1.0))
            .chain(minus.iter().map(|&l| (l, -1.0)))
        {
            let (j, a) = if is_complement(l) {
                side -= sign;
                (column(l) as u32, -sign)
            } else {
                (column(l) as u32, sign)
            };
            match row.iter_mut().find(|e| e.0 == j) {
                Some(e) => e.1 += a,
                None => row.push((j, a)),
            }
        }
        row.retain(|e| e.1 != 0.0);
        self.add_row(row, f64::NEG_INFINITY, side);
        self.rows.len() - 1
    }
}

impl LiteralKnapsack {
    /// The literals of which at least one is true, if the row says exactly that.
    pub(super) fn clause(&self) -> Option<Vec<Literal>> {
        let w = self.items.first()?.0;
        let equal = self.items.iter().all(|e| (e.0 - w).abs() <= 1e-12 * w);
        let fit = (self.capacity / w + 1e-9).floor();
        (equal && fit == self.items.len() as f64 - 1.0)
            .then(|| self.items.iter().map(|e| negated(e.1)).collect())
    }

    /// The only literal that leaves no capacity for any other, if all others fit together without
    /// it. The row then says exactly that this literal excludes each of them.
    pub(super) fn excluder(&self) -> Option<Literal> {
        let margin = 1e-9 * self.capacity.abs().max(1.0);
        let heaviest =
            (self.items.iter()).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        let rest = || self.items.iter().filter(|e| e.1 != heaviest.1);
        let total: f64 = rest().map(|e| e.0).sum();
        let least = rest().map(|e| e.0).fold(f64::INFINITY, f64::min);
        (self.items.len() >= 2
            && total <= self.capacity + margin
            && heaviest.0 <= self.capacity + margin
            && heaviest.0 + least > self.capacity + 1e-6 * self.capacity.abs().max(1.0))
        .then_some(heaviest.1)
    }
}
