//! A linear program in the user's own units: stated, validated, stored, and the reference for later
//! checks.
//!
//! - `builder.rs`: builds a valid model from columns, rows and entries in any order.
//! - `edit.rs`: adds and deletes rows and columns while a solver works on the model.
//! - `error.rs`: all errors of models.
//! - `permute.rs`: models in another order.
//! - `matrix.rs`: the matrix in `sprs` types, from and to users.

mod builder;
mod edit;
mod error;
mod matrix;
mod permute;

use crate::decimal::RoundedNumber;
use crate::ids::{Bounds, ColId, RowId};
pub use builder::ModelBuilder;
pub(crate) use edit::retain;
pub use edit::{NewCol, NewRow};
pub(crate) use error::check_bounds;
pub use error::{CONTRADICTION, ModelError};
pub use matrix::SparseMatrix;
pub(crate) use matrix::by_columns;
pub use permute::Permutation;

/// Direction of optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Sense {
    /// Minimise the objective.
    #[default]
    Minimise,
    /// Maximise the objective.
    Maximise,
}

impl Sense {
    /// `1.0` when minimising and `-1.0` when maximising: the factor that turns any objective into a
    /// minimised one.
    pub fn sign(self) -> f64 {
        match self {
            Sense::Minimise => 1.0,
            Sense::Maximise => -1.0,
        }
    }
}

/// A row or column of a model whose lower bound is above its upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossed {
    /// The bounds of a column.
    Col(ColId),
    /// The bounds of a row.
    Row(RowId),
}

/// A linear program: `min` or `max` of `cost . x + offset` with `row_lower <= A x <= row_upper` and
/// `col_lower <= x <= col_upper`.
///
/// Models are made by a [`ModelBuilder`] or read from a file ([`crate::mps::read`]) and are always
/// valid. Both orientations of `A` are stored. Once a [`Solver`](crate::Solver) works on it,
/// changes go through the solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) name: String,
    pub(crate) sense: Sense,
    pub(crate) offset: f64,
    pub(crate) cost: Vec<f64>,
    pub(crate) col_lower: Vec<f64>,
    pub(crate) col_upper: Vec<f64>,
    pub(crate) row_lower: Vec<f64>,
    pub(crate) row_upper: Vec<f64>,
    pub(crate) integer: Vec<bool>,
    /// The matrix, compressed by columns.
    pub(crate) cols: SparseMatrix,
    /// The same matrix, compressed by rows.
    pub(crate) rows: SparseMatrix,
    /// Empty if the columns have no names.
    pub(crate) col_names: Vec<String>,
    /// Empty if the rows have no names.
    pub(crate) row_names: Vec<String>,
    pub(crate) source: ModelSource,
}

/// Data about the file of a model. It does not affect equality of models.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelSource {
    /// The first number of the file that the model holds only rounded.
    pub rounded: Option<Box<RoundedNumber>>,
}

impl PartialEq for ModelSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Model {
    /// The model's name, possibly empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the objective is minimised or maximised.
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// The constant added to the objective.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The first number of the model's file that was rounded because no double represents it.
    ///
    /// ```
    /// let text = "Minimize\n x\nSubject To\n low: x >= 0.1234567890123456789\nEnd\n";
    /// let model = remat_lp::lp_format::parse(text, "example").unwrap();
    /// let rounded = model.rounded().unwrap();
    /// assert_eq!((rounded.line, rounded.place.as_str()), (4, "row low"));
    /// ```
    pub fn rounded(&self) -> Option<&RoundedNumber> {
        self.source.rounded.as_deref()
    }

    /// Number of columns.
    pub fn num_cols(&self) -> usize {
        self.cost.len()
    }

    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.row_lower.len()
    }

    /// Number of stored matrix entries.
    pub fn num_nonzeros(&self) -> usize {
        self.cols.nnz()
    }

    /// Objective coefficients, one per column, in the model's own sense.
    pub fn costs(&self) -> &[f64] {
        &self.cost
    }

    /// Bounds of a column.
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn col_bounds(&self, col: ColId) -> Bounds {
        Bounds::new(self.col_lower[col.index()], self.col_upper[col.index()])
    }

    /// Bounds of a row's activity.
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn row_bounds(&self, row: RowId) -> Bounds {
        Bounds::new(self.row_lower[row.index()], self.row_upper[row.index()])
    }

    /// The first crossing bounds, columns before rows; with them the model is infeasible.
    pub fn crossed(&self) -> Option<Crossed> {
        let first = |lower: &[f64], upper: &[f64]| lower.iter().zip(upper).position(|(l, u)| l > u);
        let col = first(&self.col_lower, &self.col_upper).map(|j| Crossed::Col(ColId(j as u32)));
        col.or_else(|| {
            first(&self.row_lower, &self.row_upper).map(|i| Crossed::Row(RowId(i as u32)))
        })
    }

    /// Lower bounds of all columns.
    pub fn col_lower(&self) -> &[f64] {
        &self.col_lower
    }

    /// Upper bounds of all columns.
    pub fn col_upper(&self) -> &[f64] {
        &self.col_upper
    }

    /// Lower bounds of all rows.
    pub fn row_lower(&self) -> &[f64] {
        &self.row_lower
    }

    /// Upper bounds of all rows.
    pub fn row_upper(&self) -> &[f64] {
        &self.row_upper
    }

    /// Returns whether the column is marked integer. The LP solver ignores the mark.
    pub fn is_integer(&self, col: ColId) -> bool {
        self.integer[col.index()]
    }

    /// The entries of a column as (row, coefficient).
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn col(&self, col: ColId) -> impl Iterator<Item = (RowId, f64)> + '_ {
        self.col_entries(col.index())
            .map(|(i, v)| (RowId(i as u32), v))
    }

    /// The entries of a row as (column, coefficient).
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn row(&self, row: RowId) -> impl Iterator<Item = (ColId, f64)> + '_ {
        self.row_entries(row.index())
            .map(|(j, v)| (ColId(j as u32), v))
    }

    /// The column's name; `x<index>` if it has no name.
    pub fn col_name(&self, col: ColId) -> String {
        match self.col_names.get(col.index()) {
            Some(n) if !n.is_empty() => n.clone(),
            _ => format!("x{}", col.0),
        }
    }

    /// The row's name; `r<index>` if it has no name.
    pub fn row_name(&self, row: RowId) -> String {
        match self.row_names.get(row.index()) {
            Some(n) if !n.is_empty() => n.clone(),
            _ => format!("r{}", row.0),
        }
    }

    /// The objective value of a point (one number per column), summed with compensation.
    ///
    /// # Panics
    /// If `x` is shorter than the number of columns.
    pub fn objective(&self, x: &[f64]) -> f64 {
        let mut sum = crate::sum2::Sum2::new(self.offset);
        for (j, &c) in self.cost.iter().enumerate() {
            sum.add_product(c, x[j]);
        }
        sum.value()
    }
}
