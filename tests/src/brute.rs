//! The optimum of Checkmate's program by enumeration, for small graphs. Shares no code with the
//! solver.

use crate::ends::is_ended_before;
use remat_instances::instance::NodeKind;
use remat_instances::{Instance, NodeId};

/// Least cost of a schedule within a budget, or `None` if it is infeasible.
///
/// A table over all subsets of nodes that may be retained at the start of a stage, stage by stage:
/// `O(n 4^n)` stage evaluations for `n` nodes, so for `n` up to about 10.
pub fn optimum(instance: &Instance, budget_bytes: u64) -> Option<u64> {
    let n = instance.len();
    assert!(n <= 12, "enumeration over {n} nodes takes too long");
    let mut best: Vec<Option<u64>> = vec![Some(0)];
    for t in 0..n {
        let last = t + 1 == n;
        let mut next = vec![None; if last { 1 } else { 1 << (t + 1) }];
        for (held, cost) in best
            .iter()
            .enumerate()
            .filter_map(|(s, c)| Some((s as u32, (*c)?)))
        {
            for (kept, slot) in next.iter_mut().enumerate() {
                if let Some(stage) = stage_cost(instance, budget_bytes, t, held, kept as u32) {
                    let total = cost + stage;
                    if slot.is_none_or(|s| total < s) {
                        *slot = Some(total);
                    }
                }
            }
        }
        best = next;
    }
    best[0]
}

/// Cost of stage `t` from `held` to `kept`, or `None` if it does not fit.
fn stage_cost(
    instance: &Instance,
    budget_bytes: u64,
    t: usize,
    held: u32,
    kept: u32,
) -> Option<u64> {
    let bytes = |i: usize| instance.node(NodeId::from(i)).output_bytes;
    let needs = |k: usize| instance.needs(NodeId::from(k)).iter().map(|d| d.index());
    let mut run = 1u32 << t | (kept & !held);
    for k in (0..=t).rev().filter(|k| *k <= t) {
        if run >> k & 1 != 0 {
            if let (NodeKind::ByProduct { parent }, true) =
                (instance.node(NodeId::from(k)).kind, k < t)
            {
                run |= 1 << parent.0;
            }
            for d in needs(k) {
                if held >> d & 1 == 0 {
                    run |= 1 << d;
                }
            }
        }
    }
    // Nodes that may run only once or are ended, and their by-products, do not run again.
    let once = |k: usize| {
        let node = instance.node(NodeId::from(k));
        let of_parent = match node.kind {
            NodeKind::ByProduct { parent } => instance.node(parent).once,
            _ => false,
        };
        node.once || of_parent || is_ended_before(instance, k, t)
    };
    if (0..t).any(|k| run >> k & 1 != 0 && once(k)) {
        return None;
    }
    let mut there: Vec<usize> = (0..=t).filter(|i| held >> i & 1 != 0).collect();
    let mut cost = 0;
    let fits = |there: &[usize], workspace: u64| {
        there.iter().map(|i| bytes(*i)).sum::<u64>() + workspace + instance.static_bytes()
            <= budget_bytes
    };
    if !fits(&there, 0) {
        return None;
    }
    for k in (0..=t).filter(|k| run >> k & 1 != 0) {
        there.push(k);
        let way = &instance.node(NodeId::from(k)).implementations[0];
        let (price, workspace) = match k < t {
            true => (way.recompute_cost, way.recompute_workspace_bytes),
            false => (way.cost, way.workspace_bytes),
        };
        if !fits(&there, workspace.max(0) as u64) {
            return None;
        }
        cost += price;
        // An input is freed after its last reader in this stage, unless the next stage holds it.
        let wanted = |i: usize| (k + 1..=t).any(|j| run >> j & 1 != 0 && needs(j).any(|d| d == i));
        there.retain(|i| !needs(k).any(|d| d == *i) || kept >> i & 1 != 0 || wanted(*i));
    }
    Some(cost)
}
