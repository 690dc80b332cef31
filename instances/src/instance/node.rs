//! Nodes of an instance: an operator, its output tensor, and its implementations.

use super::Resident;
use crate::name::Name;
use crate::semantics::Semantics;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Index of a node in execution order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The id as an array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for NodeId {
    fn from(i: usize) -> Self {
        NodeId(i as u32)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Gradient that a backward node computes, if the backward of one operator is split in two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename = "part of a gradient", rename_all = "snake_case")]
pub enum Gradient {
    /// All gradients in one node.
    #[default]
    All,
    /// With respect to the parameters only.
    Parameters,
    /// With respect to the input only.
    Input,
}

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NodeKind {
    /// Part of the forward pass (or of a graph without a backward pass).
    #[default]
    Forward,
    /// A further output of a node, such as a 1-bit mask. It reads its parent and is recomputed only
    /// in a stage that recomputes the parent. OLLA's further outputs are also by-products.
    ByProduct {
        /// The forward node that makes it, or the backward node in a graph without a loss.
        parent: NodeId,
    },
    /// The loss: the last node of the forward pass.
    Loss,
    /// Part of the backward pass.
    Backward {
        /// The forward node of this gradient, if known.
        forward: Option<NodeId>,
        /// The gradient that the node computes.
        gradient: Gradient,
    },
}

/// One way to compute a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Implementation {
    /// Name of the algorithm or variant; may be empty.
    pub name: Name,
    /// Nodes whose outputs are read, ascending and distinct.
    pub needs: Vec<NodeId>,
    /// Cost of the first computation, in the instance's cost unit.
    pub cost: u64,
    /// Scratch memory while the node runs, in bytes; negative if the operator releases memory it
    /// was charged for.
    pub workspace_bytes: i64,
    /// Cost of a recomputation; equal to `cost` unless measured separately.
    pub recompute_cost: u64,
    /// Scratch memory of a recomputation, in bytes.
    pub recompute_workspace_bytes: i64,
}

impl Implementation {
    /// An unnamed implementation with equal costs of first computation and recomputation.
    pub fn new(needs: Vec<NodeId>, cost: u64, workspace_bytes: i64) -> Self {
        Implementation {
            name: Name::new(),
            needs,
            cost,
            workspace_bytes,
            recompute_cost: cost,
            recompute_workspace_bytes: workspace_bytes,
        }
    }

    /// Cost of the first run, or of a recomputation if `again`, in the instance's cost unit.
    #[inline]
    pub fn run_cost(&self, again: bool) -> u64 {
        match again {
            true => self.recompute_cost,
            false => self.cost,
        }
    }

    /// Scratch memory of the first run, or of a recomputation if `again`, in bytes; negative if the
    /// operator releases memory it was charged for.
    #[inline]
    pub fn run_workspace_bytes(&self, again: bool) -> i64 {
        match again {
            true => self.recompute_workspace_bytes,
            false => self.workspace_bytes,
        }
    }
}

/// The option to compute a node into the buffer of one of its inputs, which is lost afterwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InPlace {
    /// The input whose buffer is overwritten.
    pub on: NodeId,
    /// Added to the cost if the node is computed in place.
    pub cost_delta: i64,
    /// Scratch memory in place, in bytes; replaces the implementation's own.
    pub workspace_bytes: i64,
}

/// An operator and its output tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// Name shown to users; unique within the instance.
    pub name: Name,
    /// Operator, for example `conv2d`; may be empty.
    pub op: Name,
    /// Path of the module whose call made the node, for example `layers.0.attn`; may be empty.
    /// [Classes of plans](crate::plan_class) decide about modules.
    pub module: Name,
    /// Shape of the output; empty if unknown.
    pub shape: Vec<u64>,
    /// Role of the node.
    pub kind: NodeKind,
    /// Size of the output in bytes.
    pub output_bytes: u64,
    /// Memory that is resident while and after this node runs, apart from activations and their
    /// gradients, in bytes: parameters, input batch, and the parameter gradients made so far. In an
    /// instance it never shrinks along the forward pass.
    pub fixed_bytes: u64,
    /// Memory that the device which runs this node holds for it during the whole step: its
    /// parameters with their gradients and optimizer states. It is a part of `fixed_bytes`, counted
    /// by node, for graphs that several devices share; empty if unknown.
    pub resident: Vec<Resident>,
    /// Tensors alive around this node in the plain order, ascending: its inputs, and tensors whose
    /// lifetime spans it. For backward nodes only gradients and the loss count (MONeT's `local`).
    pub passing: Vec<NodeId>,
    /// The implementations of this node, at least one. Checkmate uses the first.
    pub implementations: Vec<Implementation>,
    /// The option to overwrite an input's buffer.
    pub in_place: Option<InPlace>,
    /// True for a result of the step that no node reads, so that a by-product stays in the graph.
    /// Results that are not last need no mark, because the last node reads them.
    pub result: bool,
    /// Computed once, in its own stage, and never recomputed: a collective, an effect, a mutation.
    pub once: bool,
    /// Readers of what this node overwrites, such as the parameter that it updates, ascending. They
    /// run before it, and never again once it has run. Only a node that runs once has them.
    pub ends: Vec<NodeId>,
    /// True if its output may not be copied to the host, for example a view or a tensor shared by
    /// the framework.
    pub stays: bool,
    /// Makes the output a *gathered weight*: a weight whose shards lie on several devices. The node
    /// computes nothing; a gather brings this many bytes over the link's lane from the host, and
    /// the device's own shard is always at home, as a part of `fixed_bytes`.
    pub gather_bytes: Option<u64>,
    /// Makes the output a *scattered gradient*: once computed, this many bytes leave over the
    /// link's lane to the host, once in a step, and never come back.
    pub scatter_bytes: Option<u64>,
}

impl Node {
    /// A forward node with one implementation and no workspace.
    pub fn forward(
        name: impl Into<Name>,
        needs: Vec<NodeId>,
        cost: u64,
        output_bytes: u64,
    ) -> Self {
        Node {
            name: name.into(),
            output_bytes,
            implementations: vec![Implementation::new(needs, cost, 0)],
            ..Node::default()
        }
    }

    /// A loss node with one implementation and no workspace.
    pub fn loss(name: impl Into<Name>, needs: Vec<NodeId>, cost: u64, output_bytes: u64) -> Self {
        Node {
            kind: NodeKind::Loss,
            ..Node::forward(name, needs, cost, output_bytes)
        }
    }

    /// A backward node of `forward` with one implementation and no workspace.
    pub fn backward(
        name: impl Into<Name>,
        forward: Option<NodeId>,
        needs: Vec<NodeId>,
        cost: u64,
        output_bytes: u64,
    ) -> Self {
        Node {
            kind: NodeKind::Backward {
                forward,
                gradient: Gradient::All,
            },
            ..Node::forward(name, needs, cost, output_bytes)
        }
    }

    /// Inputs of the first implementation.
    #[inline]
    pub fn needs(&self) -> &[NodeId] {
        &self.implementations[0].needs
    }

    /// Cost of the first implementation's first run.
    #[inline]
    pub fn cost(&self) -> u64 {
        self.run_cost(false)
    }

    /// Workspace of the first implementation's first run in bytes, at least 0.
    #[inline]
    pub fn workspace_bytes(&self) -> u64 {
        self.run_workspace_bytes(false)
    }

    /// Cost of a run under Checkmate's semantics, with the first implementation: of the first run,
    /// or of a recomputation if `again`.
    #[inline]
    pub fn run_cost(&self, again: bool) -> u64 {
        self.implementations[0].run_cost(again)
    }

    /// Workspace of such a run in bytes, at least 0.
    #[inline]
    pub fn run_workspace_bytes(&self, again: bool) -> u64 {
        self.implementations[0].run_workspace_bytes(again).max(0) as u64
    }

    /// The implementations that a plan under given semantics may run.
    pub fn offered(&self, semantics: Semantics) -> &[Implementation] {
        match semantics.chooses_implementations() {
            true => &self.implementations,
            false => &self.implementations[..1],
        }
    }

    /// The parent of a by-product. The by-product is recomputed only if the parent is recomputed
    /// earlier in the same stage.
    pub fn parent(&self) -> Option<NodeId> {
        match self.kind {
            NodeKind::ByProduct { parent } => Some(parent),
            _ => None,
        }
    }

    /// Returns whether the output is a [gathered weight](Node::gather_bytes).
    #[inline]
    pub fn is_gathered(&self) -> bool {
        self.gather_bytes.is_some()
    }

    /// Returns whether the output is a [scattered gradient](Node::scatter_bytes).
    #[inline]
    pub fn is_scattered(&self) -> bool {
        self.scatter_bytes.is_some()
    }

    /// Returns whether the node belongs to the backward pass.
    pub fn is_backward(&self) -> bool {
        matches!(self.kind, NodeKind::Backward { .. })
    }
}
