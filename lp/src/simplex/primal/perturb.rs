//! Perturbation of bounds.

use crate::outcome::VarStatus;
use crate::simplex::Core;

/// Relative size of the perturbation.
const BASE: f64 = 5e-7;

impl Core {
    /// Widens every bound slightly, so that ratio tests have few ties. Fixed variables stay fixed:
    /// widened bounds would make nonbasic ones eligible.
    pub fn perturb_bounds(&mut self) {
        let attempt = self.perturbations;
        self.perturbations += 1;
        let base = BASE * (1 + attempt.min(9)) as f64;
        for j in 0..self.total() {
            let (l, u) = (self.lower[j], self.upper[j]);
            if l == u && self.status[j] != VarStatus::Basic {
                continue;
            }
            let r = self.random(j, 3 + 4 * attempt);
            if l.is_finite() {
                self.wl[j] = l - base * (1.0 + l.abs()) * (1.0 + r);
            }
            if u.is_finite() {
                self.wu[j] = u + base * (1.0 + u.abs()) * (1.0 + r);
            }
        }
        self.bounds_changed = true;
        self.primal_valid = false;
        self.settle_nonbasic();
    }
}
