//! Front door: from an instance and a budget to an order, a plan and a bound.

use super::judge::{Judge, Judged};
use super::moves::NodeOrder;
use super::outcome::Reordered;
use super::peak::orders_of_least_peak;
use super::settings::ReorderTuning;
use super::stages::OrderListener;
use super::walk::OrderWalk;
use crate::any::AnyFormulation;
use crate::bound::any_plan_bound;
use crate::improve::Improve;
use crate::reorder::OrderChoice;
use crate::written::Written;
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId, Precedence};
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::schedule::Schedule;
use remat_search::{Listener, Outcome, Settings, Solvable, SolveError, Watch};
use remat_solver::threads;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of orders in which the instance is solved, beside the given one. They are the
/// order that the search found, and orders of plans whose steps were improved.
const SOLVES_LIMIT: usize = 3;

/// A solve that also chooses the order of first computations.
///
/// The given order is solved first, and its plan stays a candidate. The search then evaluates
/// orders for the budget by annealed schedules: orders with the least peak without recomputation,
/// and their neighbours. The best order is solved like any instance, in the time left, or with the
/// work of a solve without a limit. Last, the plan's steps are put in a better order if that saves
/// a recomputation.
///
/// Without a time limit the answer depends on instance, budget, settings and seed alone.
///
/// ```
/// use remat_formulations::reorder::Reorder;
/// use remat_formulations::AnyFormulation;
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
///
/// // Two large tensors that are made one after the other, and read one after the other.
/// let need = |k: u32| vec![NodeId(k)];
/// let nodes = vec![
///     Node::forward("a", vec![], 5, 8),
///     Node::forward("b", vec![], 5, 8),
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
/// let answer = Reorder::new(AnyFormulation::suiting(&instance), 12).run()?;
/// assert_eq!(answer.objective()?, instance.base_cost());
/// assert!(answer.choice.given_cost > Some(instance.base_cost()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reorder<'a> {
    formulation: AnyFormulation,
    budget_bytes: u64,
    settings: Settings,
    starts: &'a [Schedule],
    tuning: ReorderTuning,
    listener: &'a dyn Listener,
}

impl<'a> Reorder<'a> {
    /// A solve by a formulation, with a budget in bytes.
    pub fn new(formulation: AnyFormulation, budget_bytes: u64) -> Self {
        Reorder {
            formulation,
            budget_bytes,
            settings: Settings::default(),
            starts: &[],
            tuning: ReorderTuning::default(),
            listener: &(),
        }
    }

    /// The same with settings; the time limit covers the whole solve.
    pub fn settings(self, settings: Settings) -> Self {
        Reorder { settings, ..self }
    }

    /// The same with schedules to start from, in the given order; schedules that do not fit are
    /// ignored.
    pub fn starts(self, starts: &'a [Schedule]) -> Self {
        Reorder { starts, ..self }
    }

    /// The same with other tuning.
    pub fn tuning(self, tuning: ReorderTuning) -> Self {
        Reorder { tuning, ..self }
    }

    /// The same with a listener that follows the solve and may end it.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        Reorder { listener, ..self }
    }

    /// Solves.
    ///
    /// # Errors
    /// [`SolveError`]. A budget that no plan fits is an outcome without a plan, not an error.
    pub fn run(&self) -> Result<Reordered, SolveError> {
        let settings = Settings {
            begun: Some(self.settings.begun.unwrap_or_else(Instant::now)),
            ..self.settings.clone()
        };
        let watch = Watch::new(&settings, self.listener);
        let given = self.formulation.instance().clone();
        let semantics = self.formulation.semantics();
        let rules = Precedence::of(&given, semantics);
        let any = any_plan_bound(&given, semantics, self.budget_bytes);
        let forced = !semantics.chooses_implementations() && given.has_forced_order();
        let is_forced = rules.is_total() || forced;
        let is_open = any.is_ok() && !is_forced;
        let any_order_bound = any.map_or(0, |any| any.cost);
        let mut solve = Solving {
            asked: self,
            settings: &settings,
            watch: &watch,
            stages: OrderListener::new(self.listener, any_order_bound),
            semantics,
            rules: &rules,
            answer: Reordered {
                choice: OrderChoice {
                    instance: given.clone(),
                    order: given.ids().collect(),
                    any_order_bound,
                    given_cost: None,
                    orders: 1,
                    is_early: false,
                    is_forced,
                },
                given,
                outcome: Outcome::new(0),
                plan: None,
            },
            spare: None,
            totals: Totals::default(),
        };
        let share = match is_open {
            true => self.tuning.given_share,
            false => 1.0,
        };
        solve.given_order(self.starts, share)?;
        solve.answer.choice.given_cost = solve.answer.outcome.cost();
        if is_open && !solve.is_best() && !watch.is_over() {
            solve.search()?;
        }
        Ok(solve.end())
    }
}

/// Work of all solves.
#[derive(Default)]
struct Totals {
    nodes: u64,
    lp_iterations: u64,
    moves: u64,
}

/// State of a running solve.
struct Solving<'a> {
    asked: &'a Reorder<'a>,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    stages: OrderListener<'a>,
    semantics: Semantics,
    rules: &'a Precedence,
    answer: Reordered,
    /// A plan that is cheaper than the answer's, in an order of steps that no solve has confirmed.
    spare: Option<Written>,
    totals: Totals,
}

impl Solving<'_> {
    /// Cost of the best plan.
    fn cost(&self) -> Option<u64> {
        let plans = self.spare.iter().chain(&self.answer.plan);
        plans.map(|plan| plan.document.objective).min()
    }

    /// Returns whether no plan can be better.
    fn is_best(&self) -> bool {
        let bound = self.answer.choice.any_order_bound;
        self.cost().is_some_and(|cost| cost <= bound)
    }

    /// Solves in one order, with a share of the time left.
    fn solve(
        &mut self,
        formulation: &AnyFormulation,
        starts: &[Schedule],
        share: f64,
    ) -> Result<Outcome, SolveError> {
        let left = self.watch.left();
        let settings = Settings {
            time_limit: left.map(|left| self.watch.elapsed() + left.mul_f64(share)),
            ..self.settings.clone()
        };
        let settings = match share < 1.0 {
            true => settings.without_overtime(),
            false => settings,
        };
        let budget = self.asked.budget_bytes;
        let outcome = formulation.solve(budget, starts, &settings, &self.stages)?;
        self.totals.nodes += outcome.nodes;
        self.totals.lp_iterations += outcome.lp_iterations;
        self.totals.moves += outcome.moves;
        self.stages.keep(outcome.cost());
        Ok(outcome)
    }

    /// Solves in the given order; its result is the answer until a better one is found.
    fn given_order(&mut self, starts: &[Schedule], share: f64) -> Result<(), SolveError> {
        let formulation = self.asked.formulation.clone();
        let outcome = self.solve(&formulation, starts, share)?;
        let given = self.answer.given.clone();
        let order: Vec<NodeId> = given.ids().collect();
        self.answer.plan = self.plan(&given, &order, &outcome)?;
        self.answer.outcome = outcome;
        Ok(())
    }

    /// The plan of a schedule in some order, for the instance in the given order.
    fn plan(
        &self,
        instance: &Instance,
        order: &[NodeId],
        outcome: &Outcome,
    ) -> Result<Option<Written>, SolveError> {
        let Some(schedule) = &outcome.schedule else {
            return Ok(None);
        };
        let plan = schedule.plan(instance)?.optimised(instance)?;
        self.written(plan.renumbered(&inverse(order))).map(Some)
    }

    /// A plan as it is written, replayed on the given instance.
    fn written(&self, plan: Plan) -> Result<Written, SolveError> {
        Written::of(&self.answer.given, plan, self.asked.budget_bytes)?.within_budget()
    }

    /// Searches orders, and solves in the best one.
    fn search(&mut self) -> Result<(), SolveError> {
        let (asked, given) = (self.asked, self.answer.given.clone());
        let threads = self.settings.threads;
        let pool = threads::pool(threads);
        let pool = pool.map_err(|source| SolveError::Threads { threads, source })?;
        let judge = Judge {
            given: &given,
            semantics: self.semantics,
            budget_bytes: asked.budget_bytes,
            tuning: &asked.tuning,
            seed: self.settings.seed,
            watch: self.watch,
        };
        let start = self.start()?;
        let is_timed = self.watch.left().is_some();
        let share = |left: Duration| left.mul_f64(asked.tuning.search_share);
        let end = self
            .watch
            .left()
            .map(|left| self.watch.elapsed() + share(left));
        let is_late = || end.is_some_and(|end| self.watch.elapsed() >= end);
        let is_over = || self.watch.is_over() || is_late();
        let mut walk = OrderWalk::new(
            &judge,
            self.rules,
            start.clone(),
            self.answer.choice.any_order_bound,
        );
        // A search of orders without a fitting schedule takes long, so the time goes to the given
        // order, unless that is proven infeasible.
        let mut is_blind = is_timed && self.answer.outcome.infeasible_because.is_none();
        pool.install(|| {
            walk.judge_all(orders_of_least_peak(&judge, self.rules, threads), &is_over);
            is_blind &= walk.best.cost.is_none();
            if given.len() <= asked.tuning.node_limit && !is_blind {
                walk.run(is_timed, &is_over);
            }
        });
        self.answer.choice.orders = walk.judged;
        if let Some((cost, plan)) = walk.plan
            && self.cost().is_none_or(|best| cost < best)
        {
            self.spare = Some(self.written(plan)?);
        }
        // An order that does not lower the cost is not worth a solve.
        let mut best = match walk.best.cost < start.cost || start.cost.is_none() && !is_blind {
            true => walk.best,
            false => start,
        };
        for again in 0..SOLVES_LIMIT {
            match best.order.is_given() {
                true => self.once_more(is_timed)?,
                false => self.solve_in(&judge, &best)?,
            }
            let Some(plan) = self.with_steps_in_order()? else {
                return Ok(());
            };
            let order = NodeOrder::new(plan.document.plan.first_computations(&given));
            let plan = self.spare.insert(plan).document.plan.clone();
            let may_go_on = again + 1 < SOLVES_LIMIT && !self.watch.is_over() && !self.is_best();
            if !may_go_on || !self.rules.allows(&order.nodes) {
                return Ok(());
            }
            let stream = self.answer.choice.orders;
            let judged = pool.install(|| judge.judge_plan(&plan, &best, stream));
            self.answer.choice.orders += 1;
            match judged {
                Some(judged) => best = judged,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The given order, with the best schedule in it.
    fn start(&self) -> Result<Judged, SolveError> {
        let given = &self.answer.given;
        let plain = given.plain_replay(self.semantics)?;
        let outcome = &self.answer.outcome;
        let retained = outcome.schedule.as_ref().map(Schedule::retained);
        Ok(Judged {
            order: NodeOrder::given(given.len()),
            plain_bytes: plain.peak_bytes,
            cost: outcome.cost(),
            excess: match outcome.cost() {
                Some(_) => 0,
                None => u64::MAX,
            },
            retained,
        })
    }

    /// Solves in the given order once more, if a time limit cut the first solve short.
    fn once_more(&mut self, is_timed: bool) -> Result<(), SolveError> {
        let is_proven = self.answer.outcome.gap == Some(0.0);
        if !is_timed || is_proven || self.watch.is_over() {
            return Ok(());
        }
        let starts: Vec<Schedule> = self.answer.outcome.schedule.iter().cloned().collect();
        let before = (self.answer.outcome.clone(), self.answer.plan.clone());
        self.given_order(&starts, 1.0)?;
        let answer = &mut self.answer;
        if answer.plan.is_none() && before.1.is_some() {
            (answer.outcome, answer.plan) = before;
        } else {
            answer.outcome.bound = answer.outcome.bound.max(before.0.bound);
        }
        Ok(())
    }

    /// Solves in a new order; its result becomes the answer if it is cheaper.
    fn solve_in(&mut self, judge: &Judge<'_>, best: &Judged) -> Result<(), SolveError> {
        let order = best.order.nodes.clone();
        let Ok(instance) = self.answer.given.reordered(&order) else {
            return Ok(());
        };
        let formulation = AnyFormulation::of(&instance, self.semantics)?;
        let start = judge.schedule(best).map(|(_, schedule)| schedule);
        let starts: Vec<Schedule> = start.into_iter().collect();
        let outcome = self.solve(&formulation, &starts, 1.0)?;
        let plan = self.plan(&instance, &order, &outcome)?;
        let cost = plan.as_ref().map(|plan| plan.document.objective);
        // Another order at the same cost is no gain.
        let is_cheaper = |own: &Written| cost.is_some_and(|cost| cost < own.document.objective);
        if plan.is_some() && self.answer.plan.as_ref().is_none_or(is_cheaper) {
            self.answer.choice.instance = Arc::new(instance);
            self.answer.choice.order = order;
            self.answer.outcome = outcome;
            self.answer.plan = plan;
        }
        if self
            .spare
            .as_ref()
            .is_some_and(|spare| cost.is_some_and(|cost| cost <= spare.document.objective))
        {
            self.spare = None;
        }
        Ok(())
    }

    /// The best plan with its steps in an order that saves recomputations, if one is found.
    fn with_steps_in_order(&self) -> Result<Option<Written>, SolveError> {
        let best = self.spare.as_ref().or(self.answer.plan.as_ref());
        let Some(PlanDocument {
            plan, objective, ..
        }) = best.map(|plan| &plan.document)
        else {
            return Ok(None);
        };
        let mut improve = Improve::new(&self.answer.given, plan)
            .budget(self.asked.budget_bytes)
            .threads(self.settings.threads)
            .seed(self.settings.seed)
            .listener(self.watch.listener());
        if let Some(left) = self.watch.left() {
            improve = improve.time_limit(left);
        }
        let better = improve.run();
        let Ok(better) = better else { return Ok(None) };
        match better.replay.cost < *objective {
            true => self.written(better.plan).map(Some),
            false => Ok(None),
        }
    }

    /// The answer, with status, bound and gap of its plan.
    fn end(self) -> Reordered {
        let mut answer = self.answer;
        let cost = |plan: &Written| plan.document.objective;
        let own = answer.plan.as_ref().map(cost);
        let spare = self
            .spare
            .filter(|spare| own.is_none_or(|own| cost(spare) < own));
        let in_order = spare.is_none();
        if spare.is_some() {
            answer.plan = spare;
        }
        let interrupted = self.watch.listener().is_interrupted();
        answer.settle(in_order, self.settings.gap, interrupted);
        let outcome = &mut answer.outcome;
        outcome.nodes = self.totals.nodes;
        outcome.lp_iterations = self.totals.lp_iterations;
        outcome.moves = self.totals.moves;
        outcome.seconds = self.watch.elapsed().as_secs_f64();
        answer
    }
}

/// The inverse of a permutation of nodes.
pub(crate) fn inverse(order: &[NodeId]) -> Vec<NodeId> {
    let mut inverse = vec![NodeId(0); order.len()];
    for (k, id) in order.iter().enumerate() {
        inverse[id.index()] = NodeId::from(k);
    }
    inverse
}
