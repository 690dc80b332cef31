//! Graphs and schedules from which plans are made.

use proptest::prelude::*;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};

pub fn instance(nodes: Vec<Node>) -> Instance {
    Instance::new(InstanceData {
        name: "test".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .unwrap()
}

pub fn ids(list: &[u32]) -> Vec<NodeId> {
    list.iter().map(|i| NodeId(*i)).collect()
}

/// A random graph (inputs among the five nodes before) with workspaces and fixed memory.
fn graph(max: usize) -> impl Strategy<Value = Instance> {
    let node = (any::<u8>(), 1..20u64, 0..50u64, 0..9i64, 0..4u64);
    prop::collection::vec(node, 2..max).prop_map(|list| {
        let mut nodes = Vec::new();
        for (i, (mask, cost, bytes, workspace, fixed)) in list.into_iter().enumerate() {
            let needs = (i.saturating_sub(5)..i).filter(|j| mask >> (i - j) & 1 != 0);
            let needs = needs.map(NodeId::from).collect();
            let mut node = Node::forward(format!("v{i}"), needs, cost, bytes);
            node.implementations[0].workspace_bytes = workspace;
            node.fixed_bytes = fixed;
            nodes.push(node);
        }
        instance(nodes)
    })
}

/// A graph and a schedule with random retained sets, made consistent by dropping tensors that
/// cannot be in memory.
pub fn scheduled(max: usize) -> impl Strategy<Value = (Instance, CheckmateSchedule)> {
    graph(max)
        .prop_flat_map(|g| {
            let n = g.len();
            (Just(g), prop::collection::vec(any::<bool>(), n * n))
        })
        .prop_map(|(g, bits)| {
            let n = g.len();
            let mut retained = BitMatrix::new(n, n);
            for t in 0..n {
                for i in 0..t {
                    retained.set(t, i, bits[t * n + i]);
                }
            }
            let schedule = CheckmateSchedule::cheapest(&g, retained);
            (g, schedule)
        })
}

/// The same with added useless computations: bits of R beyond the cheapest, closed under inputs.
pub fn wasteful(max: usize) -> impl Strategy<Value = (Instance, CheckmateSchedule)> {
    scheduled(max)
        .prop_flat_map(|(g, s)| {
            let n = g.len();
            (
                Just(g),
                Just(s),
                prop::collection::vec(prop::bool::weighted(0.2), n * n),
            )
        })
        .prop_map(|(g, mut s, bits)| {
            let n = g.len();
            for t in 0..n {
                for i in (0..=t).rev() {
                    if bits[t * n + i] || s.computed.get(t, i) {
                        s.computed.set(t, i, true);
                        for need in g.needs(NodeId::from(i)) {
                            if !s.retained.get(t, need.index()) {
                                s.computed.set(t, need.index(), true);
                            }
                        }
                    }
                }
            }
            (g, s)
        })
}
