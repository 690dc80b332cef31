//! Solving MONeT's program for a budget: annealing beside branch, price and cut.

use super::anneal::{Graph, State};
use super::bound::event_bound;
use super::interval::{self, Interval, Point};
use crate::anneal::Found;
use crate::baselines;
use crate::solve::search::{self, Problem};
use crate::solve::{Outcome, Progress, Settings, SolveError, Status};
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, MonetSchedule};
use remat_instances::simulate::{self, Replay, ReplayError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Baselines of Checkmate's program whose stored sets serve as starts.
const BASELINES: [&str; 4] = ["linearised-sqrt", "linearised-greedy", "ap-greedy", "dtr"];
/// Nodes up to which these take well under a second.
const BASELINES_UP_TO: usize = 2_000;
/// Nodes up to which relaxations are solved.
const PROGRAM_UP_TO: usize = 1_500;

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
    let problem = Monet {
        instance,
        settings,
        starts,
        plain: &plain,
        graph,
    };
    search::run(
        &problem,
        settings,
        interrupt,
        progress,
        &clock,
        &mut outcome,
    )?;
    outcome.settle(settings.gap, interrupt.load(Ordering::Relaxed));
    outcome.seconds = clock.elapsed().as_secs_f64();
    Ok(outcome)
}

/// An instance and a budget, as the search sees them.
struct Monet<'a> {
    instance: &'a Instance,
    settings: &'a Settings,
    starts: &'a [MonetSchedule],
    /// The schedule that stores everything.
    plain: &'a MonetSchedule,
    graph: Graph,
}

impl Problem for Monet<'_> {
    type Landscape = Graph;
    type Program = interval::Graph;
    type Schedule = MonetSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.75, 0.5];

    fn landscape(&self) -> &Graph {
        &self.graph
    }

    fn program(&self) -> Option<Arc<interval::Graph>> {
        if self.instance.len() > PROGRAM_UP_TO {
            return None;
        }
        interval::Graph::new(self.instance, self.settings.budget_bytes)
            .ok()
            .map(Arc::new)
    }

    fn everything(&self) -> &BitMatrix {
        &self.plain.retained
    }

    /// What fits of the given schedules, of everything stored, and of Checkmate's baselines.
    fn known(&self, _: Option<Duration>) -> Vec<Found> {
        let executes = |s: &&MonetSchedule| simulate::monet(self.instance, s).is_ok();
        let given = self
            .starts
            .iter()
            .filter(executes)
            .map(|s| s.retained.clone());
        let mut stored: Vec<BitMatrix> = given.chain([self.plain.retained.clone()]).collect();
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
            let state = State::new(&self.graph, &retained);
            let cost = state.cost() as u64;
            (state.excess() == 0).then_some(Found { cost, retained })
        };
        stored.into_par_iter().filter_map(fits).collect()
    }

    fn near(&self, program: &interval::Graph, point: &Point, threshold: f64) -> BitMatrix {
        point.proposal(self.instance, program, threshold).retained
    }

    fn intervals(&self, program: &interval::Graph, found: &Found) -> Vec<Interval> {
        let schedule = State::new(&self.graph, &found.retained).schedule();
        Interval::of_schedule(program, &schedule)
    }

    fn finish(&self, found: Found) -> Result<(MonetSchedule, Replay), ReplayError> {
        let schedule = State::new(&self.graph, &found.retained).schedule();
        let replay = simulate::monet(self.instance, &schedule)?;
        Ok((schedule, replay))
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
