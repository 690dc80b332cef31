//! Values and reduced costs recomputed from the factorisation, and the sums of their violations.

use super::Core;
use crate::outcome::VarStatus;

/// Number and extent of violations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Infeasibility {
    pub count: usize,
    pub max: f64,
    pub sum: f64,
}

impl Infeasibility {
    pub(super) fn add(&mut self, v: f64, tol: f64) {
        if v > tol {
            self.count += 1;
            self.max = self.max.max(v);
            self.sum += v;
        }
    }
}

impl Core {
    /// Sets the direction of movement and the value of every nonbasic variable from its status and
    /// working bounds. A status that contradicts the bounds is corrected.
    pub fn settle_nonbasic(&mut self) {
        for j in 0..self.total() {
            self.settle(j);
        }
    }

    pub fn settle(&mut self, j: usize) {
        if self.status[j] == VarStatus::Basic {
            self.mv[j] = 0;
            return;
        }
        let (l, u) = (self.wl[j], self.wu[j]);
        let status = if l == u {
            if self.status[j] == VarStatus::AtUpper {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            }
        } else if l == f64::NEG_INFINITY && u == f64::INFINITY {
            VarStatus::Free
        } else if l == f64::NEG_INFINITY {
            VarStatus::AtUpper
        } else if u == f64::INFINITY {
            VarStatus::AtLower
        } else if self.status[j] == VarStatus::Free {
            if u.abs() < l.abs() {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            }
        } else {
            self.status[j]
        };
        self.status[j] = status;
        let (x, mv) = match status {
            VarStatus::AtLower => (l, if l == u { 0 } else { 1 }),
            VarStatus::AtUpper => (u, if l == u { 0 } else { -1 }),
            _ => (0.0, 0),
        };
        self.x[j] = x;
        self.mv[j] = mv;
    }

    /// Gathers the bounds of the basic variables by row.
    pub fn gather_basic_bounds(&mut self) {
        for i in 0..self.m {
            let j = self.basic[i] as usize;
            (self.bl[i], self.bu[i]) = if j >= self.n && self.is_asleep(j - self.n) {
                (f64::NEG_INFINITY, f64::INFINITY)
            } else {
                (self.wl[j], self.wu[j])
            };
        }
    }

    /// Computes values and reduced costs for the true bounds and costs, after the end of a method.
    pub fn true_values(&mut self) {
        self.restore_costs();
        self.restore_bounds();
        self.compute_outdated();
    }

    /// Recomputes values and reduced costs that are out of date.
    pub fn compute_outdated(&mut self) {
        if !self.primal_valid {
            self.compute_primal();
        }
        if !self.dual_valid {
            self.compute_dual();
        }
    }

    /// `xb = -B^-1 N x_N`.
    pub fn compute_primal(&mut self) {
        self.work.clear();
        let work = &mut self.work.value;
        let mut ticks = 0;
        for j in 0..self.n {
            let x = self.x[j];
            if x != 0.0 && self.status[j] != VarStatus::Basic {
                let (index, value) = self.a.vector(j);
                ticks += index.len() as u64;
                for (&i, &v) in index.iter().zip(value) {
                    work[self.factor.position(i as usize)] -= v * x;
                }
            }
        }
        for (p, w) in work.iter_mut().enumerate() {
            let j = self.n + self.factor.row(p);
            if self.status[j] != VarStatus::Basic {
                *w -= self.x[j];
            }
        }
        self.ticks += ticks + self.total() as u64;
        self.work.relist();
        self.factor.ftran(&mut self.work, 1.0);
        self.xb.copy_from_slice(&self.work.value);
        self.work.clear();
        self.gather_basic_bounds();
        self.primal_valid = true;
    }

    /// Computes the dual vector `B^-T c_B` of the working costs, or of the true ones with
    /// `true_costs`, and leaves it in `work`.
    fn dual_vector(&mut self, true_costs: bool) {
        self.work.clear();
        for i in 0..self.m {
            let j = self.basic[i] as usize;
            self.work.value[i] = if true_costs { self.cost[j] } else { self.wc[j] };
        }
        self.work.relist();
        let expected = if self.work.density() < 0.02 {
            self.work.density()
        } else {
            1.0
        };
        self.factor.btran(&mut self.work, expected);
    }

    /// `d = c - A^T y` of the working costs.
    pub fn compute_dual(&mut self) {
        self.dual_vector(false);
        let y = &self.work;
        let n = self.n;
        if y.density() < 0.1 {
            self.d.copy_from_slice(&self.wc);
            for &p in &y.index {
                let yi = y.value[p as usize];
                let i = self.factor.row(p as usize);
                let (index, value) = self.at.vector(i);
                self.ticks += index.len() as u64;
                for (&j, &v) in index.iter().zip(value) {
                    self.d[j as usize] -= yi * v;
                }
                self.d[n + i] -= yi;
            }
        } else {
            self.ticks += self.a.nnz() as u64;
            for (i, v) in self.by_row.iter_mut().enumerate() {
                *v = y.value[self.factor.position(i)];
            }
            for j in 0..n {
                if self.status[j] == VarStatus::Basic {
                    continue;
                }
                let (index, value) = self.a.vector(j);
                let mut dot = 0.0;
                for (&i, &v) in index.iter().zip(value) {
                    dot += self.by_row[i as usize] * v;
                }
                self.d[j] = self.wc[j] - dot;
            }
            for i in 0..self.m {
                self.d[n + i] = self.wc[n + i] - self.by_row[i];
            }
        }
        self.ticks += self.total() as u64;
        for &j in &self.basic {
            self.d[j as usize] = 0.0;
        }
        self.work.clear();
        self.dual_valid = true;
    }

    /// Writes the dual vector of the true costs, by row, to `out`.
    pub fn true_dual_vector(&mut self, out: &mut Vec<f64>) {
        self.dual_vector(true);
        out.clear();
        out.extend((0..self.m).map(|i| self.work.value[self.factor.position(i)]));
        self.work.clear();
    }

    /// Writes the dual vector of the working costs, by row, to `out`.
    pub fn working_dual_vector(&mut self, out: &mut Vec<f64>) {
        self.dual_vector(false);
        out.clear();
        out.extend((0..self.m).map(|i| self.work.value[self.factor.position(i)]));
        self.work.clear();
    }

    /// Amount by which the reduced cost of a nonbasic variable has the wrong sign.
    #[inline]
    pub fn dual_violation(&self, j: usize) -> f64 {
        match self.status[j] {
            VarStatus::Basic => 0.0,
            VarStatus::Free => self.d[j].abs(),
            _ => -(self.mv[j] as f64) * self.d[j],
        }
    }

    pub fn dual_infeasibility(&self) -> Infeasibility {
        let mut sum = Infeasibility::default();
        for j in 0..self.total() {
            sum.add(self.dual_violation(j), self.dual_tol);
        }
        sum
    }

    pub fn primal_infeasibility(&self) -> Infeasibility {
        let mut sum = Infeasibility::default();
        for i in 0..self.m {
            sum.add(
                (self.bl[i] - self.xb[i]).max(self.xb[i] - self.bu[i]),
                self.primal_tol,
            );
        }
        sum
    }

    /// The objective of the working problem at the present basic solution: working cost times
    /// value, summed over all variables. It equals the dual objective if every nonbasic variable is
    /// at the bound that its reduced cost prices.
    pub fn working_objective(&self) -> f64 {
        let nonbasic: f64 = (0..self.total())
            .filter(|&j| self.status[j] != VarStatus::Basic && self.x[j] != 0.0)
            .map(|j| self.d[j] * self.x[j])
            .sum();
        nonbasic
    }
}
