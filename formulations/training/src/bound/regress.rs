//! Budgets that no plan fits, found by going back from the end of a plan.
//!
//! When the last node runs, its inputs are in memory. Of the tensors that are in memory together,
//! one was computed last; at that moment the others and its own inputs were in memory. So a plan
//! leads back to an empty memory, one tensor after the other, with room for each step. If no such
//! way has room, no plan fits, in any order and with any number of computations.
//!
//! The same holds from any other node back, because every plan computes each node. A search from
//! the end sees all tensors that must meet, and is too long for large graphs. A search from one
//! node sees few tensors: two gradients that meet in a sum, each with its own inputs.
//!
//! Near the least budget few sets have room, annealing finds no schedule, and relaxations are weak.

use remat_instances::instance::{Instance, NodeId};
use std::collections::HashSet;

/// Maximum number of words of 64 tensors that a search from the last node writes, a fraction of a
/// second. A training step of 37 nodes needs 300 below its least budget.
const WORDS_LIMIT: usize = 1 << 20;
/// Maximum number of sets that a search from another node writes. Refutations near a sum of two
/// gradients need fewer than 100.
const SETS_LIMIT: usize = 1 << 8;
/// Multiple of a node's working set up to which the room for all tensors is searched from that
/// node. Refutations need less than half as much.
const WORKING_SETS: u64 = 2;

/// Returns whether a complete search found no way back from some node within a budget in bytes.
/// `false` proves neither that a plan fits nor that it does not.
pub(crate) fn has_no_way_back(instance: &Instance, budget_bytes: u64) -> bool {
    let Some(room) = budget_bytes.checked_sub(instance.static_bytes()) else {
        return false;
    };
    let words = instance.len().div_ceil(64);
    let mut all = Search {
        instance,
        room,
        words_left: WORDS_LIMIT,
        has_ways_from_each: false,
    };
    if instance.ids().last().is_some_and(|last| all.refutes(last)) {
        return true;
    }
    // Earlier nodes first: a later search ends where only one tensor is left.
    instance.ids().any(|id| {
        let inputs = instance.node(id).needs().iter();
        let inputs: u64 = inputs.map(|u| instance.node(*u).output_bytes).sum();
        let own = inputs + run_bytes(instance, id);
        let mut one = Search {
            words_left: words * SETS_LIMIT,
            has_ways_from_each: true,
            ..all
        };
        room < WORKING_SETS * own && one.refutes(id)
    })
}

/// A search for ways back.
#[derive(Clone, Copy)]
struct Search<'a> {
    instance: &'a Instance,
    /// Memory in bytes without the fixed part.
    room: u64,
    /// Words that may still be written.
    words_left: usize,
    /// True if no earlier node alone has been refuted.
    has_ways_from_each: bool,
}

impl Search<'_> {
    /// Returns whether no way back from a node has room, after a complete search.
    fn refutes(&mut self, id: NodeId) -> bool {
        let instance = self.instance;
        let words = instance.len().div_ceil(64);
        let mut end = Tensors(vec![0; words].into());
        end.insert(id);
        let mut ways = vec![end.clone()];
        let mut known = HashSet::from([end]);
        while let Some(tensors) = ways.pop() {
            if tensors.is_empty() {
                return false;
            }
            for computed in tensors.ids() {
                let Some(left) = self.words_left.checked_sub(words) else {
                    return false;
                };
                self.words_left = left;
                let mut before = tensors.clone();
                before.remove(computed);
                for need in instance.node(computed).needs() {
                    before.insert(*need);
                }
                if before.bytes(instance) + run_bytes(instance, computed) > self.room {
                    continue;
                }
                before.leave_what_follows(instance);
                if self.has_ways_from_each && before.is_one_before(id) {
                    return false;
                }
                if known.insert(before.clone()) {
                    ways.push(before);
                }
            }
        }
        true
    }
}

/// Bytes that a node takes beside its inputs when it runs.
fn run_bytes(instance: &Instance, id: NodeId) -> u64 {
    let node = instance.node(id);
    let way = &node.implementations[0];
    let scratch = [false, true].map(|again| way.run_workspace_bytes(again));
    let scratch = scratch.into_iter().min().unwrap_or(0);
    node.output_bytes.saturating_add_signed(scratch)
}

/// Tensors that are in memory together, a bit for each node.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Tensors(Box<[u64]>);

impl Tensors {
    fn contains(&self, id: NodeId) -> bool {
        self.0[id.index() / 64] >> (id.index() % 64) & 1 == 1
    }

    fn insert(&mut self, id: NodeId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }

    fn remove(&mut self, id: NodeId) {
        self.0[id.index() / 64] &= !(1 << (id.index() % 64));
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns whether it is a single tensor of a node before another one.
    fn is_one_before(&self, id: NodeId) -> bool {
        let mut ids = self.ids();
        ids.next().is_some_and(|one| one < id) && ids.next().is_none()
    }

    /// The nodes, ascending.
    fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        let mut ids = Vec::new();
        for (k, &word) in self.0.iter().enumerate() {
            let mut word = word;
            while word != 0 {
                ids.push(NodeId::from(64 * k + word.trailing_zeros() as usize));
                word &= word - 1;
            }
        }
        ids.into_iter()
    }

    fn bytes(&self, instance: &Instance) -> u64 {
        self.ids().map(|id| instance.node(id).output_bytes).sum()
    }

    /// Removes tensors that can be computed from the others, the last first. Every way back from
    /// all tensors is also a way back from the remaining ones, with more room.
    fn leave_what_follows(&mut self, instance: &Instance) {
        for id in self.ids().rev() {
            let needs = instance.node(id).needs();
            if needs.iter().all(|need| self.contains(*need)) {
                self.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkmate::CheckmateFormulation;
    use proptest::prelude::*;
    use remat_instances::instance::{CostUnit, InstanceData, Node};
    use remat_search::{Settings, Solvable, Status};

    fn instance(nodes: Vec<Node>) -> Instance {
        let data = InstanceData {
            name: "test".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        };
        Instance::new(data).unwrap()
    }

    /// Layers and their backward passes; the parameters' gradients are read by the last node.
    fn trained(layers: usize) -> Instance {
        let node = |needs: Vec<usize>, bytes| {
            let needs = needs.into_iter().map(NodeId::from).collect();
            (needs, bytes)
        };
        let mut nodes: Vec<(Vec<NodeId>, u64)> = Vec::new();
        for k in 0..layers {
            nodes.push(node((0..k).last().into_iter().collect(), 20));
        }
        let mut gradients = Vec::new();
        let mut above = layers - 1;
        for k in (0..layers).rev() {
            nodes.push(node(vec![k.min(above), k.max(above)], 20));
            let inner = nodes.len() - 1;
            nodes.push(node(vec![inner], 10));
            gradients.push(inner + 1);
            nodes.push(node(vec![inner], 20));
            above = inner + 2;
        }
        nodes.push(node(gradients, 0));
        let named = nodes
            .into_iter()
            .enumerate()
            .map(|(i, (mut needs, bytes))| {
                needs.dedup();
                Node::forward(format!("n{i}"), needs, 1, bytes)
            });
        instance(named.collect())
    }

    #[test]
    fn budgets_below_the_least_are_refuted() {
        let graph = trained(5);
        let least = (1..)
            .find(|budget| !has_no_way_back(&graph, *budget))
            .unwrap();
        // The last layer's step beside the gradients of all but one of the others.
        assert!(least > bound_of_one_node(&graph), "{least}");
        let formulation = CheckmateFormulation::new(graph);
        let settings = Settings::default();
        let below = formulation.solve(least - 1, &[], &settings, &());
        let below = below.unwrap();
        assert_eq!(below.status, Status::Infeasible);
        let because = below.infeasible_because.unwrap();
        assert!(because.contains("in any order"), "{because}");
    }

    /// Two gradients meet in a sum, and each is computed from two more tensors of its own.
    #[test]
    fn a_sum_of_two_gradients_is_refuted_where_the_last_node_is_far() {
        let mut nodes = vec![
            Node::forward("a", vec![], 1, 10),
            Node::forward("b", vec![], 1, 10),
            Node::forward("gradient a", vec![NodeId(0)], 1, 10),
            Node::forward("gradient b", vec![NodeId(1)], 1, 10),
            Node::forward("sum", vec![NodeId(2), NodeId(3)], 1, 1),
        ];
        // Many tensors that the last node reads: the search from it ends at its limit.
        let small: Vec<NodeId> = (5..35).map(NodeId).collect();
        nodes.extend(small.iter().map(|id| {
            let needs = vec![NodeId(4)];
            Node::forward(format!("n{id}"), needs, 1, 0)
        }));
        nodes.push(Node::forward("end", small, 1, 0));
        let graph = instance(nodes);
        assert!(bound_of_one_node(&graph) <= 21);
        assert!(has_no_way_back(&graph, 29));
        assert!(!has_no_way_back(&graph, 30));
    }

    fn bound_of_one_node(graph: &Instance) -> u64 {
        crate::bound::smallest_budget(graph).needed_bytes
    }

    /// Returns whether some sequence of computations within a budget reaches a node, by an exact
    /// search over all sets of tensors in memory.
    fn is_reachable(graph: &Instance, node: usize, budget: u64) -> bool {
        let n = graph.len();
        let bytes = |set: u32| -> u64 {
            let ids = (0..n).filter(|i| set >> i & 1 == 1);
            ids.map(|i| graph.node(NodeId::from(i)).output_bytes).sum()
        };
        let mut known = vec![false; 1 << n];
        let mut open = vec![0u32];
        known[0] = true;
        while let Some(set) = open.pop() {
            let computed = (0..n).filter(|&i| {
                let needs = graph.node(NodeId::from(i)).needs();
                needs.iter().all(|need| set >> need.0 & 1 == 1)
            });
            let computed = computed
                .map(|i| set | 1 << i)
                .filter(|s| bytes(*s) <= budget);
            let freed = (0..n).map(|i| set & !(1 << i));
            for next in computed.chain(freed).collect::<Vec<_>>() {
                if !std::mem::replace(&mut known[next as usize], true) {
                    open.push(next);
                }
            }
        }
        (0..1u32 << n).any(|set| known[set as usize] && set >> node & 1 == 1)
    }

    proptest! {
        #[test]
        fn a_way_back_is_a_plan(
            sizes in prop::collection::vec(0u64..5, 2..9),
            edges in prop::collection::vec(any::<bool>(), 36),
            budget in 1u64..24,
        ) {
            let mut edges = edges.into_iter();
            let nodes = sizes.iter().enumerate().map(|(i, bytes)| {
                let needs = (0..i).filter(|_| edges.next().unwrap_or(false));
                let needs = needs.map(NodeId::from).collect();
                Node::forward(format!("n{i}"), needs, 1, *bytes)
            });
            let graph = instance(nodes.collect());
            let all = (0..graph.len()).all(|node| is_reachable(&graph, node, budget));
            prop_assert_eq!(has_no_way_back(&graph, budget), !all);
            // Each search alone: a node is refuted only if it or an earlier one has no plan.
            for id in graph.ids() {
                let mut one = Search {
                    instance: &graph,
                    room: budget,
                    words_left: SETS_LIMIT,
                    has_ways_from_each: true,
                };
                let before = (0..=id.index()).all(|node| is_reachable(&graph, node, budget));
                prop_assert!(!one.refutes(id) || !before);
            }
        }
    }
}
