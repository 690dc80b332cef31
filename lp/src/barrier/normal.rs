//! Normal equations `A D A^T y = r` with a positive diagonal `D`.
//!
//! The columns with few entries are factorised (`cholesky.rs`); dense columns are added by the
//! Sherman-Morrison-Woodbury formula. Both together precondition conjugate gradients on the whole
//! matrix, which repair the losses of rounding, replaced pivots and the formula. (Andersen 1996, *A
//! modified Schur complement method for handling dense columns*, needs more pivots for less.)

use super::cholesky::Cholesky;
use super::program::{BarrierProgram, largest};
use super::settings::BarrierTuning;

/// Normal equations of a program, to be factorised for many diagonals.
pub(super) struct NormalEquations {
    sparse: Cholesky,
    /// Values of the lower triangle of the sparse part.
    values: Vec<f64>,
    is_dense: Vec<bool>,
    dense: Vec<u32>,
    /// Inverse of the sparse part times each dense column times the root of its `D`.
    dense_solved: Vec<Vec<f64>>,
    /// Cholesky factor, by rows, of one plus the dense columns' products.
    small: Vec<f64>,
    d: Vec<f64>,
    /// Scratch by row.
    work: Vec<f64>,
    next: Vec<u32>,
    by_col: Vec<f64>,
    /// Conjugate gradients: residual, preconditioned, direction, product.
    vectors: [Vec<f64>; 4],
    /// Entries touched so far.
    pub ticks: u64,
    /// Work of one factorisation, in entries touched.
    pub factor_ticks: u64,
}

impl NormalEquations {
    /// Analyses the pattern. Returns `None` if there is not enough memory.
    pub fn new(p: &BarrierProgram, tuning: &BarrierTuning) -> Option<NormalEquations> {
        let (m, n) = (p.num_rows(), p.num_cols());
        let limit = tuning
            .dense_entries
            .max((tuning.dense_share * m as f64) as usize);
        let mut dense: Vec<u32> = (0..n as u32)
            .filter(|&j| p.a.len(j as usize) > limit)
            .collect();
        if dense.len() > tuning.dense_cols {
            dense.clear();
        }
        let mut is_dense = vec![false; n];
        dense.iter().for_each(|&j| is_dense[j as usize] = true);
        let (mut start, mut index) = (vec![0usize], Vec::new());
        let mut seen = vec![u32::MAX; m];
        let mut products = 0u64;
        for i in 0..m {
            let first = index.len();
            seen[i] = i as u32;
            index.push(i);
            for &j in p.at.vector(i).0 {
                let j = j as usize;
                if is_dense[j] {
                    continue;
                }
                products += p.a.len(j) as u64;
                for &k in p.a.vector(j).0 {
                    if k as usize > i && seen[k as usize] != i as u32 {
                        seen[k as usize] = i as u32;
                        index.push(k as usize);
                    }
                }
            }
            index[first..].sort_unstable();
            start.push(index.len());
        }
        let values = vec![0.0; index.len()];
        let sparse = Cholesky::new(start, index)?;
        let k = dense.len();
        // A multiplication of a dense kernel costs a quarter of an entry fetched from memory.
        let factor_ticks = products / 2 + sparse.multiplications() / 4;
        Some(NormalEquations {
            sparse,
            values,
            is_dense,
            dense_solved: vec![vec![0.0; m]; k],
            dense,
            small: vec![0.0; k * k],
            d: Vec::new(),
            work: vec![0.0; m],
            next: vec![0; n],
            by_col: vec![0.0; n],
            vectors: std::array::from_fn(|_| vec![0.0; m]),
            ticks: 0,
            factor_ticks,
        })
    }

    /// Number of columns that are kept out of the factorisation.
    pub fn num_dense(&self) -> usize {
        self.dense.len()
    }

    /// Entries that the factor stores.
    pub fn entries(&self) -> usize {
        self.sparse.entries()
    }

    /// Factorises for a diagonal. Returns whether it succeeded.
    pub fn factorise(&mut self, p: &BarrierProgram, d: &[f64], least_pivot: f64) -> bool {
        self.d.clear();
        self.d.extend_from_slice(d);
        self.assemble(p);
        self.ticks += self.factor_ticks;
        self.sparse.factorise(&mut self.values, least_pivot) && self.factorise_dense(p)
    }

    fn assemble(&mut self, p: &BarrierProgram) {
        let (start, index) = self.sparse.pattern();
        self.next.fill(0);
        for i in 0..p.num_rows() {
            for (j, v) in p.at.iter(i) {
                if self.is_dense[j] {
                    continue;
                }
                // Entries of a column come in order, so this one is the next.
                let from = self.next[j] as usize;
                self.next[j] += 1;
                let scaled = v * self.d[j];
                let (rows, values) = p.a.vector(j);
                for (&k, &w) in rows[from..].iter().zip(&values[from..]) {
                    self.work[k as usize] += scaled * w;
                }
            }
            let entries = start[i]..start[i + 1];
            for (value, &k) in self.values[entries.clone()].iter_mut().zip(&index[entries]) {
                *value = std::mem::take(&mut self.work[k]);
            }
        }
    }

    fn factorise_dense(&mut self, p: &BarrierProgram) -> bool {
        let k = self.dense.len();
        for (s, &j) in self.dense.iter().enumerate() {
            let root = self.d[j as usize].sqrt();
            let v = &mut self.dense_solved[s];
            v.fill(0.0);
            for (i, a) in p.a.iter(j as usize) {
                v[i] = root * a;
            }
            self.sparse.solve(v);
            self.ticks += 2 * self.sparse.entries() as u64;
        }
        for s in 0..k {
            let j = self.dense[s] as usize;
            let root = self.d[j].sqrt();
            for t in 0..=s {
                let mut sum = f64::from(u8::from(s == t));
                for (i, a) in p.a.iter(j) {
                    sum += root * a * self.dense_solved[t][i];
                }
                for q in 0..t {
                    sum -= self.small[s * k + q] * self.small[t * k + q];
                }
                self.small[s * k + t] = if s == t {
                    sum.max(1e-12).sqrt()
                } else {
                    sum / self.small[t * k + t]
                };
            }
        }
        self.small.iter().all(|v| v.is_finite())
    }

    /// Applies the preconditioner in place.
    fn precondition(&mut self, p: &BarrierProgram, x: &mut [f64]) {
        self.sparse.solve(x);
        self.ticks += 2 * self.sparse.entries() as u64;
        let k = self.dense.len();
        if k == 0 {
            return;
        }
        let mut c = vec![0.0; k];
        for s in 0..k {
            let j = self.dense[s] as usize;
            c[s] = self.d[j].sqrt() * p.transposed(j, x);
            for q in 0..s {
                c[s] -= self.small[s * k + q] * c[q];
            }
            c[s] /= self.small[s * k + s];
        }
        for s in (0..k).rev() {
            for q in s + 1..k {
                c[s] -= self.small[q * k + s] * c[q];
            }
            c[s] /= self.small[s * k + s];
        }
        for (v, c) in self.dense_solved.iter().zip(c) {
            for (x, v) in x.iter_mut().zip(v) {
                *x -= c * v;
            }
        }
    }

    /// `out = A D A^T x`.
    fn multiply(&mut self, p: &BarrierProgram, x: &[f64], out: &mut [f64]) {
        for j in 0..p.num_cols() {
            self.by_col[j] = self.d[j] * p.transposed(j, x);
        }
        p.times(&self.by_col, out);
        self.ticks += 2 * p.a.nnz() as u64;
    }

    /// Solves for `rhs`; the answer is written to `y`.
    pub fn solve(
        &mut self,
        p: &BarrierProgram,
        rhs: &[f64],
        y: &mut [f64],
        tuning: &BarrierTuning,
    ) {
        let size = largest(rhs);
        y.copy_from_slice(rhs);
        if size == 0.0 {
            return;
        }
        let [mut r, mut z, mut q, mut product] = std::mem::take(&mut self.vectors);
        self.precondition(p, y);
        self.multiply(p, y, &mut product);
        for i in 0..rhs.len() {
            r[i] = rhs[i] - product[i];
        }
        let mut error = largest(&r) / size;
        let mut before = 0.0;
        let mut best: Option<(f64, Vec<f64>)> = None;
        for step in 0..=tuning.refine_steps {
            // A NaN also ends the loop, here and below.
            let is_worth = error > tuning.refine_residual && step < tuning.refine_steps;
            if !is_worth {
                break;
            }
            if best.as_ref().is_none_or(|b| error < b.0) {
                best = Some((error, y.to_vec()));
            }
            z.copy_from_slice(&r);
            self.precondition(p, &mut z);
            let rho: f64 = r.iter().zip(&z).map(|(a, b)| a * b).sum();
            if rho <= 0.0 || rho.is_nan() {
                break;
            }
            let beta = if step == 0 { 0.0 } else { rho / before };
            before = rho;
            for i in 0..q.len() {
                q[i] = if step == 0 { z[i] } else { z[i] + beta * q[i] };
            }
            self.multiply(p, &q, &mut product);
            let curvature: f64 = q.iter().zip(&product).map(|(a, b)| a * b).sum();
            if curvature <= 0.0 || curvature.is_nan() {
                break;
            }
            let alpha = rho / curvature;
            for i in 0..rhs.len() {
                y[i] += alpha * q[i];
                r[i] -= alpha * product[i];
            }
            error = largest(&r) / size;
        }
        self.vectors = [r, z, q, product];
        if let Some((least, kept)) = best
            && (error > least || error.is_nan())
        {
            y.copy_from_slice(&kept);
        }
    }
}
