//! Nodes whose place among the first computations is the same in some best plan of any order.
//!
//! A node is *lazy* if nothing is lost by computing it directly before its first reader: its output
//! takes at least the bytes of its inputs, and each reader, with its workspace, takes at least the
//! inputs and the workspace of the node. Move the first computation there and keep the inputs until
//! then. Memory falls by the output and rises by the inputs at most in between; while the node
//! runs, it is at most what it is while the reader runs (Theorem 2 of
//! `docs/theory/every-plan.md`).
//!
//! A *pivot* is a predecessor or a successor of every other node that is not lazy. In every plan it
//! is computed for the first time exactly when its predecessors have run, lazy nodes apart
//! (Theorem 3).

use super::{Instance, NodeId, NodeKind, Reach};

/// Lazy nodes and pivots of an instance, under Checkmate's semantics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pivots {
    lazy: Vec<bool>,
    pivot: Vec<bool>,
}

impl Pivots {
    /// Lazy nodes and pivots of an instance with one implementation of each node, in time of the
    /// order of nodes times edges, and of nodes squared. Instances of more than 5,000 nodes have no
    /// pivots.
    pub fn of(instance: &Instance) -> Self {
        let lazy: Vec<bool> = instance.ids().map(|id| is_lazy(instance, id)).collect();
        let pivot = match Reach::of(instance) {
            None => vec![false; instance.len()],
            Some(reach) => {
                let others = |id: NodeId| instance.ids().filter(move |other| *other != id);
                let is_pivot = |id: NodeId| {
                    others(id).all(|other| {
                        lazy[other.index()] || reach.is_before(id.min(other), id.max(other))
                    })
                };
                let ids = instance.ids();
                ids.map(|id| !lazy[id.index()] && is_pivot(id)).collect()
            }
        };
        Pivots { lazy, pivot }
    }

    /// Returns whether some best plan computes a node directly before its first reader.
    pub fn is_lazy(&self, id: NodeId) -> bool {
        self.lazy[id.index()]
    }

    /// Returns whether a node comes when exactly its predecessors have run, lazy nodes apart.
    pub fn is_pivot(&self, id: NodeId) -> bool {
        self.pivot[id.index()]
    }

    /// Returns whether some best plan of any order has its first computations in the order of the
    /// instance: all nodes are pivots or lazy, and between a lazy node and its first reader there
    /// are lazy nodes alone.
    pub fn force_order(&self, instance: &Instance) -> bool {
        instance.ids().all(|id| match self.is_lazy(id) {
            false => self.is_pivot(id),
            true => {
                let first = instance.users(id).first().map_or(id.0, |u| u.0);
                (id.0 + 1..first).all(|k| self.is_lazy(NodeId(k)))
            }
        })
    }
}

/// The condition of Theorem 2.
fn is_lazy(instance: &Instance, id: NodeId) -> bool {
    let node = instance.node(id);
    let workspaces = [false, true].map(|again| node.run_workspace_bytes(again));
    let inputs = instance.needs(id).iter();
    let input_bytes: u64 = inputs.map(|need| instance.node(*need).output_bytes).sum();
    let readers = instance.users(id);
    let is_plain = |id: &NodeId| {
        let node = instance.node(*id);
        !node.once && !matches!(node.kind, NodeKind::ByProduct { .. })
    };
    let takes_enough = |reader: &NodeId| {
        let node = instance.node(*reader);
        let workspace = [false, true].map(|again| node.run_workspace_bytes(again));
        let taken = node.output_bytes + workspace[0].min(workspace[1]);
        taken >= input_bytes + workspaces[0].max(workspaces[1])
    };
    // A node that another one ends must come before that one.
    let is_never_ended = instance.last_stage_again(id).index() + 1 == instance.len();
    is_plain(&id)
        && is_never_ended
        && !readers.is_empty()
        && node.output_bytes >= input_bytes
        && readers
            .iter()
            .all(|reader| is_plain(reader) && takes_enough(reader))
}

impl Instance {
    /// Returns whether some best plan of any order has its first computations in the order of the
    /// instance ([`Pivots::force_order`]).
    pub fn has_forced_order(&self) -> bool {
        Pivots::of(self).force_order(self)
    }
}
