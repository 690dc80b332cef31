//! The knapsack behind PyTorch's `activation_memory_budget`: a choice of activations to save within
//! a share of memory.
//!
//! Items are activations. The weight is the memory of keeping one, as a share of a reference
//! amount, the value the time of its recomputation. PyTorch offers three solvers
//! (`activation_memory_budget_solver`): a dynamic program over quantised memory (`dp`, the
//! default), `greedy` by value per memory, and `ilp`. The first two are here; the integer program
//! differs from the first only by the quantisation.

/// Memory units per reference amount: PyTorch rounds shares to a ten-thousandth.
const RESOLUTION: f64 = 10_000.0;

/// Solves the quantised knapsack for all capacities up to 1 at once.
///
/// ```
/// use remat_formulations::baselines::knapsack::QuantisedKnapsack;
/// let knapsack = QuantisedKnapsack::solve(&[0.5, 0.3, 0.4], &[10, 6, 7]);
/// assert_eq!(knapsack.chosen(0.7), [false, true, true]);
/// assert_eq!(knapsack.chosen(0.9), [true, false, true]);
/// ```
#[derive(Clone, Debug)]
pub struct QuantisedKnapsack {
    weights: Vec<usize>,
    capacity: usize,
    /// `taken[i * (capacity + 1) + c]`: with items `0..=i` and capacity `c`, item `i` is chosen.
    /// One bit each.
    taken: Vec<u64>,
}

impl QuantisedKnapsack {
    /// `shares[i]`: memory of item `i` as a share of the reference amount, at least 0. `values[i]`:
    /// its recomputation time. Time and memory: items x 10,000 (bits).
    pub fn solve(shares: &[f64], values: &[u64]) -> Self {
        let capacity = RESOLUTION as usize;
        let weights: Vec<usize> = shares.iter().map(|&share| quantise(share)).collect();
        let mut best = vec![0u64; capacity + 1];
        let mut taken = vec![0u64; (weights.len() * (capacity + 1)).div_ceil(64)];
        for (i, (&weight, &value)) in weights.iter().zip(values).enumerate() {
            for c in (weight..=capacity).rev() {
                let with = best[c - weight] + value;
                if with > best[c] {
                    best[c] = with;
                    let bit = i * (capacity + 1) + c;
                    taken[bit / 64] |= 1 << (bit % 64);
                }
            }
        }
        QuantisedKnapsack {
            weights,
            capacity,
            taken,
        }
    }

    /// Marks the items of an optimal choice within a share of the reference amount (cut to 0..=1).
    pub fn chosen(&self, share: f64) -> Vec<bool> {
        let mut left = quantise(share).min(self.capacity);
        let mut chosen = vec![false; self.weights.len()];
        for i in (0..self.weights.len()).rev() {
            let bit = i * (self.capacity + 1) + left;
            if self.taken[bit / 64] >> (bit % 64) & 1 != 0 {
                chosen[i] = true;
                left -= self.weights[i];
            }
        }
        chosen
    }
}

/// Marks the items to take within a share of the reference amount: by descending value per memory,
/// each that still fits. Items without memory come first; the earlier item wins a tie.
pub fn greedy(shares: &[f64], values: &[u64], share: f64) -> Vec<bool> {
    let density = |i: usize| {
        if shares[i] > 0.0 {
            values[i] as f64 / shares[i]
        } else {
            f64::INFINITY
        }
    };
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| density(b).total_cmp(&density(a)));
    let mut chosen = vec![false; shares.len()];
    let mut used = 0.0;
    for i in order {
        if used + shares[i] <= share {
            used += shares[i];
            chosen[i] = true;
        }
    }
    chosen
}

fn quantise(share: f64) -> usize {
    // A conversion from a float saturates, so negative and huge values are cut.
    (share * RESOLUTION).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_dynamic_program_is_optimal_on_quantised_shares(
            items in prop::collection::vec((0u32..6000, 0u64..50), 0..9),
            capacity in 0u32..=10_000,
        ) {
            let shares: Vec<f64> = items.iter().map(|i| i.0 as f64 / RESOLUTION).collect();
            let values: Vec<u64> = items.iter().map(|i| i.1).collect();
            let share = capacity as f64 / RESOLUTION;
            let value = |chosen: &dyn Fn(usize) -> bool| -> Option<u64> {
                let picked = |i: &usize| chosen(*i);
                let weight: u32 = (0..items.len()).filter(picked).map(|i| items[i].0).sum();
                (weight <= capacity).then(|| (0..items.len()).filter(picked).map(|i| values[i]).sum())
            };
            let best = (0u32..1 << items.len()).filter_map(|set| value(&|i| set >> i & 1 != 0)).max();
            let chosen = QuantisedKnapsack::solve(&shares, &values).chosen(share);
            prop_assert_eq!(value(&|i| chosen[i]), best);
            let quick = greedy(&shares, &values, share);
            let found = value(&|i| quick[i]);
            prop_assert!(found.is_some() && found <= best);
        }
    }

    #[test]
    fn greedy_takes_the_densest_first_and_skips_what_does_not_fit() {
        assert_eq!(
            greedy(&[0.5, 0.6, 0.2], &[10, 6, 3], 0.7),
            [true, false, true]
        );
        assert_eq!(greedy(&[0.0, 0.5], &[0, 1], 0.1), [true, false]);
    }
}
