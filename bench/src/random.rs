//! Numbers that look random, the same on every machine: splitmix64 (Steele, Lea, Flood, 2014).

/// The sequence of a seed.
pub(crate) struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
