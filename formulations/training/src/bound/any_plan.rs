//! A bound on all plans, in any order of first computations.
//!
//! When a node runs for the first time, all its predecessors have run, and its successors have not.
//! In every plan, a predecessor's tensor that a successor reads is then in memory, or is computed
//! again later; the node's inputs are in memory. So the knapsack of the module above is valid with
//! those tensors alone.

use super::knapsack::MinimumKnapsack;
use super::{CostBound, TooSmall};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId, NodeKind, Reach};

/// A lower bound on the cost of every plan within a budget, stage schedule or not, in any order of
/// first computations.
///
/// Under MONeT's semantics, and for instances of more than 5,000 nodes, it is the cost of computing
/// everything once, in the cheapest way. Time is of the order of nodes times edges.
///
/// # Errors
/// [`TooSmall`] if no plan has room for some node's first computation (Checkmate's semantics).
///
/// ```
/// use remat_formulations::bound::{any_plan_bound, knapsack_bound};
/// use remat_formulations::{AnyFormulation, zoo};
/// use remat_search::Solvable;
///
/// let instance = zoo::build(&"zoo:vgg16?batch=8".parse()?)?;
/// let formulation = AnyFormulation::checkmate(&instance);
/// let budget = formulation.plain()?.peak_bytes * 9 / 10;
/// let any = any_plan_bound(&instance, formulation.semantics(), budget)?;
/// assert!(instance.base_cost() <= any.cost);
/// assert!(any.cost <= knapsack_bound(&instance, budget)?.cost);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn any_plan_bound(
    instance: &Instance,
    semantics: Semantics,
    budget_bytes: u64,
) -> Result<CostBound, TooSmall> {
    let without_bottleneck = |cost| CostBound {
        cost,
        bottleneck: None,
    };
    if semantics.chooses_implementations() {
        return Ok(without_bottleneck(cheapest(instance)));
    }
    let base = instance.base_cost();
    let mut bound = without_bottleneck(base);
    let reach = Reach::of(instance);
    for id in instance.ids() {
        let moment = FirstComputation::at(instance, reach.as_ref(), id);
        let needed = moment.needed_bytes();
        if needed > budget_bytes {
            return Err(TooSmall {
                budget_bytes,
                ..moment.small
            });
        }
        let items: u64 = moment.items.iter().map(|item| item.0).sum();
        let demand = items.saturating_sub(budget_bytes - needed);
        if demand == 0 {
            continue;
        }
        let knapsack = MinimumKnapsack::new(demand, moment.items);
        // The greedy solution first, an upper bound on the optimum: most moments cannot raise the
        // bound.
        let greedy = base + knapsack.greedy();
        if greedy <= bound.cost {
            continue;
        }
        let cost = base + knapsack.optimum();
        if cost > bound.cost {
            bound = CostBound {
                cost,
                bottleneck: Some(id),
            };
        }
    }
    Ok(bound)
}

/// Cost of each node once, in its cheapest way, by-products left out.
fn cheapest(instance: &Instance) -> u64 {
    let proper = |id: &NodeId| !matches!(instance.node(*id).kind, NodeKind::ByProduct { .. });
    let cost = |id: NodeId| {
        let node = instance.node(id);
        let ways = node.implementations.iter().map(|way| way.cost);
        let delta = node.in_place.as_ref().map_or(0, |p| p.cost_delta.min(0));
        ways.min().unwrap_or(0).saturating_add_signed(delta)
    };
    instance.ids().filter(proper).map(cost).sum()
}

/// A first computation, in any plan.
struct FirstComputation {
    /// The node and its own bytes, and the bytes of tensors that are never recomputed.
    small: TooSmall,
    /// Bytes and cost of tensors that are in memory or computed again, by rising cost per byte.
    items: Vec<(u64, u64)>,
}

impl FirstComputation {
    fn at(instance: &Instance, reach: Option<&Reach>, id: NodeId) -> Self {
        let bytes = |id: &NodeId| instance.node(*id).output_bytes;
        let node = instance.node(id);
        let needs = instance.needs(id);
        let mut kept_bytes = 0;
        let mut items = Vec::new();
        let held = reach.map_or(Vec::new(), |reach| crossing(reach, instance, id));
        for t in held.iter().filter(|t| needs.binary_search(t).is_err()) {
            let size = bytes(t);
            match instance.may_recompute(*t) {
                true if size > 0 => items.push((size, instance.node(*t).run_cost(true))),
                true => {}
                false => kept_bytes += size,
            }
        }
        items.sort_by(|a, b| {
            let [left, right] = [(a, b), (b, a)].map(|(x, y)| u128::from(x.1) * u128::from(y.0));
            left.cmp(&right)
        });
        let input_bytes: u64 = needs.iter().map(bytes).sum();
        let (fixed_bytes, workspace_bytes) = (instance.static_bytes(), node.workspace_bytes());
        let own = input_bytes + node.output_bytes + workspace_bytes;
        FirstComputation {
            small: TooSmall {
                node: id,
                name: node.name.clone(),
                needed_bytes: fixed_bytes + own + kept_bytes,
                input_bytes,
                output_bytes: node.output_bytes,
                workspace_bytes,
                kept_bytes,
                fixed_bytes,
                budget_bytes: 0,
            },
            items,
        }
    }

    fn needed_bytes(&self) -> u64 {
        self.small.needed_bytes
    }
}

/// Tensors of predecessors of a node that a successor of it reads.
fn crossing(reach: &Reach, instance: &Instance, id: NodeId) -> Vec<NodeId> {
    let is_behind = |u: &NodeId| reach.is_before(id, *u);
    let is_read = |t: &NodeId| instance.users(*t).iter().any(is_behind);
    reach.before(id).filter(is_read).collect()
}
