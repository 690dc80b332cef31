//! The matrix of a problem under reduction: rows edited in place, and columns that follow the
//! edits.

use std::ops::{Index, IndexMut};

/// Entries of a row by column, or of a column by row.
pub(crate) type Entries = Vec<(u32, f64)>;

/// Rows as lists of entries. Mutable access to a row marks it as edited.
#[derive(Default)]
pub(crate) struct RowLists {
    lists: Vec<Entries>,
    is_edited: Vec<bool>,
    edited: Vec<usize>,
}

impl RowLists {
    pub fn len(&self) -> usize {
        self.lists.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Entries> {
        self.lists.iter()
    }

    pub fn push(&mut self, row: Entries) {
        self.edited.push(self.lists.len());
        self.is_edited.push(true);
        self.lists.push(row);
    }
}

impl FromIterator<Entries> for RowLists {
    fn from_iter<I: IntoIterator<Item = Entries>>(rows: I) -> Self {
        let mut lists = RowLists::default();
        rows.into_iter().for_each(|row| lists.push(row));
        lists
    }
}

impl Index<usize> for RowLists {
    type Output = Entries;

    fn index(&self, i: usize) -> &Entries {
        &self.lists[i]
    }
}

impl IndexMut<usize> for RowLists {
    fn index_mut(&mut self, i: usize) -> &mut Entries {
        if !std::mem::replace(&mut self.is_edited[i], true) {
            self.edited.push(i);
        }
        &mut self.lists[i]
    }
}

/// Columns as lists of entries in the order of the rows, and verdicts on rows, valid until a row is
/// edited.
#[derive(Default)]
pub(super) struct ColumnLists {
    lists: Vec<Entries>,
    /// Columns with entries in each row.
    of_row: Vec<Vec<u32>>,
    /// Verdict on each row, with the sides and the rounding that it assumes.
    exact: Vec<Option<([f64; 3], bool)>>,
    /// Integrality of the columns that the verdicts assume.
    integer: Vec<bool>,
}

impl ColumnLists {
    /// Applies the edits of rows since the last call.
    pub fn follow(&mut self, rows: &mut RowLists, integer: &[bool]) {
        self.lists.resize(integer.len(), Vec::new());
        self.of_row.resize(rows.len(), Vec::new());
        self.exact.resize(rows.len(), None);
        let edited = std::mem::take(&mut rows.edited);
        let old = |i: &usize| self.of_row[*i].iter().copied();
        let new = |i: &usize| rows.lists[*i].iter().map(|e| e.0);
        let both = edited.iter().flat_map(|i| old(i).chain(new(i)));
        let mut touched: Vec<u32> = both.collect();
        touched.sort_unstable();
        touched.dedup();
        for &j in &touched {
            self.lists[j as usize].retain(|e| !rows.is_edited[e.0 as usize]);
        }
        for &i in &edited {
            let row = &rows.lists[i];
            for &(j, a) in row {
                self.lists[j as usize].push((i as u32, a));
            }
            self.of_row[i] = row.iter().map(|e| e.0).collect();
            self.exact[i] = None;
            rows.is_edited[i] = false;
        }
        for &j in &touched {
            self.lists[j as usize].sort_by_key(|e| e.0);
        }
        self.integer.resize(integer.len(), false);
        for (j, (known, now)) in self.integer.iter_mut().zip(integer).enumerate() {
            if std::mem::replace(known, *now) != *now {
                for (i, _) in &self.lists[j] {
                    self.exact[*i as usize] = None;
                }
            }
        }
    }

    /// The columns.
    pub fn all(&self) -> &[Entries] {
        &self.lists
    }

    /// Hands out the columns, until [`ColumnLists::put`] returns them.
    pub fn take(&mut self) -> Vec<Entries> {
        std::mem::take(&mut self.lists)
    }

    pub fn put(&mut self, columns: Vec<Entries>) {
        self.lists = columns;
    }

    /// The verdict on a row with these sides and this rounding: the cached one if it is still
    /// valid.
    pub fn is_exact(&mut self, i: usize, of: [f64; 3], judge: impl FnOnce() -> bool) -> bool {
        match self.exact[i] {
            Some((known, is_exact)) if known == of => is_exact,
            _ => self.exact[i].insert((of, judge())).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::random::SplitMix64;

    #[test]
    fn columns_follow_edits_of_rows() {
        let mut random = SplitMix64::new(3);
        let mut rows: RowLists = (0..8).map(|_| Vec::new()).collect();
        let mut columns = ColumnLists::default();
        for round in 0..300 {
            for _ in 0..random.below(6) {
                let i = random.below(rows.len());
                let row = (0..6).filter(|_| random.below(2) == 1);
                let row: Entries = row.map(|j| (j, f64::from(j) + i as f64)).collect();
                rows[i] = row;
            }
            if round % 40 == 0 {
                rows.push(vec![(2, 1.0)]);
            }
            columns.follow(&mut rows, &[false; 6]);
            let mut plain: Vec<Entries> = vec![Vec::new(); 6];
            for (i, row) in rows.iter().enumerate() {
                for &(j, a) in row {
                    plain[j as usize].push((i as u32, a));
                }
            }
            assert_eq!(columns.all(), plain);
        }
    }
}
