//! Newton's equations as one quasidefinite system `[Q + D, A'; A, 0]`, for programs with a
//! quadratic objective: `Q` need not be diagonal, and free columns without curvature are allowed.
//!
//! The factorised matrix has a small shift of its diagonal; refinement removes its effect.
//! (Vanderbei 1995, *Symmetric quasidefinite matrices*; the shifts of Altman & Gondzio 1999.)

use super::cholesky::Cholesky;
use super::program::{BarrierProgram, largest};
use crate::compressed::Compressed;

/// Shift of the diagonal for columns, and for rows with the other sign.
const COL_SHIFT: f64 = 1e-8;
const ROW_SHIFT: f64 = 1e-9;
/// Pivots nearer zero are replaced, by this.
const LEAST_PIVOT: f64 = 1e-13;
const PIVOT: f64 = 1e-7;
/// Residual of a solve, relative to its right-hand side, at which refinement ends.
const RESIDUAL: f64 = 1e-13;
/// Steps of refinement, at most.
const STEPS: usize = 40;
/// Factor by which a step of refinement must lower the residual.
const PROGRESS: f64 = 0.9;

/// The system of a program, to be factorised for many diagonals.
pub(super) struct Augmented {
    factor: Cholesky,
    /// Values of the lower triangle without `D`.
    base: Vec<f64>,
    values: Vec<f64>,
    /// Place of each diagonal entry.
    diagonal: Vec<usize>,
    /// The added diagonal of the columns.
    d: Vec<f64>,
    /// Residual and the best answer of a refinement.
    r: Vec<f64>,
    best: Vec<f64>,
    /// Entries touched so far.
    pub ticks: u64,
    factor_ticks: u64,
}

impl Augmented {
    /// Analyses the pattern. `None` if there is not enough memory.
    pub fn new(p: &BarrierProgram, q: &Compressed) -> Option<Augmented> {
        let (m, n) = (p.num_rows(), p.num_cols());
        let (mut start, mut index) = (vec![0usize], Vec::new());
        let (mut base, mut diagonal) = (Vec::new(), Vec::with_capacity(n + m));
        for j in 0..n {
            diagonal.push(index.len());
            index.push(j);
            base.push(COL_SHIFT);
            for (i, v) in q.iter(j).filter(|e| e.0 >= j) {
                if i == j {
                    base[diagonal[j]] += v;
                } else {
                    index.push(i);
                    base.push(v);
                }
            }
            for (i, v) in p.a.iter(j) {
                index.push(n + i);
                base.push(v);
            }
            start.push(index.len());
        }
        for i in 0..m {
            diagonal.push(index.len());
            index.push(n + i);
            base.push(-ROW_SHIFT);
            start.push(index.len());
        }
        let mut signs = vec![1i8; n];
        signs.resize(n + m, -1);
        let factor = Cholesky::with_signs(start, index, signs)?;
        let factor_ticks = base.len() as u64 + factor.multiplications() / 4;
        Some(Augmented {
            factor,
            values: base.clone(),
            base,
            diagonal,
            d: vec![0.0; n],
            r: vec![0.0; n + m],
            best: Vec::new(),
            ticks: 0,
            factor_ticks,
        })
    }

    /// Entries that the factor stores.
    pub fn entries(&self) -> usize {
        self.factor.entries()
    }

    /// Factorises with this diagonal added to `Q`. Returns whether it succeeded.
    pub fn factorise(&mut self, d: &[f64]) -> bool {
        self.d.copy_from_slice(d);
        self.values.copy_from_slice(&self.base);
        for (&at, d) in self.diagonal.iter().zip(d) {
            self.values[at] += d;
        }
        self.ticks += self.factor_ticks;
        self.factor
            .factorise_signed(&self.values, LEAST_PIVOT, PIVOT)
    }

    /// `r = rhs - K s`, without the shifts.
    fn residual(&mut self, p: &BarrierProgram, q: &Compressed, rhs: &[f64], s: &[f64]) -> f64 {
        let n = p.num_cols();
        let (x, y) = s.split_at(n);
        let (top, bottom) = self.r.split_at_mut(n);
        p.times(x, bottom);
        for (r, b) in bottom.iter_mut().zip(&rhs[n..]) {
            *r = b - *r;
        }
        for (j, r) in top.iter_mut().enumerate() {
            let curved: f64 = q.iter(j).map(|(i, v)| v * x[i]).sum();
            *r = rhs[j] - curved - self.d[j] * x[j] - p.transposed(j, y);
        }
        self.ticks += 2 * (p.a.nnz() + q.nnz()) as u64;
        largest(&self.r)
    }

    /// Solves in place: right-hand sides of columns, then of rows.
    pub fn solve(&mut self, p: &BarrierProgram, q: &Compressed, s: &mut [f64]) {
        let rhs = s.to_vec();
        let size = largest(&rhs);
        if size == 0.0 {
            return;
        }
        self.factor.solve(s);
        let mut least = f64::INFINITY;
        for _ in 0..STEPS {
            self.ticks += 2 * self.factor.entries() as u64;
            let error = self.residual(p, q, &rhs, s) / size;
            let is_better = error < least;
            if !is_better {
                // Refinement has lost its way.
                s.copy_from_slice(&self.best);
                return;
            }
            let is_slow = error > PROGRESS * least;
            least = error;
            if error <= RESIDUAL || is_slow {
                return;
            }
            self.best.clear();
            self.best.extend_from_slice(s);
            let mut r = std::mem::take(&mut self.r);
            self.factor.solve(&mut r);
            for (s, r) in s.iter_mut().zip(&r) {
                *s += r;
            }
            self.r = r;
        }
    }
}
