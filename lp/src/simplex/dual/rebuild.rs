//! Recomputes values and decides whether a phase has ended.

use super::{Dual, DualPhase};
use crate::outcome::{LimitKind, VarStatus};
use crate::settings::Algorithm;
use crate::simplex::SimplexEnd;

/// Reason for recomputing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DualRebuild {
    /// A phase begins.
    Start,
    /// There were enough updates.
    UpdateLimit,
    /// No row is infeasible.
    PossiblyOptimal,
    /// No variable blocks the dual step from this row.
    PossiblyInfeasible(u32),
    /// Two computations of the same number disagree.
    Numerical,
    /// Costs have been perturbed.
    Perturbed,
    /// The objective has passed the cutoff.
    Cutoff,
}

/// Relative drift of recomputed basic values above which the final factorisation is not trusted.
const DRIFT: f64 = 1e-6;

impl Dual<'_> {
    /// Recomputes the factorisation (if the reason requires it), reduced costs and values. Returns
    /// the end of the phase, if reached.
    pub(super) fn rebuild(&mut self, reason: DualRebuild) -> Option<SimplexEnd> {
        // The proof is checked against the matrix itself, so the accuracy of the factors does not
        // matter. Most infeasible nodes of a search tree end here without a factorisation.
        if matches!(reason, DualRebuild::PossiblyInfeasible(_))
            && self.phase == DualPhase::Two
            && self.core.infeasibility_proven(true)
        {
            self.leave();
            return Some(SimplexEnd::Infeasible);
        }
        let fresh = self.core.factored && self.core.factor.updates() == 0;
        let refactor = match reason {
            DualRebuild::Numerical | DualRebuild::UpdateLimit => !fresh,
            // Infeasibility is reported only from fresh factors.
            DualRebuild::PossiblyInfeasible(_) => !fresh,
            _ => !self.core.factored,
        };
        if reason == DualRebuild::Numerical && fresh {
            self.troubles += 1;
            if self.troubles > 20 {
                self.leave();
                return Some(SimplexEnd::Trouble);
            }
        }
        if refactor && self.core.refactor() > 0 {
            self.troubles += 1;
        }
        self.core.check_basis();
        if reason == DualRebuild::PossiblyOptimal && self.core.costs_changed && self.ends_here() {
            return Some(SimplexEnd::Done);
        }
        let repeat = !refactor && fresh && self.core.primal_valid && self.core.dual_valid;
        if !repeat || reason == DualRebuild::Start {
            let core = &mut *self.core;
            core.dual.old_values.copy_from_slice(&core.xb);
            if reason != DualRebuild::Start || !core.dual_valid {
                core.compute_dual();
            }
            self.correct_duals();
            let core = &mut *self.core;
            core.compute_primal();
            if reason == DualRebuild::PossiblyOptimal && self.drifted() {
                return self.rebuild(DualRebuild::Numerical);
            }
        }
        self.leave();
        let core = &mut *self.core;
        for i in 0..core.m {
            core.note_infeasibility(i);
        }
        self.objective = core.working_objective();
        let phase = if self.phase == DualPhase::One { 1 } else { 2 };
        core.report(Algorithm::Dual, phase, false);
        match reason {
            DualRebuild::PossiblyOptimal
            | DualRebuild::Start
            | DualRebuild::Cutoff
            | DualRebuild::UpdateLimit
                if self.core.dual.list.is_empty() =>
            {
                Some(SimplexEnd::Done)
            }
            DualRebuild::PossiblyOptimal if !self.taboo.is_empty() => {
                // All remaining rows are taboo.
                let hopeless = self.troubles > 5;
                self.taboo.clear();
                hopeless.then_some(SimplexEnd::Trouble)
            }
            DualRebuild::PossiblyInfeasible(r) if repeat => {
                // The row was priced with the present factors, and `rho` still holds it.
                let row_still_violated = self.core.dual.infeasibility[r as usize] > 0.0;
                if row_still_violated {
                    self.leave();
                    Some(SimplexEnd::Infeasible)
                } else {
                    None
                }
            }
            DualRebuild::Cutoff if self.past_cutoff() => {
                self.next_cutoff = self.core.count.dual_phase2 + 20;
                self.leave();
                Some(SimplexEnd::Cutoff)
            }
            _ => self.core.limit_reached(self.budget).map(|kind: LimitKind| {
                self.leave();
                SimplexEnd::Limit(kind)
            }),
        }
    }

    /// Returns whether recomputed values differ too much from the updated ones to trust the
    /// factorisation.
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

    /// With changed costs, returns whether recomputed values are still feasible. The caller that
    /// restores the costs recomputes reduced costs.
    fn ends_here(&mut self) -> bool {
        if self.phase == DualPhase::One || !self.taboo.is_empty() {
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

    /// Corrects reduced costs of the wrong sign, left by rounding or repairs: boxed variables
    /// change sides, other costs are shifted.
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
            } else if self.phase == DualPhase::Two {
                core.wc[j] -= core.d[j];
                core.d[j] = 0.0;
                core.costs_changed = true;
            }
        }
    }
}
