//! Tensors alive around each node if the graph is executed plainly, once and in order.

use super::{Node, NodeId, NodeKind};

/// The `passing` list of every node for MONeT's program: its inputs, and branches that pass over
/// the node.
///
/// The list of a forward node (or by-product) has its inputs and every earlier output that a
/// forward node at or after it reads. A backward node's list has the same among gradients and the
/// loss. Inputs of by-products do not extend lifetimes. In graphs without a loss the lists are
/// empty, since MONeT's program does not apply to them. The lists equal the benchmark's published
/// ones.
pub fn passing_in_plain_order(nodes: &[Node]) -> Vec<Vec<NodeId>> {
    let mut lists = PlainPassing::new(nodes);
    nodes.iter().map(|_| lists.next_node()).collect()
}

/// The same lists, node by node.
pub(crate) struct PlainPassing<'a> {
    nodes: &'a [Node],
    loss: Option<usize>,
    last_reader: Vec<usize>,
    alive: Vec<NodeId>,
    next: usize,
}

impl<'a> PlainPassing<'a> {
    pub(crate) fn new(nodes: &'a [Node]) -> Self {
        let mut lists = PlainPassing {
            nodes,
            loss: nodes.iter().position(|v| v.kind == NodeKind::Loss),
            last_reader: vec![0; nodes.len()],
            alive: Vec::new(),
            next: 0,
        };
        for (j, node) in nodes.iter().enumerate() {
            if matches!(node.kind, NodeKind::ByProduct { .. }) {
                continue;
            }
            let first = lists.first_counted(j);
            for need in node.implementations.iter().flat_map(|p| &p.needs) {
                if need.index() >= first {
                    lists.last_reader[need.index()] = j;
                }
            }
        }
        lists
    }

    /// First node whose output counts: for a backward node, only gradients and the loss count.
    fn first_counted(&self, j: usize) -> usize {
        self.loss.filter(|loss| j > *loss).unwrap_or(0)
    }

    /// The list of the next node; empty after the last one.
    pub(crate) fn next_node(&mut self) -> Vec<NodeId> {
        let j = self.next;
        self.next += 1;
        if self.loss.is_none() || j >= self.nodes.len() {
            return Vec::new();
        }
        let first = self.first_counted(j);
        let last_reader = &self.last_reader;
        self.alive
            .retain(|u| last_reader[u.index()] >= j && u.index() >= first);
        let mut list = self.alive.clone();
        let inputs = self.nodes[j].needs().iter().copied();
        list.extend(inputs.filter(|u| u.index() >= first));
        list.sort_unstable();
        list.dedup();
        self.alive.push(NodeId::from(j));
        list
    }
}
