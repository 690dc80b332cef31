//! What the iteration log says. Nothing here runs unless a log is set.

use super::Core;
use super::values::Infeasibility;
use crate::log::{LogLine, Violations};
use crate::outcome::VarStatus;
use crate::settings::Algorithm;

impl Infeasibility {
    fn violations(self) -> Violations {
        Violations {
            count: self.count,
            sum: self.sum,
        }
    }
}

impl Core {
    /// Calls the log, if there is one, with the present state of a method.
    pub fn report(&mut self, algorithm: Algorithm, phase: u8, last: bool) {
        let Some(log) = self.log.clone() else {
            return;
        };
        self.log_state = (algorithm, phase);
        let dual = if algorithm == Algorithm::Dual {
            self.dual_infeasibility_for_flips()
        } else {
            self.dual_infeasibility()
        };
        log.line(&LogLine {
            algorithm,
            phase,
            iterations: self.count.iterations(),
            objective: self.basic_objective(),
            primal: self.primal_infeasibility().violations(),
            dual: dual.violations(),
            last,
        });
    }

    /// The last line of a solve, about the method that ran last.
    pub fn report_end(&mut self) {
        let (algorithm, phase) = self.log_state;
        self.report(algorithm, phase, true);
    }

    /// The objective of the present basic solution, in the model's sense and units.
    pub fn basic_objective(&self) -> f64 {
        self.objective_sign * self.true_objective() + self.objective_offset
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

    /// Reduced costs that point to an infinite bound: those the dual cannot mend by a flip.
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
