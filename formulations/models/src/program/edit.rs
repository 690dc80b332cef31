//! Columns and rows of a program, and their edits.

use super::ProgramError;
use super::numbers::{finite, gone, sides};
use super::special::{Product, Special};
use remat_lp::Sense;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Limit on the columns, and on the rows.
const MOST: usize = 1 << 30;

/// Handle of a column: it stays valid when others are added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Col(pub u32);

/// Handle of a row: it stays valid when others are added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row(pub u32);

impl Col {
    /// The handle as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Row {
    /// The handle as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kind of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Kind {
    /// Any number within its bounds.
    #[default]
    Continuous,
    /// 0 or 1, within its bounds.
    Binary,
    /// Any integer within its bounds.
    Integer,
    /// 0, or any number within its bounds.
    SemiContinuous,
    /// 0, or any integer within its bounds.
    SemiInteger,
}

impl Kind {
    /// Returns whether its values are integers.
    pub fn is_integer(self) -> bool {
        !matches!(self, Kind::Continuous | Kind::SemiContinuous)
    }

    /// Returns whether 0 is among its values for any bounds.
    pub fn is_semi(self) -> bool {
        matches!(self, Kind::SemiContinuous | Kind::SemiInteger)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Column {
    lower: f64,
    upper: f64,
    cost: f64,
    kind: Kind,
    name: Option<Box<str>>,
    alive: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RowData {
    start: usize,
    len: u32,
    lower: f64,
    upper: f64,
    name: Option<Box<str>>,
    alive: bool,
}

/// A program: an objective, columns and rows, each under a handle.
///
/// Handles are given out in order of creation and never again, so that vectors by handle keep their
/// meaning through all edits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    name: String,
    sense: Sense,
    offset: f64,
    cols: Vec<Column>,
    rows: Vec<RowData>,
    /// Entries of all rows, including removed and rewritten ones.
    entries: Vec<(Col, f64)>,
    /// Number of entries that no row has any more.
    waste: usize,
    removed_cols: usize,
    removed_rows: usize,
    /// For each column, its position in the row that is being added; all 0 between two rows.
    place: Vec<u32>,
    pub(super) specials: Vec<Option<Special>>,
    pub(super) products: Vec<Product>,
    /// Parts of the objective that are linear between points, by column.
    pub(super) pieces: BTreeMap<Col, Vec<(f64, f64)>>,
    pub(super) edits: u64,
    /// The first number of the program's file that no double represents, in words.
    pub(super) rounded: Option<String>,
}

impl Program {
    /// Names the program.
    pub fn set_name(&mut self, name: impl Into<String>) {
        self.name = name.into();
    }

    /// Name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the sense of the objective.
    pub fn set_sense(&mut self, sense: Sense) {
        self.sense = sense;
        self.edits += 1;
    }

    /// Sense of the objective.
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// Sets the constant of the objective.
    ///
    /// # Errors
    /// [`ProgramError::NotFinite`].
    pub fn set_offset(&mut self, offset: f64) -> Result<(), ProgramError> {
        self.offset = finite(offset, || "the objective's constant".into())?;
        self.edits += 1;
        Ok(())
    }

    /// Constant of the objective.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The first number of the program's file that no double represents and that was rounded, with
    /// its place, in words. Edits keep it.
    pub fn rounded(&self) -> Option<&str> {
        self.rounded.as_deref()
    }

    /// Counter of edits: the same number, the same program.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// Number of columns.
    pub fn num_cols(&self) -> usize {
        self.cols.len() - self.removed_cols
    }

    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.rows.len() - self.removed_rows
    }

    /// Number of nonzero entries.
    pub fn num_nonzeros(&self) -> usize {
        self.entries.len() - self.waste
    }

    /// Number of handles of columns given out so far: the length of vectors by handle.
    pub fn col_handles(&self) -> usize {
        self.cols.len()
    }

    /// Number of handles of rows given out so far.
    pub fn row_handles(&self) -> usize {
        self.rows.len()
    }

    /// Columns in order of creation.
    pub fn cols(&self) -> impl Iterator<Item = Col> + '_ {
        let alive = self.cols.iter().enumerate().filter(|(_, c)| c.alive);
        alive.map(|(k, _)| Col(k as u32))
    }

    /// Rows in order of creation.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let alive = self.rows.iter().enumerate().filter(|(_, r)| r.alive);
        alive.map(|(k, _)| Row(k as u32))
    }

    /// Returns whether any column is to be integer.
    pub fn has_integers(&self) -> bool {
        self.cols.iter().any(|c| c.alive && c.kind.is_integer())
    }

    /// Adds all columns and rows or, after an error, no column and row.
    ///
    /// # Errors
    /// Errors of the additions.
    pub fn all_or_none<T>(
        &mut self,
        add: impl FnOnce(&mut Program) -> Result<T, ProgramError>,
    ) -> Result<T, ProgramError> {
        let (cols, rows) = (self.cols.len(), self.rows.len());
        let entries = self.entries.len();
        let added = add(self);
        if added.is_err() {
            self.cols.truncate(cols);
            self.place.truncate(cols);
            self.rows.truncate(rows);
            self.entries.truncate(entries);
        }
        added
    }

    /// Adds a column without entries. Bounds beyond [`INFINITE`](super::INFINITE) are infinite.
    ///
    /// # Errors
    /// [`ProgramError::Model`] for invalid bounds ([`are_bounds`](super::are_bounds)),
    /// [`ProgramError::NotFinite`] for the cost, [`ProgramError::TooLarge`].
    pub fn add_col(
        &mut self,
        lower: f64,
        upper: f64,
        cost: f64,
        kind: Kind,
        name: Option<&str>,
    ) -> Result<Col, ProgramError> {
        let k = self.cols.len();
        if k >= MOST {
            return Err(ProgramError::TooLarge { what: "columns" });
        }
        let (lower, upper) = sides(lower, upper, || format!("column {k}"))?;
        self.cols.push(Column {
            lower,
            upper,
            cost: finite(cost, || format!("the cost of column {k}"))?,
            kind,
            name: name.filter(|n| !n.is_empty()).map(Into::into),
            alive: true,
        });
        self.place.push(0);
        self.edits += 1;
        Ok(Col(k as u32))
    }

    /// Adds a row; entries of the same column are added up, zeros dropped.
    ///
    /// # Errors
    /// [`ProgramError::Model`] for invalid sides ([`are_bounds`](super::are_bounds)),
    /// [`ProgramError::NotFinite`] for an entry or a sum of entries, [`ProgramError::Gone`],
    /// [`ProgramError::TooLarge`].
    pub fn add_row(
        &mut self,
        entries: &[(Col, f64)],
        lower: f64,
        upper: f64,
        name: Option<&str>,
    ) -> Result<Row, ProgramError> {
        let k = self.rows.len();
        if k >= MOST {
            return Err(ProgramError::TooLarge { what: "rows" });
        }
        let (lower, upper) = sides(lower, upper, || format!("row {k}"))?;
        let start = self.entries.len();
        let len = self.push_entries(k, entries)?;
        self.rows.push(RowData {
            start,
            len,
            lower,
            upper,
            name: name.filter(|n| !n.is_empty()).map(Into::into),
            alive: true,
        });
        self.edits += 1;
        Ok(Row(k as u32))
    }

    /// Appends entries, each column once, and returns their number.
    fn push_entries(&mut self, row: usize, entries: &[(Col, f64)]) -> Result<u32, ProgramError> {
        let start = self.entries.len();
        let mut problem = None;
        for &(col, value) in entries {
            let Some(column) = self.cols.get(col.index()).filter(|c| c.alive) else {
                problem = Some(gone("column", col.index()));
                break;
            };
            let at = self.place[col.index()];
            let sum = match at {
                0 => value,
                at => self.entries[start + at as usize - 1].1 + value,
            };
            if !sum.is_finite() {
                let name = column.name.as_deref().unwrap_or("without a name");
                problem = Some(ProgramError::NotFinite {
                    what: format!("the entry of row {row} in column {} ({name})", col.0),
                    value: sum,
                });
                break;
            }
            match at {
                0 => {
                    self.entries.push((col, value));
                    self.place[col.index()] = (self.entries.len() - start) as u32;
                }
                at => self.entries[start + at as usize - 1].1 = sum,
            }
        }
        for (col, _) in &self.entries[start..] {
            self.place[col.index()] = 0;
        }
        if let Some(problem) = problem {
            self.entries.truncate(start);
            return Err(problem);
        }
        let mut kept = start;
        for k in start..self.entries.len() {
            if self.entries[k].1 != 0.0 {
                self.entries[kept] = self.entries[k];
                kept += 1;
            }
        }
        self.entries.truncate(kept);
        Ok((kept - start) as u32)
    }

    /// Removes a column and its entries.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn remove_col(&mut self, col: Col) -> Result<(), ProgramError> {
        self.remove_cols(&[col])
    }

    /// Removes columns and their entries, in one pass over the program; after an error, no column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn remove_cols(&mut self, cols: &[Col]) -> Result<(), ProgramError> {
        for &col in cols {
            self.col(col)?;
        }
        for &col in cols {
            let column = &mut self.cols[col.index()];
            self.removed_cols += usize::from(column.alive);
            column.alive = false;
        }
        let (cols, entries) = (&self.cols, &mut self.entries);
        for row in self.rows.iter_mut().filter(|r| r.alive) {
            let range = row.start..row.start + row.len as usize;
            let mut kept = row.start;
            for k in range.clone() {
                if cols[entries[k].0.index()].alive {
                    entries[kept] = entries[k];
                    kept += 1;
                }
            }
            self.waste += range.end - kept;
            row.len = (kept - row.start) as u32;
        }
        self.leave_specials();
        self.edits += 1;
        Ok(())
    }

    /// Removes a row.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn remove_row(&mut self, row: Row) -> Result<(), ProgramError> {
        self.row_mut(row)?.alive = false;
        self.removed_rows += 1;
        self.waste += self.rows[row.index()].len as usize;
        self.compact();
        Ok(())
    }

    /// Compacts the entries if more than half belong to no row.
    fn compact(&mut self) {
        if 2 * self.waste <= self.entries.len() {
            return;
        }
        let mut kept = Vec::with_capacity(self.entries.len() - self.waste);
        for row in self.rows.iter_mut().filter(|r| r.alive) {
            let start = kept.len();
            kept.extend_from_slice(&self.entries[row.start..row.start + row.len as usize]);
            row.start = start;
        }
        self.entries = kept;
        self.waste = 0;
    }

    /// Returns whether the program has a column.
    pub(super) fn has_col(&self, col: Col) -> bool {
        self.cols.get(col.index()).is_some_and(|c| c.alive)
    }

    fn col(&self, col: Col) -> Result<&Column, ProgramError> {
        let found = self.cols.get(col.index()).filter(|c| c.alive);
        found.ok_or_else(|| gone("column", col.index()))
    }

    fn col_mut(&mut self, col: Col) -> Result<&mut Column, ProgramError> {
        self.edits += 1;
        let found = self.cols.get_mut(col.index()).filter(|c| c.alive);
        found.ok_or_else(|| gone("column", col.index()))
    }

    fn row(&self, row: Row) -> Result<&RowData, ProgramError> {
        let found = self.rows.get(row.index()).filter(|r| r.alive);
        found.ok_or_else(|| gone("row", row.index()))
    }

    fn row_mut(&mut self, row: Row) -> Result<&mut RowData, ProgramError> {
        self.edits += 1;
        let found = self.rows.get_mut(row.index()).filter(|r| r.alive);
        found.ok_or_else(|| gone("row", row.index()))
    }

    /// Bounds of a column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn col_bounds(&self, col: Col) -> Result<(f64, f64), ProgramError> {
        self.col(col).map(|c| (c.lower, c.upper))
    }

    /// Cost of a column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn cost(&self, col: Col) -> Result<f64, ProgramError> {
        self.col(col).map(|c| c.cost)
    }

    /// Kind of a column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn kind(&self, col: Col) -> Result<Kind, ProgramError> {
        self.col(col).map(|c| c.kind)
    }

    /// Name of a column, if it has one.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn col_name(&self, col: Col) -> Result<Option<&str>, ProgramError> {
        self.col(col).map(|c| c.name.as_deref())
    }

    /// Name of a row, if it has one.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn row_name(&self, row: Row) -> Result<Option<&str>, ProgramError> {
        self.row(row).map(|r| r.name.as_deref())
    }

    /// Sides of a row.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn row_bounds(&self, row: Row) -> Result<(f64, f64), ProgramError> {
        self.row(row).map(|r| (r.lower, r.upper))
    }

    /// Entries of a row, each column once.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn entries(&self, row: Row) -> Result<&[(Col, f64)], ProgramError> {
        let row = self.row(row)?;
        Ok(&self.entries[row.start..row.start + row.len as usize])
    }

    /// Sets the bounds of a column. Numbers beyond [`INFINITE`](super::INFINITE) are infinite.
    ///
    /// # Errors
    /// [`ProgramError::Model`] unless [`are_bounds`](super::are_bounds), [`ProgramError::Gone`].
    pub fn set_col_bounds(&mut self, col: Col, lower: f64, upper: f64) -> Result<(), ProgramError> {
        let (lower, upper) = sides(lower, upper, || format!("column {}", col.0))?;
        let column = self.col_mut(col)?;
        (column.lower, column.upper) = (lower, upper);
        Ok(())
    }

    /// Sets the cost of a column.
    ///
    /// # Errors
    /// [`ProgramError::NotFinite`], [`ProgramError::Gone`].
    pub fn set_cost(&mut self, col: Col, cost: f64) -> Result<(), ProgramError> {
        let cost = finite(cost, || format!("the cost of column {}", col.0))?;
        self.col_mut(col)?.cost = cost;
        Ok(())
    }

    /// Sets the kind of a column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn set_kind(&mut self, col: Col, kind: Kind) -> Result<(), ProgramError> {
        self.col_mut(col)?.kind = kind;
        Ok(())
    }

    /// Names a column.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn set_col_name(&mut self, col: Col, name: &str) -> Result<(), ProgramError> {
        self.col_mut(col)?.name = Some(name).filter(|n| !n.is_empty()).map(Into::into);
        Ok(())
    }

    /// Names a row.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn set_row_name(&mut self, row: Row, name: &str) -> Result<(), ProgramError> {
        self.row_mut(row)?.name = Some(name).filter(|n| !n.is_empty()).map(Into::into);
        Ok(())
    }

    /// Sets the sides of a row. Numbers beyond [`INFINITE`](super::INFINITE) are infinite.
    ///
    /// # Errors
    /// [`ProgramError::Model`] unless [`are_bounds`](super::are_bounds), [`ProgramError::Gone`].
    pub fn set_row_bounds(&mut self, row: Row, lower: f64, upper: f64) -> Result<(), ProgramError> {
        let (lower, upper) = sides(lower, upper, || format!("row {}", row.0))?;
        let data = self.row_mut(row)?;
        (data.lower, data.upper) = (lower, upper);
        Ok(())
    }

    /// Sets one entry of a row.
    ///
    /// # Errors
    /// [`ProgramError::NotFinite`], [`ProgramError::Gone`].
    pub fn set_entry(&mut self, row: Row, col: Col, value: f64) -> Result<(), ProgramError> {
        self.col(col)?;
        let data = self.row_mut(row)?;
        let (start, len) = (data.start, data.len as usize);
        let value = finite(value, || format!("the entry of row {}", row.0))?;
        let found = self.entries[start..start + len]
            .iter()
            .position(|e| e.0 == col);
        match found {
            Some(k) if value != 0.0 => self.entries[start + k].1 = value,
            Some(k) => {
                self.entries[start + k..start + len].rotate_left(1);
                self.rows[row.index()].len -= 1;
                self.waste += 1;
            }
            None if value == 0.0 => {}
            None => {
                let mut row_entries = self.entries[start..start + len].to_vec();
                row_entries.push((col, value));
                self.rows[row.index()].start = self.entries.len();
                self.rows[row.index()].len += 1;
                self.waste += len;
                self.entries.append(&mut row_entries);
                self.compact();
            }
        }
        Ok(())
    }
}
