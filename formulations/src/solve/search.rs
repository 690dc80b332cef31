//! The two phases of a solve, and what they share.
//!
//! First the root relaxation is solved in one thread while the others anneal. Then the tree is searched by all threads; what
//! its relaxations retain is rounded and annealed at low temperatures, which finds better schedules than annealing alone.
//! With a time limit the first phase ends when the root does, or the limit comes; without one it does a fixed amount of
//! work, so that the answer depends on instance, budget and seed alone.

use super::starts::{fitting, fitting_baselines};
use super::{Outcome, Progress, Settings, SolveError};
use crate::anneal::{
    self, Found, Graph, POLISH_MOVES_PER_NODE, POLISH_RUNS, PortfolioSettings, Watch,
};
use crate::checkmate;
use crate::checkmate::interval::{
    self, Exchange, Relaxed, Root, RootSettings, TreeEnd, TreeSettings,
};
use crate::instance::Instance;
use crate::schedule::{BitMatrix, CheckmateSchedule};
use crate::simulate;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Nodes up to which relaxations are solved.
const ROOT_UP_TO: usize = 1_500;
/// Rounds without a better schedule after which the annealing ends, when no time limit is given.
const IDLE_ROUNDS: u32 = 3;

/// Solves where keeping everything does not fit.
pub(super) fn run(
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
    let shared = Shared::new(settings, &graph, interrupt, outcome.bound);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let late = settings
                    .time_limit
                    .is_some_and(|limit| clock.elapsed() >= limit);
                if late || interrupt.load(Ordering::Relaxed) {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                progress(&shared.progress(clock));
                std::thread::park_timeout(std::time::Duration::from_millis(100));
            }
        });
        let root = root_and_annealing(instance, &shared, start, &pool, clock);
        if let Some(root) = root {
            pool.install(|| tree(root, &shared));
        }
        over.store(true, Ordering::Release);
        reporter.thread().unpark();
    });
    outcome.bound = shared.bound.into_inner();
    outcome.lp_iterations = shared.iterations.into_inner();
    outcome.nodes = shared.nodes.into_inner();
    outcome.moves = shared.watch.moves();
    if shared.infeasible.into_inner() {
        outcome.infeasible_because =
            Some("the relaxation over all schedules has no point within the budget".to_owned());
    }
    let best = shared
        .best
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = best {
        let schedule = CheckmateSchedule::cheapest(instance, found.retained);
        let replay = simulate::checkmate(instance, &schedule)?;
        if replay.peak_bytes > settings.budget_bytes {
            return Err(SolveError::OverBudget {
                peak_bytes: replay.peak_bytes,
                budget_bytes: settings.budget_bytes,
            });
        }
        outcome.take(schedule, replay);
    }
    Ok(())
}

/// What both phases share.
struct Shared<'a> {
    settings: &'a Settings,
    graph: &'a Graph,
    interrupt: &'a AtomicBool,
    watch: Watch,
    best: Mutex<Option<Found>>,
    bound: AtomicU64,
    nodes: AtomicU64,
    iterations: AtomicU64,
    infeasible: AtomicBool,
    /// Time is over, or the user asks.
    stop: Arc<AtomicBool>,
    polished: AtomicU64,
}

impl<'a> Shared<'a> {
    fn new(
        settings: &'a Settings,
        graph: &'a Graph,
        interrupt: &'a AtomicBool,
        bound: u64,
    ) -> Self {
        Shared {
            settings,
            graph,
            interrupt,
            watch: Watch::default(),
            best: Mutex::new(None),
            bound: AtomicU64::new(bound),
            nodes: AtomicU64::new(0),
            iterations: AtomicU64::new(0),
            infeasible: AtomicBool::new(false),
            stop: Arc::new(AtomicBool::new(false)),
            polished: AtomicU64::new(0),
        }
    }

    fn is_timed(&self) -> bool {
        self.settings.time_limit.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Whether the best schedule is proven within the gap.
    fn is_closed(&self) -> bool {
        let bound = self.bound.load(Ordering::Relaxed);
        self.watch.best().is_some_and(|best| {
            best.saturating_sub(bound) as f64 <= self.settings.gap * best as f64
        })
    }

    fn admit(&self, found: Found) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if best.as_ref().is_none_or(|b| found.cost < b.cost) {
            *best = Some(found);
        }
    }

    fn progress(&self, clock: &Instant) -> Progress {
        Progress {
            seconds: clock.elapsed().as_secs_f64(),
            objective: self.watch.best(),
            bound: self.bound.load(Ordering::Relaxed),
            moves: self.watch.moves(),
            nodes: self.nodes.load(Ordering::Relaxed),
        }
    }
}

/// The first phase; the root, if there is a tree to search below it.
fn root_and_annealing(
    instance: &Instance,
    shared: &Shared<'_>,
    start: &CheckmateSchedule,
    pool: &rayon::ThreadPool,
    clock: &Instant,
) -> Option<Root> {
    let settings = shared.settings;
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
        target: shared.bound.load(Ordering::Relaxed),
    };
    let root_done = AtomicBool::new(false);
    let latest: Mutex<Option<BitMatrix>> = Mutex::new(None);
    let timed = shared.is_timed();
    // Without a time limit the work is fixed, so that the answer does not depend on when the bound arrives.
    let stop = || {
        shared.is_stopped() || (timed && (shared.is_closed() || root_done.load(Ordering::Relaxed)))
    };
    std::thread::scope(|scope| {
        let root = (instance.len() <= ROOT_UP_TO).then(|| {
            scope.spawn(|| {
                let root = checkmate::Graph::new(instance, settings.budget_bytes)
                    .ok()
                    .and_then(|graph| {
                        let root = RootSettings {
                            stop: Some(shared.stop.clone()),
                            ..RootSettings::default()
                        };
                        let notice = |relaxed: &Relaxed<'_>| {
                            shared.bound.fetch_max(relaxed.bound(), Ordering::Relaxed);
                            // Where rows are still missing it guides badly, but better than nothing.
                            let wanted = relaxed.is_settled() || shared.watch.best().is_none();
                            if timed && wanted {
                                let mut latest =
                                    latest.lock().unwrap_or_else(PoisonError::into_inner);
                                *latest = Some(relaxed.rounded(0.5));
                            }
                        };
                        // What the root cannot do leaves the combinatorial bound standing.
                        Root::solve(graph, &root, None, &notice).ok()
                    });
                if let Some(root) = &root {
                    shared
                        .iterations
                        .store(root.iterations(), Ordering::Relaxed);
                    if root.is_infeasible() {
                        shared.infeasible.store(true, Ordering::Relaxed);
                    } else {
                        shared.bound.fetch_max(root.safe_bound(), Ordering::Relaxed);
                    }
                    root_done.store(true, Ordering::Relaxed);
                }
                root
            })
        });
        let found = pool.install(|| {
            let mut known = fitting_baselines(instance, settings.budget_bytes, left);
            let starts = settings.starts.iter().cloned();
            known.extend(starts.filter_map(|s| fitting(instance, settings.budget_bytes, s)));
            anneal::search(
                shared.graph,
                &start.retained,
                known,
                &portfolio,
                &|| latest.lock().unwrap_or_else(PoisonError::into_inner).take(),
                &stop,
                &shared.watch,
            )
        });
        if let Some(best) = found.best {
            // Nothing is better than what meets the bound.
            if best.cost <= portfolio.target {
                shared.stop.store(true, Ordering::Relaxed);
            }
            shared.admit(best);
        }
        if timed && shared.is_closed() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        // A panic there is passed on by the scope.
        root.and_then(|root| root.join().ok().flatten())
    })
}

/// The second phase.
fn tree(root: Root, shared: &Shared<'_>) {
    if root.is_infeasible() || shared.is_stopped() || shared.is_closed() {
        return;
    }
    shared.polish(vec![root.rounded(0.5), root.rounded(0.25)]);
    let settings = shared.settings;
    let timed = shared.is_timed();
    let tree = TreeSettings {
        gap: settings.gap,
        nodes: settings.nodes,
        iterations: if timed { u64::MAX } else { settings.iterations },
        ..TreeSettings::default()
    };
    // What the tree cannot do leaves the bound so far standing.
    if let Ok(outcome) = interval::search(root, &tree, shared)
        && outcome.end == TreeEnd::Infeasible
    {
        shared.infeasible.store(true, Ordering::Relaxed);
    }
}

impl Exchange for Shared<'_> {
    fn best(&self) -> Option<u64> {
        self.watch.best()
    }

    fn polish(&self, starts: Vec<BitMatrix>) -> u64 {
        let moves = POLISH_MOVES_PER_NODE * self.graph.n as u64;
        let stream = self.polished.fetch_add(1, Ordering::Relaxed);
        let found = anneal::polish(
            self.graph,
            &starts,
            moves,
            self.settings.seed,
            stream,
            &|| self.is_stopped() || (self.is_timed() && self.is_closed()),
            &self.watch,
        );
        found.into_iter().for_each(|f| self.admit(f));
        moves * (starts.len() * POLISH_RUNS) as u64
    }

    fn progress(&self, bound: u64, nodes: u64, iterations: u64) {
        // Closed nodes may lie above the best schedule; no bound does.
        let bound = self.watch.best().map_or(bound, |best| bound.min(best));
        self.bound.fetch_max(bound, Ordering::Relaxed);
        self.nodes.store(nodes, Ordering::Relaxed);
        self.iterations.store(iterations, Ordering::Relaxed);
    }
}
