//! Solving MONeT's program for a budget: annealing beside branch, price and cut.

use super::anneal::{Graph, State};
use super::bound::event_bound;
use super::interval::{self, Exchange, Relaxed, RootSettings, TreeEnd, TreeOutcome, TreeSettings};
use crate::anneal::{self, Found, PortfolioSettings, Watch};
use crate::baselines;
use crate::instance::Instance;
use crate::schedule::{BitMatrix, MonetSchedule};
use crate::simulate::{self, ReplayError};
use crate::solve::{Outcome, Progress, Settings, SolveError, Status};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Rounds without a better schedule after which the annealing ends, when no time limit is given.
const IDLE_ROUNDS: u32 = 2;
/// Baselines of Checkmate's program whose stored sets serve as starts.
const BASELINES: [&str; 4] = ["linearised-sqrt", "linearised-greedy", "ap-greedy", "dtr"];
/// Nodes up to which these take well under a second.
const BASELINES_UP_TO: usize = 2_000;
/// Nodes up to which relaxations are solved.
const TREE_UP_TO: usize = 1_500;
/// From which share on a relaxation's stored tensor counts as stored, for the schedules near it.
const THRESHOLDS: [f64; 3] = [0.25, 0.75, 0.5];

/// Finds a schedule of least cost within a budget, and a lower bound.
///
/// `settings` is read as for [`crate::solve::solve`]; its starts are schedules for the view with single implementations
/// ([`Instance::single_implementation`]), of which what they store is taken over. `starts` are schedules of this program;
/// those that do not execute within the budget are left aside. `interrupt` ends the search early with the best schedule so
/// far. `progress` is called about ten times a second from another thread.
///
/// Without a time limit the answer depends on instance, settings and seed alone, on any number of threads.
///
/// # Errors
/// [`SolveError`]; [`ReplayError::NoLoss`] within it for an instance that has no loss. A budget that nothing fits is an
/// [`Outcome`], not an error.
pub fn solve(
    instance: &Instance,
    settings: &Settings,
    starts: &[MonetSchedule],
    interrupt: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Outcome<MonetSchedule>, SolveError> {
    let clock = Instant::now();
    let no_loss = || SolveError::Replay(ReplayError::NoLoss);
    let graph = Graph::new(instance, settings.budget_bytes).ok_or_else(no_loss)?;
    let plain = MonetSchedule::checkpoint_all(instance).ok_or_else(no_loss)?;
    let mut outcome = match event_bound(instance, &graph) {
        Ok(bound) => Outcome::new(bound),
        Err(reason) => {
            let mut outcome = Outcome::new(0);
            outcome.status = Status::Infeasible;
            outcome.infeasible_because = Some(reason.to_string());
            outcome.seconds = clock.elapsed().as_secs_f64();
            return Ok(outcome);
        }
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| SolveError::Threads {
            threads: settings.threads,
            source,
        })?;
    let shared = Shared {
        instance,
        settings,
        graph: &graph,
        clock,
        interrupt,
        watch: Watch::default(),
        bound: AtomicU64::new(outcome.bound),
        stop: Arc::new(AtomicBool::new(false)),
        latest: Mutex::new(Vec::new()),
        annealed: OnceLock::new(),
        from_tree: Mutex::new(None),
        nodes: AtomicU64::new(0),
    };
    let over = AtomicBool::new(false);
    let (best, tree) = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                shared.look_at_the_clock();
                progress(&shared.progress());
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let tree = scope.spawn(|| shared.tree());
        let best = pool.install(|| shared.search(&plain, starts, outcome.bound));
        if shared.is_timed() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        let _ = shared.annealed.set(());
        // A panic there is passed on by the scope.
        let tree = tree.join().ok().flatten();
        over.store(true, Ordering::Release);
        reporter.thread().unpark();
        (best, tree)
    });
    outcome.bound = shared.bound.load(Ordering::Relaxed);
    outcome.moves = shared.watch.moves();
    let from_tree = shared.from_tree.into_inner();
    let from_tree = from_tree.unwrap_or_else(PoisonError::into_inner);
    let best = best.into_iter().chain(from_tree).min_by_key(|f| f.cost);
    if let Some(tree) = tree {
        outcome.lp_iterations = tree.iterations;
        outcome.nodes = tree.nodes;
        if tree.end == TreeEnd::Infeasible && best.is_none() {
            let reason = "branch and bound over all schedules leaves none within the budget";
            outcome.infeasible_because = Some(reason.to_owned());
        }
    }
    if let Some(found) = best {
        let schedule = State::new(&graph, &found.retained).schedule();
        let replay = simulate::monet(instance, &schedule)?;
        if replay.peak_bytes > settings.budget_bytes {
            return Err(SolveError::OverBudget {
                peak_bytes: replay.peak_bytes,
                budget_bytes: settings.budget_bytes,
            });
        }
        outcome.take(schedule, replay);
    }
    outcome.settle(settings.gap, interrupt.load(Ordering::Relaxed));
    outcome.seconds = clock.elapsed().as_secs_f64();
    Ok(outcome)
}

/// What the annealing and the bound share.
struct Shared<'a> {
    instance: &'a Instance,
    settings: &'a Settings,
    graph: &'a Graph,
    clock: Instant,
    interrupt: &'a AtomicBool,
    watch: Watch,
    bound: AtomicU64,
    /// Time is over, or the user asks, or the best schedule is proven.
    stop: Arc<AtomicBool>,
    /// Stored sets near a relaxation that nobody has polished yet.
    latest: Mutex<Vec<BitMatrix>>,
    /// Set when the annealing is over.
    annealed: OnceLock<()>,
    /// The best schedule that the tree came upon.
    from_tree: Mutex<Option<Found>>,
    /// Nodes of the tree so far.
    nodes: AtomicU64,
}

impl Shared<'_> {
    fn is_timed(&self) -> bool {
        self.settings.time_limit.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Cost of the best schedule so far, whoever found it.
    fn cheapest(&self) -> Option<u64> {
        let from_tree = self.from_tree.lock();
        let from_tree = from_tree.unwrap_or_else(PoisonError::into_inner);
        let from_tree = from_tree.as_ref().map(|found| found.cost);
        self.watch.best().into_iter().chain(from_tree).min()
    }

    /// Whether the best schedule is proven within the gap.
    fn is_closed(&self) -> bool {
        let bound = self.bound.load(Ordering::Relaxed);
        self.cheapest().is_some_and(|best| {
            best.saturating_sub(bound) as f64 <= self.settings.gap * best as f64
        })
    }

    fn look_at_the_clock(&self) {
        let limit = self.settings.time_limit;
        let late = limit.is_some_and(|limit| self.clock.elapsed() >= limit);
        // Without a time limit the work is fixed, so that the answer does not depend on when a bound arrives.
        if late || self.interrupt.load(Ordering::Relaxed) || (self.is_timed() && self.is_closed()) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Branch, price and cut over the interval form: lower bounds, and stored sets near its relaxations for the annealing
    /// to polish.
    fn tree(&self) -> Option<TreeOutcome> {
        if self.instance.len() > TREE_UP_TO {
            return None;
        }
        let root = RootSettings {
            stop: Some(self.stop.clone()),
            ..RootSettings::default()
        };
        let tree = TreeSettings {
            gap: self.settings.gap,
            nodes: self.settings.nodes,
            iterations: match self.is_timed() {
                true => u64::MAX,
                false => self.settings.iterations,
            },
            ..TreeSettings::default()
        };
        let budget_bytes = self.settings.budget_bytes;
        // What the tree cannot do leaves the bound so far standing.
        let found = interval::search(self.instance, budget_bytes, &root, &tree, self).ok()?;
        match found.end {
            TreeEnd::Infeasible if self.is_timed() => self.stop.store(true, Ordering::Relaxed),
            TreeEnd::Infeasible => {}
            _ => drop(self.bound.fetch_max(found.bound, Ordering::Relaxed)),
        }
        Some(found)
    }

    /// Hands stored sets to the annealing; what was there and nobody took is worth less.
    fn hand_over(&self, near: Vec<BitMatrix>) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = near;
    }

    fn progress(&self) -> Progress {
        Progress {
            seconds: self.clock.elapsed().as_secs_f64(),
            objective: self.cheapest(),
            bound: self.bound.load(Ordering::Relaxed),
            moves: self.watch.moves(),
            nodes: self.nodes.load(Ordering::Relaxed),
        }
    }

    /// Anneals in the current pool, from everything stored and from what fits of the known schedules, down to a cost of
    /// `target`. That must not depend on how far the root has come.
    fn search(
        &self,
        plain: &MonetSchedule,
        starts: &[MonetSchedule],
        target: u64,
    ) -> Option<Found> {
        let left = self
            .settings
            .time_limit
            .map(|limit| limit.saturating_sub(self.clock.elapsed()));
        let (rounds, idle_rounds) = if self.is_timed() {
            (u32::MAX, u32::MAX)
        } else {
            (self.settings.rounds, IDLE_ROUNDS)
        };
        let portfolio = PortfolioSettings {
            seed: self.settings.seed,
            rounds,
            idle_rounds,
            time_limit: left,
            target,
        };
        let timed = self.is_timed();
        anneal::search(
            self.graph,
            &plain.retained,
            self.known(plain, starts),
            &portfolio,
            &|| {
                let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
                latest.pop()
            },
            &|| self.is_stopped() || (timed && self.is_closed()),
            &self.watch,
        )
        .best
    }

    /// What fits of the given schedules, of everything stored, and of Checkmate's baselines.
    fn known(&self, plain: &MonetSchedule, starts: &[MonetSchedule]) -> Vec<Found> {
        let executes = |s: &&MonetSchedule| simulate::monet(self.instance, s).is_ok();
        let given = starts.iter().filter(executes).map(|s| s.retained.clone());
        let mut stored: Vec<BitMatrix> = given.chain([plain.retained.clone()]).collect();
        let (view, ids) = self.instance.single_implementation();
        let known = self.settings.starts.iter().cloned();
        let mut schedules: Vec<_> = known
            .filter(|s| simulate::checkmate(&view, s).is_ok())
            .collect();
        if self.instance.len() <= BASELINES_UP_TO {
            let run = |name: &&str| {
                let baseline = baselines::by_name(name)?;
                baseline.run(&view, self.settings.budget_bytes).ok()
            };
            schedules.par_extend(BASELINES.par_iter().filter_map(run));
        }
        stored.extend(
            schedules
                .iter()
                .filter_map(|s| MonetSchedule::stored_by_checkmate(self.instance, &ids, s)),
        );
        let fits = |retained: BitMatrix| {
            let state = State::new(self.graph, &retained);
            let cost = state.cost() as u64;
            (state.excess() == 0).then_some(Found { cost, retained })
        };
        stored.into_par_iter().filter_map(fits).collect()
    }
}

impl Exchange for Shared<'_> {
    /// Without a time limit the tree waits for the annealing to end, so that what it does depends on nobody's speed.
    fn best(&self) -> Option<u64> {
        if !self.is_timed() {
            self.annealed.wait();
        }
        self.cheapest()
    }

    fn relaxed(&self, relaxed: &Relaxed<'_>) {
        // Where rows are still missing it guides badly, but better than nothing.
        if self.is_timed() && (relaxed.is_settled() || self.watch.best().is_none()) {
            let near = THRESHOLDS.map(|t| relaxed.proposal(self.instance, t).retained);
            self.hand_over(near.into());
        }
    }

    fn offer(&self, proposal: MonetSchedule, _integral: Option<u64>) {
        let retained = proposal.retained;
        let state = State::new(self.graph, &retained);
        let cost = state.cost() as u64;
        if state.excess() == 0 && self.best().is_none_or(|best| cost < best) {
            let found = Found {
                cost,
                retained: retained.clone(),
            };
            let mut best = self
                .from_tree
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *best = Some(found);
        }
        if self.is_timed() {
            self.hand_over(vec![retained]);
        }
    }

    fn progress(&self, bound: u64, nodes: u64, _iterations: u64) {
        self.bound.fetch_max(bound, Ordering::Relaxed);
        self.nodes.store(nodes, Ordering::Relaxed);
    }
}

/// The schedule that makes the best of what another one stores: the fewest computations, and the cheapest ways that fit
/// the budget; where nothing fits, the smallest. `None` without a loss.
pub fn complete(
    instance: &Instance,
    budget_bytes: u64,
    stored: &BitMatrix,
) -> Option<MonetSchedule> {
    let graph = Graph::new(instance, budget_bytes)?;
    let fits_shape = (stored.rows(), stored.columns()) == (graph.stages + 1, graph.columns);
    fits_shape.then(|| State::new(&graph, stored).schedule())
}
