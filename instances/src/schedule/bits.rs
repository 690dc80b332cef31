//! A dense 0-1 matrix with one bit per entry and rows aligned to words.

/// A dense 0-1 matrix. Rows are stages, columns are nodes; their numbers are set at creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    rows: usize,
    columns: usize,
    words_per_row: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// A matrix of zeros.
    pub fn new(rows: usize, columns: usize) -> Self {
        let words_per_row = columns.div_ceil(64);
        BitMatrix {
            rows,
            columns,
            words_per_row,
            words: vec![0; rows * words_per_row],
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of words per row.
    pub fn words_per_row(&self) -> usize {
        self.words_per_row
    }

    /// One entry. Panics when out of range.
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> bool {
        debug_assert!(column < self.columns);
        self.words[row * self.words_per_row + column / 64] >> (column % 64) & 1 != 0
    }

    /// Sets one entry. Panics when out of range.
    #[inline]
    pub fn set(&mut self, row: usize, column: usize, value: bool) {
        debug_assert!(column < self.columns);
        let word = &mut self.words[row * self.words_per_row + column / 64];
        let bit = 1u64 << (column % 64);
        if value { *word |= bit } else { *word &= !bit }
    }

    /// The words of one row, least significant bit first; bits beyond the last column are 0.
    #[inline]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// The words of one row, mutable. Bits beyond the last column must stay 0.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// Clears the entries of a row from `column` on.
    pub fn clear_from(&mut self, row: usize, column: usize) {
        let words = self.row_mut(row);
        if column / 64 < words.len() {
            words[column / 64] &= (1u64 << (column % 64)) - 1;
            words[column / 64 + 1..].fill(0);
        }
    }

    /// Sets every entry that is set in `other`, a matrix of the same shape.
    pub fn unite(&mut self, other: &BitMatrix) {
        debug_assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Columns set in a row, ascending.
    pub fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let words = self.row(row).iter().enumerate();
        words.flat_map(|(w, &word)| set_bits(word).map(move |bit| w * 64 + bit))
    }

    /// Columns of a row whose entry differs from the entry `by` columns later, ascending; `by` is
    /// from 1 to 63.
    pub fn changes(&self, row: usize, by: usize) -> impl Iterator<Item = usize> + '_ {
        debug_assert!((1..64).contains(&by));
        let words = self.row(row);
        let columns = self.columns.saturating_sub(by);
        let of = move |w: usize| {
            let next = words.get(w + 1).copied().unwrap_or(0);
            words[w] ^ (words[w] >> by | next << (64 - by))
        };
        let all = (0..words.len()).flat_map(move |w| set_bits(of(w)).map(move |bit| w * 64 + bit));
        all.take_while(move |column| *column < columns)
    }

    /// Number of entries in which two matrices of the same shape differ.
    pub fn distance(&self, other: &BitMatrix) -> usize {
        debug_assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        let words = self.words.iter().zip(&other.words);
        words.map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }

    /// Number of set entries.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
}

/// Positions of the bits set in a word, ascending.
fn set_bits(word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_rows_and_clearing_agree() {
        let mut m = BitMatrix::new(3, 130);
        for c in [0, 63, 64, 100, 129] {
            m.set(1, c, true);
        }
        assert_eq!(m.ones(1).collect::<Vec<_>>(), [0, 63, 64, 100, 129]);
        assert_eq!(m.count_ones(), 5);
        m.set(1, 63, false);
        m.clear_from(1, 100);
        assert_eq!(m.ones(1).collect::<Vec<_>>(), [0, 64]);
        m.clear_from(1, 0);
        assert_eq!(m.count_ones(), 0);
    }
}
