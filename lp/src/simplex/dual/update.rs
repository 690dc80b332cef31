//! The steps that carry out a chosen pivot.

use super::column::Entering;
use super::rebuild::DualRebuild;
use super::{Dual, DualPhase, IterationEnd};
use crate::factor::UpdateCheck;
use crate::outcome::VarStatus;
use crate::sparse_vec::observe;

/// Relative difference between the pivots by row and by column that counts as trouble.
const PIVOT_MISMATCH: f64 = 1e-7;
/// Relative error of the updated diagonal that triggers a fresh factorisation.
const UPDATE_ERROR: f64 = 1e-6;
/// Lower limit of weights: smaller values result from cancellation. A floor relative to the added
/// amount is worse (docs/inside/decisions/059).
const LEAST_WEIGHT: f64 = 1e-4;

impl Dual<'_> {
    /// Computes the entering column by FTRAN, and checks that both computations of the pivot agree.
    pub(super) fn solve_column(&mut self, r: usize, entering: &Entering) -> Option<DualRebuild> {
        let core = &mut *self.core;
        core.load_entering(entering.q);
        core.factor.ftran_entering(&mut core.col, core.density.col);
        observe(&mut core.density.col, core.col.density());
        let (by_row, by_col) = (entering.alpha_row, core.col.value[r]);
        let mismatch = (by_row - by_col).abs() / by_row.abs().min(by_col.abs()).max(1e-12);
        if mismatch > PIVOT_MISMATCH {
            if core.factor.updates() > 0 {
                return Some(DualRebuild::Numerical);
            }
            if mismatch > 1e-2 {
                // Still noise with fresh factors: skip this row for now and pivot more carefully.
                self.troubles += 1;
                core.factor.threshold = (core.factor.threshold * 2.0).min(0.9);
                self.taboo.push(r as u32);
                return Some(DualRebuild::Numerical);
            }
        }
        None
    }

    /// `d -= theta * row`.
    pub(super) fn update_duals(&mut self, r: usize, entering: &Entering) {
        let core = &mut *self.core;
        let theta = entering.theta_dual;
        // The objective changes by the flips and the step at the old reduced costs.
        for &j in &core.dual.flips {
            let j = j as usize;
            self.objective += core.d[j] * (core.mv[j] as f64) * (core.wu[j] - core.wl[j]);
        }
        self.entering_dual = core.d[entering.q];
        if theta != 0.0 {
            core.ticks += core.packed.index.len() as u64;
            for (&j, &a) in core.packed.index.iter().zip(&core.packed.value) {
                core.d[j as usize] -= theta * a;
            }
        }
        core.d[entering.q] = 0.0;
        core.d[core.basic[r] as usize] = -theta;
    }

    /// Moves the flipped variables to their other bounds and the basic ones with them.
    pub(super) fn apply_flips(&mut self) {
        let core = &mut *self.core;
        if core.dual.flips.is_empty() {
            return;
        }
        let mut column = std::mem::take(&mut core.dual.flip_column);
        column.clear();
        for k in 0..core.dual.flips.len() {
            let j = core.dual.flips[k] as usize;
            let old = core.x[j];
            core.status[j] = match core.status[j] {
                VarStatus::AtLower => VarStatus::AtUpper,
                _ => VarStatus::AtLower,
            };
            core.settle(j);
            let change = core.x[j] - old;
            core.count.flips += 1;
            if j < core.n {
                for (i, v) in core.a.iter(j) {
                    column.add(core.factor.position(i), v * change);
                }
            } else {
                column.add(core.factor.position(j - core.n), change);
            }
        }
        core.factor.ftran(&mut column, core.density.col);
        for &i in &column.index {
            let i = i as usize;
            core.xb[i] -= column.value[i];
            core.note_infeasibility(i);
        }
        core.dual.flip_column = column;
    }

    /// `xb -= theta * column`, for the step that moves the leaving variable to its bound.
    pub(super) fn update_primal(&mut self, r: usize, excess: f64) -> f64 {
        let core = &mut *self.core;
        let alpha = core.col.value[r];
        let bound = if excess < 0.0 { core.bl[r] } else { core.bu[r] };
        let theta = (core.xb[r] - bound) / alpha;
        self.objective += theta * self.entering_dual;
        if theta != 0.0 {
            core.ticks += core.col.index.len() as u64;
            for k in 0..core.col.index.len() {
                let i = core.col.index[k] as usize;
                core.xb[i] -= theta * core.col.value[i];
                core.note_infeasibility(i);
            }
        }
        theta
    }

    /// Dual steepest edge: `w_i += (a_i/a_r)^2 w_r - 2 (a_i/a_r) tau_i` with `tau = B^-1 rho`.
    pub(super) fn update_weights(&mut self, r: usize) {
        let core = &mut *self.core;
        core.tau.copy_from(&core.rho);
        let mut tau = std::mem::take(&mut core.dual.tau_at);
        core.factor.ftran_at(
            &mut core.tau,
            &core.col.index,
            &mut core.density.tau,
            &mut tau,
        );
        let alpha = core.col.value[r];
        let w_r = core.dse[r] / (alpha * alpha);
        core.ticks += core.col.index.len() as u64;
        for (&i, &t) in core.col.index.iter().zip(&tau) {
            let i = i as usize;
            let a = core.col.value[i];
            let w = core.dse[i] + a * (w_r * a - 2.0 / alpha * t);
            core.dse[i] = w.max(LEAST_WEIGHT);
        }
        core.dse[r] = w_r.max(LEAST_WEIGHT);
        core.dual.tau_at = tau;
    }

    /// Exchanges the variables and updates the factorisation.
    pub(super) fn exchange(
        &mut self,
        r: usize,
        excess: f64,
        entering: &Entering,
        theta: f64,
    ) -> IterationEnd {
        let core = &mut *self.core;
        let q = entering.q;
        let value = core.x[q] + theta;
        core.exchange(
            r,
            q,
            if excess < 0.0 {
                VarStatus::AtLower
            } else {
                VarStatus::AtUpper
            },
        );
        core.xb[r] = value;
        core.note_infeasibility(r);
        match self.phase {
            DualPhase::One => core.count.dual_phase1 += 1,
            DualPhase::Two => core.count.dual_phase2 += 1,
        }
        self.taboo.clear();
        match core.factor.update(r, &core.col) {
            UpdateCheck::Accurate(error) if error < UPDATE_ERROR => IterationEnd::Pivoted,
            UpdateCheck::Accurate(_) => IterationEnd::Rebuild(DualRebuild::Numerical),
            UpdateCheck::Unusable => {
                core.factored = false;
                IterationEnd::Rebuild(DualRebuild::Numerical)
            }
        }
    }
}
