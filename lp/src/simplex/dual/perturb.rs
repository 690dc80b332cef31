//! Perturbation of costs, and its removal.

use crate::outcome::VarStatus;
use crate::simplex::Core;

/// Relative size of the perturbation.
const BASE: f64 = 5e-7;

impl Core {
    /// Moves every cost slightly, in the direction that keeps or makes its variable dual feasible,
    /// so that ratio tests have few ties. Reduced costs are recomputed.
    pub fn perturb_costs(&mut self) {
        let attempt = self.perturbations;
        self.perturbations += 1;
        let largest = self.cost.iter().fold(0.0f64, |a, c| a.max(c.abs()));
        let mut scale = if largest > 100.0 {
            largest.sqrt().sqrt()
        } else {
            largest
        };
        let boxed = (0..self.n)
            .filter(|&j| self.upper[j] - self.lower[j] < 1e30)
            .count();
        if (boxed as f64) < 0.01 * self.n as f64 {
            scale = scale.min(1.0);
        }
        let base = BASE * scale.max(1e-3) * (1 + attempt.min(9)) as f64;
        for j in 0..self.total() {
            if j >= self.n && self.is_asleep(j - self.n) {
                continue;
            }
            let (l, u) = (self.lower[j], self.upper[j]);
            let size = if j < self.n {
                (1.0 + self.cost[j].abs()) * base * (1.0 + self.random(j, 1 + 4 * attempt))
            } else {
                1e-12 * (1.0 + self.random(j - self.n, 2))
            };
            let shift = match (l.is_finite(), u.is_finite()) {
                (true, false) => size,
                (false, true) => -size,
                (true, true) if l != u => {
                    // A nonbasic variable's cost moves away from zero reduced cost, where its sign
                    // would be random (5,212 needless flips and pivots at the basis that keeps all
                    // tensors).
                    let up = match self.status[j] {
                        VarStatus::Basic => self.cost[j] >= 0.0,
                        VarStatus::AtLower => true,
                        _ => false,
                    };
                    if up { size } else { -size }
                }
                _ => 0.0,
            };
            self.wc[j] += shift;
        }
        self.costs_changed = true;
        self.compute_dual();
    }

    /// Removes every perturbation and shift of the costs. Reduced costs are out of date afterwards.
    pub fn restore_costs(&mut self) {
        if self.costs_changed {
            self.wc.copy_from_slice(&self.cost);
            self.costs_changed = false;
            self.dual_valid = false;
        }
    }

    /// Removes phase 1 boxes, perturbations and shifts of the bounds, and settles the nonbasic
    /// variables.
    pub fn restore_bounds(&mut self) {
        if self.bounds_changed {
            self.wl.copy_from_slice(&self.lower);
            self.wu.copy_from_slice(&self.upper);
            self.bounds_changed = false;
            self.primal_valid = false;
            self.settle_nonbasic();
        }
    }
}
