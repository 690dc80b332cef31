//! Outcomes of the search, with their proofs.

use super::set::NODES_LIMIT;
use remat_instances::name::Name;
use remat_instances::plan::Plan;
use remat_instances::simulate::{Replay, ReplayError};

/// A plan with its replay.
#[derive(Clone, Debug)]
pub struct ExactPlan {
    /// The statements.
    pub plan: Plan,
    /// The replay of the statements by [`remat_instances::simulate::plan`].
    pub replay: Replay,
}

/// Reason why a search stopped early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfinished {
    /// The maximum number of labels was reached.
    Labels,
    /// The interrupt flag was set.
    Interrupted,
}

/// Outcome of a search. `labels` counts the labels that were kept.
#[derive(Clone, Debug)]
pub enum ExactOutcome {
    /// No plan is faster.
    Optimal {
        /// The plan.
        plan: ExactPlan,
        /// Labels that were kept.
        labels: usize,
    },
    /// No plan fits.
    Infeasible {
        /// Labels that were kept.
        labels: usize,
    },
    /// No plan is as fast as requested; possibly no plan fits.
    Above {
        /// Lower bound on the makespan of all plans.
        bound: u64,
        /// Labels that were kept.
        labels: usize,
    },
    /// The search was stopped.
    Unfinished {
        /// Reason of the stop.
        why: Unfinished,
        /// Lower bound on the makespan of all plans.
        bound: u64,
        /// The best plan found, if any.
        plan: Option<ExactPlan>,
        /// Labels that were kept.
        labels: usize,
    },
}

impl ExactOutcome {
    /// Lower bound on the makespan of all plans; `None` if no plan fits.
    pub fn bound(&self) -> Option<u64> {
        match self {
            ExactOutcome::Optimal { plan, .. } => Some(plan.replay.makespan),
            ExactOutcome::Infeasible { .. } => None,
            ExactOutcome::Above { bound, .. } | ExactOutcome::Unfinished { bound, .. } => {
                Some(*bound)
            }
        }
    }

    /// The best plan found, if any.
    pub fn plan(&self) -> Option<&ExactPlan> {
        match self {
            ExactOutcome::Optimal { plan, .. } => Some(plan),
            ExactOutcome::Unfinished { plan, .. } => plan.as_ref(),
            ExactOutcome::Infeasible { .. } | ExactOutcome::Above { .. } => None,
        }
    }

    /// Labels that were kept.
    pub fn labels(&self) -> usize {
        match self {
            ExactOutcome::Optimal { labels, .. }
            | ExactOutcome::Infeasible { labels }
            | ExactOutcome::Above { labels, .. }
            | ExactOutcome::Unfinished { labels, .. } => *labels,
        }
    }
}

/// Refusal of an instance, or a fault of the search.
#[derive(Debug, thiserror::Error)]
pub enum ExactError {
    /// The instance has no link.
    #[error(
        "the instance has no \"host_link\": give it one with Instance::with_host_link, with speeds of 0 for recomputation alone"
    )]
    NoLink,
    /// Costs are not times, so they cannot be compared with copies.
    #[error("cost unit {unit:?} is no time, but copies take time: give costs in ns, us, ms or s")]
    NoTime {
        /// The unit.
        unit: Name,
    },
    /// The instance has more nodes than a set of the search can hold.
    #[error("the instance has {nodes} nodes, the search takes at most {NODES_LIMIT}")]
    TooManyNodes {
        /// Number of nodes.
        nodes: usize,
    },
    /// Copies must respect the loss, but the instance has no loss.
    #[error(
        "copies before the loss and behind it need a node of kind \"loss\", and there is none: let copies run at any time"
    )]
    NoLoss,
    /// The plan does not replay: a fault of the search.
    #[error("the plan does not replay")]
    Replay(#[from] ReplayError),
    /// The replay of the plan differs from the search's result: a fault of the search.
    #[error(
        "the plan takes {replayed} with {peak_bytes} bytes on the device and {host_bytes} on the host, the search says {makespan}"
    )]
    Replayed {
        /// Makespan according to the search.
        makespan: u64,
        /// Makespan of the replay.
        replayed: u64,
        /// Peak of the device in bytes.
        peak_bytes: u64,
        /// Peak of the host in bytes.
        host_bytes: u64,
    },
}
