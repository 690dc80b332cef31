//! Heuristics at a node: rounding, dives, heuristics of extensions, and the root's own.

use super::{RoundShared, Worker};
use remat_lp::{ModelError, Solution};

impl Worker {
    /// Runs the heuristics that are due at a node of this bound and depth.
    pub(super) fn heuristics(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        bound: f64,
        depth: u32,
    ) -> Result<(), ModelError> {
        self.extension_heuristics(shared, s, bound, depth)?;
        if shared.settings.heuristics {
            self.heuristic(shared, "rounding", |w| w.simple_rounding(shared, &s.x))?;
            if depth == 0 && self.best.is_none() {
                self.first_solution(shared, &s.x)?;
            }
            self.exchanges(shared, s, depth)?;
            self.dives(shared, s, depth)?;
            if depth == 0 && shared.settings.nesting == 0 && self.is_poor(bound) {
                let budget = 2 * self.ticks();
                self.heuristic(shared, "paths", |w| w.paths(shared, &s.x, budget))?;
            }
            if depth == 0 && shared.settings.nesting == 0 && self.is_poor(bound) {
                self.heuristic(shared, "feasibility pump", |w| w.pump(shared, s, 60))?;
            }
        }
        Ok(())
    }

    /// Returns whether the incumbent is missing or far from the bound.
    fn is_poor(&self, bound: f64) -> bool {
        let far = |o: f64| o - bound > 0.05 * o.abs();
        self.best.as_ref().is_none_or(|b| far(b.objective))
    }
}
