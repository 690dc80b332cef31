//! Sequences of a chain as plans of its graph.
//!
//! A stage stands for a block of nodes, and its input for one tensor or for all that the block
//! before saved. The computations are those of the schedule of the sequence
//! ([`TrainingChain::schedule`]); each tensor of an input that is offloaded makes a trip of its own,
//! and is back for its own first reader. The graph needs less memory than the chain's model says, and
//! knows no barrier, so a plan may be faster than its sequence; copies with a latency may make it
//! slower. The replay tells.

use super::model::{Link, LinkedChain};
use super::rows::Row;
use super::search::ChainSearch;
use super::sequence::{Action, SequenceError};
use super::trips::Computations;
use crate::baselines::chain::{NoChain, Operation, OperationError, TrainingChain, extract};
use remat_instances::instance::{CopyTimes, Instance, NodeId};
use remat_instances::plan::Plan;
use remat_instances::simulate::{self, Replay, ReplayError};

/// A row of a chain as a plan of its graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// The row.
    pub row: Row,
    /// The plan.
    pub plan: Plan,
    /// Its replay.
    pub replay: Replay,
}

/// Reason why an instance has no plans of its chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodePlansError {
    /// The instance says nothing of a link.
    #[error("the instance has no host_link; give one, such as 12GB/s")]
    NoLink,
    /// Costs are not times, so that copies have none.
    #[error("cost_unit {unit:?} is no unit of time, copies need one; give ns, us, ms or s")]
    NoTime {
        /// The unit.
        unit: String,
    },
    /// The graph is not a chain.
    #[error(transparent)]
    NoChain(#[from] NoChain),
    /// A sequence cannot be played; this would be a defect.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// A sequence cannot be executed; this would be a defect.
    #[error(transparent)]
    Operations(#[from] OperationError),
    /// A plan cannot be replayed; this would be a defect.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Plans of a training graph by the rows of its chain, with the instance's link, at most
/// `budget_bytes` on the device, fixed memory included, and no more than the link's host memory.
/// Rows that do not fit are left out, and [`Row::Pofo`] is no slower than [`Row::Rotor`] and
/// [`Row::OffloadOnly`]. Every makespan is that of [`simulate::plan`].
///
/// # Errors
/// [`NodePlansError`].
///
/// ```
/// use remat_formulations::offload::chain::{Row, chain_plans};
///
/// let spec = "resnet18?batch=8&device=v100".parse()?;
/// let instance = remat_instances::zoo::build(&spec)?.with_host_link(Some("12GB/s".parse()?))?;
/// let plans = chain_plans(&instance, 220 << 20)?;
/// let makespan = |row| plans.iter().find(|p| p.row == row).map(|p| p.replay.makespan);
/// assert!(makespan(Row::Pofo) <= makespan(Row::Rotor) && makespan(Row::Rotor).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn chain_plans(
    instance: &Instance,
    budget_bytes: u64,
) -> Result<Vec<NodePlan>, NodePlansError> {
    let host_link = instance.host_link().ok_or(NodePlansError::NoLink)?;
    let unit = instance.cost_unit();
    let no_time = || NodePlansError::NoTime {
        unit: unit.name.clone(),
    };
    let length = unit.nanoseconds.ok_or_else(no_time)?;
    let times = host_link.times(unit).ok_or_else(no_time)?;
    let rate = |bytes_per_second: u64| bytes_per_second as f64 * length * 1e-9;
    let link = Link {
        out: rate(host_link.to_host_bytes_per_second),
        back: rate(host_link.from_host_bytes_per_second),
    };
    let training = extract(instance)?;
    let Some(memory_bytes) = budget_bytes.checked_sub(training.chain().fixed_bytes) else {
        return Ok(Vec::new());
    };
    let chain = LinkedChain::of(training.chain());
    let found = ChainSearch::new(&chain, link, memory_bytes).rows()?;
    let mut plans: Vec<NodePlan> = Vec::new();
    let three = [&found.pofo, &found.rotor, &found.offload_only];
    let three = three
        .into_iter()
        .flatten()
        .map(|plan| (Row::Pofo, &plan.actions));
    let rows = found.rows.iter().map(|one| (one.row, &one.actions));
    let limit = host_link.host_memory_bytes.unwrap_or(u64::MAX);
    for (row, actions) in three.chain(rows) {
        let Some(plan) = node_plan(&training, actions, budget_bytes, &times)? else {
            continue;
        };
        let replay = simulate::plan(instance, &plan)?;
        if replay.peak_bytes > budget_bytes || replay.transfers.host_peak_bytes > limit {
            continue;
        }
        match plans.iter_mut().find(|one| one.row == row) {
            Some(one) if one.replay.makespan <= replay.makespan => {}
            Some(one) => (one.plan, one.replay) = (plan, replay),
            None => plans.push(NodePlan { row, plan, replay }),
        }
    }
    plans.sort_by_key(|one| one.row);
    Ok(plans)
}

/// The plan of a sequence; `None` where it does not fit into the budget.
fn node_plan(
    training: &TrainingChain<'_>,
    actions: &[Action],
    budget_bytes: u64,
    times: &CopyTimes,
) -> Result<Option<Plan>, NodePlansError> {
    let instance = training.instance();
    let operations = actions.iter().filter_map(|&action| match action {
        Action::SaveAll(stage) => Some(Operation::SaveAll(stage)),
        Action::KeepInput(stage) => Some(Operation::KeepInput(stage)),
        Action::DropInput(stage) => Some(Operation::DropInput(stage)),
        Action::Backward(stage) => Some(Operation::Backward(stage)),
        Action::Offload(_) | Action::Prefetch(_) => None,
    });
    let schedule = training.schedule(&operations.collect::<Vec<_>>())?;
    let computed = schedule.computed.by_row();
    let order =
        (0..instance.len()).flat_map(|stage| computed.row(stage).iter().map(|&i| NodeId(i)));
    let Some(computations) = Computations::new(instance, order) else {
        return Ok(None);
    };
    let blocks = training.blocks();
    let turn = blocks
        .last()
        .map(|block| NodeId::from(block.backward.start));
    let Some(turn) = turn.and_then(|node| computations.first(node)) else {
        return Ok(None);
    };
    let mut leaving: Vec<NodeId> = Vec::new();
    let mut has_saved = vec![false; blocks.len()];
    for &action in actions {
        match action {
            Action::SaveAll(stage) => has_saved[stage] = true,
            Action::Offload(stage) => {
                let Some(before) = stage.checked_sub(1) else {
                    continue;
                };
                leaving.extend(blocks[before].output);
                if has_saved[before] {
                    leaving.extend(&blocks[before].saved);
                }
            }
            Action::Backward(_) => break,
            _ => {}
        }
    }
    leaving.sort_unstable();
    leaving.dedup();
    Ok(computations.plan(&leaving, turn, budget_bytes, times))
}
