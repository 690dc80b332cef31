//! The entry point: from a graph to an order and a proven bound.

use super::bounds::{Needs, forced_lives, largest_cut, working_sets};
use super::ends::Ends;
use super::greedy::{self, Rule};
use super::lanes::{self, OrderLane, RoundKnowledge};
use super::outcome::{BoundKind, FoundBy, OrderOutcome};
use super::refutations::Refutations;
use super::settings::OrderSettings;
use super::side::{Side, SideRun};
use remat_instances::order::{
    OperatorId, OrderCycle, OrderFault, OrderGraph, OrderProblem, Variant,
};
use remat_search::{Listener, Progress, Status};
use std::time::{Duration, Instant};

/// Reason why a search has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderSearchError {
    /// The edges of the variant form a cycle.
    #[error(transparent)]
    Cycle(#[from] OrderCycle),
    /// The simulator rejects an order of the search: a defect of this program.
    #[error("an order of the search does not replay: {0}; please report this")]
    Fault(#[from] OrderFault),
}

/// A search for the order of a graph with the least peak.
///
/// ```
/// use remat_memory::order::OrderSearch;
/// use remat_instances::zoo;
/// use remat_instances::order::{OrderGraph, Variant};
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:unet?batch=2".parse()?)?)?;
/// let outcome = OrderSearch::new(&graph).variant(Variant::Sound).run()?;
/// assert_eq!(outcome.peak_bytes(), outcome.bound_bytes);
/// let program = graph.replay(Variant::Sound, graph.program_order())?;
/// assert!(outcome.peak_bytes() <= program.peak_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OrderSearch<'a> {
    graph: &'a OrderGraph,
    variant: Variant,
    settings: OrderSettings,
    listener: &'a dyn Listener,
}

impl<'a> OrderSearch<'a> {
    /// A search under the default variant, `sound+rng`, with default settings.
    pub fn new(graph: &'a OrderGraph) -> Self {
        OrderSearch {
            graph,
            variant: Variant::default(),
            settings: OrderSettings::default(),
            listener: &(),
        }
    }

    /// The same under a variant.
    pub fn variant(self, variant: Variant) -> Self {
        OrderSearch { variant, ..self }
    }

    /// The same with settings.
    pub fn settings(self, settings: OrderSettings) -> Self {
        OrderSearch { settings, ..self }
    }

    /// The same with a time limit.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// The same with a budget: it ends with an order within so many bytes, or a proof that no order
    /// fits.
    pub fn budget(mut self, bytes: u64) -> Self {
        self.settings.budget_bytes = Some(bytes);
        self
    }

    /// The same on so many threads; 0 for one per core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads;
        self
    }

    /// The same with a listener, which may end the search and receives bound and peak.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        OrderSearch { listener, ..self }
    }

    /// The graph, the variant, the settings and the listener.
    pub(super) fn parts(&self) -> (&'a OrderGraph, Variant, &OrderSettings, &'a dyn Listener) {
        (self.graph, self.variant, &self.settings, self.listener)
    }

    /// Searches.
    ///
    /// # Errors
    /// [`OrderSearchError`] for a variant whose edges form a cycle.
    pub fn run(&self) -> Result<OrderOutcome, OrderSearchError> {
        let problem = self.graph.problem(self.variant)?;
        let mut ladder = Ladder::new(self, &problem);
        ladder.climb(&problem);
        ladder.outcome()
    }
}

/// The steps of a search, and their results so far.
struct Ladder<'a> {
    search: &'a OrderSearch<'a>,
    begun: Instant,
    known: RoundKnowledge,
    found_by: FoundBy,
    bound_by: BoundKind,
    /// Least memory in which each operator runs in any tried order.
    upper: Vec<u64>,
    states: u64,
    cuts: usize,
}

impl<'a> Ladder<'a> {
    fn new(search: &'a OrderSearch<'a>, problem: &OrderProblem) -> Self {
        Ladder {
            search,
            begun: search.settings.begun.unwrap_or_else(Instant::now),
            known: RoundKnowledge {
                order: problem.topological_order().to_vec(),
                peak: u64::MAX,
                bound: problem.base_bytes(),
                budget: search.settings.budget_bytes,
            },
            found_by: FoundBy::Rule(Rule::Program),
            bound_by: BoundKind::Base,
            upper: vec![u64::MAX; problem.len()],
            states: 0,
            cuts: 0,
        }
    }

    fn climb(&mut self, problem: &OrderProblem) {
        let tuning = &self.search.settings.tuning;
        let ends = match problem.len() <= tuning.reach_operators {
            true => Some(Ends::of(problem)),
            false => None,
        };
        let Some(ends) = ends else {
            let (forward, backward) = (Side::forward(problem), Side::backward(problem));
            self.raise_by(&working_sets(&forward), BoundKind::WorkingSet);
            return self.try_rules(&forward, &backward);
        };
        self.raise_by(&working_sets(&ends.forward), BoundKind::WorkingSet);
        let forced = forced_lives(&ends.forward, &ends.reach);
        self.raise_by(&forced, BoundKind::ForcedLives);
        self.try_rules(&ends.forward, &ends.backward);
        if self.is_done() {
            return;
        }
        self.cut(&ends);
        if self.is_done() {
            return;
        }
        self.search_levels(&ends);
    }

    /// Tries the orders of rules until one has the bound as its peak.
    fn try_rules(&mut self, forward: &Side, backward: &Side) {
        for rule in Rule::ALL {
            if self.is_done() {
                return;
            }
            let order = greedy::order(rule, forward, backward, &|| self.is_over());
            if let Some(order) = order {
                self.offer(forward, order, FoundBy::Rule(rule));
            }
        }
        self.tell();
    }

    /// Adopts an order if it is better.
    fn offer(&mut self, forward: &Side, order: Vec<u32>, found_by: FoundBy) {
        let mut run = SideRun::new(forward);
        let mut peak = forward.base_bytes;
        for &v in &order {
            let need = run.run(v);
            peak = peak.max(need);
            let upper = &mut self.upper[v as usize];
            *upper = need.min(*upper);
        }
        if peak < self.known.peak {
            (self.known.peak, self.known.order) = (peak, order);
            self.found_by = found_by;
        }
    }

    fn raise(&mut self, bound: u64, by: BoundKind) {
        if bound > self.known.bound {
            self.known.bound = bound.min(self.known.peak);
            self.bound_by = by;
        }
    }

    fn raise_by(&mut self, needs: &Needs, kind: fn(OperatorId) -> BoundKind) {
        if let Some((bytes, v)) = needs.most() {
            self.raise(bytes, kind(OperatorId(v)));
        }
    }

    fn cut(&mut self, ends: &Ends) {
        let is_over = || self.is_over();
        let known = self.known.bound;
        let cut = largest_cut(&ends.forward, &ends.reach, known, &self.upper, &is_over);
        self.cuts = cut.cuts;
        if let Some(v) = cut.operator {
            self.raise(cut.bytes, BoundKind::NodeCut(OperatorId(v)));
        }
        self.tell();
    }

    fn search_levels(&mut self, ends: &Ends) {
        let settings = &self.search.settings;
        let tuning = &settings.tuning;
        let mut lanes = OrderLane::all(ends, &self.known, settings.states, settings.seed, tuning);
        let mut states = tuning.first_states;
        // A search that never goes back visits less than one set for each operator.
        let mut alone = 2 * self.upper.len() as u64;
        let mut refutations = Refutations::new(ends);
        while !self.is_done() && !self.is_over() {
            if alone == 0 && refutations.is_due(&self.known, self.states) {
                let (bound, cuts) = refutations.attempt(&self.known, &|| self.is_over());
                self.cuts += cuts;
                self.raise(bound, BoundKind::Precedence);
                self.tell();
                continue;
            }
            let open = lanes.iter_mut().filter(|lane| lane.is_open());
            let mut open: Vec<_> = open.filter(|lane| alone == 0 || lane.is_exact()).collect();
            if !open.iter().any(|lane| lane.is_exact()) && settings.time_limit.is_none() {
                return;
            }
            let threads = settings.worker_threads();
            let is_over = || self.is_over();
            let news = lanes::round(&mut open, &self.known, states, threads, &is_over);
            for news in news {
                self.states += news.states;
                self.raise(news.bound, BoundKind::Level);
                if let Some((order, by)) = news.order {
                    self.offer(&ends.forward, order, by);
                }
            }
            self.tell();
            match alone {
                0 => states = (2 * states).min(tuning.round_states.max(states)),
                _ => alone = alone.saturating_sub(states),
            }
        }
    }

    fn tell(&self) {
        self.search.listener.progress(&Progress {
            seconds: self.begun.elapsed().as_secs_f64(),
            objective: Some(self.known.peak),
            bound: self.known.bound,
            moves: 0,
            nodes: self.states,
        });
    }

    /// Returns whether the best order is proven best, or the budget is settled.
    fn is_done(&self) -> bool {
        self.known.is_settled_by(self.known.bound)
    }

    fn is_over(&self) -> bool {
        let limit = self.search.settings.time_limit;
        let is_late = limit.is_some_and(|limit| self.begun.elapsed() >= limit);
        is_late || self.search.listener.is_interrupted()
    }

    fn outcome(self) -> Result<OrderOutcome, OrderSearchError> {
        let variant = self.search.variant;
        let RoundKnowledge {
            order,
            bound,
            budget,
            ..
        } = self.known;
        let order: Vec<_> = order.into_iter().map(OperatorId).collect();
        let replay = self.search.graph.replay(variant, &order)?;
        let bound_bytes = bound.min(replay.peak_bytes);
        let status = match bound_bytes == replay.peak_bytes {
            _ if budget.is_some_and(|budget| bound_bytes > budget) => Status::Infeasible,
            true => Status::Optimal,
            false if self.search.listener.is_interrupted() => Status::Interrupted,
            false => Status::Feasible,
        };
        Ok(OrderOutcome {
            status,
            variant,
            order,
            replay,
            bound_bytes,
            bound_by: self.bound_by,
            found_by: self.found_by,
            states: self.states,
            cuts: self.cuts,
            seconds: self.begun.elapsed().as_secs_f64(),
        })
    }
}
