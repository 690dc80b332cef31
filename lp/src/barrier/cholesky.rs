//! A sparse `L D L^T` of a symmetric matrix, semidefinite or quasidefinite, with one pattern and
//! many values.
//!
//! The ordering (approximate minimum degree) and the symbolic factorisation are computed once, by
//! `faer`, on one thread, so the result does not depend on the number of processors. The matrix is
//! scaled to a unit diagonal, so that one threshold separates pivots from rounding errors.

use dyn_stack::{MemBuffer, MemStack};
use faer::dyn_stack;
use faer::linalg::cholesky::ldlt::factor::LdltRegularization;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

/// Factorisation of a matrix given by its lower triangle, by columns.
pub(super) struct Cholesky {
    n: usize,
    start: Vec<usize>,
    index: Vec<usize>,
    symbolic: Option<SymbolicCholesky<usize>>,
    factor: Vec<f64>,
    /// Inverse square root of the diagonal.
    scale: Vec<f64>,
    signs: Vec<i8>,
    memory: MemBuffer,
}

impl Cholesky {
    /// Orders and analyses a pattern: row indices of the lower triangle, ascending in each column,
    /// the diagonal first. `None` if there is not enough memory.
    pub fn new(start: Vec<usize>, index: Vec<usize>) -> Option<Cholesky> {
        let signs = vec![1; start.len() - 1];
        Cholesky::with_signs(start, index, signs)
    }

    /// As [`new`](Cholesky::new), for a quasidefinite matrix whose pivots have these signs.
    pub fn with_signs(start: Vec<usize>, index: Vec<usize>, signs: Vec<i8>) -> Option<Cholesky> {
        let n = start.len() - 1;
        let mut out = Cholesky {
            n,
            start,
            index,
            symbolic: None,
            factor: Vec::new(),
            scale: vec![1.0; n],
            signs,
            memory: MemBuffer::try_new(dyn_stack::StackReq::EMPTY).ok()?,
        };
        if n == 0 {
            return Some(out);
        }
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &out.start, None, &out.index);
        let symbolic = factorize_symbolic_cholesky(
            pattern,
            Side::Lower,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams::default(),
        )
        .ok()?;
        let numeric = symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Default::default());
        let solve = symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        out.memory = MemBuffer::try_new(numeric.or(solve)).ok()?;
        out.factor.try_reserve_exact(symbolic.len_val()).ok()?;
        out.factor.resize(symbolic.len_val(), 0.0);
        out.symbolic = Some(symbolic);
        Some(out)
    }

    /// Entries that the factor stores.
    pub fn entries(&self) -> usize {
        self.factor.len()
    }

    /// Multiplications of a numeric factorisation.
    pub fn multiplications(&self) -> u64 {
        let Some(symbolic) = &self.symbolic else {
            return 0;
        };
        // Column k of a supernode of c columns has c - k entries more than the supernode's pattern.
        let column = |below: u64| (below + 1) * (below + 2) / 2;
        match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(s) => {
                let lengths = s.col_ptr().windows(2).map(|w| (w[1] - w[0]) as u64);
                lengths.map(|l| column(l.saturating_sub(1))).sum()
            }
            SymbolicCholeskyRaw::Supernodal(s) => (0..s.n_supernodes())
                .map(|k| {
                    let cols = (s.supernode_end()[k] - s.supernode_begin()[k]) as u64;
                    let below = s.supernode(k).pattern().len() as u64;
                    (0..cols).map(|c| column(below + c)).sum::<u64>()
                })
                .sum(),
        }
    }

    /// Pattern of the lower triangle: starts and row indices of the columns.
    pub fn pattern(&self) -> (&[usize], &[usize]) {
        (&self.start, &self.index)
    }

    /// Factorises new values, which are scaled in place. Returns whether it succeeded. A pivot
    /// below `least` times its diagonal entry is pure rounding and is replaced by that entry, so
    /// the matrix stays definite, as a preconditioner must. (The usual replacement, a pivot of
    /// 1e64, puts rows that nearly depend on others out of reach of the refinement.)
    pub fn factorise(&mut self, values: &mut [f64], least: f64) -> bool {
        if self.symbolic.is_none() {
            return true;
        }
        for j in 0..self.n {
            let d = values[self.start[j]];
            self.scale[j] = if d > 0.0 { 1.0 / d.sqrt() } else { 1.0 };
        }
        for j in 0..self.n {
            let column = self.start[j]..self.start[j + 1];
            for (value, &i) in values[column.clone()].iter_mut().zip(&self.index[column]) {
                *value *= self.scale[j] * self.scale[i];
            }
        }
        self.factorise_signed(values, least, 1.0)
    }

    /// Factorises values as they are. A pivot nearer zero than `least`, or of the wrong sign, is
    /// replaced by `instead` times its sign. Returns whether it succeeded.
    pub fn factorise_signed(&mut self, values: &[f64], least: f64, instead: f64) -> bool {
        let Some(symbolic) = &self.symbolic else {
            return true;
        };
        let pattern =
            SymbolicSparseColMatRef::new_checked(self.n, self.n, &self.start, None, &self.index);
        symbolic
            .factorize_numeric_ldlt(
                &mut self.factor,
                SparseColMatRef::new(pattern, values),
                Side::Lower,
                LdltRegularization {
                    dynamic_regularization_signs: Some(&self.signs),
                    dynamic_regularization_delta: instead,
                    dynamic_regularization_epsilon: least,
                },
                Par::Seq,
                MemStack::new(&mut self.memory),
                Default::default(),
            )
            .is_ok()
    }

    /// Solves in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        let Some(symbolic) = &self.symbolic else {
            return;
        };
        for (x, s) in x.iter_mut().zip(&self.scale) {
            *x *= s;
        }
        LdltRef::new(symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, self.n, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
        for (x, s) in x.iter_mut().zip(&self.scale) {
            *x *= s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_matrix_is_solved_and_so_is_one_with_a_dependent_row() {
        // [[4, 1, 1], [1, 3, 0], [1, 0, 2]] by columns of the lower triangle.
        let mut c = Cholesky::new(vec![0, 3, 4, 5], vec![0, 1, 2, 1, 2]).unwrap();
        assert!(c.factorise(&mut [4.0, 1.0, 1.0, 3.0, 2.0], 1e-16));
        let mut x = [6.0, 4.0, 3.0];
        c.solve(&mut x);
        x.iter().for_each(|v| assert!((v - 1.0).abs() < 1e-14));
        // [[1, 2], [2, 4]]: the second pivot vanishes.
        let mut c = Cholesky::new(vec![0, 2, 3], vec![0, 1, 1]).unwrap();
        assert!(c.factorise(&mut [1.0, 2.0, 4.0], 1e-16));
        let mut x = [1.0, 2.0];
        c.solve(&mut x);
        assert!((x[0] + 2.0 * x[1] - 1.0).abs() < 1e-12);
    }
}
