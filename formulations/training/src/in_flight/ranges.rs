//! Branch and bound over the bytes that a step keeps between its two passes, for programs without a
//! term of waiting micro-batches.

use super::graph::WaitGraph;
use super::search::{Known, too_large};
use crate::any::AnyFormulation;
use crate::written::Written;
use remat_instances::instance::NodeId;
use remat_search::{Effort, Listener, Outcome, Settings, SolveError, Unheard};
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

/// A search over ranges of saved bytes.
pub(super) struct Ranges<'a> {
    pub formulation: &'a AnyFormulation,
    pub graph: &'a WaitGraph,
    pub budget_bytes: u64,
    pub settings: &'a Settings,
    pub listener: &'a dyn Listener,
    pub begun: Instant,
}

/// A range of saved bytes that is still open.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: u64,
    high: u64,
    /// Lower bound on the cost of its plans.
    bound: u64,
}

impl Ranges<'_> {
    /// Examines ranges, the one of least bound first. Returns a lower bound on the cost of all
    /// plans that fit; `None` if no plan fits.
    pub fn search(&self, base_cost: u64, known: &mut Known) -> Result<Option<u64>, SolveError> {
        let (low, high) = self.whole();
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
            if known.is_within(least, self.settings.gap) || self.is_over(examined) {
                return Ok(Some(least));
            }
            examined += 1;
            open.swap_remove(at);
            let settings = self.inner();
            let found = self.solved((range.low, range.high), &settings)?;
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
            let (outcome, plan) = self.solved((at, at), &settings)?;
            known.count(&outcome);
            if let Some(written) = plan {
                known.take(written, self.budget_bytes);
            }
            open.extend(range.halves(at, bound));
        }
        // All ranges are closed or have no plan.
        Ok(closed)
    }

    fn others(&self) -> u64 {
        u64::from(self.formulation.instance().in_flight()) - 1
    }

    /// The range of bytes that a plan can keep between the passes: what cannot be computed again
    /// and is read behind them, and what fits once for each micro-batch.
    fn whole(&self) -> (u64, u64) {
        let instance = self.formulation.instance();
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
        (low, high): (u64, u64),
        settings: &Settings,
    ) -> Result<(Outcome, Option<Written>), SolveError> {
        let instance = self.formulation.instance();
        let budget_bytes = self.budget_bytes.saturating_sub(self.others() * low);
        let graph = self.graph.bounded(budget_bytes, high);
        let graph = graph.map_err(|e| too_large(instance, &e))?;
        let formulation = AnyFormulation::of(&graph, self.formulation.semantics())?;
        let unheard = Unheard(self.listener);
        let (outcome, written) =
            formulation.solve_and_write(budget_bytes, &[], settings, &unheard)?;
        let written = written.map(|of| {
            let plan = self.graph.plan(&of.document.plan, instance.name());
            Written::of(instance, plan, self.budget_bytes)
        });
        Ok((outcome, written.transpose()?))
    }

    /// Settings of the next solve within.
    fn inner(&self) -> Settings {
        let own = |limit: Duration| {
            let left = limit.saturating_sub(self.begun.elapsed()).as_secs_f64();
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

    fn is_over(&self, examined: u32) -> bool {
        let late = match self.settings.time_limit {
            Some(limit) => self.begun.elapsed() >= limit,
            None => examined >= RANGES,
        };
        late || self.listener.is_interrupted()
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
