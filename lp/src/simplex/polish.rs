//! Final refinement of an optimal basis.

use super::{Core, WorkBudget};

/// Dual tolerance of the refinement.
const POLISHED: f64 = 1e-11;
/// Relative error of the objective that triggers it.
const POLISH_GATE: f64 = 1e-10;

impl Core {
    /// Reruns the primal with a tighter tolerance, for few pivots, if the sum of violated reduced
    /// costs allows for a noticeable relative error of the objective. Such errors occur within
    /// tolerance if steps are long (Netlib's pilot: 4e-8).
    ///
    /// The pivot limit may stop the run at any point, even in phase 1, so the caller must check the
    /// violations again.
    pub(super) fn polish(&mut self, budget: &WorkBudget, started: u64) {
        let tol = self.dual_tol;
        if tol <= POLISHED {
            return;
        }
        self.dual_tol = POLISHED;
        let rest = self.dual_infeasibility();
        let longest = self.xb.iter().fold(1.0f64, |a, x| a.max(x.abs()));
        let objective = self.working_objective().abs().max(1.0);
        if rest.count > 0 && rest.sum * longest > POLISH_GATE * objective {
            let cap = self.count.iterations() + 20 + (self.count.iterations() - started) / 10;
            let mut budget = budget.clone();
            budget.iterations = Some(budget.iterations.map_or(cap, |l| l.min(cap)));
            crate::simplex::primal::run(self, &budget, false);
            self.true_values();
        }
        self.dual_tol = tol;
    }
}
