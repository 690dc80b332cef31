//! The matrix of a model in `sprs` types: conversions from and to user types, and edits.

use super::{Model, ModelBuilder, ModelError, Sense};
use crate::compressed::Compressed;
use crate::ids::Bounds;
use sprs::{CompressedStorage, CsMatI, CsMatViewI};

/// A matrix in `sprs` storage with indices of 32 bits and offsets of 64.
pub type SparseMatrix = CsMatI<f64, u32, usize>;

impl Model {
    /// Creates a program from its matrix (rows by columns, stored either way), the costs and bounds
    /// of its columns and the bounds of its rows. Zero entries are dropped.
    /// [`ModelBuilder::build_with`] also sets names and integrality.
    ///
    /// ```
    /// use remat_lp::sprs::CsMatI;
    /// use remat_lp::{Bounds, Model, Sense, Settings, Solver, SparseMatrix};
    ///
    /// // max 3x + 2y, x + y <= 4, x + 3y <= 6: two columns of two entries each.
    /// let a = CsMatI::new_csc((2, 2), vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 1.0, 1.0, 3.0]);
    /// let model = Model::from_matrix(
    ///     Sense::Maximise,
    ///     a.clone(),
    ///     vec![3.0, 2.0],
    ///     vec![Bounds::NONNEGATIVE; 2],
    ///     vec![(..=4.0).into(), (..=6.0).into()],
    /// )?;
    /// assert_eq!(model.matrix(), a.view());
    /// assert_eq!(model.matrix_by_rows(), a.to_csr().view());
    /// assert_eq!(Solver::new(model.clone(), Settings::default()).solve().optimal().unwrap().objective, 12.0);
    /// assert_eq!(SparseMatrix::from(model), a);
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// Lists whose lengths differ from the matrix's numbers of columns or rows; numbers that are
    /// not finite; bounds that are NaN or the wrong infinity.
    pub fn from_matrix(
        sense: Sense,
        matrix: SparseMatrix,
        costs: Vec<f64>,
        col_bounds: Vec<Bounds>,
        row_bounds: Vec<Bounds>,
    ) -> Result<Model, ModelError> {
        let mut builder = ModelBuilder::new(sense);
        if costs.len() != col_bounds.len() {
            return Err(ModelError::Length {
                what: "bounds of columns",
                expected: costs.len(),
                found: col_bounds.len(),
            });
        }
        for (cost, bounds) in costs.into_iter().zip(col_bounds) {
            builder.add_col(cost, bounds);
        }
        for bounds in row_bounds {
            builder.add_row(bounds, []);
        }
        builder.build_with(matrix)
    }

    /// The matrix, compressed by columns.
    pub fn matrix(&self) -> CsMatViewI<'_, f64, u32, usize> {
        self.cols.view()
    }

    /// The matrix, compressed by rows.
    pub fn matrix_by_rows(&self) -> CsMatViewI<'_, f64, u32, usize> {
        self.rows.view()
    }

    /// Row indices and coefficients of column `j`.
    pub(crate) fn col_slices(&self, j: usize) -> (&[u32], &[f64]) {
        vector(&self.cols, j)
    }

    /// Column indices and coefficients of row `i`.
    pub(crate) fn row_slices(&self, i: usize) -> (&[u32], &[f64]) {
        vector(&self.rows, i)
    }

    /// Column `j` as (row, coefficient).
    pub(crate) fn col_entries(&self, j: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        pairs(self.col_slices(j))
    }

    /// Row `i` as (column, coefficient).
    pub(crate) fn row_entries(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        pairs(self.row_slices(i))
    }
}

/// The matrix, compressed by columns.
impl From<Model> for SparseMatrix {
    fn from(model: Model) -> SparseMatrix {
        model.cols
    }
}

/// The columns of the matrix, or its rows if it is compressed by rows, without a copy.
impl From<SparseMatrix> for Compressed {
    fn from(matrix: SparseMatrix) -> Compressed {
        let (mut start, index, value) = matrix.into_raw_storage();
        let first = start[0];
        if first != 0 {
            start.iter_mut().for_each(|s| *s -= first);
        }
        Compressed {
            start,
            index,
            value,
        }
    }
}

#[inline]
fn vector(matrix: &SparseMatrix, k: usize) -> (&[u32], &[f64]) {
    // Offsets of a model's matrices begin at 0.
    let offsets = matrix.indptr();
    let range = offsets.raw_storage()[k]..offsets.raw_storage()[k + 1];
    (&matrix.indices()[range.clone()], &matrix.data()[range])
}

#[inline]
fn pairs<'a>((index, value): (&'a [u32], &'a [f64])) -> impl Iterator<Item = (usize, f64)> + 'a {
    index.iter().zip(value).map(|(&i, &v)| (i as usize, v))
}

/// The columns in `sprs` storage, from sorted vectors without duplicates.
pub(crate) fn by_columns(cols: Compressed, rows: usize) -> SparseMatrix {
    let shape = (rows, cols.outer());
    stored(CompressedStorage::CSC, shape, cols)
}

/// Changes structure or shape: the arrays move out, are edited in place, and move back in.
pub(crate) fn edit(
    matrix: &mut SparseMatrix,
    shape: (usize, usize),
    change: impl FnOnce(&mut Compressed),
) {
    let storage = matrix.storage();
    let taken = std::mem::replace(matrix, SparseMatrix::empty(storage, 0));
    let mut parts = Compressed::from(taken);
    change(&mut parts);
    *matrix = stored(storage, shape, parts);
}

/// The vectors as a matrix of this shape. They must fit the shape, be sorted and have no
/// duplicates. Callers ensure this already; a second check by `sprs` would double the time of an
/// append.
fn stored(storage: CompressedStorage, shape: (usize, usize), parts: Compressed) -> SparseMatrix {
    let Compressed {
        start,
        index,
        value,
    } = parts;
    // SAFETY: `start` ascends from 0 to the number of entries and has one more item than there are
    // vectors; every change to a `Compressed` preserves this. The callers preserve order and range
    // of the indices. Checked in debug builds.
    let matrix = unsafe { SparseMatrix::new_unchecked(storage, shape, start, index, value) };
    debug_assert_eq!(matrix.check_compressed_structure(), Ok(()));
    matrix
}
