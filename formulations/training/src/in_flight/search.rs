//! Solves of a step with several micro-batches in flight.

use super::graph::WaitGraph;
use super::ranges::Ranges;
use crate::any::AnyFormulation;
use crate::written::Written;
use remat_instances::instance::{Instance, StructureError};
use remat_instances::schedule::Schedule;
use remat_search::{Listener, Outcome, Progress, Settings, Solvable, SolveError, relative_gap};
use std::sync::Arc;
use std::time::Instant;

/// A solve of a step with several micro-batches in flight.
pub struct InFlight<'a> {
    formulation: AnyFormulation,
    budget_bytes: u64,
    starts: &'a [Schedule],
    settings: Settings,
    listener: &'a dyn Listener,
}

/// What is known so far.
pub(super) struct Known {
    pub best: Option<Written>,
    nodes: u64,
    lp_iterations: u64,
    moves: u64,
}

impl<'a> InFlight<'a> {
    /// A solve of a formulation, whose instance says how many are in flight, within a budget in
    /// bytes.
    pub fn new(formulation: AnyFormulation, budget_bytes: u64) -> Self {
        InFlight {
            formulation,
            budget_bytes,
            starts: &[],
            settings: Settings::default(),
            listener: &(),
        }
    }

    /// Schedules to start from.
    #[must_use]
    pub fn starts(mut self, starts: &'a [Schedule]) -> Self {
        self.starts = starts;
        self
    }

    /// Settings of the search.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The listener that may end the search.
    #[must_use]
    pub fn listener(mut self, listener: &'a dyn Listener) -> Self {
        self.listener = listener;
        self
    }

    /// Solves. The bound covers stage schedules, as without other micro-batches.
    ///
    /// # Errors
    /// [`SolveError`] of a solve within, or of a plan that cannot be executed, which is a defect.
    pub fn run(self) -> Result<(Outcome, Option<Written>), SolveError> {
        let begun = self.settings.begun.unwrap_or_else(Instant::now);
        let instance = self.formulation.instance().clone();
        let base_cost = self.formulation.plain()?.base_cost;
        let semantics = self.formulation.semantics();
        let mut known = Known {
            best: None,
            nodes: 0,
            lp_iterations: 0,
            moves: 0,
        };
        if let Some(because) = self.formulation.too_small(self.budget_bytes) {
            return Ok(self.ended(base_cost, known, Some(because), begun));
        }
        let plain = instance.without_recomputation(semantics)?;
        for schedule in [&plain].into_iter().chain(self.starts) {
            let written = Written::of_schedule(&instance, schedule, self.budget_bytes)?;
            known.take(written, self.budget_bytes);
        }
        let Some(graph) = WaitGraph::of(&instance, semantics) else {
            return Ok(self.ended(base_cost, known, None, begun));
        };
        let bound = match semantics.chooses_implementations() {
            true => {
                let ranges = Ranges {
                    formulation: &self.formulation,
                    graph: &graph,
                    budget_bytes: self.budget_bytes,
                    settings: &self.settings,
                    listener: self.listener,
                    begun,
                };
                ranges.search(base_cost, &mut known)?
            }
            false => self.solve_with_waiting(&instance, &graph, begun, &mut known)?,
        };
        let because = match (&known.best, bound) {
            (None, None) => Some(self.refusal()),
            _ => None,
        };
        Ok(self.ended(bound.unwrap_or(base_cost), known, because, begun))
    }

    fn refusal(&self) -> String {
        format!(
            "no stage schedule in this order fits with {} micro-batches in flight, whatever it \
             keeps between the passes",
            self.formulation.instance().in_flight()
        )
    }

    /// Solves Checkmate's program with the term of micro-batches that wait. Returns a lower bound on
    /// the cost of all plans that fit; `None` if no plan fits.
    fn solve_with_waiting(
        &self,
        instance: &Arc<Instance>,
        graph: &WaitGraph,
        begun: Instant,
        known: &mut Known,
    ) -> Result<Option<u64>, SolveError> {
        let own = graph.instance().map_err(|e| too_large(instance, &e))?;
        let starts = self.starts.iter().filter_map(Schedule::as_checkmate);
        let starts: Vec<Schedule> = starts.map(|s| graph.schedule(s).into()).collect();
        let settings = Settings {
            begun: Some(begun),
            prove: false,
            ..self.settings.clone()
        };
        let (outcome, written) = AnyFormulation::checkmate(&own).solve_and_write(
            self.budget_bytes,
            &starts,
            &settings,
            &WithoutPlans(self.listener),
        )?;
        known.count(&outcome);
        if let Some(written) = written {
            let plan = graph.plan(&written.document.plan, instance.name());
            let written = Written::of(instance, plan, self.budget_bytes)?;
            known.take(written, self.budget_bytes);
        }
        Ok(outcome
            .infeasible_because
            .is_none()
            .then_some(outcome.bound))
    }

    fn ended(
        &self,
        bound: u64,
        known: Known,
        because: Option<String>,
        begun: Instant,
    ) -> (Outcome, Option<Written>) {
        let cost = known.cost();
        let bound = cost.map_or(bound, |cost| bound.min(cost));
        let mut outcome = Outcome {
            gap: cost.map(|cost| relative_gap(cost, bound)),
            replay: known.best.as_ref().map(|best| best.replay.clone()),
            nodes: known.nodes,
            lp_iterations: known.lp_iterations,
            moves: known.moves,
            infeasible_because: because,
            ..Outcome::new(bound)
        };
        outcome.settle(self.settings.gap, self.listener.is_interrupted());
        outcome.seconds = begun.elapsed().as_secs_f64();
        (outcome, known.best)
    }
}

/// The error of a graph whose sizes are beyond those of an instance.
pub(super) fn too_large(instance: &Instance, error: &StructureError) -> SolveError {
    SolveError::Inapplicable {
        formulation: "several micro-batches in flight".into(),
        instance: instance.name().into(),
        because: error.to_string(),
    }
}

impl Known {
    pub fn cost(&self) -> Option<u64> {
        self.best.as_ref().map(|best| best.replay.cost)
    }

    pub fn is_within(&self, bound: u64, gap: f64) -> bool {
        self.cost()
            .is_some_and(|cost| relative_gap(cost, bound) <= gap)
    }

    pub fn count(&mut self, outcome: &Outcome) {
        self.nodes += outcome.nodes;
        self.lp_iterations += outcome.lp_iterations;
        self.moves += outcome.moves;
    }

    /// Keeps a plan that fits and is cheaper than the best one. Returns whether it fits.
    pub fn take(&mut self, written: Written, budget_bytes: u64) -> bool {
        if written.replay.peak_bytes > budget_bytes {
            return false;
        }
        if self.cost().is_none_or(|cost| written.replay.cost < cost) {
            self.best = Some(written);
        }
        true
    }
}

/// A listener that receives no plans on the way: these are of the graph with the wait node.
struct WithoutPlans<'a>(&'a dyn Listener);

impl Listener for WithoutPlans<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        self.0.progress(progress);
    }
}
