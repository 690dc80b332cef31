//! Orders that some best plan of any order has (`docs/theory/every-plan.md`, Theorems 2 and 3).

use remat_instances::instance::{Instance, NodeId, NodeKind};

/// Checks that some best plan of any order computes all nodes for the first time in the order of
/// the instance: each node that is not lazy reads, directly or not, the last such node before it,
/// and behind a lazy node there are lazy nodes alone up to its first reader.
///
/// # Errors
/// The first node that may come at another place.
pub fn check(instance: &Instance) -> Result<(), String> {
    let n = instance.len();
    let lazy: Vec<bool> = instance.ids().map(|id| is_lazy(instance, id)).collect();
    let free = |i: usize| {
        Err(format!(
            "node {i} may be computed for the first time at another place, so the bound is not over all plans"
        ))
    };
    // The last node before each that is not lazy must be among its predecessors.
    let mut last: Option<usize> = None;
    for i in 0..n {
        if lazy[i] {
            let first = instance.users(NodeId::from(i)).first().map(|u| u.index());
            if !(i + 1..first.unwrap_or(i + 1)).all(|k| lazy[k]) {
                return free(i);
            }
            continue;
        }
        if last.is_some_and(|before| !precedes(instance, before, i)) {
            return free(i);
        }
        last = Some(i);
    }
    Ok(())
}

/// Returns whether a node must run before another: a search backwards from the later one.
fn precedes(instance: &Instance, first: usize, second: usize) -> bool {
    let mut seen = vec![false; instance.len()];
    let mut open = vec![second];
    while let Some(i) = open.pop() {
        if i == first {
            return true;
        }
        for need in instance.needs(NodeId::from(i)) {
            let k = need.index();
            if k >= first && !std::mem::replace(&mut seen[k], true) {
                open.push(k);
            }
        }
    }
    false
}

/// Returns whether nothing is lost by computing a node directly before its first reader.
fn is_lazy(instance: &Instance, id: NodeId) -> bool {
    let node = instance.node(id);
    let bytes = |id: &NodeId| instance.node(*id).output_bytes;
    let inputs: u64 = instance.needs(id).iter().map(bytes).sum();
    let once = |id: NodeId| {
        let node = instance.node(id);
        node.once || matches!(node.kind, NodeKind::ByProduct { .. })
    };
    let most = node
        .run_workspace_bytes(false)
        .max(node.run_workspace_bytes(true));
    let mut readers = instance.users(id).iter().copied().peekable();
    let has_readers = readers.peek().is_some();
    let ended = |other: NodeId| instance.ended_by(other).any(|end| end == id);
    has_readers
        && !once(id)
        && !instance.ids().any(ended)
        && node.output_bytes >= inputs
        && readers.all(|reader| {
            let own = instance.node(reader);
            let least = own
                .run_workspace_bytes(false)
                .min(own.run_workspace_bytes(true));
            !once(reader) && own.output_bytes + least >= inputs + most
        })
}
