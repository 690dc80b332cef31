//! The least budget for which a plan is known, and the budgets that no plan fits.

use super::batch::Asking;
use super::{AnyPlan, AnySolvable, Baselines};
use remat_search::{Effort, Listener, Outcome, Settings, Solvable, SolveError, Unheard, ticking};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time after which strategies end that have not found a plan yet.
const STRATEGY_LIMIT: Duration = Duration::from_secs(5);
/// Halvings of the range of budgets without a proof; the rest is within 0.1% of the budget.
const PROOF_STEPS: u32 = 10;
/// Searches for a plan between the least known peak and the largest infeasible budget.
const SEARCH_STEPS: u32 = 8;
/// A range of budgets that is not searched further, as a share of the budget.
const RANGE: f64 = 0.005;
/// Share of a time limit for all these searches together.
const SEARCH_SHARE: f64 = 0.3;
/// Share of a time limit for a first search close to the largest infeasible budget: for many networks
/// plans fit down to it.
const FLOOR_SHARE: f64 = 0.2;
/// Time limit from which searches take their share if several micro-batches are in flight.
const SEVERAL_LIMIT: Duration = Duration::from_secs(20);
/// Gap at which a search ends: any plan will do.
const ANY_GAP: f64 = 0.999;

/// The least budget for which a plan is known.
///
/// ```
/// use remat_formulations::solve::LeastBudget;
/// use remat_formulations::{AnyFormulation, Budget, Settings, Solve, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=12".parse()?)?;
/// let solvable = AnyFormulation::suiting(&instance).into();
/// let least = LeastBudget::known(&solvable, &())?;
/// let least = least.search(&solvable, &Settings::default(), &())?;
/// let (_, peak_bytes) = least.plan.as_ref().ok_or("no plan")?;
/// assert!(*peak_bytes >= least.bound_bytes);
/// assert!(Solve::new(&instance, Budget::Bytes(*peak_bytes)).run()?.objective().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeastBudget {
    /// The plan with the least known peak, and that peak in bytes; `None` if no plan is known.
    pub plan: Option<(AnyPlan, u64)>,
    /// A proven lower bound on the peak of every plan, in bytes.
    pub bound_bytes: u64,
}

impl LeastBudget {
    /// The least budget by the known strategies, and a bound that needs no search. Strategies that
    /// solve a linear program are left out on large graphs. The listener may end the strategies.
    ///
    /// Strategies do not know of other micro-batches in flight. If there are some, short searches
    /// follow.
    ///
    /// # Errors
    /// [`SolveError`] if a schedule without recomputation cannot be replayed, or no thread starts.
    pub fn known(solvable: &AnySolvable, listener: &dyn Listener) -> Result<Self, SolveError> {
        let plain_bytes = solvable.plain()?.peak_bytes;
        let bound_bytes = bound(solvable, plain_bytes);
        let stop: Arc<AtomicBool> = Arc::default();
        let strategies = Baselines::of(solvable.clone());
        let strategies = strategies.for_sweep().until_set(stop.clone());
        let begun = Instant::now();
        let tick = || {
            if listener.is_interrupted() || begun.elapsed() > STRATEGY_LIMIT {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let found = ticking(tick, &stop, || strategies.run(bound_bytes));
        let found = found.map_err(SolveError::Thread)?;
        let plans = found.into_iter().filter_map(|one| one.result.ok());
        let plans = plans.map(|(plan, replay)| (plan, replay.peak_bytes));
        let least = LeastBudget {
            plan: plans.min_by_key(|(_, peak_bytes)| *peak_bytes),
            bound_bytes,
        };
        if solvable.instance().in_flight() == 1 {
            return Ok(least);
        }
        let settings = Settings {
            time_limit: Some(SEVERAL_LIMIT),
            ..Settings::default()
        };
        least.search(solvable, &settings, listener)
    }

    /// The least peak of a known plan, in bytes.
    pub fn known_bytes(&self) -> Option<u64> {
        self.plan.as_ref().map(|(_, peak_bytes)| *peak_bytes)
    }

    /// The largest budget in bytes that is proven to fit no plan; `None` without a proof.
    pub fn infeasible_bytes(&self) -> Option<u64> {
        self.bound_bytes.checked_sub(1)
    }

    /// The budget to solve for, in bytes: the least known peak, or the bound if no plan is known.
    pub fn budget_bytes(&self) -> u64 {
        self.known_bytes().unwrap_or(self.bound_bytes)
    }

    /// Looks for plans with a smaller peak by solves at budgets between the bound and the least
    /// known peak. They take at most half of a time limit; without one their work is fixed.
    ///
    /// # Errors
    /// [`SolveError`] of a solve.
    pub fn search(
        mut self,
        solvable: &AnySolvable,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Self, SolveError> {
        let mut high = match self.known_bytes() {
            Some(peak_bytes) => peak_bytes,
            None => solvable.plain()?.peak_bytes,
        };
        let mut low = self.bound_bytes;
        for step in 0..=SEARCH_STEPS {
            let range = high.saturating_sub(low);
            if range as f64 <= RANGE * high as f64 || listener.is_interrupted() {
                break;
            }
            let (middle, share) = match step {
                0 => (low + (RANGE / 2.0 * low as f64) as u64, FLOOR_SHARE),
                _ => (low + range / 2, SEARCH_SHARE / f64::from(SEARCH_STEPS)),
            };
            let outcome = any_plan(solvable, middle, share, (settings, listener))?;
            if let Some((plan, replay)) = outcome.schedule.zip(outcome.replay) {
                high = replay.peak_bytes;
                self.plan = Some((plan, high));
                continue;
            }
            low = middle + 1;
            if outcome.infeasible_because.is_some() {
                self.bound_bytes = low;
            }
        }
        Ok(self)
    }
}

/// The largest budget below the peak without recomputation for which a plan is refuted without a
/// search, and one byte more.
fn bound(solvable: &AnySolvable, plain_bytes: u64) -> u64 {
    let (mut low, mut high) = (0, plain_bytes);
    for _ in 0..PROOF_STEPS {
        let middle = low + (high - low) / 2;
        match solvable.too_small(middle) {
            Some(_) => low = middle + 1,
            None => high = middle,
        }
    }
    low
}

/// Searches a plan of any cost within a budget in bytes, in a share of a time limit.
fn any_plan(
    solvable: &AnySolvable,
    budget_bytes: u64,
    share: f64,
    (settings, listener): (&Settings, &dyn Listener),
) -> Result<Outcome<AnyPlan>, SolveError> {
    let first = Asking::new(listener, u64::MAX);
    let limit = settings.time_limit.map(|limit| limit.mul_f64(share));
    let settings = Settings {
        time_limit: limit,
        begun: None,
        effort: Effort::Quick,
        nodes: 0,
        prove: false,
        ..settings.clone().with_gap(ANY_GAP)
    };
    // Without a limit the answer must not depend on the time at which a plan is seen.
    match limit {
        Some(_) => solvable.solve(budget_bytes, &[], &settings, &first),
        None => solvable.solve(budget_bytes, &[], &settings, &Unheard(listener)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnyFormulation;
    use crate::baselines::fixtures::residual;

    #[test]
    fn the_least_budget_has_a_plan_and_its_bound_has_none() {
        let instance = residual(24);
        let solvable: AnySolvable = AnyFormulation::suiting(&instance).into();
        let known = LeastBudget::known(&solvable, &()).unwrap();
        assert!(solvable.too_small(known.bound_bytes - 1).is_some());
        let least = known.clone().search(&solvable, &Settings::default(), &());
        let least = least.unwrap();
        let peak = |least: &LeastBudget| least.plan.as_ref().map(|(_, peak)| *peak).unwrap();
        assert!(least.bound_bytes >= known.bound_bytes);
        assert!(peak(&least) <= peak(&known) && peak(&least) >= least.bound_bytes);
        let (plan, peak_bytes) = least.plan.as_ref().unwrap();
        let planned = plan.planned(&instance, *peak_bytes).unwrap();
        assert!(planned.document.peak_bytes <= *peak_bytes);
    }
}
