//! The feasibility pump: rounds the relaxation's point, then finds the nearest point of the
//! relaxation, and repeats (Fischetti, Glover & Lodi 2005; rounding with propagation after
//! Fischetti & Salvagnin 2009).

use crate::mip::worker::{Attempt, RoundShared, Worker};
use remat_lp::random::SplitMix64;
use remat_lp::{Bounds, ColId, LpOutcome, ModelError, Solution};

impl Worker {
    /// Pumps for at most `rounds` rounds.
    pub(crate) fn pump(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        rounds: usize,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let n = p.num_cols();
        let mut lp = remat_lp::Solver::new(
            self.relax.model().clone(),
            remat_lp::Settings {
                seed: shared.settings.first_seed(),
                ..Default::default()
            },
        );
        lp.set_basis(&s.basis)?;
        lp.set_limits(remat_lp::Limits {
            iterations: Some(2_000 + 2 * shared.root_iterations),
            interrupt: Some(shared.stop.flag().clone()),
            ..Default::default()
        });
        let mut random = SplitMix64::new(shared.settings.first_seed());
        let mut x = s.x.clone();
        let mut last: Vec<f64> = Vec::new();
        // The objective fades out.
        let norm = p.cost.iter().map(|c| c * c).sum::<f64>().sqrt().max(1e-9);
        let integers = p.integer.iter().filter(|&&i| i).count() as f64;
        let mut blend = 1.0;
        let mut found = false;
        // Half of all work so far: one rounding may touch every nonzero several times.
        let spent = |w: &Worker, lp: &remat_lp::Solver| w.domain.ticks + lp.stats().ticks;
        let limit = spent(self, &lp) + self.ticks() / 2;
        for _ in 0..rounds {
            if self.is_spent(shared) || spent(self, &lp) > limit {
                break;
            }
            let mut target = self.round_with_propagation(shared, &x);
            if target == last {
                // A cycle: flip some of the columns that disagree most, and a few at random.
                let mut order: Vec<(f64, usize)> = (0..n)
                    .filter(|&j| p.integer[j] && shared.lower[j] < shared.upper[j])
                    .map(|j| ((x[j] - target[j]).abs() + 0.3 * random.unit(), j))
                    .collect();
                order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                for &(_, j) in order.iter().take(10 + random.below(20)) {
                    let up = if x[j] == target[j] {
                        random.below(2) == 0
                    } else {
                        x[j] > target[j]
                    };
                    let v = if up { target[j] + 1.0 } else { target[j] - 1.0 };
                    target[j] = Bounds::new(shared.lower[j], shared.upper[j]).nearest(v);
                }
            }
            last.clone_from(&target);
            if self.try_integral(shared, &target, "pump")? == Attempt::Accepted {
                found = true;
                break;
            }
            blend *= 0.9;
            for j in 0..n {
                let mut c = blend * p.cost[j] * integers.sqrt() / norm;
                if p.integer[j] {
                    if target[j] <= shared.lower[j] {
                        c += 1.0 - blend;
                    } else if target[j] >= shared.upper[j] {
                        c -= 1.0 - blend;
                    }
                }
                lp.set_cost(ColId(j as u32), c)?;
            }
            let LpOutcome::Optimal(s) = lp.solve() else {
                break;
            };
            x = s.x;
            if self.fractional(shared, &x).is_empty()
                && self.try_integral(shared, &x, "pump")? == Attempt::Accepted
            {
                found = true;
                break;
            }
        }
        self.domain.ticks += lp.stats().ticks;
        self.dive_iterations += lp.stats().iterations();
        Ok(found)
    }

    /// Rounds integer columns one after another, with propagation after each. After a conflict the
    /// rest is rounded without propagation.
    pub(crate) fn round_with_propagation(&mut self, shared: &RoundShared, x: &[f64]) -> Vec<f64> {
        let p = shared.problem.clone();
        let mark = self.domain.mark();
        let mut order: Vec<usize> = (0..x.len()).filter(|&j| p.integer[j]).collect();
        let distance = |j: usize| (x[j] - x[j].round()).abs();
        order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
        let mut out = x.to_vec();
        let mut open = true;
        let mut conflicts = 0;
        for j in order {
            let v = x[j].round();
            if !open {
                out[j] = Bounds::new(shared.lower[j], shared.upper[j]).nearest(v);
                continue;
            }
            let v = Bounds::new(self.domain.lower[j], self.domain.upper[j]).nearest(v);
            out[j] = v;
            if self.domain.is_fixed(j) {
                continue;
            }
            let before = self.domain.mark();
            self.domain.fix(&p, j, v);
            if !self.domain.propagate(&p) {
                self.domain.undo(&shared.problem, before);
                conflicts += 1;
            }
            open = conflicts < 20 && !shared.stopped();
        }
        self.domain.undo(&shared.problem, mark);
        out
    }
}
