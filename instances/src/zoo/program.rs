//! Actions of a training graph's nodes, for an executor.

use super::builder::{Network, Tensor};
use super::op::Slice;
use crate::instance::{Instance, NodeId};

/// A training graph with the actions of its nodes.
#[derive(Clone, Debug)]
pub struct TrainingProgram {
    /// The forward network.
    pub network: Network,
    /// The graph.
    pub instance: Instance,
    /// Action of each node, by node index.
    pub actions: Vec<Action>,
}

/// Computation of a node. Its output is a list of tensors, called *slots*; there is one unless
/// stated otherwise.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// An operator's forward pass. The loss has one slot for each of its inputs, with the input's
    /// gradient.
    Forward {
        /// Index into [`Network::operations`].
        operation: usize,
    },
    /// (A part of) an operator's backward pass.
    Backward {
        /// Index into [`Network::operations`].
        operation: usize,
        /// Positions of the inputs with gradients made here, one slot each.
        feeds: Vec<usize>,
        /// True if it computes the parameters' gradients.
        parameters: bool,
        /// The gradient of the operator's output: the sum of these.
        gradient: Vec<Piece>,
    },
    /// Compact data from an operator's forward pass for its backward pass, in graphs with
    /// implementation sets. It has one bit per element (ReLU), or the position of each maximum in
    /// its window in a byte (max pooling).
    ByProduct {
        /// Index into [`Network::operations`].
        operation: usize,
    },
    /// The sum of gradients of one tensor.
    Sum {
        /// The tensor.
        tensor: Tensor,
        /// The summands.
        summands: Vec<Piece>,
    },
}

/// A summand of a tensor's gradient: its source and the views to apply.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// Place of the gradient.
    pub source: Source,
    /// Views from the source to the summand, in order.
    pub path: Vec<Look>,
}

/// Place of a gradient.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// In a node's output.
    Node {
        /// The node.
        node: NodeId,
        /// Index of one of its tensors.
        slot: usize,
    },
    /// Assembled from parts; zero elsewhere. Overlapping parts are added.
    Parts {
        /// Shape of the whole.
        shape: Vec<u64>,
        /// The parts and their places.
        parts: Vec<(Piece, Slice)>,
    },
}

/// A view of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Look {
    /// Same elements, other shape.
    Reshape(Vec<u64>),
    /// A range along an axis.
    Narrow(Slice),
}

impl Action {
    /// The same piece in a graph where node `i` has the id `ids[i]`.
    pub(super) fn renumbered(&self, ids: &[NodeId]) -> Self {
        let all = |pieces: &[Piece]| pieces.iter().map(|p| p.renumbered(ids)).collect();
        match self {
            Action::Forward { .. } | Action::ByProduct { .. } => self.clone(),
            Action::Backward {
                operation,
                feeds,
                parameters,
                gradient,
            } => Action::Backward {
                operation: *operation,
                feeds: feeds.clone(),
                parameters: *parameters,
                gradient: all(gradient),
            },
            Action::Sum { tensor, summands } => Action::Sum {
                tensor: *tensor,
                summands: all(summands),
            },
        }
    }
}

impl Piece {
    fn renumbered(&self, ids: &[NodeId]) -> Self {
        let source = match &self.source {
            Source::Node { node, slot } => Source::Node {
                node: ids[node.index()],
                slot: *slot,
            },
            Source::Parts { shape, parts } => Source::Parts {
                shape: shape.clone(),
                parts: parts
                    .iter()
                    .map(|(part, place)| (part.renumbered(ids), *place))
                    .collect(),
            },
        };
        Piece {
            source,
            path: self.path.clone(),
        }
    }

    /// A tensor of a node's output.
    pub(super) fn of(node: NodeId, slot: usize) -> Self {
        Piece {
            source: Source::Node { node, slot },
            path: Vec::new(),
        }
    }

    /// The same piece with one more view.
    pub(super) fn then(mut self, look: Option<Look>) -> Self {
        self.path.extend(look);
        self
    }

    /// Returns whether some part is a range of a larger tensor.
    pub(super) fn is_narrowed(&self) -> bool {
        let narrow = |look: &Look| matches!(look, Look::Narrow(_));
        self.path.iter().any(narrow)
            || match &self.source {
                Source::Node { .. } => false,
                Source::Parts { parts, .. } => parts.iter().any(|(part, _)| part.is_narrowed()),
            }
    }

    /// Calls `visit` with every node from whose output it is assembled.
    pub fn nodes(&self, visit: &mut impl FnMut(NodeId)) {
        match &self.source {
            Source::Node { node, .. } => visit(*node),
            Source::Parts { parts, .. } => parts.iter().for_each(|(part, _)| part.nodes(visit)),
        }
    }
}
