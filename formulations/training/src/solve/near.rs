//! Plans for slightly less memory, which fit the budget as well.
//!
//! Near the least budget a search may find a plan for less memory that is cheaper than its plan for
//! more. Short runs below the budget keep the cost from rising with it.

use crate::any::AnyFormulation;
use crate::bound::smallest_budget;
use crate::written::Written;
use remat_instances::schedule::Schedule;
use remat_search::{
    Effort, Listener, Outcome, Settings, Solvable, SolveError, Status, Unheard, Watch,
};
use std::time::Duration;

/// Budgets of the short runs, as shares of the budget.
const SHARES: [f64; 2] = [0.94, 0.97];
/// Share of a time limit for each short run, and its maximum.
const TIME_SHARE: f64 = 0.1;
const TIME_LIMIT: Duration = Duration::from_secs(6);
/// Relative gap at which a short run ends.
const GAP: f64 = 0.005;
/// Multiple of the largest working set up to which a budget is near the least one.
const WORKING_SETS: f64 = 1.6;

/// Short runs below a budget.
pub(super) struct NearBudgets<'a> {
    pub formulation: &'a AnyFormulation,
    pub budget_bytes: u64,
    pub settings: &'a Settings,
    pub listener: &'a dyn Listener,
}

impl NearBudgets<'_> {
    /// Returns whether the budget is near the least one, and below the peak without recomputation.
    fn is_near(&self, plain_bytes: u64) -> bool {
        let instance = self.formulation.instance();
        let needed = smallest_budget(instance).needed_bytes as f64;
        let is_plain = self.formulation.class().is_none()
            && !self.formulation.semantics().chooses_implementations();
        is_plain
            && self.settings.effort == Effort::Full
            && self.budget_bytes < plain_bytes
            && self.budget_bytes as f64 <= WORKING_SETS * needed
    }

    /// Plans of short runs before a solve with a time limit, each a start of the next.
    ///
    /// # Errors
    /// [`SolveError`] of a solve.
    pub fn before(
        &self,
        plain_bytes: u64,
        starts: &[Schedule],
    ) -> Result<Vec<Schedule>, SolveError> {
        match self.settings.time_limit.is_some() && self.is_near(plain_bytes) {
            true => self.plans(starts),
            false => Ok(Vec::new()),
        }
    }

    /// Improves the answer of a solve without a time limit, if its gap is open.
    ///
    /// # Errors
    /// [`SolveError`] of a solve.
    pub fn after(
        &self,
        plain_bytes: u64,
        (outcome, plan): (&mut Outcome, &mut Option<Written>),
    ) -> Result<(), SolveError> {
        let is_open = matches!(outcome.status, Status::Feasible | Status::Limit);
        if self.settings.time_limit.is_some() || !is_open || !self.is_near(plain_bytes) {
            return Ok(());
        }
        let instance = self.formulation.instance();
        for schedule in self.plans(&[])? {
            let replay = schedule.replay(instance)?;
            let is_cheaper = outcome.cost().is_none_or(|cost| replay.cost < cost);
            if is_cheaper && replay.peak_bytes <= self.budget_bytes {
                let written = Written::of_schedule(instance, &schedule, self.budget_bytes)?;
                *plan = Some(written.within_budget()?);
                outcome.take(schedule, replay);
                outcome.settle(self.settings.gap, self.listener.is_interrupted());
            }
        }
        Ok(())
    }

    fn plans(&self, starts: &[Schedule]) -> Result<Vec<Schedule>, SolveError> {
        let watch = Watch::new(self.settings, self.listener);
        let part = |limit: Duration| limit.mul_f64(TIME_SHARE).min(TIME_LIMIT);
        let mut known = starts.to_vec();
        let mut found = Vec::new();
        for share in SHARES {
            if watch.is_over() {
                break;
            }
            let limit = self.settings.time_limit;
            let settings = Settings {
                time_limit: limit.map(|limit| watch.elapsed() + part(limit)),
                effort: match limit {
                    Some(_) => Effort::Full,
                    None => Effort::Quick,
                },
                prove: false,
                ..self.settings.clone().with_gap(GAP)
            };
            let budget_bytes = (self.budget_bytes as f64 * share) as u64;
            let quiet = Unheard(self.listener);
            let outcome = self
                .formulation
                .solve(budget_bytes, &known, &settings, &quiet)?;
            known.extend(outcome.schedule.clone());
            found.extend(outcome.schedule);
        }
        Ok(found)
    }
}
