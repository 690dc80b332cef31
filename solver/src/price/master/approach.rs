//! The restricted master for a first-order method: values and duals in the order of its columns and
//! rows.

use super::{MISSING, Master, OVERFLOW, STATICS};
use crate::price::relaxation::Values;
use crate::price::{Program, Sense};
use remat_lp::{Basis, ColId, FirstOrderPoint, Model, ModelError, RowId, RowOrder, VarStatus};
use std::collections::BTreeMap;

impl<P: Program> Master<P> {
    /// Order of the rows in which similar rows are neighbours.
    pub(in crate::price) fn row_order(&self) -> RowOrder {
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        order.sort_unstable_by(|a, b| self.rows[*a as usize].cmp(&self.rows[*b as usize]));
        RowOrder::Listed(order)
    }

    /// The linear program.
    pub(in crate::price) fn model(&self) -> &Model {
        self.solver.model()
    }

    /// Fixes the slack columns for overflow and elastic rows at 0, or frees them again at their
    /// costs.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::price) fn forbid_lack(&mut self, forbid: bool) -> Result<(), ModelError> {
        let most = if forbid { 0.0 } else { f64::INFINITY };
        for column in [OVERFLOW, MISSING] {
            self.solver.set_col_bounds(column, 0.0..=most)?;
        }
        Ok(())
    }

    /// The columns with values.
    pub(in crate::price) fn values_of(&self, x: &[f64], least: f64) -> Values<P::Column> {
        let (statics, values) = x[STATICS..].split_at(self.statics as usize);
        let columns = self.columns.iter().cloned().zip(values.iter().copied());
        Values::new(columns.filter(|c| c.1 > least), statics)
    }

    /// Values of the LP's columns at a solution.
    pub(in crate::price) fn x_of(&self, values: Option<&Values<P::Column>>) -> Vec<f64> {
        let mut x = vec![0.0; STATICS];
        let Some(values) = values else {
            return x;
        };
        x.extend(values.statics());
        x.extend(self.columns.iter().map(|c| values.of(c)));
        x
    }

    /// Duals of the LP's rows, from duals in the program's units.
    pub(in crate::price) fn y_of(&self, duals: &BTreeMap<&P::Row, f64>) -> Vec<f64> {
        let dual = |row: &P::Row| {
            let dual = duals.get(row).copied().unwrap_or(0.0);
            dual / self.dual_unit(row)
        };
        self.rows.iter().map(dual).collect()
    }

    /// Starts from a basis of the columns above the value `least` and the rows with a dual as tight
    /// rows. The LP solver adds or drops entries until it is a basis.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::price) fn set_basis_near(
        &mut self,
        point: &FirstOrderPoint,
        least: f64,
    ) -> Result<(), ModelError> {
        let at = |k: usize, of: &[f64]| of.get(k).copied().unwrap_or(0.0);
        let cols = (0..self.before() + self.columns.len()).map(|k| match at(k, &point.x) > least {
            true => VarStatus::Basic,
            false => VarStatus::AtLower,
        });
        let rows = self.rows.iter().enumerate().map(|(r, row)| {
            match (at(r, &point.y) != 0.0, self.program.row_traits(row).sense) {
                (false, _) => VarStatus::Basic,
                (true, Sense::AtMost) => VarStatus::AtUpper,
                (true, Sense::AtLeast | Sense::Equal) => VarStatus::AtLower,
            }
        });
        let basis = Basis {
            cols: cols.collect(),
            rows: rows.collect(),
        };
        self.solver.set_basis(&basis)
    }

    /// Drops rows that have long been slack with a dual of 0. Drops columns that have long been 0
    /// with a reduced cost above `dear`, in units of the LP solver. The point follows.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::price) fn purge_at(
        &mut self,
        point: &mut FirstOrderPoint,
        age: u32,
        dear: f64,
    ) -> Result<(), ModelError> {
        let (mut rows, mut cols) = (Vec::new(), Vec::new());
        for (r, row) in self.rows.iter().enumerate() {
            let idle = point.y[r] == 0.0 && !self.program.row_traits(row).permanent;
            self.row_age[r] = if idle { self.row_age[r] + 1 } else { 0 };
            if self.row_age[r] >= age {
                rows.push(RowId(r as u32));
            }
        }
        let model = self.solver.model();
        let before = self.before();
        for (k, c) in self.columns.iter().enumerate() {
            let at = k + before;
            let reduced = || {
                let paid = model.col(ColId(at as u32));
                model.costs()[at] - paid.map(|(r, v)| v * point.y[r.index()]).sum::<f64>()
            };
            let idle = point.x[at] == 0.0
                && reduced() > dear
                && !self.program.is_never_purged(c)
                && !self.kept.contains(c);
            self.column_age[k] = if idle { self.column_age[k] + 1 } else { 0 };
            if self.column_age[k] >= age {
                cols.push(ColId(at as u32));
            }
        }
        let some = rows.len() * 10 > self.rows.len() || cols.len() * 10 > self.columns.len();
        if !some {
            return Ok(());
        }
        drop_entries(&mut point.y, rows.iter().map(|r| r.index()));
        drop_entries(&mut point.x, cols.iter().map(|c| c.index()));
        self.delete(&rows, &cols)
    }
}

/// Drops the entries at ascending places.
fn drop_entries(list: &mut Vec<f64>, places: impl Iterator<Item = usize>) {
    let mut places = places.peekable();
    let mut k = 0;
    list.retain(|_| {
        k += 1;
        places.next_if_eq(&(k - 1)).is_none()
    });
}
