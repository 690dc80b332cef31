//! The quadratic part of an objective: `1/2 x'Qx` with a sparse symmetric `Q`.
//!
//! It stands beside a [`Model`](crate::Model), not in it: a model is linear, so code for linear
//! programs cannot meet a quadratic part that it would ignore.
//!
//! - `mod.rs`: the matrix, values and gradients.
//! - `convex.rs`: the test for convexity, which names a column if it fails.

mod convex;

use crate::compressed::Compressed;
use crate::ids::ColId;
use crate::model::ModelError;
use crate::sum2::Sum2;
pub use convex::NotConvex;

/// `1/2 x'Qx`, with one row and column of `Q` for each column of a model.
///
/// ```
/// use remat_lp::{ColId, Quadratic};
/// // x^2 + x y + 3 y^2
/// let (x, y) = (ColId(0), ColId(1));
/// let q = Quadratic::of_products(2, [(x, x, 1.0), (x, y, 1.0), (y, y, 3.0)])?;
/// assert_eq!(q.value(&[2.0, 1.0]), 9.0);
/// assert_eq!(q.gradient(&[2.0, 1.0]), [5.0, 8.0]);
/// assert!(q.check_convex(1.0).is_ok());
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quadratic {
    /// The whole matrix by columns, row indices ascending.
    pub(crate) matrix: Compressed,
}

impl Quadratic {
    /// The sum of `factor * first * second` over a model of `cols` columns. Repeated products are
    /// added, in any order of the two columns.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] for a column that does not exist, [`ModelError::NotFinite`] for a
    /// factor or a sum of factors that is not finite.
    pub fn of_products(
        cols: usize,
        products: impl IntoIterator<Item = (ColId, ColId, f64)>,
    ) -> Result<Quadratic, ModelError> {
        let mut lower: Vec<(u32, u32, f64)> = Vec::new();
        for (a, b, factor) in products {
            let (low, high) = (a.0.min(b.0), a.0.max(b.0));
            if high as usize >= cols {
                return Err(ModelError::OutOfRange {
                    what: "column",
                    index: high as usize,
                    len: cols,
                });
            }
            lower.push((low, high, if low == high { 2.0 * factor } else { factor }));
        }
        lower.sort_by_key(|&(low, high, _)| (low, high));
        lower.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        if let Some(&(a, b, value)) = lower.iter().find(|e| !e.2.is_finite()) {
            return Err(ModelError::NotFinite {
                what: format!("factor of the product of columns {a} and {b}"),
                value,
            });
        }
        lower.retain(|e| e.2 != 0.0);
        let mirrored = lower.iter().filter(|e| e.0 != e.1);
        let mirrored: Vec<_> = mirrored.map(|&(a, b, v)| (b, a, v)).collect();
        lower.extend(mirrored);
        lower.sort_by_key(|&(col, row, _)| (col, row));
        let mut matrix = Compressed::default();
        let mut rest = lower.as_slice();
        for j in 0..cols as u32 {
            let here = rest.iter().take_while(|e| e.0 == j).count();
            let (own, behind) = rest.split_at(here);
            matrix.push(own.iter().map(|&(_, row, v)| (row, v)));
            rest = behind;
        }
        Ok(Quadratic { matrix })
    }

    /// The products with their factors, each once, first column at most the second.
    pub fn products(&self) -> impl Iterator<Item = (ColId, ColId, f64)> + '_ {
        (0..self.num_cols()).flat_map(move |j| {
            let above = self.matrix.iter(j).filter(move |&(i, _)| i >= j);
            above.map(move |(i, v)| {
                let factor = if i == j { 0.5 * v } else { v };
                (ColId(j as u32), ColId(i as u32), factor)
            })
        })
    }

    /// Number of columns of the model.
    pub fn num_cols(&self) -> usize {
        self.matrix.outer()
    }

    /// Number of different products.
    pub fn num_products(&self) -> usize {
        self.products().count()
    }

    /// Returns whether it has no product.
    pub fn is_empty(&self) -> bool {
        self.matrix.nnz() == 0
    }

    /// Columns with a product, ascending.
    pub fn columns(&self) -> impl Iterator<Item = ColId> + '_ {
        let own = (0..self.num_cols()).filter(|&j| self.matrix.len(j) > 0);
        own.map(|j| ColId(j as u32))
    }

    /// Row of `Q` that belongs to a column: other columns and entries.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn row(&self, col: ColId) -> impl Iterator<Item = (ColId, f64)> + '_ {
        let entries = self.matrix.iter(col.index());
        entries.map(|(i, v)| (ColId(i as u32), v))
    }

    /// `1/2 x'Qx`, summed with compensation.
    ///
    /// # Panics
    /// If `x` is shorter than the number of columns.
    pub fn value(&self, x: &[f64]) -> f64 {
        let mut sum = Sum2::new(0.0);
        for (j, gradient) in self.gradient(x).into_iter().enumerate() {
            sum.add_product(0.5 * x[j], gradient);
        }
        sum.value()
    }

    /// `Qx`, each entry summed with compensation.
    ///
    /// # Panics
    /// If `x` is shorter than the number of columns.
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let entry = |j| {
            let mut sum = Sum2::new(0.0);
            for (i, v) in self.matrix.iter(j) {
                sum.add_product(v, x[i]);
            }
            sum.value()
        };
        (0..self.num_cols()).map(entry).collect()
    }

    /// Sets of columns such that no product joins two of them, each ascending. Columns without a
    /// product are left out.
    pub fn blocks(&self) -> Vec<Vec<ColId>> {
        let n = self.num_cols();
        let mut block = vec![usize::MAX; n];
        let mut blocks: Vec<Vec<ColId>> = Vec::new();
        let mut open = Vec::new();
        for first in 0..n {
            if block[first] != usize::MAX || self.matrix.len(first) == 0 {
                continue;
            }
            let number = blocks.len();
            let mut members = Vec::new();
            block[first] = number;
            open.push(first);
            while let Some(j) = open.pop() {
                members.push(ColId(j as u32));
                for (i, _) in self.matrix.iter(j) {
                    if block[i] == usize::MAX {
                        block[i] = number;
                        open.push(i);
                    }
                }
            }
            members.sort_unstable();
            blocks.push(members);
        }
        blocks
    }

    /// Checks that the objective with this part is convex if `sign` is 1 (minimised), concave if it
    /// is -1 (maximised).
    ///
    /// # Errors
    /// [`NotConvex`] with a column and a curvature.
    pub fn check_convex(&self, sign: f64) -> Result<(), NotConvex> {
        convex::check(&self.matrix, sign)
    }

    /// Returns whether the minimised part (times `sign`) stays convex if `shift * x_j^2 / 2` is
    /// subtracted for each of the given columns.
    pub(crate) fn is_convex_beyond(&self, sign: f64, cols: &[usize], shift: f64) -> bool {
        let mut taken = vec![false; self.num_cols()];
        cols.iter().for_each(|&j| taken[j] = true);
        let mut matrix = Compressed::default();
        for (j, &taken) in taken.iter().enumerate() {
            let entries = self.matrix.iter(j).map(|(i, v)| {
                let less = if taken && i == j { shift } else { 0.0 };
                (i as u32, sign * v - less)
            });
            matrix.push(entries);
        }
        convex::check(&matrix, 1.0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cols: usize, products: &[(u32, u32, f64)]) -> Quadratic {
        let products = products.iter().map(|&(a, b, v)| (ColId(a), ColId(b), v));
        Quadratic::of_products(cols, products).unwrap()
    }

    #[test]
    fn products_are_merged_and_come_back() {
        let q = of(
            4,
            &[
                (2, 0, 1.0),
                (0, 2, 2.0),
                (1, 1, 0.5),
                (3, 1, 1.0),
                (1, 3, -1.0),
            ],
        );
        let back: Vec<_> = q.products().map(|(a, b, v)| (a.0, b.0, v)).collect();
        assert_eq!(back, [(0, 2, 3.0), (1, 1, 0.5)]);
        assert_eq!(q.blocks(), [vec![ColId(0), ColId(2)], vec![ColId(1)]]);
        assert_eq!(q.value(&[2.0, 4.0, -1.0, 7.0]), 2.0);
        assert_eq!(q.gradient(&[2.0, 4.0, -1.0, 7.0]), [-3.0, 4.0, 6.0, 0.0]);
    }

    #[test]
    fn wrong_products_are_refused() {
        let of = |a, v| Quadratic::of_products(2, [(ColId(0), ColId(a), v)]);
        assert!(matches!(
            of(2, 1.0),
            Err(ModelError::OutOfRange { index: 2, .. })
        ));
        assert!(matches!(of(1, f64::NAN), Err(ModelError::NotFinite { .. })));
    }
}
