//! Handles by name.

use remat_models::program::Program;
use std::collections::HashMap;

/// Handles by name, rebuilt after edits. The name of an unnamed column is `C` and its handle, of an
/// unnamed row `R` and its handle. The first of several equal names counts.
#[derive(Default)]
pub struct Names {
    edits: Option<u64>,
    cols: HashMap<String, u32>,
    rows: HashMap<String, u32>,
}

/// Name of an unnamed column.
pub fn of_col(handle: u32) -> String {
    format!("C{handle}")
}

/// Name of an unnamed row.
pub fn of_row(handle: u32) -> String {
    format!("R{handle}")
}

impl Names {
    fn of(&mut self, program: &Program) -> &Names {
        if self.edits == Some(program.edits()) {
            return self;
        }
        *self = Names {
            edits: Some(program.edits()),
            ..Names::default()
        };
        for col in program.cols() {
            let name = program.col_name(col).ok().flatten();
            let name = name.map_or_else(|| of_col(col.0), str::to_owned);
            self.cols.entry(name).or_insert(col.0);
        }
        for row in program.rows() {
            let name = program.row_name(row).ok().flatten();
            let name = name.map_or_else(|| of_row(row.0), str::to_owned);
            self.rows.entry(name).or_insert(row.0);
        }
        self
    }

    /// Handle of the column with a name.
    pub fn col(&mut self, program: &Program, name: &str) -> Option<u32> {
        self.of(program).cols.get(name).copied()
    }

    /// Handle of the row with a name.
    pub fn row(&mut self, program: &Program, name: &str) -> Option<u32> {
        self.of(program).rows.get(name).copied()
    }
}
