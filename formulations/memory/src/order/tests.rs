//! Each search alone, from either end, against all executed sets.

use super::bits;
use super::bounds::node_cuts;
use super::ends::{Ends, How};
use super::lazy::lazy;
use super::level::Pause;
use super::precedence::{Claim, Effort, Refutation};
use super::settings::OrderTuning;
use super::side::{Direction, Side, SideRun};
use super::valley::Valley;
use proptest::prelude::*;
use remat_instances::order::{
    Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId, Variant,
};
use std::collections::BTreeMap;

const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Up to nine operators: sizes and workspaces, and for each pair whether the later one reads the
/// earlier one's outputs.
fn graphs() -> impl Strategy<Value = OrderGraph> {
    let operators = prop::collection::vec((1usize..3, 0u64..20, 0u64..8, 0u8..10), 2..10);
    (operators, prop::collection::vec(0u8..100, 81)).prop_map(|(operators, pairs)| {
        let mut data = OrderGraphData::default();
        let mut outputs: Vec<Vec<TensorId>> = Vec::new();
        for (v, (count, bytes, workspace_bytes, result)) in operators.iter().enumerate() {
            let mut operator = Operator {
                workspace_bytes: workspace_bytes.saturating_sub(3),
                ..Operator::default()
            };
            for (u, made) in outputs.iter().enumerate() {
                match pairs[9 * v + u] {
                    0..25 => operator.inputs.extend(made),
                    25..40 => operator.inputs.push(made[0]),
                    40..44 => data.order_edges.push([u, v].map(|v| OperatorId(v as u32))),
                    _ => {}
                }
            }
            for k in 0..*count {
                operator.outputs.push(TensorId(data.tensors.len() as u32));
                data.tensors.push(Tensor {
                    bytes: bytes * (k as u64 + 1),
                    result: *result == 0,
                    ..Tensor::default()
                });
            }
            outputs.push(operator.outputs.clone());
            data.operators.push(operator);
            data.program_order.push(OperatorId(v as u32));
        }
        OrderGraph::new(data).unwrap()
    })
}

/// The least peak from any executed set to the end, by enumeration.
fn all_sets(side: &Side) -> BTreeMap<u32, u64> {
    let mut run = SideRun::new(side);
    let end = 1u32 << side.len;
    let mut least: BTreeMap<u32, u64> = BTreeMap::from([(end - 1, 0)]);
    for set in (0..end - 1).rev() {
        let closed = |v: u32| side.before.row(v).iter().all(|u| set >> u & 1 != 0);
        if !(0..side.len as u32).all(|v| set >> v & 1 == 0 || closed(v)) {
            continue;
        }
        run.load(&[u64::from(set)]);
        let ready = (0..side.len as u32).filter(|v| run.is_ready(*v));
        let best = ready.map(|v| run.need(v).max(least[&(set | 1 << v)])).min();
        least.insert(set, best.unwrap_or(0));
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_search_alone_finds_and_proves_the_least_peak(graph in graphs(), limit in 1usize..6) {
        let problem = graph.problem(Variant::Free).unwrap();
        let ends = Ends::of(&problem);
        let best = all_sets(&ends.forward)[&0].max(problem.base_bytes());
        let tuning = OrderTuning { block_operators: limit, ..OrderTuning::default() };
        for direction in BOTH {
            for cap in [u64::MAX, best, best.saturating_sub(1)] {
                let bound = problem.base_bytes().min(cap);
                let caught = ends.caught(bound);
                let known = problem.topological_order();
                let how = How { known, bound, cap, tuning: &tuning };
                let mut level = ends.level(direction, &caught, how);
                let pause = level.work(u64::MAX / 2, &|| false);
                if cap < best {
                    prop_assert!(pause == Pause::Exhausted && level.bound() >= best.min(cap + 1));
                    continue;
                }
                prop_assert_eq!(pause, Pause::Found);
                prop_assert!(level.bound() <= best);
                let order = ends.whole(direction, &caught, level.order().unwrap());
                let mut run = SideRun::new(&ends.forward);
                order.iter().for_each(|v| { run.run(*v); });
                prop_assert_eq!(run.peak, best);
            }
        }
    }

    #[test]
    fn both_ends_tell_the_same_memory_and_undoing_goes_back(graph in graphs()) {
        let problem = graph.problem(Variant::Free).unwrap();
        let ends = Ends::of(&problem);
        let mut forward = SideRun::new(&ends.forward);
        let mut backward = SideRun::new(&ends.backward);
        let order = problem.topological_order();
        let needs: Vec<u64> = order.iter().map(|v| forward.run(*v)).collect();
        for (v, need) in order.iter().zip(&needs).rev() {
            prop_assert_eq!(forward.bytes, backward.bytes);
            prop_assert_eq!(backward.run(*v), *need);
            forward.undo(*v);
        }
        prop_assert_eq!((forward.bytes, forward.count), (problem.base_bytes(), 0));
    }

    #[test]
    fn cuts_are_the_least_memory_between_and_proven_by_their_flow(graph in graphs()) {
        let problem = graph.problem(Variant::Free).unwrap();
        let ends = Ends::of(&problem);
        for direction in BOTH {
            let side = ends.side(direction);
            let free: Vec<u32> = (0..side.len as u32).collect();
            let run = SideRun::new(side);
            let mut valley = Valley::new(side.len, side.bytes.len());
            let least = valley.least(&run, &free, &[]);
            let mut at = SideRun::new(side);
            let sets: Vec<u32> = all_sets(side).into_keys().collect();
            let memory = |at: &mut SideRun<'_>, set: u32| { at.load(&[u64::from(set)]); at.bytes };
            let all: Vec<u64> = sets.iter().map(|set| memory(&mut at, *set)).collect();
            let found = all.iter().copied().min().unwrap();
            prop_assert_eq!(least.bytes, found);
            let chosen = least.executed().fold(0u32, |set, v| set | 1 << v);
            prop_assert_eq!(memory(&mut at, chosen), found);
            let largest = sets.iter().zip(&all).filter(|(_, b)| **b == found);
            prop_assert!(largest.map(|(set, _)| *set).all(|set| set & !chosen == 0));
        }
    }

    #[test]
    fn lazy_operators_never_free_more_than_they_take(graph in graphs()) {
        let problem = graph.problem(Variant::Free).unwrap();
        let ends = Ends::of(&problem);
        for direction in BOTH {
            let side = ends.side(direction);
            let (start, goal) = (bits::empty(side.len), bits::full(side.len));
            let lazy = lazy(side, &ends.reach, &start, &goal);
            let mut run = SideRun::new(side);
            for v in side.topological.clone() {
                prop_assert!(!lazy[v as usize] || !side.after.row(v).is_empty());
                let (taken, freed) = (run.taken(v), run.freed(v));
                prop_assert!(!lazy[v as usize] || freed <= taken);
                run.run(v);
            }
        }
    }

    #[test]
    fn refuted_levels_are_below_the_least_peak(graph in graphs()) {
        let problem = graph.problem(Variant::Free).unwrap();
        let ends = Ends::of(&problem);
        let best = all_sets(&ends.forward)[&0].max(problem.base_bytes());
        let needs = node_cuts(&ends.forward, &ends.reach, &|| false);
        let effort = Effort { cuts: usize::MAX, idle: usize::MAX, is_over: &|| false };
        for level in [best, best.saturating_sub(1), best * 9 / 10] {
            let mut claims = Vec::new();
            let mut record = |claim, _: &Side, _: &_| claims.push(claim);
            let bound = Refutation::of(&ends, level).run(&needs, &effort, &mut record);
            prop_assert!(bound.is_none_or(|bound| level < bound && bound <= best));
            let is_nowhere = |claim: &Claim| matches!(claim, Claim::Nowhere { .. });
            prop_assert_eq!(claims.iter().filter(|c| is_nowhere(c)).count(), usize::from(bound.is_some()));
        }
    }
}
