//! Branchings: integer quantities of a plan that are linear in its trips, and the quantities that
//! are fractional at a point.

use super::{LinkGraph, TripPoint};
use crate::checkmate::interval::{Quantity, open_quantities};
use remat_solver::price::{Open, most_promising};

/// An integer quantity of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkQuantity {
    /// Recomputations, or tensors on the device when a stage begins.
    Schedule(Quantity),
    /// Copies of a tensor to the host.
    Leaves {
        /// The tensor.
        node: u32,
    },
    /// A way of the first run of a node.
    Way {
        /// The node.
        node: u32,
        /// Index into [`Ways::first`](super::Ways).
        way: u32,
    },
}

/// A branching: a quantity is at least, or at most, a number.
pub type LinkBranch = remat_solver::price::Branch<LinkQuantity>;

/// Fractional quantities of a point, the highest scores first, at most `limit`.
pub(super) fn open(link: &LinkGraph, point: &TripPoint, limit: usize) -> Vec<Open<LinkQuantity>> {
    let schedule = open_quantities(&link.graph, &point.fractional(link), limit);
    let schedule = schedule.into_iter().map(|open| Open {
        quantity: LinkQuantity::Schedule(open.quantity),
        value: open.value,
        score: open.score,
    });
    let leaves = (0u32..)
        .zip(point.leaves(link))
        .filter_map(|(node, value)| {
            if link.sharded[node as usize].is_some() {
                return None;
            }
            // Idle time or a recomputation may have to make up for the link time of a copy.
            let weight = match link.copies[node as usize] {
                Some([out, back]) => (out + back) as f64 * link.unit as f64,
                None => link.pages[node as usize].map(|costs| (costs.out + costs.back) as f64)?,
            };
            Open::if_fractional(LinkQuantity::Leaves { node }, value, weight)
        });
    let mean = link.graph.base_cost() as f64 / link.len().max(1) as f64;
    let ways = link.ways.all().zip(&point.ways);
    let ways = ways.filter_map(|((node, way, _), value)| {
        let all = &link.ways.first[node as usize];
        let most = all.iter().map(|w| w.cost).max().unwrap_or(0);
        let weight = most as f64 + 1e-2 * mean;
        Open::if_fractional(LinkQuantity::Way { node, way }, *value, weight)
    });
    most_promising(schedule.chain(leaves).chain(ways).collect(), limit)
}
