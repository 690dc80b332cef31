//! The order in which the cases of a node are tried.

use super::super::problem::PlaceProblem;
use remat_search::random::mix;
use std::cmp::Reverse;

/// Quantity of an item; items with a large quantity are tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Measure {
    /// Number of sections.
    Width,
    /// Size.
    Size,
    /// Load of its fullest section.
    Total,
    /// Number of sections, each weighed by this power of its load.
    Weight(i32),
}

/// Weight of a section with the largest load, beside 1 for each section.
const WEIGHT_SCALE: f64 = 1e6;
/// Number of items from which on ties of widths are not broken by totals. A total takes as many
/// steps as an item is wide.
const TOTALS_LIMIT: usize = 10_000;

impl Measure {
    /// The weight of each item: its number of sections, weighed if the measure is
    /// [`Measure::Weight`].
    pub fn weights(self, problem: &PlaceProblem) -> Vec<u128> {
        let loads = problem.loads();
        let largest = loads.iter().copied().max().unwrap_or(1) as f64;
        let weight = |load: u64| match self {
            Measure::Weight(power) => {
                1 + ((load as f64 / largest).powi(power) * WEIGHT_SCALE) as u128
            }
            _ => 1,
        };
        let mut sums = vec![0; loads.len() + 1];
        for (section, &load) in loads.iter().enumerate() {
            sums[section + 1] = sums[section] + weight(load);
        }
        let weights = (0..problem.items.len()).map(|item| {
            let stretches = problem.stretches.list(item).iter();
            stretches
                .map(|s| sums[s.1 as usize] - sums[s.0 as usize])
                .sum()
        });
        weights.collect()
    }
}

/// A measure, with noise if there is a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Preference {
    pub measure: Measure,
    /// Seed of factors from 1 to 2 for each item.
    pub noise: Option<u64>,
}

impl Preference {
    /// A measure without noise.
    pub fn plain(measure: Measure) -> Self {
        Preference {
            measure,
            noise: None,
        }
    }

    /// The place of each item in the order of preference.
    pub fn ranks(self, problem: &PlaceProblem) -> Vec<u32> {
        let loads = problem.loads();
        let weights = self.measure.weights(problem);
        let has_totals = problem.items.len() < TOTALS_LIMIT;
        let key = |item: usize| {
            let size = u128::from(problem.items[item].size);
            let width = weights[item];
            let total = || {
                let stretches = problem.stretches.list(item).iter();
                let loads = stretches.flat_map(|s| &loads[s.0 as usize..s.1 as usize]);
                u128::from(loads.copied().max().unwrap_or(0))
            };
            let (first, second) = match self.measure {
                Measure::Width if has_totals => (width, total()),
                Measure::Width | Measure::Weight(_) => (width, size),
                Measure::Size => (size, width),
                Measure::Total => (total(), width),
            };
            match self.noise {
                None => (first, second, size),
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
