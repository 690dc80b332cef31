//! Training steps as a tracer has them: operators with several outputs in both passes, no loss, and
//! an end that needs all gradients.

use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};

/// A graph that is being built.
#[derive(Default)]
struct Trace {
    nodes: Vec<Node>,
    backward: bool,
    gradients: Vec<NodeId>,
}

impl Trace {
    fn push(&mut self, needs: &[NodeId], cost: u64, output_bytes: u64) -> NodeId {
        let mut needs = needs.to_vec();
        needs.sort_unstable();
        needs.dedup();
        let id = NodeId::from(self.nodes.len());
        let name = format!("t{id}");
        self.nodes.push(match self.backward {
            true => Node::backward(name, None, needs, cost, output_bytes),
            false => Node::forward(name, needs, cost, output_bytes),
        });
        id
    }

    /// A further output of a node.
    fn output(&mut self, parent: NodeId, bytes: u64) -> NodeId {
        let id = self.push(&[parent], 0, bytes);
        self.nodes[id.index()].kind = NodeKind::ByProduct { parent };
        id
    }

    fn gradient(&mut self, needs: &[NodeId], cost: u64, bytes: u64) {
        let id = self.push(needs, cost, bytes);
        self.gradients.push(id);
    }
}

/// A step of `count` layers: a norm with its statistics, then a linear layer, its activation and
/// another linear layer, with a skip past them. Gradients of parameters stay until the end.
pub fn layers(count: usize) -> Instance {
    let mut g = Trace::default();
    let mut x = g.push(&[], 5, 100);
    let mut saved = Vec::new();
    for _ in 0..count {
        let norm = g.push(&[x], 11, 100);
        let statistics = g.output(norm, 4);
        let wide = g.push(&[norm], 90, 400);
        let active = g.push(&[wide], 21, 400);
        let narrow = g.push(&[active], 90, 100);
        let next = g.push(&[x, narrow], 7, 100);
        saved.push([x, norm, statistics, wide, active]);
        x = next;
    }
    let loss = g.push(&[x], 3, 4);
    g.backward = true;
    let mut d = g.push(&[x, loss], 3, 100);
    for [x, norm, statistics, wide, active] in saved.into_iter().rev() {
        g.gradient(&[d, active], 90, 64);
        let d_active = g.push(&[d], 90, 400);
        let d_wide = g.push(&[d_active, wide], 25, 400);
        g.gradient(&[d_wide, norm], 90, 64);
        let d_norm = g.push(&[d_wide], 90, 100);
        let d_x = g.push(&[d_norm, x, statistics], 15, 100);
        for _ in 0..2 {
            let parameter = g.output(d_x, 8);
            g.gradients.push(parameter);
        }
        d = g.push(&[d, d_x], 7, 100);
    }
    let gradients = std::mem::take(&mut g.gradients);
    let end = g.push(&gradients, 0, 0);
    g.nodes[end.index()].once = true;
    let data = InstanceData {
        name: format!("traced, {count} layers").into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes: g.nodes,
    };
    Instance::new(data).expect("the trace is a valid graph")
}
