//! Search: inner problems are solved where bounds call for it.

use crate::classes::{Answer, solved};
use crate::intervals::Intervals;
use crate::path::Cuts;
use crate::pipeline::{PipelineError, PipelineSettings};
use crate::tables::{Program, Spot, Tables};
use remat_formulations::{Effort, Settings, SolveError};
use remat_search::{Listener, Unheard, relative_gap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time of the first solve of an inner problem in seconds, for graphs of up to `FIRST_NODES` nodes;
/// larger ones have more in proportion. The factor of each further solve.
const FIRST_SECONDS: f64 = 1.0;
const FIRST_NODES: f64 = 200.0;
const FURTHER: f64 = 4.0;
/// Gap of inner problems, as a share of the gap that is asked for.
const INNER_GAP: f64 = 0.5;
/// Solves of one inner problem at most.
const SOLVES: usize = 6;

/// Limits of a search, and who may end it.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'p> {
    pub settings: &'p PipelineSettings,
    pub listener: &'p dyn Listener,
    /// Moment at which the search ends.
    pub end: Option<Instant>,
}

impl Limits<'_> {
    fn left(&self) -> Option<Duration> {
        Some(self.end?.saturating_duration_since(Instant::now()))
    }

    /// Returns whether the search ends now.
    pub fn is_over(&self) -> bool {
        self.left() == Some(Duration::ZERO) || self.listener.is_interrupted()
    }
}

/// Work of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub solves: usize,
    pub nodes: u64,
    pub lp_iterations: u64,
}

/// End of a search: the best cuts by plans, and a bound on every choice of cuts.
pub(crate) struct Found {
    pub cuts: Option<Cuts>,
    /// `None` if every choice has a stage without a plan.
    pub bound: Option<u64>,
}

/// A search over cuts and inner problems.
pub(crate) struct Search<'p, 's, 'a> {
    pub tables: Tables<'s, 'a>,
    limits: Limits<'p>,
    pub work: Work,
}

impl<'p, 's, 'a> Search<'p, 's, 'a> {
    /// A search for a program.
    pub fn new(intervals: Intervals<'s, 'a>, program: &Program, limits: Limits<'p>) -> Self {
        Search {
            tables: Tables::new(intervals, program),
            limits,
            work: Work::default(),
        }
    }

    /// Each round takes the cuts of least objective by the bounds of all intervals, and solves the
    /// inner problems on them that are still open.
    pub fn run(&mut self) -> Result<Found, PipelineError> {
        let mut bound = 0;
        if let Some(first) = self.tables.by_bounds() {
            self.tables.foresee(&first)?;
        }
        loop {
            let Some(optimistic) = self.tables.by_bounds() else {
                let (cuts, bound) = (None, None);
                return Ok(Found { cuts, bound });
            };
            bound = optimistic.objective.max(bound);
            let cuts = self.tables.by_plans();
            let gap = self.limits.settings.gap;
            let met = |known: &Cuts| relative_gap(known.objective, bound) <= gap;
            let ends = cuts.as_ref().is_some_and(met) || self.limits.is_over();
            let spots = self.tables.spots(&optimistic);
            if !ends && self.tables.classify(&spots)? {
                continue;
            }
            let open = self.open(&spots);
            if ends || open.is_empty() {
                let bound = Some(bound);
                return Ok(Found { cuts, bound });
            }
            self.solve(&open)?;
        }
    }

    /// Classes of some stages that are open and may be solved again, the least solved alone.
    fn open(&self, spots: &[Spot]) -> Vec<usize> {
        let classes = spots.iter().filter_map(|&spot| self.tables.class(spot));
        let gap = self.limits.settings.gap * INNER_GAP;
        let all = &self.tables.classes.all;
        let mut open: Vec<usize> = classes
            .filter(|&class| all[class].is_open(gap) && all[class].solves < SOLVES)
            .collect();
        open.sort_unstable();
        open.dedup();
        let least = open.iter().map(|&class| all[class].solves).min();
        open.retain(|&class| Some(all[class].solves) == least);
        open
    }

    /// Solves classes side by side.
    fn solve(&mut self, open: &[usize]) -> Result<(), PipelineError> {
        let mut tasks = Vec::with_capacity(open.len());
        for &class in open {
            let graph = self.tables.classes.instance(class)?;
            let capacity = self.tables.classes.all[class].capacity_bytes;
            let settings = self.inner(class, graph.len());
            tasks.push((graph, capacity, settings));
        }
        let limits = self.limits;
        let answers = side_by_side(limits.settings.threads, tasks.len(), |task| {
            let (graph, capacity, settings) = &tasks[task];
            let left = limits.left();
            let own = settings.time_limit;
            let settings = Settings {
                time_limit: own.map(|own| left.map_or(own, |left| own.min(left))),
                ..settings.clone()
            };
            solved(graph, *capacity, settings, &Unheard(limits.listener))
        });
        for (&class, answer) in open.iter().zip(answers) {
            let answer: Answer = answer?;
            self.work.solves += 1;
            self.work.nodes += answer.nodes;
            self.work.lp_iterations += answer.lp_iterations;
            for changed in self.tables.classes.take(class, answer) {
                self.tables.note(changed);
            }
        }
        Ok(())
    }

    /// Settings of the next solve of a class.
    fn inner(&self, class: usize, nodes: usize) -> Settings {
        let solves = self.tables.classes.all[class].solves;
        let size = (nodes as f64 / FIRST_NODES).max(1.0);
        let seconds = FIRST_SECONDS * size * FURTHER.powi(solves as i32);
        let settings = self.limits.settings;
        Settings {
            time_limit: settings
                .time_limit
                .map(|_| Duration::from_secs_f64(seconds)),
            effort: match solves {
                0 => Effort::Quick,
                _ => Effort::Full,
            },
            gap: settings.gap * INNER_GAP,
            overtime: 0.0,
            threads: 1,
            seed: settings.seed + solves as u64,
            ..Settings::default()
        }
    }
}

/// Results of tasks `0..count` on some threads, in order; 0 for one thread per core.
///
/// These are threads of their own: a solve waits for its pool, and a waiting thread of another pool
/// would begin a further task in the meantime.
fn side_by_side<T: Send>(
    threads: usize,
    count: usize,
    task: impl Fn(usize) -> Result<T, SolveError> + Sync,
) -> Vec<Result<T, SolveError>> {
    let results: Vec<Mutex<Option<Result<T, SolveError>>>> =
        (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let own = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = results.get(own) else {
                return;
            };
            let result = task(own);
            if let Ok(mut place) = place.lock() {
                *place = Some(result);
            }
        }
    };
    let threads = Settings {
        threads,
        ..Settings::default()
    }
    .worker_threads();
    std::thread::scope(|scope| {
        let others = (1..threads.min(count)).map(|_| scope.spawn(work));
        let others: Vec<_> = others.collect();
        work();
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let results = results.into_iter();
    let results = results.filter_map(|result| result.into_inner().unwrap_or_default());
    results.collect()
}
