//! Combinatorial dual bounds that need no linear program.
//!
//! When node `b` runs for the first time, its inputs and its output are in memory. Every other
//! tensor that was computed before and is still read after `b` either is in memory as well, or is
//! computed again later. The tensors that are not in memory must make room for the rest. This is a
//! minimum knapsack, and every schedule pays its optimum beyond computing each node once. All
//! arithmetic is in integers, so the bound is safe.

mod any_plan;
mod knapsack;
mod moments;
mod regress;

pub use any_plan::any_plan_bound;
pub(crate) use regress::has_no_way_back;

use moments::Moments;
use remat_instances::budget::format_bytes;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::name::Name;

/// Number of moments whose knapsack is solved exactly; the others keep their relaxation.
const EXACT_MOMENTS: usize = 24;

/// A lower bound on the cost of every schedule within a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostBound {
    /// No schedule costs less.
    pub cost: u64,
    /// The node whose first computation forces the recomputations, if any are forced.
    pub bottleneck: Option<NodeId>,
}

/// Proof that no schedule fits: a node that cannot run even alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "node {node} ({name}) needs {} to run (inputs {}, output {}, workspace {}, {}fixed {}), the budget is {}",
    format_bytes(*needed_bytes), format_bytes(*input_bytes), format_bytes(*output_bytes),
    format_bytes(*workspace_bytes), kept_words(*kept_bytes), format_bytes(*fixed_bytes),
    format_bytes(*budget_bytes)
)]
pub struct TooSmall {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: Name,
    /// Bytes without which it cannot run.
    pub needed_bytes: u64,
    /// Bytes of its inputs.
    pub input_bytes: u64,
    /// Bytes of its output.
    pub output_bytes: u64,
    /// Bytes of its workspace.
    pub workspace_bytes: u64,
    /// Bytes of other tensors that later nodes read and that are never recomputed.
    pub kept_bytes: u64,
    /// Memory that is resident in any case.
    pub fixed_bytes: u64,
    /// The budget.
    pub budget_bytes: u64,
}

fn kept_words(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!("never recomputed {}, ", format_bytes(bytes)),
    }
}

/// For each node, the bytes of tensors, apart from its inputs, that are never recomputed and that a
/// later node reads. They are in memory when the node runs for the first time.
fn kept_bytes(instance: &Instance) -> Vec<u64> {
    let bytes = |id: &NodeId| instance.node(*id).output_bytes;
    // Sums of differences, from after a tensor to before its last reader.
    let (mut begins, mut ends) = (vec![0; instance.len() + 1], vec![0; instance.len() + 1]);
    let once = |id: &NodeId| !instance.may_recompute(*id);
    for id in instance.ids().filter(once) {
        if let Some(last) = instance.users(id).last() {
            begins[id.index() + 1] += bytes(&id);
            ends[last.index() + 1] += bytes(&id);
        }
    }
    let mut alive = 0u64;
    let kept = instance.ids().map(|id| {
        alive = alive + begins[id.index()] - ends[id.index()];
        let own = instance.needs(id).iter().filter(|need| once(need));
        alive - own.map(bytes).sum::<u64>()
    });
    kept.collect()
}

/// The largest sum of a node's inputs, output and workspace in bytes, and that node; `None` for an
/// instance without nodes.
pub(crate) fn largest_working_set(instance: &Instance) -> Option<(u64, NodeId)> {
    let bytes = |id: NodeId| {
        let node = instance.node(id);
        let inputs = instance.needs(id).iter();
        let inputs: u64 = inputs.map(|d| instance.node(*d).output_bytes).sum();
        (inputs + node.output_bytes + node.workspace_bytes(), id)
    };
    instance.ids().map(bytes).max()
}

/// The least budget that any schedule needs, and the node that needs it: inputs, output, workspace,
/// tensors that are never recomputed, and fixed memory.
///
/// It is necessary, not sufficient. Panics for an empty instance, which does not exist.
pub fn smallest_budget(instance: &Instance) -> TooSmall {
    let fixed_bytes = instance.static_bytes();
    let kept = kept_bytes(instance);
    let at = |id: NodeId| {
        let kept_bytes = kept[id.index()];
        let node = instance.node(id);
        let input_bytes: u64 = node
            .needs()
            .iter()
            .map(|d| instance.node(*d).output_bytes)
            .sum();
        let (output_bytes, workspace_bytes) = (node.output_bytes, node.workspace_bytes());
        TooSmall {
            node: id,
            name: node.name.clone(),
            needed_bytes: fixed_bytes + input_bytes + output_bytes + workspace_bytes + kept_bytes,
            input_bytes,
            output_bytes,
            workspace_bytes,
            kept_bytes,
            fixed_bytes,
            budget_bytes: 0,
        }
    };
    let mut worst = at(NodeId(0));
    for id in instance.ids().skip(1) {
        let here = at(id);
        if here.needed_bytes > worst.needed_bytes {
            worst = here;
        }
    }
    worst
}

/// Checks that every node can run within a budget.
///
/// # Errors
/// [`TooSmall`] names the node that needs the most memory.
pub fn check_budget(instance: &Instance, budget_bytes: u64) -> Result<(), TooSmall> {
    let smallest = smallest_budget(instance);
    match smallest.needed_bytes > budget_bytes {
        true => Err(TooSmall {
            budget_bytes,
            ..smallest
        }),
        false => Ok(()),
    }
}

/// The knapsack bound described at the top of the module, in time of the order of the edges times a
/// logarithm.
///
/// # Errors
/// [`TooSmall`] if a node cannot run within the budget at all.
pub fn knapsack_bound(instance: &Instance, budget_bytes: u64) -> Result<CostBound, TooSmall> {
    check_budget(instance, budget_bytes)?;
    let base = instance.base_cost();
    let moments = Moments::new(instance, budget_bytes, &kept_bytes(instance));
    let mut costs = moments.relaxed();
    costs.retain(|(cost, _)| *cost > 0);
    costs.sort_by_key(|&(cost, b)| (std::cmp::Reverse(cost), b));
    let Some(&(mut forced, mut bottleneck)) = costs.first() else {
        return Ok(CostBound {
            cost: base,
            bottleneck: None,
        });
    };
    for &(_, b) in costs.iter().take(EXACT_MOMENTS) {
        let cost = moments.knapsack(b).optimum();
        if cost > forced {
            (forced, bottleneck) = (cost, b);
        }
    }
    Ok(CostBound {
        cost: base + forced,
        bottleneck: Some(bottleneck),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::instance::{CostUnit, InstanceData, Node};

    /// A chain of `n` forward nodes with random sizes and costs, a loss, and its backward pass.
    fn chain(sizes: &[(u64, u64)]) -> Instance {
        let n = sizes.len() as u32;
        let mut nodes = Vec::new();
        for (k, &(bytes, cost)) in sizes.iter().enumerate() {
            let needs = if k == 0 {
                vec![]
            } else {
                vec![NodeId(k as u32 - 1)]
            };
            nodes.push(Node::forward(format!("f{k}"), needs, cost, bytes));
        }
        nodes.push(Node::loss("loss", vec![NodeId(n - 1)], 1, 1));
        for (k, &(bytes, cost)) in sizes.iter().enumerate().rev() {
            let before = NodeId(nodes.len() as u32 - 1);
            let twin = NodeId(k as u32);
            nodes.push(Node::backward(
                format!("b{k}"),
                Some(twin),
                vec![twin, before],
                cost,
                bytes,
            ));
        }
        Instance::new(InstanceData {
            name: "c".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        })
        .unwrap()
    }

    #[test]
    fn a_tight_chain_forces_recomputation() {
        let instance = chain(&[(10, 5), (10, 3), (10, 7), (10, 9)]);
        let peak = 10 * 5 + 1;
        let ample = knapsack_bound(&instance, peak).unwrap();
        assert_eq!((ample.cost, ample.bottleneck), (instance.base_cost(), None));
        let tight = knapsack_bound(&instance, 40).unwrap();
        assert!(tight.cost > instance.base_cost() && tight.bottleneck.is_some());
        let error = knapsack_bound(&instance, 20).unwrap_err();
        assert_eq!((error.needed_bytes, error.budget_bytes), (30, 20));
    }
}
