//! The graph of one stage.

use super::split::Split;
use crate::instance::{
    Implementation, Instance, InstanceData, Node, NodeId, NodeKind, StructureError,
};
use crate::name::Name;
use std::collections::BTreeSet;
use std::ops::Range;

/// Names of the nodes at the ends of a stage.
const SEND_ACTIVATIONS: &str = "send activations";
const SEND_GRADIENTS: &str = "send gradients";

/// A stage: the forward nodes of a range of positions, and their backward nodes.
///
/// What the stage receives are nodes without cost that run once and cannot be computed again:
/// activations of earlier stages before its forward pass, gradients of later stages before its
/// backward pass. At the end of each pass a node without cost and output reads what is sent, so
/// that it stays until then. A tensor that a stage only passes on is received and sent.
#[derive(Clone, Debug)]
pub struct Stage<'s, 'a> {
    split: &'s Split<'a>,
    range: Range<u32>,
    /// Nodes of other stages that are received, ascending: before the forward pass, and before the
    /// backward pass.
    received: [Vec<NodeId>; 2],
    /// Nodes of the stage: of the forward pass, and of the backward pass.
    own: [Vec<NodeId>; 2],
    /// Nodes that are sent at the end of each pass.
    sent: [Vec<NodeId>; 2],
}

impl<'s, 'a> Stage<'s, 'a> {
    /// The stage of a range of positions.
    pub fn of(split: &'s Split<'a>, range: Range<u32>) -> Self {
        let instance = split.instance();
        let start = split.end() as usize;
        let [mut received, mut own, mut sent] = <[[Vec<NodeId>; 2]; 3]>::default();
        for id in instance.ids() {
            let pass = usize::from(id.index() >= start);
            let at = split.position(id);
            let inside = range.contains(&at);
            if inside {
                own[pass].push(id);
            }
            let readers = instance.users(id).iter().map(|user| split.position(*user));
            let (mut low, mut high, mut here) = (at, at, false);
            for reader in readers {
                (low, high) = (low.min(reader), high.max(reader));
                here |= range.contains(&reader);
            }
            let from_before = at < range.start && (here || high >= range.end);
            let from_behind = at >= range.end && (here || low < range.start);
            if from_before {
                received[0].push(id);
            }
            if from_behind {
                received[1].push(id);
            }
            if (inside || from_before) && high >= range.end {
                sent[0].push(id);
            }
            if (inside || from_behind) && low < range.start {
                sent[1].push(id);
            }
        }
        Stage {
            split,
            range,
            received,
            own,
            sent,
        }
    }

    /// Nodes of the stage, in the order of the whole graph.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.own.iter().flatten().copied()
    }

    /// The graph of the stage for a number of micro-batches in flight, with `fixed_bytes` of fixed
    /// memory. With `names`, nodes have the names of the whole graph; otherwise numbers, so that
    /// equal stages are equal instances.
    ///
    /// A stage without backward nodes holds no micro-batch.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn instance(
        &self,
        fixed_bytes: u64,
        in_flight: u32,
        names: bool,
    ) -> Result<Instance, StructureError> {
        let whole = self.split.instance();
        let mut build = Build {
            whole,
            nodes: Vec::new(),
            place: vec![None; whole.len()],
            fixed_bytes,
        };
        for (pass, send) in [SEND_ACTIVATIONS, SEND_GRADIENTS].into_iter().enumerate() {
            for id in &self.received[pass] {
                build.receive(*id, pass == 1);
            }
            for id in &self.own[pass] {
                build.copy(*id);
            }
            if !self.sent[pass].is_empty() {
                build.send(send, &self.sent[pass], pass == 1);
            }
        }
        let mut nodes = build.nodes;
        match names {
            true => distinct(&mut nodes),
            false => plain_names(&mut nodes),
        }
        let trains = nodes.iter().any(Node::is_backward);
        let Range { start, end } = self.range;
        Instance::new(InstanceData {
            name: match names {
                true => format!("{}, positions {start} to {end}", whole.name()).into(),
                false => "stage".into(),
            },
            cost_unit: whole.cost_unit().clone(),
            host_link: None,
            in_flight: if trains { in_flight } else { 1 },
            nodes,
        })
    }
}

/// A graph of a stage while it is built.
struct Build<'a> {
    whole: &'a Instance,
    nodes: Vec<Node>,
    /// Place of each node of the whole graph.
    place: Vec<Option<NodeId>>,
    fixed_bytes: u64,
}

impl Build<'_> {
    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId::from(self.nodes.len());
        self.nodes.push(Node {
            fixed_bytes: self.fixed_bytes,
            ..node
        });
        id
    }

    fn kind(backward: bool) -> NodeKind {
        match backward {
            false => NodeKind::Forward,
            true => NodeKind::Backward {
                forward: None,
                gradient: Default::default(),
            },
        }
    }

    fn receive(&mut self, id: NodeId, backward: bool) {
        let from = self.whole.node(id);
        let node = Node {
            once: true,
            kind: Self::kind(backward),
            op: "receive".into(),
            shape: from.shape.clone(),
            ..Node::forward(
                format!("receive {}", from.name),
                vec![],
                0,
                from.output_bytes,
            )
        };
        self.place[id.index()] = Some(self.push(node));
    }

    fn needs(&self, needs: &[NodeId]) -> Vec<NodeId> {
        let places = needs.iter().filter_map(|id| self.place[id.index()]);
        let mut list: Vec<NodeId> = places.collect();
        list.sort_unstable();
        list
    }

    fn copy(&mut self, id: NodeId) {
        let from = self.whole.node(id);
        let way = &from.implementations[0];
        let kind = match from.kind {
            NodeKind::ByProduct { parent } => self.place[parent.index()]
                .map_or(NodeKind::Forward, |parent| NodeKind::ByProduct { parent }),
            NodeKind::Backward { forward, gradient } => NodeKind::Backward {
                forward: forward.and_then(|id| self.place[id.index()]),
                gradient,
            },
            other => other,
        };
        let node = Node {
            kind,
            passing: Vec::new(),
            in_place: None,
            ends: self.needs(&from.ends),
            implementations: vec![Implementation {
                needs: self.needs(&way.needs),
                ..way.clone()
            }],
            ..from.clone()
        };
        self.place[id.index()] = Some(self.push(node));
    }

    fn send(&mut self, name: &str, what: &[NodeId], backward: bool) {
        let node = Node {
            once: true,
            kind: Self::kind(backward),
            op: "send".into(),
            ..Node::forward(name, self.needs(what), 0, 0)
        };
        self.push(node);
    }
}

/// Makes names distinct by strokes behind those that are taken.
fn distinct(nodes: &mut [Node]) {
    let mut taken: BTreeSet<Name> = BTreeSet::new();
    for node in nodes {
        while !taken.insert(node.name.clone()) {
            node.name = format!("{}'", node.name).into();
        }
    }
}

/// Numbers in place of names, and no other text.
fn plain_names(nodes: &mut [Node]) {
    for (i, node) in nodes.iter_mut().enumerate() {
        node.name = format!("n{i}").into();
        (node.op, node.module) = (Name::new(), Name::new());
        node.shape.clear();
        node.resident.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    fn llama(layers: u32) -> Instance {
        zoo::build(&format!("zoo:llama?layers={layers}").parse().unwrap()).unwrap()
    }

    #[test]
    fn one_stage_is_the_whole_graph() {
        let instance = llama(2);
        let split = Split::of(&instance).unwrap();
        let stage = Stage::of(&split, 0..split.end());
        let fixed = instance.static_bytes();
        let found = stage.instance(fixed, 1, true).unwrap();
        assert_eq!(found.len(), instance.len());
        for (own, whole) in found.nodes().iter().zip(instance.nodes()) {
            assert_eq!(own.needs(), whole.needs());
            assert_eq!(own.name, whole.name);
            assert_eq!(own.output_bytes, whole.output_bytes);
        }
        assert_eq!(found.static_bytes(), fixed);
    }

    #[test]
    fn stages_divide_the_nodes_and_equal_layers_are_equal_instances() {
        let instance = llama(6);
        let split = Split::of(&instance).unwrap();
        let cuts: Vec<u32> = (1..6)
            .map(|k| split.position_before(&format!("layers.{k}.input_norm")))
            .collect::<Option<_>>()
            .unwrap();
        let mut seen = vec![0; instance.len()];
        let mut cost = 0;
        let ends = [0].iter().chain(&cuts).zip(
            cuts.iter()
                .chain(&[split.end()])
                .copied()
                .collect::<Vec<_>>(),
        );
        let mut graphs = Vec::new();
        for (&begin, end) in ends {
            let stage = Stage::of(&split, begin..end);
            stage.nodes().for_each(|id| seen[id.index()] += 1);
            let graph = stage.instance(0, 2, false).unwrap();
            cost += graph.base_cost();
            graphs.push(graph);
        }
        assert!(seen.iter().all(|count| *count == 1));
        assert_eq!(cost, instance.base_cost());
        assert_eq!(graphs[1], graphs[2]);
        assert_eq!(graphs[2], graphs[4]);
        assert_ne!(graphs[0], graphs[1]);
    }

    #[test]
    fn a_skip_is_passed_on() {
        let instance = zoo::build(&"zoo:unet".parse().unwrap()).unwrap();
        let split = Split::of(&instance).unwrap();
        let third = split.end() / 3;
        let cut = |from: u32| {
            (from..split.end())
                .find(|&p| split.crossing(p).is_some())
                .unwrap()
        };
        let (a, b) = (cut(third), cut(2 * third));
        let middle = Stage::of(&split, a..b);
        let sent: u64 = middle.sent[0]
            .iter()
            .map(|id| instance.node(*id).output_bytes)
            .sum();
        assert_eq!(sent, split.crossing(b).unwrap().forward_bytes);
        let received: u64 = middle.received[1]
            .iter()
            .map(|id| instance.node(*id).output_bytes)
            .sum();
        assert_eq!(received, split.crossing(b).unwrap().backward_bytes);
        assert!(middle.instance(0, 3, true).unwrap().in_flight() == 3);
    }
}
