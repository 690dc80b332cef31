//! Rows of the restricted master, including branchings.

use super::{MISSING, Master, OVERFLOW, STATICS, merged};
use crate::price::{Branch, Program, RowTraits, Sense};
use remat_lp::{ColId, ModelError, NewRow, RowId};
use std::collections::BTreeSet;

impl<P: Program> Master<P> {
    /// Size in the LP of one unit of a row's coefficients and right side.
    pub(super) fn scale(&self, row_traits: RowTraits) -> f64 {
        match row_traits.sense {
            Sense::AtMost => 1.0 / self.program.resource_unit(),
            Sense::AtLeast | Sense::Equal => 1.0,
        }
    }

    /// A row over the columns of the master.
    pub(super) fn new_row(&self, row: &P::Row) -> NewRow {
        let program = &self.program;
        let row_traits = program.row_traits(row);
        let scale = self.scale(row_traits);
        let statics = program.static_entries(row).into_iter();
        let mut entries: Vec<(u32, i64)> = statics.map(|(c, v)| (STATICS as u32 + c, v)).collect();
        let before = self.before() as u32;
        program.parts(row, &mut |block, part| {
            for &k in &self.columns_of[block] {
                let v = program.coefficient(row, part, &self.columns[k as usize]);
                if v != 0 {
                    entries.push((before + k, v));
                }
            }
        });
        let mut entries: Vec<(ColId, f64)> = merged(entries)
            .map(|(k, v)| (ColId(k), v as f64 * scale))
            .collect();
        let right = program.right_side(row) as f64 * scale;
        if row_traits.sense == Sense::AtMost {
            entries.push((OVERFLOW, -1.0));
        } else if row_traits.elastic {
            entries.push((MISSING, 1.0));
        }
        match row_traits.sense {
            Sense::AtMost => NewRow::new(..=right, entries),
            Sense::AtLeast => NewRow::new(right.., entries),
            Sense::Equal => NewRow::new(right..=right, entries),
        }
    }

    /// Adds the rows that are not in the master yet; returns their number.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_rows(&mut self, rows: Vec<P::Row>) -> Result<usize, ModelError> {
        let mut new = Vec::new();
        for row in rows {
            if !self.row_set.insert(row.clone()) {
                continue;
            }
            new.push(self.new_row(&row));
            self.index_row(self.rows.len() as u32, &row);
            self.rows.push(row);
            self.row_age.push(0);
        }
        self.solver.add_rows(&new)?;
        Ok(new.len())
    }

    pub(super) fn index_row(&mut self, r: u32, row: &P::Row) {
        let parts = &mut self.parts;
        let mut count = 0;
        self.program.parts(row, &mut |block, part| {
            parts[block].push((r, part));
            count += 1;
        });
        self.row_parts.push(count);
    }

    /// Replaces the branchings in the master by these.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn set_branches(&mut self, branches: &[Branch<P::Quantity>]) -> Result<(), ModelError> {
        let program = self.program.clone();
        let old: BTreeSet<P::Row> = self
            .branches
            .iter()
            .map(|b| program.branch_row(b))
            .collect();
        let new: BTreeSet<P::Row> = branches.iter().map(|b| program.branch_row(b)).collect();
        let gone = |row: &P::Row| old.contains(row) && !new.contains(row);
        let gone: Vec<RowId> = (0..self.rows.len())
            .filter(|&r| gone(&self.rows[r]))
            .map(|r| RowId(r as u32))
            .collect();
        self.delete(&gone, &[])?;
        self.branches = branches.to_vec();
        self.add_rows(branches.iter().map(|b| program.branch_row(b)).collect())?;
        Ok(())
    }
}
