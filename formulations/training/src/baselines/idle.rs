//! Tensors dropped while they are not read: between two uses, on any graph.
//!
//! Around the stage with the most memory, a tensor that the stage does not read is dropped, from
//! its last use before to its next one. The tensor with the least cost for its bytes above the
//! budget, in all stages, is chosen. A tensor comes back in the stage of its next use, from inputs
//! that are held there or come back with it, or sooner, before its inputs go. These reads are uses
//! as well, so that the inputs of a recomputation are held for it. Time grows with the square of
//! the nodes.

use super::{Best, NotApplicable};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_instances::simulate;
use remat_search::Patience;
use std::collections::{BTreeMap, BTreeSet};

/// Attempts: each lowers its target by the bytes by which the one before missed the budget.
const ATTEMPTS: usize = 6;
/// Limit on the nodes that come back for one.
const MOST_AGAIN: usize = 16;
/// Number of stages that cannot be lowered after which a plan is left unchanged.
const MOST_STUCK: usize = 16;

/// The cheapest schedule found that fits, or the one with the least peak.
///
/// # Errors
/// [`NotApplicable::OutOfTime`] if the time ends before the first schedule.
pub(super) fn run(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let mut best = Best::new(budget_bytes);
    let mut target = budget_bytes;
    for _ in 0..ATTEMPTS {
        let mut stretches = Stretches::new(instance, target);
        if !stretches.bring_down(patience) {
            break;
        }
        let is_stuck = stretches.stuck.contains(&true);
        let retained = stretches.retained();
        let schedule = CheckmateSchedule::tightest(instance, retained);
        let Ok(replay) = simulate::checkmate(instance, &schedule) else {
            break;
        };
        let over = replay.peak_bytes.saturating_sub(budget_bytes);
        best.take(replay, schedule);
        match target.checked_sub(over) {
            Some(less) if over > 0 && !is_stuck => target = less,
            _ => break,
        }
    }
    best.schedule().ok_or(NotApplicable::OutOfTime)
}

/// Computations that bring a tensor back.
struct Again {
    /// The tensor first, then the tensors that are not held where it comes back.
    nodes: Vec<usize>,
    /// Held tensors that they read.
    reads: Vec<usize>,
    cost: u64,
    /// Bytes of all but the tensor.
    bytes: u64,
}

/// A tensor dropped from one stage to another; both stages have it.
struct Drop {
    stretch: (usize, usize),
    again: Again,
    /// Cost for each byte of a stage above the target.
    rate: f64,
}

/// Uses and memory of a plan with falling memory.
struct Stretches<'a> {
    instance: &'a Instance,
    target_bytes: i64,
    /// Stages that read each tensor, and the stage after which it exists.
    uses: Vec<BTreeSet<usize>>,
    /// The last of these.
    last: Vec<usize>,
    /// Stretches over which each tensor is dropped: from the use before to the use after.
    dropped: Vec<BTreeMap<usize, usize>>,
    /// Tensors that each stage recomputes.
    made: Vec<BTreeSet<usize>>,
    /// Bytes of each stage.
    profile: Vec<i64>,
    /// Stages that cannot be lowered.
    stuck: Vec<bool>,
    /// Number of stages above the target before each, and the sum of their excess bytes.
    above: Vec<(i64, i64)>,
}

impl<'a> Stretches<'a> {
    fn new(instance: &'a Instance, target_bytes: u64) -> Self {
        let n = instance.len();
        let uses = instance.ids().map(|i| {
            let users = instance.users(i).iter().map(|u| u.index());
            users.chain([i.index()]).collect()
        });
        let last = |i: NodeId| instance.users(i).last().unwrap_or(&i).index();
        let plain = super::gaps::plain_bytes(instance);
        Stretches {
            instance,
            target_bytes: i64::try_from(target_bytes).unwrap_or(i64::MAX),
            uses: uses.collect(),
            last: instance.ids().map(last).collect(),
            dropped: vec![BTreeMap::new(); n],
            made: vec![BTreeSet::new(); n],
            profile: plain.into_iter().map(|bytes| bytes as i64).collect(),
            stuck: vec![false; n],
            above: vec![(0, 0); n + 1],
        }
    }

    /// Drops tensors until every stage fits, or too many cannot. Returns false if the time ends.
    fn bring_down(&mut self, patience: Patience<'_>) -> bool {
        let mut stuck = 0;
        while let Some(t) = self.worst() {
            if patience.is_over() {
                return false;
            }
            let mut best: Option<Drop> = None;
            for i in 0..t {
                if let Some(better) = self.better(i, t, best.as_ref()) {
                    best = Some(better);
                }
            }
            match best {
                Some(best) => self.take(best),
                None if stuck == MOST_STUCK => break,
                None => {
                    self.stuck[t] = true;
                    stuck += 1;
                }
            }
        }
        true
    }

    /// Tensors that each stage retains.
    fn retained(&self) -> StageRuns {
        let n = self.instance.len();
        let mut retained = StageRuns::new(n, n);
        for (i, dropped) in self.dropped.iter().enumerate() {
            retained.fill(i, i + 1, self.last[i]);
            for (from, to) in dropped {
                retained.clear(i, from + 1, *to);
            }
        }
        retained
    }

    /// The stage with the largest excess over the target; also sums up all excesses.
    fn worst(&mut self) -> Option<usize> {
        let mut worst = None;
        let mut most = 0;
        for (t, bytes) in self.profile.iter().enumerate() {
            let over = (bytes - self.target_bytes).max(0);
            let (count, sum) = self.above[t];
            self.above[t + 1] = (count + i64::from(over > 0), sum + over);
            if over > most && !self.stuck[t] {
                (worst, most) = (Some(t), over);
            }
        }
        worst
    }

    /// Returns whether a tensor is in memory in a stage: held, or recomputed for a use.
    fn is_held(&self, i: usize, t: usize) -> bool {
        let is_alive = i < t && t <= self.last[i];
        let before = self.dropped[i].range(..t).next_back();
        is_alive && before.is_none_or(|(_, to)| *to <= t)
    }

    /// The uses before and after a stage that holds a tensor and does not read it.
    fn stretch(&self, i: usize, t: usize) -> Option<(usize, usize)> {
        let uses = &self.uses[i];
        let to = uses.range(t..).next()?;
        let from = uses.range(..t).next_back()?;
        (*to > t && self.is_held(i, t)).then_some((*from, *to))
    }

    /// The last stage up to `t` at which all inputs of a tensor are held, each by itself.
    fn last_inputs(&self, i: usize, t: usize) -> usize {
        let held_to = |need: usize| {
            let last = self.last[need].min(t);
            let gap = self.dropped[need].range(..last).next_back();
            match gap {
                Some((from, to)) if last < *to => *from,
                _ => last,
            }
        };
        let needs = self.instance.needs(NodeId::from(i)).iter();
        needs.map(|k| held_to(k.index())).min().unwrap_or(t).min(t)
    }

    /// The drop of a tensor around a stage, to its next use or until its inputs go. `None` unless
    /// it costs less than another for each byte of a stage above the target.
    fn better(&self, i: usize, t: usize, than: Option<&Drop>) -> Option<Drop> {
        let node = self.instance.node(NodeId::from(i));
        let bytes = node.output_bytes as i64;
        let mut least = than.map_or(f64::INFINITY, |drop| drop.rate);
        let rate = |cost: u64, gain: i64| (1 + cost) as f64 / gain as f64;
        let (count, sum) = self.above[self.last[i]];
        if self.last[i] <= t || rate(node.run_cost(true), sum.min(bytes * count)) >= least {
            return None;
        }
        let (from, to) = self.stretch(i, t)?;
        let mut best = None;
        for to in [to, self.last_inputs(i, to)] {
            let [(count, sum), (before, base)] = [self.above[to], self.above[from + 1]];
            let gain = (bytes * (count - before)).min(sum - base);
            if to <= t || gain <= 0 || rate(node.run_cost(true), gain) >= least {
                continue;
            }
            let Some(again) = self.again(i, to) else {
                continue;
            };
            let room = (self.target_bytes - self.profile[to]).max(0);
            let gain = gain - (again.bytes as i64 - room).max(0);
            if gain > 0 && rate(again.cost, gain) < least {
                least = rate(again.cost, gain);
                best = Some(Drop {
                    stretch: (from, to),
                    rate: least,
                    again,
                });
            }
        }
        best
    }

    /// Computations that bring a tensor back in a stage; `None` if that is impossible or takes too
    /// many.
    fn again(&self, i: usize, t: usize) -> Option<Again> {
        let mut all = Again {
            nodes: vec![i],
            reads: Vec::new(),
            cost: 0,
            bytes: 0,
        };
        let mut next = 0;
        while let Some(&j) = all.nodes.get(next) {
            next += 1;
            let id = NodeId::from(j);
            let node = self.instance.node(id);
            if !self.instance.may_recompute_in(id, NodeId::from(t)) || node.parent().is_some() {
                return None;
            }
            all.cost = all.cost.saturating_add(node.run_cost(true));
            if j != i {
                all.bytes += node.output_bytes;
            }
            for need in self.instance.needs(id).iter().map(|k| k.index()) {
                if self.is_held(need, t) || self.made[t].contains(&need) {
                    all.reads.push(need);
                } else if !all.nodes.contains(&need) {
                    all.nodes.push(need);
                }
            }
            if all.nodes.len() > MOST_AGAIN {
                return None;
            }
        }
        Some(all)
    }

    /// Drops a tensor: updates memory, and the uses of tensors that bring it back.
    fn take(&mut self, drop: Drop) {
        let (from, to) = drop.stretch;
        let i = drop.again.nodes[0];
        let bytes = self.instance.node(NodeId::from(i)).output_bytes as i64;
        self.dropped[i].insert(from, to);
        self.uses[i].insert(to);
        self.profile[from + 1..to]
            .iter_mut()
            .for_each(|b| *b -= bytes);
        self.profile[to] += drop.again.bytes as i64;
        self.made[to].extend(&drop.again.nodes);
        for j in drop.again.reads {
            // A tensor recomputed there does not use a held one.
            if self.is_held(j, to) {
                self.uses[j].insert(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::zoo;

    fn layered(n: usize, seed: u64) -> Instance {
        let spec = format!("zoo:random_layered?n={n}&seed={seed}");
        zoo::build(&spec.parse().unwrap()).unwrap()
    }

    #[test]
    fn general_graphs_fit_below_their_plain_peak() {
        for seed in 1..=3 {
            let instance = layered(120, seed);
            let plain = CheckmateSchedule::checkpoint_all(&instance);
            let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
            for (percent, overhead) in [(100, 0), (95, 6), (85, 15)] {
                let budget = peak * percent / 100;
                let schedule = run(&instance, budget, Patience::ENDLESS).unwrap();
                let replay = simulate::checkmate(&instance, &schedule).unwrap();
                assert!(replay.peak_bytes <= budget, "seed {seed}, {percent}%");
                let over = replay.cost - instance.base_cost();
                assert!(
                    over * 100 <= instance.base_cost() * overhead,
                    "{percent}%: {over}"
                );
            }
        }
    }

    #[test]
    fn the_least_peak_comes_where_nothing_fits_and_nothing_where_there_is_no_time() {
        let instance = layered(120, 1);
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
        let schedule = run(&instance, 0, Patience::ENDLESS).unwrap();
        let least = simulate::checkmate(&instance, &schedule)
            .unwrap()
            .peak_bytes;
        assert!(least < peak * 9 / 10, "{least} of {peak}");
        let ended = run(&instance, peak / 2, Patience::until(&|| true));
        assert_eq!(ended, Err(NotApplicable::OutOfTime));
    }
}
