//! A sparse 0-1 matrix of stages and nodes, stored as runs of ones for each node.

use super::BitMatrix;

/// A sparse 0-1 matrix: for each column the maximal runs of rows with ones. Rows are stages,
/// columns are nodes.
///
/// A tensor is held for a few periods and computed in a few stages, so memory grows with the number
/// of nodes instead of its square. Two matrices are equal if their entries are equal.
///
/// ```
/// use remat_instances::schedule::StageRuns;
/// let mut matrix = StageRuns::new(8, 3);
/// matrix.fill(1, 2, 6);
/// matrix.set(4, 1, false);
/// assert_eq!(matrix.runs(1), [[2, 3], [5, 6]]);
/// assert_eq!(matrix.changes().begins(5), [1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRuns {
    rows: usize,
    columns: Vec<Vec<[u32; 2]>>,
}

impl StageRuns {
    /// A matrix of zeros.
    pub fn new(rows: usize, columns: usize) -> Self {
        StageRuns {
            rows,
            columns: vec![Vec::new(); columns],
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// First and last row of each run of ones in a column, ascending; a zero separates any two
    /// runs.
    pub fn runs(&self, column: usize) -> &[[u32; 2]] {
        &self.columns[column]
    }

    /// One entry, in time logarithmic in the runs of the column.
    pub fn get(&self, row: usize, column: usize) -> bool {
        let runs = &self.columns[column];
        let after = runs.partition_point(|[first, _]| *first as usize <= row);
        after > 0 && runs[after - 1][1] as usize >= row
    }

    /// Sets one entry. Panics when out of range.
    pub fn set(&mut self, row: usize, column: usize, value: bool) {
        if value {
            self.fill(column, row, row);
        } else {
            self.clear(column, row, row);
        }
    }

    /// Sets the entries of a column from row `first` to row `last`, or to the last existing row.
    /// Does nothing if `first` is later.
    pub fn fill(&mut self, column: usize, first: usize, last: usize) {
        let last = last.saturating_add(1).min(self.rows);
        if first >= last {
            return;
        }
        let (mut first, mut last) = (first as u32, last as u32 - 1);
        let runs = &mut self.columns[column];
        // Runs that overlap the new one or are adjacent to it.
        let from = runs.partition_point(|run| run[1] + 1 < first);
        let to = from + runs[from..].partition_point(|run| run[0] <= last + 1);
        if from < to {
            (first, last) = (first.min(runs[from][0]), last.max(runs[to - 1][1]));
        }
        runs.splice(from..to, [[first, last]]);
    }

    /// Clears the entries of a column from row `first` to row `last`.
    pub fn clear(&mut self, column: usize, first: usize, last: usize) {
        if first > last {
            return;
        }
        let runs = &mut self.columns[column];
        let from = runs.partition_point(|run| (run[1] as usize) < first);
        let to = from + runs[from..].partition_point(|run| run[0] as usize <= last);
        if from == to {
            return;
        }
        let head = [runs[from][0], (first as u32).wrapping_sub(1)];
        let tail = [(last as u32).saturating_add(1), runs[to - 1][1]];
        let is_left = [(head[0] as usize) < first, (tail[1] as usize) > last];
        let left = [head, tail].into_iter().zip(is_left);
        let left: Vec<_> = left.filter_map(|(run, is)| is.then_some(run)).collect();
        runs.splice(from..to, left);
    }

    /// Number of set entries.
    pub fn count_ones(&self) -> usize {
        let runs = self.columns.iter().flatten();
        runs.map(|[first, last]| (last - first) as usize + 1).sum()
    }

    /// Columns set in a row, ascending, in time linear in the columns. For all rows use
    /// [`StageRuns::by_row`] or [`StageRuns::changes`].
    pub fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(move |&column| self.get(row, column))
    }

    /// The columns set in each row, in time and memory linear in the set entries.
    pub fn by_row(&self) -> RowLists {
        let rows = |[first, last]: &[u32; 2]| *first as usize..*last as usize + 1;
        RowLists::new(self.rows, self.columns(), |column, put| {
            self.columns[column].iter().flat_map(rows).for_each(put);
        })
    }

    /// The columns that change from each row to the next, in time and memory linear in the runs.
    pub fn changes(&self) -> Changes {
        let list = |row: fn(&[u32; 2]) -> usize| {
            RowLists::new(self.rows + 1, self.columns(), |column, put| {
                self.columns[column].iter().map(row).for_each(put);
            })
        };
        Changes {
            begins: list(|[first, _]| *first as usize),
            ends: list(|[_, last]| *last as usize + 1),
        }
    }

    /// The same matrix with a bit for each entry, for programs that need all entries.
    pub fn to_bits(&self) -> BitMatrix {
        let mut bits = BitMatrix::new(self.rows, self.columns());
        let changes = self.changes();
        let mut now = vec![0; bits.words_per_row()];
        for row in 0..self.rows {
            for &column in changes.begins(row).iter().chain(changes.ends(row)) {
                now[column as usize / 64] ^= 1u64 << (column % 64);
            }
            bits.row_mut(row).copy_from_slice(&now);
        }
        bits
    }
}

impl From<&BitMatrix> for StageRuns {
    /// Converts row by row, because rows are words: a run begins or ends where a row differs from
    /// the previous one.
    fn from(bits: &BitMatrix) -> Self {
        let mut matrix = StageRuns::new(bits.rows(), bits.columns());
        let nothing = vec![0; bits.words_per_row()];
        let mut before = &nothing[..];
        for row in 0..=bits.rows() {
            let now = if row < bits.rows() {
                bits.row(row)
            } else {
                &nothing
            };
            for (w, (word, earlier)) in now.iter().zip(before).enumerate() {
                let mut changed = word ^ earlier;
                while changed != 0 {
                    let bit = changed.trailing_zeros() as usize;
                    changed &= changed - 1;
                    let runs = &mut matrix.columns[w * 64 + bit];
                    if word >> bit & 1 != 0 {
                        runs.push([row as u32; 2]);
                    } else if let Some(run) = runs.last_mut() {
                        run[1] = row as u32 - 1;
                    }
                }
            }
            before = now;
        }
        matrix
    }
}

impl From<BitMatrix> for StageRuns {
    fn from(bits: BitMatrix) -> Self {
        StageRuns::from(&bits)
    }
}

/// A list of columns for each row, ascending.
#[derive(Clone, Debug)]
pub struct RowLists {
    /// Beginning of each row's list, and the end of the last one.
    begins: Vec<usize>,
    columns: Vec<u32>,
}

impl RowLists {
    /// Lists for the rows that `of_column` calls for each column.
    fn new(rows: usize, columns: usize, of_column: impl Fn(usize, &mut dyn FnMut(usize))) -> Self {
        let mut begins = vec![0; rows + 2];
        for column in 0..columns {
            of_column(column, &mut |row| begins[row + 2] += 1);
        }
        for row in 2..begins.len() {
            begins[row] += begins[row - 1];
        }
        let mut list = vec![0; begins[rows + 1]];
        for column in 0..columns {
            of_column(column, &mut |row| {
                list[begins[row + 1]] = column as u32;
                begins[row + 1] += 1;
            });
        }
        begins.pop();
        RowLists {
            begins,
            columns: list,
        }
    }

    /// The columns of a row, ascending.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.columns[self.begins[row]..self.begins[row + 1]]
    }
}

/// The columns that change from each row to the next, for a sweep over all rows.
#[derive(Clone, Debug)]
pub struct Changes {
    begins: RowLists,
    ends: RowLists,
}

impl Changes {
    /// Columns set in a row but not in the one before, ascending. Rows range from 0 to the number
    /// of rows; at the last one all runs have ended.
    #[inline]
    pub fn begins(&self, row: usize) -> &[u32] {
        self.begins.row(row)
    }

    /// Columns set in the row before but not in this one, ascending.
    #[inline]
    pub fn ends(&self, row: usize) -> &[u32] {
        self.ends.row(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A change of a matrix: column, first and last row, and the value.
    type Change = (usize, usize, usize, bool);

    fn changed(rows: usize, columns: usize, changes: &[Change]) -> (StageRuns, BitMatrix) {
        let mut runs = StageRuns::new(rows, columns);
        let mut bits = BitMatrix::new(rows, columns);
        for &(column, first, last, value) in changes {
            match value {
                true => runs.fill(column, first, last),
                false => runs.clear(column, first, last),
            }
            (first..=last.min(rows - 1)).for_each(|row| bits.set(row, column, value));
        }
        (runs, bits)
    }

    proptest! {
        #[test]
        fn runs_agree_with_bits(
            changes in prop::collection::vec((0..5usize, 0..20usize, 0..22usize, any::<bool>()), 0..40),
            singles in prop::collection::vec((0..5usize, 0..20usize, any::<bool>()), 0..20),
        ) {
            let (mut runs, mut bits) = changed(20, 5, &changes);
            for (column, row, value) in singles {
                runs.set(row, column, value);
                bits.set(row, column, value);
            }
            prop_assert_eq!(&StageRuns::from(&bits), &runs);
            prop_assert_eq!(&runs.to_bits(), &bits);
            prop_assert_eq!(runs.count_ones(), bits.count_ones());
            let (by_row, changes) = (runs.by_row(), runs.changes());
            let list = |row: &[u32]| row.iter().map(|&c| c as usize).collect::<Vec<_>>();
            for row in 0..20 {
                let ones: Vec<usize> = bits.ones(row).collect();
                prop_assert_eq!(&runs.ones(row).collect::<Vec<_>>(), &ones);
                prop_assert_eq!(&list(by_row.row(row)), &ones);
                (0..5).for_each(|c| assert_eq!(runs.get(row, c), bits.get(row, c)));
            }
            let is = |row: usize, c: usize| row < 20 && bits.get(row, c);
            for row in 0..=20 {
                let before = |c: usize| row > 0 && is(row - 1, c);
                let begins: Vec<usize> = (0..5).filter(|&c| is(row, c) && !before(c)).collect();
                let ends: Vec<usize> = (0..5).filter(|&c| !is(row, c) && before(c)).collect();
                prop_assert_eq!(list(changes.begins(row)), begins);
                prop_assert_eq!(list(changes.ends(row)), ends);
            }
        }
    }
}
