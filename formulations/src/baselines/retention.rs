//! Schedules from what is held when: the common last step of all heuristics.

use super::training::TrainingGraph;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use std::ops::RangeInclusive;

/// Marks a tensor as retained at the start of all stages of a range (cut off at the last stage).
pub fn hold(retained: &mut BitMatrix, tensor: usize, stages: RangeInclusive<usize>) {
    let last = (*stages.end()).min(retained.rows().saturating_sub(1));
    for stage in *stages.start()..=last {
        retained.set(stage, tensor, true);
    }
}

/// The cheapest computations for the given retained sets, and nothing held or computed that is of
/// no use.
///
/// One sweep over the stages from the last to the first: with what the next stage really needs
/// known, the computations of a stage follow as in [`CheckmateSchedule::cheapest`], and of its
/// retained tensors only those stay that a computation reads or the next stage holds. The
/// heuristics can thus hold a checkpoint "to the end" and get it freed after its last use,
/// recomputations of later stages included. Checkmate's program treats retentions without use as
/// spurious as well (section 4.6).
///
/// The cost is at most that of [`CheckmateSchedule::cheapest`] for the same sets, and so is the
/// peak. Time is linear in the computations and their inputs, plus one bit operation for each
/// (stage, node).
pub fn tighten(instance: &Instance, mut retained: BitMatrix) -> CheckmateSchedule {
    let n = instance.len();
    let mut computed = BitMatrix::new(n, n);
    let words = computed.words_per_row();
    let mut read = vec![0u64; words];
    let mut next = vec![0u64; words];
    for t in (0..n).rev() {
        retained.clear_from(t, t);
        read.fill(0);
        for ((row, &wanted), &held) in computed
            .row_mut(t)
            .iter_mut()
            .zip(&next)
            .zip(retained.row(t))
        {
            *row |= wanted & !held;
        }
        computed.set(t, t, true);
        for w in (0..=t / 64).rev() {
            let mut done = 0u64;
            loop {
                let rest = computed.row(t)[w] & !done;
                if rest == 0 {
                    break;
                }
                let bit = 63 - rest.leading_zeros() as usize;
                done |= 1 << bit;
                for need in instance.needs(NodeId::from(w * 64 + bit)) {
                    let i = need.index();
                    read[i / 64] |= 1 << (i % 64);
                    if !retained.get(t, i) {
                        computed.set(t, i, true);
                    }
                }
            }
        }
        let row = retained.row_mut(t);
        for ((held, later), used) in row.iter_mut().zip(&mut next).zip(&read) {
            *held &= used | *later;
            *later = *held;
        }
    }
    CheckmateSchedule { computed, retained }
}

/// A schedule that saves some forward tensors and recomputes each other one at most once, when the
/// backward pass first needs it, and then keeps it until its last need. This is the order in which
/// PyTorch's partitioner lays out the backward graph.
///
/// `saved[i]`: forward node `i` is kept from its computation to its last need. Length: at least
/// [`TrainingGraph::backward_start`]. A need is a read by a backward node or by a recomputation.
pub fn recompute_at_first_need(graph: &TrainingGraph<'_>, saved: &[bool]) -> CheckmateSchedule {
    let instance = graph.instance();
    let (n, start) = (instance.len(), graph.backward_start());
    let mut recomputed_in: Vec<Option<usize>> = vec![None; start];
    let mut last_need: Vec<Option<usize>> = vec![None; start];
    let mut open = Vec::new();
    for t in start..n {
        open.extend_from_slice(instance.needs(NodeId::from(t)));
        while let Some(need) = open.pop() {
            let i = need.index();
            if i >= start {
                continue;
            }
            last_need[i] = Some(t);
            if !saved[i] && recomputed_in[i].is_none() {
                recomputed_in[i] = Some(t);
                open.extend_from_slice(instance.needs(need));
            }
        }
    }
    let mut retained = BitMatrix::new(n, n);
    for i in 0..start {
        let forward = graph.last_forward_user(NodeId::from(i));
        if saved[i] {
            if let Some(last) = forward.max(last_need[i]) {
                hold(&mut retained, i, i + 1..=last);
            }
            continue;
        }
        if let Some(last) = forward {
            hold(&mut retained, i, i + 1..=last);
        }
        if let (Some(first), Some(last)) = (recomputed_in[i], last_need[i]) {
            hold(&mut retained, i, first + 1..=last);
        }
    }
    hold_gradients(graph, &mut retained);
    tighten(instance, retained)
}

/// Holds every gradient from its computation to its last use.
pub fn hold_gradients(graph: &TrainingGraph<'_>, retained: &mut BitMatrix) {
    let instance = graph.instance();
    for i in graph.backward_start()..instance.len() {
        if let Some(last) = instance.users(NodeId::from(i)).last() {
            hold(retained, i, i + 1..=last.index());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures;
    use proptest::prelude::*;
    use remat_instances::simulate;

    /// Cost of a cheapest R for the given S by trying all subsets of computations, stage by stage.
    fn brute_force_cost(instance: &Instance, retained: &BitMatrix) -> Option<u64> {
        let n = instance.len();
        let mut total = 0;
        for t in 0..n {
            let held = |i: usize| retained.get(t, i);
            let mut least = None;
            for set in 0u32..1 << (t + 1) {
                let runs = |i: usize| set >> i & 1 != 0;
                let executable = runs(t)
                    && (0..=t).all(|k| {
                        let needs = instance.needs(NodeId::from(k));
                        !runs(k) || needs.iter().all(|j| held(j.index()) || runs(j.index()))
                    })
                    && (t + 1 == n || retained.ones(t + 1).all(|i| held(i) || runs(i)));
                if executable {
                    let cost = instance
                        .ids()
                        .filter(|i| i.index() <= t && runs(i.index()))
                        .map(|i| instance.node(i).run_cost(i.index() < t))
                        .sum::<u64>();
                    least = Some(least.map_or(cost, |c: u64| c.min(cost)));
                }
            }
            total += least?;
        }
        Some(total)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn min_r_is_optimal_for_given_retained_sets(
            instance in fixtures::small_dag(7),
            bits in prop::collection::vec(any::<bool>(), 49),
        ) {
            let n = instance.len();
            let mut retained = BitMatrix::new(n, n);
            for t in 0..n {
                for i in 0..t {
                    retained.set(t, i, bits[t * 7 + i]);
                }
            }
            let schedule = CheckmateSchedule::cheapest(&instance, retained.clone());
            let replay = simulate::checkmate(&instance, &schedule).unwrap();
            prop_assert_eq!(&schedule.retained, &retained);
            prop_assert_eq!(Some(replay.cost), brute_force_cost(&instance, &retained));
        }

        #[test]
        fn tightening_never_costs_more_and_leaves_nothing_unused(
            instance in fixtures::small_dag(9),
            bits in prop::collection::vec(any::<bool>(), 81),
        ) {
            let n = instance.len();
            let mut retained = BitMatrix::new(n, n);
            for t in 0..n {
                for i in 0..t {
                    retained.set(t, i, bits[t * 9 + i]);
                }
            }
            let loose = CheckmateSchedule::cheapest(&instance, retained.clone());
            let tight = tighten(&instance, retained);
            let before = simulate::checkmate(&instance, &loose).unwrap();
            let after = simulate::checkmate(&instance, &tight).unwrap();
            prop_assert!(after.cost <= before.cost);
            prop_assert!(after.peak_bytes <= before.peak_bytes);
            prop_assert_eq!(&CheckmateSchedule::cheapest(&instance, tight.retained.clone()), &tight);
            for t in 0..n {
                for i in tight.retained.ones(t) {
                    let is_read = instance
                        .users(NodeId::from(i))
                        .iter()
                        .any(|u| tight.computed.get(t, u.index()));
                    prop_assert!(is_read || t + 1 < n && tight.retained.get(t + 1, i));
                }
            }
        }

        #[test]
        fn what_is_not_saved_is_recomputed_at_most_once(
            instance in fixtures::training_dag(),
            saved in prop::collection::vec(any::<bool>(), 64),
        ) {
            let graph = TrainingGraph::new(&instance).unwrap();
            let schedule = recompute_at_first_need(&graph, &saved);
            simulate::checkmate(&instance, &schedule).unwrap();
            for (i, &is_saved) in saved.iter().enumerate().take(instance.len()) {
                let times = (0..instance.len()).filter(|&t| schedule.computed.get(t, i)).count();
                let kept = i >= graph.backward_start() || is_saved;
                prop_assert!(times == 1 || times == 2 && !kept, "node {} runs {} times", i, times);
            }
        }
    }
}
