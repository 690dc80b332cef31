//! Solving an instance for a budget: settings, progress, outcome, and the main entry point.

use crate::anneal::{self, Graph, PortfolioSettings, Watch};
use crate::checkmate::interval::{self, RootSettings};
use crate::instance::Instance;
use crate::schedule::CheckmateSchedule;
use crate::simulate::{self, Replay, ReplayError};
use crate::{baselines, bound};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rounds of annealing when no time limit is given; each takes twice the work of the one before.
const DEFAULT_ROUNDS: u32 = 7;
/// Nodes up to which the root relaxation is solved beside the annealing.
const ROOT_UP_TO: usize = 1_500;
/// Rounds without a better schedule after which the annealing ends, when no time limit is given.
const IDLE_ROUNDS: u32 = 3;

/// What to solve for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory budget in bytes, fixed memory included.
    pub budget_bytes: u64,
    /// End after this time. Without a limit the work is fixed, and the answer depends on instance, budget and seed alone.
    pub time_limit: Option<Duration>,
    /// Relative gap `(objective - bound) / objective` at which the answer counts as optimal.
    pub gap: f64,
    /// Rounds of annealing at most when there is no time limit.
    pub rounds: u32,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Settings {
    /// Settings for a budget: no time limit, a gap of 1e-4, all cores, seed 0.
    pub fn new(budget_bytes: u64) -> Self {
        Settings {
            budget_bytes,
            time_limit: None,
            gap: 1e-4,
            rounds: DEFAULT_ROUNDS,
            threads: 0,
            seed: 0,
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
}

/// What a solve found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The best schedule that fits, as replayed.
    pub schedule: Option<CheckmateSchedule>,
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

/// Finds a schedule of least cost within a budget, by annealing, and bounds it by knapsacks and by the root of the interval
/// form with path cuts (one more thread, as long as it takes).
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
    let mut outcome = Outcome {
        status: Status::Limit,
        schedule: None,
        replay: None,
        objective: None,
        bound: instance.base_cost(),
        gap: None,
        bound_scope: "full",
        seconds: 0.0,
        nodes: 0,
        lp_iterations: 0,
        moves: 0,
        infeasible_because: None,
    };
    match bound::knapsack_bound(instance, settings.budget_bytes) {
        Ok(bound) => outcome.bound = bound.cost,
        Err(reason) => {
            outcome.status = Status::Infeasible;
            outcome.infeasible_because = Some(reason.to_string());
            outcome.seconds = clock.elapsed().as_secs_f64();
            return Ok(outcome);
        }
    }
    let everything = CheckmateSchedule::checkpoint_all(instance);
    let replay = simulate::checkmate(instance, &everything)?;
    if replay.peak_bytes <= settings.budget_bytes {
        finish(&mut outcome, everything, replay);
    } else {
        search(
            instance,
            settings,
            &everything,
            interrupt,
            progress,
            &clock,
            &mut outcome,
        )?;
    }
    let closed = outcome.gap.is_some_and(|gap| gap <= settings.gap);
    outcome.status = match outcome.objective {
        Some(_) if closed => Status::Optimal,
        _ if interrupt.load(Ordering::Relaxed) => Status::Interrupted,
        Some(_) => Status::Feasible,
        None => Status::Limit,
    };
    outcome.seconds = clock.elapsed().as_secs_f64();
    Ok(outcome)
}

/// Nodes up to which a few baselines take seconds at most.
const BASELINES_UP_TO: usize = 20_000;
/// Nodes up to which all quick baselines take well under a second.
const ALL_QUICK_UP_TO: usize = 2_000;
/// Baselines that are quick and may fit: what a short time limit falls back to, and where some annealing runs start. The
/// first two serve large graphs, where annealing alone takes long to come down to the budget.
const QUICK: [&str; 6] = [
    "linearised-sqrt",
    "linearised-greedy",
    "chen-greedy",
    "ap-greedy",
    "pytorch-min-cut",
    "pytorch-budget",
];

/// The schedules of quick baselines that fit.
fn fitting_baselines(
    instance: &Instance,
    budget_bytes: u64,
    time: Option<Duration>,
) -> Vec<anneal::Found> {
    if instance.len() > BASELINES_UP_TO {
        return Vec::new();
    }
    // On long graphs the greedy search takes time quadratic in the length: some 15 s for 10,000 nodes.
    let patient = time.is_none_or(|time| time.as_secs_f64() > instance.len() as f64 / 200.0);
    let names = match instance.len() {
        0..=ALL_QUICK_UP_TO => &QUICK[..],
        _ if patient => &QUICK[..2],
        _ => &QUICK[..1],
    };
    names
        .par_iter()
        .filter_map(|name| {
            let schedule = baselines::by_name(name)?.run(instance, budget_bytes).ok()?;
            let schedule = CheckmateSchedule::cheapest(instance, schedule.retained);
            let replay = simulate::checkmate(instance, &schedule).ok()?;
            let fits = replay.peak_bytes <= budget_bytes;
            fits.then_some(anneal::Found {
                cost: replay.cost,
                retained: schedule.retained,
            })
        })
        .collect()
}

/// Anneals, and takes over what was found once it has been replayed.
fn search(
    instance: &Instance,
    settings: &Settings,
    start: &CheckmateSchedule,
    interrupt: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
    clock: &Instant,
    outcome: &mut Outcome,
) -> Result<(), SolveError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| SolveError::Threads {
            threads: settings.threads,
            source,
        })?;
    let graph = Graph::new(instance, settings.budget_bytes);
    let left = settings
        .time_limit
        .map(|limit| limit.saturating_sub(clock.elapsed()));
    let (rounds, idle_rounds) = if left.is_some() {
        (u32::MAX, u32::MAX)
    } else {
        (settings.rounds, IDLE_ROUNDS)
    };
    let portfolio = PortfolioSettings {
        seed: settings.seed,
        rounds,
        idle_rounds,
        time_limit: left,
        target: outcome.bound,
    };
    let watch = Watch::default();
    let bound = AtomicU64::new(outcome.bound);
    let iterations = AtomicU64::new(0);
    let closed = || {
        let bound = bound.load(Ordering::Relaxed);
        watch
            .best()
            .is_some_and(|best| best.saturating_sub(bound) as f64 <= settings.gap * best as f64)
    };
    // Without a time limit the work is fixed, so that the answer does not depend on when the bound arrives.
    let timed = left.is_some();
    let stop = || interrupt.load(Ordering::Relaxed) || (timed && closed());
    let stop_root = Arc::new(AtomicBool::new(false));
    let over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let late = settings
                    .time_limit
                    .is_some_and(|limit| clock.elapsed() >= limit);
                if late || interrupt.load(Ordering::Relaxed) {
                    stop_root.store(true, Ordering::Relaxed);
                }
                progress(&Progress {
                    seconds: clock.elapsed().as_secs_f64(),
                    objective: watch.best(),
                    bound: bound.load(Ordering::Relaxed),
                    moves: watch.moves(),
                });
                std::thread::park_timeout(Duration::from_millis(200));
            }
        });
        let root = (instance.len() <= ROOT_UP_TO).then(|| {
            scope.spawn(|| {
                let root = RootSettings {
                    time_limit: left,
                    stop: Some(stop_root.clone()),
                    ..RootSettings::default()
                };
                // What the root cannot do leaves the combinatorial bound standing.
                if let Ok(root) = interval::root_bound(instance, settings.budget_bytes, &root) {
                    iterations.store(root.iterations, Ordering::Relaxed);
                    bound.fetch_max(root.safe_bound, Ordering::Relaxed);
                }
            })
        });
        let found = pool.install(|| {
            let known = fitting_baselines(instance, settings.budget_bytes, left);
            anneal::search(&graph, &start.retained, known, &portfolio, &stop, &watch)
        });
        let proven = found
            .best
            .as_ref()
            .is_some_and(|best| best.cost <= portfolio.target);
        if timed || proven || interrupt.load(Ordering::Relaxed) {
            stop_root.store(true, Ordering::Relaxed);
        }
        if let Some(root) = root {
            // A panic there is passed on by the scope.
            let _ = root.join();
        }
        over.store(true, Ordering::Release);
        reporter.thread().unpark();
        found
    });
    outcome.bound = bound.into_inner();
    outcome.lp_iterations = iterations.into_inner();
    outcome.moves = watch.moves();
    if let Some(found) = found.best {
        let schedule = CheckmateSchedule::cheapest(instance, found.retained);
        let replay = simulate::checkmate(instance, &schedule)?;
        if replay.peak_bytes > settings.budget_bytes {
            return Err(SolveError::OverBudget {
                peak_bytes: replay.peak_bytes,
                budget_bytes: settings.budget_bytes,
            });
        }
        finish(outcome, schedule, replay);
    }
    Ok(())
}

fn finish(outcome: &mut Outcome, schedule: CheckmateSchedule, replay: Replay) {
    let (objective, bound) = (replay.cost, outcome.bound);
    debug_assert!(bound <= objective, "bound {bound} above a cost {objective}");
    outcome.objective = Some(objective);
    outcome.gap = Some(if objective == 0 {
        0.0
    } else {
        (objective - bound.min(objective)) as f64 / objective as f64
    });
    outcome.schedule = Some(schedule);
    outcome.replay = Some(replay);
}
