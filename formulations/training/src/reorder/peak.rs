//! Orders of least peak without recomputation, from which the search starts.

use super::judge::Judge;
use super::moves::NodeOrder;
use crate::improve::RunGraph;
use remat_instances::instance::{NodeId, Precedence};
use remat_instances::order::{OperatorId, Variant};
use remat_memory::order::{OrderBaselines, OrderSearch, OrderSettings};
use remat_search::Unheard;

/// The order with the least peak found, other orders of the same peak, and the orders by rules of
/// frameworks.
pub(super) fn orders_of_least_peak(
    judge: &Judge<'_>,
    rules: &Precedence,
    threads: usize,
) -> Vec<NodeOrder> {
    let (instance, tuning) = (judge.given, judge.tuning);
    let made = || {
        let plain = instance.without_recomputation(judge.semantics).ok()?;
        let plan = plain.plan(instance).ok()?;
        let computations = plan.computations_in_order(instance).ok()?;
        let made = RunGraph::of(instance, rules, &computations)?;
        Some((made, computations, plan))
    };
    let Some((made, computations, plan)) = made() else {
        return Vec::new();
    };
    let quiet = Unheard(judge.watch.listener());
    let search = OrderSearch::new(&made.graph).listener(&quiet);
    let search = search.settings(OrderSettings {
        time_limit: judge
            .watch
            .left()
            .map(|left| left.mul_f64(tuning.peak_share)),
        states: tuning.peak_states,
        threads,
        seed: judge.seed,
        ..OrderSettings::default()
    });
    let mut orders: Vec<Vec<OperatorId>> = Vec::new();
    if let Ok(outcome) = search.run() {
        let (order, peak) = (outcome.order.clone(), outcome.peak_bytes());
        orders.push(outcome.order);
        let others = search.alternatives(&order, peak, tuning.alternatives);
        orders.extend(others.unwrap_or_default());
    }
    if let Ok(baselines) = OrderBaselines::of(&made.graph, Variant::default()) {
        orders.extend(baselines.all().iter().map(|b| b.order.clone()));
    }
    let nodes = |order: Vec<OperatorId>| {
        let own = order.iter().filter(|v| v.index() < made.runs);
        let nodes: Vec<NodeId> = own.map(|v| computations.runs[v.index()].node).collect();
        complete(nodes, instance.len())
    };
    drop(plan);
    orders.into_iter().map(nodes).collect()
}

/// The order with its missing nodes, which are by-products without readers: each follows its
/// predecessor in the instance.
fn complete(mut nodes: Vec<NodeId>, len: usize) -> NodeOrder {
    let mut seen = vec![false; len];
    nodes.iter().for_each(|id| seen[id.index()] = true);
    for id in (0..len).filter(|i| !seen[*i]) {
        let before = id.checked_sub(1).map(NodeId::from);
        let at = before.and_then(|b| nodes.iter().position(|o| *o == b));
        nodes.insert(at.map_or(0, |at| at + 1), NodeId::from(id));
    }
    NodeOrder::new(nodes)
}
