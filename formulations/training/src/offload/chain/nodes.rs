//! Sequences of a chain as plans of its graph.
//!
//! A stage stands for a block of nodes, and its input for one tensor or for all tensors that the
//! block before saved. The computations come from the schedule of the sequence
//! ([`TrainingChain::schedule`]). Each tensor of an offloaded input makes a trip of its own, and is
//! back for its own first reader. A plan may be faster than its sequence, because the graph needs
//! less memory than the chain's model and has no barrier; the latency of copies may make it slower.
//! The replay decides.

use super::model::{Link, LinkedChain};
use super::rows::{ChainMethod, ChainRows};
use super::search::{ChainSearch, ChainTuning};
use super::sequence::{Action, SequenceError};
use super::trips::Computations;
use crate::baselines::chain::{NoChain, Operation, OperationError, TrainingChain, extract};
use crate::offload::CopyPhase;
use remat_instances::instance::{CopyTimes, HostLink, Instance, NodeId};
use remat_instances::name::Name;
use remat_instances::plan::Plan;
use remat_instances::simulate::{self, Replay, ReplayError};

/// Largest number of stages that [`chain_plans`] searches, in some tens of seconds.
const STAGES_LIMIT: usize = 200;

/// A row of a chain as a plan of its graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// The row.
    pub row: ChainMethod,
    /// The plan.
    pub plan: Plan,
    /// Its replay.
    pub replay: Replay,
}

/// Reason why an instance has no plans of its chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodePlansError {
    /// The instance has no link.
    #[error("the instance has no host_link; give one, such as 12GB/s")]
    NoLink,
    /// Costs are not times, so the durations of copies have no unit.
    #[error("cost_unit {unit:?} is no unit of time, copies need one; give ns, us, ms or s")]
    NoTime {
        /// The unit.
        unit: Name,
    },
    /// The graph is not a chain.
    #[error(transparent)]
    NoChain(#[from] NoChain),
    /// The chain is too long for the searches.
    #[error("the chain of the graph has {stages} stages, more than {limit}")]
    TooLong {
        /// Stages of the chain.
        stages: usize,
        /// Largest number of stages.
        limit: usize,
    },
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

/// Plans of a training graph by the rows of its chain, with the instance's link, copies as `phase`
/// admits, and at most `budget_bytes` on the device, fixed memory included: [`plans_of_rows`] of
/// the default search.
///
/// # Errors
/// [`NodePlansError`].
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::chain::{ChainMethod, chain_plans};
///
/// let spec = "resnet18?batch=8&device=v100".parse()?;
/// let instance = remat_instances::zoo::build(&spec)?.with_host_link(Some("12GB/s".parse()?))?;
/// let plans = chain_plans(&instance, 220 << 20, CopyPhase::Any)?;
/// let makespan = |row| plans.iter().find(|p| p.row == row).map(|p| p.replay.makespan);
/// let [pofo, rotor] = [ChainMethod::Pofo, ChainMethod::Rotor].map(makespan);
/// assert!(pofo <= rotor && rotor.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn chain_plans(
    instance: &Instance,
    budget_bytes: u64,
    phase: CopyPhase,
) -> Result<Vec<NodePlan>, NodePlansError> {
    chain_plans_tuned(instance, budget_bytes, phase, ChainTuning::of)
}

/// The same by a search with tuning for the number of stages.
pub(crate) fn chain_plans_tuned(
    instance: &Instance,
    budget_bytes: u64,
    phase: CopyPhase,
    tuning: fn(usize) -> ChainTuning,
) -> Result<Vec<NodePlan>, NodePlansError> {
    let link = Link::of(instance)?;
    let training = extract(instance)?;
    let Some(memory_bytes) = budget_bytes.checked_sub(training.chain().fixed_bytes) else {
        return Ok(Vec::new());
    };
    let chain = LinkedChain::of(training.chain());
    if chain.len() > STAGES_LIMIT {
        return Err(NodePlansError::TooLong {
            stages: chain.len(),
            limit: STAGES_LIMIT,
        });
    }
    let search = ChainSearch::new(&chain, link, memory_bytes);
    let rows = search.tuning(tuning(chain.len())).rows()?;
    plans_of_rows(&training, &rows, budget_bytes, phase)
}

/// Plans of a training graph from known rows of its chain, with the instance's link and copies as
/// `phase` admits. They use at most `budget_bytes` on the device, fixed memory included, and at
/// most the link's memory on the host.
///
/// Rows that do not fit are left out. [`ChainMethod::Pofo`] is the best of the plans of POFO, rotor
/// and offloading alone. Every makespan comes from [`simulate::plan`].
///
/// # Errors
/// [`NodePlansError`].
pub fn plans_of_rows(
    training: &TrainingChain<'_>,
    rows: &ChainRows,
    budget_bytes: u64,
    phase: CopyPhase,
) -> Result<Vec<NodePlan>, NodePlansError> {
    let instance = training.instance();
    let (host_link, times) = link_of(instance)?;
    let three = [&rows.pofo, &rows.rotor, &rows.offload_only];
    let three = three
        .into_iter()
        .flatten()
        .map(|plan| (ChainMethod::Pofo, &plan.actions));
    let others = rows.rows.iter().map(|one| (one.row, &one.actions));
    let limit = host_link.host_memory_bytes.unwrap_or(u64::MAX);
    let mut plans: Vec<NodePlan> = Vec::new();
    for (row, actions) in three.chain(others) {
        for plan in node_plans(training, actions, budget_bytes, phase, &times)? {
            let replay = simulate::plan(instance, &plan)?;
            let is_within =
                replay.peak_bytes <= budget_bytes && replay.transfers.host_peak_bytes <= limit;
            if !is_within || !phase.admits(instance, &replay) {
                continue;
            }
            match plans.iter_mut().find(|one| one.row == row) {
                Some(one) if one.replay.makespan <= replay.makespan => {}
                Some(one) => (one.plan, one.replay) = (plan, replay),
                None => plans.push(NodePlan { row, plan, replay }),
            }
        }
    }
    plans.sort_by_key(|one| one.row);
    Ok(plans)
}

/// The link of an instance, and times of copies over it.
fn link_of(instance: &Instance) -> Result<(&HostLink, CopyTimes), NodePlansError> {
    let link = instance.host_link().ok_or(NodePlansError::NoLink)?;
    let unit = instance.cost_unit();
    let times = link.times(unit).ok_or_else(|| NodePlansError::NoTime {
        unit: unit.name.clone(),
    })?;
    Ok((link, times))
}

impl Link {
    /// The link of an instance, in bytes per unit of its costs; latency is left out.
    ///
    /// # Errors
    /// [`NodePlansError::NoLink`] and [`NodePlansError::NoTime`].
    pub fn of(instance: &Instance) -> Result<Self, NodePlansError> {
        let (link, _) = link_of(instance)?;
        let length = instance.cost_unit().nanoseconds.unwrap_or(1.0);
        let rate = |bytes_per_second: u64| bytes_per_second as f64 * length * 1e-9;
        Ok(Link {
            out: rate(link.to_host_bytes_per_second),
            back: rate(link.from_host_bytes_per_second),
        })
    }
}

/// The plans of a sequence that fit the budget: one in which all tensors that the sequence offloads
/// may leave, and one without tensors whose copies take less than twice the latency.
fn node_plans(
    training: &TrainingChain<'_>,
    actions: &[Action],
    budget_bytes: u64,
    phase: CopyPhase,
    times: &CopyTimes,
) -> Result<Vec<Plan>, NodePlansError> {
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
        return Ok(Vec::new());
    };
    let blocks = training.blocks();
    let turn = blocks
        .last()
        .map(|block| NodeId::from(block.backward.start));
    let Some(turn) = turn.and_then(|node| computations.first(node)) else {
        return Ok(Vec::new());
    };
    let loss = instance.loss().filter(|_| phase == CopyPhase::Loss);
    let barrier = loss.and_then(|loss| computations.first(loss));
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
    let latency = times.to_host(0).unwrap_or(0);
    let is_large = |id: &NodeId| {
        let time = times.to_host(instance.node(*id).output_bytes);
        time.is_some_and(|time| time >= 2 * latency)
    };
    let large: Vec<NodeId> = leaving.iter().copied().filter(is_large).collect();
    let mut plans: Vec<Plan> = Vec::new();
    if large.len() < leaving.len() {
        plans.extend(computations.plan(&large, turn, barrier, budget_bytes, times));
    }
    plans.extend(computations.plan(&leaving, turn, barrier, budget_bytes, times));
    Ok(plans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::{fixtures, rotor};
    use proptest::prelude::*;
    use remat_instances::instance::CostUnit;
    use remat_instances::schedule::CheckmateSchedule;

    fn linked(instance: &Instance, unit: CostUnit, link: HostLink) -> Instance {
        let mut data = instance.data().clone();
        (data.cost_unit, data.host_link) = (unit, Some(link));
        Instance::new(data).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn plans_keep_the_budget_and_rotors_is_rotors(
            instance in fixtures::any_chain(),
            speeds in (0u64..4, 0u64..4),
            latency_ns in 0u64..4,
            share in 30u64..101,
            has_barrier: bool,
        ) {
            let mut link = HostLink::new(speeds.0 * 500_000_000, speeds.1 * 1_000_000_000);
            link.latency_ns = latency_ns;
            let instance = linked(&instance, CostUnit::named("ns"), link);
            let all = CheckmateSchedule::checkpoint_all(&instance);
            let most = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
            let budget = most * share / 100;
            let phase = match has_barrier {
                true => CopyPhase::Loss,
                false => CopyPhase::Any,
            };
            let plans = match chain_plans(&instance, budget, phase) {
                Err(NodePlansError::NoChain(_)) => return Ok(()),
                plans => plans.unwrap(),
            };
            let makespan = |row| plans.iter().find(|p| p.row == row).map(|p| p.replay.makespan);
            for one in &plans {
                prop_assert_eq!(&simulate::plan(&instance, &one.plan).unwrap(), &one.replay);
                prop_assert!(one.replay.peak_bytes <= budget);
                prop_assert!(phase.admits(&instance, &one.replay));
                let is_open = speeds.0 > 0 && speeds.1 > 0;
                prop_assert!(!one.plan.has_copies() || is_open && one.row != ChainMethod::Rotor);
                prop_assert!(makespan(ChainMethod::Pofo) <= Some(one.replay.makespan)
                    || !matches!(one.row, ChainMethod::Rotor | ChainMethod::OffloadOnly));
            }
            let exact = rotor::RotorSettings { slots: 1 << 12 };
            let wanted = rotor::solve_training(&instance, budget, exact).unwrap();
            prop_assert_eq!(makespan(ChainMethod::Rotor), wanted.map(|found| found.chain.cost));
            if share == 100 {
                prop_assert_eq!(makespan(ChainMethod::Pofo), Some(instance.base_cost()));
            }
        }
    }

    #[test]
    fn instances_without_times_or_links_are_refused() {
        let instance = fixtures::uniform_chain(6, fixtures::Reads::Both);
        let error = chain_plans(&instance, 100, CopyPhase::Any).unwrap_err();
        assert_eq!(error, NodePlansError::NoLink);
        let link = HostLink::new(1, 1);
        let long = fixtures::uniform_chain(300, fixtures::Reads::Both);
        let long = linked(&long, CostUnit::named("ns"), HostLink::new(1, 1));
        let error = chain_plans(&long, 1000, CopyPhase::Any).unwrap_err();
        assert!(matches!(error, NodePlansError::TooLong { limit: 200, .. }));
        let arbitrary = linked(&instance, CostUnit::arbitrary(), link);
        let error = chain_plans(&arbitrary, 100, CopyPhase::Any).unwrap_err();
        assert!(error.to_string().contains("is no unit of time"), "{error}");
    }

    #[test]
    fn no_more_is_on_the_host_than_fits() {
        let instance = fixtures::uniform_chain(12, fixtures::Reads::Both);
        let mut link = HostLink::new(2_000_000_000, 2_000_000_000);
        let copied = |link: &HostLink| {
            let instance = linked(&instance, CostUnit::named("ns"), link.clone());
            let plans = chain_plans(&instance, 9, CopyPhase::Any).unwrap();
            plans
                .iter()
                .map(|p| p.replay.transfers.host_peak_bytes)
                .max()
        };
        let free = copied(&link);
        assert!(free > Some(2), "{free:?}");
        link.host_memory_bytes = Some(2);
        assert!(copied(&link) <= Some(2));
    }
}
