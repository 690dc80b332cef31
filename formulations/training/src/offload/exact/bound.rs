//! Least time from a state to the end of the plan.

use super::label::{MachineState, UnderWay};
use super::problem::ExactProblem;
use super::set::{Set, has, members, one};

/// Bounds of one problem.
pub(super) struct ExactBounds<'a> {
    p: &'a ExactProblem,
    /// Time lost from each first run on.
    floors: Vec<u64>,
    /// Nodes by the cost of a further run per unit of time of the copy back, ascending.
    order: Vec<usize>,
}

impl<'a> ExactBounds<'a> {
    pub fn new(p: &'a ExactProblem, floors: Vec<u64>) -> Self {
        let mut order: Vec<usize> = (0..p.nodes).collect();
        let cross = |a: usize, b: usize| u128::from(p.cost[a][1]) * u128::from(p.times[b][1]);
        order.sort_by(|a, b| cross(*a, *b).cmp(&cross(*b, *a)));
        ExactBounds { p, floors, order }
    }

    /// Lower bound on the time after the state's clock of all plans through the state; `None` if no
    /// plan reaches the end.
    ///
    /// The first runs from the next one on are still to come. The tensors that they read up to node
    /// `w` and that are not on the device must be recomputed, with their missing inputs, or come
    /// back from the host before `w` runs. The time lost from `w` on is added.
    pub fn time_left(&self, s: &MachineState) -> Option<u64> {
        let p = self.p;
        let next = usize::from(s.next);
        let there = s.present() | s.host & !p.scattered;
        let mut seen: Set = 0;
        let mut anew = Anew {
            done: 0,
            ran: s.ran,
            cost: 0,
        };
        let mut lost = self.floors[next];
        let mut fetched: Set = 0;
        let begun = s.free(false, p.half) - s.clock;
        let left = p.future[next] & !s.present();
        for w in next..p.nodes {
            if seen & left == left {
                break;
            }
            let new = p.needs[w] & left & !seen;
            if new == 0 {
                continue;
            }
            seen |= new;
            anew.make(p, new & !there, there)?;
            fetched = (fetched | new & s.host & !p.scattered) & !anew.done;
            let copied: u64 = members(fetched).map(|i| p.times[i][1]).sum();
            let hidden = p.rest[next] - p.rest[w];
            let link = (begun + copied).saturating_sub(hidden);
            let link = if fetched == 0 { 0 } else { link };
            let here = self.balance(fetched, anew.cost, link);
            lost = lost.max(here.saturating_add(self.floors[w]));
        }
        let left = p.rest[next].saturating_add(lost);
        let left = left.max(self.scatters_left(s));
        // Copies start before the next computation has ended.
        let start = |c: &UnderWay| c.end - p.times[usize::from(c.node)][usize::from(!c.to_host)];
        let begun = s.under_way.iter().map(start).max().unwrap_or(0);
        if begun < s.clock || next == p.nodes {
            return Some(left);
        }
        let behind = p.rest[next + 1].saturating_add(self.floors[next + 1]);
        Some(left.max((begun + 1 - s.clock).saturating_add(behind)))
    }

    /// Least time until all gradients are scattered, one after the other, each once it is computed.
    fn scatters_left(&self, s: &MachineState) -> u64 {
        let p = self.p;
        let next = usize::from(s.next);
        let mut waiting: Vec<usize> = members(p.scattered & !s.host).collect();
        let computed = waiting.iter().filter(|i| **i < next).count();
        let time = |list: &[usize]| list.iter().map(|i| p.times[*i][0]).sum::<u64>();
        let mut left = s.gone(p.scattered) - s.clock;
        if !waiting.is_empty() {
            left = left.max(s.free(true, p.half) - s.clock + time(&waiting));
        }
        waiting.drain(..computed);
        for k in 0..waiting.len() {
            let until = p.rest[next] - p.rest[waiting[k] + 1];
            left = left.max(until + time(&waiting[k..]));
        }
        left
    }

    /// Least time lost if tensors come back, or are recomputed in part. `again` is the time of
    /// tensors that must be recomputed, `link` the time lost by the lane if all others come back.
    fn balance(&self, fetched: Set, again: u64, link: u64) -> u64 {
        let start = again;
        let (mut again, mut link) = (again, link);
        if again >= link {
            return again;
        }
        let may = fetched & self.p.again;
        for i in self.order.iter().copied().filter(|i| has(may, *i)) {
            let (cost, time) = (self.p.cost[i][1], self.p.times[i][1]);
            if again.saturating_add(cost).saturating_add(time) > link {
                // A share x with again + x cost = link - x time, unless all are recomputed.
                let gap = u128::from(link - again) * u128::from(cost);
                let sum = u128::from(cost) + u128::from(time);
                again += gap.div_ceil(sum.max(1)) as u64;
                return again.min(self.all_anew(fetched, start));
            }
            again += cost;
            link -= time;
        }
        link.min(self.all_anew(fetched, start))
    }

    /// Cost of further runs of all tensors of a set beside other recomputations; `u64::MAX` if one
    /// of them may not run again.
    fn all_anew(&self, set: Set, again: u64) -> u64 {
        match set & !self.p.again {
            0 => members(set)
                .map(|i| self.p.cost[i][1])
                .fold(again, u64::saturating_add),
            _ => u64::MAX,
        }
    }
}

/// Nodes that must run again.
struct Anew {
    done: Set,
    ran: Set,
    cost: u64,
}

impl Anew {
    /// Adds nodes with their missing inputs; `None` if one of them may not run again.
    fn make(&mut self, p: &ExactProblem, nodes: Set, there: Set) -> Option<()> {
        let mut wanted = nodes & !self.done;
        while wanted != 0 {
            let k = super::set::NODES_LIMIT - 1 - wanted.leading_zeros() as usize;
            wanted &= !one(k);
            if !has(p.again, k) {
                return None;
            }
            self.done |= one(k);
            self.cost += p.cost[k][1];
            wanted |= p.needs[k] & !there;
            if let Some(parent) = p.parent[k].filter(|parent| !has(self.ran, *parent)) {
                wanted |= one(parent);
            }
            wanted &= !self.done;
        }
        Some(())
    }
}
