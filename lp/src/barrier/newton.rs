//! Directions: Newton's equations for given residuals, reduced to the normal equations, or with a
//! quadratic objective to the augmented system.

use super::augmented::Augmented;
use super::iterate::{Iterate, Residuals};
use super::normal::NormalEquations;
use super::program::BarrierProgram;
use super::settings::BarrierTuning;

/// Largest element of `D`, for free columns and for columns far from their bounds late in the
/// method.
const LARGEST_DIAGONAL: f64 = 1e20;

/// The system of Newton's equations at an iterate.
pub(super) struct Newton {
    system: System,
    /// Inverse of the curvature by column; in an augmented system the curvature of the bounds.
    d: Vec<f64>,
    /// Scratch by column, and by row.
    h: Vec<f64>,
    rhs: Vec<f64>,
}

/// The equations that are factorised.
enum System {
    Normal(NormalEquations),
    Augmented(Augmented),
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
        let system = match &p.q {
            Some(q) => System::Augmented(Augmented::new(p, q)?),
            None => System::Normal(NormalEquations::new(p, tuning)?),
        };
        Some(Newton {
            system,
            d: vec![0.0; p.num_cols()],
            h: vec![0.0; p.num_cols()],
            rhs: vec![0.0; p.num_rows()],
        })
    }

    /// Entries touched so far.
    pub fn ticks(&self) -> u64 {
        match &self.system {
            System::Normal(normal) => normal.ticks,
            System::Augmented(augmented) => augmented.ticks,
        }
    }

    /// Entries that the factor stores.
    pub fn entries(&self) -> usize {
        match &self.system {
            System::Normal(normal) => normal.entries(),
            System::Augmented(augmented) => augmented.entries(),
        }
    }

    /// Number of columns that are kept out of the factorisation.
    pub fn num_dense(&self) -> usize {
        match &self.system {
            System::Normal(normal) => normal.num_dense(),
            System::Augmented(_) => 0,
        }
    }

    /// Factorises with `D = 1`, for the starting point.
    pub fn factorise_unit(&mut self, p: &BarrierProgram, tuning: &BarrierTuning) -> bool {
        self.d.fill(1.0);
        self.factorise_diagonal(p, tuning)
    }

    fn factorise_diagonal(&mut self, p: &BarrierProgram, tuning: &BarrierTuning) -> bool {
        match &mut self.system {
            System::Normal(normal) => normal.factorise(p, &self.d, tuning.least_pivot),
            System::Augmented(augmented) => augmented.factorise(&self.d),
        }
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
            self.d[j] = match self.system {
                System::Normal(_) => 1.0 / curvature.max(1.0 / LARGEST_DIAGONAL),
                System::Augmented(_) if p.is_free(j) => 0.0,
                System::Augmented(_) => curvature.min(LARGEST_DIAGONAL),
            };
        }
        self.factorise_diagonal(p, tuning)
    }

    /// Solves `A A^T y = rhs` of the factorised matrix.
    pub fn solve_rows(
        &mut self,
        p: &BarrierProgram,
        rhs: &[f64],
        y: &mut [f64],
        tuning: &BarrierTuning,
    ) {
        if let System::Normal(normal) = &mut self.system {
            normal.solve(p, rhs, y, tuning);
        }
    }

    /// Minimiser of the quadratic objective plus `1/2 |x - near|^2` on `A x = b`, and the rows'
    /// multipliers. Needs a factorised augmented system with `D = 1`.
    pub fn nearest(&mut self, p: &BarrierProgram, near: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut s: Vec<f64> = near.iter().zip(&p.cost).map(|(x, c)| x - c).collect();
        s.extend_from_slice(&p.b);
        if let (System::Augmented(augmented), Some(q)) = (&mut self.system, &p.q) {
            augmented.solve(p, q, &mut s);
        }
        let y = s[p.num_cols()..].iter().map(|v| -v).collect();
        s.truncate(p.num_cols());
        (s, y)
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
        }
        self.columns_and_rows(p, r, out, tuning);
        for j in 0..n {
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

    /// The parts `x` and `y` of a direction, from the right-hand side `h` of the columns.
    fn columns_and_rows(
        &mut self,
        p: &BarrierProgram,
        r: Option<&Residuals>,
        out: &mut Iterate,
        tuning: &BarrierTuning,
    ) {
        let n = p.num_cols();
        match (&mut self.system, &p.q) {
            (System::Augmented(augmented), Some(q)) => {
                let mut s: Vec<f64> = self.h.iter().map(|h| -h).collect();
                match r {
                    Some(r) => s.extend_from_slice(&r.rows),
                    None => s.resize(n + p.num_rows(), 0.0),
                }
                augmented.solve(p, q, &mut s);
                out.x.copy_from_slice(&s[..n]);
                for (y, s) in out.y.iter_mut().zip(&s[n..]) {
                    *y = -s;
                }
            }
            (System::Normal(normal), _) => {
                for j in 0..n {
                    out.x[j] = self.d[j] * self.h[j];
                }
                p.times(&out.x, &mut self.rhs);
                if let Some(r) = r {
                    for (s, r) in self.rhs.iter_mut().zip(&r.rows) {
                        *s += r;
                    }
                }
                normal.solve(p, &self.rhs, &mut out.y, tuning);
                for j in 0..n {
                    out.x[j] = self.d[j] * (p.transposed(j, &out.y) - self.h[j]);
                }
            }
            (System::Augmented(_), None) => {}
        }
    }
}
