//! The knapsacks of all first computations.

use super::knapsack::{MinimumKnapsack, share};
use remat_instances::instance::{Instance, NodeId};

/// For each node, the tensors of which some must make room when it runs for the first time.
pub(super) struct Moments<'a> {
    instance: &'a Instance,
    /// Tensors that can make room for others, by rising cost per byte.
    order: Vec<NodeId>,
    /// Free bytes beside each node when it runs for the first time.
    room: Vec<u64>,
}

impl<'a> Moments<'a> {
    /// The moments of an instance under a budget in which every node can run, with the bytes that
    /// stay beside each node.
    pub fn new(instance: &'a Instance, budget_bytes: u64, kept_bytes: &[u64]) -> Self {
        let bytes = |i: &NodeId| instance.node(*i).output_bytes;
        let makes_room = |i: &NodeId| {
            instance.may_recompute(*i) && !instance.users(*i).is_empty() && bytes(i) > 0
        };
        let mut order: Vec<NodeId> = instance.ids().filter(makes_room).collect();
        order.sort_by(|a, b| {
            let [cost_a, cost_b] = [a, b].map(|i| u128::from(instance.node(*i).run_cost(true)));
            (cost_a * u128::from(bytes(b))).cmp(&(cost_b * u128::from(bytes(a))))
        });
        let fixed = instance.static_bytes();
        let room = instance.ids().map(|b| {
            let node = instance.node(b);
            let inputs: u64 = node.needs().iter().map(bytes).sum();
            let kept = kept_bytes[b.index()];
            budget_bytes - fixed - node.output_bytes - node.workspace_bytes() - kept - inputs
        });
        Moments {
            instance,
            room: room.collect(),
            order,
        }
    }

    fn item(&self, i: NodeId) -> (u64, u64) {
        let node = self.instance.node(i);
        (node.output_bytes, node.run_cost(true))
    }

    /// The relaxation of every moment, rounded up.
    pub fn relaxed(&self) -> Vec<(u64, NodeId)> {
        let n = self.instance.len();
        let mut place = vec![None; n];
        for (at, i) in self.order.iter().enumerate() {
            place[i.index()] = Some(at);
        }
        let mut alive = Prefixes::new(self.order.len());
        let put = |alive: &mut Prefixes, i: NodeId| {
            let at = place[i.index()];
            at.inspect(|at| alive.add(*at, self.item(i)));
        };
        let take = |alive: &mut Prefixes, i: NodeId| {
            let at = place[i.index()];
            at.inspect(|at| alive.remove(*at, self.item(i)));
        };
        let mut costs = Vec::with_capacity(n);
        for b in self.instance.ids() {
            let read = self.instance.needs(b);
            read.iter().for_each(|i| take(&mut alive, *i));
            let demand = alive.total.0.saturating_sub(self.room[b.index()]);
            let (at, whole) = alive.below(demand);
            let left = demand - whole.0;
            let part = match left {
                0 => 0,
                _ => share(self.item(self.order[at]), left),
            };
            costs.push((whole.1 + part, b));
            let stays = |i: &&NodeId| self.instance.users(**i).last() > Some(&b);
            read.iter().filter(stays).for_each(|i| put(&mut alive, *i));
            put(&mut alive, b);
        }
        costs
    }

    /// The knapsack of the first computation of `b`.
    pub fn knapsack(&self, b: NodeId) -> MinimumKnapsack {
        let alive = |i: &&NodeId| {
            **i < b
                && self.instance.users(**i).last() > Some(&b)
                && self.instance.needs(b).binary_search(i).is_err()
        };
        let items: Vec<_> = self
            .order
            .iter()
            .filter(alive)
            .map(|i| self.item(*i))
            .collect();
        let total: u64 = items.iter().map(|item| item.0).sum();
        MinimumKnapsack::new(total.saturating_sub(self.room[b.index()]), items)
    }
}

/// Sums of bytes and costs over the first places of a list, each in logarithmic time (a Fenwick
/// tree).
struct Prefixes {
    sums: Vec<(u64, u64)>,
    total: (u64, u64),
}

impl Prefixes {
    fn new(places: usize) -> Self {
        Prefixes {
            sums: vec![(0, 0); places + 1],
            total: (0, 0),
        }
    }

    fn add(&mut self, at: usize, item: (u64, u64)) {
        self.total = (self.total.0 + item.0, self.total.1 + item.1);
        self.change(at, |sum| (sum.0 + item.0, sum.1 + item.1));
    }

    fn remove(&mut self, at: usize, item: (u64, u64)) {
        self.total = (self.total.0 - item.0, self.total.1 - item.1);
        self.change(at, |sum| (sum.0 - item.0, sum.1 - item.1));
    }

    fn change(&mut self, at: usize, change: impl Fn((u64, u64)) -> (u64, u64)) {
        let mut k = at + 1;
        while k < self.sums.len() {
            self.sums[k] = change(self.sums[k]);
            k += k & k.wrapping_neg();
        }
    }

    /// The largest number of leading places with fewer bytes than a demand, and their sums; 0 for a
    /// demand of 0.
    fn below(&self, demand: u64) -> (usize, (u64, u64)) {
        let (mut at, mut sum) = (0, (0, 0));
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            let next = at + step;
            if next < self.sums.len() && sum.0 + self.sums[next].0 < demand {
                let more = self.sums[next];
                (at, sum) = (next, (sum.0 + more.0, sum.1 + more.1));
            }
            step /= 2;
        }
        (at, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{kept_bytes, smallest_budget};
    use super::*;
    use crate::baselines::fixtures;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sweep_is_the_relaxation_of_each_moment(
            instance in fixtures::training_dag(),
            more in 0..60u64,
        ) {
            let budget = smallest_budget(&instance).needed_bytes + more;
            let moments = Moments::new(&instance, budget, &kept_bytes(&instance));
            for (cost, b) in moments.relaxed() {
                prop_assert_eq!(cost, moments.knapsack(b).relaxed());
            }
        }
    }
}
