//! Conversion of the scaled working state to outcomes in the model's units.

use super::Solver;
use crate::certificate::{oriented, safe_bound};
use crate::outcome::{FarkasRay, LimitKind, LpOutcome, Ray, Solution, VarStatus};

impl Solver {
    /// Values, duals and basis in the model's units.
    pub(super) fn solution(&mut self) -> Solution {
        let (m, n) = (self.core.m, self.core.n);
        let mut x: Vec<f64> = (0..n)
            .map(|j| match self.core.status[j] {
                VarStatus::AtLower => self.model.col_lower[j],
                VarStatus::AtUpper => self.model.col_upper[j],
                _ => 0.0,
            })
            .collect();
        for i in 0..m {
            let j = self.core.basic[i] as usize;
            if j < n {
                x[j] = self.core.xb[i] * self.scaling.col[j];
            }
        }
        let mut row_activity = vec![0.0; m];
        for (j, &v) in x.iter().enumerate() {
            if v != 0.0 {
                for (i, a) in self.model.col_entries(j) {
                    row_activity[i] += a * v;
                }
            }
        }
        let unit = self.cost_unit();
        let mut y = Vec::new();
        self.core.true_dual_vector(&mut y);
        for (i, v) in y.iter_mut().enumerate() {
            *v *= self.scaling.row[i] / unit;
        }
        let reduced_costs = (0..n)
            .map(|j| {
                self.model.cost[j]
                    - self
                        .model
                        .col_entries(j)
                        .map(|(i, a)| a * y[i])
                        .sum::<f64>()
            })
            .collect();
        Solution {
            objective: self.model.objective(&x),
            x,
            row_activity,
            y,
            reduced_costs,
            basis: self.basis(),
        }
    }

    /// Largest violation of a bound and of the sign of a reduced cost, in the model's units. Values
    /// are relative to their own size, costs (after their scaling) to the largest one.
    pub(super) fn unscaled_violation(&self, s: &Solution) -> (f64, f64) {
        let model = &*self.model;
        let mut primal = 0.0f64;
        let mut check = |v: f64, l: f64, u: f64| {
            primal = primal.max((l - v).max(v - u) / (1.0 + v.abs() * 1e-2));
        };
        for (j, &v) in s.x.iter().enumerate() {
            check(v, model.col_lower[j], model.col_upper[j]);
        }
        for (i, &v) in s.row_activity.iter().enumerate() {
            check(v, model.row_lower[i], model.row_upper[i]);
        }
        let unit = self.cost_unit();
        let mut dual = 0.0f64;
        let mut check = |status: VarStatus, d: f64, l: f64, u: f64| {
            let d = unit * d;
            let bad = match status {
                _ if l == u => 0.0,
                VarStatus::Basic | VarStatus::Free => d.abs(),
                VarStatus::AtLower => -d,
                VarStatus::AtUpper => d,
            };
            dual = dual.max(bad);
        };
        let sizes = model.cost.iter().map(|c| (unit * c).abs());
        let largest = sizes.fold(1.0, f64::max);
        for (j, &d) in s.reduced_costs.iter().enumerate() {
            check(
                s.basis.cols[j],
                d / largest.sqrt(),
                model.col_lower[j],
                model.col_upper[j],
            );
        }
        for (i, &y) in s.y.iter().enumerate() {
            check(
                s.basis.rows[i],
                y / largest.sqrt(),
                model.row_lower[i],
                model.row_upper[i],
            );
        }
        (primal, dual)
    }

    pub(super) fn infeasible(&self) -> LpOutcome {
        let mut y: Vec<f64> = (0..self.core.m)
            .map(|i| self.core.rho.value[self.core.factor.position(i)] * self.scaling.row[i])
            .collect();
        let largest = y.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        if largest > 0.0 {
            let factor = crate::scaling::power_of_two(1.0 / largest);
            y.iter_mut().for_each(|v| *v *= factor);
        }
        let unproven = FarkasRay { y: y.clone() };
        LpOutcome::Infeasible(oriented(&self.model, y).unwrap_or(unproven))
    }

    pub(super) fn unbounded(&mut self, q: u32) -> LpOutcome {
        let (n, q) = (self.core.n, q as usize);
        let x = self.solution().x;
        let step = if self.core.d[q] < 0.0 { 1.0 } else { -1.0 };
        let mut direction = vec![0.0; n];
        if q < n {
            direction[q] = step * self.scaling.col[q];
        }
        // `solution` does not touch `col`, which still holds B^-1 a_q.
        for &i in &self.core.col.index {
            let j = self.core.basic[i as usize] as usize;
            if j < n {
                direction[j] = -step * self.core.col.value[i as usize] * self.scaling.col[j];
            }
        }
        // Entries that the ratio test treated as zero become zero.
        for (j, d) in direction.iter_mut().enumerate() {
            let (l, u) = (self.model.col_lower[j], self.model.col_upper[j]);
            if j != q && ((*d > 0.0 && u.is_finite()) || (*d < 0.0 && l.is_finite())) {
                *d = 0.0;
            }
        }
        LpOutcome::Unbounded(Ray { x, direction })
    }

    /// A bound on the optimum that the present basis proves in spite of all rounding, and the
    /// multipliers that prove it ([`safe_bound`](crate::certificate::safe_bound)). It is the result
    /// of a solve that ended with [`LpOutcome::Limit`]. It is infinite if no bound is proven, as
    /// for most bases that are not dual feasible.
    ///
    /// ```
    /// use remat_lp::{Limits, LpOutcome, ModelBuilder, Sense, Settings, Solver};
    /// let mut b = ModelBuilder::new(Sense::Minimise);
    /// let x = b.add_col(1.0, 0.0..=9.0);
    /// b.add_row(2.0.., [(x, 1.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.set_limits(Limits { iterations: Some(0), ..Default::default() });
    /// assert!(matches!(s.solve(), LpOutcome::Limit(_)));
    /// assert_eq!(s.dual_bound().0, 0.0);
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    pub fn dual_bound(&mut self) -> (f64, Vec<f64>) {
        if !self.core.factored {
            self.core.refactor();
        }
        let unit = self.cost_unit();
        let mut y = Vec::new();
        self.core.true_dual_vector(&mut y);
        for (i, v) in y.iter_mut().enumerate() {
            *v *= self.scaling.row[i] / unit;
        }
        (safe_bound(&self.model, &y), y)
    }

    /// The objective of the present basic solution, feasible or not. After a dual simplex that
    /// ended with [`LpOutcome::Limit`] it bounds the optimum up to tolerances and perturbation. It
    /// is an estimate, whereas [`Solver::dual_bound`] is proven.
    ///
    /// ```
    /// use remat_lp::{Limits, LpOutcome, ModelBuilder, Sense, Settings, Solver};
    /// let mut b = ModelBuilder::new(Sense::Minimise);
    /// let x = b.add_col(1.0, 3.0..);
    /// b.add_row(5.0.., [(x, 1.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.set_limits(Limits { iterations: Some(0), ..Default::default() });
    /// assert!(matches!(s.solve(), LpOutcome::Limit(_)));
    /// assert_eq!(s.basic_objective(), 3.0);
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    pub fn basic_objective(&self) -> f64 {
        self.core.basic_objective()
    }

    /// The bound proven by the working duals, if it reaches the cutoff.
    pub(super) fn cutoff(&mut self) -> Option<LpOutcome> {
        let unit = self.cost_unit();
        let target = self.limits.objective_cutoff?;
        let mut y = Vec::new();
        self.core.working_dual_vector(&mut y);
        for (i, v) in y.iter_mut().enumerate() {
            *v *= self.scaling.row[i] / unit;
        }
        let bound = safe_bound(&self.model, &y);
        (unit * (bound - target) >= 0.0).then_some(LpOutcome::CutoffReached { bound, y })
    }
}

/// Conversion of a limit into an outcome, for callers that only need an outcome.
impl From<LimitKind> for LpOutcome {
    fn from(kind: LimitKind) -> Self {
        LpOutcome::Limit(kind)
    }
}
