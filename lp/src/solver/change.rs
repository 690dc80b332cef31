//! Changes of bounds, costs, rows and columns between solves; all valid data is kept.

use super::Solver;
use crate::compressed::Compressed;
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{ModelError, NewCol, NewRow, check_bounds, retain};
use crate::outcome::VarStatus;
use std::sync::Arc;

impl Solver {
    /// Changes a column's bounds. The basis is kept, so solving again takes few pivots.
    ///
    /// # Errors
    /// Bounds that are crossed or NaN, or a column that does not exist.
    pub fn set_col_bounds(
        &mut self,
        col: ColId,
        bounds: impl Into<Bounds>,
    ) -> Result<(), ModelError> {
        let bounds = bounds.into();
        let j = col.index();
        self.in_range("column", j, self.core.n)?;
        check_bounds("column", bounds)?;
        if self.model.col_bounds(col) == bounds {
            return Ok(());
        }
        let model = Arc::make_mut(&mut self.model);
        model.col_lower[j] = bounds.lower;
        model.col_upper[j] = bounds.upper;
        let c = self.scaling.col[j];
        self.core_bounds(j, bounds.lower / c, bounds.upper / c);
        Ok(())
    }

    /// Changes a row's bounds.
    ///
    /// # Errors
    /// Bounds that are crossed or NaN, or a row that does not exist.
    pub fn set_row_bounds(
        &mut self,
        row: RowId,
        bounds: impl Into<Bounds>,
    ) -> Result<(), ModelError> {
        let bounds = bounds.into();
        let i = row.index();
        self.in_range("row", i, self.core.m)?;
        check_bounds("row", bounds)?;
        let model = Arc::make_mut(&mut self.model);
        model.row_lower[i] = bounds.lower;
        model.row_upper[i] = bounds.upper;
        let r = self.scaling.row[i];
        self.core_bounds(self.core.n + i, -bounds.upper * r, -bounds.lower * r);
        Ok(())
    }

    fn core_bounds(&mut self, j: usize, lower: f64, upper: f64) {
        let core = &mut self.core;
        core.lower[j] = lower;
        core.upper[j] = upper;
        core.wl[j] = lower;
        core.wu[j] = upper;
        let old = core.x[j];
        core.settle(j);
        if core.status[j] == VarStatus::Basic || core.x[j] != old {
            core.primal_valid = false;
        }
    }

    /// Changes a column's cost.
    ///
    /// # Errors
    /// A cost that is not finite, or a column that does not exist.
    pub fn set_cost(&mut self, col: ColId, cost: f64) -> Result<(), ModelError> {
        let j = col.index();
        self.in_range("column", j, self.core.n)?;
        if !cost.is_finite() {
            return Err(ModelError::NotFinite {
                what: format!("cost of column {j}"),
                value: cost,
            });
        }
        Arc::make_mut(&mut self.model).cost[j] = cost;
        let c = self.cost_unit() * cost * self.scaling.col[j];
        self.core.cost[j] = c;
        self.core.wc[j] = c;
        self.costs_changed = true;
        self.core.dual_valid = false;
        Ok(())
    }

    fn in_range(&self, what: &'static str, index: usize, len: usize) -> Result<(), ModelError> {
        if index < len {
            Ok(())
        } else {
            Err(ModelError::OutOfRange { what, index, len })
        }
    }

    /// Adds rows, whose variables become basic: a dual feasible basis stays dual feasible. Returns
    /// the first new id; the others follow in order.
    ///
    /// # Errors
    /// Any mistake in a row; no row is added then.
    pub fn add_rows(&mut self, rows: &[NewRow]) -> Result<RowId, ModelError> {
        let base = self.core.m;
        Arc::make_mut(&mut self.model).append_rows(rows)?;
        let model = &self.model;
        let mut extra = Compressed::default();
        for i in base..model.num_rows() {
            let r = if self.settings.scaling {
                self.scaling.fit_row(model.row_entries(i))
            } else {
                1.0
            };
            self.scaling.row.push(r);
            let col = &self.scaling.col;
            extra.push(
                model
                    .row_entries(i)
                    .map(|(j, v)| (j as u32, r * v * col[j])),
            );
            self.core.lower.push(-model.row_upper[i] * r);
            self.core.upper.push(-model.row_lower[i] * r);
        }
        self.core.add_rows(&extra);
        Ok(RowId(base as u32))
    }

    /// Adds columns at the bound nearest zero: a primal feasible basis stays primal feasible if
    /// that bound is zero. Factorisation and weights are kept. Returns the first new id; the others
    /// follow in order.
    ///
    /// # Errors
    /// Any mistake in a column; no column is added then.
    pub fn add_cols(&mut self, cols: &[NewCol]) -> Result<ColId, ModelError> {
        let base = self.core.n;
        Arc::make_mut(&mut self.model).append_cols(cols)?;
        let unit = self.cost_unit();
        let model = &self.model;
        let mut extra = Compressed::default();
        let (mut lower, mut upper, mut cost) = (Vec::new(), Vec::new(), Vec::new());
        for j in base..model.num_cols() {
            let c = if self.settings.scaling {
                self.scaling.fit_col(model.col_entries(j))
            } else {
                1.0
            };
            self.scaling.col.push(c);
            let row = &self.scaling.row;
            extra.push(
                model
                    .col_entries(j)
                    .map(|(i, v)| (i as u32, row[i] * v * c)),
            );
            lower.push(model.col_lower[j] / c);
            upper.push(model.col_upper[j] / c);
            cost.push(unit * model.cost[j] * c);
        }
        self.core.add_cols(&extra, &lower, &upper, &cost);
        self.costs_changed = true;
        Ok(ColId(base as u32))
    }

    /// Deletes rows; later ones move up. Deleting rows whose variable is basic (slack rows) keeps
    /// the rest of the basis; otherwise the basis is repaired at the next solve.
    ///
    /// # Errors
    /// A row that does not exist; no row is deleted then.
    pub fn delete_rows(&mut self, rows: &[RowId]) -> Result<(), ModelError> {
        let m = self.core.m;
        let mut keep = vec![true; m];
        for r in rows {
            self.in_range("row", r.index(), m)?;
            keep[r.index()] = false;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let map = renumbering(&keep);
        let model = Arc::make_mut(&mut self.model);
        model.retain_rows(&keep, &map);
        retain(&mut self.scaling.row, &keep);
        self.core.delete_rows(&keep, &map);
        Ok(())
    }

    /// Deletes columns; later ones move up. Deleting nonbasic columns at zero does not change the
    /// basic solution.
    ///
    /// # Errors
    /// A column that does not exist; no column is deleted then.
    pub fn delete_cols(&mut self, cols: &[ColId]) -> Result<(), ModelError> {
        let n = self.core.n;
        let mut keep = vec![true; n];
        for c in cols {
            self.in_range("column", c.index(), n)?;
            keep[c.index()] = false;
        }
        if cols.is_empty() {
            return Ok(());
        }
        let map = renumbering(&keep);
        let model = Arc::make_mut(&mut self.model);
        model.retain_cols(&keep, &map);
        retain(&mut self.scaling.col, &keep);
        self.core.delete_cols(&keep, &map);
        Ok(())
    }
}

/// New index of every kept item; `u32::MAX` for the others.
fn renumbering(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    keep.iter()
        .map(|&k| {
            if k {
                next += 1;
                next - 1
            } else {
                u32::MAX
            }
        })
        .collect()
}
