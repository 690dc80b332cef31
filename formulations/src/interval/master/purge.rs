//! What has long been of no use leaves the restricted program.

use super::Master;
use crate::interval::Program;
use remat_lp::{ColId, ModelError, RowId, Solution, VarStatus};

/// So many rows for each tensor are a crowd.
const CROWD: usize = 2;
/// In a crowd, few of the rows that eager cutting brings matter for long: kept, they are most of the program, and of the time.
const CROWDED: Ages = Ages {
    rows: 1,
    columns: 4,
};
/// Columns with a reduced cost above this share of the objective are dear.
const DEAR: f64 = 1e-3;
/// So many columns for each row are many. Networks of hundreds of layers have ten, all of which every pivot looks at: there columns that
/// are less dear go, and after fewer rounds.
const MANY: usize = 4;
const MANY_DEAR: f64 = 1e-4;
const MANY_AGE: u32 = 2;

/// After how many solves rows that are slack, and columns that are dear, are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ages {
    rows: u32,
    columns: u32,
}

impl<P: Program> Master<P> {
    /// Notes which rows are slack and which columns are dear in a solution, and drops those that have been so for `age` solves, where
    /// they are many: sooner where rows or columns are a crowd, rows only while cutting is `eager`, and in any case so much later as
    /// there is `patience`: what comes and goes in turns stays in the end.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::interval) fn purge(
        &mut self,
        solution: &Solution,
        age: u32,
        eager: bool,
        patience: u32,
    ) -> Result<(), ModelError> {
        let tensors = self.program.extent().tensors;
        let (ages, dear) = limits([self.rows.len(), self.num_columns(), tensors], age, eager);
        let ages = Ages {
            rows: ages.rows + patience,
            columns: ages.columns + patience,
        };
        let dear = dear * solution.objective.abs();
        let mut rows = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            let slack =
                solution.basis.rows[r] == VarStatus::Basic && !self.program.nature(row).permanent;
            self.row_age[r] = if slack { self.row_age[r] + 1 } else { 0 };
            if self.row_age[r] >= ages.rows {
                rows.push(RowId(r as u32));
            }
        }
        let mut cols = Vec::new();
        for (k, c) in self.columns.iter().enumerate() {
            let at = k + self.before();
            let dear = || {
                solution.reduced_costs[at] > dear || !self.program.is_permitted(c, &self.permits)
            };
            let useless = solution.basis.cols[at] != VarStatus::Basic
                && solution.x[at] == 0.0
                && dear()
                && !self.program.stays(c)
                && !self.kept.contains(c);
            self.column_age[k] = if useless { self.column_age[k] + 1 } else { 0 };
            if self.column_age[k] >= ages.columns {
                cols.push(ColId(at as u32));
            }
        }
        // Deleting shifts everything behind: only worth it in bulk.
        if rows.len() * 10 > self.rows.len() || cols.len() * 10 > self.columns.len() {
            self.delete(&rows, &cols)?;
        }
        Ok(())
    }
}

/// Ages for a program of so many rows, columns and tensors, and from which reduced cost on a column is dear, as a share of the objective.
fn limits([rows, columns, tensors]: [usize; 3], age: u32, eager: bool) -> (Ages, f64) {
    let mut ages = Ages {
        rows: age,
        columns: age,
    };
    if eager && rows > CROWD * tensors {
        ages = CROWDED;
    }
    if columns <= MANY * rows {
        return (ages, DEAR);
    }
    ages.columns = MANY_AGE;
    (ages, MANY_DEAR)
}
