//! Graphs that are too large for a relaxation and for retained sets of each stage. Heuristics find
//! a plan and improve it stretch by stretch, beside a bound by a few of the equal layers.

use super::CheckmateGraph;
use super::interval::Interval;
use super::starts::{KnownSchedule, fitting, known, schedule_of};
use crate::anneal::{CheckmateLandscape, improve};
use crate::life::layers::{self, Layout};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_search::anneal::{Observer, StretchSettings};
use remat_search::{Heuristic, Progress, Settings, SolveError, StopOnPanic, Watch, ticking};
use remat_solver::beside::joined;
use remat_solver::price::Incumbents;
use remat_solver::threads;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Rounds over stretches for each round of annealing, if the work is fixed.
const STRETCHES_PER_ROUND: u64 = 8;

/// A graph that is too large for the search, and its budget.
pub(super) struct LargeGraph<'a> {
    pub instance: &'a Instance,
    pub budget_bytes: u64,
    pub layout: Option<&'a Layout>,
    pub starts: &'a [CheckmateSchedule],
}

impl LargeGraph<'_> {
    /// The best plan and the best bound that are found within the limits; `bound` is the best bound
    /// so far.
    ///
    /// # Errors
    /// [`SolveError`] if threads cannot be started.
    pub fn solve(
        &self,
        bound: u64,
        settings: &Settings,
        watch: &Watch<'_>,
    ) -> Result<Heuristic<CheckmateSchedule>, SolveError> {
        let shared = Shared {
            incumbents: Incumbents::new(bound, false),
            stop: Arc::new(AtomicBool::new(false)),
            moves: AtomicU64::new(0),
            settings,
            watch,
        };
        let threads = settings.threads;
        let pool = threads::pool(threads);
        let pool = pool.map_err(|source| SolveError::Threads { threads, source })?;
        let work = || {
            thread::scope(|scope| {
                let bounding = self.layout.map(|layout| {
                    let shared = &shared;
                    thread::Builder::new().spawn_scoped(scope, move || self.bound(layout, shared))
                });
                let bounding = bounding.transpose().map_err(SolveError::Thread)?;
                let best = pool.install(|| self.plan(&shared));
                bounding.map(joined);
                Ok::<_, SolveError>(best)
            })
        };
        let best = ticking(|| shared.tick(), &shared.stop, work).map_err(SolveError::Thread)??;
        Ok(Heuristic {
            best: best.map(|known| (known.schedule, known.replay)),
            bound: shared.incumbents.bound(),
            moves: shared.moves.into_inner(),
        })
    }

    /// Reports the bounds that a few of the equal layers give.
    fn bound(&self, layout: &Layout, shared: &Shared<'_>) {
        let _stop = StopOnPanic(&shared.stop);
        let budget = self.budget_bytes;
        if let Ok(program) = CheckmateGraph::new(self.instance, budget) {
            let (stop, incumbents) = (&shared.stop, &shared.incumbents);
            layers::root_start(self.instance, layout, &program, budget, stop, incumbents);
        }
    }

    /// The best of given schedules, baselines and plans of a few layers, improved.
    fn plan(&self, shared: &Shared<'_>) -> Option<KnownSchedule> {
        let (instance, budget) = (self.instance, self.budget_bytes);
        let mut all = known(instance, budget, self.starts, shared.watch);
        all.iter()
            .for_each(|k| shared.report(0, Some(k.replay.cost)));
        if let Some(layout) = self.layout {
            let plan = |intervals: &[Interval]| {
                let retained = Interval::retained(intervals, instance.len());
                let schedule = schedule_of(instance, retained);
                fitting(instance, budget, schedule)
            };
            let watch = shared.watch;
            let plans = layers::plans::<CheckmateGraph, _>(instance, layout, budget, watch, plan);
            all.extend(plans);
        }
        let best = all.into_iter().min_by_key(|known| known.replay.cost)?;
        shared.report(0, Some(best.replay.cost));
        let settings = StretchSettings {
            seed: shared.settings.seed,
            rounds: match shared.watch.left() {
                Some(_) => u64::MAX,
                None => STRETCHES_PER_ROUND * u64::from(shared.settings.fixed_rounds(0)[0]),
            },
            time: shared.watch.left(),
            target: shared.incumbents.bound(),
        };
        let landscape = CheckmateLandscape::new(instance, budget);
        let retained = &best.schedule.retained;
        let improved = improve(&landscape, retained, &settings, shared)?;
        let schedule = schedule_of(instance, improved.retained);
        let improved = fitting(instance, budget, schedule);
        let improved = improved.filter(|improved| improved.replay.cost < best.replay.cost);
        Some(improved.unwrap_or(best))
    }
}

/// State that plan and bound share.
struct Shared<'a> {
    incumbents: Incumbents<CheckmateGraph>,
    stop: Arc<AtomicBool>,
    moves: AtomicU64,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
}

impl Observer for Shared<'_> {
    /// Without a time limit the work is fixed, so that the answer does not depend on when the bound
    /// arrives.
    fn is_over(&self) -> bool {
        let (best, bound) = (self.incumbents.best(), self.incumbents.bound());
        let is_closed = best.is_some_and(|best| {
            best.saturating_sub(bound) as f64 <= self.settings.gap * best as f64
        });
        let is_timed = self.settings.time_limit.is_some();
        self.watch.is_over() || self.stop.load(Ordering::Relaxed) || is_timed && is_closed
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
        if let Some(cost) = best {
            self.incumbents.found(cost);
        }
    }
}

impl Shared<'_> {
    /// Stops the work if the solve is over, and reports progress.
    fn tick(&self) {
        if self.is_over() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.watch.listener().progress(&Progress {
            seconds: self.watch.elapsed().as_secs_f64(),
            objective: self.incumbents.best(),
            bound: self.incumbents.bound(),
            moves: self.moves.load(Ordering::Relaxed),
            nodes: 0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::residual;
    use crate::bound::knapsack_bound;
    use remat_instances::simulate;
    use remat_search::Listener;

    /// A graph, and four fifths of its peak without recomputation.
    fn graph() -> (Instance, u64) {
        let instance = residual(60);
        let everything = CheckmateSchedule::checkpoint_all(&instance);
        let plain = simulate::checkmate(&instance, &everything).unwrap();
        (instance, plain.peak_bytes * 8 / 10)
    }

    fn large(instance: &Instance, budget_bytes: u64) -> LargeGraph<'_> {
        LargeGraph {
            instance,
            budget_bytes,
            layout: None,
            starts: &[],
        }
    }

    #[test]
    fn what_is_not_searched_has_a_plan_that_is_the_same_on_any_number_of_threads() {
        let (instance, budget_bytes) = graph();
        let large = large(&instance, budget_bytes);
        let bound = knapsack_bound(&instance, budget_bytes).unwrap().cost;
        let solved = [1, 3].map(|threads| {
            let settings = Settings {
                rounds: 1,
                threads,
                ..Settings::default()
            };
            let found = large.solve(bound, &settings, &Watch::new(&settings, &()));
            let (schedule, replay) = found.unwrap().best.unwrap();
            assert!(replay.peak_bytes <= budget_bytes && replay.cost >= bound);
            schedule
        });
        assert_eq!(solved[0], solved[1]);
    }

    /// Ends the solve once there is a plan.
    struct Satisfied(AtomicBool);

    impl Listener for Satisfied {
        fn is_interrupted(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }

        fn progress(&self, look: &Progress) {
            self.0.fetch_or(look.objective.is_some(), Ordering::Relaxed);
        }
    }

    /// Without an interrupt it would go on for a very long time.
    #[test]
    fn an_interrupt_ends_with_the_best_plan_so_far() {
        let (instance, budget_bytes) = graph();
        let settings = Settings {
            rounds: u32::MAX,
            ..Settings::default()
        };
        let listener = Satisfied(AtomicBool::new(false));
        let watch = Watch::new(&settings, &listener);
        let found = large(&instance, budget_bytes).solve(0, &settings, &watch);
        let (_, replay) = found.unwrap().best.unwrap();
        assert!(listener.is_interrupted() && replay.peak_bytes <= budget_bytes);
    }
}
