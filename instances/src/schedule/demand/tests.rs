//! Comparison of sweeps over runs with the entrywise definition.

use crate::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};
use crate::schedule::{BitMatrix, CheckmateSchedule};
use crate::simulate;
use proptest::prelude::*;

/// Inputs of a node, whether it is a by-product, whether it is computed once, and nodes that it
/// ends then.
type Choice = (u16, bool, bool, u16);

/// A graph of nodes that read earlier ones, with by-products and nodes that are computed once.
fn graph(choices: &[Choice]) -> Instance {
    let node = |(i, &(reads, with_parent, once, _)): (usize, &Choice)| {
        let needs: Vec<NodeId> = (0..i)
            .filter(|j| reads >> j & 1 != 0)
            .map(NodeId::from)
            .collect();
        let is_forward = |j: &&NodeId| !choices[j.index()].1 || choices[j.index()].0 == 0;
        let parent = needs.iter().find(is_forward).copied();
        let mut node = Node::forward(format!("v{i}"), needs, 1 + i as u64, 1 << (i % 5));
        if let (true, Some(parent)) = (with_parent, parent) {
            node.kind = NodeKind::ByProduct { parent };
        }
        node.once = once;
        node
    };
    let mut nodes: Vec<Node> = choices.iter().enumerate().map(node).collect();
    for (i, choice) in choices.iter().enumerate() {
        if !nodes[i].once || nodes[i].parent().is_some() {
            continue;
        }
        let late = |j: usize| {
            nodes[i..]
                .iter()
                .any(|v| v.parent() == Some(NodeId::from(j)))
        };
        let ends = (0..i).filter(|j| choice.3 >> j & 1 != 0 && !late(*j));
        nodes[i].ends = ends.map(NodeId::from).collect();
    }
    let data = InstanceData {
        name: "random".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).expect("the generator makes valid graphs")
}

/// Min-R and its tight form, computed from their definition.
fn by_definition(instance: &Instance, given: &BitMatrix, tight: bool) -> CheckmateSchedule {
    let n = instance.len();
    let mut computed = BitMatrix::new(n, n);
    let mut retained = BitMatrix::new(n, n);
    for t in (0..n).rev() {
        let is_once = |i: usize| !instance.may_recompute_in(NodeId::from(i), NodeId::from(t));
        let wanted = |retained: &BitMatrix, i: usize| t + 1 < n && retained.get(t + 1, i);
        let mut read = vec![false; n];
        computed.set(t, t, true);
        for i in 0..t {
            let is_wanted = wanted(&retained, i);
            retained.set(t, i, given.get(t, i) || is_once(i) && is_wanted);
            computed.set(t, i, is_wanted && !retained.get(t, i));
        }
        for k in (0..=t).rev().map(NodeId::from) {
            if !computed.get(t, k.index()) {
                continue;
            }
            let parent = instance.node(k).parent();
            if let Some(parent) = parent.filter(|_| k.index() < t) {
                computed.set(t, parent.index(), true);
            }
            for i in instance.needs(k).iter().map(|i| i.index()) {
                read[i] = true;
                if is_once(i) {
                    retained.set(t, i, true);
                } else if !retained.get(t, i) {
                    computed.set(t, i, true);
                }
            }
        }
        for i in (0..t).filter(|_| tight) {
            let is_used = read[i] || wanted(&retained, i);
            let is_held = retained.get(t, i) && is_used && !computed.get(t, i);
            retained.set(t, i, is_held);
        }
    }
    CheckmateSchedule {
        computed: computed.into(),
        retained: retained.into(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn schedules_are_those_of_the_definition(
        choices in prop::collection::vec(
            (any::<u16>(), prop::bool::weighted(0.3), prop::bool::weighted(0.2), any::<u16>()), 1..12,
        ),
        bits in prop::collection::vec(any::<bool>(), 144),
    ) {
        let instance = graph(&choices);
        let n = instance.len();
        let mut given = BitMatrix::new(n, n);
        for (k, &bit) in bits.iter().enumerate().take(n * n) {
            given.set(k / n, k % n, bit);
        }
        let loose = CheckmateSchedule::cheapest(&instance, given.clone());
        prop_assert_eq!(&loose, &by_definition(&instance, &given, false));
        let tight = CheckmateSchedule::tightest(&instance, &given);
        prop_assert_eq!(&tight, &by_definition(&instance, &given, true));
        let loose = simulate::checkmate(&instance, &loose).unwrap();
        let tight = simulate::checkmate(&instance, &tight).unwrap();
        prop_assert!(tight.cost <= loose.cost && tight.peak_bytes <= loose.peak_bytes);
    }
}
