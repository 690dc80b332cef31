//! The frontier of time against memory: the same instance solved for one budget after another.
//!
//! Budgets help each other. A schedule for less memory fits into more, and a bound for more memory holds for less, so in
//! the result costs never rise with the budget and bounds never do either.

use crate::instance::Instance;
use crate::schedule::CheckmateSchedule;
use crate::simulate::Replay;
use crate::solve::{self, Progress, Settings, SolveError, Status};
use std::sync::atomic::{AtomicBool, Ordering};

/// One budget's place on the frontier.
#[derive(Clone, Debug)]
pub struct FrontierPoint {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// How the solve ended, what other budgets proved included.
    pub status: Status,
    /// The best schedule that fits, of this budget or of a smaller one.
    pub schedule: Option<CheckmateSchedule>,
    /// Its replay.
    pub replay: Option<Replay>,
    /// No schedule within the budget costs less, by this budget's solve or by that of a larger one.
    pub bound: u64,
    /// What the bound covers, as in [`solve::Outcome`].
    pub bound_scope: &'static str,
    /// `(cost - bound) / cost`.
    pub gap: Option<f64>,
    /// Time of its own solve; 0 where other budgets settled it.
    pub seconds: f64,
    /// Why no schedule fits, where that was proven.
    pub infeasible_because: Option<String>,
}

impl FrontierPoint {
    /// Cost of the best schedule.
    pub fn cost(&self) -> Option<u64> {
        self.replay.as_ref().map(|r| r.cost)
    }

    fn settle(&mut self, gap: f64) {
        self.gap = self.cost().map(|cost| match cost {
            0 => 0.0,
            _ => cost.saturating_sub(self.bound) as f64 / cost as f64,
        });
        self.status = match self.gap {
            Some(open) if open <= gap => Status::Optimal,
            Some(_) if self.status == Status::Limit => Status::Feasible,
            _ => self.status,
        };
    }
}

/// Solves for every budget in bytes (in any order; the points come in ascending order, each budget once). `settings` are
/// those of each solve, apart from the budget. An interrupt ends the solve at hand and leaves out the rest, apart from
/// what follows from the budgets before.
///
/// `watch` is told the number of budgets done before and how the solve at hand stands, from another thread.
///
/// # Errors
/// [`SolveError`] of a solve.
pub fn frontier(
    instance: &Instance,
    budgets: &[u64],
    settings: &Settings,
    interrupt: &AtomicBool,
    watch: &(dyn Fn(usize, &Progress) + Sync),
) -> Result<Vec<FrontierPoint>, SolveError> {
    let mut budgets = budgets.to_vec();
    budgets.sort_unstable();
    budgets.dedup();
    let mut points: Vec<FrontierPoint> = Vec::with_capacity(budgets.len());
    for (done, &budget_bytes) in budgets.iter().enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let one = Settings {
            budget_bytes,
            ..settings.clone()
        };
        let outcome = solve::solve(instance, &one, interrupt, &|p| watch(done, p))?;
        let mut point = FrontierPoint {
            budget_bytes,
            status: outcome.status,
            schedule: outcome.schedule,
            replay: outcome.replay,
            bound: outcome.bound,
            bound_scope: outcome.bound_scope,
            gap: outcome.gap,
            seconds: outcome.seconds,
            infeasible_because: outcome.infeasible_because,
        };
        // What fitted into less memory.
        if let Some(before) = points.last()
            && let Some(cost) = before.cost()
            && point.cost().is_none_or(|own| cost < own)
        {
            point.schedule = before.schedule.clone();
            point.replay = before.replay.clone();
            point.settle(settings.gap);
        }
        points.push(point);
    }
    // What no schedule can do in more memory.
    let mut more: Option<(u64, &'static str)> = None;
    for point in points.iter_mut().rev() {
        if let Some((bound, scope)) = more
            && bound > point.bound
            && point.status != Status::Infeasible
        {
            (point.bound, point.bound_scope) = (bound, scope);
            point.settle(settings.gap);
        }
        debug_assert!(point.cost().is_none_or(|cost| point.bound <= cost));
        if point.status != Status::Infeasible {
            more = Some((point.bound, point.bound_scope));
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate;
    use crate::zoo::{self, ModelSpec};

    #[test]
    fn costs_and_bounds_never_rise_with_the_budget() {
        let spec: ModelSpec = "zoo:chain?n=8".parse().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain).unwrap().peak_bytes;
        let budgets: Vec<u64> = (1..=10).rev().map(|k| peak * k / 10).collect();
        let settings = Settings {
            rounds: 2,
            ..Settings::new(0)
        };
        let never = AtomicBool::new(false);
        let points = frontier(&instance, &budgets, &settings, &never, &|_, _| {}).unwrap();
        assert_eq!(points.len(), 10);
        for pair in points.windows(2) {
            assert!(pair[0].budget_bytes < pair[1].budget_bytes);
            if let (Some(a), Some(b)) = (pair[0].cost(), pair[1].cost()) {
                assert!(b <= a && pair[1].bound <= pair[0].bound);
            }
            // Once something fits, something fits into more.
            assert!(pair[0].cost().is_none() || pair[1].cost().is_some());
        }
        let last = points.last().unwrap();
        assert_eq!(last.status, Status::Optimal);
        assert_eq!(last.cost(), Some(instance.base_cost()));
        assert_eq!(points[0].status, Status::Infeasible);
        for point in &points {
            if let (Some(schedule), Some(cost)) = (&point.schedule, point.cost()) {
                let replay = simulate::checkmate(&instance, schedule).unwrap();
                assert!(replay.peak_bytes <= point.budget_bytes);
                assert!(replay.cost == cost && point.bound <= cost);
            }
        }
    }
}
