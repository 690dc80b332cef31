//! Branch and bound over the bytes that a step keeps between its two passes.

use super::bounded::Bounded;
use crate::any::AnyFormulation;
use crate::written::Written;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::Schedule;
use remat_search::{
    Effort, Listener, Outcome, Settings, Solvable, SolveError, Unheard, relative_gap,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ranges that are examined without a time limit.
const RANGES: u32 = 24;
/// Share of the time that is left, for the solves of one range.
const RANGE_SHARE: f64 = 0.2;
/// Shortest time of the solves of one range in seconds.
const LEAST_SECONDS: f64 = 0.2;
/// Gap of solves within, as a share of the gap that is asked for.
const INNER_GAP: f64 = 0.25;
/// Part of a range at its ends in which it is divided in the middle instead.
const EDGE: f64 = 0.15;

/// A solve of a step with several micro-batches in flight.
pub struct InFlight<'a> {
    formulation: AnyFormulation,
    budget_bytes: u64,
    starts: &'a [Schedule],
    settings: Settings,
    listener: &'a dyn Listener,
}

/// A range of saved bytes that is still open.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: u64,
    high: u64,
    /// Lower bound on the cost of its plans.
    bound: u64,
}

/// What is known so far.
struct Known {
    best: Option<Written>,
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
        let Some(bounded) = Bounded::of(&instance, semantics) else {
            return Ok(self.ended(base_cost, known, None, begun));
        };
        let bound = self.search(&instance, &bounded, base_cost, begun, &mut known)?;
        let because = match (&known.best, bound) {
            (None, None) => Some(self.refusal()),
            _ => None,
        };
        Ok(self.ended(bound.unwrap_or(base_cost), known, because, begun))
    }

    fn others(&self) -> u64 {
        u64::from(self.formulation.instance().in_flight()) - 1
    }

    fn refusal(&self) -> String {
        format!(
            "no stage schedule in this order fits with {} micro-batches in flight, whatever it \
             keeps between the passes",
            self.formulation.instance().in_flight()
        )
    }

    /// Examines ranges, the one of least bound first. Returns a lower bound on the cost of all
    /// plans that fit; `None` if no plan fits.
    fn search(
        &self,
        instance: &Arc<Instance>,
        bounded: &Bounded,
        base_cost: u64,
        begun: Instant,
        known: &mut Known,
    ) -> Result<Option<u64>, SolveError> {
        let (low, high) = self.whole(instance);
        let mut open = vec![Range {
            low,
            high,
            bound: base_cost,
        }];
        // The least bound of ranges whose best plan is known.
        let mut closed: Option<u64> = None;
        let mut examined = 0;
        while let Some(at) = (0..open.len()).min_by_key(|&k| (open[k].bound, open[k].low)) {
            let range = open[at];
            let least = closed.map_or(range.bound, |bound| bound.min(range.bound));
            if known.is_within(least, self.settings.gap) || self.is_over(begun, examined) {
                return Ok(Some(least));
            }
            examined += 1;
            open.swap_remove(at);
            let settings = self.inner(begun);
            let found = self.solved(instance, bounded, (range.low, range.high), &settings)?;
            known.count(&found.0);
            let outcome = found.0;
            if outcome.infeasible_because.is_some() {
                continue;
            }
            let bound = outcome.bound.max(range.bound);
            if known.cost().is_some_and(|cost| bound >= cost) {
                closed = Some(closed.map_or(bound, |least| least.min(bound)));
                continue;
            }
            let Some(written) = found.1 else {
                // Neither a plan nor a proof: a narrower range is an easier question.
                let middle = range.low + (range.high - range.low) / 2;
                open.extend(range.halves(middle, bound));
                if range.low == range.high {
                    closed = Some(closed.map_or(bound, |least| least.min(bound)));
                }
                continue;
            };
            let saved = written.replay.saved_bytes;
            if known.take(written, self.budget_bytes) {
                // The range has no cheaper plan than its relaxation.
                closed = Some(closed.map_or(bound, |least| least.min(bound)));
                continue;
            }
            let at = range.divided_at(saved);
            let (outcome, plan) = self.solved(instance, bounded, (at, at), &settings)?;
            known.count(&outcome);
            if let Some(written) = plan {
                known.take(written, self.budget_bytes);
            }
            open.extend(range.halves(at, bound));
        }
        // All ranges are closed or have no plan.
        Ok(closed)
    }

    /// The range of bytes that a plan can keep between the passes: what cannot be computed again
    /// and is read behind them, and what fits once for each micro-batch.
    fn whole(&self, instance: &Instance) -> (u64, u64) {
        let start = instance.backward_start().map_or(0, NodeId::index);
        let stays = |id: &NodeId| {
            let read = instance.users(*id).iter().any(|user| user.index() >= start);
            id.index() < start && read && !instance.may_recompute(*id)
        };
        let size = |id: NodeId| instance.node(id).output_bytes;
        let low = match self.formulation.semantics().chooses_implementations() {
            true => 0,
            false => instance.ids().filter(stays).map(size).sum(),
        };
        let all: u64 = instance.ids().take(start).map(size).sum();
        let room = self.budget_bytes / (self.others() + 1);
        (low.min(room), all.min(room).max(low.min(room)))
    }

    /// A solve with a limit of `high` bytes between the passes, and the budget that `low` bytes
    /// leave. Its plan is of the step itself.
    fn solved(
        &self,
        instance: &Arc<Instance>,
        bounded: &Bounded,
        (low, high): (u64, u64),
        settings: &Settings,
    ) -> Result<(Outcome, Option<Written>), SolveError> {
        let budget_bytes = self.budget_bytes.saturating_sub(self.others() * low);
        let graph = bounded.instance(budget_bytes, high);
        let graph = graph.map_err(|e| SolveError::Inapplicable {
            formulation: "several micro-batches in flight".into(),
            instance: instance.name().into(),
            because: e.to_string(),
        })?;
        let formulation = AnyFormulation::of(&graph, self.formulation.semantics())?;
        let unheard = Unheard(self.listener);
        let (outcome, written) =
            formulation.solve_and_write(budget_bytes, &[], settings, &unheard)?;
        let written = written.map(|of| {
            let plan = bounded.plan(&of.document.plan, instance.name());
            Written::of(instance, plan, self.budget_bytes)
        });
        Ok((outcome, written.transpose()?))
    }

    /// Settings of the next solve within.
    fn inner(&self, begun: Instant) -> Settings {
        let own = |limit: Duration| {
            let left = limit.saturating_sub(begun.elapsed()).as_secs_f64();
            Duration::from_secs_f64((left * RANGE_SHARE / 2.0).max(LEAST_SECONDS).min(left))
        };
        Settings {
            time_limit: self.settings.time_limit.map(own),
            begun: None,
            effort: match self.settings.time_limit {
                Some(_) => self.settings.effort,
                None => Effort::Quick,
            },
            gap: self.settings.gap * INNER_GAP,
            overtime: 0.0,
            prove: false,
            ..self.settings.clone()
        }
    }

    fn is_over(&self, begun: Instant, examined: u32) -> bool {
        let late = match self.settings.time_limit {
            Some(limit) => begun.elapsed() >= limit,
            None => examined >= RANGES,
        };
        late || self.listener.is_interrupted()
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

impl Range {
    /// The place at which the range is divided: the bytes that a plan saves, unless they are at an
    /// end of the range.
    fn divided_at(&self, saved: u64) -> u64 {
        let width = self.high - self.low;
        let edge = (width as f64 * EDGE) as u64;
        match (self.low + edge..=self.high.saturating_sub(edge)).contains(&saved) {
            true => saved,
            false => self.low + width / 2,
        }
    }

    /// The parts below a place and from it on.
    fn halves(&self, at: u64, bound: u64) -> impl Iterator<Item = Range> + use<> {
        let (low, high) = (self.low, self.high);
        let below = (at > low).then(|| Range {
            low,
            high: at - 1,
            bound,
        });
        let above = (at > low || at < high).then_some(Range {
            low: if at > low { at } else { at + 1 },
            high,
            bound,
        });
        // A range of one number, and the first number of a range, are examined for themselves.
        let own = (at == low && at < high).then_some(Range {
            low,
            high: low,
            bound,
        });
        below.into_iter().chain(own).chain(above)
    }
}

impl Known {
    fn cost(&self) -> Option<u64> {
        self.best.as_ref().map(|best| best.replay.cost)
    }

    fn is_within(&self, bound: u64, gap: f64) -> bool {
        self.cost()
            .is_some_and(|cost| relative_gap(cost, bound) <= gap)
    }

    fn count(&mut self, outcome: &Outcome) {
        self.nodes += outcome.nodes;
        self.lp_iterations += outcome.lp_iterations;
        self.moves += outcome.moves;
    }

    /// Keeps a plan that fits and is cheaper than the best one. Returns whether it fits.
    fn take(&mut self, written: Written, budget_bytes: u64) -> bool {
        if written.replay.peak_bytes > budget_bytes {
            return false;
        }
        if self.cost().is_none_or(|cost| written.replay.cost < cost) {
            self.best = Some(written);
        }
        true
    }
}
