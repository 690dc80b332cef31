//! The bounded dual simplex method.
//!
//! An iteration is a list of named steps: choose the row (`row.rs`), price it and choose the column
//! (`column.rs`), update all data (`update.rs`). Sometimes values are recomputed, for a typed
//! reason (`rebuild.rs`). Phase 1 is the same method on the boxed subproblem. There every variable
//! gets the bounds [-1000, 1000], [0, 1], [-1, 0] or [0, 0], depending on which of its own bounds
//! are finite. Its optimum is zero exactly if the costs have a dual feasible basis (Koberstein
//! 2005, section 4.4). Pricing is dual steepest edge (Forrest & Goldfarb 1992).

mod column;
mod perturb;
mod rebuild;
mod row;
mod update;

use crate::outcome::VarStatus;
use crate::simplex::{Core, SimplexEnd, WorkBudget};
use crate::sparse_vec::SparseVec;
pub(crate) use column::DualBreakpoint;
use rebuild::DualRebuild;

/// Working memory of the dual, kept in the core so that it is allocated once.
#[derive(Clone, Debug, Default)]
pub(crate) struct DualScratch {
    /// Squared bound violation of each row's basic variable.
    infeasibility: Vec<f64>,
    /// Rows with possible violations, and flags of the rows in that list.
    list: Vec<u32>,
    listed: Vec<bool>,
    candidates: Vec<DualBreakpoint>,
    suffix: Vec<f64>,
    flips: Vec<u32>,
    flip_column: SparseVec,
    /// Entries of `B^-1 rho` at the nonzeros of the entering column.
    tau_at: Vec<f64>,
    old_values: Vec<f64>,
}

impl DualScratch {
    pub fn resize(&mut self, m: usize, total: usize) {
        self.infeasibility.clear();
        self.infeasibility.resize(m, 0.0);
        self.listed.clear();
        self.listed.resize(m, false);
        self.list.clear();
        self.list.reserve(m);
        self.candidates.clear();
        self.candidates.reserve(total);
        self.suffix.clear();
        self.suffix.reserve(total + 1);
        self.flips.clear();
        self.flips.reserve(total);
        self.flip_column.resize(m);
        self.tau_at.clear();
        self.tau_at.reserve(m);
        self.old_values.resize(m, 0.0);
    }
}

/// A run from an advanced basis counts as long after this number of steps plus the number of rows.
const SHORT_RUN_LIMIT: u64 = 50;

/// Limit on the times that a run stalls. Rows that are nearly parallel may let the method cycle
/// between bases whose values differ by rounding, whatever the costs.
const STALL_LIMIT: u32 = 8;

/// Problem that the method is solving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DualPhase {
    /// The boxed subproblem.
    One,
    /// The original program.
    Two,
}

/// One run of the dual simplex.
pub(crate) struct Dual<'a> {
    core: &'a mut Core,
    budget: &'a WorkBudget,
    phase: DualPhase,
    /// Working objective, kept up to date in phase 2.
    objective: f64,
    /// Reduced cost of the entering variable before the step.
    entering_dual: f64,
    /// First iteration at which the cutoff may be tried again.
    next_cutoff: u64,
    /// Rows to skip until the next pivot, because their pivots proved to be noise.
    taboo: Vec<u32>,
    troubles: usize,
    /// True if costs are to be perturbed once the run is long; and the steps so far.
    may_perturb: bool,
    steps: u64,
    /// The objective at its last increase, and the steps since.
    risen: f64,
    stalled: u64,
    /// The times that the method stalled.
    stalls: u32,
}

/// Result of one iteration.
enum IterationEnd {
    Pivoted,
    Rebuild(DualRebuild),
}

/// Runs the dual simplex from the present basis. On [`SimplexEnd::Done`] the working costs may
/// differ from the true ones (`costs_changed`).
///
/// With `perturb`, costs are perturbed at once from a slack basis or if phase 1 is needed, and
/// otherwise once the run is long ([`SHORT_RUN_LIMIT`]). So the short runs of branch and bound and
/// of cut rounds need no clean-up and keep their end point: the optimum for perturbed costs may be
/// far away. (Waiting for signs of stalling instead was measured: it stalls for minutes on the
/// compact rematerialization program with path cuts.)
pub(crate) fn run(core: &mut Core, budget: &WorkBudget, perturb: bool) -> SimplexEnd {
    let mut dual = Dual {
        core,
        budget,
        phase: DualPhase::Two,
        objective: 0.0,
        entering_dual: 0.0,
        next_cutoff: 0,
        taboo: Vec::new(),
        troubles: 0,
        may_perturb: perturb,
        steps: 0,
        risen: f64::NEG_INFINITY,
        stalled: 0,
        stalls: 0,
    };
    dual.run(perturb)
}

impl Dual<'_> {
    fn run(&mut self, perturb: bool) -> SimplexEnd {
        self.core.restore_bounds();
        if !self.core.factored {
            self.core.refactor();
        }
        self.core.weigh_new_rows();
        if !self.core.dual_valid {
            self.core.compute_dual();
        }
        self.core.settle_nonbasic();
        if self.core.costs_changed {
            // Continues where another run ended: rounding errors in its reduced costs do not
            // justify a phase 1.
            self.correct_duals();
        }
        if perturb && self.core.basic.iter().all(|&v| v as usize >= self.core.n) {
            self.may_perturb = false;
            self.core.perturb_costs();
        }
        self.flip_to_feasibility();
        if self.may_perturb && self.core.dual_infeasibility().count > 0 {
            self.may_perturb = false;
            self.core.perturb_costs();
            self.flip_to_feasibility();
        }
        for attempt in 0..4 {
            if self.core.dual_infeasibility().count > 0 {
                self.phase = DualPhase::One;
                self.set_box_bounds();
                let end = self.solve_phase();
                self.core.restore_bounds();
                self.flip_to_feasibility();
                if end != SimplexEnd::Done {
                    return if end == SimplexEnd::Infeasible {
                        SimplexEnd::Trouble
                    } else {
                        end
                    };
                }
                if self.core.dual_infeasibility().count > 0 {
                    if !self.core.costs_changed || attempt > 1 {
                        return SimplexEnd::OtherMethodNeeded;
                    }
                    // Perhaps only the perturbed costs have no dual feasible basis.
                    self.core.restore_costs();
                    self.core.compute_dual();
                    self.flip_to_feasibility();
                    continue;
                }
            }
            self.phase = DualPhase::Two;
            return self.solve_phase();
        }
        SimplexEnd::OtherMethodNeeded
    }

    /// Puts every boxed nonbasic variable at the bound that suits the sign of its reduced cost.
    fn flip_to_feasibility(&mut self) {
        let core = &mut *self.core;
        for j in 0..core.total() {
            core.settle(j);
            let boxed = core.wl[j] > f64::NEG_INFINITY && core.wu[j] < f64::INFINITY;
            if boxed && core.dual_violation(j) > core.dual_tol {
                core.status[j] = if core.status[j] == VarStatus::AtLower {
                    VarStatus::AtUpper
                } else {
                    VarStatus::AtLower
                };
                core.settle(j);
                core.count.flips += 1;
            }
        }
        core.primal_valid = false;
    }

    fn set_box_bounds(&mut self) {
        let core = &mut *self.core;
        for j in 0..core.total() {
            let (l, u) = (core.lower[j], core.upper[j]);
            (core.wl[j], core.wu[j]) = match (l.is_finite(), u.is_finite()) {
                (false, false) => (-1000.0, 1000.0),
                (true, false) => (0.0, 1.0),
                (false, true) => (-1.0, 0.0),
                (true, true) => (0.0, 0.0),
            };
        }
        core.bounds_changed = true;
        self.flip_to_feasibility();
    }

    fn solve_phase(&mut self) -> SimplexEnd {
        self.risen = f64::NEG_INFINITY;
        let mut reason = DualRebuild::Start;
        loop {
            if let Some(end) = self.rebuild(reason) {
                return end;
            }
            reason = loop {
                match self.iterate() {
                    IterationEnd::Pivoted => {
                        if self.core.refactor_due() {
                            break DualRebuild::UpdateLimit;
                        }
                        let short = SHORT_RUN_LIMIT + self.core.m as u64;
                        if self.may_perturb && self.steps > short {
                            self.may_perturb = false;
                            self.core.perturb_costs();
                            break DualRebuild::Perturbed;
                        }
                        if self.has_stalled() {
                            // Even if costs are perturbed already: use other, larger random
                            // numbers.
                            self.stalls += 1;
                            if self.stalls > STALL_LIMIT {
                                self.leave();
                                return SimplexEnd::Trouble;
                            }
                            self.may_perturb = false;
                            self.core.perturb_costs();
                            break DualRebuild::Perturbed;
                        }
                        if self.past_cutoff() {
                            break DualRebuild::Cutoff;
                        }
                        if let Some(kind) = self.core.limit_reached(self.budget) {
                            self.leave();
                            return SimplexEnd::Limit(kind);
                        }
                    }
                    IterationEnd::Rebuild(reason) => break reason,
                }
            };
        }
    }

    /// Returns whether the objective has not risen for so long that the method may be cycling.
    fn has_stalled(&mut self) -> bool {
        if self.objective > self.risen + 1e-12 * self.risen.abs() {
            self.risen = self.objective;
            self.stalled = 0;
            return false;
        }
        self.stalled += 1;
        if self.stalled <= self.core.stall_limit() {
            return false;
        }
        self.stalled = 0;
        self.risen = f64::NEG_INFINITY;
        true
    }

    fn past_cutoff(&self) -> bool {
        self.phase == DualPhase::Two
            && self.budget.cutoff.is_some_and(|c| self.objective > c)
            && self.core.count.dual_phase2 >= self.next_cutoff
    }

    fn iterate(&mut self) -> IterationEnd {
        let Some((r, excess)) = self.choose_row() else {
            return IterationEnd::Rebuild(DualRebuild::PossiblyOptimal);
        };
        self.core.price();
        let Some(entering) = self.choose_column(excess) else {
            return IterationEnd::Rebuild(DualRebuild::PossiblyInfeasible(r as u32));
        };
        if let Some(reason) = self.solve_column(r, &entering) {
            return IterationEnd::Rebuild(reason);
        }
        self.steps += 1;
        self.update_duals(r, &entering);
        self.apply_flips();
        let theta = self.update_primal(r, excess);
        self.update_weights(r);
        self.exchange(r, excess, &entering, theta)
    }

    /// Cleans the scratch when the method ends between rebuilds.
    fn leave(&mut self) {
        let s = &mut self.core.dual;
        s.list.clear();
        s.listed.fill(false);
    }
}
