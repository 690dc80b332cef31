//! The formulation that suits an instance.

use crate::baselines::Baseline;
use crate::bound::check_budget;
use crate::checkmate::CheckmateFormulation;
use crate::life::layers::Stack;
use crate::monet::{self, MonetFormulation};
use crate::written::Written;
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{MonetSchedule, Schedule};
use remat_instances::simulate::{Replay, ReplayError};
use remat_search::{
    Formulation, Listener, Outcome, Patience, Settings, Solvable, SolveError, Start,
};
use std::sync::Arc;

/// One of the formulations of this crate, with an instance.
#[derive(Clone, Debug)]
pub enum AnyFormulation {
    /// Checkmate's: one implementation of each node.
    Checkmate(CheckmateFormulation),
    /// MONeT's: implementations, masks and in-place operators are chosen too.
    Monet {
        /// The program.
        formulation: MonetFormulation,
        /// The view with the first implementation of each node, which baselines see, and its nodes'
        /// ids.
        view: Arc<(Instance, Vec<NodeId>)>,
    },
}

impl AnyFormulation {
    /// The formulation that suits an instance: MONeT's where there are choices that only it knows,
    /// and a loss; else Checkmate's.
    pub fn suiting(instance: &Instance) -> Self {
        match instance.has_choices() {
            true => {
                Self::of(instance, Semantics::Monet).unwrap_or_else(|_| Self::checkmate(instance))
            }
            false => Self::checkmate(instance),
        }
    }

    /// The formulation of given semantics for an instance.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] where it does not apply.
    pub fn of(instance: &Instance, semantics: Semantics) -> Result<Self, SolveError> {
        Ok(match semantics {
            Semantics::Checkmate => Self::checkmate(instance),
            Semantics::Monet => AnyFormulation::Monet {
                formulation: MonetFormulation::new(instance.clone())?,
                view: Arc::new(instance.single_implementation()),
            },
        })
    }

    fn checkmate(instance: &Instance) -> Self {
        let view = instance.single_implementation_view();
        AnyFormulation::Checkmate(CheckmateFormulation::new(view))
    }

    /// The instance as the program sees it.
    pub fn instance(&self) -> &Arc<Instance> {
        match self {
            AnyFormulation::Checkmate(formulation) => formulation.instance(),
            AnyFormulation::Monet { formulation, .. } => formulation.instance(),
        }
    }

    /// Whose memory and cost semantics hold.
    pub fn semantics(&self) -> Semantics {
        match self {
            AnyFormulation::Checkmate(_) => Semantics::Checkmate,
            AnyFormulation::Monet { .. } => Semantics::Monet,
        }
    }

    /// Stacks of equal layers that the instance was found to have, in the order of the forward
    /// pass.
    pub fn layers(&self) -> &[Stack] {
        let layout = match self {
            AnyFormulation::Checkmate(formulation) => formulation.layers(),
            AnyFormulation::Monet { formulation, .. } => formulation.layers(),
        };
        layout.map_or(&[], |layout| layout.stacks())
    }

    /// Reason why nothing fits a budget in bytes, where that is seen without a search.
    pub fn too_small(&self, budget_bytes: u64) -> Option<String> {
        match self {
            AnyFormulation::Checkmate(formulation) => {
                let checked = check_budget(formulation.instance(), budget_bytes);
                checked.err().map(|small| small.to_string())
            }
            AnyFormulation::Monet { formulation, .. } => {
                match formulation.problem(budget_bytes, &[]).ok()? {
                    Start::Infeasible { because, .. } => Some(because),
                    _ => None,
                }
            }
        }
    }

    /// The schedule of a baseline, and its replay. For MONeT's program the baseline sees the first
    /// implementation of each node; what it stores is completed with the best implementations that
    /// fit.
    ///
    /// # Errors
    /// Why it has none, in words.
    pub fn baseline(
        &self,
        baseline: &Baseline,
        budget_bytes: u64,
        patience: Patience<'_>,
    ) -> Result<(Schedule, Replay), String> {
        let run = |graph: &Instance| {
            let schedule = baseline.run_until(graph, budget_bytes, patience);
            schedule.map_err(|e| e.to_string())
        };
        let instance = self.instance();
        let schedule = match self {
            AnyFormulation::Checkmate(_) => Schedule::Checkmate(run(instance)?),
            AnyFormulation::Monet { view, .. } => {
                let schedule = run(&view.0)?;
                let stored = MonetSchedule::stored_by_checkmate(instance, &view.1, &schedule);
                let whole = stored.and_then(|s| monet::complete(instance, budget_bytes, &s));
                Schedule::Monet(whole.ok_or("the instance has no loss")?)
            }
        };
        let replay = schedule.replay(instance).map_err(|e| e.to_string())?;
        Ok((schedule, replay))
    }

    /// Finds a schedule, and its plan as it is written: replayed, and within the budget.
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
        let outcome = match self {
            AnyFormulation::Checkmate(formulation) => {
                let own = starts.iter().filter_map(|s| match s {
                    Schedule::Checkmate(s) => Some(s.clone()),
                    Schedule::Monet(_) => None,
                });
                let own: Vec<_> = own.collect();
                let outcome = formulation.solve(budget_bytes, &own, settings, listener)?;
                outcome.map(Schedule::Checkmate)
            }
            AnyFormulation::Monet { formulation, .. } => {
                let own = starts.iter().filter_map(|s| match s {
                    Schedule::Monet(s) => Some(s.clone()),
                    Schedule::Checkmate(_) => None,
                });
                let own: Vec<_> = own.collect();
                let outcome = formulation.solve(budget_bytes, &own, settings, listener)?;
                outcome.map(Schedule::Monet)
            }
        };
        let plan = outcome.schedule.as_ref().map(|schedule| {
            Written::of_schedule(self.instance(), schedule, budget_bytes)?.within_budget()
        });
        Ok((outcome, plan.transpose()?))
    }
}

impl Solvable for AnyFormulation {
    type Schedule = Schedule;

    fn plain(&self) -> Result<Replay, ReplayError> {
        match self {
            AnyFormulation::Checkmate(formulation) => Formulation::plain(formulation),
            AnyFormulation::Monet { formulation, .. } => Formulation::plain(formulation),
        }
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
