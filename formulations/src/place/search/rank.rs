//! The order in which the cases of a node are tried.

use super::super::problem::Problem;
use std::cmp::Reverse;

/// Quantity of an item; items with much of it are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Measure {
    /// Number of sections.
    Width,
    /// Size.
    Size,
    /// Load of its fullest section.
    Total,
}

/// A measure, with noise where there is a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Preference {
    pub measure: Measure,
    /// Seed of factors from 1 to 2 for each item.
    pub noise: Option<u64>,
}

/// Finalizer of splitmix64 (Steele, Lea, Flood 2014): a number that looks random.
pub(in super::super) fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Preference {
    /// The place of each item in the order of preference.
    pub fn ranks(self, problem: &Problem) -> Vec<u32> {
        let loads = problem.loads();
        let key = |item: usize| {
            let stretches = problem.stretches.list(item);
            let size = u128::from(problem.items[item].size);
            let width: u128 = stretches.iter().map(|s| u128::from(s.1 - s.0)).sum();
            let loads = stretches
                .iter()
                .flat_map(|s| &loads[s.0 as usize..s.1 as usize]);
            let total = u128::from(loads.copied().max().unwrap_or(0));
            let area = width * size;
            let (first, second, third) = match self.measure {
                Measure::Width => (width, total, area),
                Measure::Size => (size, width, 0),
                Measure::Total => (total, width, area),
            };
            match self.noise {
                None => (first, second, third),
                Some(seed) => {
                    let factor = 1024 + mix(seed ^ mix(item as u64)) % 1024;
                    (first.saturating_mul(factor.into()), 0, 0)
                }
            }
        };
        let mut order: Vec<(_, usize)> = (0..problem.items.len()).map(|k| (key(k), k)).collect();
        order.sort_unstable_by_key(|&(key, item)| (Reverse(key), item));
        let mut ranks = vec![0; order.len()];
        for (position, (_, item)) in order.into_iter().enumerate() {
            ranks[item] = position as u32;
        }
        ranks
    }
}
