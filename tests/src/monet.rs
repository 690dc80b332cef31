//! Random training graphs for MONeT's program, in every mode of the benchmark, and random schedules
//! for them.

use crate::graphs::Numbers;
use remat_instances::instance::{
    CostUnit, Gradient, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule};

/// Decisions of an instance besides times of computation and storage.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Operators may overwrite their input.
    pub in_place: bool,
    /// Backward nodes have variants that read other tensors.
    pub multiway: bool,
    /// Forward nodes have by-products for a variant of their backward nodes.
    pub by_products: bool,
    /// Some operators have several algorithms.
    pub algorithms: bool,
}

impl Mode {
    /// All sixteen.
    pub fn all() -> impl Iterator<Item = Mode> + Clone {
        (0..16).map(|k| Mode {
            in_place: k & 1 != 0,
            multiway: k & 2 != 0,
            by_products: k & 4 != 0,
            algorithms: k & 8 != 0,
        })
    }
}

/// A training graph of `forward` operators in a chain with skips, a loss, and a backward node for
/// each operator.
pub fn training(forward: usize, mode: Mode, numbers: &mut Numbers) -> Instance {
    let mut nodes: Vec<Node> = Vec::new();
    // Operators, their inputs, their by-products.
    let mut operators: Vec<(usize, Vec<NodeId>, Option<usize>)> = Vec::new();
    for k in 0..forward {
        let i = nodes.len();
        let mut needs = Vec::new();
        if let Some(before) = operators.last() {
            needs.push(NodeId(before.0 as u32));
        }
        if k > 1 && numbers.below(3) == 0 {
            needs.push(NodeId(
                operators[numbers.below(k as u64 - 1) as usize].0 as u32,
            ));
        }
        needs.sort_unstable();
        let mut node = Node::forward(format!("f{i}"), needs.clone(), 0, 1 + numbers.below(20));
        node.implementations = ways(&needs, mode.algorithms && numbers.below(2) == 0, numbers);
        let several = node.implementations.len() > 1;
        let last = needs.last().copied();
        if let (true, false, Some(on)) = (mode.in_place && numbers.below(2) == 0, several, last) {
            let size = nodes[on.index()].output_bytes as i64;
            node.in_place = Some(InPlace {
                on,
                cost_delta: numbers.below(3) as i64 - 1,
                workspace_bytes: -size + numbers.below(3) as i64,
            });
        }
        let option = node.in_place.clone();
        nodes.push(node);
        let mut mask = None;
        if mode.by_products && numbers.below(2) == 0 {
            let q = nodes.len();
            let own = vec![NodeId(i as u32)];
            let mut node = Node::forward(format!("m{q}"), own, 0, 1 + numbers.below(4));
            node.kind = NodeKind::ByProduct {
                parent: NodeId(i as u32),
            };
            node.implementations = ways(&[NodeId(i as u32)], false, numbers);
            node.implementations[0].cost = numbers.below(3);
            node.implementations[0].recompute_cost = numbers.below(3);
            node.in_place = option.map(|o| InPlace { cost_delta: 0, ..o });
            nodes.push(node);
            mask = Some(q);
        }
        operators.push((i, needs, mask));
    }
    let head = NodeId(operators[forward - 1].0 as u32);
    nodes.push(Node::loss("loss", vec![head], numbers.below(2), 1));
    let loss = nodes.len() - 1;
    for k in (0..forward).rev() {
        let (i, needs, mask) = &operators[k];
        let twin = |j: usize| NodeId((loss + forward - j) as u32);
        let users = (k + 1..forward).filter(|j| operators[*j].1.contains(&NodeId(*i as u32)));
        let mut gradients: Vec<NodeId> = users.map(twin).collect();
        if k + 1 == forward {
            gradients.push(NodeId(loss as u32));
        }
        let mut sets = vec![needs.clone()];
        if numbers.below(3) == 0 {
            sets[0].push(NodeId(*i as u32));
        }
        if mode.multiway && numbers.below(3) > 0 {
            sets.push(vec![NodeId(*i as u32)]);
        }
        if let Some(q) = mask {
            sets.push(vec![NodeId(*q as u32)]);
        }
        let algorithms = mode.algorithms && sets.len() == 1 && numbers.below(2) == 0;
        let mut node = Node::forward(format!("b{i}"), vec![], 0, 1 + numbers.below(20));
        node.kind = NodeKind::Backward {
            forward: Some(NodeId(*i as u32)),
            gradient: Gradient::All,
        };
        node.implementations.clear();
        for mut set in sets {
            set.extend(&gradients);
            set.sort_unstable();
            set.dedup();
            node.implementations.extend(ways(&set, algorithms, numbers));
        }
        nodes.push(node);
    }
    for (i, passing) in passing_in_plain_order(&nodes).into_iter().enumerate() {
        nodes[i].passing = passing;
        nodes[i].fixed_bytes = 3 + i as u64 / 2;
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

fn ways(needs: &[NodeId], algorithms: bool, numbers: &mut Numbers) -> Vec<Implementation> {
    let count = if algorithms { 2 + numbers.below(2) } else { 1 };
    (0..count)
        .map(|c| {
            let cost = 1 + numbers.below(20);
            let scratch = numbers.below(8) as i64;
            let mut way = Implementation::new(needs.to_vec(), cost, scratch);
            if algorithms {
                way.name = format!("algo{c}").into();
            }
            if numbers.below(4) == 0 {
                way.recompute_workspace_bytes = numbers.below(8) as i64;
            }
            way
        })
        .collect()
}

/// A schedule that executes: random storage and choices, the computations that they need, and
/// in-place steps unless the overwritten tensor is still read or stored.
pub fn schedule(instance: &Instance, numbers: &mut Numbers) -> MonetSchedule {
    let (stages, columns) = MonetSchedule::shape(instance).expect("there is a loss");
    let node = |i: usize| instance.node(NodeId::from(i));
    let parent = |i: usize| match node(i).kind {
        NodeKind::ByProduct { parent } => Some(parent.index()),
        _ => None,
    };
    let mut s = MonetSchedule {
        computed: BitMatrix::new(stages, columns),
        retained: BitMatrix::new(stages + 1, columns),
        in_place: BitMatrix::new(stages, columns),
        forward_choice: Choices::new(stages, columns),
        backward_choice: vec![0; stages],
    };
    let keep = 1 + numbers.below(4);
    for t in 0..stages {
        let back = node(columns - 1 + t);
        let way = numbers.below(back.implementations.len() as u64) as usize;
        s.backward_choice[t] = way as u16;
        let reads = &back.implementations[way].needs;
        let read = |i: usize| t > 0 && reads.contains(&NodeId::from(i));
        for i in (0..columns).rev() {
            s.forward_choice.set(
                t,
                i,
                numbers.below(node(i).implementations.len() as u64) as u16,
            );
            let there = s.retained.get(t, i);
            if t + 1 < stages
                && numbers.below(5) < keep
                && (there || t == 0 || numbers.below(4) == 0)
            {
                s.retained.set(t + 1, i, true);
            }
            let kept = s.retained.get(t + 1, i);
            let forced = t == 0 && parent(i).is_none();
            let wanted = forced || kept && !there || read(i) && !kept || numbers.below(20) == 0;
            if !wanted && !s.computed.get(t, i) {
                continue;
            }
            s.computed.set(t, i, true);
            for need in node(i).needs() {
                if !s.retained.get(t, need.index()) {
                    s.computed.set(t, need.index(), true);
                }
            }
            if let Some(p) = parent(i) {
                s.computed.set(t, p, true);
            }
        }
        let mut taken = vec![false; columns];
        for v in 0..columns {
            let Some(option) = &node(v).in_place else {
                continue;
            };
            let u = option.on.index();
            if let Some(p) = parent(v) {
                let both = s.computed.get(t, v) && s.in_place.get(t, p);
                s.in_place.set(t, v, both);
                continue;
            }
            let later = (v + 1..columns).any(|w| {
                parent(w) != Some(v) && s.computed.get(t, w) && node(w).needs().contains(&option.on)
            });
            let free = !s.retained.get(t + 1, u) && !read(u) && !later && !taken[u];
            if s.computed.get(t, v) && free && numbers.below(3) > 0 {
                s.in_place.set(t, v, true);
                taken[u] = true;
            }
        }
    }
    s
}
