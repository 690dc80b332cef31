//! Formulations with and without a link to the host, as one type.

use crate::any::AnyFormulation;
use crate::bound::any_plan_bound;
use crate::in_flight::InFlight;
use crate::offload::CopyPhase;
use crate::offload::nodes::Linked;
use crate::reorder::{OrderChoice, Reorder, ReorderCopies};
use crate::written::{Planned, Written, planned};
use remat_instances::Semantics;
use remat_instances::instance::{HostLink, Instance};
use remat_instances::plan::Plan;
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_search::{ALL_PLANS, Listener, Outcome, Settings, Solvable, SolveError, relative_gap};
use std::sync::Arc;

/// A formulation whose schedules compute alone, or one whose plans may copy to the host.
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::AnyFormulation;
/// use remat_formulations::solve::{AnySolvable, Frontier};
/// use remat_formulations::{Budget, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let instance = instance.with_host_link(Some("gh200".parse()?))?;
/// let formulation = AnyFormulation::suiting(&instance);
/// let budgets = [60.0, 100.0].map(Budget::Percent);
/// let cost = |copies| -> Result<_, Box<dyn std::error::Error>> {
///     let solvable = AnySolvable::of(formulation.clone(), copies);
///     let points = Frontier::of(solvable, &budgets)?.run()?;
///     Ok(points[0].cost().unwrap_or(u64::MAX))
/// };
/// assert!(cost(Some(CopyPhase::Any))? <= cost(None)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnySolvable {
    /// Computations alone.
    Formulation(AnyFormulation),
    /// Computations and copies.
    Linked(Linked),
    /// One of these in any order of first computations.
    Reordered(Box<AnySolvable>),
}

impl AnySolvable {
    /// The formulation with copies over its instance's link in a phase, or without copies. A sharded
    /// step always uses its link.
    pub fn of(formulation: AnyFormulation, copies: Option<CopyPhase>) -> Self {
        let is_sharded = formulation.instance().is_sharded();
        match copies.or(is_sharded.then_some(CopyPhase::Any)) {
            None => AnySolvable::Formulation(formulation),
            Some(phase) => AnySolvable::Linked(Linked::new(formulation, phase)),
        }
    }

    /// The same, and the order of first computations is chosen.
    #[must_use]
    pub fn reordered(self) -> Self {
        match self {
            AnySolvable::Reordered(_) => self,
            given => AnySolvable::Reordered(Box::new(given)),
        }
    }

    /// The formulation of the computations.
    pub fn formulation(&self) -> &AnyFormulation {
        match self {
            AnySolvable::Reordered(given) => given.formulation(),
            AnySolvable::Formulation(formulation) => formulation,
            AnySolvable::Linked(linked) => linked.formulation(),
        }
    }

    /// The instance as the program sees it.
    pub fn instance(&self) -> &Arc<Instance> {
        self.formulation().instance()
    }

    /// The link that plans may copy over.
    pub fn link(&self) -> Option<&HostLink> {
        let link = self.instance().host_link();
        link.filter(|_| self.is_linked())
    }

    /// Returns whether plans may copy to the host.
    pub fn is_linked(&self) -> bool {
        match self {
            AnySolvable::Formulation(_) => false,
            AnySolvable::Linked(_) => true,
            AnySolvable::Reordered(given) => given.is_linked(),
        }
    }

    /// Reason why no plan fits a budget in bytes, if it is known without a search.
    pub fn too_small(&self, budget_bytes: u64) -> Option<String> {
        match self {
            AnySolvable::Formulation(formulation) => formulation.too_small(budget_bytes),
            AnySolvable::Linked(linked) => linked.too_small(budget_bytes),
            AnySolvable::Reordered(given) => match &**given {
                AnySolvable::Formulation(formulation) => {
                    let (instance, semantics) = (formulation.instance(), formulation.semantics());
                    let any = any_plan_bound(instance, semantics, budget_bytes);
                    any.err().map(|small| small.to_string())
                }
                // One computation alone is too large in any order.
                linked => linked.too_small(budget_bytes),
            },
        }
    }
}

impl From<AnyFormulation> for AnySolvable {
    fn from(formulation: AnyFormulation) -> Self {
        AnySolvable::Formulation(formulation)
    }
}

impl From<Linked> for AnySolvable {
    fn from(linked: Linked) -> Self {
        AnySolvable::Linked(linked)
    }
}

impl Solvable for AnySolvable {
    type Schedule = AnyPlan;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.formulation().plain()
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[AnyPlan],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome<AnyPlan>, SolveError> {
        match self {
            AnySolvable::Formulation(formulation) if self.instance().in_flight() > 1 => {
                let own = starts.iter().filter_map(AnyPlan::schedule).cloned();
                let own: Vec<Schedule> = own.collect();
                let several = InFlight::new(formulation.clone(), budget_bytes)
                    .starts(&own)
                    .settings(settings.clone());
                let (outcome, written) = several.listener(listener).run()?;
                let plan = written.map(|written| written.document.plan);
                Ok(of_statements(outcome, plan))
            }
            AnySolvable::Formulation(formulation) => {
                let own: Vec<Schedule> = starts
                    .iter()
                    .filter_map(AnyPlan::schedule)
                    .cloned()
                    .collect();
                let outcome = formulation.solve(budget_bytes, &own, settings, listener)?;
                Ok(outcome.map(AnyPlan::Schedule))
            }
            AnySolvable::Reordered(given) => {
                let (formulation, own_settings) = (self.formulation().clone(), settings);
                let settings = settings.clone();
                match &**given {
                    AnySolvable::Linked(linked) => {
                        let own = starts.iter().map(|start| start.statements(self.instance()));
                        let own: Vec<Plan> = own.collect::<Result<_, _>>()?;
                        let both = ReorderCopies::new(formulation, budget_bytes, linked.phase())
                            .starts(&own)
                            .settings(settings);
                        let answer = both.listener(listener).run()?;
                        let plan = answer.plan.map(|document| document.plan);
                        let mut outcome = of_statements(answer.outcome, plan);
                        widen(&mut outcome, &answer.choice, (own_settings, listener));
                        Ok(outcome)
                    }
                    _ => {
                        let own = starts.iter().filter_map(AnyPlan::schedule).cloned();
                        let own: Vec<Schedule> = own.collect();
                        let alone = Reorder::new(formulation, budget_bytes)
                            .starts(&own)
                            .settings(settings);
                        let answer = alone.listener(listener).run()?;
                        let mut outcome = answer.outcome;
                        outcome.replay = answer.plan.as_ref().map(|plan| plan.replay.clone());
                        let plan = answer.plan.map(|written| written.document.plan);
                        let mut outcome = of_statements(outcome, plan);
                        widen(&mut outcome, &answer.choice, (own_settings, listener));
                        Ok(outcome)
                    }
                }
            }
            AnySolvable::Linked(linked) => {
                let instance = self.instance();
                let own = starts.iter().map(|start| start.statements(instance));
                let own: Vec<Plan> = own.collect::<Result<_, _>>()?;
                let outcome = linked.solve(budget_bytes, &own, settings, listener)?;
                Ok(outcome.map(AnyPlan::Statements))
            }
        }
    }
}

/// Replaces a bound for one order by the bound over all orders, unless no other order is allowed:
/// bounds of different budgets are compared.
fn widen(
    outcome: &mut Outcome<AnyPlan>,
    choice: &OrderChoice,
    (settings, listener): (&Settings, &dyn Listener),
) {
    if outcome.bound_scope == ALL_PLANS || choice.is_forced {
        return;
    }
    outcome.cover_all_plans(choice.any_order_bound);
    outcome.gap = outcome.cost().map(|cost| relative_gap(cost, outcome.bound));
    outcome.settle(settings.gap, listener.is_interrupted());
}

/// The outcome of a solve whose plan is statements.
fn of_statements(outcome: Outcome, plan: Option<Plan>) -> Outcome<AnyPlan> {
    let mut outcome = outcome.map(AnyPlan::Schedule);
    outcome.schedule = plan.map(AnyPlan::Statements);
    outcome
}

/// The schedule of a formulation, or the statements of a plan, which may copy to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyPlan {
    /// A schedule.
    Schedule(Schedule),
    /// Statements.
    Statements(Plan),
}

impl AnyPlan {
    /// The schedule, if the plan is one.
    pub fn schedule(&self) -> Option<&Schedule> {
        match self {
            AnyPlan::Schedule(schedule) => Some(schedule),
            AnyPlan::Statements(_) => None,
        }
    }

    /// The program whose memory and cost semantics hold.
    pub fn semantics(&self) -> Semantics {
        match self {
            AnyPlan::Schedule(schedule) => schedule.semantics(),
            AnyPlan::Statements(plan) => plan.semantics,
        }
    }

    /// The replay of the plan on its instance.
    ///
    /// # Errors
    /// [`ReplayError`] for a plan that cannot be executed.
    pub fn replay(&self, instance: &Instance) -> Result<Replay, ReplayError> {
        match self {
            AnyPlan::Schedule(schedule) => schedule.replay(instance),
            AnyPlan::Statements(plan) => simulate::plan(instance, plan),
        }
    }

    /// The statements of a plan of the instance.
    ///
    /// # Errors
    /// [`ReplayError`] of a schedule that cannot be executed.
    pub fn statements(&self, instance: &Instance) -> Result<Plan, ReplayError> {
        match self {
            AnyPlan::Schedule(schedule) => schedule.plan(instance)?.optimised(instance),
            AnyPlan::Statements(plan) => Ok(plan.clone()),
        }
    }

    /// The plan of the instance as a document, replayed, with a budget in bytes.
    ///
    /// # Errors
    /// [`ReplayError`] for a plan that cannot be executed.
    pub fn planned<'a>(
        &self,
        instance: &'a Instance,
        budget_bytes: u64,
    ) -> Result<Planned<'a>, ReplayError> {
        match self {
            AnyPlan::Schedule(schedule) => planned(instance, schedule, budget_bytes),
            AnyPlan::Statements(plan) => {
                let document = Written::of(instance, plan.clone(), budget_bytes)?.document;
                Ok(Planned::of(instance, document))
            }
        }
    }
}

impl From<Schedule> for AnyPlan {
    fn from(schedule: Schedule) -> Self {
        AnyPlan::Schedule(schedule)
    }
}

impl From<Plan> for AnyPlan {
    fn from(plan: Plan) -> Self {
        AnyPlan::Statements(plan)
    }
}
