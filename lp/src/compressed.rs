//! Compressed sparse storage that is edited in place. Each value has one orientation, by column or
//! by row.
//!
//! A [`Model`](crate::Model) stores its matrix in `sprs`, whose types hide their arrays: a new
//! shape or structure means a new matrix, with its order checked entry by entry. The simplex keeps
//! its own copy in this structure for two reasons. It scales values, drops the entries of sleeping
//! rows into memory that it reuses, and grows and shrinks both orientations between solves. And its
//! loops walk the three arrays directly, with entries in any order. Edits of the model use this
//! structure as well: the arrays move out of `sprs` and back without a copy.

/// A sparse matrix compressed along one dimension: `outer` vectors, each a list of (inner index,
/// value).
///
/// Inner indices are `u32`: the inner loops of the simplex are bound by memory, and 12 bytes per
/// entry are faster than 16.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Compressed {
    /// Vector `k` has the entries `start[k]..start[k + 1]`; the length is one more than the number
    /// of vectors.
    pub start: Vec<usize>,
    /// Inner index of every entry.
    pub index: Vec<u32>,
    /// Value of every entry.
    pub value: Vec<f64>,
}

impl Default for Compressed {
    fn default() -> Self {
        Compressed {
            start: vec![0],
            index: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Compressed {
    /// Number of compressed vectors.
    #[inline]
    pub fn outer(&self) -> usize {
        self.start.len() - 1
    }

    /// Number of stored entries.
    #[inline]
    pub fn nnz(&self) -> usize {
        self.index.len()
    }

    /// Number of entries of vector `k`.
    #[inline]
    pub fn len(&self, k: usize) -> usize {
        self.start[k + 1] - self.start[k]
    }

    /// The entries of vector `k`.
    #[inline]
    pub fn vector(&self, k: usize) -> (&[u32], &[f64]) {
        let (a, b) = (self.start[k], self.start[k + 1]);
        (&self.index[a..b], &self.value[a..b])
    }

    /// The entries of vector `k` as pairs.
    #[inline]
    pub fn iter(&self, k: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (index, value) = self.vector(k);
        index.iter().zip(value).map(|(&i, &v)| (i as usize, v))
    }

    /// Appends a vector.
    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>) {
        for (i, v) in entries {
            self.index.push(i);
            self.value.push(v);
        }
        self.start.push(self.index.len());
    }

    /// Appends the vectors of a matrix of the same orientation.
    pub fn append(&mut self, extra: &Compressed) {
        let base = self.nnz();
        self.index.extend_from_slice(&extra.index);
        self.value.extend_from_slice(&extra.value);
        self.start.extend(extra.start[1..].iter().map(|s| base + s));
    }

    /// The same matrix compressed along the other dimension, which has length `inner`. Its inner
    /// indices are sorted.
    pub fn transpose(&self, inner: usize) -> Compressed {
        let mut start = vec![0usize; inner + 1];
        for &i in &self.index {
            start[i as usize + 1] += 1;
        }
        for k in 0..inner {
            start[k + 1] += start[k];
        }
        let mut next = start.clone();
        let mut index = vec![0u32; self.nnz()];
        let mut value = vec![0f64; self.nnz()];
        for k in 0..self.outer() {
            for (i, v) in self.iter(k) {
                let at = next[i];
                next[i] += 1;
                index[at] = k as u32;
                value[at] = v;
            }
        }
        Compressed {
            start,
            index,
            value,
        }
    }

    /// Appends the entries of `extra` at the end of this matrix's vectors. `extra` has the other
    /// orientation, and its vectors get the inner indices `inner_base..`. Works in place, in one
    /// pass from the back.
    pub fn append_inner(&mut self, extra: &Compressed, inner_base: usize) {
        let outer = self.outer();
        let mut add = vec![0usize; outer];
        for &k in &extra.index {
            add[k as usize] += 1;
        }
        let old = self.nnz();
        self.index.resize(old + extra.nnz(), 0);
        self.value.resize(old + extra.nnz(), 0.0);
        // `fill[k]` becomes the position of vector k's next new entry. Vectors between two growing
        // ones move together; vectors before the first growing one do not move.
        let mut shift = extra.nnz();
        let mut end_of_run = old;
        let mut fill = add;
        for k in (0..outer).rev() {
            if shift == 0 {
                break;
            }
            let end = self.start[k + 1];
            let count = fill[k];
            self.start[k + 1] = end + shift;
            if count > 0 {
                self.index.copy_within(end..end_of_run, end + shift);
                self.value.copy_within(end..end_of_run, end + shift);
                end_of_run = end;
                shift -= count;
                fill[k] = end + shift;
            }
        }
        for e in 0..extra.outer() {
            for (k, v) in extra.iter(e) {
                let at = fill[k];
                fill[k] += 1;
                self.index[at] = (inner_base + e) as u32;
                self.value[at] = v;
            }
        }
    }

    /// Keeps the vectors for which `keep` is true.
    pub fn retain_outer(&mut self, keep: &[bool]) {
        let mut write = 0;
        let mut kept = 0;
        for (k, &keep) in keep.iter().enumerate() {
            let (a, b) = (self.start[k], self.start[k + 1]);
            if keep {
                self.index.copy_within(a..b, write);
                self.value.copy_within(a..b, write);
                self.start[kept] = write;
                write += b - a;
                kept += 1;
            }
        }
        // Starts are written behind the read position: `kept <= k`, and `start[k]` was read before.
        self.start[kept] = write;
        self.start.truncate(kept + 1);
        self.index.truncate(write);
        self.value.truncate(write);
    }

    /// Drops the entries whose inner index maps to `u32::MAX` and renumbers the others by `map`.
    pub fn remap_inner(&mut self, map: &[u32]) {
        let mut write = 0;
        let mut begin = 0;
        for k in 0..self.outer() {
            let end = self.start[k + 1];
            for at in begin..end {
                let to = map[self.index[at] as usize];
                if to != u32::MAX {
                    self.index[write] = to;
                    self.value[write] = self.value[at];
                    write += 1;
                }
            }
            begin = end;
            self.start[k + 1] = write;
        }
        self.index.truncate(write);
        self.value.truncate(write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Compressed {
        let mut a = Compressed::default();
        a.push([(0, 1.0), (2, 2.0)]);
        a.push([]);
        a.push([(1, 3.0), (2, 4.0)]);
        a
    }

    #[test]
    fn transpose_twice_is_the_identity() {
        let a = sample();
        assert_eq!(a.transpose(3).transpose(3), a);
    }

    #[test]
    fn appended_rows_equal_a_transpose_of_the_whole() {
        let cols = sample();
        let mut rows = cols.transpose(3);
        let mut extra = Compressed::default();
        extra.push([(0, 5.0), (1, 6.0)]);
        extra.push([(2, 7.0)]);
        let mut grown = cols;
        grown.append_inner(&extra, 3);
        rows.push([(0, 5.0), (1, 6.0)]);
        rows.push([(2, 7.0)]);
        assert_eq!(grown, rows.transpose(3));
    }

    #[test]
    fn retain_and_remap_agree_across_orientations() {
        let mut cols = sample();
        let mut rows = cols.transpose(3);
        cols.retain_outer(&[true, false, true]);
        rows.remap_inner(&[0, u32::MAX, 1]);
        assert_eq!(cols, rows.transpose(2));
        cols.remap_inner(&[0, u32::MAX, 1]);
        rows.retain_outer(&[true, false, true]);
        assert_eq!(cols, rows.transpose(2));
    }
}
