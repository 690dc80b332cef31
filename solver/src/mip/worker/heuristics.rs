//! Heuristics at a node: those of extensions, rounding, dives, and the root's own.

use super::{RoundShared, Worker};
use crate::mip::extend::SolutionSink;
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
        for h in &shared.extensions.heuristics {
            self.heuristic(shared, h.name(), |worker| {
                let mut sink = SolutionSink::default();
                let budget = 10 * (worker.ticks() / 100 + 10_000);
                let ticks = worker.with_view(shared, s, bound, depth, |view| {
                    h.run(view, budget, &mut sink)
                });
                worker.domain.ticks += ticks;
                for x in sink.points {
                    if x.len() == shared.problem.num_cols() {
                        worker.offer(shared, &x, h.name())?;
                    }
                }
                for x in sink.restored {
                    if x.len() == shared.original.num_cols() {
                        worker.offer_restored(shared, x, h.name())?;
                    }
                }
                Ok(())
            })?;
        }
        if shared.settings.heuristics {
            self.heuristic(shared, "rounding", |w| w.simple_rounding(shared, &s.x))?;
            if depth == 0 && self.best.is_none() {
                self.first_solution(shared, &s.x)?;
            }
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
