//! Outcomes of a solve with a link.

use crate::written::NoPlan;
use remat_instances::instance::Instance;
use remat_instances::plan::PlanDocument;
use remat_search::Outcome;
use std::sync::Arc;

/// Scope of the bounds of a solve with a link: stage schedules with copies to the host and back at
/// any time.
pub const STAGE_SCHEDULES_WITH_COPIES: &str = "stage-schedules-with-copies";

/// Scope of the bounds of a sharded step: stage schedules with gathers of weights, scatters of
/// gradients, and copies to the host and back at any time.
pub const STAGE_SCHEDULES_WITH_GATHERS: &str = "stage-schedules-with-gathers";

/// The same scope with continuous copies. A leaving tensor frees its memory byte by byte as it is
/// sent, and a returning tensor takes memory byte by byte as it arrives.
pub const STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES: &str = "stage-schedules-with-continuous-copies";

/// The outcome of a solve with a link.
#[derive(Clone, Debug)]
pub struct Offloaded {
    /// The instance as the program sees it, with the link.
    pub instance: Arc<Instance>,
    /// Status, bound and gap of the plan, with its replay; its `schedule` is `None`.
    pub outcome: Outcome,
    /// The best plan; its objective is the makespan.
    pub plan: Option<PlanDocument>,
    /// Cost of the best plan without copies, if one was found.
    pub without_cost: Option<u64>,
}

impl Offloaded {
    /// Makespan of the best plan, as replayed.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn objective(&self) -> Result<u64, NoPlan> {
        let because = || self.outcome.infeasible_because.clone();
        self.outcome
            .cost()
            .ok_or_else(|| NoPlan { because: because() })
    }

    /// The best plan as a `remat-plan/1` document.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn text(&self) -> Result<String, NoPlan> {
        self.objective()?;
        let plan = self.plan.as_ref();
        Ok(plan.map_or(String::new(), |plan| plan.write(&self.instance)))
    }
}
