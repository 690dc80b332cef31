//! Signatures of nodes: all that a program sees of them except their names and numbers.
//!
//! Checkmate's program sees only the first implementation. MONeT's program sees all of them, the
//! in-place option, the passing tensors, and the bytes that a node adds to the fixed memory.

use remat_instances::Semantics;
use remat_instances::instance::{Instance, Node, NodeId, NodeKind};
use std::collections::HashMap;

/// Costs of the first run and of later ones, workspaces of both, and the number of inputs.
type RunSignature = ([u64; 2], [i64; 2], usize);

/// Further data for MONeT's program: change in cost and workspace of the in-place option, number of
/// passing tensors, growth of the fixed memory in bytes.
type MonetSignature = (Option<(i64, i64)>, usize, i64);

#[derive(PartialEq, Eq, Hash)]
struct Signature {
    output_bytes: u64,
    /// Backward node, by-product, loss, never run again.
    flags: [bool; 4],
    runs: Vec<RunSignature>,
    monet: Option<MonetSignature>,
}

impl Signature {
    fn new(instance: &Instance, i: NodeId, semantics: Semantics) -> Self {
        let node = instance.node(i);
        let is_loss = node.kind == NodeKind::Loss;
        let flags = [
            node.is_backward(),
            node.parent().is_some(),
            is_loss,
            node.once,
        ];
        let first = || {
            let workspace = |again| node.run_workspace_bytes(again) as i64;
            let costs = [false, true].map(|again| node.run_cost(again));
            (costs, [false, true].map(workspace), node.needs().len())
        };
        let (runs, monet) = match semantics.chooses_implementations() {
            true => (all_runs(node), Some(monet(instance, i))),
            false => (vec![first()], None),
        };
        Signature {
            output_bytes: node.output_bytes,
            flags,
            runs,
            monet,
        }
    }
}

fn all_runs(node: &Node) -> Vec<RunSignature> {
    let runs = node.implementations.iter().map(|p| {
        (
            [false, true].map(|again| p.run_cost(again)),
            [false, true].map(|again| p.run_workspace_bytes(again)),
            p.needs.len(),
        )
    });
    runs.collect()
}

fn monet(instance: &Instance, i: NodeId) -> MonetSignature {
    let node = instance.node(i);
    let in_place = node.in_place.as_ref();
    let in_place = in_place.map(|option| (option.cost_delta, option.workspace_bytes));
    (in_place, node.passing.len(), fixed_growth(instance, i))
}

/// Bytes by which the fixed memory is larger at a node than at the one before it.
pub(super) fn fixed_growth(instance: &Instance, i: NodeId) -> i64 {
    let fixed = |i: usize| instance.node(NodeId::from(i)).fixed_bytes as i64;
    match i.index().checked_sub(1) {
        Some(before) => fixed(i.index()) - fixed(before),
        None => 0,
    }
}

/// Kinds of nodes, as small numbers: equal nodes are of one kind.
pub(super) fn kinds(instance: &Instance, semantics: Semantics) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let number = |i: NodeId| {
        let next = numbers.len() as u32;
        let signature = Signature::new(instance, i, semantics);
        *numbers.entry(signature).or_insert(next)
    };
    instance.ids().map(number).collect()
}

/// The nodes that a node refers to, in lists by their roles.
pub(super) fn references(instance: &Instance, i: NodeId, semantics: Semantics) -> Vec<Vec<u32>> {
    let node = instance.node(i);
    let list = |ids: &[NodeId]| ids.iter().map(|j| j.0).collect::<Vec<u32>>();
    let offered = node.offered(semantics).iter();
    let mut lists: Vec<Vec<u32>> = offered.map(|p| list(&p.needs)).collect();
    if !node.ends.is_empty() {
        lists.push(list(&node.ends));
    }
    if semantics.chooses_implementations() {
        lists.push(list(&node.passing));
        lists.push(node.in_place.iter().map(|option| option.on.0).collect());
        lists.push(node.parent().iter().map(|p| p.0).collect());
    }
    lists
}
