//! A quick bound on the cost of a stage.
//!
//! Between the passes each micro-batch in flight holds the tensors that its backward pass does not
//! compute again. Tensors that are read behind the boundary and are not held there are computed
//! again at least once. So the cost of the held ones is at most a knapsack's, and its relaxation
//! bounds it (Dantzig 1957).

use remat_instances::instance::{Instance, NodeId};

/// A lower bound on the cost of every plan of a stage within `capacity_bytes`, without fixed
/// memory; `None` if no plan fits.
pub(crate) fn bound(graph: &Instance, capacity_bytes: u64) -> Option<u64> {
    let base = graph.base_cost();
    let start = graph.backward_start().map_or(graph.len(), NodeId::index);
    let mut room = capacity_bytes / u64::from(graph.in_flight());
    let mut items: Vec<(u64, u64)> = Vec::new();
    for id in graph.ids().take(start) {
        let read = graph
            .users(id)
            .last()
            .is_some_and(|user| user.index() >= start);
        if !read {
            continue;
        }
        let node = graph.node(id);
        match graph.may_recompute(id) {
            true => items.push((node.run_cost(true), node.output_bytes)),
            false => room = room.checked_sub(node.output_bytes)?,
        }
    }
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
