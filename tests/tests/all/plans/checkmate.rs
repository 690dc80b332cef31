//! Plans of random schedules of Checkmate's program: no worse than the schedule, and without
//! useless steps.

use super::graphs::{scheduled, wasteful};
use proptest::prelude::*;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::{Semantics, simulate};
use std::collections::BTreeMap;

/// Algorithm 1 to the letter, without moving deallocations: memory as `U` counts it. A tensor that
/// is recomputed while it is held stays twice until the stage ends.
fn literal_plan(g: &Instance, s: &CheckmateSchedule) -> Plan {
    let n = g.len();
    let mut steps = Vec::new();
    let mut register: BTreeMap<usize, Register> = BTreeMap::new();
    let mut next = 0;
    for t in 0..n {
        let kept = |i: usize| t + 1 < n && s.retained.get(t + 1, i);
        let mut old = Vec::new();
        for k in s.computed.ones(t) {
            let fresh = Register(next);
            next += 1;
            let node = NodeId::from(k);
            old.extend(register.insert(k, fresh));
            steps.push(Step::Allocate {
                register: fresh,
                node,
            });
            steps.push(Step::Compute {
                node,
                register: fresh,
                implementation: 0,
            });
            for i in g.needs(node).iter().map(|i| i.index()) {
                let again = g
                    .users(NodeId::from(i))
                    .iter()
                    .any(|u| u.index() > k && s.computed.get(t, u.index()));
                if !again && !kept(i) {
                    let register = register.remove(&i).unwrap();
                    steps.push(Step::Deallocate { register });
                }
            }
        }
        let rest: Vec<usize> = register.keys().copied().filter(|i| !kept(*i)).collect();
        old.extend(rest.into_iter().map(|i| register.remove(&i).unwrap()));
        steps.extend(
            old.into_iter()
                .map(|register| Step::Deallocate { register }),
        );
    }
    Plan {
        instance: g.name().into(),
        semantics: Semantics::Checkmate,
        steps,
    }
}

/// Registers that are freed unread, by the node they held, without each node's first.
fn unread(g: &Instance, plan: &Plan) -> Vec<NodeId> {
    let mut seen = vec![false; g.len()];
    // Register -> (node, read since, first computation of the node).
    let mut live: BTreeMap<Register, (NodeId, bool, bool)> = BTreeMap::new();
    let mut dead = Vec::new();
    for step in &plan.steps {
        match *step {
            Step::Allocate { .. }
            | Step::Offload { .. }
            | Step::Wait { .. }
            | Step::Prefetch { .. }
            | Step::Release { .. }
            | Step::Gather { .. }
            | Step::Scatter { .. } => {}
            Step::Compute { node, register, .. } => {
                for entry in live.values_mut() {
                    entry.1 |= g.needs(node).contains(&entry.0);
                }
                let first = !std::mem::replace(&mut seen[node.index()], true);
                live.insert(register, (node, false, first));
            }
            Step::Deallocate { register } => {
                if let Some((node, false, false)) = live.remove(&register) {
                    dead.push(node);
                }
            }
        }
    }
    dead
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_two_judges_agree_on_the_literal_plan((g, s) in wasteful(14)) {
        let by_schedule = simulate::checkmate(&g, &s).unwrap();
        let by_plan = simulate::plan(&g, &literal_plan(&g, &s)).unwrap();
        prop_assert_eq!(by_schedule.cost, by_plan.cost);
        prop_assert_eq!(by_schedule.computations, by_plan.computations);
        // A plan has no sample between stages, because no node runs there. Such a moment is never
        // above the stage's first computation, which holds the same tensors and its output.
        prop_assert_eq!(by_schedule.peak_bytes, by_plan.peak_bytes);
    }

    #[test]
    fn a_plan_costs_what_its_schedule_costs_in_no_more_memory((g, s) in wasteful(14)) {
        let judged = simulate::checkmate(&g, &s).unwrap();
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let replay = simulate::plan(&g, &plan).unwrap();
        prop_assert_eq!(replay.cost, judged.cost);
        prop_assert!(replay.peak_bytes <= judged.peak_bytes);
        let optimised = plan.optimised(&g).unwrap();
        let after = simulate::plan(&g, &optimised).unwrap();
        prop_assert!(after.cost <= replay.cost);
        prop_assert!(after.peak_bytes <= replay.peak_bytes);
        prop_assert!(optimised.computations(g.len()).iter().all(|c| *c > 0));
        prop_assert_eq!(unread(&g, &optimised), vec![]);
        prop_assert_eq!(&optimised.optimised(&g).unwrap(), &optimised);
    }

    #[test]
    fn optimising_a_literal_plan_is_as_good_as_optimising_the_tight_one((g, s) in wasteful(14)) {
        let literal = literal_plan(&g, &s).optimised(&g).unwrap();
        let tight = Plan::from_checkmate(&g, &s).unwrap().optimised(&g).unwrap();
        let (literal, tight) = (simulate::plan(&g, &literal).unwrap(), simulate::plan(&g, &tight).unwrap());
        prop_assert_eq!((literal.cost, literal.peak_bytes), (tight.cost, tight.peak_bytes));
    }

    #[test]
    fn no_deallocation_can_move_before_the_computation_it_follows((g, s) in scheduled(9)) {
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let mut computed = None;
        for (at, step) in plan.steps.iter().enumerate() {
            match step {
                Step::Compute { .. } => computed = Some(at),
                Step::Allocate { .. }
            | Step::Offload { .. }
            | Step::Wait { .. }
            | Step::Prefetch { .. }
            | Step::Release { .. }
            | Step::Gather { .. }
            | Step::Scatter { .. } => {}
                Step::Deallocate { .. } => {
                    let mut moved = plan.clone();
                    let step = moved.steps.remove(at);
                    moved.steps.insert(computed.unwrap(), step);
                    prop_assert!(simulate::plan(&g, &moved).is_err());
                }
            }
        }
    }
}
