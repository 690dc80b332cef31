//! Bases: installing, factorising, exchanging a variable.

use super::Core;
use crate::factor::NONE;
use crate::outcome::VarStatus;

impl Core {
    /// All logicals basic.
    pub fn slack_basis(&mut self) {
        for j in 0..self.n {
            let (l, u) = (self.lower[j], self.upper[j]);
            self.status[j] = if l == f64::NEG_INFINITY && u == f64::INFINITY {
                VarStatus::Free
            } else if l == f64::NEG_INFINITY || (u != f64::INFINITY && u.abs() < l.abs()) {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            };
        }
        for i in 0..self.m {
            self.status[self.n + i] = VarStatus::Basic;
            self.basic[i] = (self.n + i) as u32;
        }
        self.dse.fill(1.0);
        self.dse_valid = true;
        self.basis_replaced();
    }

    /// Installs statuses with any number of basic variables: logicals fill up missing ones, and
    /// surplus ones lose that status.
    pub fn install_basis(&mut self, status: &[VarStatus]) {
        self.wake_all();
        *self.values_known() = false;
        self.status.copy_from_slice(status);
        // Remove surplus basic variables from the highest index on; fill missing ones with
        // logicals.
        let mut count = self
            .status
            .iter()
            .filter(|&&s| s == VarStatus::Basic)
            .count();
        for j in (0..self.total()).rev() {
            if count <= self.m {
                break;
            }
            if self.status[j] == VarStatus::Basic {
                self.status[j] = VarStatus::AtLower;
                count -= 1;
            }
        }
        for j in self.n..self.total() {
            if count >= self.m {
                break;
            }
            if self.status[j] != VarStatus::Basic {
                self.status[j] = VarStatus::Basic;
                count += 1;
            }
        }
        let mut at = 0;
        for j in 0..self.total() {
            if self.status[j] == VarStatus::Basic {
                self.basic[at] = j as u32;
                at += 1;
            }
        }
        let slack = self.basic.first().is_none_or(|&v| v as usize >= self.n);
        self.dse.fill(1.0);
        self.dse_valid = slack;
        self.basis_replaced();
    }

    /// Marks all data that depends on the basis as out of date.
    pub fn basis_replaced(&mut self) {
        self.price_matrix.invalidate();
        self.factored = false;
        self.primal_valid = false;
        self.dual_valid = false;
        self.devex_valid = false;
    }

    /// Factorises the basis, repairing it if it is singular. Weights move with their variables.
    /// Returns the number of replaced variables.
    pub fn refactor(&mut self) -> usize {
        for i in 0..self.m {
            self.by_var[self.basic[i] as usize] = self.dse[i];
        }
        let replaced = self.factor.build(&self.a, self.n, &mut self.basic);
        self.count.factorisations += 1;
        self.price_matrix.invalidate();
        for &(var, row) in &replaced {
            let j = var as usize;
            let (l, u) = (self.wl[j], self.wu[j]);
            self.status[j] = if u.is_finite() && (!l.is_finite() || u.abs() < l.abs()) {
                VarStatus::AtUpper
            } else if l.is_finite() {
                VarStatus::AtLower
            } else {
                VarStatus::Free
            };
            self.settle(j);
            let slack = self.n + row as usize;
            self.status[slack] = VarStatus::Basic;
            self.mv[slack] = 0;
            self.by_var[slack] = 1.0;
        }
        for i in 0..self.m {
            self.dse[i] = self.by_var[self.basic[i] as usize];
        }
        self.factored = true;
        self.primal_valid = false;
        self.dual_valid = false;
        replaced.len()
    }

    /// Returns whether a fresh factorisation is due. It is due if the extra cost of solves through
    /// the updates exceeds the cost of a build and fresh values, or if the hard limit is reached.
    /// This is the classic rule that minimises the average cost of an iteration.
    pub fn refactor_due(&self) -> bool {
        let k = self.factor.updates();
        let rebuild =
            3 * self.factor.build_ticks + 2 * self.a.nnz() as u64 + 8 * self.total() as u64;
        k >= self.max_updates || (k >= 20 && self.factor.growth > rebuild)
    }

    /// Makes variable `q` basic in row `r`; the variable that was basic there becomes nonbasic at
    /// the bound `status`.
    pub fn exchange(&mut self, r: usize, q: usize, status: VarStatus) {
        let p = self.basic[r] as usize;
        self.status[p] = status;
        let (l, u) = (self.wl[p], self.wu[p]);
        self.x[p] = if status == VarStatus::AtLower { l } else { u };
        self.mv[p] = if l == u {
            0
        } else if status == VarStatus::AtLower {
            1
        } else {
            -1
        };
        self.price_matrix.left_basis(p);
        self.basic[r] = q as u32;
        self.status[q] = VarStatus::Basic;
        self.mv[q] = 0;
        self.bl[r] = self.wl[q];
        self.bu[r] = self.wu[q];
    }

    /// Checks the invariants of the basis that are cheap enough for each rebuild in debug builds.
    pub fn check_basis(&self) {
        debug_assert_eq!(
            self.status
                .iter()
                .filter(|&&s| s == VarStatus::Basic)
                .count(),
            self.m
        );
        debug_assert!(
            self.basic
                .iter()
                .all(|&v| v != NONE && self.status[v as usize] == VarStatus::Basic)
        );
        debug_assert!((0..self.total()).all(|j| match self.status[j] {
            VarStatus::Basic => self.mv[j] == 0,
            VarStatus::AtLower => self.x[j] == self.wl[j] && self.mv[j] >= 0,
            VarStatus::AtUpper => self.x[j] == self.wu[j] && self.mv[j] <= 0,
            VarStatus::Free => self.x[j] == 0.0,
        }));
    }
}
