//! Combinatorial dual bounds that need no linear program.
//!
//! When node `b` runs for the first time, its inputs and its output are in memory. Every other
//! tensor that was computed before and is still read after `b` either is in memory as well, or is
//! computed again later. The tensors that are not in memory must make room for the rest: a minimum
//! knapsack, whose optimum is a cost that every schedule pays beyond computing each node once. All
//! arithmetic is in integers, so the bound is safe.

use remat_instances::budget::format_bytes;
use remat_instances::instance::{Instance, NodeId};

/// Search nodes after which a knapsack is left at its relaxation.
const KNAPSACK_NODES: u32 = 200_000;
/// Moments whose knapsack is solved exactly; the others keep their relaxation.
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
    pub name: String,
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

/// For each node, the bytes of tensors that are never recomputed and that a later node reads, apart
/// from its own inputs: they are in memory when it runs for the first time.
fn kept_bytes(instance: &Instance) -> Vec<u64> {
    let bytes = |id: &NodeId| instance.node(*id).output_bytes;
    // Sums of differences: from behind a tensor up to before its last reader.
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

/// The least budget that any schedule needs, and the node that needs it: inputs, output, workspace,
/// what is never recomputed and fixed memory.
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

/// The knapsack bound described at the top of the module.
///
/// # Errors
/// [`TooSmall`] where a node cannot run within the budget at all.
pub fn knapsack_bound(instance: &Instance, budget_bytes: u64) -> Result<CostBound, TooSmall> {
    let smallest = smallest_budget(instance);
    if smallest.needed_bytes > budget_bytes {
        return Err(TooSmall {
            budget_bytes,
            ..smallest
        });
    }
    let base = instance.base_cost();
    let kept = kept_bytes(instance);
    let mut moments: Vec<(u64, NodeId)> = instance
        .ids()
        .map(|b| {
            (
                relaxed(&items_at(instance, budget_bytes, kept[b.index()], b)),
                b,
            )
        })
        .filter(|m| m.0 > 0)
        .collect();
    moments.sort_by_key(|&(cost, b)| (std::cmp::Reverse(cost), b));
    let Some(&(mut forced, mut bottleneck)) = moments.first() else {
        return Ok(CostBound {
            cost: base,
            bottleneck: None,
        });
    };
    for &(_, b) in moments.iter().take(EXACT_MOMENTS) {
        let cost = exact(&items_at(instance, budget_bytes, kept[b.index()], b));
        if cost > forced {
            (forced, bottleneck) = (cost, b);
        }
    }
    Ok(CostBound {
        cost: base + forced,
        bottleneck: Some(bottleneck),
    })
}

/// A minimum knapsack: choose items of total size at least `demand` at least cost. Items stand by
/// rising cost per byte.
struct MinimumKnapsack {
    demand: u64,
    items: Vec<(u64, u64)>,
}

/// Minimum knapsack of the tensors of which some must make room when `b` runs for the first time,
/// beside so many bytes that stay.
fn items_at(instance: &Instance, budget_bytes: u64, kept_bytes: u64, b: NodeId) -> MinimumKnapsack {
    let node = instance.node(b);
    let mut room = budget_bytes - instance.static_bytes() - node.output_bytes;
    room -= node.workspace_bytes() + kept_bytes;
    room -= node
        .needs()
        .iter()
        .map(|d| instance.node(*d).output_bytes)
        .sum::<u64>();
    let mut items: Vec<(u64, u64)> = (0..b.index())
        .map(NodeId::from)
        .filter(|i| {
            instance.may_recompute(*i)
                && instance.users(*i).last().is_some_and(|last| *last > b)
                && node.needs().binary_search(i).is_err()
        })
        .map(|i| {
            (
                instance.node(i).output_bytes,
                instance.node(i).run_cost(true),
            )
        })
        .filter(|(bytes, _)| *bytes > 0)
        .collect();
    let total: u64 = items.iter().map(|i| i.0).sum();
    items.sort_by(|a, b| (a.1 as u128 * b.0 as u128).cmp(&(b.1 as u128 * a.0 as u128)));
    MinimumKnapsack {
        demand: total.saturating_sub(room),
        items,
    }
}

/// Linear relaxation, rounded up.
fn relaxed(knapsack: &MinimumKnapsack) -> u64 {
    relaxed_from(&knapsack.items, knapsack.demand)
}

fn relaxed_from(items: &[(u64, u64)], demand: u64) -> u64 {
    let (mut left, mut cost) = (demand, 0);
    for &(bytes, item_cost) in items {
        if left == 0 {
            break;
        }
        if bytes >= left {
            cost += (item_cost as u128 * left as u128).div_ceil(bytes as u128) as u64;
            left = 0;
        } else {
            (left, cost) = (left - bytes, cost + item_cost);
        }
    }
    cost
}

/// The optimum by depth-first search, or the relaxation where that takes too long.
fn exact(knapsack: &MinimumKnapsack) -> u64 {
    let mut search = KnapsackSearch {
        items: &knapsack.items,
        best: greedy(knapsack),
        nodes: 0,
        slack: suffix_bytes(&knapsack.items),
    };
    search.visit(0, knapsack.demand, 0);
    if search.nodes >= KNAPSACK_NODES {
        relaxed(knapsack)
    } else {
        search.best
    }
}

fn suffix_bytes(items: &[(u64, u64)]) -> Vec<u64> {
    let mut sum = vec![0; items.len() + 1];
    for k in (0..items.len()).rev() {
        sum[k] = sum[k + 1] + items[k].0;
    }
    sum
}

fn greedy(knapsack: &MinimumKnapsack) -> u64 {
    let (mut left, mut cost) = (knapsack.demand, 0);
    for &(bytes, item_cost) in &knapsack.items {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(bytes);
        cost += item_cost;
    }
    cost
}

struct KnapsackSearch<'a> {
    items: &'a [(u64, u64)],
    best: u64,
    nodes: u32,
    /// Bytes of all items from an index on.
    slack: Vec<u64>,
}

impl KnapsackSearch<'_> {
    /// Takes, then leaves, item `k`; prunes by the relaxation of the rest. Depth is the number of
    /// items taken or left, so an explicit stack keeps long lists off the call stack.
    fn visit(&mut self, k: usize, demand: u64, cost: u64) {
        let mut stack = vec![(k, demand, cost)];
        while let Some((k, demand, cost)) = stack.pop() {
            self.nodes += 1;
            if self.nodes >= KNAPSACK_NODES {
                return;
            }
            if demand == 0 {
                self.best = self.best.min(cost);
                continue;
            }
            if self.slack[k] < demand || cost + relaxed_from(&self.items[k..], demand) >= self.best
            {
                continue;
            }
            let (bytes, item_cost) = self.items[k];
            stack.push((k + 1, demand, cost));
            stack.push((k + 1, demand.saturating_sub(bytes), cost + item_cost));
        }
    }
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
            nodes,
        })
        .unwrap()
    }

    #[test]
    fn knapsacks_equal_enumeration() {
        let mut seed = 7u64;
        let mut next = |m: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % m
        };
        for _ in 0..300 {
            let items: Vec<(u64, u64)> =
                (0..1 + next(9)).map(|_| (1 + next(20), next(30))).collect();
            let total: u64 = items.iter().map(|i| i.0).sum();
            let demand = next(total + 1);
            let mut sorted = items.clone();
            sorted.sort_by(|a, b| (a.1 * b.0).cmp(&(b.1 * a.0)));
            let knapsack = MinimumKnapsack {
                demand,
                items: sorted,
            };
            let brute = (0u32..1 << items.len())
                .filter_map(|mask| {
                    let chosen = items
                        .iter()
                        .enumerate()
                        .filter(|(k, _)| mask >> k & 1 != 0)
                        .map(|(_, i)| *i);
                    let (bytes, cost) = chosen.fold((0, 0), |(b, c), i| (b + i.0, c + i.1));
                    (bytes >= demand).then_some(cost)
                })
                .min()
                .unwrap();
            assert_eq!(exact(&knapsack), brute);
            assert!(relaxed(&knapsack) <= brute);
        }
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
