//! CHUZR: the row that leaves, by largest infeasibility squared over steepest edge weight.

use super::Dual;
use crate::simplex::Core;
use crate::sparse_vec::observe;

/// Least acceptable ratio of a stored weight to the true one; below it the row looked better than
/// it is, and another is chosen.
const ACCEPT_WEIGHT: f64 = 0.25;

impl Core {
    /// Recomputes the violation of row `i` and lists it if positive.
    #[inline]
    pub fn note_infeasibility(&mut self, i: usize) {
        let v = (self.bl[i] - self.xb[i]).max(self.xb[i] - self.bu[i]);
        let s = &mut self.dual;
        if v > self.primal_tol {
            s.infeasibility[i] = v * v;
            if !s.listed[i] {
                s.listed[i] = true;
                s.list.push(i as u32);
            }
        } else {
            s.infeasibility[i] = 0.0;
        }
    }

    /// Computes exact weights of added rows with basic logicals, by one BTRAN each. Their initial
    /// weight of 1 is the least possible and would make every cut look better than it is.
    pub fn weigh_new_rows(&mut self) {
        let mut rows = std::mem::take(&mut self.new_rows);
        rows.retain(|&i| !self.is_asleep(i as usize));
        let exact = rows.len() <= 50 + self.m / 10;
        for &row in &rows {
            let row = row as usize;
            let p = self.factor.position(row);
            if self.basic[p] as usize != self.n + row {
                continue;
            }
            self.dse[p] = 1.0;
            if exact {
                self.factor.btran_unit(p, &mut self.rho, self.density.rho);
                self.dse[p] = self.rho.norm2();
            }
        }
        rows.clear();
        self.new_rows = rows;
    }
}

impl Dual<'_> {
    /// The leaving row, with `rho` filled, and its excess over the upper bound (positive) or below
    /// the lower one (negative).
    pub(super) fn choose_row(&mut self) -> Option<(usize, f64)> {
        loop {
            let core = &mut *self.core;
            let s = &mut core.dual;
            let mut best: Option<usize> = None;
            let mut best_merit = 0.0;
            let mut k = 0;
            core.ticks += s.list.len() as u64;
            while k < s.list.len() {
                let i = s.list[k] as usize;
                let v = s.infeasibility[i];
                if v == 0.0 {
                    s.listed[i] = false;
                    s.list.swap_remove(k);
                    continue;
                }
                // v / w > best, written without the division.
                if v > best_merit * core.dse[i] && !self.taboo.contains(&(i as u32)) {
                    best_merit = v / core.dse[i];
                    best = Some(i);
                }
                k += 1;
            }
            let r = best?;
            core.factor.btran_unit(r, &mut core.rho, core.density.rho);
            observe(&mut core.density.rho, core.rho.density());
            let truth = core.rho.norm2();
            let stored = core.dse[r];
            core.dse[r] = truth;
            if stored < ACCEPT_WEIGHT * truth {
                continue;
            }
            let excess = if core.xb[r] < core.bl[r] {
                core.xb[r] - core.bl[r]
            } else {
                core.xb[r] - core.bu[r]
            };
            return Some((r, excess));
        }
    }
}
