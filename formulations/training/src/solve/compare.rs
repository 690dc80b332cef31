//! The known strategies beside this library's search.

use super::rows::{names, rows};
use super::{AnyPlan, AnySolvable};
use crate::any::AnyFormulation;
use crate::baselines::{Baseline, NotApplicable};
use crate::offload::nodes::{GATHER_RULES, GatherRule, Linked, gather_rules};
use crate::strategies;
use rayon::prelude::*;
use remat_instances::budget::format_bytes;
use remat_instances::instance::Instance;
use remat_instances::simulate::Replay;
use remat_search::{Listener, Patience, Settings, Solvable, Status};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest number of nodes for which strategies that solve a linear program are run in sweeps.
const SWEEP_PROGRAM_NODE_LIMIT: usize = 100;

/// Outcome of a strategy at a budget.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The strategy.
    pub name: &'static str,
    /// The schedule or plan and its replay, or the reason why it has no plan.
    pub result: Result<(AnyPlan, Replay), String>,
    /// True if the search has proven that no stage schedule fits.
    pub infeasible: bool,
    /// True if the strategy has no plan because all its plans are too large.
    pub too_large: bool,
}

impl Compared {
    /// The replay of its schedule or plan.
    pub fn replay(&self) -> Option<&Replay> {
        self.result.as_ref().ok().map(|(_, replay)| replay)
    }

    /// Returns whether the strategy applies to the instance: it has a plan for some budget.
    pub fn applies(&self) -> bool {
        self.result.is_ok() || self.too_large
    }

    /// Returns whether its schedule or plan fits a budget; `None` without one.
    pub fn fits(&self, budget_bytes: u64) -> Option<bool> {
        self.replay().map(|r| r.peak_bytes <= budget_bytes)
    }

    /// Rank at a budget: strategies that fit, by makespan, then strategies that do not fit, by
    /// peak, then strategies without a plan.
    pub fn rank(&self, budget_bytes: u64) -> (u8, u64, u64) {
        match (self.replay(), self.fits(budget_bytes)) {
            (Some(replay), Some(true)) => (0, replay.makespan, replay.peak_bytes),
            (Some(replay), _) => (1, replay.peak_bytes, replay.makespan),
            (None, _) => (2, 0, 0),
        }
    }
}

/// A comparison of strategies for an instance. With a link it includes strategies that copy to the
/// host, as plans of a graph that is a chain ([`chain_plans`](crate::offload::chain::chain_plans)).
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::nodes::Linked;
/// use remat_formulations::AnyFormulation;
/// use remat_formulations::{Baselines, zoo};
///
/// let instance = zoo::build(&"zoo:chain?n=8".parse()?)?;
/// let budget = instance.static_bytes() + (1 << 30);
/// let compared = Baselines::new(&instance).run(budget);
/// assert!(compared.iter().any(|c| c.name == "dtr"));
/// let instance = instance.with_host_link(Some("pcie4".parse()?))?;
/// let linked = Linked::new(AnyFormulation::suiting(&instance), CopyPhase::Any);
/// let compared = Baselines::of(linked).run(budget);
/// assert!(compared.iter().any(|c| c.name == "pofo"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Baselines {
    solvable: AnySolvable,
    sweep: bool,
    interrupt: Arc<AtomicBool>,
    each_done: EachDone,
}

/// Takes the name of a strategy that has ended, from any thread.
#[derive(Clone, Default)]
struct EachDone(Option<Arc<dyn Fn(&'static str) + Send + Sync>>);

impl fmt::Debug for EachDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EachDone").field(&self.0.is_some()).finish()
    }
}

/// The strategy whose cost POFO's row never exceeds.
const ROTOR: &str = "rotor";

impl Baselines {
    /// The name of this library's own search among strategies.
    pub const OURS: &'static str = "remat-bb";

    /// Strategies for an instance, evaluated by the formulation that suits it.
    pub fn new(instance: &Instance) -> Self {
        Baselines::of(AnyFormulation::suiting(instance))
    }

    /// Strategies evaluated by a formulation, with its link if it has one.
    pub fn of(solvable: impl Into<AnySolvable>) -> Self {
        Baselines {
            solvable: solvable.into(),
            sweep: false,
            interrupt: Arc::default(),
            each_done: EachDone::default(),
        }
    }

    /// For many budgets or batches: strategies that solve a linear program are left to small
    /// graphs, and long chains with a link are searched with less work.
    #[must_use]
    pub fn for_sweep(mut self) -> Self {
        self.sweep = true;
        self
    }

    /// Ends once the flag is set; strategies that have no plan by then report that time ran out.
    #[must_use]
    pub fn until_set(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupt = flag;
        self
    }

    /// Calls a function with the name of each strategy that has ended, from any thread.
    #[must_use]
    pub fn each_done(mut self, call: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        self.each_done = EachDone(Some(Arc::new(call)));
        self
    }

    /// Names of all known strategies, in the order of their list.
    pub fn names(&self) -> Vec<&'static str> {
        if self.is_sharded() {
            return GATHER_RULES.iter().map(|rule| rule.name).collect();
        }
        let known = strategies::all().iter().map(|one| one.name);
        let linked = names().filter(|_| self.solvable.is_linked());
        known.chain(linked).collect()
    }

    /// All known strategies at a budget in bytes, in the order of their list.
    pub fn run(&self, budget_bytes: u64) -> Vec<Compared> {
        if self.is_sharded() {
            return self.sharded(budget_bytes);
        }
        let one = |baseline: &Baseline| self.known(baseline, budget_bytes);
        // The results keep the order of the list, regardless of which finishes first.
        let mut all: Vec<Compared> = strategies::all().par_iter().map(one).collect();
        if let AnySolvable::Linked(linked) = &self.solvable {
            let rotor = all.iter().find(|one| one.name == ROTOR);
            all.extend(self.rows(linked, budget_bytes, rotor));
        }
        all
    }

    /// Only the strategies that copy to the host, at a budget in bytes, in the order of their list;
    /// empty without a link.
    pub fn run_linked(&self, budget_bytes: u64) -> Vec<Compared> {
        if self.is_sharded() {
            return self.sharded(budget_bytes);
        }
        let AnySolvable::Linked(linked) = &self.solvable else {
            return Vec::new();
        };
        let rotor = strategies::all().iter().find(|one| one.name == ROTOR);
        let rotor = rotor.map(|rotor| self.known(rotor, budget_bytes));
        self.rows(linked, budget_bytes, rotor.as_ref())
    }

    /// Returns whether weights are gathered or gradients scattered.
    fn is_sharded(&self) -> bool {
        self.solvable.instance().is_sharded()
    }

    /// The rules for gathers at a budget.
    fn sharded(&self, budget_bytes: u64) -> Vec<Compared> {
        let found = gather_rules(self.solvable.instance(), budget_bytes, &self.interrupt);
        let found = found.map_err(|e| e.to_string());
        let compared = |(k, rule): (usize, &GatherRule)| {
            if let EachDone(Some(call)) = &self.each_done {
                call(rule.name);
            }
            let own = match &found {
                Ok(plans) => plans[k].clone().ok_or_else(|| {
                    let budget = format_bytes(budget_bytes);
                    format!("no plan of the rule fits into {budget}")
                }),
                Err(because) => Err(because.clone()),
            };
            Compared {
                name: rule.name,
                result: own.map(|(plan, replay)| (AnyPlan::Statements(plan), replay)),
                infeasible: false,
                too_large: matches!(&found, Ok(plans) if plans[k].is_none()),
            }
        };
        GATHER_RULES.iter().enumerate().map(compared).collect()
    }

    fn rows(&self, linked: &Linked, budget_bytes: u64, rotor: Option<&Compared>) -> Vec<Compared> {
        if !self.interrupt.load(Ordering::Relaxed) {
            return rows(linked, budget_bytes, self.sweep, rotor);
        }
        let ended = |name| Compared {
            name,
            result: Err(NotApplicable::OutOfTime.to_string()),
            infeasible: false,
            too_large: false,
        };
        names().map(ended).collect()
    }

    fn known(&self, baseline: &Baseline, budget_bytes: u64) -> Compared {
        let result = self.one(baseline, budget_bytes);
        if let EachDone(Some(call)) = &self.each_done {
            call(baseline.name);
        }
        Compared {
            name: baseline.name,
            result,
            infeasible: false,
            too_large: false,
        }
    }

    fn one(&self, baseline: &Baseline, budget_bytes: u64) -> Result<(AnyPlan, Replay), String> {
        let formulation = self.solvable.formulation();
        let nodes = formulation.instance().len();
        if self.sweep && baseline.solves_program && nodes > SWEEP_PROGRAM_NODE_LIMIT {
            return Err(format!(
                "left out of sweeps over more than {SWEEP_PROGRAM_NODE_LIMIT} nodes"
            ));
        }
        let (schedule, replay) =
            formulation.baseline(baseline, budget_bytes, Patience::until_set(&self.interrupt))?;
        Ok((AnyPlan::Schedule(schedule), replay))
    }

    /// This library's search at a budget in bytes.
    pub fn ours(
        &self,
        budget_bytes: u64,
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Compared {
        let outcome = self.solvable.solve(budget_bytes, &[], settings, listener);
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
            too_large: infeasible,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn strategies_end_once_the_flag_is_set() {
        let instance = zoo::build(&"zoo:chain?n=12".parse().unwrap()).unwrap();
        let instance = instance
            .with_host_link(Some("pcie4".parse().unwrap()))
            .unwrap();
        let linked = Linked::new(
            AnyFormulation::suiting(&instance),
            crate::offload::CopyPhase::Any,
        );
        let flag: Arc<AtomicBool> = Arc::default();
        let known = Baselines::of(linked).until_set(flag.clone());
        let budget = instance.static_bytes() + (1 << 30);
        assert!(known.run(budget).iter().any(|one| one.result.is_ok()));
        flag.store(true, Ordering::Relaxed);
        let ended = known.run(budget);
        assert_eq!(
            ended.iter().map(|one| one.name).collect::<Vec<_>>(),
            known.names()
        );
        let words = NotApplicable::OutOfTime.to_string();
        assert!(
            ended
                .iter()
                .all(|one| one.result.as_ref().err() == Some(&words))
        );
    }
}
