//! Leaves of a proof by duals in rational numbers, used if duals in doubles fail. They are the
//! duals of the simplex method's last basis, or of the linear program solved again.

use super::tree::{ActiveBound, CertifiedTree};
use crate::mip::exact::{Rational, solve_square};
use remat_lp::rational::{RationalEnd, RationalLp};
use remat_lp::{Solution, VarStatus};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Limit on the rows of a basis: larger ones take too long.
const MOST_ROWS: usize = 1_000;

impl CertifiedTree<'_> {
    /// A line from the duals of a solution's basis, if they prove the goal.
    pub(super) fn leaf_of_basis(&mut self, s: &Solution) -> Option<usize> {
        self.goal?;
        let y = self.basic_duals(s)?;
        self.sum(&y, true)
    }

    /// A line for a node whose integer columns are all fixed. `None` if a point is better than the
    /// goal's, or the program is too large. Such a point is kept if the tree looks for better ones.
    pub(super) fn leaf_in_rationals(&mut self) -> Option<usize> {
        let values = |lower: &Option<ActiveBound>, upper: &Option<ActiveBound>| {
            let value = |bound: &Option<ActiveBound>| bound.as_ref().map(|b| b.value.clone());
            (value(lower), value(upper))
        };
        let columns = self.lower.iter().zip(&self.upper);
        let rows = self.rows.iter();
        let rows: Vec<_> = rows
            .map(|row| (row.entries.as_slice(), values(&row.lower, &row.upper)))
            .collect();
        let bounds = columns.map(|(l, u)| values(l, u)).collect();
        let mut lp = RationalLp::new(&self.m.cost, bounds, &rows)?;
        let stop = self.stop.clone();
        match lp.solve(&|| stop.load(Ordering::Relaxed))? {
            RationalEnd::Infeasible { y } => self.sum(&y, false),
            RationalEnd::Optimal { y, x } => {
                let line = self.goal.and_then(|_| self.sum(&y, true));
                if line.is_none() {
                    self.offer(x);
                }
                line
            }
            RationalEnd::Unbounded { .. } => None,
        }
    }

    /// Duals that make every basic column's reduced cost zero; basic rows have the dual 0.
    fn basic_duals(&self, s: &Solution) -> Option<Vec<Rational>> {
        let basis = &s.basis;
        let is_basic = |status: &VarStatus| *status == VarStatus::Basic;
        let columns: Vec<usize> = (0..basis.cols.len())
            .filter(|&j| is_basic(&basis.cols[j]))
            .collect();
        let rows: Vec<usize> = (0..basis.rows.len())
            .filter(|&i| !is_basic(&basis.rows[i]))
            .collect();
        if columns.len() != rows.len() || rows.len() > MOST_ROWS {
            return None;
        }
        // The basic columns give the equations, the duals of nonbasic rows are the unknowns.
        let place: BTreeMap<usize, usize> = columns.iter().copied().zip(0..).collect();
        let mut equations = vec![BTreeMap::new(); columns.len()];
        for (unknown, &i) in rows.iter().enumerate() {
            for (j, a) in &self.rows[i].entries {
                if let Some(&k) = place.get(j) {
                    equations[k].insert(unknown, a.clone());
                }
            }
        }
        let costs = columns.iter().map(|&j| self.m.cost[j].clone());
        let values = solve_square(equations, costs.collect())?;
        let mut y = vec![Rational::default(); basis.rows.len()];
        for (&i, value) in rows.iter().zip(values) {
            y[i] = value;
        }
        Some(y)
    }
}
