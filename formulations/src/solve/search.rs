//! The two phases of a solve, and what they share: the same for every program that has an interval form and an annealing.
//!
//! First the root relaxation is solved in one thread while the others anneal. Then the tree is searched by all threads; what
//! its relaxations retain is rounded and annealed at low temperatures, which finds better schedules than annealing alone.
//! With a time limit the first phase ends when the root does, or the limit comes; without one it does a fixed amount of
//! work, so that the answer depends on instance, budget and seed alone.

use super::{Outcome, Progress, Settings, SolveError};
use crate::anneal::{
    self, Found, Landscape, Observer, POLISH_MOVES_PER_NODE, POLISH_RUNS, PolishSettings,
    Population, PortfolioSettings,
};
use remat_instances::schedule::BitMatrix;
use remat_instances::simulate::{Replay, ReplayError};
use remat_solver::price::{
    self, Columns, Incumbents, PrimalHeuristic, Program, Root, RootSettings, Separation, TreeEnd,
    TreeProof, TreeSettings, Visited,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Rounds without a better schedule after which the annealing ends, when no time limit is given.
const IDLE_ROUNDS: u32 = 6;
/// Moves of an annealing run in the first round, for each node.
const FIRST_MOVES_PER_NODE: u64 = 1 << 10;
/// Rounds at a time during the tree: nothing else is annealed as long as the gap is wide ([`price::is_far`]), where relaxations
/// guide badly; then as much as what they guide.
const RENEWED_ROUNDS: u64 = 4;
/// Their longest runs, in moves of the first ones.
const LONGEST_RENEWED: u64 = 16;
/// Share of the time limit that a round beside the root gets at most.
const ROUND_SHARE: f64 = 0.1;
/// Share of the time limit that is annealed at a time during the tree, once there is a schedule: on large general graphs a move takes ten times
/// as long as on networks, and the tree must have its turn.
const TURN_SHARE: f64 = 1.0 / 16.0;
/// Shares of the time limit that the search goes on at least and at most once the gap is met.
const OVERTIME_SHARE: [f64; 2] = [0.02, 0.5];

/// An instance and a budget, as the search sees them.
pub(crate) trait Problem: Sync {
    /// What is annealed.
    type Landscape: Landscape;
    /// What is bounded.
    type Program: Program;
    /// What is found.
    type Schedule;

    /// From which share on a relaxation's retained tensor counts as retained, for schedules near it; the last comes first.
    const THRESHOLDS: &'static [f64];

    /// The annealing's view.
    fn landscape(&self) -> &Self::Landscape;
    /// The interval form; `None` where there is none, or it is too large to be worth it.
    fn program(&self) -> Option<Arc<Self::Program>>;
    /// The sets that keeping everything retains.
    fn everything(&self) -> &BitMatrix;
    /// Schedules that are known and fit. `left` is the time for everything.
    fn known(&self, left: Option<Duration>) -> Vec<Found>;
    /// Retained sets near a relaxation: in general of no schedule that fits, but of one if the point is a schedule.
    fn near(
        &self,
        program: &Self::Program,
        point: &<Self::Program as Separation>::Point,
        threshold: f64,
    ) -> BitMatrix;
    /// The intervals of the schedule of retained sets.
    fn intervals(
        &self,
        program: &Self::Program,
        found: &Found,
    ) -> Vec<<Self::Program as Columns>::Column>;
    /// The schedule of retained sets, and its replay.
    fn finish(&self, found: Found) -> Result<(Self::Schedule, Replay), ReplayError>;
}

/// Solves where keeping everything does not fit. The bound in `outcome` is known so far. Returns what proves the bound of the
/// program, if that was asked for and there is a program.
pub(crate) fn run<P: Problem>(
    problem: &P,
    settings: &Settings,
    interrupt: &AtomicBool,
    progress: &(dyn Fn(&Progress) + Sync),
    clock: &Instant,
    outcome: &mut Outcome<P::Schedule>,
) -> Result<Option<TreeProof<P::Program>>, SolveError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| SolveError::Threads {
            threads: settings.threads,
            source,
        })?;
    let shared = Shared::new(problem, settings, interrupt, clock, outcome.bound);
    let over = AtomicBool::new(false);
    let proof = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let limit = settings.time_limit;
                let late = limit.is_some_and(|limit| clock.elapsed() >= limit);
                if late || shared.is_over() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                progress(&shared.progress());
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let root = root_and_annealing(&shared, &pool);
        let proof = root.and_then(|root| pool.install(|| tree(root, &shared)));
        over.store(true, Ordering::Release);
        reporter.thread().unpark();
        proof
    });
    let incumbents = &shared.incumbents;
    outcome.bound = incumbents.bound();
    outcome.lp_iterations = incumbents.pivots();
    outcome.nodes = incumbents.nodes();
    outcome.moves = incumbents.moves();
    if incumbents.is_infeasible() {
        outcome.infeasible_because =
            Some("the relaxation over all schedules has no point within the budget".to_owned());
    }
    let population = shared
        .population
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = population.best() {
        let (schedule, replay) = problem.finish(found.clone())?;
        if replay.peak_bytes > settings.budget_bytes {
            return Err(SolveError::OverBudget {
                peak_bytes: replay.peak_bytes,
                budget_bytes: settings.budget_bytes,
            });
        }
        outcome.take(schedule, replay);
    }
    Ok(proof)
}

/// What both phases share.
struct Shared<'a, P: Problem> {
    problem: &'a P,
    program: Option<Arc<P::Program>>,
    settings: &'a Settings,
    interrupt: &'a AtomicBool,
    clock: &'a Instant,
    /// When the gap was met.
    met: OnceLock<Duration>,
    incumbents: Incumbents<P::Program>,
    population: Mutex<Population>,
    /// Retained sets near a relaxation that nobody has polished yet.
    starts: Mutex<Vec<BitMatrix>>,
    /// Time is over, or the user asks, or nothing better is possible.
    stop: Arc<AtomicBool>,
    polished: AtomicU64,
    turns: Turns,
}

/// Annealing during the tree.
#[derive(Default)]
struct Turns {
    /// Work so far, in moves of Checkmate's.
    polishing: AtomicU64,
    renewing: AtomicU64,
    /// Moves of the next round's runs, for each node.
    pace: AtomicU64,
}

impl<'a, P: Problem> Shared<'a, P> {
    fn new(
        problem: &'a P,
        settings: &'a Settings,
        interrupt: &'a AtomicBool,
        clock: &'a Instant,
        bound: u64,
    ) -> Self {
        Shared {
            problem,
            program: problem.program(),
            settings,
            interrupt,
            clock,
            met: OnceLock::new(),
            // Without a time limit nobody listens: the answer must not depend on who is faster.
            incumbents: Incumbents::new(bound, settings.time_limit.is_some()),
            population: Mutex::new(Population::default()),
            starts: Mutex::new(Vec::new()),
            stop: Arc::new(AtomicBool::new(false)),
            polished: AtomicU64::new(0),
            turns: Turns::default(),
        }
    }

    fn is_timed(&self) -> bool {
        self.settings.time_limit.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Whether the best schedule is proven within the gap, and overtime, if there is any, has come to its end.
    fn is_closed(&self) -> bool {
        let bound = self.incumbents.bound();
        let Some(best) = self.incumbents.best() else {
            return false;
        };
        let open = best.saturating_sub(bound);
        if open as f64 > self.settings.gap * best as f64 {
            return false;
        }
        let met = *self.met.get_or_init(|| self.clock.elapsed());
        open == 0 || self.clock.elapsed() >= met + self.overtime(met)
    }

    /// Whether the search may go on once the gap is met.
    fn has_overtime(&self) -> bool {
        self.is_timed() && !self.settings.prove && self.settings.overtime > 0.0
    }

    /// For how long it does so if the gap was met after the time `met`.
    fn overtime(&self, met: Duration) -> Duration {
        match self.settings.time_limit {
            Some(limit) if self.has_overtime() => {
                let [least, most] = OVERTIME_SHARE.map(|share| share * limit.as_secs_f64());
                let wanted = self.settings.overtime * met.as_secs_f64();
                Duration::from_secs_f64(wanted.clamp(least, most))
            }
            _ => Duration::ZERO,
        }
    }

    /// Whether annealing beside the tree ends.
    fn is_over(&self) -> bool {
        self.is_stopped() || (self.is_timed() && self.is_closed())
    }

    /// Time for annealing before the tree goes on. As long as nothing fits, it waits.
    fn turn(&self) -> Option<Duration> {
        let limit = self.settings.time_limit;
        let limit = limit.filter(|_| self.incumbents.best().is_some());
        limit.map(|limit| limit.mul_f64(TURN_SHARE))
    }

    /// Fewer moves where one takes longer: the tree's share of the time is worth more.
    fn moves_per_node(&self, checkmate: u64) -> u64 {
        checkmate / P::Landscape::MOVE_WEIGHT
    }

    /// Anneals at low temperatures from retained sets; returns the work in moves of Checkmate's annealing.
    fn polish(&self, starts: &[BitMatrix]) -> u64 {
        if starts.is_empty() {
            return 0;
        }
        let landscape = self.problem.landscape();
        let moves = self.moves_per_node(POLISH_MOVES_PER_NODE) * landscape.nodes() as u64;
        let stream = self.polished.fetch_add(1, Ordering::Relaxed);
        let settings = PolishSettings {
            moves,
            time: self.turn(),
            seek: self.incumbents.best().is_none(),
            seed: self.settings.seed,
            stream,
        };
        let found = anneal::polish(landscape, starts, &settings, &Beside(self));
        let mut population = locked(&self.population);
        found.into_iter().for_each(|f| population.admit(f));
        let spent = P::Landscape::MOVE_WEIGHT * moves * (starts.len() * POLISH_RUNS) as u64;
        self.turns.polishing.fetch_add(spent, Ordering::Relaxed);
        spent
    }

    /// Whether there is a schedule, and it costs far more than the bound.
    fn is_far(&self) -> bool {
        let (best, bound) = (self.incumbents.best(), self.incumbents.bound());
        best.is_some_and(|best| price::is_far(best, bound))
    }

    /// A few more rounds of annealing from the best schedules; returns the work in moves of Checkmate's annealing.
    fn renew(&self) -> u64 {
        let stream = self.polished.fetch_add(1, Ordering::Relaxed);
        // Where nothing fits yet, only long runs come near.
        let longer = if self.incumbents.best().is_none() {
            4
        } else {
            1
        };
        let first = longer * self.moves_per_node(FIRST_MOVES_PER_NODE);
        // Runs are as long as the rounds before have come to, fewer in number.
        let pace = self.turns.pace.load(Ordering::Relaxed);
        let pace = pace.clamp(first, LONGEST_RENEWED * first);
        let rounds = (RENEWED_ROUNDS * first / pace).max(1) as u32;
        let portfolio = PortfolioSettings {
            seed: self.settings.seed ^ (stream + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            moves_per_node: pace,
            rounds,
            idle_rounds: rounds,
            time_limit: self.turn(),
            round_share: 1.0,
            target: 0,
        };
        let mut population = locked(&self.population);
        let moves = self.anneal(&mut population, &portfolio, &Beside(self));
        let spent = P::Landscape::MOVE_WEIGHT * moves;
        self.turns.renewing.fetch_add(spent, Ordering::Relaxed);
        spent
    }

    /// Rounds of annealing; returns the moves.
    fn anneal(
        &self,
        population: &mut Population,
        portfolio: &PortfolioSettings,
        observer: &dyn Observer,
    ) -> u64 {
        let (landscape, start) = (self.problem.landscape(), self.problem.everything());
        let annealed = anneal::search(landscape, start, population, portfolio, observer);
        let pace = annealed.moves_per_node;
        self.turns.pace.store(pace, Ordering::Relaxed);
        annealed.moves
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.incumbents.add_moves(moves);
        if let Some(cost) = best {
            self.incumbents.found(cost);
        }
    }

    /// Offers the intervals of a schedule to the relaxation.
    fn offer(&self, found: &Found) {
        if let Some(program) = &self.program {
            self.incumbents
                .offer(self.problem.intervals(program, found));
        }
    }

    /// Retained sets near the last relaxation, one after the other for each threshold.
    fn start(&self) -> Option<BitMatrix> {
        let mut starts = locked(&self.starts);
        if let (Some(program), Some(point)) = (&self.program, self.incumbents.take_point()) {
            let near = |t: &f64| self.problem.near(program, &point, *t);
            *starts = P::THRESHOLDS.iter().map(near).collect();
        }
        starts.pop()
    }

    fn progress(&self) -> Progress {
        Progress {
            seconds: self.clock.elapsed().as_secs_f64(),
            objective: self.incumbents.best(),
            bound: self.incumbents.bound(),
            moves: self.incumbents.moves(),
            nodes: self.incumbents.nodes(),
        }
    }
}

/// What another thread left behind a lock is whole: nothing panics between two writes.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The annealing beside the tree.
struct Beside<'s, 'p, P: Problem>(&'s Shared<'p, P>);

impl<P: Problem> Observer for Beside<'_, '_, P> {
    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.0.report(moves, best);
    }
}

/// The annealing beside the root: with a time limit the two help each other, and it ends when the root does.
struct BesideRoot<'s, 'p, P: Problem> {
    shared: &'s Shared<'p, P>,
    root_done: &'s AtomicBool,
}

impl<P: Problem> Observer for BesideRoot<'_, '_, P> {
    fn is_over(&self) -> bool {
        let shared = self.shared;
        // Without a time limit the work is fixed, so that the answer does not depend on when the bound arrives.
        let ended = || shared.is_closed() || self.root_done.load(Ordering::Relaxed);
        shared.is_stopped() || (shared.is_timed() && ended())
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.shared.report(moves, best);
    }

    fn found(&self, found: &Found) {
        if self.shared.is_timed() {
            self.shared.offer(found);
        }
    }

    fn start(&self) -> Option<BitMatrix> {
        self.shared.start()
    }
}

/// The first phase; the root, if there is a tree to search below it.
fn root_and_annealing<P: Problem>(
    shared: &Shared<'_, P>,
    pool: &rayon::ThreadPool,
) -> Option<Root<P::Program>> {
    let settings = shared.settings;
    let left = settings
        .time_limit
        .map(|limit| limit.saturating_sub(shared.clock.elapsed()));
    let (rounds, idle_rounds) = match left {
        Some(_) => (u32::MAX, u32::MAX),
        None => (settings.rounds, IDLE_ROUNDS),
    };
    let portfolio = PortfolioSettings {
        seed: settings.seed,
        moves_per_node: shared.moves_per_node(FIRST_MOVES_PER_NODE),
        rounds,
        idle_rounds,
        time_limit: left,
        round_share: ROUND_SHARE,
        target: shared.incumbents.bound(),
    };
    let root_done = AtomicBool::new(false);
    let timed = shared.is_timed();
    // What is known before the root begins, it can have without a limit, too: the answer is the same each time.
    let first = (!timed).then(|| pool.install(|| shared.problem.known(None)));
    if let Some(best) = first.iter().flatten().min_by_key(|found| found.cost) {
        shared.offer(best);
    }
    std::thread::scope(|scope| {
        let root = shared.program.clone().map(|program| {
            scope.spawn(|| {
                let root = root(program, shared);
                root_done.store(true, Ordering::Relaxed);
                root
            })
        });
        pool.install(|| {
            let mut population = locked(&shared.population);
            let known = first.unwrap_or_else(|| shared.problem.known(left));
            known.into_iter().for_each(|found| population.admit(found));
            let beside = BesideRoot {
                shared,
                root_done: &root_done,
            };
            shared.anneal(&mut population, &portfolio, &beside);
            // Nothing is better than what meets the bound.
            if population
                .best()
                .is_some_and(|best| best.cost <= portfolio.target)
            {
                shared.stop.store(true, Ordering::Relaxed);
            }
        });
        if timed && shared.is_closed() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        root.and_then(|root| match root.join() {
            Ok(root) => root,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Solves the root. What it cannot do leaves the combinatorial bound standing.
fn root<P: Problem>(program: Arc<P::Program>, shared: &Shared<'_, P>) -> Option<Root<P::Program>> {
    let settings = RootSettings {
        stop: Some(shared.stop.clone()),
        ..RootSettings::default()
    };
    let incumbents = &shared.incumbents;
    let root = Root::solve(program, &settings, None, incumbents).ok()?;
    let known = incumbents.bound();
    let bound = if root.is_infeasible() {
        known
    } else {
        root.safe_bound()
    };
    incumbents.note_tree(bound, 0, root.iterations());
    if root.is_infeasible() {
        incumbents.prove_infeasible();
    }
    Some(root)
}

/// The second phase; what proves the bound, if that is wanted.
fn tree<P: Problem>(
    mut root: Root<P::Program>,
    shared: &Shared<'_, P>,
) -> Option<TreeProof<P::Program>> {
    let settings = shared.settings;
    let of_root = settings.prove.then(|| root.proof());
    if root.is_infeasible() || shared.is_stopped() || shared.is_closed() {
        return of_root;
    }
    // The combinatorial bound may be above the root's.
    root.learn_bound(shared.incumbents.bound());
    if let Some(program) = &shared.program {
        let near = |t: &f64| shared.problem.near(program, root.point(), *t);
        let near: Vec<BitMatrix> = P::THRESHOLDS.iter().rev().map(near).collect();
        shared.polish(&near);
    }
    let tree = TreeSettings {
        gap: settings.gap,
        beyond: shared.has_overtime(),
        nodes: settings.nodes,
        iterations: match shared.is_timed() {
            true => u64::MAX,
            false => settings.iterations,
        },
        prove: settings.prove,
        ..TreeSettings::default()
    };
    // What the tree cannot do leaves the bound so far standing.
    let Ok(outcome) = price::search(root, &tree, &shared.incumbents, shared) else {
        return of_root;
    };
    if outcome.end == TreeEnd::Infeasible {
        shared.incumbents.prove_infeasible();
    }
    outcome.proof
}

impl<P: Problem> PrimalHeuristic<P::Program> for Shared<'_, P> {
    fn run(&self, visited: Vec<Visited<P::Program>>, _: &Incumbents<P::Program>) -> u64 {
        let Some(program) = &self.program else {
            return 0;
        };
        // Relaxations guide badly as long as the gap is wide; but one that is integral is a schedule.
        let is_far = self.is_far();
        let near = |v: Visited<P::Program>| self.problem.near(program, &v.point, 0.5);
        let visited = visited.into_iter().filter(|v| v.integral || !is_far);
        let starts: Vec<BitMatrix> = visited.map(near).collect();
        let polished = self.polish(&starts);
        if is_far {
            return polished + self.renew();
        }
        let turns = &self.turns;
        let behind =
            turns.renewing.load(Ordering::Relaxed) <= turns.polishing.load(Ordering::Relaxed);
        polished + if behind { self.renew() } else { 0 }
    }
}
