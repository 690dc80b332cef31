//! A 0-1 matrix whose rows take memory only once they have a one.

use remat_instances::schedule::BitMatrix;

/// A 0-1 matrix of which most rows are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LazyBits {
    columns: usize,
    /// Each row as a matrix of its own: with one row, or with 0 rows as long as all entries are 0.
    rows: Vec<BitMatrix>,
}

impl LazyBits {
    /// All zeros.
    pub fn new(rows: usize, columns: usize) -> Self {
        LazyBits {
            columns,
            rows: vec![BitMatrix::new(0, columns); rows],
        }
    }

    #[inline]
    pub fn get(&self, row: usize, column: usize) -> bool {
        let bits = &self.rows[row];
        bits.rows() > 0 && bits.get(0, column)
    }

    /// Sets a one.
    #[inline]
    pub fn set(&mut self, row: usize, column: usize) {
        let bits = &mut self.rows[row];
        if bits.rows() == 0 {
            *bits = BitMatrix::new(1, self.columns);
        }
        bits.set(0, column, true);
    }

    /// Columns of a row that differ from those so many further on, ascending.
    pub fn changes(&self, row: usize, by: usize) -> impl Iterator<Item = usize> + '_ {
        let bits = Some(&self.rows[row]).filter(|bits| bits.rows() > 0);
        bits.into_iter().flat_map(move |bits| bits.changes(0, by))
    }

    /// Sets the ones of another matrix of the same shape, too.
    pub fn unite(&mut self, other: &LazyBits) {
        for (own, others) in self.rows.iter_mut().zip(&other.rows) {
            match (own.rows(), others.rows()) {
                (_, 0) => {}
                (0, _) => own.clone_from(others),
                _ => own.unite(others),
            }
        }
    }

    pub fn count_ones(&self) -> usize {
        self.rows.iter().map(BitMatrix::count_ones).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_that_are_not_there_are_zero(
            ones in prop::collection::vec((0..4usize, 0..70usize, any::<bool>()), 0..12),
            by in 1..3usize,
        ) {
            let mut plain = BitMatrix::new(4, 70);
            let mut parts = [LazyBits::new(4, 70), LazyBits::new(4, 70)];
            for (row, column, first) in ones {
                plain.set(row, column, true);
                parts[usize::from(first)].set(row, column);
            }
            let [mut all, others] = parts;
            all.unite(&others);
            prop_assert_eq!(all.count_ones(), plain.count_ones());
            for row in 0..4 {
                (0..70).for_each(|c| assert_eq!(all.get(row, c), plain.get(row, c)));
                let changes: Vec<usize> = all.changes(row, by).collect();
                prop_assert_eq!(changes, plain.changes(row, by).collect::<Vec<_>>());
            }
        }
    }
}
