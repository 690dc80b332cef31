//! Dual smoothing (Wentges 1997; the schedule after a mispricing: Pessoa, Sadykov, Uchoa & Vanderbeck 2018, section 2).
//!
//! The duals of a restricted master jump about. Pricing at a point between them and the best duals known (those with the
//! largest Lagrangian bound) finds columns that are of use near the optimum of the dual, and bounds that rise steadily.
//! Such a column need not pay under the master's own duals (a mispricing); then the point moves towards them until it
//! gets there, so the answer is the same as without.

use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) struct Smoothing<R> {
    on: bool,
    /// Weight of the centre.
    alpha: f64,
    start: f64,
    /// The best duals known, zeros left out, and their bound.
    centre: BTreeMap<Arc<R>, f64>,
    centre_bound: f64,
}

impl<R: Ord> Smoothing<R> {
    /// `alpha` is the weight of the centre at the start, 0 turns smoothing off.
    pub fn new(alpha: f64) -> Self {
        Smoothing {
            on: alpha > 0.0,
            alpha,
            start: alpha,
            centre: BTreeMap::new(),
            centre_bound: f64::NEG_INFINITY,
        }
    }

    /// Bounds of another node are not comparable.
    pub fn reset(&mut self) {
        self.alpha = self.start;
        self.centre.clear();
        self.centre_bound = f64::NEG_INFINITY;
    }

    /// The duals to price at after `failures` mispricings, or `None` for the master's own.
    pub fn point(&self, rows: &[Arc<R>], own: &[f64], failures: u32) -> Option<Vec<f64>> {
        let weight = 1.0 - f64::from(failures + 1) * (1.0 - self.alpha);
        if !self.on || self.centre_bound == f64::NEG_INFINITY || weight <= 1e-3 {
            return None;
        }
        let mix = |(r, &y): (&Arc<R>, &f64)| {
            let c = self.centre.get(r).copied().unwrap_or(0.0);
            weight * c + (1.0 - weight) * y
        };
        Some(rows.iter().zip(own).map(mix).collect())
    }

    /// Learns what bound duals give.
    pub fn observe(&mut self, rows: &[Arc<R>], duals: &[f64], bound: f64) {
        if self.on && bound > self.centre_bound {
            self.centre_bound = bound;
            let nonzero = rows.iter().zip(duals).filter(|(_, y)| **y != 0.0);
            self.centre = nonzero.map(|(r, &y)| (r.clone(), y)).collect();
        }
    }

    /// Learns how a round ended: less smoothing where it misprices, more where it does not.
    pub fn adapt(&mut self, failures: u32) {
        if failures > 0 {
            self.alpha = (self.alpha - 0.1).max(0.05);
        } else {
            self.alpha += (0.95 - self.alpha) * 0.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_moves_from_the_centre_to_the_masters_duals() {
        let rows: Vec<Arc<u32>> = (0..3).map(Arc::new).collect();
        let mut s = Smoothing::new(0.5);
        assert_eq!(s.point(&rows, &[1.0, 2.0, 3.0], 0), None);
        s.observe(&rows[..2], &[3.0, 0.0], 10.0);
        s.observe(&rows[..2], &[9.0, 9.0], 9.0);
        let at = s.point(&rows, &[1.0, 2.0, 4.0], 0).unwrap();
        assert_eq!(at, [2.0, 1.0, 2.0]);
        assert_eq!(s.point(&rows, &[1.0, 2.0, 4.0], 1), None);
        s.reset();
        assert_eq!(s.point(&rows, &[1.0, 2.0, 4.0], 0), None);
    }
}
