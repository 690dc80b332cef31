//! The front door: an instance and a budget to a solution.

use super::{AnyFormulation, Listener, Outcome, Settings, Solvable, SolveError};
use remat_instances::Budget;
use remat_instances::instance::Instance;
use remat_instances::plan::PlanDocument;
use remat_instances::schedule::{Schedule, Semantics};
use remat_instances::simulate::{self, ReplayError};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A solve to be run: an instance or a [`Formulation`](super::Formulation) of somebody's own, a
/// budget, and settings.
///
/// ```
/// use remat_formulations::{Budget, Solve, zoo};
///
/// let instance = zoo::build(&"zoo:vgg16?batch=32".parse()?)?;
/// let solution = Solve::new(&instance, Budget::Percent(80.0)).run()?;
/// println!("{} >= {}", solution.objective()?, solution.bound);
/// assert!(solution.objective()? >= solution.bound);
/// # let folder = std::env::temp_dir().join(format!("remat-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("plan.json");
/// solution.plan()?.write(&path)?;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Solve<'a, F: Solvable = AnyFormulation> {
    formulation: F,
    budget: Budget,
    settings: Settings,
    starts: Vec<F::Schedule>,
    listener: &'a dyn Listener,
}

impl Solve<'_> {
    /// A solve of an instance, by the formulation that suits it.
    pub fn new(instance: &Instance, budget: Budget) -> Self {
        Solve::of(AnyFormulation::suiting(instance), budget)
    }

    /// A solve of an instance by the formulation of given semantics.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] where it does not apply to the instance.
    pub fn by(
        instance: &Instance,
        semantics: Semantics,
        budget: Budget,
    ) -> Result<Self, SolveError> {
        Ok(Solve::of(AnyFormulation::of(instance, semantics)?, budget))
    }

    /// Solves.
    ///
    /// # Errors
    /// [`SolveError`]; a budget that nothing fits is a [`Solution`] without a plan, not an error.
    pub fn run(self) -> Result<Solution, SolveError> {
        let instance = self.formulation.instance().clone();
        let (outcome, budget_bytes) = self.outcome()?;
        Ok(Solution {
            instance,
            budget_bytes,
            outcome,
        })
    }
}

impl<'a, F: Solvable> Solve<'a, F> {
    /// A solve of any formulation.
    pub fn of(formulation: F, budget: Budget) -> Self {
        Solve {
            formulation,
            budget,
            settings: Settings::default(),
            starts: Vec::new(),
            listener: &(),
        }
    }

    /// All settings at once.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Ends after this time with the best plan so far. Without a limit the work is fixed.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Ends at this relative gap, `(objective - bound) / objective`.
    #[must_use]
    pub fn gap(mut self, gap: f64) -> Self {
        self.settings = self.settings.with_gap(gap);
        self
    }

    /// Worker threads; 0 for one per core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads;
        self
    }

    /// Seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// A schedule to start from.
    #[must_use]
    pub fn start(mut self, schedule: F::Schedule) -> Self {
        self.starts.push(schedule);
        self
    }

    /// Sets the listener that follows the solve, and may end it.
    #[must_use]
    pub fn listener<'b>(self, listener: &'b dyn Listener) -> Solve<'b, F>
    where
        'a: 'b,
    {
        Solve { listener, ..self }
    }

    /// Solves, and gives the outcome with the budget in bytes: for formulations of somebody's own.
    ///
    /// # Errors
    /// [`SolveError`]; a budget that nothing fits is an outcome, not an error.
    pub fn outcome(&self) -> Result<(Outcome<F::Schedule>, u64), SolveError> {
        let budget_bytes = match self.budget {
            Budget::Bytes(bytes) => bytes,
            share => share.bytes(self.formulation.plain()?.peak_bytes),
        };
        let Solve {
            formulation,
            starts,
            settings,
            listener,
            ..
        } = self;
        let outcome = formulation.solve(budget_bytes, starts, settings, *listener)?;
        Ok((outcome, budget_bytes))
    }
}

/// No plan was found, or none exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no plan: {}", because.as_deref().unwrap_or("none was found within the limits"))]
pub struct NoPlan {
    /// Reason why none exists, where that was proven.
    pub because: Option<String>,
}

/// The outcome of a solve, with the instance that it is of.
#[derive(Clone, Debug)]
pub struct Solution {
    instance: Arc<Instance>,
    budget_bytes: u64,
    outcome: Outcome,
}

impl Deref for Solution {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

impl Solution {
    /// The instance as the program sees it.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The budget in bytes.
    pub fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// Cost of the best plan, as replayed.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn objective(&self) -> Result<u64, NoPlan> {
        self.cost().ok_or_else(|| self.no_plan())
    }

    /// The best plan: the schedule as statements, optimised and replayed.
    ///
    /// # Errors
    /// [`PlanError`] without a schedule.
    pub fn plan(&self) -> Result<Planned<'_>, PlanError> {
        let schedule = self.schedule.as_ref().ok_or_else(|| self.no_plan())?;
        planned(&self.instance, schedule, self.budget_bytes)
    }

    fn no_plan(&self) -> NoPlan {
        NoPlan {
            because: self.infeasible_because.clone(),
        }
    }
}

/// Reason why there is no plan to write.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// None was found, or none exists.
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
    /// The schedule cannot be executed: a defect of the search.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// The plan of a schedule: optimised and replayed.
///
/// # Errors
/// [`PlanError::Replay`] for a schedule that cannot be executed.
pub fn planned<'a>(
    instance: &'a Instance,
    schedule: &Schedule,
    budget_bytes: u64,
) -> Result<Planned<'a>, PlanError> {
    let plan = schedule.plan(instance)?.optimised(instance)?;
    let replay = simulate::plan(instance, &plan)?;
    let document = PlanDocument::of(instance, plan, &replay, Some(budget_bytes));
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
    pub(super) fn of(instance: &'a Instance, document: PlanDocument) -> Self {
        Planned { instance, document }
    }

    /// The plan as a `remat-plan/1` document.
    pub fn text(&self) -> String {
        self.document.write(self.instance)
    }

    /// Writes the plan as a `remat-plan/1` file.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.text())
    }
}
