//! Copies, another order, addresses and starts of a solve: one place for all doors.

use super::near::NearBudgets;
use super::{AnyPlan, CopyChoice, FreePlans, Solution, Solve, idle};
use crate::any::AnyFormulation;
use crate::bound::any_plan_bound;
use crate::in_flight::InFlight;
use crate::offload::nodes::Offload;
use crate::offload::{CopyPhase, Release};
use crate::reorder::{
    OrderChoice, Reorder, ReorderCopies, STAGE_SCHEDULES_IN_THIS_ORDER, early_updates, inverse,
};
use crate::written::Written;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::Replay;
use remat_memory::place::{
    PlacePlanError, PlaceSettings, PlacedPlan, check_alignment, place_plan_within,
};
use remat_search::{
    Effort, Listener, Outcome, STAGE_SCHEDULES, Settings, Solvable, SolveError, Status, ticking,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Share of a time limit that is reserved for addresses, at its end.
const ADDRESS_SHARE: f64 = 0.1;

/// Time for which placing goes on past a time limit, at most as long as the limit, while the arena
/// is above the budget and the peak is not.
const ADDRESS_OVERTIME: Duration = Duration::from_secs(8);

/// Share of a time limit in which a class is searched; free plans get the rest.
const CLASS_SHARE: f64 = 0.7;

/// Requests beside the formulation, the budget and the settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    /// Time of copies over the instance's link, and the bound's assumption on their memory.
    pub copies: Option<(CopyPhase, Release)>,
    /// True if the order of first computations is chosen.
    pub reorder: bool,
    /// True if updates stay where they are in the given order.
    pub keeps_order: bool,
    /// Addresses, and the alignment in bytes unless the sizes suggest one.
    pub alignment: Option<Option<u64>>,
    /// Plans to start from, and whether each is of the graph that is solved.
    pub plans: Vec<(AnyPlan, bool)>,
    /// The replay without recomputation, if it is known.
    pub plain: Option<Replay>,
}

impl Extras {
    /// Checks that the requests go together.
    fn check(&self, formulation: &AnyFormulation, settings: &Settings) -> Result<(), SolveError> {
        check_alignment(self.alignment.flatten()).map_err(|e| SolveError::Addresses(e.into()))?;
        let together = |first, because| {
            Err(SolveError::Together {
                first,
                second: "offload",
                because,
            })
        };
        if self.copies.is_some() && settings.prove && !formulation.proves_with_copies() {
            let because = "bounds of MONeT's program with copies have no proofs";
            return together("certificate", because);
        }
        if formulation.instance().is_sharded() {
            self.check_sharded(formulation, settings.prove)?;
        }
        if formulation.instance().in_flight() > 1 {
            let others = [
                (self.copies.is_some(), "offload"),
                (self.reorder, "reorder"),
                (self.alignment.is_some(), "addresses"),
                (settings.prove, "certificate"),
                (formulation.class().is_some(), "plan_class"),
            ];
            if let Some((_, second)) = others.into_iter().find(|other| other.0) {
                return Err(SolveError::Together {
                    first: "in_flight",
                    second,
                    because: "several micro-batches in flight go with plain plans only",
                });
            }
        }
        let changes_plans = [
            (self.copies.is_some(), "offload"),
            (self.reorder, "reorder"),
        ];
        if let Some((_, second)) = changes_plans
            .iter()
            .find(|c| c.0 && formulation.class().is_some())
        {
            return Err(SolveError::Together {
                first: "plan_class",
                second,
                because: "plans of a class keep the order and copy nothing to the host",
            });
        }
        let is_unfit = |(plan, is_same): &(AnyPlan, bool)| {
            !is_same || plan.semantics() != formulation.semantics()
        };
        match self.plans.iter().position(is_unfit) {
            None => Ok(()),
            Some(index) => Err(SolveError::Start {
                index,
                because: "a plan of another instance or formulation".into(),
            }),
        }
    }

    /// Checks the requests for a step with gathered weights or scattered gradients.
    fn check_sharded(&self, formulation: &AnyFormulation, prove: bool) -> Result<(), SolveError> {
        let others = [
            (self.reorder, "reorder"),
            (self.alignment.is_some(), "addresses"),
            (prove, "certificate"),
            (formulation.class().is_some(), "plan_class"),
            (formulation.instance().in_flight() > 1, "in_flight"),
        ];
        match others.into_iter().find(|other| other.0) {
            None => Ok(()),
            Some((_, second)) => Err(SolveError::Together {
                first: "gathered weights (gather_bytes, scatter_bytes)",
                second,
                because: "a sharded step keeps the order, and its bounds have no proofs",
            }),
        }
    }

    /// The schedules to start from.
    fn schedules(&self, instance: &Instance) -> Result<Vec<Schedule>, SolveError> {
        let schedule = |(index, (plan, _)): (usize, &(AnyPlan, bool))| match plan {
            AnyPlan::Schedule(schedule) => Ok(schedule.clone()),
            AnyPlan::Statements(plan) => plan.schedule(instance).map_err(|e| SolveError::Start {
                index,
                because: e.to_string(),
            }),
        };
        self.plans.iter().enumerate().map(schedule).collect()
    }

    /// The statements to start from.
    fn statements(&self, instance: &Instance) -> Result<Vec<Plan>, SolveError> {
        let plans = self.plans.iter();
        Ok(plans
            .map(|(plan, _)| plan.statements(instance))
            .collect::<Result<_, _>>()?)
    }
}

/// Returns whether two instances are the same graph, regardless of their links.
pub(super) fn is_same_graph(one: &Instance, other: &Instance) -> bool {
    let (one, other) = (one.data(), other.data());
    one.name == other.name && one.cost_unit == other.cost_unit && one.nodes == other.nodes
}

/// Solves, and gives the plan addresses if requested.
pub(super) fn run(
    asked: Solve<'_>,
    plain: Replay,
    budget_bytes: u64,
) -> Result<Solution, SolveError> {
    asked.extras.check(&asked.formulation, &asked.settings)?;
    let settings = Settings {
        begun: Some(asked.settings.begun.unwrap_or_else(Instant::now)),
        ..asked.settings.clone()
    };
    let search_share = match asked.extras.alignment {
        Some(_) => 1.0 - ADDRESS_SHARE,
        None => 1.0,
    };
    let searched = Settings {
        time_limit: settings.time_limit.map(|limit| limit.mul_f64(search_share)),
        ..settings.clone()
    };
    let mut solution = search(&asked, searched, plain, budget_bytes)?;
    if let Some(alignment) = asked.extras.alignment {
        solution.place(alignment, &settings, asked.listener)?;
    }
    Ok(solution)
}

/// Solves by the program that the request needs.
fn search(
    asked: &Solve<'_>,
    settings: Settings,
    plain: Replay,
    budget_bytes: u64,
) -> Result<Solution, SolveError> {
    let formulation = asked.formulation.clone();
    let instance = formulation.instance().clone();
    let mut solution = Solution {
        formulation: formulation.clone(),
        budget_bytes,
        plain,
        outcome: remat_search::Outcome::new(0),
        plan: None,
        order: None,
        copies: None,
        free: None,
        addresses: None,
    };
    let sharded = (instance.is_sharded()).then_some((CopyPhase::Any, Release::AtOnce));
    if let Some((phase, release)) = asked.extras.copies.or(sharded) {
        let starts = asked.starts.iter().cloned().map(AnyPlan::Schedule);
        let starts = starts.map(|start| start.statements(&instance));
        let mut starts: Vec<Plan> = starts.collect::<Result<_, _>>()?;
        starts.extend(asked.extras.statements(&instance)?);
        if asked.extras.reorder {
            let both = ReorderCopies::new(formulation, budget_bytes, phase)
                .release(release)
                .starts(&starts)
                .settings(settings);
            let answer = both.listener(asked.listener).run()?;
            solution.take_copies(answer.plan, answer.outcome, answer.without_cost)?;
            solution.order = Some(answer.choice);
            return Ok(solution);
        }
        let offload = Offload::new(formulation, budget_bytes)
            .phase(phase)
            .release(release)
            .starts(&starts)
            .settings(settings);
        let answer = offload.listener(asked.listener).run()?;
        solution.take_copies(answer.plan, answer.outcome, answer.without_cost)?;
        return Ok(solution);
    }
    let mut starts = asked.starts.clone();
    starts.extend(asked.extras.schedules(&instance)?);
    if asked.extras.reorder {
        let reorder = Reorder::new(formulation, budget_bytes)
            .starts(&starts)
            .settings(settings);
        let answer = reorder.listener(asked.listener).run()?;
        solution.outcome = answer.outcome;
        solution.plan = answer.plan;
        solution.order = Some(answer.choice);
        return Ok(solution);
    }
    if instance.in_flight() > 1 {
        let several = InFlight::new(formulation, budget_bytes)
            .starts(&starts)
            .settings(settings);
        (solution.outcome, solution.plan) = several.listener(asked.listener).run()?;
        return Ok(solution);
    }
    let keeps = asked.extras.keeps_order || settings.prove || formulation.class().is_some();
    if starts.is_empty() && !keeps {
        let peak = solution.plain.peak_bytes;
        let early = early_updates(&instance, formulation.semantics(), peak);
        if let Some(order) = early
            && solution.solve_in(order, &settings, asked.listener)?
        {
            return Ok(solution);
        }
    }
    let may_idle = idle::may_pay(&formulation, &solution.plain, budget_bytes, &settings);
    let own_share = match formulation.class() {
        Some(_) => CLASS_SHARE,
        None if may_idle => idle::FIRST_SHARE,
        None => 1.0,
    };
    let own = Settings {
        time_limit: settings.time_limit.map(|limit| limit.mul_f64(own_share)),
        ..settings.clone()
    };
    let near = NearBudgets {
        formulation: &formulation,
        budget_bytes,
        settings: &own,
        listener: asked.listener,
    };
    let plain_bytes = solution.plain.peak_bytes;
    starts.extend(near.before(plain_bytes, &starts)?);
    (solution.outcome, solution.plan) =
        formulation.solve_and_write(budget_bytes, &starts, &own, asked.listener)?;
    near.after(plain_bytes, (&mut solution.outcome, &mut solution.plan))?;
    if may_idle {
        let found = (&mut solution.outcome, &mut solution.plan);
        idle::improve(&formulation, budget_bytes, found, &settings, asked.listener)?;
        let begun = settings.begun.unwrap_or_else(Instant::now);
        solution.outcome.seconds = begun.elapsed().as_secs_f64();
    }
    if formulation.class().is_some() {
        solution.free = solution.free_plans(&settings, asked.listener)?;
    }
    Ok(solution)
}

impl Solution {
    /// Solves in another order of first computations; the plan is of the given instance. The bound
    /// is over stage schedules in that order. Returns whether there is a plan; without one the
    /// solution is as before.
    fn solve_in(
        &mut self,
        order: Vec<NodeId>,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<bool, SolveError> {
        let (given, semantics) = (self.instance().clone(), self.formulation.semantics());
        let Ok(instance) = given.reordered(&order) else {
            return Ok(false);
        };
        let formulation = AnyFormulation::of(&instance, semantics)?;
        let budget = self.budget_bytes;
        let (outcome, plan) = formulation.solve_and_write(budget, &[], settings, listener)?;
        let Some(plan) = plan else {
            return Ok(false);
        };
        let plan = plan.document.plan.renumbered(&inverse(&order));
        self.plan = Some(Written::of(&given, plan, budget)?.within_budget()?);
        self.outcome = outcome;
        if self.outcome.bound_scope == STAGE_SCHEDULES {
            self.outcome.bound_scope = STAGE_SCHEDULES_IN_THIS_ORDER;
        }
        let any = any_plan_bound(&given, semantics, budget);
        self.order = Some(OrderChoice {
            instance: formulation.instance().clone(),
            order,
            any_order_bound: any.map_or(0, |any| any.cost),
            given_cost: None,
            orders: 1,
            is_early: true,
            is_forced: false,
        });
        Ok(true)
    }

    /// Takes the answer of a solve with copies.
    fn take_copies(
        &mut self,
        plan: Option<PlanDocument>,
        outcome: Outcome,
        without_cost: Option<u64>,
    ) -> Result<(), SolveError> {
        let written = plan.zip(outcome.replay.clone());
        let written = written.map(|(document, replay)| Written { document, replay });
        self.plan = written.map(Written::within_budget).transpose()?;
        self.outcome = outcome;
        self.copies = Some(CopyChoice { without_cost });
        Ok(())
    }

    /// The best free plan within the budget, searched from the plan of the class in the rest of the
    /// time; without a limit, with little work.
    fn free_plans(
        &self,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Option<FreePlans>, SolveError> {
        if listener.is_interrupted() {
            return Ok(None);
        }
        let settings = Settings {
            effort: match settings.time_limit {
                Some(_) => settings.effort,
                None => Effort::Quick,
            },
            prove: false,
            ..settings.clone()
        };
        let starts: Vec<Schedule> = self.outcome.schedule.iter().cloned().collect();
        let free = AnyFormulation::checkmate(self.instance());
        let outcome = free.solve(self.budget_bytes, &starts, &settings, listener)?;
        Ok(Some(FreePlans {
            cost: outcome.cost(),
            bound: outcome.bound,
        }))
    }

    /// Gives the plan addresses in the rest of the time. A plan whose addresses need more than the
    /// budget does not count as a success.
    fn place(
        &mut self,
        alignment: Option<u64>,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<(), SolveError> {
        let Some(plan) = &self.plan else {
            return Ok(());
        };
        let begun = settings.begun.unwrap_or_else(Instant::now);
        let left = |limit: Duration| {
            let left = limit.saturating_sub(begun.elapsed());
            left.max(limit.mul_f64(ADDRESS_SHARE / 2.0))
        };
        let interrupt = Arc::new(AtomicBool::new(listener.is_interrupted()));
        let how = PlaceSettings {
            time_limit: settings.time_limit.map(left),
            threads: settings.threads,
            seed: settings.seed,
            interrupt: Some(interrupt.clone()),
            ..PlaceSettings::default()
        };
        let listen = || {
            if listener.is_interrupted() {
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let instance = self.formulation.instance();
        let plan = &plan.document.plan;
        let place = || place_plan_within(instance, plan, alignment, self.budget_bytes, &how);
        let placed = ticking(listen, &interrupt, place).map_err(SolveError::Thread)?;
        let is_short = |placed: &PlacedPlan| {
            placed.arena_bytes() > self.budget_bytes && placed.bound_bytes <= self.budget_bytes
        };
        let further = match &placed {
            Ok(first) if is_short(first) && !listener.is_interrupted() => {
                settings.time_limit.map(|limit| limit.min(ADDRESS_OVERTIME))
            }
            _ => None,
        };
        let Some(further) = further else {
            self.take_addresses(placed);
            return Ok(());
        };
        let how = PlaceSettings {
            time_limit: Some(further),
            ..how
        };
        let place = || place_plan_within(instance, plan, alignment, self.budget_bytes, &how);
        let again = ticking(listen, &interrupt, place).map_err(SolveError::Thread)?;
        let arena = |placed: &Result<PlacedPlan, _>| {
            placed.as_ref().map_or(u64::MAX, PlacedPlan::arena_bytes)
        };
        let best = match arena(&again) < arena(&placed) {
            true => again,
            false => placed,
        };
        self.take_addresses(best);
        Ok(())
    }

    fn take_addresses(&mut self, placed: Result<PlacedPlan, PlacePlanError>) {
        if let (Some(plan), Ok(placed)) = (&mut self.plan, &placed) {
            plan.document.addresses = Some(placed.addresses.clone());
        }
        self.addresses = Some(placed);
        let is_success = matches!(self.outcome.status, Status::Optimal | Status::Feasible);
        if is_success && self.excess_bytes() > 0 {
            self.outcome.status = Status::Limit;
        }
    }
}
