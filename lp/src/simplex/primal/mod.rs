//! The primal simplex method for bounded variables.
//!
//! Phase 1 minimises the sum of infeasibilities from any basis (composite: costs +1 and -1 on basic
//! variables beyond their bounds, updated as rows become feasible). Its ratio test passes
//! breakpoints as long as the sum falls. Phase 2 uses Harris' two passes. Pricing is devex (Forrest
//! & Goldfarb 1992). New columns keep the basis primal feasible, so column generation uses this
//! method; it also cleans up after perturbed costs.

mod column;
mod perturb;
mod row;
mod update;

use crate::outcome::LimitKind;
use crate::settings::Algorithm;
use crate::simplex::{Core, SimplexEnd, WorkBudget};
use column::ColumnVerdict;
use row::Breakpoint;

/// Working memory of the primal, kept in the core so that it is allocated once.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrimalScratch {
    /// Phase 1 cost of each row's basic variable: -1 below its bounds, +1 above, 0 within.
    sign: Vec<i8>,
    breakpoints: Vec<Breakpoint>,
}

impl PrimalScratch {
    pub fn resize(&mut self, m: usize, _total: usize) {
        self.sign.clear();
        self.sign.resize(m, 0);
        self.breakpoints.clear();
        self.breakpoints.reserve(2 * m);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrimalPhase {
    /// Minimise the sum of infeasibilities.
    One,
    /// Minimise the cost.
    Two,
}

/// Reason for recomputing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrimalRebuild {
    Start,
    UpdateLimit,
    /// No reduced cost is attractive.
    NoColumn,
    /// No variable blocks the entering variable.
    NoRow(u32),
    Numerical,
    /// The last infeasibility has been removed.
    Feasible,
    /// Bounds have been perturbed.
    Perturbed,
}

/// One run of the primal simplex.
pub(crate) struct Primal<'a> {
    core: &'a mut Core,
    budget: &'a WorkBudget,
    phase: PrimalPhase,
    troubles: usize,
    /// Columns to skip until the next pivot.
    taboo: Vec<u32>,
    /// Pivots and flips since values were last recomputed.
    steps: u64,
    /// Consecutive pivots with a zero step.
    stalled: u64,
    /// Consecutive recomputations of values without any step in between.
    idle: u32,
    /// Returns from phase 2 to phase 1.
    returns: u32,
}

/// Largest number of returns from phase 2 to phase 1. Beyond it the run is cycling: rounding
/// destroys the feasibility of a basis that phase 1 finds again.
const PHASE_RETURNS_LIMIT: u32 = 500;

/// Runs the primal simplex from the present basis, with bounds perturbed if asked. On
/// [`SimplexEnd::Done`] the working bounds may differ from the true ones (`bounds_changed`).
pub(crate) fn run(core: &mut Core, budget: &WorkBudget, perturb: bool) -> SimplexEnd {
    let mut primal = Primal {
        core,
        budget,
        phase: PrimalPhase::Two,
        troubles: 0,
        taboo: Vec::new(),
        steps: 0,
        stalled: 0,
        idle: 0,
        returns: 0,
    };
    primal.run(perturb)
}

impl Primal<'_> {
    fn run(&mut self, perturb: bool) -> SimplexEnd {
        self.core.restore_bounds();
        if !self.core.factored {
            self.core.refactor();
        }
        self.core.settle_nonbasic();
        if perturb {
            self.core.perturb_bounds();
        }
        if !self.core.devex_valid {
            self.core.devex.fill(1.0);
            self.core.devex_valid = true;
        }
        let mut reason = PrimalRebuild::Start;
        loop {
            if let Some(end) = self.rebuild(reason) {
                return end;
            }
            reason = loop {
                match self.iterate() {
                    None => {
                        if self.core.refactor_due() {
                            break PrimalRebuild::UpdateLimit;
                        }
                        if self.stalled > self.core.stall_limit() {
                            self.stalled = 0;
                            self.core.perturb_bounds();
                            break PrimalRebuild::Perturbed;
                        }
                        if let Some(kind) = self.core.limit_reached(self.budget) {
                            return self.leave(SimplexEnd::Limit(kind));
                        }
                    }
                    Some(reason) => break reason,
                }
            };
        }
    }

    /// Invalidates phase 1 reduced costs, which no other method can use.
    fn leave(&mut self, end: SimplexEnd) -> SimplexEnd {
        if self.phase == PrimalPhase::One {
            self.core.dual_valid = false;
        }
        end
    }

    fn rebuild(&mut self, reason: PrimalRebuild) -> Option<SimplexEnd> {
        let fresh = self.core.factored && self.core.factor.updates() == 0;
        let refactor = match reason {
            PrimalRebuild::Start | PrimalRebuild::Feasible | PrimalRebuild::Perturbed => {
                !self.core.factored
            }
            // Both ends are reported only from values recomputed with the present factors, and rays
            // only from fresh factors.
            PrimalRebuild::NoColumn if self.phase == PrimalPhase::Two => !self.core.factored,
            _ => !fresh,
        };
        if reason == PrimalRebuild::Numerical && fresh {
            self.troubles += 1;
            if self.troubles > 30 {
                return Some(self.leave(SimplexEnd::Trouble));
            }
        }
        let recomputed_before = self.recomputed() && !refactor;
        if refactor && self.core.refactor() > 0 {
            self.troubles += 1;
        }
        self.core.check_basis();
        let core = &mut *self.core;
        core.compute_primal();
        let mut infeasibility = core.primal_infeasibility();
        if infeasibility.count == 0 {
            if self.phase == PrimalPhase::One {
                core.devex.fill(1.0);
            }
            self.phase = PrimalPhase::Two;
            core.compute_dual();
        } else {
            if self.phase == PrimalPhase::Two && reason != PrimalRebuild::Start {
                // Feasibility was lost by rounding or repair.
                core.devex.fill(1.0);
                self.returns += 1;
                if self.returns > PHASE_RETURNS_LIMIT {
                    return Some(SimplexEnd::Trouble);
                }
            }
            self.phase = PrimalPhase::One;
            self.set_signs();
            self.phase1_duals();
        }
        let phase = if self.phase == PrimalPhase::One { 1 } else { 2 };
        self.core.report(Algorithm::Primal, phase, false);
        // If columns are attractive only by rounding, their FTRAN reveals it and corrects their
        // reduced costs. Recomputing all reduced costs would bring them back.
        let exhausted =
            reason == PrimalRebuild::NoColumn && self.steps == 0 && self.taboo.is_empty();
        self.idle = if self.steps == 0 { self.idle + 1 } else { 0 };
        self.steps = 0;
        if self.idle > 50 {
            return Some(self.leave(SimplexEnd::Trouble));
        }
        if exhausted && self.phase == PrimalPhase::Two {
            return Some(SimplexEnd::Done);
        }
        if exhausted || self.choose_column().is_none() {
            if !self.taboo.is_empty() {
                self.taboo.clear();
                self.troubles += 1;
                if self.troubles > 30 {
                    return Some(self.leave(SimplexEnd::Trouble));
                }
            } else if self.phase == PrimalPhase::Two {
                return Some(SimplexEnd::Done);
            } else if fresh || refactor {
                if self.core.bounds_changed {
                    self.core.restore_bounds();
                    self.core.compute_primal();
                    infeasibility = self.core.primal_infeasibility();
                    if infeasibility.count > 0 {
                        self.set_signs();
                        self.phase1_duals();
                        if self.choose_column().is_none() {
                            return Some(self.claim_infeasible());
                        }
                        return None;
                    }
                    return self.rebuild(PrimalRebuild::Feasible);
                }
                return Some(self.claim_infeasible());
            } else {
                return self.rebuild(PrimalRebuild::Numerical);
            }
        }
        if let PrimalRebuild::NoRow(q) = reason
            && self.phase == PrimalPhase::Two
            && recomputed_before
            && self.core.status[q as usize] != crate::outcome::VarStatus::Basic
        {
            return Some(SimplexEnd::Unbounded(q));
        }
        self.core
            .limit_reached(self.budget)
            .map(|kind: LimitKind| self.leave(SimplexEnd::Limit(kind)))
    }

    /// Returns whether values were recomputed with the present factors and no pivot followed.
    fn recomputed(&self) -> bool {
        self.core.factored && self.core.factor.updates() == 0
    }

    /// Reports infeasibility; the phase 1 multipliers `B^-T sign`, which prove it, are left in
    /// `rho`.
    fn claim_infeasible(&mut self) -> SimplexEnd {
        self.phase1_multipliers();
        self.leave(SimplexEnd::Infeasible)
    }

    /// Runs one iteration; `None` if no rebuild is needed.
    fn iterate(&mut self) -> Option<PrimalRebuild> {
        let q = loop {
            let Some(q) = self.choose_column() else {
                return Some(PrimalRebuild::NoColumn);
            };
            match self.solve_column(q) {
                ColumnVerdict::Enter => break q,
                ColumnVerdict::Skip => {}
                ColumnVerdict::Rebuild(reason) => return Some(reason),
            }
        };
        let Some(step) = self.choose_row(q) else {
            return Some(PrimalRebuild::NoRow(q as u32));
        };
        if let Some(reason) = self.price_row(q, &step) {
            return Some(reason);
        }
        self.steps += 1;
        self.stalled = if step.theta.abs() > 1e-13 {
            0
        } else {
            self.stalled + 1
        };
        self.update(q, &step)
    }
}
