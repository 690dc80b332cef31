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
    /// Returns whether the basis is optimal still; if not, the one before is back, without factors.
    pub(super) fn polish(&mut self, budget: &WorkBudget, started: u64) -> bool {
        let tol = self.dual_tol;
        if tol <= POLISHED {
            return true;
        }
        self.dual_tol = POLISHED;
        let rest = self.dual_infeasibility();
        let longest = self.xb.iter().fold(1.0f64, |a, x| a.max(x.abs()));
        let objective = self.working_objective().abs().max(1.0);
        if rest.count == 0 || rest.sum * longest <= POLISH_GATE * objective {
            self.dual_tol = tol;
            return true;
        }
        let before = self.status.clone();
        let cap = self.count.iterations() + 20 + (self.count.iterations() - started) / 10;
        let mut budget = budget.clone();
        budget.iterations = Some(budget.iterations.map_or(cap, |l| l.min(cap)));
        crate::primal::run(self, &budget, false);
        self.dual_tol = tol;
        self.true_values();
        if self.primal_infeasibility().count > 0 {
            // Rare: the polish ended on shifted bounds. The dual puts it right with the old
            // tolerance.
            crate::dual::run(self, &budget, false);
            self.true_values();
        }
        // Either may have ended by the cap, in the middle of a phase 1.
        let optimal =
            self.primal_infeasibility().count == 0 && self.dual_infeasibility().count == 0;
        let optimal = optimal && !self.wake_violated();
        if !optimal {
            self.install_basis(&before);
        }
        optimal
    }
}
