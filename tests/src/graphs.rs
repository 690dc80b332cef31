//! Random graphs for property tests.

use remat_formulations::bound::smallest_budget;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};

/// A small deterministic generator of numbers, so that a failing case is identified by its seed.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    /// Uniform in `0..bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % bound
    }
}

fn instance(nodes: Vec<Node>) -> Instance {
    let data = InstanceData {
        name: "random".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).expect("the generator makes valid graphs")
}

/// A random DAG of `n` nodes without a backward pass; every node but the first reads one to three
/// earlier ones.
pub fn general(n: usize, numbers: &mut Numbers) -> Instance {
    let nodes = (0..n).map(|i| {
        let mut needs: Vec<NodeId> = (0..(i > 0) as u64 + numbers.below(3))
            .filter(|_| i > 0)
            .map(|_| NodeId(numbers.below(i as u64) as u32))
            .collect();
        needs.sort_unstable();
        needs.dedup();
        sized(
            Node::forward(
                format!("v{i}"),
                needs,
                1 + numbers.below(20),
                1 + numbers.below(20),
            ),
            numbers,
        )
    });
    instance(nodes.collect())
}

/// A random training graph with `forward` forward nodes: a chain with skips, a loss, and one
/// backward node for each forward node. A backward node reads gradients of its node's users and
/// some of the node's own inputs and output.
pub fn training(forward: usize, numbers: &mut Numbers) -> Instance {
    let mut nodes = Vec::new();
    for i in 0..forward {
        let mut needs: Vec<NodeId> = if i > 0 {
            vec![NodeId(i as u32 - 1)]
        } else {
            vec![]
        };
        if i > 1 && numbers.below(3) == 0 {
            needs.push(NodeId(numbers.below(i as u64 - 1) as u32));
        }
        needs.sort_unstable();
        nodes.push(sized(
            Node::forward(
                format!("f{i}"),
                needs,
                1 + numbers.below(20),
                1 + numbers.below(20),
            ),
            numbers,
        ));
    }
    nodes.push(Node::loss("loss", vec![NodeId(forward as u32 - 1)], 1, 1));
    let gradient = |i: usize| NodeId((2 * forward - i) as u32);
    for i in (0..forward).rev() {
        let mut needs: Vec<NodeId> = nodes[i]
            .needs()
            .iter()
            .copied()
            .filter(|_| numbers.below(3) > 0)
            .collect();
        if numbers.below(2) == 0 {
            needs.push(NodeId(i as u32));
        }
        let users: Vec<usize> = (i + 1..forward)
            .filter(|j| nodes[*j].needs().contains(&NodeId(i as u32)))
            .collect();
        needs.extend(users.iter().map(|j| gradient(*j)));
        if i + 1 == forward {
            needs.push(NodeId(forward as u32));
        }
        needs.sort_unstable();
        needs.dedup();
        let bytes = nodes[i].output_bytes;
        let node = Node::backward(
            format!("b{i}"),
            Some(NodeId(i as u32)),
            needs,
            1 + numbers.below(20),
            bytes,
        );
        nodes.push(sized(node, numbers));
    }
    instance(nodes)
}

/// Adds a workspace to some nodes.
fn sized(mut node: Node, numbers: &mut Numbers) -> Node {
    let way = &mut node.implementations[0];
    if numbers.below(4) == 0 {
        way.workspace_bytes = numbers.below(6) as i64;
        way.recompute_workspace_bytes = way.workspace_bytes;
    }
    node
}

/// The graph with unequal runs: recomputations of some nodes have different costs and workspaces,
/// some nodes are by-products of an input, and some are never recomputed.
pub fn with_unlike_runs(graph: &Instance, numbers: &mut Numbers) -> Instance {
    let mut nodes = graph.nodes().to_vec();
    for i in 0..nodes.len() {
        let is_forward = |k: usize| nodes[k].kind == NodeKind::Forward;
        let needs = nodes[i].needs().iter().copied();
        let parent = needs.rev().find(|parent| is_forward(parent.index()));
        if let (Some(parent), true, 0) = (parent, is_forward(i), numbers.below(3)) {
            nodes[i].kind = NodeKind::ByProduct { parent };
        }
        let way = &mut nodes[i].implementations[0];
        if numbers.below(2) == 0 {
            way.recompute_cost = numbers.below(40);
            way.recompute_workspace_bytes = numbers.below(12) as i64 - 2;
        }
        nodes[i].once = numbers.below(6) == 0;
    }
    instance(nodes)
}

/// The graph in which all runs of a node are like its first, and every node can run alone.
pub fn with_like_runs(graph: &Instance) -> Instance {
    let mut nodes = graph.nodes().to_vec();
    for node in &mut nodes {
        if node.parent().is_some() {
            node.kind = NodeKind::Forward;
        }
        node.once = false;
        let way = &mut node.implementations[0];
        way.recompute_cost = way.cost;
        way.recompute_workspace_bytes = way.workspace_bytes;
    }
    instance(nodes)
}

/// A random schedule that executes. Every tensor is retained at every stage with the same
/// probability, which is random as well.
pub fn random_schedule(instance: &Instance, numbers: &mut Numbers) -> CheckmateSchedule {
    let n = instance.len();
    let mut retained = BitMatrix::new(n, n);
    let share = 1 + numbers.below(4);
    for t in 0..n {
        for i in 0..t {
            retained.set(t, i, numbers.below(5) < share);
        }
    }
    CheckmateSchedule::cheapest(instance, retained)
}

/// A budget less than `span` bytes above the least one that may be feasible.
pub fn tight_budget(instance: &Instance, span: u64, numbers: &mut Numbers) -> u64 {
    smallest_budget(instance).needed_bytes + numbers.below(span)
}
