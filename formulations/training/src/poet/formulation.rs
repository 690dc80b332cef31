//! POET's program for the search.

use super::schedule::{of_sets, replay, sets};
use super::trips::{rounded, trips};
use super::{PoetInstance, PoetLandscape};
use crate::bound::check_budget;
use crate::checkmate::fitting_baselines;
use crate::offload::interval::{LinkGraph, Trip, TripPoint};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, PoetSchedule};
use remat_instances::simulate::{Replay, ReplayError};
use remat_search::anneal::Found;
use remat_search::{Formulation, Heuristic, Problem, Settings, SolveError, Start, Watch};
use std::sync::Arc;

/// Largest number of nodes for which relaxations are solved; a walk visits each stage of each
/// tensor.
const PROGRAM_NODE_LIMIT: usize = 2_000;
/// Largest number of nodes for which the sets of schedules are annealed.
const SEARCH_NODE_LIMIT: usize = 5_000;

/// POET's program (Patil et al., ICML 2022) for an instance.
///
/// ```
/// use remat_formulations::poet::{PoetFormulation, PoetInstance};
/// use remat_formulations::{Settings, Solvable};
/// use remat_instances::schedule::PageCosts;
///
/// let graph = remat_instances::zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let pages = vec![Some(PageCosts { out: 1, back: 1 }); graph.len()];
/// let formulation = PoetFormulation::new(PoetInstance::new(graph, pages)?);
/// let peak = formulation.plain()?.peak_bytes;
/// let outcome = formulation.solve(peak * 9 / 10, &[], &Settings::default(), &())?;
/// let replay = outcome.replay.ok_or("nothing fits")?;
/// assert!(replay.peak_bytes <= peak * 9 / 10 && outcome.bound <= replay.cost);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PoetFormulation {
    instance: PoetInstance,
}

impl PoetFormulation {
    /// The program of an instance.
    pub fn new(instance: PoetInstance) -> Self {
        PoetFormulation { instance }
    }

    /// The instance.
    pub fn instance(&self) -> &PoetInstance {
        &self.instance
    }

    fn everything(&self) -> PoetSchedule {
        PoetSchedule::plain(CheckmateSchedule::checkpoint_all(self.instance.graph()))
    }
}

impl Formulation for PoetFormulation {
    type Schedule = PoetSchedule;
    type Problem<'a> = PoetProblem<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        replay(&self.instance, &self.everything())
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [PoetSchedule],
    ) -> Result<Start<PoetProblem<'a>>, SolveError> {
        let graph = self.instance.graph();
        if let Err(small) = check_budget(graph, budget_bytes) {
            return Ok(Start::Infeasible {
                because: small.to_string(),
                proof: None,
            });
        }
        let everything = self.everything();
        let plain = replay(&self.instance, &everything)?;
        if plain.peak_bytes <= budget_bytes {
            return Ok(Start::Optimal {
                schedule: everything,
                replay: plain,
                proof: None,
                over_all_plans: false,
            });
        }
        let bound = graph.base_cost();
        if graph.len() > SEARCH_NODE_LIMIT {
            return Ok(Start::TooLarge(bound));
        }
        let problem = PoetProblem {
            instance: &self.instance,
            budget_bytes,
            starts,
            everything: sets(&everything),
            landscape: PoetLandscape::new(&self.instance, budget_bytes),
        };
        Ok(Start::Open(problem, bound))
    }

    fn heuristic(
        &self,
        budget_bytes: u64,
        bound: u64,
        starts: &[PoetSchedule],
        _: &Settings,
        watch: &Watch<'_>,
    ) -> Result<Heuristic<PoetSchedule>, SolveError> {
        let known = known(&self.instance, budget_bytes, starts, watch);
        Ok(Heuristic::cheapest(bound, known))
    }
}

/// A schedule that executes and fits, with its replay.
fn fitting(
    instance: &PoetInstance,
    budget_bytes: u64,
    schedule: PoetSchedule,
) -> Option<(PoetSchedule, Replay)> {
    let replay = replay(instance, &schedule).ok()?;
    (replay.peak_bytes <= budget_bytes).then_some((schedule, replay))
}

/// Given schedules, and Checkmate's baselines, that fit.
fn known(
    instance: &PoetInstance,
    budget_bytes: u64,
    starts: &[PoetSchedule],
    watch: &Watch<'_>,
) -> Vec<(PoetSchedule, Replay)> {
    let given = starts.iter().filter_map(|start| {
        // A replay checks its shape before its rows are used.
        replay(instance, start).ok()?;
        fitting(instance, budget_bytes, of_sets(instance, &sets(start)))
    });
    let mut known: Vec<_> = given.collect();
    let baselines = fitting_baselines(instance.graph(), budget_bytes, watch);
    known.extend(baselines.into_iter().filter_map(|baseline| {
        fitting(
            instance,
            budget_bytes,
            PoetSchedule::plain(baseline.schedule),
        )
    }));
    known
}

/// POET's program for a budget.
pub struct PoetProblem<'a> {
    instance: &'a PoetInstance,
    budget_bytes: u64,
    starts: &'a [PoetSchedule],
    everything: BitMatrix,
    landscape: PoetLandscape,
}

impl Problem for PoetProblem<'_> {
    type Landscape = PoetLandscape;
    type Program = LinkGraph;
    type Schedule = PoetSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.5];

    fn landscape(&self) -> &PoetLandscape {
        &self.landscape
    }

    fn program(&self) -> Option<Arc<LinkGraph>> {
        if self.instance.graph().len() > PROGRAM_NODE_LIMIT {
            return None;
        }
        let (graph, terms) = (self.instance.graph(), self.instance.terms());
        LinkGraph::with_pages(graph, terms, self.budget_bytes).map(Arc::new)
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything
    }

    fn known(&self, watch: &Watch<'_>) -> Vec<Found> {
        let known = known(self.instance, self.budget_bytes, self.starts, watch);
        let found = |(schedule, replay): &(PoetSchedule, Replay)| Found {
            cost: replay.cost,
            retained: sets(schedule),
        };
        known.iter().map(found).collect()
    }

    fn near(&self, program: &LinkGraph, point: &TripPoint, threshold: f64) -> BitMatrix {
        rounded(program, point, threshold)
    }

    fn columns(&self, program: &LinkGraph, found: &Found) -> Vec<Trip> {
        trips(program, &of_sets(self.instance, &found.retained))
    }

    fn judge(&self, found: Found) -> Result<(PoetSchedule, Replay), ReplayError> {
        let schedule = of_sets(self.instance, &found.retained);
        let replay = replay(self.instance, &schedule)?;
        Ok((schedule, replay))
    }
}
