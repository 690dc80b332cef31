//! Tensors dropped over their gaps: from the last forward reader to the first backward one.
//!
//! In that gap a tensor only takes up memory. The cheapest tensors for their bytes are dropped
//! until every moment of the plain execution fits, and come back when the backward pass first needs
//! one of them. Tensors that are computed from one another come back together, so the bytes of such
//! a segment are limited, as in Chen's method; the smallest segments for which the schedule fits
//! are searched. The work is linear in the edges up to a logarithm, on any graph, so it suits
//! graphs of 100,000 nodes.

use super::profile::Profile;
use super::retention::recompute_at_first_need;
use super::training::TrainingGraph;
use super::{Best, NotApplicable, idle};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_search::Patience;

/// Attempts with segments of one size: each lowers its target by the bytes by which the one before
/// missed the budget.
const ATTEMPTS: usize = 6;
/// Limit on the tensors visited to find others that come back together with one.
const WALK: usize = 32;

/// Segments of twice the bytes each time, until one fits and the next is no cheaper; else the
/// schedule with the least peak. On graphs without a backward pass, the gaps between any two uses
/// count.
///
/// # Errors
/// [`NotApplicable`] without a forward pass, or if the time ends before the first schedule.
pub fn run(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = match TrainingGraph::new(instance) {
        Err(NotApplicable::NoBackwardPass) => return idle::run(instance, budget_bytes, patience),
        graph => graph?,
    };
    let gaps = Gaps::new(&graph);
    let total: u64 = gaps.candidates.iter().map(|c| c.segment_bytes).sum();
    let largest = gaps.candidates.iter().map(|c| c.segment_bytes).max();
    let mut best = Best::new(budget_bytes);
    let mut segment_bytes = largest.unwrap_or(0).max(1);
    loop {
        let better = gaps.search(segment_bytes, &mut best, patience);
        if segment_bytes >= total || best.fits() && !better || patience.is_over() {
            return best.schedule().ok_or(NotApplicable::OutOfTime);
        }
        segment_bytes = segment_bytes.saturating_mul(2);
    }
}

/// A forward tensor that the backward pass reads.
struct GapCandidate {
    id: NodeId,
    /// First and last stage of its gap.
    gap: [usize; 2],
    bytes: u64,
    /// Cost of its recomputation, including inputs that are gone by then in any case.
    cost: u64,
    /// Bytes of these tensors.
    segment_bytes: u64,
}

struct Gaps<'a> {
    graph: &'a TrainingGraph<'a>,
    /// By rising cost per byte.
    candidates: Vec<GapCandidate>,
    /// True if the backward pass reads the node, or it cannot be recomputed: such a node is held
    /// unless it is dropped. All others are recomputed for their readers.
    held: Vec<bool>,
    /// Memory of the plain execution, by stages.
    plain: Profile,
}

impl<'a> Gaps<'a> {
    fn new(graph: &'a TrainingGraph<'a>) -> Self {
        let instance = graph.instance();
        let start = graph.backward_start();
        let held: Vec<bool> = (0..start)
            .map(NodeId::from)
            .map(|i| !graph.backward_users(i).is_empty() || !instance.may_recompute(i))
            .collect();
        // Upper bounds on cost and bytes of a recomputation, with inputs that are not held: common
        // inputs of two of them are counted twice.
        let mut again = vec![(0u64, 0u64); start];
        let mut candidates = Vec::new();
        for i in (0..start).map(NodeId::from) {
            let node = instance.node(i);
            let mut sum = (node.run_cost(true), node.output_bytes);
            for need in instance.needs(i).iter().filter(|j| !held[j.index()]) {
                let more = again[need.index()];
                sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
            }
            again[i.index()] = sum;
            let first = graph.last_forward_user(i).unwrap_or(i.index()) + 1;
            if let Some(next) = graph.backward_users(i).first()
                && first < next.index()
                && instance.may_recompute_in(i, *next)
                && node.parent().is_none()
                && node.output_bytes > 0
            {
                candidates.push(GapCandidate {
                    id: i,
                    gap: [first, next.index() - 1],
                    bytes: node.output_bytes,
                    cost: sum.0,
                    segment_bytes: sum.1,
                });
            }
        }
        candidates.sort_by(|a, b| {
            let [of_a, of_b] =
                [(a, b), (b, a)].map(|(x, y)| u128::from(x.cost) * u128::from(y.bytes));
            of_a.cmp(&of_b)
        });
        Gaps {
            graph,
            candidates,
            held,
            plain: Profile::new(&plain_bytes(instance)),
        }
    }

    /// Drops tensors until a budget is met on paper, replays, and leaves more room until the replay
    /// fits. Returns whether a better schedule was found.
    fn search(&self, segment_bytes: u64, best: &mut Best, patience: Patience<'_>) -> bool {
        let mut better = false;
        let mut target = best.budget_bytes;
        for _ in 0..ATTEMPTS {
            if patience.is_over() {
                break;
            }
            let saved = self.dropped(target, segment_bytes);
            let schedule = recompute_at_first_need(self.graph, &saved);
            let Ok(replay) = simulate::checkmate(self.graph.instance(), &schedule) else {
                break;
            };
            let over = replay.peak_bytes.saturating_sub(best.budget_bytes);
            better |= best.take(replay, schedule);
            match target.checked_sub(over) {
                Some(less) if over > 0 => target = less,
                _ => break,
            }
        }
        better
    }

    /// Marks the held tensors, if the cheapest ones are dropped until each moment fits or no more
    /// can be dropped.
    fn dropped(&self, target_bytes: u64, segment_bytes: u64) -> Vec<bool> {
        let mut saved = self.held.clone();
        let mut profile = self.plain.clone();
        let mut segments = Segments::new(saved.len());
        for c in &self.candidates {
            if profile.most() <= target_bytes {
                break;
            }
            if profile.most_in(c.gap) <= target_bytes {
                continue;
            }
            let beside = self.beside(c.id, &segments);
            if segments.join(c.id, c.segment_bytes, beside, segment_bytes) {
                saved[c.id.index()] = false;
                profile.lower(c.gap, c.bytes);
            }
        }
        saved
    }

    /// Dropped tensors that come back together with one: it is computed from them, or they from it,
    /// directly or through tensors that are not held.
    fn beside(&self, id: NodeId, segments: &Segments) -> Vec<NodeId> {
        let instance = self.graph.instance();
        let mut found = Vec::new();
        for next in [Instance::needs, Instance::users] {
            let mut open = vec![id];
            let mut steps = 0;
            while let Some(i) = open.pop()
                && steps < WALK
            {
                steps += 1;
                for &j in next(instance, i) {
                    match self.held.get(j.index()) {
                        Some(true) if segments.is_in(j) => found.push(j),
                        Some(false) => open.push(j),
                        _ => {}
                    }
                }
            }
        }
        found
    }
}

/// Bytes in memory at each stage of the plain execution.
pub(super) fn plain_bytes(instance: &Instance) -> Vec<u64> {
    let mut frees = vec![0; instance.len()];
    let mut alive = instance.static_bytes();
    let stages = instance.ids().map(|i| {
        let node = instance.node(i);
        match instance.users(i).last() {
            Some(last) => frees[last.index()] += node.output_bytes,
            None => frees[i.index()] += node.output_bytes,
        }
        alive += node.output_bytes;
        let here = alive + node.workspace_bytes();
        alive -= frees[i.index()];
        here
    });
    stages.collect()
}

/// Sets of dropped tensors that come back together (a union-find structure).
struct Segments {
    /// The node before, towards the root of its set; `None` for tensors that are not dropped.
    towards: Vec<Option<u32>>,
    /// Bytes of the set, at its root.
    bytes: Vec<u64>,
}

impl Segments {
    fn new(nodes: usize) -> Self {
        Segments {
            towards: vec![None; nodes],
            bytes: vec![0; nodes],
        }
    }

    fn is_in(&self, i: NodeId) -> bool {
        self.towards[i.index()].is_some()
    }

    fn root(&mut self, mut i: u32) -> u32 {
        while let Some(next) = self.towards[i as usize]
            && next != i
        {
            // Path halving.
            let beyond = self.towards[next as usize];
            self.towards[i as usize] = beyond;
            i = beyond.unwrap_or(next);
        }
        i
    }

    /// Joins a tensor to the sets of others, unless their sum exceeds `most_bytes`; a tensor alone
    /// always may. Returns whether it did.
    fn join(&mut self, id: NodeId, bytes: u64, others: Vec<NodeId>, most_bytes: u64) -> bool {
        let mut roots: Vec<u32> = others.iter().map(|j| self.root(j.0)).collect();
        roots.sort_unstable();
        roots.dedup();
        let sum = roots
            .iter()
            .map(|r| self.bytes[*r as usize])
            .fold(bytes, u64::saturating_add);
        if !roots.is_empty() && sum > most_bytes {
            return false;
        }
        self.towards[id.index()] = Some(id.0);
        self.bytes[id.index()] = sum;
        for root in roots {
            self.towards[root as usize] = Some(id.0);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, residual, uniform_chain};
    use crate::bound::knapsack_bound;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn replayed(instance: &Instance, budget_bytes: u64) -> remat_instances::simulate::Replay {
        let schedule = run(instance, budget_bytes, Patience::ENDLESS).unwrap();
        simulate::checkmate(instance, &schedule).unwrap()
    }

    #[test]
    fn a_long_uniform_chain_costs_a_few_nodes_more_than_any_schedule() {
        let instance = uniform_chain(400, Reads::Both);
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
        for percent in [90, 70, 50, 30, 15] {
            let budget = peak * percent / 100;
            let replay = replayed(&instance, budget);
            let bound = knapsack_bound(&instance, budget).unwrap().cost;
            assert!(replay.peak_bytes <= budget, "{percent}%");
            let over = replay.cost - bound;
            assert!(over * 20 <= instance.base_cost(), "{percent}%: {over}");
        }
    }

    #[test]
    fn nothing_is_dropped_where_everything_fits_and_the_least_peak_comes_where_nothing_does() {
        let instance = residual(60);
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let all = simulate::checkmate(&instance, &plain).unwrap();
        assert_eq!(
            replayed(&instance, all.peak_bytes).cost,
            instance.base_cost()
        );
        assert!(replayed(&instance, 0).peak_bytes < all.peak_bytes);
    }

    #[test]
    fn impatience_ends_it_with_what_there_is() {
        let instance = residual(60);
        let asked = AtomicU32::new(0);
        let is_over = || asked.fetch_add(1, Ordering::Relaxed) > 0;
        assert!(run(&instance, 0, Patience::until(&is_over)).is_ok());
        let ended = run(&instance, 0, Patience::until(&|| true));
        assert_eq!(ended, Err(NotApplicable::OutOfTime));
    }
}
