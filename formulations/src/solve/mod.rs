//! Solving an instance for a budget: settings, progress, outcome, and the main entry point.

mod checkmate;
pub(crate) mod search;
mod starts;

use crate::checkmate::interval::BoundProof;
use crate::{anneal, bound};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, Replay, ReplayError};
use search::Problem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Rounds of annealing when no time limit is given.
const DEFAULT_ROUNDS: u32 = 24;
/// Simplex iterations of the tree when no time limit is given.
const DEFAULT_ITERATIONS: u64 = 500_000;

/// What to solve for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory budget in bytes, fixed memory included.
    pub budget_bytes: u64,
    /// End after this time. Without a limit the work is fixed, and the answer depends on instance, budget and seed alone.
    pub time_limit: Option<Duration>,
    /// Relative gap `(objective - bound) / objective` at which the answer counts as optimal.
    pub gap: f64,
    /// With a time limit: once the gap is met, the search goes on for so many times as long as that took, towards a gap of 0, unless this
    /// is 0; at least for a fiftieth of the limit, at most for half of it. Not together with `prove`.
    pub overtime: f64,
    /// Rounds of annealing at most when there is no time limit.
    pub rounds: u32,
    /// Simplex iterations of the tree at most when there is no time limit.
    pub iterations: u64,
    /// Nodes of the tree at most.
    pub nodes: u64,
    /// Schedules to start from; those that do not execute within the budget are left aside.
    pub starts: Vec<CheckmateSchedule>,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether a proof of the bound is collected ([`Outcome::proof`]; Checkmate's program only).
    pub prove: bool,
}

impl Settings {
    /// Settings for a budget: no time limit, a gap of 1e-4 and no overtime, all cores, seed 0.
    pub fn new(budget_bytes: u64) -> Self {
        Settings {
            budget_bytes,
            time_limit: None,
            gap: 1e-4,
            overtime: 0.0,
            rounds: DEFAULT_ROUNDS,
            iterations: DEFAULT_ITERATIONS,
            nodes: u64::MAX,
            starts: Vec::new(),
            threads: 0,
            seed: 0,
            prove: false,
        }
    }
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A plan, proven best within the gap.
    Optimal,
    /// A plan, not proven best.
    Feasible,
    /// Proven: no plan fits.
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

/// A look at a solve in progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Seconds since the start.
    pub seconds: f64,
    /// Cost of the best schedule so far.
    pub objective: Option<u64>,
    /// Proven lower bound.
    pub bound: u64,
    /// Moves of the annealing so far.
    pub moves: u64,
    /// Branch-and-bound nodes so far.
    pub nodes: u64,
}

/// What a solve found; schedules of Checkmate's program, or of another one.
#[derive(Clone, Debug)]
pub struct Outcome<S = CheckmateSchedule> {
    /// How it ended.
    pub status: Status,
    /// The best schedule that fits, as replayed.
    pub schedule: Option<S>,
    /// Its replay.
    pub replay: Option<Replay>,
    /// Its cost.
    pub objective: Option<u64>,
    /// Proven lower bound on the cost of every schedule; meaningless where none fits.
    pub bound: u64,
    /// `(objective - bound) / objective`.
    pub gap: Option<f64>,
    /// What the bound covers: `full`, every schedule, or `restricted`.
    pub bound_scope: &'static str,
    /// Time taken.
    pub seconds: f64,
    /// Branch-and-bound nodes.
    pub nodes: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Moves of the annealing.
    pub moves: u64,
    /// Why no schedule fits, where that was proven.
    pub infeasible_because: Option<String>,
    /// What proves the bound or that nothing fits, where that was asked for.
    pub proof: Option<BoundProof>,
}

impl<S> Outcome<S> {
    /// Nothing found yet, and a bound.
    pub(crate) fn new(bound: u64) -> Self {
        Outcome {
            status: Status::Limit,
            schedule: None,
            replay: None,
            objective: None,
            bound,
            gap: None,
            bound_scope: "full",
            seconds: 0.0,
            nodes: 0,
            lp_iterations: 0,
            moves: 0,
            infeasible_because: None,
            proof: None,
        }
    }

    /// Takes over a schedule as the answer. The bound is final.
    pub(crate) fn take(&mut self, schedule: S, replay: Replay) {
        let (objective, bound) = (replay.cost, self.bound);
        debug_assert!(bound <= objective, "bound {bound} above a cost {objective}");
        self.objective = Some(objective);
        self.gap = Some(if objective == 0 {
            0.0
        } else {
            (objective - bound.min(objective)) as f64 / objective as f64
        });
        self.schedule = Some(schedule);
        self.replay = Some(replay);
    }

    /// Finds the status, once everything else is known.
    pub(crate) fn settle(&mut self, gap: f64, interrupted: bool) {
        let closed = self.gap.is_some_and(|open| open <= gap);
        self.status = match self.objective {
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
            objective: self.objective,
            bound: self.bound,
            gap: self.gap,
            bound_scope: self.bound_scope,
            seconds: self.seconds,
            nodes: self.nodes,
            lp_iterations: self.lp_iterations,
            moves: self.moves,
            infeasible_because: self.infeasible_because,
            proof: self.proof,
        }
    }
}

/// Why a solve could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {source}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: rayon::ThreadPoolBuildError,
    },
    /// The search's result did not survive its replay: a defect of the search, never shown as a result.
    #[error("the schedule that the search found does not replay: {0}")]
    Replay(#[from] ReplayError),
    /// Nor did its memory: likewise.
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

/// Finds a schedule of least cost within a budget and proves how good it is: annealing beside the root of the interval form
/// with path cuts, then branch, price and cut, whose relaxations guide further annealing (`search`).
///
/// `interrupt` ends the search early with the best schedule so far. `progress` is called about five times a second from
/// another thread.
///
/// # Errors
/// [`SolveError`]; a budget that nothing fits is an [`Outcome`], not an error.
pub fn solve(
    instance: &Instance,
    settings: &Settings,
    interrupt: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Outcome, SolveError> {
    let clock = Instant::now();
    let budget_bytes = settings.budget_bytes;
    let mut outcome = Outcome::new(instance.base_cost());
    match bound::knapsack_bound(instance, budget_bytes) {
        Ok(bound) => outcome.bound = bound.cost,
        Err(reason) => {
            outcome.status = Status::Infeasible;
            outcome.infeasible_because = Some(reason.to_string());
            outcome.proof = settings
                .prove
                .then(|| BoundProof::too_small(instance, budget_bytes, reason.node));
            outcome.seconds = clock.elapsed().as_secs_f64();
            return Ok(outcome);
        }
    }
    let everything = CheckmateSchedule::checkpoint_all(instance);
    let replay = simulate::checkmate(instance, &everything)?;
    if replay.peak_bytes <= budget_bytes {
        outcome.take(everything, replay);
        outcome.proof = settings
            .prove
            .then(|| BoundProof::trivial(instance, budget_bytes));
    } else {
        let problem = checkmate::Checkmate {
            instance,
            settings,
            everything: &everything,
            graph: anneal::Graph::new(instance, budget_bytes),
        };
        let tree = search::run(
            &problem,
            settings,
            interrupt,
            progress,
            &clock,
            &mut outcome,
        )?;
        outcome.proof = tree
            .zip(problem.program())
            .map(|(tree, graph)| BoundProof::of_tree(instance, budget_bytes, &graph, &tree));
    }
    outcome.settle(settings.gap, interrupt.load(Ordering::Relaxed));
    outcome.seconds = clock.elapsed().as_secs_f64();
    Ok(outcome)
}
