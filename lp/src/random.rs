//! Seeded random numbers, the same on every platform: the two generators used by all searches.
//!
//! A search is a function of its settings and seed, so the streams never change: each matches its
//! reference implementation, and the tests contain the first numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// 2^-53, the distance between neighbouring results of `unit`.
const UNIT_STEP: f64 = 1.0 / (1u64 << 53) as f64;

/// SplitMix64 (Steele, Lea and Flood, 2014): one word of state, good after the first draw from any
/// seed. Used for few numbers from many seeds: perturbations, ties, roundings.
///
/// ```
/// use remat_lp::random::SplitMix64;
/// let mut random = SplitMix64::new(1);
/// assert!(random.below(6) < 6 && random.unit() < 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(rand_xoshiro::SplitMix64);

impl SplitMix64 {
    /// The stream of a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        SplitMix64(rand_xoshiro::SplitMix64::seed_from_u64(seed))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, by remainder; 0 if the bound is 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_bits() % bound.max(1) as u64) as usize
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 * UNIT_STEP
    }
}

/// Xoshiro256++ (Blackman and Vigna, 2021): a long period and fast draws. Used for walks of many
/// moves.
///
/// ```
/// use remat_lp::random::Xoshiro256;
/// let (mut a, mut b) = (Xoshiro256::new(1, 0), Xoshiro256::new(1, 0));
/// assert_eq!(a.below(1000), b.below(1000));
/// ```
#[derive(Clone, Debug)]
pub struct Xoshiro256(Xoshiro256PlusPlus);

impl Xoshiro256 {
    /// The stream with number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        Xoshiro256(Xoshiro256PlusPlus::seed_from_u64(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream,
        ))
    }

    /// A number in `0..bound`, by the high half of a product; 0 if the bound is 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// True with probability `1 / k`.
    #[inline]
    pub fn one_in(&mut self, k: u32) -> bool {
        self.below(k) == 0
    }

    /// Uniform in `(0, 1]`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 * UNIT_STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference algorithm, written out.
    fn split_mix_64(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn split_mix_64_is_the_reference_stream() {
        for seed in [0, 1, 7, 1 << 40, u64::MAX] {
            let (mut random, mut state) = (SplitMix64::new(seed), seed);
            for _ in 0..100 {
                assert_eq!(random.next_bits(), split_mix_64(&mut state));
                let expected = (split_mix_64(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
                assert_eq!(random.unit(), expected);
                assert_eq!(random.below(10) as u64, split_mix_64(&mut state) % 10);
            }
        }
        assert_eq!(SplitMix64::new(0).next_bits(), 0xe220_a839_7b1d_cdaf);
    }

    /// Blackman and Vigna's `next` on a state filled by SplitMix64, written out.
    #[test]
    fn xoshiro_256_is_the_reference_stream() {
        for (seed, stream) in [(0, 0), (1, 0), (1, 5), (u64::MAX, 2)] {
            let mut fill = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream;
            let mut s = [0u64; 4].map(|_| split_mix_64(&mut fill));
            let mut next = || {
                let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
                let t = s[1] << 17;
                s[2] ^= s[0];
                s[3] ^= s[1];
                s[1] ^= s[2];
                s[0] ^= s[3];
                s[2] ^= t;
                s[3] = s[3].rotate_left(45);
                result
            };
            let mut random = Xoshiro256::new(seed, stream);
            for _ in 0..100 {
                assert_eq!(u64::from(random.below(1000)), ((next() >> 32) * 1000) >> 32);
                assert_eq!(
                    random.unit(),
                    ((next() >> 11) + 1) as f64 / (1u64 << 53) as f64
                );
            }
        }
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let mut random = SplitMix64::new(7);
        let below = (0..10_000).filter(|_| random.unit() < 0.3).count();
        assert!((2_850..3_150).contains(&below), "{below}");
        let mut random = Xoshiro256::new(7, 0);
        let hits = (0..10_000).filter(|_| random.one_in(4)).count();
        assert!((2_350..2_650).contains(&hits), "{hits}");
    }
}
