//! Iterates of the method and their residuals.

use super::program::{BarrierProgram, largest};

/// Primal and dual point. An unbounded side of a column has distance infinity and multiplier zero.
#[derive(Clone, Default)]
pub(super) struct Iterate {
    pub x: Vec<f64>,
    /// Distances to the bounds, positive; they are variables of their own until the residuals of
    /// the bounds are gone.
    pub xl: Vec<f64>,
    pub xu: Vec<f64>,
    pub y: Vec<f64>,
    /// Multipliers of the bounds, positive.
    pub zl: Vec<f64>,
    pub zu: Vec<f64>,
}

/// Residuals of an iterate.
#[derive(Clone, Default)]
pub(super) struct Residuals {
    /// `b - A x`.
    pub rows: Vec<f64>,
    /// `l - x + xl` and `u - x - xu`.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// `c + Qx - A^T y - zl + zu`.
    pub dual: Vec<f64>,
    /// `Qx`; empty without a quadratic objective.
    pub curved: Vec<f64>,
    /// Average product of distance and multiplier.
    pub mu: f64,
    /// Objectives, minimised, with the offset.
    pub primal_objective: f64,
    pub dual_objective: f64,
    /// Largest residual of rows and bounds, relative to one plus the largest right-hand side.
    pub primal: f64,
    /// Largest residual of the dual, relative to one plus the largest cost.
    pub infeasible_dual: f64,
}

impl Iterate {
    /// The iterate at a point, with all sides of columns marked unbounded.
    pub fn without_bounds(x: Vec<f64>, y: Vec<f64>) -> Iterate {
        let n = x.len();
        Iterate {
            xl: vec![f64::INFINITY; n],
            xu: vec![f64::INFINITY; n],
            zl: vec![0.0; n],
            zu: vec![0.0; n],
            x,
            y,
        }
    }

    /// Number of products of distance and multiplier.
    pub fn num_products(p: &BarrierProgram) -> usize {
        let finite = |v: &[f64]| v.iter().filter(|b| b.is_finite()).count();
        finite(&p.lower) + finite(&p.upper)
    }

    /// Sum of the products after steps along a direction.
    pub fn products_after(&self, d: &Iterate, primal: f64, dual: f64) -> f64 {
        let side = |x: &[f64], dx: &[f64], z: &[f64], dz: &[f64]| -> f64 {
            (0..x.len())
                .filter(|&j| x[j].is_finite())
                .map(|j| (x[j] + primal * dx[j]) * (z[j] + dual * dz[j]))
                .sum()
        };
        side(&self.xl, &d.xl, &self.zl, &d.zl) + side(&self.xu, &d.xu, &self.zu, &d.zu)
    }

    /// Moves along a direction.
    pub fn advance(&mut self, d: &Iterate, primal: f64, dual: f64) {
        let go = |v: &mut [f64], d: &[f64], step: f64| {
            for (v, d) in v.iter_mut().zip(d) {
                *v += step * d;
            }
        };
        go(&mut self.x, &d.x, primal);
        go(&mut self.xl, &d.xl, primal);
        go(&mut self.xu, &d.xu, primal);
        go(&mut self.y, &d.y, dual);
        go(&mut self.zl, &d.zl, dual);
        go(&mut self.zu, &d.zu, dual);
    }
}

impl Residuals {
    /// Computes everything afresh.
    pub fn compute(&mut self, p: &BarrierProgram, at: &Iterate) {
        let (m, n) = (p.num_rows(), p.num_cols());
        self.rows.resize(m, 0.0);
        p.times(&at.x, &mut self.rows);
        for (r, b) in self.rows.iter_mut().zip(&p.b) {
            *r = b - *r;
        }
        for v in [&mut self.lower, &mut self.upper, &mut self.dual] {
            v.clear();
            v.resize(n, 0.0);
        }
        let mut products = 0.0;
        let mut square = 0.0;
        self.curved.clear();
        if let Some(q) = &p.q {
            let curved = (0..n).map(|j| q.iter(j).map(|(i, v)| v * at.x[i]).sum::<f64>());
            self.curved.extend(curved);
            square = at.x.iter().zip(&self.curved).map(|(x, g)| x * g).sum();
        }
        self.primal_objective = p.offset + 0.5 * square;
        self.dual_objective =
            p.offset - 0.5 * square + at.y.iter().zip(&p.b).map(|(y, b)| y * b).sum::<f64>();
        for j in 0..n {
            let curved = self.curved.get(j).copied().unwrap_or(0.0);
            self.dual[j] = p.cost[j] + curved - p.transposed(j, &at.y) - at.zl[j] + at.zu[j];
            self.primal_objective += p.cost[j] * at.x[j];
            if p.lower[j].is_finite() {
                self.lower[j] = p.lower[j] - at.x[j] + at.xl[j];
                products += at.xl[j] * at.zl[j];
                self.dual_objective += p.lower[j] * at.zl[j];
            }
            if p.upper[j].is_finite() {
                self.upper[j] = p.upper[j] - at.x[j] - at.xu[j];
                products += at.xu[j] * at.zu[j];
                self.dual_objective -= p.upper[j] * at.zu[j];
            }
        }
        self.mu = products / Iterate::num_products(p).max(1) as f64;
        let bounds = |v: &[f64]| {
            v.iter()
                .filter(|b| b.is_finite())
                .fold(0.0f64, |a, b| a.max(b.abs()))
        };
        let right = largest(&p.b).max(bounds(&p.lower)).max(bounds(&p.upper));
        let miss = [&self.rows, &self.lower, &self.upper].map(|v| largest(v));
        self.primal = miss.iter().fold(
            0.0,
            |a: f64, &v| {
                if v.is_nan() { f64::NAN } else { a.max(v) }
            },
        ) / (1.0 + right.min(1e6));
        let steepest = largest(&p.cost).max(largest(&self.curved));
        self.infeasible_dual = largest(&self.dual) / (1.0 + steepest);
    }

    /// Difference of the objectives, relative to one plus their size.
    pub fn gap(&self) -> f64 {
        (self.primal_objective - self.dual_objective).abs()
            / (1.0 + 0.5 * (self.primal_objective + self.dual_objective).abs())
    }

    /// The largest residual or gap, in units of its tolerance.
    pub fn merit(&self, residual_tolerance: f64, gap_tolerance: f64) -> f64 {
        let residual = self.primal.max(self.infeasible_dual) / residual_tolerance;
        let merit = residual.max(self.gap() / gap_tolerance);
        let sum = self.primal + self.infeasible_dual + self.gap() + self.mu;
        if sum.is_finite() {
            merit
        } else {
            f64::INFINITY
        }
    }
}
