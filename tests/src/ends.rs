//! Nodes that end the recomputation of others, in small graphs, by the words of the format alone.

use crate::graphs::Numbers;
use remat_instances::instance::InstanceData;
use remat_instances::{Instance, NodeId};

/// Returns whether one of the nodes before `t` ends node `k`, or its parent.
pub fn is_ended_before(instance: &Instance, k: usize, t: usize) -> bool {
    is_ended(instance, k, (0..t).map(NodeId::from))
}

/// Returns whether one of the nodes `ran` ends node `k`, or its parent.
pub fn is_ended(instance: &Instance, k: usize, mut ran: impl Iterator<Item = NodeId>) -> bool {
    let id = NodeId::from(k);
    let parent = instance.node(id).parent();
    ran.any(|update| {
        let ends = &instance.node(update).ends;
        ends.contains(&id) || parent.is_some_and(|parent| ends.contains(&parent))
    })
}

/// The graph with one or two nodes that run once and end most of the nodes before them. The
/// by-products of these come before as well.
pub fn with_ends(graph: &Instance, numbers: &mut Numbers) -> Instance {
    let mut nodes = graph.nodes().to_vec();
    let first = nodes.len() / 3;
    for _ in 0..1 + numbers.below(2) {
        let i = first + numbers.below((nodes.len() - first) as u64) as usize;
        if nodes[i].parent().is_some() {
            continue;
        }
        let is_late = |j: &usize| {
            nodes[i..]
                .iter()
                .any(|v| v.parent() == Some(NodeId::from(*j)))
        };
        let earlier = (0..i).filter(|j| !is_late(j));
        let ends = earlier.filter(|_| numbers.below(3) > 0);
        let ends: Vec<NodeId> = ends.map(NodeId::from).collect();
        nodes[i].once |= !ends.is_empty();
        nodes[i].ends = ends;
    }
    Instance::new(InstanceData {
        nodes,
        ..graph.data().clone()
    })
    .expect("a valid graph with ends")
}

/// The graph without ends; nodes that had them still run once.
pub fn without_ends(graph: &Instance) -> Instance {
    let mut nodes = graph.nodes().to_vec();
    nodes.iter_mut().for_each(|node| node.ends.clear());
    Instance::new(InstanceData {
        nodes,
        ..graph.data().clone()
    })
    .expect("a valid graph without ends")
}
