//! A linear program in the user's own units: what is stated, validated, stored, and later checked against.

use crate::ids::{Bounds, ColId, RowId};
use crate::matrix::Compressed;
use sprs::CsMatViewI;

/// Whether the objective is to be made small or large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sense {
    /// Smallest objective wins.
    #[default]
    Minimise,
    /// Largest objective wins.
    Maximise,
}

impl Sense {
    /// `1.0` when minimising and `-1.0` when maximising: the factor that turns any objective into a minimised one.
    pub fn sign(self) -> f64 {
        match self {
            Sense::Minimise => 1.0,
            Sense::Maximise => -1.0,
        }
    }
}

/// What can be wrong with a model or with a change to one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A number is NaN, or infinite where only finite numbers make sense.
    #[error("{what} is {value}; a finite number is needed")]
    NotFinite {
        /// Where it was found.
        what: String,
        /// The offending number.
        value: f64,
    },
    /// A bound is NaN, or the wrong infinity for its side.
    #[error(
        "bounds of {what} are [{lower}, {upper}]: neither side may be NaN, the lower +inf or the upper -inf"
    )]
    BadBound {
        /// Where it was found.
        what: String,
        /// The lower bound given.
        lower: f64,
        /// The upper bound given.
        upper: f64,
    },
    /// The lower bound is above the upper bound.
    #[error("bounds of {what} cross: lower {lower} is above upper {upper}")]
    CrossedBounds {
        /// Where it was found.
        what: String,
        /// The lower bound given.
        lower: f64,
        /// The upper bound given.
        upper: f64,
    },
    /// An index points outside the model.
    #[error("{what} {index} does not exist; the model has {len}")]
    OutOfRange {
        /// "row" or "column".
        what: &'static str,
        /// The index given.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// A row mentions the same column twice (or a column the same row).
    #[error("row {row} has two entries in column {col}")]
    Duplicate {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        col: usize,
    },
    /// Two lists that must have the same length do not.
    #[error("{what}: expected {expected} entries, found {found}")]
    Length {
        /// Which list.
        what: &'static str,
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// More rows, columns or entries than 32-bit indices address.
    #[error("the model is too large: {what} exceeds 2^31")]
    TooLarge {
        /// "rows" or "columns".
        what: &'static str,
    },
}

/// A linear program: `min` or `max` of `cost . x + offset` with `row_lower <= A x <= row_upper` and
/// `col_lower <= x <= col_upper`.
///
/// Models are made by a [`ModelBuilder`] or read from a file ([`crate::mps::read`]) and are always valid. Both
/// orientations of `A` are stored. Once a [`Solver`](crate::Solver) works on it, changes go through the solver.
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
    pub(crate) cols: Compressed,
    pub(crate) rows: Compressed,
    /// Empty when the columns have no names of their own.
    pub(crate) col_names: Vec<String>,
    /// Empty when the rows have no names of their own.
    pub(crate) row_names: Vec<String>,
}

impl Model {
    /// The model's name, possibly empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the objective is minimised or maximised.
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// The constant added to the objective.
    pub fn offset(&self) -> f64 {
        self.offset
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

    /// Whether the model's source declared the column integer. The LP solver ignores it.
    pub fn is_integer(&self, col: ColId) -> bool {
        self.integer[col.index()]
    }

    /// The entries of a column as (row, coefficient).
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn col(&self, col: ColId) -> impl Iterator<Item = (RowId, f64)> + '_ {
        self.cols
            .iter(col.index())
            .map(|(i, v)| (RowId(i as u32), v))
    }

    /// The entries of a row as (column, coefficient).
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn row(&self, row: RowId) -> impl Iterator<Item = (ColId, f64)> + '_ {
        self.rows
            .iter(row.index())
            .map(|(j, v)| (ColId(j as u32), v))
    }

    /// The matrix by columns, as a `sprs` view.
    pub fn matrix_csc(&self) -> Option<CsMatViewI<'_, f64, u32, usize>> {
        self.cols.view_csc(self.num_rows())
    }

    /// The matrix by rows, as a `sprs` view.
    pub fn matrix_csr(&self) -> Option<CsMatViewI<'_, f64, u32, usize>> {
        self.rows.view_csr(self.num_cols())
    }

    /// The column's name; `x<index>` if it was never named.
    pub fn col_name(&self, col: ColId) -> String {
        match self.col_names.get(col.index()) {
            Some(n) if !n.is_empty() => n.clone(),
            _ => format!("x{}", col.0),
        }
    }

    /// The row's name; `r<index>` if it was never named.
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

    /// Adds rows; returns the index of the first one.
    pub(crate) fn append_rows(&mut self, rows: &[NewRow]) -> Result<usize, ModelError> {
        let base = self.num_rows();
        let mut extra = Compressed::default();
        for (k, row) in rows.iter().enumerate() {
            check_bounds(&format!("new row {k}"), row.bounds)?;
            let entries = checked_entries(&row.entries, self.num_cols(), "column", |c, v| {
                ModelError::NotFinite {
                    what: format!("coefficient of column {c} in new row {k}"),
                    value: v,
                }
            })?;
            if let Err(c) = entries {
                return Err(ModelError::Duplicate {
                    row: base + k,
                    col: c,
                });
            }
            extra.push(entries.unwrap_or_default());
        }
        self.cols.append_inner(&extra, base);
        for (k, row) in rows.iter().enumerate() {
            self.rows.push(extra.iter(k).map(|(j, v)| (j as u32, v)));
            self.row_lower.push(row.bounds.lower);
            self.row_upper.push(row.bounds.upper);
        }
        if !self.row_names.is_empty() {
            self.row_names.resize(self.row_lower.len(), String::new());
        }
        Ok(base)
    }

    /// Adds columns; returns the index of the first one.
    pub(crate) fn append_cols(&mut self, cols: &[NewCol]) -> Result<usize, ModelError> {
        let base = self.num_cols();
        let mut extra = Compressed::default();
        for (k, col) in cols.iter().enumerate() {
            check_bounds(&format!("new column {k}"), col.bounds)?;
            if !col.cost.is_finite() {
                return Err(ModelError::NotFinite {
                    what: format!("cost of new column {k}"),
                    value: col.cost,
                });
            }
            let entries = checked_entries(&col.entries, self.num_rows(), "row", |r, v| {
                ModelError::NotFinite {
                    what: format!("coefficient of row {r} in new column {k}"),
                    value: v,
                }
            })?;
            if let Err(r) = entries {
                return Err(ModelError::Duplicate {
                    row: r,
                    col: base + k,
                });
            }
            extra.push(entries.unwrap_or_default());
        }
        self.rows.append_inner(&extra, base);
        for (k, col) in cols.iter().enumerate() {
            self.cols.push(extra.iter(k).map(|(i, v)| (i as u32, v)));
            self.cost.push(col.cost);
            self.col_lower.push(col.bounds.lower);
            self.col_upper.push(col.bounds.upper);
            self.integer.push(false);
        }
        if !self.col_names.is_empty() {
            self.col_names.resize(self.cost.len(), String::new());
        }
        Ok(base)
    }
}

/// A row to be added: its bounds and its entries. Built with ids of existing columns.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRow {
    /// Bounds of the row's activity.
    pub bounds: Bounds,
    /// Columns and coefficients, each column at most once.
    pub entries: Vec<(ColId, f64)>,
}

impl NewRow {
    /// A row from bounds and entries.
    pub fn new(bounds: impl Into<Bounds>, entries: impl IntoIterator<Item = (ColId, f64)>) -> Self {
        NewRow {
            bounds: bounds.into(),
            entries: entries.into_iter().collect(),
        }
    }
}

/// A column to be added: its cost, bounds and entries. Built with ids of existing rows.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCol {
    /// Objective coefficient, in the model's sense.
    pub cost: f64,
    /// Bounds of the variable.
    pub bounds: Bounds,
    /// Rows and coefficients, each row at most once.
    pub entries: Vec<(RowId, f64)>,
}

impl NewCol {
    /// A column from cost, bounds and entries.
    pub fn new(
        cost: f64,
        bounds: impl Into<Bounds>,
        entries: impl IntoIterator<Item = (RowId, f64)>,
    ) -> Self {
        NewCol {
            cost,
            bounds: bounds.into(),
            entries: entries.into_iter().collect(),
        }
    }
}

trait Id: Copy {
    fn position(self) -> usize;
}
impl Id for ColId {
    fn position(self) -> usize {
        self.index()
    }
}
impl Id for RowId {
    fn position(self) -> usize {
        self.index()
    }
}

/// Checks, sorts and drops zeros. The inner `Err` is a duplicated index, which the caller names.
#[allow(clippy::type_complexity)]
fn checked_entries<I: Id>(
    entries: &[(I, f64)],
    len: usize,
    what: &'static str,
    not_finite: impl Fn(usize, f64) -> ModelError,
) -> Result<Result<Vec<(u32, f64)>, usize>, ModelError> {
    let mut out = Vec::with_capacity(entries.len());
    for &(id, v) in entries {
        let k = id.position();
        if k >= len {
            return Err(ModelError::OutOfRange {
                what,
                index: k,
                len,
            });
        }
        if !v.is_finite() {
            return Err(not_finite(k, v));
        }
        out.push((k as u32, v));
    }
    out.sort_unstable_by_key(|e| e.0);
    if let Some(w) = out.windows(2).find(|w| w[0].0 == w[1].0) {
        return Ok(Err(w[0].0 as usize));
    }
    out.retain(|e| e.1 != 0.0);
    Ok(Ok(out))
}

pub(crate) fn check_bounds(what: &str, b: Bounds) -> Result<(), ModelError> {
    if b.lower.is_nan()
        || b.upper.is_nan()
        || b.lower == f64::INFINITY
        || b.upper == f64::NEG_INFINITY
    {
        return Err(ModelError::BadBound {
            what: what.to_string(),
            lower: b.lower,
            upper: b.upper,
        });
    }
    if b.lower > b.upper {
        return Err(ModelError::CrossedBounds {
            what: what.to_string(),
            lower: b.lower,
            upper: b.upper,
        });
    }
    Ok(())
}

/// Collects columns, rows and entries, and turns them into a valid [`Model`].
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(3.0, 0.0..);
/// let y = b.add_col(2.0, 0.0..=4.0);
/// b.add_row(..=6.0, [(x, 1.0), (y, 1.0)]);
/// let model = b.build().unwrap();
/// assert_eq!((model.num_rows(), model.num_cols(), model.num_nonzeros()), (1, 2, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelBuilder {
    name: String,
    sense: Sense,
    offset: f64,
    cost: Vec<f64>,
    col_bounds: Vec<Bounds>,
    row_bounds: Vec<Bounds>,
    integer: Vec<bool>,
    col_names: Vec<String>,
    row_names: Vec<String>,
    entries: Vec<(u32, u32, f64)>,
}

impl ModelBuilder {
    /// An empty model.
    pub fn new(sense: Sense) -> Self {
        ModelBuilder {
            sense,
            ..Default::default()
        }
    }

    /// Names the model.
    pub fn set_name(&mut self, name: impl Into<String>) {
        self.name = name.into();
    }

    /// Changes the sense of the objective.
    pub fn set_sense(&mut self, sense: Sense) {
        self.sense = sense;
    }

    /// Sets the constant of the objective.
    pub fn set_offset(&mut self, offset: f64) {
        self.offset = offset;
    }

    /// Number of columns so far.
    pub fn num_cols(&self) -> usize {
        self.cost.len()
    }

    /// Number of rows so far.
    pub fn num_rows(&self) -> usize {
        self.row_bounds.len()
    }

    /// Adds a column without entries.
    pub fn add_col(&mut self, cost: f64, bounds: impl Into<Bounds>) -> ColId {
        self.cost.push(cost);
        self.col_bounds.push(bounds.into());
        self.integer.push(false);
        ColId((self.cost.len() - 1) as u32)
    }

    /// Adds a row with its entries.
    pub fn add_row(
        &mut self,
        bounds: impl Into<Bounds>,
        entries: impl IntoIterator<Item = (ColId, f64)>,
    ) -> RowId {
        let row = RowId(self.row_bounds.len() as u32);
        self.row_bounds.push(bounds.into());
        for (c, v) in entries {
            self.entries.push((row.0, c.0, v));
        }
        row
    }

    /// Adds one entry; every (row, column) at most once.
    pub fn add_entry(&mut self, row: RowId, col: ColId, value: f64) {
        self.entries.push((row.0, col.0, value));
    }

    /// Replaces the bounds of a column.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn set_col_bounds(&mut self, col: ColId, bounds: impl Into<Bounds>) {
        self.col_bounds[col.index()] = bounds.into();
    }

    /// The bounds a column has so far.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn col_bounds(&self, col: ColId) -> Bounds {
        self.col_bounds[col.index()]
    }

    /// Replaces the bounds of a row.
    ///
    /// # Panics
    /// If the row does not exist.
    pub fn set_row_bounds(&mut self, row: RowId, bounds: impl Into<Bounds>) {
        self.row_bounds[row.index()] = bounds.into();
    }

    /// Replaces the cost of a column.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn set_cost(&mut self, col: ColId, cost: f64) {
        self.cost[col.index()] = cost;
    }

    /// Marks a column as integer, for users of the model; the LP solver ignores it.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn set_integer(&mut self, col: ColId, integer: bool) {
        self.integer[col.index()] = integer;
    }

    /// Whether a column is marked as integer.
    ///
    /// # Panics
    /// If the column does not exist.
    pub fn is_integer(&self, col: ColId) -> bool {
        self.integer[col.index()]
    }

    /// Names a column.
    pub fn set_col_name(&mut self, col: ColId, name: impl Into<String>) {
        if self.col_names.len() <= col.index() {
            self.col_names.resize(col.index() + 1, String::new());
        }
        self.col_names[col.index()] = name.into();
    }

    /// Names a row.
    pub fn set_row_name(&mut self, row: RowId, name: impl Into<String>) {
        if self.row_names.len() <= row.index() {
            self.row_names.resize(row.index() + 1, String::new());
        }
        self.row_names[row.index()] = name.into();
    }

    /// Validates everything and compresses the matrix both ways. Zero entries are dropped.
    ///
    /// # Errors
    /// NaN or infinite coefficients, crossed or NaN bounds, entries outside the model, duplicated entries.
    pub fn build(mut self) -> Result<Model, ModelError> {
        let (m, n) = (self.row_bounds.len(), self.cost.len());
        for (what, len) in [("rows", m), ("columns", n)] {
            if len >= (1 << 30) {
                return Err(ModelError::TooLarge { what });
            }
        }
        if !self.offset.is_finite() {
            return Err(ModelError::NotFinite {
                what: "objective offset".into(),
                value: self.offset,
            });
        }
        for (j, &c) in self.cost.iter().enumerate() {
            if !c.is_finite() {
                return Err(ModelError::NotFinite {
                    what: format!("cost of column {j}"),
                    value: c,
                });
            }
        }
        for (j, &b) in self.col_bounds.iter().enumerate() {
            check_bounds(&format!("column {j}"), b)?;
        }
        for (i, &b) in self.row_bounds.iter().enumerate() {
            check_bounds(&format!("row {i}"), b)?;
        }
        let mut counts = vec![0usize; m + 1];
        for &(i, j, v) in &self.entries {
            let (i, j) = (i as usize, j as usize);
            if i >= m {
                return Err(ModelError::OutOfRange {
                    what: "row",
                    index: i,
                    len: m,
                });
            }
            if j >= n {
                return Err(ModelError::OutOfRange {
                    what: "column",
                    index: j,
                    len: n,
                });
            }
            if !v.is_finite() {
                return Err(ModelError::NotFinite {
                    what: format!("coefficient in row {i}, column {j}"),
                    value: v,
                });
            }
            counts[i + 1] += 1;
        }
        // Bucket by row, then transpose twice: the first transpose sorts columns, the second rows.
        for i in 0..m {
            counts[i + 1] += counts[i];
        }
        let mut raw = Compressed {
            start: counts.clone(),
            index: vec![0; self.entries.len()],
            value: vec![0.0; self.entries.len()],
        };
        for &(i, j, v) in &self.entries {
            let at = counts[i as usize];
            counts[i as usize] += 1;
            raw.index[at] = j;
            raw.value[at] = v;
        }
        self.entries = Vec::new();
        let mut cols = raw.transpose(n);
        for j in 0..n {
            let (index, _) = cols.vector(j);
            if let Some(w) = index.windows(2).find(|w| w[0] == w[1]) {
                return Err(ModelError::Duplicate {
                    row: w[0] as usize,
                    col: j,
                });
            }
        }
        if cols.value.contains(&0.0) {
            let mut clean = Compressed::default();
            for j in 0..n {
                clean.push(
                    cols.iter(j)
                        .filter(|e| e.1 != 0.0)
                        .map(|(i, v)| (i as u32, v)),
                );
            }
            cols = clean;
        }
        let rows = cols.transpose(m);
        if !self.col_names.is_empty() {
            self.col_names.resize(n, String::new());
        }
        if !self.row_names.is_empty() {
            self.row_names.resize(m, String::new());
        }
        Ok(Model {
            name: self.name,
            sense: self.sense,
            offset: self.offset,
            cost: self.cost,
            col_lower: self.col_bounds.iter().map(|b| b.lower).collect(),
            col_upper: self.col_bounds.iter().map(|b| b.upper).collect(),
            row_lower: self.row_bounds.iter().map(|b| b.lower).collect(),
            row_upper: self.row_bounds.iter().map(|b| b.upper).collect(),
            integer: self.integer,
            cols,
            rows,
            col_names: self.col_names,
            row_names: self.row_names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_has_its_own_error() {
        let with = |f: &dyn Fn(&mut ModelBuilder)| {
            let mut b = ModelBuilder::new(Sense::Minimise);
            b.add_col(1.0, 0.0..);
            b.add_row(0.0.., [(ColId(0), 1.0)]);
            f(&mut b);
            b.build().unwrap_err()
        };
        assert!(matches!(
            with(&|b| b.set_cost(ColId(0), f64::NAN)),
            ModelError::NotFinite { .. }
        ));
        assert!(matches!(
            with(&|b| b.set_col_bounds(ColId(0), 2.0..=1.0)),
            ModelError::CrossedBounds { .. }
        ));
        assert!(matches!(
            with(&|b| b.set_row_bounds(RowId(0), f64::INFINITY)),
            ModelError::BadBound { .. }
        ));
        assert!(matches!(
            with(&|b| b.add_entry(RowId(0), ColId(0), 2.0)),
            ModelError::Duplicate { row: 0, col: 0 }
        ));
        assert!(matches!(
            with(&|b| b.add_entry(RowId(3), ColId(0), 2.0)),
            ModelError::OutOfRange { index: 3, .. }
        ));
        assert!(matches!(
            with(&|b| b.add_entry(RowId(0), ColId(7), 2.0)),
            ModelError::OutOfRange { index: 7, .. }
        ));
    }

    #[test]
    fn appended_rows_and_columns_match_a_model_built_at_once() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(2.0, 0.0..);
        b.add_row(1.0.., [(x, 1.0), (y, 1.0)]);
        let mut grown = b.clone().build().unwrap();
        grown
            .append_rows(&[NewRow::new(..=4.0, [(y, 3.0)])])
            .unwrap();
        grown
            .append_cols(&[NewCol::new(
                5.0,
                0.0..=1.0,
                [(RowId(1), 7.0), (RowId(0), 6.0)],
            )])
            .unwrap();
        let z = b.add_col(5.0, 0.0..=1.0);
        b.add_entry(RowId(0), z, 6.0);
        b.add_row(..=4.0, [(z, 7.0), (y, 3.0)]);
        assert_eq!(grown, b.build().unwrap());
    }
}
