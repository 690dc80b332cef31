//! Cutting stock: rolls of one width, items of several widths, each with a demand; fewest rolls.
//!
//! A column is a pattern (Gilmore & Gomory 1961): the number of copies of each item cut from a
//! roll. Items lie from the left by decreasing width, so a pattern is a path over positions.
//! Branching is on the number of rolls with an item at a position (the flow through an arc, Valério
//! de Carvalho 1999). Pricing is a longest path.

#[path = "rolls.rs"]
mod rolls;

use remat_solver::price::*;
pub use rolls::{Arc, CuttingStock, Pattern};
use std::cmp::Ordering;

/// A row of the master.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The demand of an item is met.
    Demand(usize),
    /// Branching: rolls with an item at a position.
    Flow(Branch<Arc>),
}

impl CuttingStock {
    /// Values of longest paths to each position, best first, and the number of copies of item `i`
    /// on the path that ends at position `p`: `taken[i][p]`.
    fn longest_paths<N: Number>(
        &self,
        rows: &[Row],
        duals: &[N],
    ) -> (Vec<(N, usize)>, Vec<Vec<u32>>) {
        let (n, end) = (self.widths.len(), self.roll + 1);
        let mut price = vec![vec![N::ZERO; end]; n];
        for (row, &y) in rows.iter().zip(duals) {
            match row {
                Row::Demand(i) => price[*i].iter_mut().for_each(|p| *p = *p + y),
                Row::Flow(b) => {
                    let p = &mut price[b.quantity.1][b.quantity.0];
                    *p = *p + y.times(b.sign());
                }
            }
        }
        let mut value = vec![None; end];
        value[0] = Some(N::ZERO);
        let mut taken = vec![vec![0; end]; n];
        for i in 0..n {
            for (from, start) in value.clone().into_iter().enumerate() {
                let Some(mut sum) = start else {
                    continue;
                };
                let ends = (from + self.widths[i]..end).step_by(self.widths[i]);
                for (at, count) in ends.zip(1..=self.most(i)) {
                    sum = sum + price[i][at - self.widths[i]];
                    if value[at].is_none_or(|v| sum > v) {
                        (value[at], taken[i][at]) = (Some(sum), count);
                    }
                }
            }
        }
        let ends = (0..end).filter_map(|at| Some((value[at]?, at)));
        let mut ends: Vec<(N, usize)> = ends.collect();
        ends.sort_by(|a, b| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        (ends, taken)
    }

    /// The path that ends at a position.
    fn trace(&self, taken: &[Vec<u32>], mut end: usize) -> Pattern {
        let mut pattern = vec![0; taken.len()];
        for (i, taken) in taken.iter().enumerate().rev() {
            pattern[i] = taken[end];
            end -= pattern[i] as usize * self.widths[i];
        }
        pattern
    }
}

impl Columns for CuttingStock {
    type Column = Pattern;
    fn cost(&self, _: &Pattern) -> u64 {
        1
    }
    fn base_cost(&self) -> u64 {
        1
    }
    fn cost_upper_bound(&self) -> u64 {
        self.enough_rolls().into()
    }
}

impl Rows for CuttingStock {
    type Row = Row;
    type Part = ();
    fn start(&self) -> (Vec<Row>, Vec<Pattern>) {
        let rows = (0..self.widths.len()).map(Row::Demand);
        (rows.collect(), self.filled(&[]))
    }
    fn row_traits(&self, _: &Row) -> RowTraits {
        RowTraits::elastic(Sense::AtLeast)
    }
    fn right_side(&self, row: &Row) -> i64 {
        match row {
            Row::Demand(i) => self.demands[*i].into(),
            Row::Flow(b) => b.right_side(),
        }
    }
    fn parts(&self, _: &Row, note: &mut dyn FnMut(usize, ())) {
        note(0, ());
    }
    fn coefficient(&self, row: &Row, (): (), pattern: &Pattern) -> i64 {
        match row {
            Row::Demand(i) => pattern[*i].into(),
            Row::Flow(b) => b.sign() * i64::from(self.arcs(pattern).contains(&b.quantity)),
        }
    }
}

impl Pricing for CuttingStock {
    type Exclusions = ();
    fn no_exclusions(&self) {}
    fn price(
        &self,
        _: &(),
        rows: &[Row],
        y: &[f64],
        limit: usize,
        tolerance: f64,
    ) -> Priced<Pattern> {
        let (paths, taken) = self.longest_paths(rows, y);
        let rolls = f64::from(self.enough_rolls());
        let mut priced = Priced::new(worth(self, rows, y) + rolls * (1.0 - paths[0].0).min(0.0));
        let best = paths.into_iter().take(limit);
        let best = best.map(|(worth, end)| (1.0 - worth, self.trace(&taken, end)));
        priced.add_below(-tolerance, best);
        priced
    }
    /// The bound of the duals with no more rolls than enough, each with the best pattern. If it is
    /// better, the bound of the duals scaled down until no pattern pays (Farley 1990).
    fn lagrangian_bound(&self, _: &(), rows: &[Row], duals: &[f64]) -> u64 {
        let (duals, worth) = fixed_duals(self, rows, duals);
        let best = self.longest_paths(rows, &duals).0[0].0.max(FIXED_ONE);
        let rolls = i128::from(self.enough_rolls());
        let scaled = worth.max(0).saturating_mul(FIXED_ONE).div_euclid(best);
        rounded_up(scaled.max(worth + rolls * (FIXED_ONE - best)), FIXED_ONE)
    }
}

impl Separation for CuttingStock {
    type Point = Vec<(Pattern, f64)>;
    fn point(&self, columns: &mut dyn Iterator<Item = (Pattern, f64)>, _: &[f64]) -> Self::Point {
        columns.collect()
    }
}

impl Branching for CuttingStock {
    type Quantity = Arc;
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<Arc>> {
        let open = self.flows(point).into_iter();
        let open = open.filter_map(|(arc, flow)| Open::if_fractional(arc, flow, 1.0));
        most_promising(open.collect(), limit)
    }
    fn branch_row(&self, branch: &Branch<Arc>) -> Row {
        Row::Flow(*branch)
    }
}

impl Rounding for CuttingStock {
    fn round(&self, point: &Self::Point) -> Vec<Vec<Pattern>> {
        let flows = self.flows(point);
        let integral = flows
            .values()
            .all(|v| (v - v.round()).abs() < INTEGRALITY_TOLERANCE);
        match integral {
            true => vec![self.decomposed(flows)],
            false => vec![self.filled(point)],
        }
    }
    fn cost_if_feasible(&self, patterns: &[Pattern]) -> Option<u64> {
        let width = |p: &Pattern| {
            p.iter()
                .zip(&self.widths)
                .map(|(c, w)| *c as usize * w)
                .sum::<usize>()
        };
        let made = |i: usize| patterns.iter().map(|p| p[i]).sum::<u32>();
        let enough = (0..self.widths.len()).all(|i| made(i) >= self.demands[i]);
        (enough && patterns.iter().all(|p| width(p) <= self.roll)).then_some(patterns.len() as u64)
    }
}
