//! Updates right behind what they read, in place of the end of the step.
//!
//! An update makes no output and has no reader. It is *early* if it runs directly behind its last
//! input. The nodes that it alone reads, such as a weight gradient, go with it, so no memory is
//! left behind them. An order with early updates is taken only if its peak without recomputation is
//! lower.

use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId, Precedence};

/// The order with early updates: node `k` of it is the given node `order[k]`. `None` if it is the
/// given order, or if its peak without recomputation is not below `peak_bytes`, the given order's.
pub(crate) fn early_updates(
    instance: &Instance,
    semantics: Semantics,
    peak_bytes: u64,
) -> Option<Vec<NodeId>> {
    let updates: Vec<NodeId> = instance
        .ids()
        .filter(|id| is_update(instance, *id))
        .collect();
    if updates.is_empty() {
        return None;
    }
    let rules = Precedence::of(instance, semantics);
    let order = moved(instance, &rules, &updates);
    if order.is_sorted() || !rules.allows(&order) {
        return None;
    }
    let other = instance.reordered(&order).ok()?;
    let peak = other.plain_replay(semantics).ok()?.peak_bytes;
    (peak < peak_bytes).then_some(order)
}

/// Returns whether a node of the backward pass runs once, without an output or a reader.
fn is_update(instance: &Instance, id: NodeId) -> bool {
    let node = instance.node(id);
    // A node without cost only marks a place, such as the end of the step.
    let takes_time = node.run_cost(false) > 0;
    let is_free = node.once && node.is_backward() && node.output_bytes == 0 && !node.result;
    let is_free = is_free && takes_time;
    is_free && instance.users(id).is_empty() && !instance.needs(id).is_empty()
}

/// The order in which each update, with the nodes that it alone reads, follows its last input.
fn moved(instance: &Instance, rules: &Precedence, updates: &[NodeId]) -> Vec<NodeId> {
    let start = instance.backward_start().map_or(0, NodeId::index);
    let mut branch_of: Vec<Option<usize>> = vec![None; instance.len()];
    for (k, update) in updates.iter().enumerate() {
        mark(instance, *update, k, start, &mut branch_of);
    }
    let mut branches: Vec<Vec<NodeId>> = vec![Vec::new(); updates.len()];
    for id in instance.ids() {
        if let Some(k) = branch_of[id.index()] {
            branches[k].push(id);
        }
    }
    // The node behind which each node stands, and the number of its branch; 0 for other nodes.
    let mut keys: Vec<(usize, usize)> = (0..instance.len()).map(|i| (i, 0)).collect();
    let mut is_placed = vec![false; updates.len()];
    for (k, nodes) in branches.iter().enumerate() {
        let before = nodes.iter().flat_map(|id| rules.before(*id));
        let outer = before.filter(|id| branch_of[id.index()] != Some(k));
        let (mut behind, mut may_move) = (start.max(1) - 1, true);
        for id in outer {
            behind = behind.max(keys[id.index()].0);
            may_move &= branch_of[id.index()].is_none_or(|other| is_placed[other]);
        }
        is_placed[k] = true;
        if may_move {
            nodes
                .iter()
                .for_each(|id| keys[id.index()] = (behind, k + 1));
        }
    }
    let mut order: Vec<NodeId> = instance.ids().collect();
    order.sort_by_key(|id| keys[id.index()]);
    order
}

/// Marks an update and the backward nodes that only its branch reads.
fn mark(
    instance: &Instance,
    update: NodeId,
    branch: usize,
    start: usize,
    branch_of: &mut [Option<usize>],
) {
    branch_of[update.index()] = Some(branch);
    let mut open = vec![update];
    while let Some(id) = open.pop() {
        for need in instance.needs(id) {
            let node = instance.node(*need);
            let own = |user: &NodeId| branch_of[user.index()] == Some(branch);
            let goes = need.index() >= start && !node.once && node.parent().is_none();
            if goes && instance.users(*need).iter().all(own) {
                branch_of[need.index()] = Some(branch);
                open.push(*need);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::instance::{CostUnit, InstanceData, Node};
    use remat_instances::zoo;

    /// Two layers with separate weight gradients, whose updates come last.
    fn late() -> Instance {
        let need = |list: &[u32]| list.iter().copied().map(NodeId).collect::<Vec<_>>();
        let update = |name: &str, gradient: u32, ends: &[u32]| Node {
            once: true,
            ends: need(ends),
            ..Node::backward(name, None, need(&[gradient]), 1, 0)
        };
        let nodes = vec![
            Node::forward("a", vec![], 1, 4),
            Node::forward("b", need(&[0]), 1, 4),
            Node::loss("loss", need(&[1]), 1, 1),
            Node::backward("db", None, need(&[1, 2]), 1, 4),
            Node::backward("da", None, need(&[3]), 1, 4),
            Node::backward("wb", None, need(&[0, 3]), 1, 20),
            Node::backward("wa", None, need(&[4]), 1, 20),
            update("update b", 5, &[1, 4]),
            update("update a", 6, &[0]),
        ];
        Instance::new(InstanceData {
            name: "late".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        })
        .unwrap()
    }

    #[test]
    fn updates_follow_their_gradients_and_the_readers_of_the_weight() {
        let instance = late();
        let semantics = Semantics::Checkmate;
        let peak = instance.plain_replay(semantics).unwrap().peak_bytes;
        let order = early_updates(&instance, semantics, peak).unwrap();
        // The gradient of `b` waits for `da`, which reads the weight of `b`.
        let at = |id: u32| order.iter().position(|other| other.0 == id).unwrap();
        assert_eq!([at(7), at(8)], [at(5) + 1, at(6) + 1]);
        assert!(at(5) > at(4));
        let early = instance.reordered(&order).unwrap();
        assert!(early.plain_replay(semantics).unwrap().peak_bytes < peak);
        assert_eq!(early_updates(&early, semantics, peak), None);
        assert_eq!(early_updates(&instance, semantics, 20), None);
    }

    #[test]
    fn networks_of_the_zoo_keep_their_order() {
        for model in ["zoo:chain", "zoo:vgg16", "zoo:llama?layers=2", "zoo:unet"] {
            let instance = zoo::build(&model.parse().unwrap()).unwrap();
            assert_eq!(
                early_updates(&instance, Semantics::Checkmate, u64::MAX),
                None
            );
        }
    }
}
