//! Small random training graphs.

use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};

/// A small generator of numbers (splitmix64), so that a seed identifies a failing case.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// Uniform in `0..limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % limit
    }

    /// True once in so many draws.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// A training graph with so many forward nodes, in half of all cases with a loss behind them. A
/// chain, or with skips, by-products, backward nodes that are missing, and some whose forward node
/// is not named.
pub fn training(draw: &mut Draw, forward: usize) -> Instance {
    let is_chain = draw.one_in(3);
    let fixed_bytes = draw.below(12);
    let mut nodes = forward_pass(draw, forward, is_chain);
    let loss = draw.one_in(2).then_some(nodes.len());
    if loss.is_some() {
        let last = vec![NodeId(forward as u32 - 1)];
        nodes.push(Node::loss("loss", last, draw.below(4), 1));
    }
    // Place of the gradient of each forward node.
    let mut gradient: Vec<Option<u32>> = vec![None; forward];
    for i in (0..forward).rev() {
        let is_last = nodes.iter().all(|node| !node.is_backward());
        if !is_chain && !is_last && draw.one_in(8) {
            continue;
        }
        let mut needs: Vec<NodeId> = nodes[i].needs().to_vec();
        needs.retain(|_| !draw.one_in(3));
        if is_last || draw.one_in(2) {
            needs.push(NodeId(i as u32));
        }
        let reads = |j: &usize| nodes[*j].needs().contains(&NodeId(i as u32));
        let users = (i + 1..forward).filter(reads);
        needs.extend(users.filter_map(|j| gradient[j]).map(NodeId));
        if let Some(loss) = loss.filter(|_| is_last) {
            needs.push(NodeId(loss as u32));
        }
        if !is_chain && draw.one_in(12) {
            // An activation that goes back.
            needs.push(NodeId(draw.below(forward as u64) as u32));
        }
        gradient[i] = Some(nodes.len() as u32);
        let twin = (is_chain || !draw.one_in(5)).then_some(NodeId(i as u32));
        nodes.push(backward(draw, format!("b{i}"), twin, needs));
    }
    if !is_chain && draw.one_in(6) {
        // A gradient that goes forward divides fewer positions.
        let (twin, last) = (draw.below(forward as u64), nodes.len() as u64 - 1);
        let needs = vec![NodeId(draw.below(last) as u32), NodeId(last as u32)];
        let twin = Some(NodeId(twin as u32));
        nodes.push(backward(draw, "late".into(), twin, needs));
    }
    for node in &mut nodes {
        node.fixed_bytes = fixed_bytes;
    }
    Instance::new(InstanceData {
        name: "small".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .expect("the generator makes instances")
}

fn forward_pass(draw: &mut Draw, forward: usize, is_chain: bool) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for i in 0..forward as u32 {
        let mut needs: Vec<NodeId> = i.checked_sub(1).map(NodeId).into_iter().collect();
        if i > 1 && !is_chain && draw.one_in(3) {
            needs.insert(0, NodeId(draw.below(u64::from(i) - 1) as u32));
        }
        let (cost, bytes) = (draw.between(1, 20), draw.between(1, 9));
        let mut node = unlike(draw, Node::forward(format!("f{i}"), needs, cost, bytes));
        node.once = draw.one_in(9);
        let parent = NodeId(i.saturating_sub(1));
        let can = i > 0 && i as usize + 1 < forward && nodes[parent.index()].parent().is_none();
        if !is_chain && can && draw.one_in(9) {
            node.kind = NodeKind::ByProduct { parent };
        }
        nodes.push(node);
    }
    nodes
}

fn backward(draw: &mut Draw, name: String, twin: Option<NodeId>, mut needs: Vec<NodeId>) -> Node {
    needs.sort_unstable();
    needs.dedup();
    let (cost, bytes) = (draw.between(1, 20), draw.between(0, 5));
    let node = unlike(draw, Node::backward(name, twin, needs, cost, bytes));
    Node {
        once: draw.one_in(9),
        ..node
    }
}

/// Adds workspace to some nodes, and another cost of recomputation.
fn unlike(draw: &mut Draw, mut node: Node) -> Node {
    let way = &mut node.implementations[0];
    if draw.one_in(4) {
        way.workspace_bytes = draw.below(6) as i64;
        way.recompute_workspace_bytes = way.workspace_bytes;
    }
    if draw.one_in(4) {
        way.recompute_cost = draw.below(25);
        way.recompute_workspace_bytes = draw.below(6) as i64 - 1;
    }
    node
}
