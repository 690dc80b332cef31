//! The order of first computations of a solve with copies to the host.
//!
//! The objective is the makespan. A solve with copies in the given order and a solve without copies
//! in any order come first, and the better of their plans stays a candidate. The search then
//! evaluates orders by solves with copies: small graphs exactly, larger ones by short solves of few
//! orders.

use super::all;
use super::front::Reorder;
use super::moves::{Neighbours, NodeOrder};
use super::outcome::OrderChoice;
use super::settings::ReorderTuning;
use crate::any::AnyFormulation;
use crate::bound::any_plan_bound;
use crate::improve::Improve;
use crate::offload::exact::{ExactSearch, ExactSettings};
use crate::offload::nodes::{Offload, OffloadTuning};
use crate::offload::{CopyPhase, Release};
use rayon::prelude::*;
use remat_instances::instance::{Instance, NodeId, Precedence};
use remat_instances::plan::{Plan, PlanDocument, Step};
use remat_instances::simulate::{self, Replay};
use remat_search::anneal::Xoshiro256;
use remat_search::{
    Effort, Listener, Outcome, Settings, SolveError, Status, Unheard, Watch, relative_gap,
};
use remat_solver::threads;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Number of orders up to which a small graph is solved in all its orders.
const ALL_ORDERS_LIMIT: usize = 512;
/// Maximum number of orders evaluated for a small graph by a walk without a time limit.
const SMALL_ORDERS_LIMIT: u64 = 512;
/// The same for larger graphs, beside the orders of known plans.
const LARGE_ORDERS_LIMIT: u64 = 2;
/// Maximum number of labels of the exact search of one order.
const LABELS_LIMIT: usize = 100_000;
/// Share of the time left for the short solve of an order of a larger graph.
const ORDER_SHARE: f64 = 0.15;
/// Shares of the time left for the solve in the given order, and for the solve without copies.
const GIVEN_SHARE: f64 = 0.4;
const ALONE_SHARE: f64 = 0.4;
/// Draws for neighbours that were not evaluated yet, for each lane.
const DRAWS: usize = 8;

/// A solve that chooses copies and the order of first computations.
///
/// Without a time limit the answer depends on instance, budget, settings and seed alone.
pub struct ReorderCopies<'a> {
    formulation: AnyFormulation,
    budget_bytes: u64,
    phase: CopyPhase,
    release: Release,
    settings: Settings,
    starts: &'a [Plan],
    listener: &'a dyn Listener,
}

/// The outcome of a solve that chose copies and the order.
#[derive(Clone, Debug)]
pub struct CopiesReordered {
    /// Status, bound and gap of the plan, with its replay; its `schedule` is `None`.
    pub outcome: Outcome,
    /// The best plan, of the given instance; its objective is the makespan.
    pub plan: Option<PlanDocument>,
    /// The order of the plan.
    pub choice: OrderChoice,
    /// Cost of the best plan without copies in the given order, if one was found.
    pub without_cost: Option<u64>,
}

impl<'a> ReorderCopies<'a> {
    /// A solve by a formulation whose instance has a link, with a budget in bytes.
    pub fn new(formulation: AnyFormulation, budget_bytes: u64, phase: CopyPhase) -> Self {
        ReorderCopies {
            formulation,
            budget_bytes,
            phase,
            release: Release::AtOnce,
            settings: Settings::default(),
            starts: &[],
            listener: &(),
        }
    }

    /// The same with settings; the time limit covers the whole solve.
    pub fn settings(self, settings: Settings) -> Self {
        ReorderCopies { settings, ..self }
    }

    /// The same with a bound under another assumption on the memory of copies.
    pub fn release(self, release: Release) -> Self {
        ReorderCopies { release, ..self }
    }

    /// The same with plans to start from; plans that do not fit are ignored.
    pub fn starts(self, starts: &'a [Plan]) -> Self {
        ReorderCopies { starts, ..self }
    }

    /// The same with a listener that follows the solve and may end it.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        ReorderCopies { listener, ..self }
    }

    /// Solves.
    ///
    /// # Errors
    /// [`SolveError`], as of [`Offload::run`]. A budget that no plan fits is an outcome without a
    /// plan, not an error.
    pub fn run(&self) -> Result<CopiesReordered, SolveError> {
        let settings = Settings {
            begun: Some(self.settings.begun.unwrap_or_else(Instant::now)),
            prove: false,
            ..self.settings.clone()
        };
        let watch = Watch::new(&settings, self.listener);
        let given = self.formulation.instance().clone();
        let semantics = self.formulation.semantics();
        let rules = Precedence::of(&given, semantics);
        // Copies replace recomputation, so only first computations count in any order.
        let base = match semantics.chooses_implementations() {
            true => any_plan_bound(&given, semantics, u64::MAX).map_or(0, |any| any.cost),
            false => given.base_cost(),
        };
        let share = if rules.is_total() { 1.0 } else { GIVEN_SHARE };
        let part = part(&settings, &watch, share);
        let first = self.offload(self.formulation.clone(), part);
        let first = first.starts(self.starts).listener(self.listener).run()?;
        let mut solve = Solving {
            asked: self,
            given: &given,
            settings: &settings,
            watch: &watch,
            rules: &rules,
            base,
            best: None,
            costs: BTreeMap::new(),
        };
        if let Some(document) = &first.plan {
            solve.offer(document.plan.clone());
        }
        let given_cost = first.outcome.cost();
        if !rules.is_total() && !solve.is_best() {
            solve.alone()?;
            solve.orders()?;
            solve.improve();
        }
        Ok(solve.end(first.outcome, given_cost, first.without_cost))
    }

    fn offload(&self, formulation: AnyFormulation, settings: Settings) -> Offload<'a> {
        Offload::new(formulation, self.budget_bytes)
            .phase(self.phase)
            .release(self.release)
            .settings(settings)
    }
}

/// Settings of a part of a solve, with a share of the time left.
fn part(settings: &Settings, watch: &Watch<'_>, share: f64) -> Settings {
    let left = watch.left();
    Settings {
        time_limit: left.map(|left| watch.elapsed() + left.mul_f64(share)),
        ..match share < 1.0 {
            true => settings.clone().without_overtime(),
            false => settings.clone(),
        }
    }
}

/// State of a running solve.
struct Solving<'a> {
    asked: &'a ReorderCopies<'a>,
    given: &'a Arc<Instance>,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    rules: &'a Precedence,
    /// Lower bound on the makespan of every plan.
    base: u64,
    /// The best plan, of the given instance.
    best: Option<(Plan, Replay)>,
    /// Makespan of the best plan found in each order that was evaluated.
    costs: BTreeMap<Vec<NodeId>, Option<u64>>,
}

impl Solving<'_> {
    fn cost(&self) -> Option<u64> {
        self.best.as_ref().map(|(_, replay)| replay.makespan)
    }

    fn is_best(&self) -> bool {
        self.cost().is_some_and(|cost| cost <= self.base)
    }

    fn is_over(&self) -> bool {
        self.watch.is_over() || self.is_best()
    }

    fn is_small(&self) -> bool {
        let semantics = self.asked.formulation.semantics();
        !semantics.chooses_implementations()
            && self.given.len() <= OffloadTuning::default().exact_nodes
    }

    /// Replays a plan of the given instance, and keeps it if it fits and beats the incumbent.
    fn offer(&mut self, plan: Plan) {
        let Ok(replay) = simulate::plan(self.given, &plan) else {
            return;
        };
        let host = self
            .given
            .host_link()
            .and_then(|link| link.host_memory_bytes);
        let fits = replay.peak_bytes <= self.asked.budget_bytes
            && host.is_none_or(|host| replay.transfers.host_peak_bytes <= host)
            && self.asked.phase.admits(self.given, &replay)
            && self.rules.allows(&plan.first_computations(self.given));
        if fits && self.cost().is_none_or(|cost| replay.makespan < cost) {
            self.best = Some((plan, replay));
        }
    }

    /// Solves without copies in any order.
    fn alone(&mut self) -> Result<(), SolveError> {
        let asked = self.asked;
        let settings = part(self.settings, self.watch, ALONE_SHARE);
        let quiet = Unheard(asked.listener);
        let found = Reorder::new(asked.formulation.clone(), asked.budget_bytes)
            .settings(settings)
            .listener(&quiet)
            .run()?;
        if let Some(plan) = found.plan {
            self.offer(plan.document.plan);
        }
        let order = NodeOrder::new(found.choice.order);
        self.judge_all(vec![order])
    }

    /// Evaluates other orders until the time or the number of orders is over.
    fn orders(&mut self) -> Result<(), SolveError> {
        if let Some((plan, _)) = &self.best {
            let order = NodeOrder::new(plan.first_computations(self.given));
            self.judge_all(vec![order])?;
        }
        if self.is_small()
            && let Some(orders) = all::orders(self.rules, ALL_ORDERS_LIMIT)
        {
            return self.judge_all(orders);
        }
        self.walk()
    }

    /// Walks from the best order to neighbours that are no worse; where there is none, makes some
    /// moves away from it.
    fn walk(&mut self) -> Result<(), SolveError> {
        let tuning = ReorderTuning::default();
        let rules = self.rules;
        let neighbours = Neighbours::new(rules);
        let mut random = Xoshiro256::new(self.settings.seed, u64::MAX);
        let (limit, lanes) = match self.is_small() {
            true => (SMALL_ORDERS_LIMIT, tuning.lanes),
            false => (LARGE_ORDERS_LIMIT, 1),
        };
        let readers = |id: NodeId| self.given.users(id).to_vec();
        let start = self.costs.len() as u64;
        let mut current = self.best_order();
        let mut idle = 0;
        while !self.is_over() && idle <= tuning.idle_shakes {
            let judged = self.costs.len() as u64 - start;
            if self.watch.left().is_none() && judged >= limit {
                break;
            }
            let wanted = self.wanted();
            let mut orders: Vec<NodeOrder> = Vec::new();
            for _ in 0..lanes * DRAWS {
                let next = neighbours.draw(&current, &wanted, &readers, &mut random);
                let Some(next) = next.filter(|next| !self.costs.contains_key(&next.nodes)) else {
                    continue;
                };
                if !orders.contains(&next) {
                    orders.push(next);
                }
                if orders.len() == lanes {
                    break;
                }
            }
            let before = (self.cost(), self.cost_of(&current));
            let drawn = orders.clone();
            self.judge_all(orders)?;
            let best = drawn.into_iter().min_by_key(|order| self.cost_of(order));
            match best.filter(|best| self.cost_of(best) <= before.1) {
                Some(best) => current = best,
                None => {
                    current = self.best_order();
                    for _ in 0..1 + random.below(tuning.shake_moves) {
                        let next = neighbours.draw(&current, &wanted, &readers, &mut random);
                        current = next.unwrap_or(current);
                    }
                }
            }
            idle = match self.cost() < before.0 || before.0.is_none() && self.best.is_some() {
                true => 0,
                false => idle + 1,
            };
        }
        Ok(())
    }

    /// Makespan of the best plan in an order; the largest number without one.
    fn cost_of(&self, order: &NodeOrder) -> u64 {
        let cost = self.costs.get(&order.nodes).copied().flatten();
        cost.unwrap_or(u64::MAX)
    }

    /// The order of the best plan; the given order without a plan.
    fn best_order(&self) -> NodeOrder {
        match &self.best {
            Some((plan, _)) => NodeOrder::new(plan.first_computations(self.given)),
            None => NodeOrder::given(self.given.len()),
        }
    }

    /// Nodes that the best plan computes again or copies, ascending.
    fn wanted(&self) -> Vec<NodeId> {
        let Some((plan, _)) = &self.best else {
            return Vec::new();
        };
        let mut allocations = vec![0u32; self.given.len()];
        for step in &plan.steps {
            if let Step::Allocate { node, .. } = step {
                allocations[node.index()] += 1;
            }
        }
        let ids = self.given.ids();
        ids.filter(|id| allocations[id.index()] > 1).collect()
    }

    /// Evaluates orders that were not evaluated before, side by side.
    fn judge_all(&mut self, mut orders: Vec<NodeOrder>) -> Result<(), SolveError> {
        let is_new = |order: &NodeOrder| !self.costs.contains_key(&order.nodes);
        orders.retain(|order| self.rules.allows(&order.nodes) && is_new(order));
        let is_small = self.is_small();
        let found: Vec<Option<Plan>> = match is_small {
            true => {
                let count = self.settings.threads;
                let pool = threads::pool(count);
                let pool = pool.map_err(|source| SolveError::Threads {
                    threads: count,
                    source,
                })?;
                let (this, cost) = (&*self, self.cost());
                pool.install(|| {
                    let judged = orders.par_iter();
                    judged.map(|order| this.exactly(order, cost)).collect()
                })
            }
            false => {
                let judged = orders.iter();
                let judged = judged.map(|order| self.shortly(order));
                judged.collect::<Result<_, _>>()?
            }
        };
        for (order, plan) in orders.into_iter().zip(found) {
            let plan = plan.map(|plan| plan.renumbered(&order.inverse()));
            let cost = plan.as_ref().and_then(|plan| {
                let replay = simulate::plan(self.given, plan).ok()?;
                Some(replay.makespan)
            });
            self.costs.insert(order.nodes, cost);
            plan.into_iter().for_each(|plan| self.offer(plan));
        }
        Ok(())
    }

    /// The fastest plan of a small graph in an order, unless it takes longer than `most`.
    fn exactly(&self, order: &NodeOrder, most: Option<u64>) -> Option<Plan> {
        if self.watch.is_over() {
            return None;
        }
        let instance = self.given.reordered(&order.nodes).ok()?;
        let settings = ExactSettings {
            copies: self.asked.phase,
            labels: LABELS_LIMIT,
            most,
            ..ExactSettings::default()
        };
        let search = ExactSearch::new(&instance, self.asked.budget_bytes).settings(settings);
        let outcome = search.run().ok()?;
        outcome.plan().map(|found| found.plan.clone())
    }

    /// The plan of a short solve in an order.
    fn shortly(&self, order: &NodeOrder) -> Result<Option<Plan>, SolveError> {
        if self.watch.is_over() {
            return Ok(None);
        }
        let Ok(instance) = self.given.reordered(&order.nodes) else {
            return Ok(None);
        };
        let asked = self.asked;
        let formulation = AnyFormulation::of(&instance, asked.formulation.semantics())?;
        let settings = Settings {
            effort: match self.watch.left() {
                Some(_) => self.settings.effort,
                None => Effort::Quick,
            },
            ..part(self.settings, self.watch, ORDER_SHARE)
        };
        let quiet = Unheard(asked.listener);
        let offload = asked.offload(formulation, settings);
        let found = offload.uncompared().listener(&quiet).run()?;
        Ok(found.plan.map(|document| document.plan))
    }

    /// Puts the steps of the best plan in a better order.
    fn improve(&mut self) {
        let Some((plan, _)) = self.best.clone() else {
            return;
        };
        let mut improve = Improve::new(self.given, &plan)
            .budget(self.asked.budget_bytes)
            .threads(self.settings.threads)
            .seed(self.settings.seed)
            .listener(self.watch.listener());
        if let Some(left) = self.watch.left() {
            improve = improve.time_limit(left);
        }
        if let Ok(better) = improve.run() {
            self.offer(better.plan);
        }
    }

    /// The answer, with status, bound and gap of its plan. `outcome` is that of the given order.
    fn end(
        self,
        mut outcome: Outcome,
        given_cost: Option<u64>,
        without_cost: Option<u64>,
    ) -> CopiesReordered {
        let order = self.best_order();
        let mut choice = OrderChoice {
            instance: self.given.clone(),
            order: order.nodes,
            any_order_bound: self.base,
            given_cost,
            orders: (self.costs.len() as u64).max(1),
            is_early: false,
            is_forced: self.rules.is_total(),
        };
        if self.rules.is_total() {
            choice.any_order_bound = outcome.bound;
        } else if !choice.is_given()
            && let Ok(instance) = self.given.reordered(&choice.order)
        {
            choice.instance = Arc::new(instance);
        }
        let cost = self.cost();
        // The bound of the given order does not cover a plan in another one.
        let covers = choice.is_given() && cost.is_none_or(|cost| outcome.bound <= cost);
        if cost.is_none() && outcome.status == Status::Infeasible && !self.rules.is_total() {
            // Other orders were not ruled out.
            outcome.infeasible_because = None;
            outcome.cover_all_plans(self.base);
        } else if !covers || cost == Some(self.base) {
            outcome.cover_all_plans(self.base);
        }
        let plan = self.best.map(|(plan, replay)| {
            let budget = Some(self.asked.budget_bytes);
            let document = PlanDocument::of(self.given, plan, &replay, budget);
            outcome.gap = Some(relative_gap(replay.makespan, outcome.bound));
            outcome.replay = Some(replay);
            document
        });
        let interrupted = self.watch.listener().is_interrupted();
        outcome.settle(self.settings.gap, interrupted);
        outcome.seconds = self.watch.elapsed().as_secs_f64();
        CopiesReordered {
            outcome,
            plan,
            choice,
            without_cost,
        }
    }
}
