//! Collecting a model: columns, rows and entries in any order.

use super::error::{CONTRADICTION, check_sides};
use super::{Model, ModelError, ModelSource, NewRow, Sense, SparseMatrix, by_columns};
use crate::compressed::Compressed;
use crate::decimal::RoundedNumber;
use crate::ids::{Bounds, ColId, RowId};

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
    source: ModelSource,
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

    /// Records a number of a file that a double does not represent; only the first one is kept.
    pub(crate) fn note_rounded(&mut self, number: impl FnOnce() -> RoundedNumber) {
        self.source
            .rounded
            .get_or_insert_with(|| Box::new(number()));
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

    /// Adds one entry; each (row, column) may have at most one.
    pub fn add_entry(&mut self, row: RowId, col: ColId, value: f64) {
        self.entries.push((row.0, col.0, value));
    }

    /// Removes rows, given in ascending order, and returns each with its name. The remaining rows
    /// are renumbered.
    pub(crate) fn take_rows(&mut self, rows: &[RowId]) -> Vec<(String, NewRow)> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut place: Vec<Result<u32, usize>> = Vec::with_capacity(self.num_rows());
        let mut taken = Vec::with_capacity(rows.len());
        self.row_names.resize(self.num_rows(), String::new());
        for i in 0..self.num_rows() {
            let left = i - taken.len();
            if rows.get(taken.len()).is_some_and(|row| row.index() == i) {
                place.push(Err(taken.len()));
                let name = std::mem::take(&mut self.row_names[i]);
                taken.push((name, NewRow::new(self.row_bounds[i], [])));
            } else {
                place.push(Ok(left as u32));
                self.row_bounds[left] = self.row_bounds[i];
                self.row_names.swap(left, i);
            }
        }
        self.row_bounds.truncate(place.len() - taken.len());
        self.row_names.truncate(place.len() - taken.len());
        self.entries.retain_mut(|(row, col, value)| {
            match place.get(*row as usize) {
                Some(&Err(k)) => {
                    taken[k].1.entries.push((ColId(*col), *value));
                    return false;
                }
                Some(&Ok(left)) => *row = left,
                None => {}
            }
            true
        });
        taken
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

    /// Returns whether a column is marked as integer.
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

    /// Validates all data and compresses the matrix both ways. Zero entries are dropped.
    ///
    /// Crossing bounds are not an error: the model is infeasible ([`Model::crossed`]). If they
    /// cross by at most 1e-7, both become the value in the middle.
    ///
    /// # Errors
    /// NaN or infinite coefficients, NaN bounds, entries outside the model, duplicated entries.
    pub fn build(mut self) -> Result<Model, ModelError> {
        self.check()?;
        let (m, n) = (self.num_rows(), self.num_cols());
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
            check_coefficient(i, j, v)?;
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
        let cols = raw.transpose(n);
        for j in 0..n {
            let (index, _) = cols.vector(j);
            if let Some(w) = index.windows(2).find(|w| w[0] == w[1]) {
                return Err(ModelError::Duplicate {
                    row: w[0] as usize,
                    col: j,
                });
            }
        }
        Ok(self.finish(cols))
    }

    /// Builds a model from the columns and rows given so far, with the entries of `matrix` (rows by
    /// columns, stored either way) in place of entries added one by one.
    ///
    /// # Errors
    /// A matrix of another shape, numbers that are not finite.
    pub fn build_with(self, matrix: SparseMatrix) -> Result<Model, ModelError> {
        self.check()?;
        for (what, expected, found) in [
            ("rows of the matrix", self.num_rows(), matrix.rows()),
            ("columns of the matrix", self.num_cols(), matrix.cols()),
        ] {
            if expected != found {
                return Err(ModelError::Length {
                    what,
                    expected,
                    found,
                });
            }
        }
        for (&v, (i, j)) in matrix.iter() {
            check_coefficient(i as usize, j as usize, v)?;
        }
        Ok(self.finish(Compressed::from(matrix.into_csc())))
    }

    /// Checks all data except the entries.
    fn check(&self) -> Result<(), ModelError> {
        for (what, len) in [("rows", self.num_rows()), ("columns", self.num_cols())] {
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
        let name = |names: &[String], what: &str, k: usize| match names.get(k) {
            Some(n) if !n.is_empty() => format!("{what} `{n}`"),
            _ => format!("{what} {k}"),
        };
        for (j, &b) in self.col_bounds.iter().enumerate() {
            check_sides(|| name(&self.col_names, "column", j), b)?;
        }
        for (i, &b) in self.row_bounds.iter().enumerate() {
            check_sides(|| name(&self.row_names, "row", i), b)?;
        }
        Ok(())
    }

    /// Builds the model from sorted columns without duplicates.
    fn finish(mut self, mut cols: Compressed) -> Model {
        let (m, n) = (self.num_rows(), self.num_cols());
        for b in self.col_bounds.iter_mut().chain(&mut self.row_bounds) {
            if b.lower > b.upper && b.lower - b.upper <= CONTRADICTION {
                let middle = b.upper + (b.lower - b.upper) / 2.0;
                *b = Bounds::new(middle, middle);
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
        let cols = by_columns(cols, m);
        let rows = cols.to_csr();
        if !self.col_names.is_empty() {
            self.col_names.resize(n, String::new());
        }
        if !self.row_names.is_empty() {
            self.row_names.resize(m, String::new());
        }
        Model {
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
            source: self.source,
        }
    }
}

fn check_coefficient(row: usize, col: usize, value: f64) -> Result<(), ModelError> {
    if value.is_finite() {
        return Ok(());
    }
    Err(ModelError::NotFinite {
        what: format!("coefficient in row {row}, column {col}"),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Crossed;

    #[test]
    fn crossed_bounds_are_kept_unless_rounding_explains_them() {
        let with = |lower: f64, upper: f64| {
            let mut b = ModelBuilder::new(Sense::Minimise);
            let x = b.add_col(1.0, 0.0..);
            b.add_row(Bounds::new(lower, upper), [(x, 1.0)]);
            b.build().unwrap()
        };
        assert_eq!(with(2.0, 1.0).crossed(), Some(Crossed::Row(RowId(0))));
        let near = with(1.0 + 1e-8, 1.0);
        assert_eq!(near.crossed(), None);
        assert_eq!(near.row_lower(), near.row_upper());
    }

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
}
