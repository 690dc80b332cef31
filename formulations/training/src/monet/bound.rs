//! A lower bound that needs no linear program: every node runs once, in the cheapest way that fits
//! at its own event.

use super::anneal::{EventWay, MonetLandscape};
use remat_instances::budget::format_bytes;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::name::Name;

/// Proof that no schedule fits: a node that cannot run even by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "node {node} ({name}) needs {} to run by its smallest implementation, the budget is {}",
    format_bytes(*needed_bytes), format_bytes(*budget_bytes)
)]
pub struct TooSmall {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: Name,
    /// Bytes without which it cannot run: fixed memory, its passing list, its output, the tensors
    /// that a backward node reads, and the smallest workspace.
    pub needed_bytes: u64,
    /// The budget.
    pub budget_bytes: u64,
}

/// A lower bound on the cost of every schedule within the graph's budget. It follows from rows (17)
/// of stage 0 and (18) of the written-out program with empty stored sets, and rows (1) and (3).
///
/// # Errors
/// [`TooSmall`] if a node cannot run within the budget at all.
pub fn event_bound(instance: &Instance, graph: &MonetLandscape) -> Result<u64, TooSmall> {
    let mut total = 0;
    let too_small = |i: usize, bytes: i64| TooSmall {
        node: NodeId::from(i),
        name: instance.node(NodeId::from(i)).name.clone(),
        needed_bytes: bytes.max(0) as u64,
        budget_bytes: graph.capacity as u64,
    };
    let cheapest = |ways: &mut dyn Iterator<Item = (i64, EventWay)>| -> Result<i64, i64> {
        let (mut cost, mut least) = (None, i64::MAX);
        for (bytes, way) in ways {
            let needed = bytes + way.workspace;
            least = least.min(needed);
            if needed <= graph.capacity {
                cost = Some(cost.map_or(way.cost, |c: i64| c.min(way.cost)));
            }
        }
        cost.ok_or(least)
    };
    for j in 0..graph.columns {
        if graph.parent[j].is_some() {
            continue;
        }
        let bytes = graph.stage[0].always + graph.bytes[j] + graph.passing_bytes[j];
        let inside = graph.in_place[j].map(|option| EventWay {
            cost: option.cheapest[0].cost + option.cost_delta,
            workspace: option.workspace,
            ..option.cheapest[0]
        });
        let ways = graph.forward_ways(false, j).iter().copied().chain(inside);
        total += cheapest(&mut ways.map(|w| (bytes, w))).map_err(|b| too_small(j, b))?;
    }
    for (t, stage) in graph.stage.iter().enumerate().skip(1) {
        let mut ways = stage.variants.iter().flat_map(|variant| {
            let reads: i64 = variant.tensors().map(|u| graph.bytes[u]).sum();
            let ways = graph.ways_of(variant.ways).iter();
            ways.map(move |w| (stage.backward + reads, *w))
        });
        let i = graph.columns - 1 + t;
        total += cheapest(&mut ways).map_err(|b| too_small(i, b))?;
    }
    Ok(total.max(0) as u64)
}
