//! Purging: rows and columns that have long been unused leave the restricted master.

use super::Master;
use crate::price::Program;
use remat_lp::{ColId, ModelError, RowId, Solution, VarStatus};
use std::collections::BTreeSet;

/// Rows for each block above which rows are purged early while cutting is eager.
const ROWS_PER_BLOCK_LIMIT: usize = 2;
/// Ages above that limit: few of the rows that eager cutting adds matter for long.
const EARLY_AGES: Ages = Ages {
    rows: 1,
    columns: 4,
};
/// Share of the objective above which a reduced cost makes a column expensive.
const DEAR_SHARE: f64 = 1e-3;
/// Columns for each row above which cheaper columns are purged too, and after fewer solves: every
/// pivot looks at all columns.
const COLUMNS_PER_ROW_LIMIT: usize = 4;
const DEAR_SHARE_BEYOND: f64 = 1e-4;
const COLUMN_AGE_BEYOND: u32 = 2;

/// Numbers of solves after which slack rows and expensive columns are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ages {
    rows: u32,
    columns: u32,
}

impl<P: Program> Master<P> {
    /// Notes which rows are slack and which columns are expensive in a solution, and drops those
    /// that have been so for `age` solves. Where they are many, they are dropped sooner (rows only
    /// while cutting is `eager`). Every age is longer by `patience`, so that rows and columns that
    /// keep returning stay in the end.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::price) fn purge(
        &mut self,
        solution: &Solution,
        age: u32,
        eager: bool,
        patience: u32,
    ) -> Result<(), ModelError> {
        let blocks = self.program.blocks();
        let (ages, dear) = limits([self.rows.len(), self.num_columns(), blocks], age, eager);
        let ages = Ages {
            rows: ages.rows + patience,
            columns: ages.columns + patience,
        };
        let dear = dear * solution.objective.abs();
        let mut rows = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            let slack = solution.basis.rows[r] == VarStatus::Basic
                && !self.program.row_traits(row).permanent;
            self.row_age[r] = if slack { self.row_age[r] + 1 } else { 0 };
            if self.row_age[r] >= ages.rows {
                rows.push(RowId(r as u32));
            }
        }
        let mut cols = Vec::new();
        for (k, c) in self.columns.iter().enumerate() {
            let at = k + self.before();
            let dear = || {
                solution.reduced_costs[at] > dear || !self.program.is_permitted(c, &self.exclusions)
            };
            let useless = solution.basis.cols[at] != VarStatus::Basic
                && solution.x[at] == 0.0
                && dear()
                && !self.program.is_never_purged(c)
                && !self.kept.contains(c);
            self.column_age[k] = if useless { self.column_age[k] + 1 } else { 0 };
            if self.column_age[k] >= ages.columns {
                cols.push(ColId(at as u32));
            }
        }
        // Deleting shifts all later entries, so it is done in bulk. A few rows may have most
        // entries.
        let of = |r: &RowId| u64::from(self.row_parts[r.0 as usize]);
        let parts: u64 = rows.iter().map(of).sum();
        let all_parts = self.row_parts.iter().map(|parts| u64::from(*parts)).sum();
        if is_bulk(rows.len() as u64, self.rows.len() as u64)
            || is_bulk(cols.len() as u64, self.columns.len() as u64)
            || is_bulk(parts, all_parts)
        {
            self.delete(&rows, &cols)?;
        }
        Ok(())
    }

    /// Deletes rows and columns of the LP, and renumbers the rest.
    pub(super) fn delete(&mut self, rows: &[RowId], cols: &[ColId]) -> Result<(), ModelError> {
        if rows.is_empty() && cols.is_empty() {
            return Ok(());
        }
        self.solver.delete_rows(rows)?;
        self.solver.delete_cols(cols)?;
        let gone: BTreeSet<u32> = rows.iter().map(|r| r.0).collect();
        for r in &gone {
            self.row_set.remove(&self.rows[*r as usize]);
        }
        retain(&mut self.rows, |r| !gone.contains(&r));
        retain(&mut self.row_age, |r| !gone.contains(&r));
        let before = self.before() as u32;
        let lost: BTreeSet<u32> = cols.iter().map(|c| c.0 - before).collect();
        for c in &lost {
            self.column_set.remove(&self.columns[*c as usize]);
        }
        retain(&mut self.columns, |c| !lost.contains(&c));
        retain(&mut self.column_age, |c| !lost.contains(&c));
        self.parts.iter_mut().for_each(Vec::clear);
        self.columns_of.iter_mut().for_each(Vec::clear);
        self.row_parts.clear();
        let all = std::mem::take(&mut self.rows);
        for (r, row) in all.iter().enumerate() {
            self.index_row(r as u32, row);
        }
        self.rows = all;
        for (k, c) in self.columns.iter().enumerate() {
            self.columns_of[P::block(c)].push(k as u32);
        }
        Ok(())
    }
}

/// Returns whether `some` is a large enough share of `all` to delete.
fn is_bulk(some: u64, all: u64) -> bool {
    some * 10 > all
}

/// Ages for a master of this many rows, columns and blocks, and the reduced cost above which a
/// column is expensive, as a share of the objective.
fn limits([rows, columns, blocks]: [usize; 3], age: u32, eager: bool) -> (Ages, f64) {
    let mut ages = Ages {
        rows: age,
        columns: age,
    };
    if eager && rows > ROWS_PER_BLOCK_LIMIT * blocks {
        ages = EARLY_AGES;
    }
    if columns <= COLUMNS_PER_ROW_LIMIT * rows {
        return (ages, DEAR_SHARE);
    }
    ages.columns = COLUMN_AGE_BEYOND;
    (ages, DEAR_SHARE_BEYOND)
}

fn retain<T>(items: &mut Vec<T>, keep: impl Fn(u32) -> bool) {
    let mut k = 0;
    items.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}
