//! The frontier of time against memory: the same instance solved for one budget after another.
//!
//! Budgets share their results. A schedule for less memory fits into more, and a bound for more
//! memory holds for less, so neither costs nor bounds rise with the budget.

use crate::any::AnyFormulation;
use remat_instances::Budget;
use remat_instances::instance::Instance;
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{Replay, ReplayError};
use remat_search::{
    Listener, Outcome, Progress, Settings, Solvable, SolveError, Status, Watching, relative_gap,
};

/// One budget's place on the frontier.
#[derive(Clone, Debug)]
pub struct FrontierPoint<S = Schedule> {
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Status at the end of the solve, with the results of other budgets.
    pub status: Status,
    /// The best schedule that fits, of this budget or of a smaller one.
    pub schedule: Option<S>,
    /// Its replay.
    pub replay: Option<Replay>,
    /// Lower bound on the cost of schedules within the budget, from the solve of this budget or of
    /// a larger one.
    pub bound: u64,
    /// Schedules that the bound covers, as in [`Outcome`].
    pub bound_scope: &'static str,
    /// `(cost - bound) / cost`.
    pub gap: Option<f64>,
    /// Time of its own solve; 0 if other budgets settled it.
    pub seconds: f64,
    /// Reason why no schedule fits, if that was proven.
    pub infeasible_because: Option<String>,
}

impl<S> FrontierPoint<S> {
    /// Cost of the best schedule.
    pub fn cost(&self) -> Option<u64> {
        self.replay.as_ref().map(|r| r.makespan)
    }

    /// Takes a known schedule with its replay if it fits and is cheaper. `gap` is the relative gap
    /// at which a point counts as optimal.
    pub fn offer(&mut self, schedule: S, replay: Replay, gap: f64) {
        let is_cheaper = self.cost().is_none_or(|cost| replay.makespan < cost);
        if is_cheaper && replay.peak_bytes <= self.budget_bytes {
            (self.schedule, self.replay) = (Some(schedule), Some(replay));
            self.settle(gap);
        }
    }

    fn settle(&mut self, gap: f64) {
        self.gap = self.cost().map(|cost| relative_gap(cost, self.bound));
        self.status = match self.gap {
            Some(open) if open <= gap => Status::Optimal,
            Some(_) if self.status != Status::Interrupted => Status::Feasible,
            _ => self.status,
        };
    }
}

/// A frontier to be solved: an instance or a [`Formulation`](remat_search::Formulation), and
/// budgets.
///
/// The largest and the smallest budget come first, then the middle one, and so on. If the plan of a
/// smaller budget meets the bound of a larger one, all budgets between them are settled without a
/// solve.
///
/// ```
/// use remat_formulations::{Budget, Frontier, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=8".parse()?)?;
/// let budgets = [60.0, 80.0, 100.0].map(Budget::Percent);
/// let points = Frontier::new(&instance, &budgets)?.run()?;
/// assert_eq!(points.last().and_then(|p| p.cost()), Some(instance.base_cost()));
/// assert!(points.is_sorted_by(|a, b| a.bound >= b.bound));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Frontier<'a, F: Solvable = AnyFormulation> {
    formulation: F,
    budgets: Vec<u64>,
    settings: Settings,
    listener: &'a dyn Listener,
    look: Look<'a>,
}

/// Called from another thread with the number of budgets done and the progress of the current
/// solve.
type Look<'a> = &'a (dyn Fn(usize, &Progress) + Sync);

impl Frontier<'_> {
    /// The frontier of an instance over budgets in any order, by the formulation that suits it.
    ///
    /// # Errors
    /// [`ReplayError`] of the schedule without recomputation, which does not occur for a valid
    /// instance.
    pub fn new(instance: &Instance, budgets: &[Budget]) -> Result<Self, ReplayError> {
        Frontier::of(AnyFormulation::suiting(instance), budgets)
    }
}

impl<'a, F: Solvable> Frontier<'a, F> {
    /// The frontier of any formulation. The points come in ascending order of budgets, each budget
    /// once.
    ///
    /// # Errors
    /// As [`Solvable::plain`].
    pub fn of(formulation: F, budgets: &[Budget]) -> Result<Self, ReplayError> {
        let plain = formulation.plain()?;
        let bytes = budgets.iter().map(|b| b.bytes(plain.peak_bytes));
        let mut budgets: Vec<u64> = bytes.collect();
        budgets.sort_unstable();
        budgets.dedup();
        Ok(Frontier {
            formulation,
            budgets,
            settings: Settings::default().without_overtime(),
            listener: &(),
            look: &|_, _| (),
        })
    }

    /// Settings of each solve; there is no overtime.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings.without_overtime();
        self
    }

    /// Sets the listener that may end the run: the current solve ends, and the remaining budgets
    /// are left out unless they are settled. `look` is called from another thread with the number
    /// of budgets done and the progress of the current solve.
    #[must_use]
    pub fn listener(mut self, listener: &'a dyn Listener, look: Look<'a>) -> Self {
        (self.listener, self.look) = (listener, look);
        self
    }

    /// Solves for every budget.
    ///
    /// # Errors
    /// [`SolveError`] of a solve.
    pub fn run(&self) -> Result<Vec<FrontierPoint<F::Schedule>>, SolveError> {
        let Some(last) = self.budgets.len().checked_sub(1) else {
            return Ok(Vec::new());
        };
        let mut walk = FrontierWalk {
            frontier: self,
            points: vec![None; self.budgets.len()],
        };
        walk.solve(last)?;
        walk.solve(0)?;
        let mut open = vec![(0, last)];
        while let Some((low, high)) = open.pop() {
            if high - low < 2 || walk.settle_between(low, high) {
                continue;
            }
            let middle = low + (high - low) / 2;
            walk.solve(middle)?;
            open.push((middle, high));
            open.push((low, middle));
        }
        Ok(walk.finish())
    }
}

struct FrontierWalk<'w, 'a, F: Solvable> {
    frontier: &'w Frontier<'a, F>,
    points: Vec<Option<FrontierPoint<F::Schedule>>>,
}

impl<F: Solvable> FrontierWalk<'_, '_, F> {
    fn solve(&mut self, k: usize) -> Result<(), SolveError> {
        let frontier = self.frontier;
        if self.points[k].is_some() || frontier.listener.is_interrupted() {
            return Ok(());
        }
        let budget_bytes = frontier.budgets[k];
        // The best known plan that fits: all points below have less memory.
        let known = self.points[..k].iter().flatten();
        let best = known
            .filter(|p| p.schedule.is_some())
            .min_by_key(|p| p.cost());
        let start = best.and_then(|p| p.schedule.clone());
        let done = self.points.iter().flatten().count();
        let listener = Watching {
            listener: frontier.listener,
            look: |progress: &Progress| (frontier.look)(done, progress),
        };
        let outcome: Outcome<F::Schedule> = frontier.formulation.solve(
            budget_bytes,
            start.as_slice(),
            &frontier.settings,
            &listener,
        )?;
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

    /// Gives every point the best plan of a smaller budget and the best bound of a larger one.
    fn share(&mut self) {
        let gap = self.frontier.settings.gap;
        let mut best: Option<FrontierPoint<F::Schedule>> = None;
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

    /// Fills in all points between two points if these settle them; returns whether they do.
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
            point.settle(self.frontier.settings.gap);
            if point.status != Status::Optimal {
                return false;
            }
        }
        point.seconds = 0.0;
        if let Some(reason) = &mut point.infeasible_because {
            *reason = format!("no schedule fits even into more memory: {reason}");
        }
        for k in low + 1..high {
            point.budget_bytes = self.frontier.budgets[k];
            self.points[k] = Some(point.clone());
        }
        true
    }

    fn finish(mut self) -> Vec<FrontierPoint<F::Schedule>> {
        self.share();
        self.points.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::zoo::{self, ModelSpec};

    #[test]
    fn costs_and_bounds_never_rise_with_the_budget() {
        let spec: ModelSpec = "zoo:chain?n=8".parse().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let peak = AnyFormulation::suiting(&instance)
            .plain()
            .unwrap()
            .peak_bytes;
        let budgets: Vec<u64> = (1..=10).rev().map(|k| peak * k / 10).collect();
        let settings = Settings {
            rounds: 2,
            ..Settings::default()
        };
        let frontier = |budgets: &[u64]| {
            let budgets: Vec<Budget> = budgets.iter().map(|b| Budget::Bytes(*b)).collect();
            let frontier = Frontier::new(&instance, &budgets).unwrap();
            frontier.settings(settings.clone()).run().unwrap()
        };
        let points = frontier(&budgets);
        assert_eq!(points.len(), 10);
        // Ends that agree settle the points between them.
        let wide: Vec<u64> = (0..20).map(|k| peak + k).collect();
        let easy = frontier(&wide);
        assert_eq!(easy.len(), 20);
        assert!(
            easy[1..19]
                .iter()
                .all(|p| p.seconds == 0.0 && p.status == Status::Optimal)
        );
        let few: Vec<u64> = (1..9).collect();
        let none = frontier(&few);
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
            // If a schedule fits, a schedule fits into more memory.
            assert!(pair[0].cost().is_none() || pair[1].cost().is_some());
        }
        let last = points.last().unwrap();
        assert_eq!(last.status, Status::Optimal);
        assert_eq!(last.cost(), Some(instance.base_cost()));
        assert_eq!(points[0].status, Status::Infeasible);
        for point in &points {
            if let (Some(schedule), Some(cost)) = (&point.schedule, point.cost()) {
                let replay = schedule.replay(&instance).unwrap();
                assert!(replay.peak_bytes <= point.budget_bytes);
                assert!(replay.cost == cost && point.bound <= cost);
            }
        }
    }
}
