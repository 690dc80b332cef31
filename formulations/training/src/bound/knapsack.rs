//! Minimum knapsacks: a demand of bytes, met at least cost.

/// Search nodes after which a knapsack is left at its relaxation.
const SEARCH_NODES: u32 = 200_000;

/// A minimum knapsack: choose items of total size at least `demand` at least cost. Items (bytes,
/// cost) are in order of rising cost per byte, and their sizes are positive.
pub(super) struct MinimumKnapsack {
    demand: u64,
    /// Bytes and cost of all items before each, and of all.
    before: Vec<(u64, u64)>,
}

impl MinimumKnapsack {
    pub fn new(demand: u64, items: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut before = vec![(0, 0)];
        let mut sum = (0, 0);
        for (bytes, cost) in items {
            sum = (sum.0 + bytes, sum.1 + cost);
            before.push(sum);
        }
        MinimumKnapsack { demand, before }
    }

    fn len(&self) -> usize {
        self.before.len() - 1
    }

    fn item(&self, k: usize) -> (u64, u64) {
        let (here, next) = (self.before[k], self.before[k + 1]);
        (next.0 - here.0, next.1 - here.1)
    }

    /// Bytes of all items from one on.
    fn bytes_from(&self, k: usize) -> u64 {
        self.before[self.len()].0 - self.before[k].0
    }

    /// The first item up to which the items from `k` on meet a demand; the number of items if they
    /// do not meet it together.
    fn met_by(&self, k: usize, demand: u64) -> usize {
        let wanted = self.before[k].0 + demand;
        let sums = &self.before[k + 1..];
        k + sums.partition_point(|(bytes, _)| *bytes < wanted)
    }

    /// Linear relaxation, rounded up.
    pub fn relaxed(&self) -> u64 {
        self.relaxed_from(0, self.demand)
    }

    fn relaxed_from(&self, k: usize, demand: u64) -> u64 {
        let last = if demand == 0 {
            k
        } else {
            self.met_by(k, demand)
        };
        let whole = self.before[last];
        let left = demand - (whole.0 - self.before[k].0).min(demand);
        let cost = whole.1 - self.before[k].1;
        match last < self.len() {
            true => cost + share(self.item(last), left),
            false => cost,
        }
    }

    /// The optimum by depth-first search, or the relaxation if that takes too long.
    pub fn optimum(&self) -> u64 {
        let mut best = self.greedy();
        let mut nodes = 0;
        // Takes, then leaves, an item; prunes by the relaxation of the rest.
        let mut stack = vec![(0, self.demand, 0)];
        while let Some((k, demand, cost)) = stack.pop() {
            nodes += 1;
            if nodes >= SEARCH_NODES {
                return self.relaxed();
            }
            if demand == 0 {
                best = best.min(cost);
                continue;
            }
            if self.bytes_from(k) < demand || cost + self.relaxed_from(k, demand) >= best {
                continue;
            }
            let (bytes, item_cost) = self.item(k);
            stack.push((k + 1, demand, cost));
            stack.push((k + 1, demand.saturating_sub(bytes), cost + item_cost));
        }
        best
    }

    /// Cost of the items in their order until the demand is met: an upper bound on the optimum.
    pub fn greedy(&self) -> u64 {
        if self.demand == 0 {
            return 0;
        }
        let last = self.met_by(0, self.demand);
        self.before[(last + 1).min(self.len())].1
    }
}

/// Cost of `wanted` bytes of an item (bytes, cost), rounded up.
pub(super) fn share((bytes, cost): (u64, u64), wanted: u64) -> u64 {
    (u128::from(cost) * u128::from(wanted)).div_ceil(u128::from(bytes)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knapsacks_equal_enumeration() {
        let mut seed = 7u64;
        let mut next = |m: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % m
        };
        for _ in 0..300 {
            let items: Vec<(u64, u64)> =
                (0..1 + next(9)).map(|_| (1 + next(20), next(30))).collect();
            let total: u64 = items.iter().map(|i| i.0).sum();
            let demand = next(total + 1);
            let mut sorted = items.clone();
            sorted.sort_by(|a, b| (a.1 * b.0).cmp(&(b.1 * a.0)));
            let knapsack = MinimumKnapsack::new(demand, sorted);
            let brute = (0u32..1 << items.len())
                .filter_map(|mask| {
                    let chosen = items
                        .iter()
                        .enumerate()
                        .filter(|(k, _)| mask >> k & 1 != 0)
                        .map(|(_, i)| *i);
                    let (bytes, cost) = chosen.fold((0, 0), |(b, c), i| (b + i.0, c + i.1));
                    (bytes >= demand).then_some(cost)
                })
                .min()
                .unwrap();
            assert_eq!(knapsack.optimum(), brute);
            assert!(knapsack.relaxed() <= brute);
        }
    }
}
