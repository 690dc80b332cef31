//! Adding and deleting rows and columns.

use super::matrix::edit;
use super::{Model, ModelError, check_bounds};
use crate::compressed::Compressed;
use crate::ids::{Bounds, ColId, RowId};

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

impl Model {
    /// The model with other bounds of its columns, one number per column. Bounds may cross.
    ///
    /// # Panics
    /// If the numbers of bounds and columns differ.
    pub fn with_col_bounds(&self, lower: &[f64], upper: &[f64]) -> Model {
        let mut model = self.clone();
        model.col_lower.copy_from_slice(lower);
        model.col_upper.copy_from_slice(upper);
        model
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
        let shape = (base + rows.len(), self.num_cols());
        edit(&mut self.cols, shape, |cols| {
            cols.append_inner(&extra, base)
        });
        edit(&mut self.rows, shape, |rows| rows.append(&extra));
        for row in rows {
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
        let shape = (self.num_rows(), base + cols.len());
        edit(&mut self.rows, shape, |rows| {
            rows.append_inner(&extra, base)
        });
        edit(&mut self.cols, shape, |cols| cols.append(&extra));
        for col in cols {
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

    /// Keeps the rows for which `keep` is true; `map` has their new numbers, and `u32::MAX` for the
    /// others.
    pub(crate) fn retain_rows(&mut self, keep: &[bool], map: &[u32]) {
        retain(&mut self.row_lower, keep);
        retain(&mut self.row_upper, keep);
        if !self.row_names.is_empty() {
            retain(&mut self.row_names, keep);
        }
        let shape = (self.num_rows(), self.num_cols());
        edit(&mut self.rows, shape, |rows| rows.retain_outer(keep));
        edit(&mut self.cols, shape, |cols| cols.remap_inner(map));
    }

    /// Keeps the columns for which `keep` is true; `map` has their new numbers, and `u32::MAX` for
    /// the others.
    pub(crate) fn retain_cols(&mut self, keep: &[bool], map: &[u32]) {
        retain(&mut self.cost, keep);
        retain(&mut self.col_lower, keep);
        retain(&mut self.col_upper, keep);
        retain(&mut self.integer, keep);
        if !self.col_names.is_empty() {
            retain(&mut self.col_names, keep);
        }
        let shape = (self.num_rows(), self.num_cols());
        edit(&mut self.cols, shape, |cols| cols.retain_outer(keep));
        edit(&mut self.rows, shape, |rows| rows.remap_inner(map));
    }
}

/// Keeps the items for which `keep` is true.
pub(crate) fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut k = 0;
    items.retain(|_| {
        k += 1;
        keep[k - 1]
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelBuilder, Sense};

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
