//! Schedules from held tensors: the common last step of all heuristics.

use super::training::TrainingGraph;
use remat_instances::instance::NodeId;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};

/// A schedule that saves some forward tensors and recomputes each other one at most once. A tensor
/// is recomputed when the backward pass first needs it, and then kept until its last need. This is
/// the order in which PyTorch's partitioner lays out the backward graph.
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
    let mut retained = StageRuns::new(n, n);
    for i in 0..start {
        let forward = graph.last_forward_user(NodeId::from(i));
        if saved[i] {
            if let Some(last) = forward.max(last_need[i]) {
                retained.fill(i, i + 1, last);
            }
            continue;
        }
        if let Some(last) = forward {
            retained.fill(i, i + 1, last);
        }
        if let (Some(first), Some(last)) = (recomputed_in[i], last_need[i]) {
            retained.fill(i, first + 1, last);
        }
    }
    hold_gradients(graph, &mut retained);
    CheckmateSchedule::tightest(instance, retained)
}

/// Holds every gradient from its computation to its last use.
pub fn hold_gradients(graph: &TrainingGraph<'_>, retained: &mut StageRuns) {
    let instance = graph.instance();
    for i in graph.backward_start()..instance.len() {
        if let Some(last) = instance.users(NodeId::from(i)).last() {
            retained.fill(i, i + 1, last.index());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures;
    use proptest::prelude::*;
    use remat_instances::schedule::BitMatrix;
    use remat_instances::{Instance, simulate};

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
            prop_assert_eq!(&schedule.retained.to_bits(), &retained);
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
            let tight = CheckmateSchedule::tightest(&instance, retained);
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
