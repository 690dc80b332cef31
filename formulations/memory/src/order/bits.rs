//! Sets of operators as words of bits.

/// Words of a set over `len` members.
pub(super) fn words(len: usize) -> usize {
    len.div_ceil(64)
}

/// The empty set over `len` members.
pub(super) fn empty(len: usize) -> Vec<u64> {
    vec![0; words(len)]
}

/// The full set over `len` members.
pub(super) fn full(len: usize) -> Vec<u64> {
    let mut set = empty(len);
    (0..len as u32).for_each(|v| insert(&mut set, v));
    set
}

#[inline]
pub(super) fn has(set: &[u64], v: u32) -> bool {
    set[v as usize / 64] >> (v % 64) & 1 != 0
}

#[inline]
pub(super) fn insert(set: &mut [u64], v: u32) {
    set[v as usize / 64] |= 1 << (v % 64);
}

#[inline]
pub(super) fn remove(set: &mut [u64], v: u32) {
    set[v as usize / 64] &= !(1 << (v % 64));
}

/// Members, ascending.
pub(super) fn ones(set: &[u64]) -> impl Iterator<Item = u32> {
    set.iter().enumerate().flat_map(|(k, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            Some(k as u32 * 64 + bit)
        })
    })
}

/// Mixes the words of a set to a number (the finaliser of splitmix64 over each word).
pub(super) fn hash(set: &[u64]) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for word in set {
        state = (state ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 32;
    }
    state
}

/// Bits of pairs: row by row the set of operators behind each operator.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    words: usize,
    bits: Vec<u64>,
}

impl Matrix {
    /// The matrix without pairs.
    pub fn new(len: usize) -> Self {
        let words = words(len);
        Matrix {
            words,
            bits: vec![0; words * len],
        }
    }

    /// A row as a set.
    #[inline]
    pub fn row(&self, v: u32) -> &[u64] {
        let start = v as usize * self.words;
        &self.bits[start..start + self.words]
    }

    /// Adds the members of row `from`, and `from`, to row `to`.
    pub fn absorb(&mut self, to: u32, from: u32) {
        let (to_start, from_start) = (to as usize * self.words, from as usize * self.words);
        for k in 0..self.words {
            self.bits[to_start + k] |= self.bits[from_start + k];
        }
        insert(&mut self.bits[to_start..to_start + self.words], from);
    }
}
