//! A dense vector with a list of its nonzeros.

/// Values smaller than this are rounding noise of a solve and become zero.
pub(crate) const TINY: f64 = 1e-14;
/// Value of a cancelled entry whose index stays in the list; it is nonzero so that the index is not
/// listed twice.
pub(crate) const GHOST: f64 = 1e-100;

/// Number of values that a pass tests together: zeros tend to be adjacent.
pub(crate) const CHUNK: usize = 8;

/// Returns whether all values of a chunk are zero in every bit.
#[inline(always)]
pub(crate) fn all_zero(values: &[f64]) -> bool {
    values.iter().fold(0, |bits, x| bits | x.to_bits()) == 0
}

/// Values by row and a list of the rows that may be nonzero. Values outside `index` are zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseVec {
    pub value: Vec<f64>,
    pub index: Vec<u32>,
}

impl SparseVec {
    #[cfg(test)]
    pub fn new(len: usize) -> Self {
        SparseVec {
            value: vec![0.0; len],
            index: Vec::with_capacity(len),
        }
    }

    pub fn resize(&mut self, len: usize) {
        self.clear();
        self.value.resize(len, 0.0);
        self.index.reserve(len);
    }

    /// Sets everything to zero.
    pub fn clear(&mut self) {
        if self.index.len() * 4 < self.value.len() {
            for &i in &self.index {
                self.value[i as usize] = 0.0;
            }
        } else {
            self.value.fill(0.0);
        }
        self.index.clear();
    }

    /// Adds to an entry.
    #[inline]
    pub fn add(&mut self, i: usize, v: f64) {
        let old = self.value[i];
        if old == 0.0 {
            self.index.push(i as u32);
        }
        let new = old + v;
        self.value[i] = if new.abs() < TINY { GHOST } else { new };
    }

    /// Drops listed entries that are noise.
    pub fn tighten(&mut self) {
        let value = &mut self.value;
        self.index.retain(|&i| {
            let keep = value[i as usize].abs() > TINY;
            if !keep {
                value[i as usize] = 0.0;
            }
            keep
        });
    }

    /// Rebuilds the list from the values.
    pub fn relist(&mut self) {
        self.relist_from(0);
    }

    /// Rebuilds the list of entries at `first` and later from the values.
    pub fn relist_from(&mut self, first: usize) {
        self.index.retain(|&i| (i as usize) < first);
        for (k, chunk) in self.value[first..].chunks_mut(CHUNK).enumerate() {
            if all_zero(chunk) {
                continue;
            }
            for (i, v) in (first + k * CHUNK..).zip(chunk) {
                if v.abs() > TINY {
                    self.index.push(i as u32);
                } else {
                    *v = 0.0;
                }
            }
        }
    }

    pub fn copy_from(&mut self, other: &SparseVec) {
        self.clear();
        for &i in &other.index {
            self.value[i as usize] = other.value[i as usize];
        }
        self.index.extend_from_slice(&other.index);
    }

    /// Share of entries that may be nonzero.
    pub fn density(&self) -> f64 {
        if self.value.is_empty() {
            0.0
        } else {
            self.index.len() as f64 / self.value.len() as f64
        }
    }

    /// Sum of squares.
    pub fn norm2(&self) -> f64 {
        self.index
            .iter()
            .map(|&i| self.value[i as usize] * self.value[i as usize])
            .sum()
    }
}

/// Moves a running average towards a new observation.
pub(crate) fn observe(average: &mut f64, density: f64) {
    *average = 0.95 * *average + 0.05 * density;
}
