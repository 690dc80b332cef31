//! Plans as they are written, and their replay.

use remat_instances::instance::Instance;
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_search::SolveError;
use std::path::Path;

/// A plan as it is written, and its replay: every number of the document is the replay's.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The plan with its budget, cost and peak.
    pub document: PlanDocument,
    /// The replay of its statements.
    pub replay: Replay,
}

impl Written {
    /// Replays the statements of a plan.
    pub(crate) fn of(
        instance: &Instance,
        plan: Plan,
        budget_bytes: u64,
    ) -> Result<Self, ReplayError> {
        let replay = simulate::plan(instance, &plan)?;
        let document = PlanDocument::of(instance, plan, &replay, Some(budget_bytes));
        Ok(Written { document, replay })
    }

    /// Optimises the plan of a schedule and replays its statements.
    pub(crate) fn of_schedule(
        instance: &Instance,
        schedule: &Schedule,
        budget_bytes: u64,
    ) -> Result<Self, ReplayError> {
        let plan = schedule.plan(instance)?.optimised(instance)?;
        Written::of(instance, plan, budget_bytes)
    }

    /// Returns the plan if its peak is within its budget.
    ///
    /// # Errors
    /// [`SolveError::OverBudget`] otherwise: a defect of the search, never shown as an answer.
    pub(crate) fn within_budget(self) -> Result<Self, SolveError> {
        let peak_bytes = self.replay.peak_bytes;
        match self.document.budget_bytes {
            Some(budget_bytes) if peak_bytes > budget_bytes => Err(SolveError::OverBudget {
                peak_bytes,
                budget_bytes,
            }),
            _ => Ok(self),
        }
    }
}

/// A solve without a plan: no plan exists, or the search found no plan within its limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no plan: {}", because.as_deref().unwrap_or("none was found within the limits"))]
pub struct NoPlan {
    /// Reason why no plan exists, if that was proven.
    pub because: Option<String>,
}

/// The plan of a schedule: optimised and replayed.
///
/// # Errors
/// [`ReplayError`] for a schedule that cannot be executed.
pub fn planned<'a>(
    instance: &'a Instance,
    schedule: &Schedule,
    budget_bytes: u64,
) -> Result<Planned<'a>, ReplayError> {
    let document = Written::of_schedule(instance, schedule, budget_bytes)?.document;
    Ok(Planned { instance, document })
}

/// A plan, with its instance.
#[derive(Clone, Debug)]
pub struct Planned<'a> {
    instance: &'a Instance,
    /// The plan with its budget, cost and peak.
    pub document: PlanDocument,
}

impl<'a> Planned<'a> {
    pub(crate) fn of(instance: &'a Instance, document: PlanDocument) -> Self {
        Planned { instance, document }
    }

    /// The plan as a `remat-plan/1` document.
    pub fn text(&self) -> String {
        self.document.write(self.instance)
    }

    /// Writes the plan as a `remat-plan/1` file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn write(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.text())
    }
}
