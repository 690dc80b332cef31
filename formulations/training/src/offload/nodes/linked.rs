//! A formulation whose plans may copy to the host, for frontiers and batches.

use super::front::{Offload, too_small};
use super::settings::OffloadTuning;
use crate::any::AnyFormulation;
use crate::offload::CopyPhase;
use remat_instances::plan::Plan;
use remat_instances::simulate::{Replay, ReplayError};
use remat_search::{Listener, Outcome, Settings, Solvable, SolveError};

/// A formulation of an instance with a link. Its schedules are plans.
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::nodes::Linked;
/// use remat_formulations::AnyFormulation;
/// use remat_formulations::solve::Solve;
/// use remat_formulations::{Budget, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let instance = instance.with_host_link(Some("gh200".parse()?))?;
/// let linked = Linked::new(AnyFormulation::suiting(&instance), CopyPhase::Any);
/// let (outcome, budget) = Solve::of(linked, Budget::Percent(70.0)).outcome()?;
/// let replay = outcome.replay.ok_or("no plan")?;
/// assert!(replay.peak_bytes <= budget && replay.makespan >= outcome.bound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Linked {
    formulation: AnyFormulation,
    phase: CopyPhase,
    tuning: Box<OffloadTuning>,
}

impl Linked {
    /// A formulation of an instance with a link, and the time at which copies are made.
    pub fn new(formulation: AnyFormulation, phase: CopyPhase) -> Self {
        Linked {
            formulation,
            phase,
            tuning: Box::default(),
        }
    }

    /// The same with other tuning.
    #[must_use]
    pub fn tuning(self, tuning: OffloadTuning) -> Self {
        Linked {
            tuning: Box::new(tuning),
            ..self
        }
    }

    /// The formulation.
    pub fn formulation(&self) -> &AnyFormulation {
        &self.formulation
    }

    /// The time at which copies are made.
    pub fn phase(&self) -> CopyPhase {
        self.phase
    }

    /// Reason why no plan fits a budget in bytes, if it is known without a search: one computation
    /// alone is too large.
    pub fn too_small(&self, budget_bytes: u64) -> Option<String> {
        too_small(&self.formulation, budget_bytes)
    }
}

impl Solvable for Linked {
    type Schedule = Plan;

    fn plain(&self) -> Result<Replay, ReplayError> {
        self.formulation.plain()
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Plan],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome<Plan>, SolveError> {
        let offload = Offload::new(self.formulation.clone(), budget_bytes)
            .phase(self.phase)
            .tuning(*self.tuning)
            .starts(starts)
            .settings(settings.clone())
            .listener(listener)
            .uncompared();
        let answer = offload.run()?;
        let mut outcome = answer.outcome.map(|_| Plan {
            instance: String::new(),
            semantics: self.formulation.semantics(),
            steps: Vec::new(),
        });
        outcome.schedule = answer.plan.map(|document| document.plan);
        Ok(outcome)
    }
}
