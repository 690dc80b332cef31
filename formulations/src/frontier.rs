//! The frontier of time against memory: the same instance solved for one budget after another.
//!
//! Budgets help each other. A schedule for less memory fits into more, and a bound for more memory holds for less, so in
//! the result costs never rise with the budget and bounds never do either.

use crate::solve::{self, Outcome, Progress, Settings, SolveError, Status};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::Replay;
use std::sync::atomic::{AtomicBool, Ordering};

/// One budget's place on the frontier.
#[derive(Clone, Debug)]
pub struct FrontierPoint<S = CheckmateSchedule> {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// How the solve ended, what other budgets proved included.
    pub status: Status,
    /// The best schedule that fits, of this budget or of a smaller one.
    pub schedule: Option<S>,
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

impl<S> FrontierPoint<S> {
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
            Some(_) if self.status != Status::Interrupted => Status::Feasible,
            _ => self.status,
        };
    }
}

/// Solves for every budget in bytes (in any order; the points come in ascending order, each budget once). `settings` are
/// those of each solve, apart from the budget.
///
/// The largest and the smallest budget come first, then the middle one, and so on: where the plan of a smaller budget
/// is as good as the bound of a larger one, all between them are settled without a solve.
///
/// An interrupt ends the solve at hand and leaves out the rest, apart from what is settled. `watch` is told the number
/// of budgets done before and how the solve at hand stands, from another thread.
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
    let solve = |settings: &Settings,
                 start: Option<&CheckmateSchedule>,
                 progress: &(dyn Fn(&Progress) + Sync)| {
        let settings = Settings {
            starts: start.cloned().into_iter().collect(),
            ..settings.clone()
        };
        solve::solve(instance, &settings, interrupt, progress)
    };
    frontier_of(&solve, budgets, settings, interrupt, watch)
}

/// Solves for a budget, given the schedule of a smaller one.
pub type SolveOne<'a, S> = &'a dyn Fn(
    &Settings,
    Option<&S>,
    &(dyn Fn(&Progress) + Sync),
) -> Result<Outcome<S>, SolveError>;

/// As [`frontier()`], for any program: `solve` solves for the budget of its settings.
///
/// # Errors
/// [`SolveError`] of a solve.
pub fn frontier_of<S: Clone>(
    solve: SolveOne<'_, S>,
    budgets: &[u64],
    settings: &Settings,
    interrupt: &AtomicBool,
    watch: &(dyn Fn(usize, &Progress) + Sync),
) -> Result<Vec<FrontierPoint<S>>, SolveError> {
    let mut budgets = budgets.to_vec();
    budgets.sort_unstable();
    budgets.dedup();
    let Some(last) = budgets.len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let mut walk = Walk {
        solve,
        settings,
        interrupt,
        watch,
        points: vec![None; budgets.len()],
        budgets,
    };
    walk.solve(last)?;
    walk.solve(0)?;
    let mut open = vec![(0, last)];
    while let Some((low, high)) = open.pop() {
        if high - low < 2 {
            continue;
        }
        if walk.settle_between(low, high) {
            continue;
        }
        let middle = low + (high - low) / 2;
        walk.solve(middle)?;
        open.push((middle, high));
        open.push((low, middle));
    }
    Ok(walk.finish())
}

struct Walk<'a, S> {
    solve: SolveOne<'a, S>,
    settings: &'a Settings,
    interrupt: &'a AtomicBool,
    watch: &'a (dyn Fn(usize, &Progress) + Sync),
    budgets: Vec<u64>,
    points: Vec<Option<FrontierPoint<S>>>,
}

impl<S: Clone> Walk<'_, S> {
    fn solve(&mut self, k: usize) -> Result<(), SolveError> {
        if self.points[k].is_some() || self.interrupt.load(Ordering::Relaxed) {
            return Ok(());
        }
        let budget_bytes = self.budgets[k];
        // The best plan that fits of those known: the points below are solved with less memory.
        let known = self.points[..k].iter().flatten();
        let best = known
            .filter(|p| p.schedule.is_some())
            .min_by_key(|p| p.cost());
        let settings = Settings {
            budget_bytes,
            ..self.settings.clone()
        };
        let start = best.and_then(|p| p.schedule.as_ref());
        let done = self.points.iter().flatten().count();
        let outcome = (self.solve)(&settings, start, &|p| (self.watch)(done, p))?;
        self.points[k] = Some(FrontierPoint {
            budget_bytes,
            status: outcome.status,
            schedule: outcome.schedule,
            replay: outcome.replay,
            bound: outcome.bound,
            bound_scope: outcome.bound_scope,
            gap: outcome.gap,
            seconds: outcome.seconds,
            infeasible_because: outcome.infeasible_because,
        });
        self.share();
        Ok(())
    }

    /// Every point takes over the best plan of a smaller budget and the best bound of a larger one.
    fn share(&mut self) {
        let gap = self.settings.gap;
        let mut best: Option<FrontierPoint<S>> = None;
        for point in self.points.iter_mut().flatten() {
            if let Some(before) = &best
                && let Some(cost) = before.cost()
                && point.cost().is_none_or(|own| cost < own)
            {
                point.schedule = before.schedule.clone();
                point.replay = before.replay.clone();
                point.settle(gap);
            }
            best = Some(point.clone());
        }
        let mut more: Option<(u64, &'static str)> = None;
        for point in self.points.iter_mut().rev().flatten() {
            if point.status == Status::Infeasible {
                continue;
            }
            if let Some((bound, scope)) = more
                && bound > point.bound
            {
                (point.bound, point.bound_scope) = (bound, scope);
                point.settle(gap);
            }
            debug_assert!(point.cost().is_none_or(|cost| point.bound <= cost));
            more = Some((point.bound, point.bound_scope));
        }
    }

    /// Fills in all points between two where these two settle them.
    fn settle_between(&mut self, low: usize, high: usize) -> bool {
        let (Some(below), Some(above)) = (&self.points[low], &self.points[high]) else {
            return false;
        };
        let mut point = if above.status == Status::Infeasible {
            above.clone()
        } else {
            FrontierPoint {
                bound: above.bound,
                bound_scope: above.bound_scope,
                ..below.clone()
            }
        };
        if above.status != Status::Infeasible {
            point.settle(self.settings.gap);
            if point.status != Status::Optimal {
                return false;
            }
        }
        point.seconds = 0.0;
        if let Some(reason) = &mut point.infeasible_because {
            *reason = format!("no schedule fits even into more memory: {reason}");
        }
        for k in low + 1..high {
            point.budget_bytes = self.budgets[k];
            self.points[k] = Some(point.clone());
        }
        true
    }

    fn finish(mut self) -> Vec<FrontierPoint<S>> {
        self.share();
        self.points.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::simulate;
    use remat_instances::zoo::{self, ModelSpec};

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
        // Ends that agree settle what is between them.
        let wide: Vec<u64> = (0..20).map(|k| peak + k).collect();
        let easy = frontier(&instance, &wide, &settings, &never, &|_, _| {}).unwrap();
        assert_eq!(easy.len(), 20);
        assert!(
            easy[1..19]
                .iter()
                .all(|p| p.seconds == 0.0 && p.status == Status::Optimal)
        );
        let few: Vec<u64> = (1..9).collect();
        let none = frontier(&instance, &few, &settings, &never, &|_, _| {}).unwrap();
        assert!(none.iter().all(|p| p.status == Status::Infeasible));
        assert!(
            none[4]
                .infeasible_because
                .as_ref()
                .unwrap()
                .contains("more memory")
        );
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
