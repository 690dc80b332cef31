//! A quick bound on the cost of a stage.
//!
//! Between the passes each micro-batch in flight holds the tensors that its backward pass does not
//! compute again. Tensors that are read behind the boundary and are not held there are computed
//! again at least once. So the cost of the held ones is at most a knapsack's, and its relaxation
//! bounds it (Dantzig 1957).

use remat_instances::instance::{Instance, NodeId};

/// Tensors that the backward pass reads: the bytes of those that cannot be computed again, and the
/// others.
pub(crate) fn across(graph: &Instance) -> (u64, Vec<NodeId>) {
    let start = graph.backward_start().map_or(graph.len(), NodeId::index);
    let is_read = |id: &NodeId| {
        let last = graph.users(*id).last();
        last.is_some_and(|user| user.index() >= start)
    };
    let read = graph.ids().take(start).filter(is_read);
    let (again, once): (Vec<NodeId>, Vec<NodeId>) = read.partition(|id| graph.may_recompute(*id));
    let bytes = once.iter().map(|id| graph.node(*id).output_bytes);
    (bytes.sum(), again)
}

/// A lower bound on the cost of every plan of a stage within `capacity_bytes`, without fixed
/// memory; `None` if no plan fits.
pub(crate) fn bound(graph: &Instance, capacity_bytes: u64) -> Option<u64> {
    let base = graph.base_cost();
    let (held, again) = across(graph);
    let room = capacity_bytes / u64::from(graph.in_flight());
    let mut room = room.checked_sub(held)?;
    let item = |id: &NodeId| {
        let node = graph.node(*id);
        (node.run_cost(true), node.output_bytes)
    };
    let mut items: Vec<(u64, u64)> = again.iter().map(item).collect();
    // The most cost for its bytes first.
    items.sort_by(|a, b| {
        let (left, right) = (
            u128::from(a.0) * u128::from(b.1),
            u128::from(b.0) * u128::from(a.1),
        );
        right.cmp(&left).then(a.cmp(b))
    });
    let mut again: u64 = 0;
    for (cost, bytes) in items {
        if bytes <= room {
            room -= bytes;
            continue;
        }
        let kept = u128::from(cost) * u128::from(room);
        again += cost - kept.div_ceil(u128::from(bytes)) as u64;
        room = 0;
    }
    Some(base + again)
}
