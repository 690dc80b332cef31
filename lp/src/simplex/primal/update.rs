//! The steps that carry out a chosen pivot or bound flip.

use super::column::{shift_phase1_duals, sign_of};
use super::row::PrimalStep;
use super::{Primal, PrimalPhase, PrimalRebuild};
use crate::factor::UpdateCheck;
use crate::outcome::VarStatus;
use crate::sparse_vec::observe;

const PIVOT_MISMATCH: f64 = 1e-7;
const UPDATE_ERROR: f64 = 1e-6;
/// Largest devex weight; beyond it, weights have drifted too far from the reference framework.
const LARGEST_WEIGHT: f64 = 1e9;

impl Primal<'_> {
    /// Computes the pivot row by BTRAN and PRICE, and checks that both computations of the pivot
    /// agree.
    pub(super) fn price_row(&mut self, q: usize, step: &PrimalStep) -> Option<PrimalRebuild> {
        let (r, _) = step.leaving?;
        let core = &mut *self.core;
        core.factor.btran_unit(r, &mut core.rho, core.density.rho);
        observe(&mut core.density.rho, core.rho.density());
        core.price();
        let by_col = core.col.value[r];
        let by_row = if q < core.n {
            core.a
                .iter(q)
                .map(|(i, v)| core.rho.value[core.factor.position(i)] * v)
                .sum::<f64>()
        } else {
            core.rho.value[core.factor.position(q - core.n)]
        };
        let mismatch = (by_row - by_col).abs() / by_row.abs().min(by_col.abs()).max(1e-12);
        if mismatch > PIVOT_MISMATCH {
            if core.factor.updates() > 0 {
                return Some(PrimalRebuild::Numerical);
            }
            if mismatch > 1e-2 {
                core.factor.threshold = (core.factor.threshold * 2.0).min(0.9);
                self.taboo.push(q as u32);
                return Some(PrimalRebuild::Numerical);
            }
        }
        None
    }

    /// Updates values, reduced costs, weights and the basis.
    pub(super) fn update(&mut self, q: usize, step: &PrimalStep) -> Option<PrimalRebuild> {
        let core = &mut *self.core;
        if step.theta != 0.0 {
            for &i in &core.col.index {
                core.xb[i as usize] -= step.theta * core.col.value[i as usize];
            }
        }
        let counter = match self.phase {
            PrimalPhase::One => &mut core.count.primal_phase1,
            PrimalPhase::Two => &mut core.count.primal_phase2,
        };
        let Some((r, status)) = step.leaving else {
            core.count.flips += 1;
            core.status[q] = if core.status[q] == VarStatus::AtLower {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            };
            core.settle(q);
            return if self.phase == PrimalPhase::One {
                self.update_signs(None)
            } else {
                None
            };
        };
        *counter += 1;
        let alpha = core.col.value[r];
        let theta_dual = core.d[q] / alpha;
        let w_q = core.devex[q].max(1.0);
        core.ticks += 2 * core.packed.index.len() as u64;
        for (&j, &a) in core.packed.index.iter().zip(&core.packed.value) {
            let j = j as usize;
            core.d[j] -= theta_dual * a;
            let ratio = a / alpha;
            let w = ratio * ratio * w_q;
            if w > core.devex[j] {
                core.devex[j] = w;
            }
        }
        let p = core.basic[r] as usize;
        core.d[q] = 0.0;
        core.d[p] = -theta_dual;
        if self.phase == PrimalPhase::One {
            // The leaving variable becomes nonbasic at a bound, where its phase 1 cost is zero.
            core.d[p] -= core.primal.sign[r] as f64;
            core.primal.sign[r] = 0;
        }
        core.devex[p] = (w_q / (alpha * alpha)).max(1.0);
        if core.devex[p] > LARGEST_WEIGHT {
            core.devex.fill(1.0);
        }
        let value = core.x[q] + step.theta;
        core.exchange(r, q, status);
        core.xb[r] = value;
        // This method does not maintain dual weights; the row of the pivot starts over.
        // (Alternative: exact for this row and at least (a_i / a_r)^2 of it for the others. It
        // needs as many dual pivots on recorded sequences, and a third more in the loop of the
        // interval form at 5 GiB. A weight that is too small is detected when its row is chosen;
        // one that is too large is not.)
        core.dse[r] = 1.0;
        core.dse_valid = false;
        self.taboo.clear();
        match core.factor.update(r, &core.col) {
            UpdateCheck::Accurate(error) if error < UPDATE_ERROR => {}
            UpdateCheck::Accurate(_) => return Some(PrimalRebuild::Numerical),
            UpdateCheck::Unusable => {
                core.factored = false;
                return Some(PrimalRebuild::Numerical);
            }
        }
        if self.phase == PrimalPhase::One {
            self.update_signs(Some(r))
        } else {
            None
        }
    }

    /// Updates phase 1 costs for the new values, and reduced costs for the new phase 1 costs.
    fn update_signs(&mut self, entered: Option<usize>) -> Option<PrimalRebuild> {
        let core = &mut *self.core;
        let mut delta = std::mem::take(&mut core.tau);
        delta.clear();
        let mut note = |i: usize, core: &mut crate::simplex::Core| {
            let now = sign_of(core.xb[i], core.bl[i], core.bu[i], core.primal_tol);
            let change = now - core.primal.sign[i];
            if change != 0 {
                core.primal.sign[i] = now;
                delta.add(i, change as f64);
            }
        };
        for k in 0..core.col.index.len() {
            note(core.col.index[k] as usize, core);
        }
        if let Some(r) = entered {
            note(r, core);
        }
        if !delta.index.is_empty() {
            delta = shift_phase1_duals(core, delta);
        }
        core.tau = delta;
        if core.primal.sign.iter().all(|&s| s == 0) {
            Some(PrimalRebuild::Feasible)
        } else {
            None
        }
    }
}
