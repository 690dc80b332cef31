//! The last touch of an optimal basis.

use super::{Core, WorkBudget};

/// Dual tolerance of the last touch.
const POLISHED: f64 = 1e-11;
/// Relative error of the objective that calls for it.
const POLISH_GATE: f64 = 1e-10;

impl Core {
    /// Reduced costs within tolerance can still hide a relative error of the objective that users
    /// would see, where steps are long (Netlib's pilot: 4e-8). If their sum allows for one, the
    /// primal goes on with a tighter tolerance, for few pivots.
    ///
    /// Their limit may end it anywhere, in the middle of a phase 1 as well: the caller looks at the
    /// violations anew.
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
