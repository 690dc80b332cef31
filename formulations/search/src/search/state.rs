//! State shared by both phases of a solve: results, the time, and the ends.

use crate::anneal::{Found, Generations};
use crate::{Problem, Progress, Scope, Settings, Watch};
use remat_instances::schedule::BitMatrix;
use remat_solver::price::{self, Incumbents};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Share of the time limit for each turn of the annealing during the tree, once there is a
/// schedule. On large general graphs moves are slow, and the tree must have its turn.
const TURN_SHARE: f64 = 1.0 / 16.0;

/// Gap beyond which long runs of the annealing are worth their time (docs/inside/decisions/094).
const LONG_RUN_GAP: f64 = 0.04;

/// State shared by both phases.
pub(super) struct SearchShared<'a, P: Problem> {
    pub problem: &'a P,
    pub program: Option<Arc<P::Program>>,
    pub settings: &'a Settings,
    pub watch: &'a Watch<'a>,
    /// Time at which the gap was reached.
    met: OnceLock<Duration>,
    pub incumbents: Incumbents<P::Program>,
    pub generations: Mutex<Generations>,
    /// The best reported schedule of the annealing, outside the lock of the generations.
    best: Mutex<Option<Arc<Found>>>,
    /// Retained sets near a relaxation that are not polished yet.
    pub starts: Mutex<Vec<BitMatrix>>,
    /// True if time is over, the user interrupts, or the best schedule is optimal.
    pub stop: Arc<AtomicBool>,
    /// Calls of the annealing during the tree.
    pub calls: AtomicU64,
    pub turns: Turns,
}

/// Annealing during the tree.
#[derive(Default)]
pub(super) struct Turns {
    /// Work so far, in moves of Checkmate's annealing.
    pub polishing: AtomicU64,
    pub renewing: AtomicU64,
    /// Moves of the next round's runs, for each node.
    pub pace: AtomicU64,
}

/// Locks a mutex. Data left by a panicked thread is consistent: no code panics between two writes.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, P: Problem> SearchShared<'a, P> {
    pub fn new(problem: &'a P, settings: &'a Settings, watch: &'a Watch<'a>, bound: u64) -> Self {
        SearchShared {
            problem,
            program: problem.program().map(|program| match settings.scope {
                Scope::Widest => program,
                Scope::StageSchedules => problem.narrower(&program).unwrap_or(program),
            }),
            settings,
            watch,
            met: OnceLock::new(),
            // Without a time limit incumbents are not shared: the answer must not depend on speed.
            incumbents: Incumbents::new(bound, settings.time_limit.is_some()),
            generations: Mutex::new(Generations::default()),
            best: Mutex::new(None),
            starts: Mutex::new(Vec::new()),
            stop: Arc::new(AtomicBool::new(false)),
            calls: AtomicU64::new(0),
            turns: Turns::default(),
        }
    }

    /// Sets `stop` if the solve is over, and reports the progress.
    pub fn tick(&self) {
        if self.watch.is_late() || self.is_over() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.watch.listener().progress(&self.progress());
        let best = locked(&self.best).clone();
        if let Some(found) = best {
            let plan = || {
                let (schedule, _) = self.problem.judge((*found).clone()).ok()?;
                self.problem.plan(schedule)
            };
            self.watch.listener().best(found.cost, &plan);
        }
    }

    /// Keeps a schedule for listeners, if it is the best.
    pub fn keep(&self, found: &Found) {
        let mut best = locked(&self.best);
        if best.as_ref().is_none_or(|best| found.cost < best.cost) {
            *best = Some(Arc::new(found.clone()));
        }
    }

    pub fn is_timed(&self) -> bool {
        self.settings.time_limit.is_some()
    }

    pub fn is_stopped(&self) -> bool {
        self.watch.listener().is_interrupted() || self.stop.load(Ordering::Relaxed)
    }

    /// Returns whether the best schedule is proven within the gap, and overtime, if any, is over.
    pub fn is_closed(&self) -> bool {
        let bound = self.incumbents.bound();
        let Some(best) = self.incumbents.best() else {
            return false;
        };
        let open = best.saturating_sub(bound);
        if open as f64 > self.settings.gap * best as f64 {
            return false;
        }
        let met = *self.met.get_or_init(|| self.watch.elapsed());
        open == 0 || self.watch.elapsed() >= met + self.settings.overtime_after(met)
    }

    /// Returns whether the search may go on once the gap is reached.
    pub fn has_overtime(&self) -> bool {
        self.settings.has_overtime()
    }

    /// Returns whether annealing beside the tree ends.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || (self.is_timed() && self.is_closed())
    }

    /// Time for annealing before the tree goes on; without limit until a schedule fits.
    pub fn turn(&self) -> Option<Duration> {
        let limit = self.settings.time_limit;
        let limit = limit.filter(|_| self.incumbents.best().is_some());
        limit.map(|limit| limit.mul_f64(TURN_SHARE))
    }

    /// Returns whether there is a schedule, and it costs far more than the bound.
    pub fn is_far(&self) -> bool {
        let (best, bound) = (self.incumbents.best(), self.incumbents.bound());
        best.is_some_and(|best| price::is_far(best, bound))
    }

    /// Returns whether there is a schedule, and the gap is wide enough for long runs.
    pub fn is_very_far(&self) -> bool {
        let (best, bound) = (self.incumbents.best(), self.incumbents.bound());
        best.is_some_and(|best| best.saturating_sub(bound) as f64 > LONG_RUN_GAP * best as f64)
    }

    fn progress(&self) -> Progress {
        Progress {
            seconds: self.watch.elapsed().as_secs_f64(),
            objective: self.incumbents.best(),
            bound: self.incumbents.bound(),
            moves: self.incumbents.moves(),
            nodes: self.incumbents.nodes(),
        }
    }
}
