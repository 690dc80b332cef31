//! Seeded random numbers, the same on every platform.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// A stream of random numbers.
#[derive(Clone)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The stream with number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Random(Xoshiro256PlusPlus::seed_from_u64(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream,
        ))
    }

    /// Uniform in `0..bound`; 0 for a bound of 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.0.next_u64() >> 32) * bound as u64) >> 32) as u32
    }

    /// True once in `k` draws on average.
    #[inline]
    pub fn one_in(&mut self, k: u32) -> bool {
        self.below(k) == 0
    }

    /// Uniform in `(0, 1]`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
