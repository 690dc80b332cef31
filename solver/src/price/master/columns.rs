//! Columns of the restricted master, and their exclusions.

use super::{Master, STATICS, merged};
use crate::price::Program;
use remat_lp::{Bounds, ColId, ModelError, NewCol, RowId};
use std::sync::Arc;

impl<P: Program> Master<P> {
    /// Bounds of a column: [0, 0] if it is excluded.
    fn bounds(&self, column: &P::Column) -> Bounds {
        match self.program.is_permitted(column, &self.exclusions) {
            true => (0.0..).into(),
            false => (0.0..=0.0).into(),
        }
    }

    /// Exclusions in force.
    pub fn exclusions(&self) -> &Arc<P::Exclusions> {
        &self.exclusions
    }

    /// Fixes excluded columns at 0, and frees columns that are permitted again.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn set_exclusions(&mut self, exclusions: Arc<P::Exclusions>) -> Result<(), ModelError> {
        if exclusions == self.exclusions {
            return Ok(());
        }
        self.exclusions = exclusions;
        let statics = self.program.permitted_statics(&self.exclusions);
        for (k, open) in statics.into_iter().enumerate() {
            let most = if open { f64::INFINITY } else { 0.0 };
            let column = ColId((STATICS + k) as u32);
            self.solver.set_col_bounds(column, 0.0..=most)?;
        }
        for k in 0..self.columns.len() {
            let bounds = self.bounds(&self.columns[k]);
            let column = ColId((self.before() + k) as u32);
            self.solver.set_col_bounds(column, bounds)?;
        }
        Ok(())
    }

    /// Adds the columns that are not in the master yet; returns their number.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_columns(
        &mut self,
        columns: impl IntoIterator<Item = P::Column>,
    ) -> Result<usize, ModelError> {
        let cost_unit = self.program.cost_unit();
        let mut new = Vec::new();
        for c in columns {
            if !self.column_set.insert(c.clone()) {
                continue;
            }
            let block = P::block(&c);
            let entry = |&(r, part): &(u32, P::Part)| {
                let v = self.program.coefficient(&self.rows[r as usize], part, &c);
                (v != 0).then_some((r, v))
            };
            let entries: Vec<(u32, i64)> = self.parts[block].iter().filter_map(entry).collect();
            let scaled = merged(entries).map(|(r, v)| {
                let row_traits = self.program.row_traits(&self.rows[r as usize]);
                (RowId(r), v as f64 * self.scale(row_traits))
            });
            let cost = self.program.cost(&c) as f64 / cost_unit;
            new.push(NewCol::new(cost, self.bounds(&c), scaled));
            self.columns_of[block].push(self.columns.len() as u32);
            self.columns.push(c);
            self.column_age.push(0);
        }
        self.solver.add_cols(&new)?;
        Ok(new.len())
    }

    /// Adds columns, and keeps exactly these from being purged.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn keep(&mut self, columns: Vec<P::Column>) -> Result<(), ModelError> {
        self.kept = columns.iter().cloned().collect();
        self.add_columns(columns)?;
        Ok(())
    }
}
