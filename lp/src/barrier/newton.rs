//! Directions: Newton's equations for given residuals, reduced to the normal equations.

use super::iterate::{Iterate, Residuals};
use super::normal::NormalEquations;
use super::program::BarrierProgram;
use super::settings::BarrierTuning;

/// Largest element of `D`, for free columns and for columns far from their bounds late in the
/// method.
const LARGEST_DIAGONAL: f64 = 1e20;

/// The system of Newton's equations at an iterate.
pub(super) struct Newton {
    pub normal: NormalEquations,
    d: Vec<f64>,
    /// Scratch by column, and by row.
    h: Vec<f64>,
    rhs: Vec<f64>,
}

/// Right-hand sides of the complementarity equations: `zl dxl + xl dzl = lower`,
/// `zu dxu + xu dzu = upper`.
#[derive(Clone, Default)]
pub(super) struct Targets {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
}

impl Newton {
    pub fn new(p: &BarrierProgram, tuning: &BarrierTuning) -> Option<Newton> {
        Some(Newton {
            normal: NormalEquations::new(p, tuning)?,
            d: vec![0.0; p.num_cols()],
            h: vec![0.0; p.num_cols()],
            rhs: vec![0.0; p.num_rows()],
        })
    }

    /// Factorises with `D = 1`, for the starting point.
    pub fn factorise_unit(&mut self, p: &BarrierProgram, tuning: &BarrierTuning) -> bool {
        self.d.fill(1.0);
        self.normal.factorise(p, &self.d, tuning.least_pivot)
    }

    /// Factorises at an iterate. A free column has a proximal term in place of bounds. The term
    /// vanishes with the barrier parameter; the dual residual that it leaves is removed in later
    /// iterations. (A free column split into two halves, each bounded below, would have the same
    /// diagonal, and the halves drift.)
    pub fn factorise(
        &mut self,
        p: &BarrierProgram,
        at: &Iterate,
        mu: f64,
        tuning: &BarrierTuning,
    ) -> bool {
        for j in 0..p.num_cols() {
            let curvature = if p.is_free(j) {
                tuning.free_proximity * mu / (1.0 + at.x[j] * at.x[j])
            } else {
                at.zl[j] / at.xl[j] + at.zu[j] / at.xu[j]
            };
            self.d[j] = 1.0 / curvature.max(1.0 / LARGEST_DIAGONAL);
        }
        self.normal.factorise(p, &self.d, tuning.least_pivot)
    }

    /// Solves `A A^T y = rhs` of the factorised matrix.
    pub fn solve_rows(
        &mut self,
        p: &BarrierProgram,
        rhs: &[f64],
        y: &mut [f64],
        tuning: &BarrierTuning,
    ) {
        self.normal.solve(p, rhs, y, tuning);
    }

    /// Computes the direction that removes the residuals `r`, if given, and reaches the targets.
    pub fn direction(
        &mut self,
        p: &BarrierProgram,
        at: &Iterate,
        r: Option<&Residuals>,
        targets: &Targets,
        out: &mut Iterate,
        tuning: &BarrierTuning,
    ) {
        let n = p.num_cols();
        for j in 0..n {
            let mut h = r.map_or(0.0, |r| r.dual[j]);
            if p.lower[j].is_finite() {
                let rl = r.map_or(0.0, |r| r.lower[j]);
                h -= (targets.lower[j] + at.zl[j] * rl) / at.xl[j];
            }
            if p.upper[j].is_finite() {
                let ru = r.map_or(0.0, |r| r.upper[j]);
                h += (targets.upper[j] - at.zu[j] * ru) / at.xu[j];
            }
            self.h[j] = h;
            out.x[j] = self.d[j] * h;
        }
        let mut rhs = std::mem::take(&mut self.rhs);
        p.times(&out.x, &mut rhs);
        if let Some(r) = r {
            for (s, r) in rhs.iter_mut().zip(&r.rows) {
                *s += r;
            }
        }
        self.normal.solve(p, &rhs, &mut out.y, tuning);
        self.rhs = rhs;
        for j in 0..n {
            out.x[j] = self.d[j] * (p.transposed(j, &out.y) - self.h[j]);
            (out.xl[j], out.zl[j], out.xu[j], out.zu[j]) = (0.0, 0.0, 0.0, 0.0);
            if p.lower[j].is_finite() {
                out.xl[j] = out.x[j] - r.map_or(0.0, |r| r.lower[j]);
                out.zl[j] = (targets.lower[j] - at.zl[j] * out.xl[j]) / at.xl[j];
            }
            if p.upper[j].is_finite() {
                out.xu[j] = r.map_or(0.0, |r| r.upper[j]) - out.x[j];
                out.zu[j] = (targets.upper[j] - at.zu[j] * out.xu[j]) / at.xu[j];
            }
        }
    }
}
