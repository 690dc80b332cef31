//! Random small graphs with a link and a budget.

use remat_instances::Semantics;
use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};

/// Numbers of a seed.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    /// Uniform in `0..end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % end
    }

    /// Uniform in `1..=9`.
    fn digit(&mut self) -> u64 {
        1 + self.below(9)
    }
}

/// A graph of at most eight nodes with a link, and a budget below its peak.
pub struct Case {
    pub instance: Instance,
    pub budget_bytes: u64,
}

impl Case {
    pub fn of(draw: &mut Draw) -> Self {
        let nodes = match draw.below(2) {
            0 => general(5 + draw.below(4) as usize, draw),
            _ => traced(draw),
        };
        // A copy of a byte takes 0.5, 1 or 1.5 units.
        let speed = [2_000_000_000, 1_000_000_000, 666_666_667][draw.below(3) as usize];
        let instance = Instance::new(InstanceData {
            name: "small".into(),
            cost_unit: CostUnit::nanoseconds(),
            host_link: Some(HostLink::new(speed, speed)),
            in_flight: 1,
            nodes,
        });
        let mut case = Case {
            instance: instance.expect("inputs come before"),
            budget_bytes: 0,
        };
        let least = remat_formulations::bound::smallest_budget(&case.instance).needed_bytes;
        let peak = case.plain_bytes();
        case.budget_bytes = least + draw.below(peak.saturating_sub(least).max(1));
        case
    }

    /// Peak without recomputation and copies, in the given order.
    pub fn plain_bytes(&self) -> u64 {
        let plain = self.instance.plain_replay(Semantics::Checkmate);
        plain.expect("a plan").peak_bytes
    }
}

/// A graph in which every node but the first reads one to three others.
fn general(count: usize, draw: &mut Draw) -> Vec<Node> {
    let node = |k: usize| {
        let mut needs: Vec<NodeId> = (0..1 + draw.below(3))
            .filter(|_| k > 0)
            .map(|_| NodeId(draw.below(k.max(1) as u64) as u32))
            .collect();
        needs.sort_unstable();
        needs.dedup();
        Node::forward(format!("v{k}"), needs, draw.digit(), draw.digit())
    };
    (0..count).map(node).collect()
}

/// A chain of two layers with a loss; each layer has a gradient of its input and one of its weight.
fn traced(draw: &mut Draw) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut add = |name: &str, needs: &[u32]| {
        let needs = needs.iter().copied().map(NodeId).collect();
        nodes.push(Node::forward(name, needs, draw.digit(), draw.digit()));
    };
    add("f0", &[]);
    add("f1", &[0]);
    add("f2", &[1]);
    add("loss", &[2]);
    add("input 2", &[1, 3]);
    add("weight 2", &[2, 3]);
    add("input 1", &[0, 4]);
    add("weight 1", &[1, 4]);
    nodes
}
