//! Computing everything afresh, and deciding whether the end is reached.

use super::{Dual, Phase};
use crate::outcome::{LimitKind, VarStatus};
use crate::settings::Algorithm;
use crate::simplex::RunEnd;

/// Why values are computed afresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A phase begins.
    Start,
    /// Enough updates.
    UpdateLimit,
    /// No row is infeasible.
    PossiblyOptimal,
    /// Nothing blocks the dual step from this row.
    PossiblyInfeasible(u32),
    /// Two ways of computing the same number disagree.
    Numerical,
    /// Costs have been perturbed.
    Perturbed,
    /// The objective has passed the cutoff.
    Cutoff,
}

/// Drift of recomputed basic values (relative) above which the factorisation is not trusted at the end.
const DRIFT: f64 = 1e-6;

impl Dual<'_> {
    /// Recomputes factorisation (if the reason asks for it), reduced costs and values. Returns how the phase ended, if
    /// it has.
    pub(super) fn rebuild(&mut self, reason: Reason) -> Option<RunEnd> {
        // The proof is checked against the matrix itself, so it does not matter how accurate the factors are; most
        // infeasible nodes of a search tree end here without a factorisation.
        if matches!(reason, Reason::PossiblyInfeasible(_))
            && self.phase == Phase::Two
            && self.core.infeasibility_proven(true)
        {
            self.leave();
            return Some(RunEnd::Infeasible);
        }
        let fresh = self.core.factored && self.core.factor.updates() == 0;
        let refactor = match reason {
            Reason::Numerical | Reason::UpdateLimit => !fresh,
            // An infeasible program is claimed from fresh factors only.
            Reason::PossiblyInfeasible(_) => !fresh,
            _ => !self.core.factored,
        };
        if reason == Reason::Numerical && fresh {
            self.troubles += 1;
            if self.troubles > 20 {
                self.leave();
                return Some(RunEnd::Trouble);
            }
        }
        if refactor && self.core.refactor() > 0 {
            self.troubles += 1;
        }
        self.core.check_basis();
        if reason == Reason::PossiblyOptimal && self.core.costs_changed && self.ends_here() {
            return Some(RunEnd::Done);
        }
        let repeat = !refactor && fresh && self.core.primal_valid && self.core.dual_valid;
        if !repeat || reason == Reason::Start {
            let core = &mut *self.core;
            core.dual.old_values.copy_from_slice(&core.xb);
            if reason != Reason::Start || !core.dual_valid {
                core.compute_dual();
            }
            self.correct_duals();
            let core = &mut *self.core;
            core.compute_primal();
            if reason == Reason::PossiblyOptimal && self.drifted() {
                return self.rebuild(Reason::Numerical);
            }
        }
        self.leave();
        let core = &mut *self.core;
        for i in 0..core.m {
            core.note_infeasibility(i);
        }
        self.objective = core.working_objective();
        let phase = if self.phase == Phase::One { 1 } else { 2 };
        core.report(Algorithm::Dual, phase, false);
        match reason {
            Reason::PossiblyOptimal | Reason::Start | Reason::Cutoff | Reason::UpdateLimit
                if self.core.dual.list.is_empty() =>
            {
                Some(RunEnd::Done)
            }
            Reason::PossiblyOptimal if !self.taboo.is_empty() => {
                // All that is left is taboo.
                let hopeless = self.troubles > 5;
                self.taboo.clear();
                hopeless.then_some(RunEnd::Trouble)
            }
            Reason::PossiblyInfeasible(r) if repeat => {
                // The row was priced with these very factors. `rho` still holds it.
                let row_still_violated = self.core.dual.infeasibility[r as usize] > 0.0;
                if row_still_violated {
                    self.leave();
                    Some(RunEnd::Infeasible)
                } else {
                    None
                }
            }
            Reason::Cutoff if self.past_cutoff() => {
                self.next_cutoff = self.core.count.dual_phase2 + 20;
                self.leave();
                Some(RunEnd::Cutoff)
            }
            _ => self.core.limit_reached(self.budget).map(|kind: LimitKind| {
                self.leave();
                RunEnd::Limit(kind)
            }),
        }
    }

    /// Whether recomputed values differ so much from the updated ones that the factorisation is not to be trusted.
    fn drifted(&self) -> bool {
        let core = &*self.core;
        let drift = core
            .xb
            .iter()
            .zip(&core.dual.old_values)
            .map(|(new, old)| (new - old).abs() / (1.0 + new.abs()))
            .fold(0.0, f64::max);
        drift > DRIFT && core.factor.updates() > 0
    }

    /// With changed costs, reduced costs are recomputed by whoever takes the changes back; all that is asked here is
    /// whether recomputed values are still feasible.
    fn ends_here(&mut self) -> bool {
        if self.phase == Phase::One || !self.taboo.is_empty() {
            return false;
        }
        let core = &mut *self.core;
        core.dual.old_values.copy_from_slice(&core.xb);
        core.compute_primal();
        if self.drifted() || self.core.primal_infeasibility().count > 0 {
            return false;
        }
        self.core.dual_valid = false;
        self.leave();
        true
    }

    /// Wrong-signed reduced costs, left by rounding or repairs: boxed variables change sides, other costs are shifted.
    pub(super) fn correct_duals(&mut self) {
        let core = &mut *self.core;
        let tol = core.dual_tol;
        for j in 0..core.total() {
            let v = core.dual_violation(j);
            if v <= tol {
                continue;
            }
            if core.wl[j].is_finite() && core.wu[j].is_finite() {
                core.status[j] = if core.status[j] == VarStatus::AtLower {
                    VarStatus::AtUpper
                } else {
                    VarStatus::AtLower
                };
                core.settle(j);
                core.count.flips += 1;
            } else if self.phase == Phase::Two {
                core.wc[j] -= core.d[j];
                core.d[j] = 0.0;
                core.costs_changed = true;
            }
        }
    }
}
