//! Front door: from a plan to a plan that is no worse.

use super::copies::improved;
use super::graph::RunGraph;
use crate::offload::CopyPhase;
use remat_instances::instance::{Instance, Precedence};
use remat_instances::plan::{Computation, Plan, PlanDocument};
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_memory::order::{OrderSearch, OrderSettings};
use remat_search::{Listener, Unheard};
use std::time::{Duration, Instant};

/// Tuning of the improvement of plans. The result is no worse with any values.
#[derive(Clone, Debug, PartialEq)]
pub struct ImproveTuning {
    /// Maximum number of executed sets in the search for the order of all steps. Plans of small
    /// graphs and of training steps are proven optimal within a few thousand.
    pub states: u64,
    /// Maximum number of executed sets in a search for an order without one of the recomputations.
    pub drop_states: u64,
    /// Maximum number of searches for such orders; a plan that fits in its own order needs no
    /// search.
    pub drop_searches: usize,
    /// Largest number of computations of a plan for which such orders are searched.
    pub drop_computations: usize,
}

impl Default for ImproveTuning {
    fn default() -> Self {
        ImproveTuning {
            states: 50_000,
            drop_states: 2_000,
            drop_searches: 64,
            drop_computations: 1_000,
        }
    }
}

/// Reason why a plan cannot be improved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImproveError {
    /// The plan cannot be executed.
    #[error("the plan cannot be executed: {0}")]
    Replay(#[from] ReplayError),
}

/// An improvement of a plan, to be run.
///
/// ```
/// use remat_formulations::improve::Improve;
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// use remat_instances::{plan::Plan, schedule::CheckmateSchedule};
///
/// // Two large tensors that are made one after the other, and read one after the other.
/// let need = |k: u32| vec![NodeId(k)];
/// let nodes = vec![
///     Node::forward("a", vec![], 1, 8),
///     Node::forward("b", vec![], 1, 8),
///     Node::forward("of a", need(0), 1, 1),
///     Node::forward("of b", need(1), 1, 1),
///     Node::forward("end", vec![NodeId(2), NodeId(3)], 1, 1),
/// ];
/// let data = InstanceData {
///     name: "five".into(),
///     cost_unit: CostUnit::arbitrary(),
///     host_link: None,
///     in_flight: 1,
///     nodes,
/// };
/// let instance = Instance::new(data)?;
/// let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
/// let better = Improve::new(&instance, &plan).run()?;
/// assert_eq!((better.before.peak_bytes, better.replay.peak_bytes), (17, 10));
/// assert_eq!(better.replay.cost, better.before.cost);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Improve<'a> {
    instance: &'a Instance,
    plan: &'a Plan,
    budget_bytes: Option<u64>,
    time_limit: Option<Duration>,
    threads: usize,
    seed: u64,
    tuning: ImproveTuning,
    listener: &'a dyn Listener,
}

/// A plan that is no worse than another one.
#[derive(Clone, Debug)]
pub struct Improved {
    /// The plan.
    pub plan: Plan,
    /// Its replay.
    pub replay: Replay,
    /// Replay of the given plan.
    pub before: Replay,
    /// Budget that it was made for, in bytes.
    pub budget_bytes: Option<u64>,
    /// Number of recomputations removed.
    pub dropped: usize,
    /// Time taken, in seconds.
    pub seconds: f64,
}

impl Improved {
    /// The plan as a document, with its claims.
    pub fn document(&self, instance: &Instance) -> PlanDocument {
        let plan = self.plan.clone();
        PlanDocument::of(instance, plan, &self.replay, self.budget_bytes)
    }
}

impl<'a> Improve<'a> {
    /// An improvement of a plan of an instance.
    pub fn new(instance: &'a Instance, plan: &'a Plan) -> Self {
        Improve {
            instance,
            plan,
            budget_bytes: None,
            time_limit: None,
            threads: 0,
            seed: 0,
            tuning: ImproveTuning::default(),
            listener: &(),
        }
    }

    /// The same for a budget in bytes: a plan within it becomes cheaper, and a plan above it is
    /// made to fit if such an order is found. Without a budget the peak is reduced first, then the
    /// cost.
    pub fn budget(self, budget_bytes: u64) -> Self {
        Improve {
            budget_bytes: Some(budget_bytes),
            ..self
        }
    }

    /// The same with a time limit. Without a limit the answer depends on plan, budget and seed
    /// alone.
    pub fn time_limit(self, limit: Duration) -> Self {
        Improve {
            time_limit: Some(limit),
            ..self
        }
    }

    /// The same with a number of threads; 0 for one per core.
    pub fn threads(self, threads: usize) -> Self {
        Improve { threads, ..self }
    }

    /// The same with a seed of random choices.
    pub fn seed(self, seed: u64) -> Self {
        Improve { seed, ..self }
    }

    /// The same with other tuning.
    pub fn tuning(self, tuning: ImproveTuning) -> Self {
        Improve { tuning, ..self }
    }

    /// The same with a listener that may end it.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        Improve { listener, ..self }
    }

    /// Improves.
    ///
    /// # Errors
    /// [`ImproveError`] for a plan that cannot be executed.
    pub fn run(&self) -> Result<Improved, ImproveError> {
        let begun = Instant::now();
        let before = simulate::plan(self.instance, self.plan)?;
        let mut work = Improvement {
            asked: self,
            begun,
            rules: Precedence::of(self.instance, self.plan.semantics),
            best: Replayed {
                plan: self.plan.clone(),
                replay: before.clone(),
            },
            searches: self.tuning.drop_searches,
            kept: before.computations,
        };
        let budget = self.budget_bytes;
        if self.plan.has_copies() {
            work.move_statements();
            return Ok(work.end(before));
        }
        let trimmed = self.plan.optimised(self.instance)?;
        work.offer(trimmed);
        if budget.is_none_or(|budget| work.best.replay.peak_bytes > budget)
            && let Some(plan) = work.in_better_order(&work.best.plan, budget, self.tuning.states)
        {
            work.offer(plan);
        }
        work.kept = work.best.replay.computations;
        work.drop_recomputations();
        Ok(work.end(before))
    }
}

struct Replayed {
    plan: Plan,
    replay: Replay,
}

/// State of a running improvement.
struct Improvement<'a> {
    asked: &'a Improve<'a>,
    begun: Instant,
    rules: Precedence,
    best: Replayed,
    /// Remaining searches for orders without a recomputation.
    searches: usize,
    /// Computations of the plan before recomputations are removed.
    kept: usize,
}

impl Improvement<'_> {
    fn end(self, before: Replay) -> Improved {
        Improved {
            dropped: self.kept.saturating_sub(self.best.replay.computations),
            plan: self.best.plan,
            replay: self.best.replay,
            before,
            budget_bytes: self.asked.budget_bytes,
            seconds: self.begun.elapsed().as_secs_f64(),
        }
    }

    /// Moves statements of a plan with copies.
    fn move_statements(&mut self) {
        let instance = self.asked.instance;
        let host = instance.host_link().and_then(|link| link.host_memory_bytes);
        let before = &self.best.replay;
        let by_loss = instance.loss().is_some() && CopyPhase::Loss.admits(instance, before);
        let host = host.map(|host| host.max(before.transfers.host_peak_bytes));
        let rank = |replay: &Replay| {
            let fits = host.is_none_or(|host| replay.transfers.host_peak_bytes <= host)
                && (!by_loss || CopyPhase::Loss.admits(instance, replay));
            match fits {
                true => self.rank(replay),
                false => [u64::MAX; 3],
            }
        };
        let from = (self.best.plan.clone(), self.best.replay.clone());
        let is_over = || self.is_over();
        let (rules, seed) = (&self.rules, self.asked.seed);
        let (plan, replay) = improved(instance, rules, from, &rank, seed, &is_over);
        self.best = Replayed { plan, replay };
    }

    /// Bytes above the budget, makespan, peak, compared in this order; less is better. Without a
    /// budget the peak comes before the makespan.
    fn rank(&self, replay: &Replay) -> [u64; 3] {
        let (cost, peak) = (replay.makespan, replay.peak_bytes);
        match self.asked.budget_bytes {
            Some(budget) => [peak.saturating_sub(budget), cost, peak],
            None => [0, peak, cost],
        }
    }

    /// Keeps a plan if it can be executed and is better; returns whether it is.
    fn offer(&mut self, plan: Plan) -> bool {
        let Ok(replay) = simulate::plan(self.asked.instance, &plan) else {
            return false;
        };
        let is_better = self.rank(&replay) < self.rank(&self.best.replay);
        if is_better {
            self.best = Replayed { plan, replay };
        }
        is_better
    }

    fn left(&self) -> Option<Duration> {
        let limit = self.asked.time_limit;
        limit.map(|limit| limit.saturating_sub(self.begun.elapsed()))
    }

    fn is_over(&self) -> bool {
        self.asked.listener.is_interrupted() || self.left().is_some_and(|left| left.is_zero())
    }

    /// The computations of a plan in the order with the least peak found, or in an order within a
    /// budget.
    fn in_better_order(&self, plan: &Plan, budget: Option<u64>, states: u64) -> Option<Plan> {
        let asked = self.asked;
        let instance = asked.instance;
        let computations = plan.computations_in_order(instance).ok()?;
        let made = RunGraph::of(instance, &self.rules, &computations)?;
        let quiet = Unheard(asked.listener);
        let search = OrderSearch::new(&made.graph).settings(OrderSettings {
            time_limit: self.left(),
            budget_bytes: budget,
            states,
            threads: asked.threads,
            seed: asked.seed,
            ..OrderSettings::default()
        });
        let outcome = search.listener(&quiet).run().ok()?;
        let own = outcome.order.iter().filter(|v| v.index() < made.runs);
        let runs: Vec<Computation> = own.map(|v| computations.runs[v.index()]).collect();
        Plan::of_computations(instance, plan.semantics, &runs).ok()
    }

    /// Removes recomputations, the most expensive first, as long as the plan improves.
    fn drop_recomputations(&mut self) {
        while !self.is_over() && self.drop_one() {}
    }

    /// Removes the most expensive recomputation that can be removed; returns whether there was one.
    fn drop_one(&mut self) -> bool {
        let instance = self.asked.instance;
        let semantics = self.best.plan.semantics;
        let Ok(computations) = self.best.plan.computations_in_order(instance) else {
            return false;
        };
        let runs = computations.runs;
        let without = |k: usize| {
            let rest = runs.iter().enumerate().filter(|(i, _)| *i != k);
            let rest: Vec<Computation> = rest.map(|(_, run)| *run).collect();
            Plan::of_computations(instance, semantics, &rest).ok()
        };
        let dearest = dearest_recomputations(instance, &runs);
        let mut blocked = Vec::new();
        for k in dearest {
            if self.is_over() {
                return false;
            }
            let Some(plan) = without(k) else { continue };
            if self.offer(plan.clone()) {
                return true;
            }
            blocked.push(plan);
        }
        let tuning = &self.asked.tuning;
        if runs.len() > tuning.drop_computations {
            return false;
        }
        let limit = self
            .asked
            .budget_bytes
            .unwrap_or(self.best.replay.peak_bytes);
        for plan in blocked {
            if self.searches == 0 || self.is_over() {
                return false;
            }
            self.searches -= 1;
            let better = self.in_better_order(&plan, Some(limit), tuning.drop_states);
            if better.is_some_and(|plan| self.offer(plan)) {
                return true;
            }
        }
        false
    }
}

/// Positions of recomputations, the most expensive first.
fn dearest_recomputations(instance: &Instance, runs: &[Computation]) -> Vec<usize> {
    let mut seen = vec![false; instance.len()];
    let mut again: Vec<(u64, usize)> = Vec::new();
    for (k, run) in runs.iter().enumerate() {
        if std::mem::replace(&mut seen[run.node.index()], true) {
            let node = instance.node(run.node);
            let way = &node.implementations[usize::from(run.implementation)];
            again.push((way.recompute_cost, k));
        }
    }
    again.sort_by_key(|(cost, k)| (std::cmp::Reverse(*cost), *k));
    again.into_iter().map(|(_, k)| k).collect()
}
