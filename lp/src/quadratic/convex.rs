//! A test for positive semidefinite matrices: a sparse `L D L'` with a small shift of the diagonal.
//!
//! The matrix is scaled to a unit diagonal, so one threshold separates rounding from curvature. A
//! pivot that is not positive gives a direction `v` with `v'Qv < 0`, so the refusal has a proof.
//! Source: T. Davis, *Algorithm 849: a concise sparse Cholesky factorization package*, 2005.

use crate::compressed::Compressed;
use crate::ids::ColId;
use faer::Side;
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymmetricOrdering, factorize_symbolic_cholesky,
};

/// Curvature, as a share of the diagonal, up to which a negative one counts as rounding. Products
/// of matrices of doubles, such as covariances, have eigenvalues near -1e-16 of the largest.
const SHIFT: f64 = 1e-9;

/// Reason why a quadratic objective is not convex.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.at(&.col.0.to_string()))]
pub struct NotConvex {
    /// The column at which the factorisation found it.
    pub col: ColId,
    /// `v'Qv / v'v` for a vector `v`, so an eigenvalue of `Q` is at most that (at least that, if
    /// the objective is maximised).
    pub curvature: f64,
    /// True if the objective is minimised.
    pub is_minimised: bool,
}

impl NotConvex {
    /// The reason, with the column's name.
    pub fn at(&self, column: &str) -> String {
        let (shape, side) = match self.is_minimised {
            true => ("convex", "most"),
            false => ("concave", "least"),
        };
        format!(
            "the quadratic objective is not {shape}: its matrix has an eigenvalue of at {side} \
             {:.6}, found at column {column}",
            self.curvature
        )
    }
}

/// Checks that `sign` times a symmetric matrix is positive semidefinite.
pub(super) fn check(matrix: &Compressed, sign: f64) -> Result<(), NotConvex> {
    let fail = |j: usize, curvature: f64| NotConvex {
        col: ColId(j as u32),
        curvature: sign * curvature,
        is_minimised: sign > 0.0,
    };
    let n = matrix.outer();
    let mut place = vec![u32::MAX; n];
    let mut cols = Vec::new();
    let mut diagonal = Vec::new();
    for (j, place) in place.iter_mut().enumerate() {
        let own: f64 = matrix
            .iter(j)
            .filter(|e| e.0 == j)
            .map(|e| sign * e.1)
            .sum();
        let other = matrix.iter(j).filter(|e| e.0 != j);
        let largest = other.fold(0.0, |a: f64, e| a.max(e.1.abs()));
        if own < 0.0 {
            return Err(fail(j, own));
        }
        if own == 0.0 && largest > 0.0 {
            // The eigenvalue of the two columns alone; the other diagonal entry may hide it.
            let at = |e: &(usize, f64)| e.0 != j && e.1.abs() == largest;
            let k = matrix.iter(j).find(at).map_or(j, |e| e.0);
            let far: f64 = matrix
                .iter(k)
                .filter(|e| e.0 == k)
                .map(|e| sign * e.1)
                .sum();
            let root = far.hypot(2.0 * largest);
            return Err(fail(j, -2.0 * largest * (largest / (far + root))));
        }
        if own > 0.0 {
            *place = cols.len() as u32;
            cols.push(j);
            diagonal.push(own);
        }
    }
    if cols.len() < 2 {
        return Ok(());
    }
    let scale: Vec<f64> = diagonal.iter().map(|d| 1.0 / d.sqrt()).collect();
    let mut scaled = Compressed::default();
    for (k, &j) in cols.iter().enumerate() {
        let entries = matrix.iter(j).map(|(i, v)| {
            let i = place[i] as usize;
            let shift = if i == k { SHIFT } else { 0.0 };
            (i as u32, sign * v * scale[k] * scale[i] + shift)
        });
        scaled.push(entries);
    }
    let Some((at, v)) = negative_direction(&scaled) else {
        return Ok(());
    };
    // Back in the units of the columns.
    let v: Vec<f64> = v.iter().zip(&scale).map(|(v, s)| v * s).collect();
    let size: f64 = v.iter().map(|v| v * v).sum();
    let value = |k: usize| -> f64 {
        let entries = matrix.iter(cols[k]);
        entries.map(|(i, q)| sign * q * v[place[i] as usize]).sum()
    };
    let curvature: f64 = (0..v.len()).map(|k| v[k] * value(k)).sum();
    Err(fail(cols[at], curvature / size))
}

/// An order of elimination with little fill; `None` without memory.
fn order(matrix: &Compressed) -> Option<Vec<usize>> {
    let n = matrix.outer();
    let mut start = vec![0];
    let mut index = Vec::new();
    for j in 0..n {
        index.extend(matrix.iter(j).map(|e| e.0).filter(|&i| i >= j));
        start.push(index.len());
    }
    let symbolic = factorize_symbolic_cholesky(
        SymbolicSparseColMatRef::new_checked(n, n, &start, None, &index),
        Side::Lower,
        SymmetricOrdering::Amd,
        CholeskySymbolicParams::default(),
    )
    .ok()?;
    Some(symbolic.perm()?.arrays().0.to_vec())
}

/// A vector `v` with `v'Av <= 0` and the index at which the factorisation found it; `None` if the
/// matrix is positive definite.
fn negative_direction(matrix: &Compressed) -> Option<(usize, Vec<f64>)> {
    let n = matrix.outer();
    let order = order(matrix).unwrap_or_else(|| (0..n).collect());
    let mut place = vec![0usize; n];
    order.iter().enumerate().for_each(|(k, &j)| place[j] = k);
    let above = |k: usize| {
        let place = &place;
        let entries = matrix.iter(order[k]);
        entries
            .map(move |(i, v)| (place[i], v))
            .filter(move |e| e.0 <= k)
    };
    // The elimination tree, and the length of each column of L.
    let (mut parent, mut mark) = (vec![usize::MAX; n], vec![usize::MAX; n]);
    let mut length = vec![0usize; n];
    for k in 0..n {
        mark[k] = k;
        for (mut i, _) in above(k) {
            while mark[i] != k {
                if parent[i] == usize::MAX {
                    parent[i] = k;
                }
                length[i] += 1;
                mark[i] = k;
                i = parent[i];
            }
        }
    }
    let mut start = vec![0usize; n + 1];
    for k in 0..n {
        start[k + 1] = start[k] + length[k];
    }
    let (mut row, mut value) = (vec![0usize; start[n]], vec![0.0; start[n]]);
    let (mut d, mut y) = (vec![0.0; n], vec![0.0; n]);
    let (mut pattern, mut path) = (vec![0usize; n], Vec::new());
    length.fill(0);
    mark.fill(usize::MAX);
    for k in 0..n {
        let mut top = n;
        mark[k] = k;
        for (mut i, v) in above(k) {
            y[i] += v;
            while mark[i] != k {
                path.push(i);
                mark[i] = k;
                i = parent[i];
            }
            while let Some(i) = path.pop() {
                top -= 1;
                pattern[top] = i;
            }
        }
        d[k] = std::mem::take(&mut y[k]);
        for &i in &pattern[top..] {
            let own = std::mem::take(&mut y[i]);
            let end = start[i] + length[i];
            for p in start[i]..end {
                y[row[p]] -= value[p] * own;
            }
            let entry = own / d[i];
            d[k] -= entry * own;
            (row[end], value[end]) = (k, entry);
            length[i] += 1;
        }
        let is_positive = d[k] > 0.0;
        if !is_positive {
            // L' v = e_k.
            let mut v = vec![0.0; n];
            v[k] = 1.0;
            for i in (0..k).rev() {
                let below = start[i]..start[i] + length[i];
                v[i] = -below.map(|p| value[p] * v[row[p]]).sum::<f64>();
            }
            let given = (0..n).map(|j| v[place[j]]).collect();
            return Some((order[k], given));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quadratic;
    use crate::random::SplitMix64;

    fn of(cols: usize, products: &[(u32, u32, f64)]) -> Quadratic {
        let products = products.iter().map(|&(a, b, v)| (ColId(a), ColId(b), v));
        Quadratic::of_products(cols, products).unwrap()
    }

    #[test]
    fn small_matrices_are_classified() {
        let ok = |q: &Quadratic| q.check_convex(1.0).is_ok();
        assert!(ok(&of(3, &[(0, 0, 1.0), (2, 2, 4.0)])));
        assert!(ok(&of(2, &[(0, 0, 1.0), (0, 1, -2.0), (1, 1, 1.0)])));
        assert!(ok(&of(2, &[])));
        let found = of(2, &[(0, 0, 1.0), (0, 1, -4.0), (1, 1, 1.0)]);
        // The eigenvalues of [[2, -4], [-4, 2]] are 6 and -2; the direction is (2, 1).
        let error = found.check_convex(1.0).unwrap_err();
        assert!((error.curvature + 1.2).abs() < 1e-8, "{error}");
        let error = of(2, &[(0, 1, 3.0)]).check_convex(1.0).unwrap_err();
        assert_eq!((error.col, error.curvature), (ColId(0), -3.0));
        let error = of(2, &[(1, 1, -1.0)]).check_convex(1.0).unwrap_err();
        assert_eq!((error.col, error.curvature), (ColId(1), -2.0));
        assert!(of(2, &[(1, 1, -1.0)]).check_convex(-1.0).is_ok());
        let error = of(1, &[(0, 0, 1.0)]).check_convex(-1.0).unwrap_err();
        assert_eq!(error.curvature, 2.0);
        assert!(error.to_string().contains("not concave"), "{error}");
    }

    #[test]
    fn products_of_factors_are_convex_and_one_eigenvalue_below_zero_is_found() {
        let mut random = SplitMix64::new(5);
        let mut unit = move || random.below(2001) as f64 / 1000.0 - 1.0;
        for case in 0..60 {
            let (n, rank) = (3 + case % 20, 1 + case % 7);
            let f: Vec<Vec<f64>> = (0..rank)
                .map(|_| (0..n).map(|_| unit()).collect())
                .collect();
            let mut products = Vec::new();
            for row in &f {
                for a in 0..n {
                    for b in 0..n {
                        products.push((a as u32, b as u32, row[a] * row[b]));
                    }
                }
            }
            let q = of(n, &products);
            assert!(q.check_convex(1.0).is_ok(), "case {case}");
            // One direction gets a curvature of -1.
            let d: Vec<f64> = (0..n).map(|_| unit()).collect();
            for a in 0..n {
                for b in 0..n {
                    products.push((a as u32, b as u32, -0.5 * d[a] * d[b]));
                }
            }
            // With full rank the sum may stay convex.
            if let Err(error) = of(n, &products).check_convex(1.0) {
                assert!(error.curvature < 0.0, "case {case}: {error}");
            } else {
                assert!(rank >= n, "case {case}");
            }
        }
    }
}
