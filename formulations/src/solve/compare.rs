//! The known strategies beside ours.

use super::{AnyFormulation, Listener, Settings, Solvable, Status};
use crate::baselines::{self, Baseline};
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::Schedule;
use remat_instances::simulate::Replay;

/// Nodes up to which strategies that solve a linear program are run for every budget of a sweep.
const SWEEP_PROGRAM_NODE_LIMIT: usize = 100;

/// Outcome of a strategy at a budget.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The strategy.
    pub name: &'static str,
    /// The schedule and its replay, or why it has none.
    pub result: Result<(Schedule, Replay), String>,
    /// True if the search has proven that no stage schedule fits.
    pub infeasible: bool,
}

impl Compared {
    /// The replay of its schedule.
    pub fn replay(&self) -> Option<&Replay> {
        self.result.as_ref().ok().map(|(_, replay)| replay)
    }

    /// Returns whether its schedule fits a budget; `None` without one.
    pub fn fits(&self, budget_bytes: u64) -> Option<bool> {
        self.replay().map(|r| r.peak_bytes <= budget_bytes)
    }

    /// Rank at a budget: those that fit by cost, then those that do not by peak, then those that do
    /// not apply.
    pub fn rank(&self, budget_bytes: u64) -> (u8, u64, u64) {
        match (self.replay(), self.fits(budget_bytes)) {
            (Some(replay), Some(true)) => (0, replay.cost, replay.peak_bytes),
            (Some(replay), _) => (1, replay.peak_bytes, replay.cost),
            (None, _) => (2, 0, 0),
        }
    }
}

/// A comparison of strategies for an instance.
///
/// ```
/// use remat_formulations::{Baselines, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=8".parse()?)?;
/// let compared = Baselines::new(&instance).run(instance.static_bytes() + (1 << 30));
/// assert!(compared.iter().any(|c| c.name == "dtr"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Baselines {
    formulation: AnyFormulation,
    sweep: bool,
}

impl Baselines {
    /// The name of this library's own search among strategies.
    pub const OURS: &'static str = "remat-bb";

    /// Strategies for an instance, judged by the formulation that suits it.
    pub fn new(instance: &Instance) -> Self {
        Baselines::of(AnyFormulation::suiting(instance))
    }

    /// Strategies judged by a formulation.
    pub fn of(formulation: AnyFormulation) -> Self {
        Baselines {
            formulation,
            sweep: false,
        }
    }

    /// For many budgets: strategies that solve a linear program are left to small graphs.
    #[must_use]
    pub fn for_sweep(mut self) -> Self {
        self.sweep = true;
        self
    }

    /// All known strategies at a budget in bytes, in the order of their list.
    pub fn run(&self, budget_bytes: u64) -> Vec<Compared> {
        let one = |baseline: &Baseline| Compared {
            name: baseline.name,
            result: self.one(baseline, budget_bytes),
            infeasible: false,
        };
        // The order of the results is that of the list, whoever finishes first.
        baselines::all().par_iter().map(one).collect()
    }

    fn one(&self, baseline: &Baseline, budget_bytes: u64) -> Result<(Schedule, Replay), String> {
        let nodes = self.formulation.instance().len();
        if self.sweep && baseline.solves_program && nodes > SWEEP_PROGRAM_NODE_LIMIT {
            return Err(format!(
                "left out of sweeps over more than {SWEEP_PROGRAM_NODE_LIMIT} nodes"
            ));
        }
        self.formulation.baseline(baseline, budget_bytes)
    }

    /// Our own search at a budget in bytes.
    pub fn ours(
        &self,
        budget_bytes: u64,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Compared {
        let outcome = self
            .formulation
            .solve(budget_bytes, &[], settings, listener);
        let infeasible = (outcome.as_ref()).is_ok_and(|o| o.status == Status::Infeasible);
        let result = match outcome {
            Ok(outcome) => outcome.schedule.zip(outcome.replay).ok_or_else(|| {
                let reason = outcome.infeasible_because;
                reason.unwrap_or_else(|| "no plan was found in this time".into())
            }),
            Err(error) => Err(error.to_string()),
        };
        Compared {
            name: Self::OURS,
            result,
            infeasible,
        }
    }
}
