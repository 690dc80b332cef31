//! Pseudorandom numbers, the same on every machine: splitmix64 (Steele, Lea, Flood, 2014).

/// Distance of the states of the sequence.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A pseudorandom number for a seed.
pub fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(STEP);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The sequence of a seed.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number.
    // An iterator would wrap each number in an option that is never empty.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }
}
