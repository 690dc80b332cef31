//! CHUZC: the entering column, by largest reduced cost squared over devex weight, and its FTRAN.

use super::{Primal, PrimalPhase, PrimalRebuild};
use crate::simplex::Core;
use crate::sparse_vec::{SparseVec, observe};

/// Verdict on a chosen column, from its FTRAN.
pub(super) enum ColumnVerdict {
    /// The reduced cost is attractive.
    Enter,
    /// The reduced cost was rounding noise and has been corrected.
    Skip,
    /// Reduced costs have drifted.
    Rebuild(PrimalRebuild),
}

impl Primal<'_> {
    pub(super) fn choose_column(&mut self) -> Option<usize> {
        let core = &mut *self.core;
        let tol = core.dual_tol;
        let mut best = None;
        let mut best_merit = 0.0;
        core.ticks += core.total() as u64 / 4;
        let total = core.total();
        let start = (core.random(core.count.iterations() as usize, 7) * total as f64) as usize;
        for j in (start..total).chain(0..start) {
            let v = core.dual_violation(j);
            if v > tol && v * v > best_merit * core.devex[j] && !self.taboo.contains(&(j as u32)) {
                best_merit = v * v / core.devex[j];
                best = Some(j);
            }
        }
        best
    }

    /// Computes the entering column by FTRAN, and its reduced cost again from that.
    pub(super) fn solve_column(&mut self, q: usize) -> ColumnVerdict {
        let core = &mut *self.core;
        core.load_entering(q);
        core.factor.ftran_entering(&mut core.col, core.density.col);
        observe(&mut core.density.col, core.col.density());
        let mut d = if self.phase == PrimalPhase::Two {
            core.wc[q]
        } else {
            0.0
        };
        let mut size = 1.0f64;
        for &i in &core.col.index {
            let i = i as usize;
            let cost = if self.phase == PrimalPhase::Two {
                core.wc[core.basic[i] as usize]
            } else {
                core.primal.sign[i] as f64
            };
            let part = cost * core.col.value[i];
            size = size.max(part.abs());
            d -= part;
        }
        let old = core.d[q];
        core.d[q] = d;
        let error = (d - old).abs() / size;
        let real = core.dual_violation(q) > core.dual_tol;
        if (error > 1e-5 || (!real && error > 1e-9)) && core.factor.updates() > 0 {
            return ColumnVerdict::Rebuild(PrimalRebuild::Numerical);
        }
        if real {
            ColumnVerdict::Enter
        } else {
            ColumnVerdict::Skip
        }
    }

    /// Sets the phase 1 costs of the basic variables.
    pub(super) fn set_signs(&mut self) {
        let core = &mut *self.core;
        for i in 0..core.m {
            core.primal.sign[i] = sign_of(core.xb[i], core.bl[i], core.bu[i], core.primal_tol);
        }
    }

    /// `rho = B^-T sign`.
    pub(super) fn phase1_multipliers(&mut self) {
        let core = &mut *self.core;
        core.rho.clear();
        for i in 0..core.m {
            if core.primal.sign[i] != 0 {
                core.rho.add(i, core.primal.sign[i] as f64);
            }
        }
        let expected = if core.rho.density() < 0.02 {
            core.density.rho
        } else {
            1.0
        };
        core.factor.btran(&mut core.rho, expected);
    }

    /// `d = -A^T B^-T sign`.
    pub(super) fn phase1_duals(&mut self) {
        self.phase1_multipliers();
        let core = &mut *self.core;
        core.price();
        core.d.fill(0.0);
        for (&j, &v) in core.packed.index.iter().zip(&core.packed.value) {
            core.d[j as usize] = -v;
        }
    }
}

pub(super) fn sign_of(x: f64, l: f64, u: f64, tol: f64) -> i8 {
    if x < l - tol {
        -1
    } else if x > u + tol {
        1
    } else {
        0
    }
}

/// Adds `B^-T delta` times the rows of the matrix to the phase 1 reduced costs.
pub(super) fn shift_phase1_duals(core: &mut Core, mut delta: SparseVec) -> SparseVec {
    std::mem::swap(&mut core.rho, &mut delta);
    core.factor.btran(&mut core.rho, core.density.rho);
    core.price();
    for (&j, &v) in core.packed.index.iter().zip(&core.packed.value) {
        core.d[j as usize] -= v;
    }
    std::mem::swap(&mut core.rho, &mut delta);
    delta
}
