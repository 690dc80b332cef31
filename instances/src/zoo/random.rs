//! Random numbers for drawn graphs: the same on every platform, with integers only.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The stream of a seed.
pub(super) struct Draw(SplitMix64);

impl Draw {
    /// Starts the stream of a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(SplitMix64::seed_from_u64(seed))
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True with a probability of `share` percent.
    pub fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// A number around `mean`: the sum of twelve uniform numbers, which is nearly normally
    /// distributed, cut off at 0.
    pub fn about(&mut self, mean: u64, deviation: u64) -> u64 {
        let sum: u64 = (0..12).map(|_| self.below(deviation + 1)).sum();
        (mean + sum).saturating_sub(6 * deviation)
    }
}
