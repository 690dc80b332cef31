//! Outcomes of a solve.

use super::proof::BoundProof;
use remat_instances::name::Name;
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{Replay, ReplayError};

/// Status of a solve at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A plan, proven best within the gap.
    Optimal,
    /// A plan, not proven best.
    Feasible,
    /// Proven: no schedule fits.
    Infeasible,
    /// A limit was reached without a plan.
    Limit,
    /// Interrupted; there may be a plan.
    Interrupted,
}

impl Status {
    /// The status as the command line prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::Feasible => "feasible",
            Status::Infeasible => "infeasible",
            Status::Limit => "limit",
            Status::Interrupted => "interrupted",
        }
    }
}

/// The schedules that bounds cover: between two first computations every node runs at most once,
/// and nodes come in the order of the instance (Jain et al., MLSys 2020, section 4.2).
pub const STAGE_SCHEDULES: &str = "stage-schedules";
/// All plans with first computations in the order of the instance, however they recompute.
pub const PLANS_IN_THIS_ORDER: &str = "plans-in-this-order";
/// All plans, in any order of first computations.
pub const ALL_PLANS: &str = "all-plans";

/// A bound over more plans than the outcome's own bound covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WiderBound {
    /// Proven lower bound on the cost of every plan of the scope.
    pub bound: u64,
    /// The plans that it covers.
    pub scope: &'static str,
}

/// The outcome of a solve: a schedule of some program, a bound, and counters.
#[derive(Clone, Debug)]
pub struct Outcome<S = Schedule> {
    /// Status at the end.
    pub status: Status,
    /// The best schedule that fits, as replayed.
    pub schedule: Option<S>,
    /// Its replay.
    pub replay: Option<Replay>,
    /// Proven lower bound on the cost of every schedule; meaningless if no schedule fits.
    pub bound: u64,
    /// `(objective - bound) / objective`.
    pub gap: Option<f64>,
    /// The plans that the bound covers: [`STAGE_SCHEDULES`], [`PLANS_IN_THIS_ORDER`],
    /// [`ALL_PLANS`] or a scope of the formulation.
    pub bound_scope: &'static str,
    /// A bound over more plans, if it is lower.
    pub wider: Option<WiderBound>,
    /// Time taken.
    pub seconds: f64,
    /// Branch-and-bound nodes.
    pub nodes: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Moves of the annealing.
    pub moves: u64,
    /// Reason why no schedule fits, if that was proven.
    pub infeasible_because: Option<String>,
    /// A proof of the bound, or that no schedule fits, if one was requested.
    pub proof: Option<BoundProof>,
}

impl<S> Outcome<S> {
    /// An outcome without a schedule, and a bound.
    pub fn new(bound: u64) -> Self {
        Outcome {
            status: Status::Limit,
            schedule: None,
            replay: None,
            bound,
            gap: None,
            bound_scope: STAGE_SCHEDULES,
            wider: None,
            seconds: 0.0,
            nodes: 0,
            lp_iterations: 0,
            moves: 0,
            infeasible_because: None,
            proof: None,
        }
    }

    /// Cost of the best schedule.
    pub fn cost(&self) -> Option<u64> {
        self.replay.as_ref().map(|replay| replay.makespan)
    }

    /// Adopts a schedule as the answer. The bound is final.
    pub fn take(&mut self, schedule: S, replay: Replay) {
        let (objective, bound) = (replay.cost, self.bound);
        debug_assert!(bound <= objective, "bound {bound} above a cost {objective}");
        self.gap = Some(relative_gap(objective, bound));
        self.schedule = Some(schedule);
        self.replay = Some(replay);
    }

    /// Replaces the bound by one over all plans, in any order.
    pub fn cover_all_plans(&mut self, bound: u64) {
        (self.bound, self.bound_scope, self.wider) = (bound, ALL_PLANS, None);
    }

    /// Sets the status, after all other fields.
    pub fn settle(&mut self, gap: f64, interrupted: bool) {
        let closed = self.gap.is_some_and(|open| open <= gap);
        self.status = match self.cost() {
            Some(_) if closed => Status::Optimal,
            None if self.infeasible_because.is_some() => Status::Infeasible,
            _ if interrupted => Status::Interrupted,
            Some(_) => Status::Feasible,
            None => Status::Limit,
        };
    }

    /// The same with another kind of schedule.
    pub fn map<T>(self, change: impl FnOnce(S) -> T) -> Outcome<T> {
        Outcome {
            status: self.status,
            schedule: self.schedule.map(change),
            replay: self.replay,
            bound: self.bound,
            gap: self.gap,
            bound_scope: self.bound_scope,
            wider: self.wider,
            seconds: self.seconds,
            nodes: self.nodes,
            lp_iterations: self.lp_iterations,
            moves: self.moves,
            infeasible_because: self.infeasible_because,
            proof: self.proof,
        }
    }
}

/// `(cost - bound) / cost`, 0 for a cost of 0.
pub fn relative_gap(cost: u64, bound: u64) -> f64 {
    match cost {
        0 => 0.0,
        _ => cost.saturating_sub(bound) as f64 / cost as f64,
    }
}

/// Reason why a solve could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {source}")]
    Threads {
        /// Number of threads that were requested.
        threads: usize,
        /// Error on starting them.
        source: rayon::ThreadPoolBuildError,
    },
    /// The system has no further thread.
    #[error("no thread can be started: {0}")]
    Thread(std::io::Error),
    /// The formulation does not apply to the instance.
    #[error("the formulation {formulation} does not apply to {instance}: {because}")]
    Inapplicable {
        /// The formulation's name.
        formulation: String,
        /// The instance's name.
        instance: Name,
        /// Reason, in words.
        because: String,
    },
    /// Two options that exclude each other.
    #[error("{first} with {second}: {because}")]
    Together {
        /// One of them.
        first: &'static str,
        /// The other one.
        second: &'static str,
        /// Reason, in words.
        because: &'static str,
    },
    /// A start that is no plan of the instance and the formulation.
    #[error("start {index}: {because}")]
    Start {
        /// Its position among the given starts, from 0.
        index: usize,
        /// Reason, in words.
        because: String,
    },
    /// The requested addresses cannot be given.
    #[error(transparent)]
    Addresses(Box<dyn std::error::Error + Send + Sync>),
    /// The search's result failed its replay: a defect of the search, never returned as a result.
    #[error("the schedule that the search found does not replay: {0}")]
    Replay(#[from] ReplayError),
    /// The search's result exceeds the budget: likewise a defect.
    #[error(
        "the schedule that the search found has a peak of {peak_bytes} bytes, the budget is {budget_bytes}"
    )]
    OverBudget {
        /// Peak by the replay.
        peak_bytes: u64,
        /// The budget.
        budget_bytes: u64,
    },
}
