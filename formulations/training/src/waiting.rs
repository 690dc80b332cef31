//! Memory of other micro-batches that wait between their two passes.
//!
//! While one micro-batch runs, each of the `k - 1` others holds the tensors that the step keeps
//! between its two passes. With `saved` bytes there and `live(t)` bytes at event `t`, a plan fits a
//! capacity `C` if `(k - 1) saved + live(t) <= C` at every event. A *wait node* between the passes
//! reads nothing, costs nothing and has no output. `saved` are the bytes at its event. So a tensor
//! that is there counts `k - 1` times its bytes in every memory row of Checkmate's program.

use remat_instances::instance::{Instance, NodeId};

/// Steps from the largest to the least budget of [`budgets_beside_others`].
const OWN_BUDGET_STEPS: u64 = 2;

/// Micro-batches that wait, and the event at which they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The wait node, which is also its stage.
    pub stage: u32,
    /// Micro-batches that wait: those in flight without the one that runs.
    pub others: u64,
}

impl Waiting {
    /// The wait of an instance; `None` for one micro-batch in flight, and if the backward pass does
    /// not begin with a wait node. Without the term of the wait, programs are relaxations.
    pub fn of(instance: &Instance) -> Option<Self> {
        let others = u64::from(instance.in_flight()) - 1;
        let id = instance.backward_start().filter(|_| others > 0)?;
        let is_wait = id.index() < instance.len() && {
            let node = instance.node(id);
            let workspaces = [false, true].map(|again| node.run_workspace_bytes(again));
            let taken = node.cost() + node.output_bytes + workspaces[0].max(workspaces[1]);
            node.needs().is_empty() && taken == 0 && !instance.may_recompute(id)
        };
        is_wait.then_some(Waiting {
            stage: id.0,
            others,
        })
    }
}

/// Bytes that other micro-batches hold in every schedule: copies of the tensors that are never
/// recomputed and that the backward pass reads.
fn least_bytes_of_others(instance: &Instance) -> u64 {
    let others = u64::from(instance.in_flight()) - 1;
    let Some(start) = instance.backward_start().filter(|_| others > 0) else {
        return 0;
    };
    let is_kept = |id: &NodeId| {
        let is_read = instance.users(*id).last().is_some_and(|u| *u >= start);
        is_read && !instance.may_recompute(*id)
    };
    let kept = (0..start.0).map(NodeId).filter(is_kept);
    let saved: u64 = kept.map(|id| instance.node(id).output_bytes).sum();
    others.saturating_mul(saved)
}

/// The part of a budget that the running micro-batch can use at most: the other ones hold at least
/// the tensors that every schedule keeps between the passes.
pub fn own_budget(instance: &Instance, budget_bytes: u64) -> u64 {
    budget_bytes.saturating_sub(least_bytes_of_others(instance))
}

/// Budgets for heuristics that do not know of other micro-batches: each leaves these a part of the
/// given budget, from the least to an equal share for every micro-batch.
pub(crate) fn budgets_beside_others(instance: &Instance, budget_bytes: u64) -> Vec<u64> {
    if instance.in_flight() == 1 {
        return vec![budget_bytes];
    }
    let most = own_budget(instance, budget_bytes);
    let least = (budget_bytes / u64::from(instance.in_flight())).min(most);
    let steps = 0..=OWN_BUDGET_STEPS;
    let budgets = steps.map(|k| most - (most - least) / OWN_BUDGET_STEPS * k);
    budgets.collect()
}
