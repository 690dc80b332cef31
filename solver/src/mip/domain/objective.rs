//! The objective as a row of a domain. The cutoff is its upper side, and its least activity is a
//! bound that needs no relaxation.

use super::Domain;
use crate::mip::problem::Problem;

/// Columns with a cost.
#[derive(Debug, Default)]
pub(crate) struct ObjectiveRow {
    pub index: Vec<u32>,
    pub value: Vec<f64>,
    pub offset: f64,
}

impl ObjectiveRow {
    pub fn new(p: &Problem) -> ObjectiveRow {
        let index: Vec<u32> = (0..p.num_cols() as u32)
            .filter(|&j| p.cost[j as usize] != 0.0)
            .collect();
        ObjectiveRow {
            value: index.iter().map(|&j| p.cost[j as usize]).collect(),
            index,
            offset: p.offset,
        }
    }
}

impl Domain {
    /// Limits the objective (in minimised form) to at most this; its propagation is then due.
    pub fn set_cutoff(&mut self, cutoff: f64) {
        self.cutoff = cutoff;
        self.objective_due = cutoff.is_finite();
    }

    /// The least objective within the bounds.
    pub fn floor(&self) -> f64 {
        let o = &self.objective;
        let (mut sum, mut size) = (o.offset, o.offset.abs());
        for (&j, &c) in o.index.iter().zip(&o.value) {
            let j = j as usize;
            let part = c * if c > 0.0 {
                self.lower[j]
            } else {
                self.upper[j]
            };
            sum += part;
            size += part.abs();
        }
        if sum.is_finite() {
            sum - 1e-13 * size * (o.index.len() + 1) as f64
        } else {
            f64::NEG_INFINITY
        }
    }

    /// The columns and coefficients of a row of the problem, or of the objective, whose number
    /// follows the last row's.
    pub fn entries_of<'a>(&'a self, p: &'a Problem, row: usize) -> (&'a [u32], &'a [f64]) {
        if row < p.num_rows() {
            p.rows.vector(row)
        } else {
            (&self.objective.index, &self.objective.value)
        }
    }

    pub(super) fn propagate_objective(&mut self, p: &Problem) {
        let o = self.objective.clone();
        let sides = (f64::NEG_INFINITY, self.cutoff - o.offset);
        self.propagate_entries(p, p.num_rows(), (&o.index, &o.value), sides, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn the_cutoff_bounds_columns_with_a_cost() {
        // 3 x + 2 y - z with z <= 1, and x + y >= 1.
        let mut b = ModelBuilder::new(Sense::Minimise);
        b.set_offset(10.0);
        let x = b.add_col(3.0, 0.0..=5.0);
        let y = b.add_col(2.0, 0.0..=5.0);
        let z = b.add_col(-1.0, 0.0..=1.0);
        b.set_integer(x, true);
        b.add_row(1.0.., [(x, 1.0), (y, 1.0)]);
        let p = Problem::from_model(&b.build().unwrap());
        let mut d = Domain::new(&p);
        assert!((d.floor() - 9.0).abs() < 1e-9);
        d.set_cutoff(14.0);
        assert!(d.propagate(&p));
        // 3 x + 2 y <= 5.
        assert_eq!(d.upper[x.index()], 1.0);
        assert!((d.upper[y.index()] - 2.5).abs() < 1e-5);
        assert_eq!(d.upper[z.index()], 1.0);
        d.set_cutoff(8.5);
        assert!(!d.propagate(&p), "9 is the least");
    }
}
