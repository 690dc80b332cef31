//! The events of a solve. Their numbers are computed only if a subscriber is interested.

use super::Core;
use super::values::Infeasibility;
use crate::outcome::VarStatus;
use crate::settings::Algorithm;
use tracing::Level;

impl Core {
    /// Emits the present state of a method as an event; `last` marks the end of the solve.
    pub fn report(&mut self, algorithm: Algorithm, phase: u8, last: bool) {
        self.reported = (algorithm, phase);
        if !self.emits_events || !tracing::enabled!(target: "remat_lp", Level::DEBUG) {
            return;
        }
        let primal = self.primal_infeasibility();
        let dual = if algorithm == Algorithm::Dual {
            self.dual_infeasibility_for_flips()
        } else {
            self.dual_infeasibility()
        };
        tracing::debug!(
            name: "simplex",
            target: "remat_lp",
            algorithm = match algorithm {
                Algorithm::Primal => "primal",
                Algorithm::Dual | Algorithm::Auto | Algorithm::Barrier => "dual",
            },
            phase,
            iterations = self.count.iterations(),
            objective = self.basic_objective(),
            primal_count = primal.count,
            primal_sum = primal.sum,
            dual_count = dual.count,
            dual_sum = dual.sum,
            last,
            "simplex"
        );
    }

    /// Emits the last event of a solve, about the method that ran last.
    pub fn report_end(&mut self) {
        let (algorithm, phase) = self.reported;
        self.report(algorithm, phase, true);
    }

    /// The objective of the present basic solution, in the model's sense and units.
    pub fn basic_objective(&self) -> f64 {
        self.objective_factor * self.true_objective() + self.objective_offset
    }

    fn true_objective(&self) -> f64 {
        let nonbasic: f64 = (0..self.n)
            .filter(|&j| self.status[j] != VarStatus::Basic)
            .map(|j| self.cost[j] * self.x[j])
            .sum();
        let basic: f64 = self
            .basic
            .iter()
            .zip(&self.xb)
            .map(|(&j, x)| self.cost[j as usize] * x)
            .sum();
        nonbasic + basic
    }

    /// Sums reduced costs with an infinite bound in their direction, which the dual cannot correct
    /// by a flip.
    fn dual_infeasibility_for_flips(&self) -> Infeasibility {
        let mut sum = Infeasibility::default();
        for j in 0..self.total() {
            let d = self.d[j];
            let end = if d > 0.0 {
                self.lower[j]
            } else {
                self.upper[j]
            };
            if self.status[j] != VarStatus::Basic && !end.is_finite() {
                sum.add(d.abs(), self.dual_tol);
            }
        }
        sum
    }
}
