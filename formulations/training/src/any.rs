//! The formulation that suits an instance.

use crate::baselines::Baseline;
use crate::checkmate::{CheckmateFormulation, CheckmateGraph};
use crate::class::{ClassFormulation, class_scope};
use crate::life::layers::{Layered, Layout, Stack};
use crate::monet::interval::MonetGraph;
use crate::monet::{self, MonetFormulation};
use crate::written::Written;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule, Schedule};
use remat_instances::simulate::{Replay, ReplayError};
use remat_instances::{PlanClass, Semantics};
use remat_search::{
    Formulation, Listener, Outcome, Patience, Problem, Settings, Solvable, SolveError, Start,
};
use std::fmt::Debug;
use std::sync::Arc;

/// One of the formulations of this crate, with an instance: Checkmate's with one implementation of
/// each node, or MONeT's, which also chooses implementations, masks and in-place operators.
#[derive(Clone, Debug)]
pub struct AnyFormulation(Arc<dyn StageFormulation>);

impl AnyFormulation {
    /// The formulation that suits an instance: MONeT's if the instance has a loss and choices that
    /// only MONeT's program knows, else Checkmate's.
    pub fn suiting(instance: &Instance) -> Self {
        match instance.has_choices() && !instance.is_sharded() {
            true => Self::monet(instance).unwrap_or_else(|_| Self::checkmate(instance)),
            false => Self::checkmate(instance),
        }
    }

    /// The formulation of given semantics for an instance.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] if the formulation does not apply to the instance.
    pub fn of(instance: &Instance, semantics: Semantics) -> Result<Self, SolveError> {
        match semantics {
            Semantics::Checkmate => Ok(Self::checkmate(instance)),
            Semantics::Monet => Self::monet(instance),
        }
    }

    /// Checkmate's formulation, which applies to every instance. Only the first implementation of
    /// each node counts.
    pub fn checkmate(instance: &Instance) -> Self {
        let view = instance.single_implementation_view();
        AnyFormulation(Arc::new(CheckmateFormulation::new(view)))
    }

    /// The plans of a class, of which only the first implementation of each node counts.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] if the class has no meaning for the instance.
    pub fn of_class(instance: &Instance, class: PlanClass) -> Result<Self, SolveError> {
        let view = instance.single_implementation_view();
        match ClassFormulation::new(view, class) {
            Ok(formulation) => Ok(AnyFormulation(Arc::new(formulation))),
            Err(because) => Err(SolveError::Inapplicable {
                formulation: format!("checkmate with class {class}"),
                instance: instance.name().into(),
                because: because.to_string(),
            }),
        }
    }

    /// The class of the plans; `None` for all plans.
    pub fn class(&self) -> Option<PlanClass> {
        self.0.class()
    }

    fn monet(instance: &Instance) -> Result<Self, SolveError> {
        if instance.is_sharded() {
            return Err(SolveError::Inapplicable {
                formulation: "monet".into(),
                instance: instance.name().into(),
                because: "it has gathered weights or scattered gradients; take checkmate".into(),
            });
        }
        Ok(AnyFormulation(Arc::new(MonetAndView {
            formulation: MonetFormulation::new(instance.clone())?,
            view: instance.single_implementation(),
        })))
    }

    /// The instance as the program sees it.
    pub fn instance(&self) -> &Arc<Instance> {
        self.0.instance()
    }

    /// The semantics of memory and cost.
    pub fn semantics(&self) -> Semantics {
        self.0.semantics()
    }

    /// Stacks of equal layers that were found in the instance, in the order of the forward pass.
    pub fn layers(&self) -> &[Stack] {
        self.0.layout().map_or(&[], |layout| layout.stacks())
    }

    /// Reason why no schedule fits a budget in bytes, if that is seen without a search.
    pub fn too_small(&self, budget_bytes: u64) -> Option<String> {
        self.0.too_small(budget_bytes)
    }

    /// The view with the first implementation of each node and the ids of its nodes, if the program
    /// chooses among implementations.
    pub(crate) fn single_implementation(&self) -> Option<&(Instance, Vec<NodeId>)> {
        self.0.single_implementation()
    }

    /// Returns whether bounds for plans with copies to the host have proofs.
    pub(crate) fn proves_with_copies(&self) -> bool {
        !self.semantics().chooses_implementations()
    }

    /// The schedule of a baseline, and its replay. For MONeT's program the baseline sees the first
    /// implementation of each node. The best implementations that fit then complete the stored
    /// sets.
    ///
    /// # Errors
    /// Reason in words why the baseline has no schedule.
    pub fn baseline(
        &self,
        baseline: &Baseline,
        budget_bytes: u64,
        patience: Patience<'_>,
    ) -> Result<(Schedule, Replay), String> {
        let instance = self.instance();
        let view = self.single_implementation();
        let graph = view.map_or(&**instance, |(graph, _)| graph);
        let schedule = baseline.run_until(graph, budget_bytes, patience);
        let schedule = schedule.map_err(|e| e.to_string())?;
        let schedule = self.0.completed(schedule, budget_bytes);
        let schedule = schedule.ok_or("the instance has no loss")?;
        let replay = schedule.replay(instance).map_err(|e| e.to_string())?;
        Ok((schedule, replay))
    }

    /// Finds a schedule, and its plan as it is written: replayed and within the budget.
    ///
    /// # Errors
    /// As [`Solvable::solve`].
    pub(crate) fn solve_and_write(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<(Outcome, Option<Written>), SolveError> {
        let outcome = self.0.solve(budget_bytes, starts, settings, listener)?;
        let plan = outcome.schedule.as_ref().map(|schedule| {
            Written::of_schedule(self.instance(), schedule, budget_bytes)?.within_budget()
        });
        Ok((outcome, plan.transpose()?))
    }
}

impl Solvable for AnyFormulation {
    type Schedule = Schedule;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.instance().plain_replay(self.semantics())
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome<Schedule>, SolveError> {
        let (outcome, _) = self.solve_and_write(budget_bytes, starts, settings, listener)?;
        Ok(outcome)
    }
}

/// A formulation whose schedules are [`Schedule`]s.
trait StageFormulation: Debug + Send + Sync {
    fn semantics(&self) -> Semantics;
    fn class(&self) -> Option<PlanClass> {
        None
    }
    fn instance(&self) -> &Arc<Instance>;
    fn layout(&self) -> Option<&Arc<Layout>> {
        None
    }
    fn single_implementation(&self) -> Option<&(Instance, Vec<NodeId>)> {
        None
    }
    fn too_small(&self, budget_bytes: u64) -> Option<String>;
    /// The program's schedule with the stored sets of a schedule of first implementations.
    fn completed(&self, schedule: CheckmateSchedule, budget_bytes: u64) -> Option<Schedule>;
    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome, SolveError>;
}

impl StageFormulation for CheckmateFormulation {
    fn semantics(&self) -> Semantics {
        CheckmateGraph::SEMANTICS
    }

    fn instance(&self) -> &Arc<Instance> {
        self.instance()
    }

    fn layout(&self) -> Option<&Arc<Layout>> {
        self.layers()
    }

    fn too_small(&self, budget_bytes: u64) -> Option<String> {
        refuted(self, budget_bytes)
    }

    fn completed(&self, schedule: CheckmateSchedule, _: u64) -> Option<Schedule> {
        Some(schedule.into())
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome, SolveError> {
        let starts = starts.iter().filter_map(Schedule::as_checkmate);
        solved(self, budget_bytes, starts, (settings, listener))
    }
}

impl StageFormulation for ClassFormulation {
    fn semantics(&self) -> Semantics {
        CheckmateGraph::SEMANTICS
    }

    fn class(&self) -> Option<PlanClass> {
        Some(self.rules().class())
    }

    fn instance(&self) -> &Arc<Instance> {
        self.instance()
    }

    fn too_small(&self, budget_bytes: u64) -> Option<String> {
        refuted(self, budget_bytes)
    }

    /// The plan of the class with its decisions, which may need another budget.
    fn completed(&self, schedule: CheckmateSchedule, budget_bytes: u64) -> Option<Schedule> {
        Some(self.projected(&schedule, budget_bytes).into())
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome, SolveError> {
        let starts = starts.iter().filter_map(Schedule::as_checkmate);
        let mut outcome = solved(self, budget_bytes, starts, (settings, listener))?;
        outcome.bound_scope = class_scope(self.rules().class());
        Ok(outcome)
    }
}

/// Reason why no schedule fits a budget, where a formulation sees it without a search.
fn refuted<F: Formulation>(formulation: &F, budget_bytes: u64) -> Option<String> {
    match formulation.problem(budget_bytes, &[]).ok()? {
        Start::Infeasible { because, .. } => Some(because),
        Start::Open(problem, _) => problem.refuted(),
        Start::Optimal { .. } | Start::TooLarge(_) => None,
    }
}

/// Solves from schedules of a formulation's own.
fn solved<'s, F>(
    formulation: &F,
    budget_bytes: u64,
    starts: impl Iterator<Item = &'s F::Schedule>,
    (settings, listener): (&Settings, &dyn Listener),
) -> Result<Outcome, SolveError>
where
    F: Formulation<Schedule: Clone + Send + Sync + 's>,
    Schedule: From<F::Schedule>,
{
    let starts: Vec<F::Schedule> = starts.cloned().collect();
    let outcome = formulation.solve(budget_bytes, &starts, settings, listener)?;
    Ok(outcome.map(Schedule::from))
}

/// MONeT's program, and the view that baselines see.
#[derive(Debug)]
struct MonetAndView {
    formulation: MonetFormulation,
    /// The view with the first implementation of each node, and the ids of its nodes.
    view: (Instance, Vec<NodeId>),
}

impl StageFormulation for MonetAndView {
    fn semantics(&self) -> Semantics {
        MonetGraph::SEMANTICS
    }

    fn instance(&self) -> &Arc<Instance> {
        self.formulation.instance()
    }

    fn layout(&self) -> Option<&Arc<Layout>> {
        self.formulation.layers()
    }

    fn single_implementation(&self) -> Option<&(Instance, Vec<NodeId>)> {
        Some(&self.view)
    }

    fn too_small(&self, budget_bytes: u64) -> Option<String> {
        refuted(&self.formulation, budget_bytes)
    }

    fn completed(&self, schedule: CheckmateSchedule, budget_bytes: u64) -> Option<Schedule> {
        let instance = self.formulation.instance();
        let stored = MonetSchedule::stored_by_checkmate(instance, &self.view.1, &schedule)?;
        monet::complete(instance, budget_bytes, &stored).map(Schedule::from)
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome, SolveError> {
        let starts = starts.iter().filter_map(Schedule::as_monet);
        solved(
            &self.formulation,
            budget_bytes,
            starts,
            (settings, listener),
        )
    }
}
