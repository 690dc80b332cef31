//! From an instance and a budget to a plan.

use crate::arguments::{self, Limits};
use crate::linking::{self, LinkArguments};
use crate::plan::{Found, Plan};
use crate::relay::{self, Ended, Progress, Relay};
use crate::trouble::{Detail, Trouble};
use pyo3::prelude::*;
use remat_formulations::Solve;
use remat_formulations::bound::check_budget;
use remat_formulations::offload::nodes::{Offload, Offloaded};
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::place::{ALIGNMENT_LIMIT, PlacePlanError, PlaceSettings};
use remat_formulations::reorder::{Reorder, Reordered};
use remat_formulations::solve::{
    AnyFormulation, AnyPlan, Outcome, Progress as Look, Settings, Solvable, Status,
};
use remat_instances::budget::{Budget, format_bytes};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{self, Replay};
use remat_instances::{Instance, Semantics};

/// Time for addresses, as a share of the time limit, on top of it.
const ADDRESS_SHARE: f64 = 0.1;

/// Budgets up to which a percentage may have been meant.
const PERCENT_LIMIT: u64 = 100;

/// The formulation that was asked for, or the one that suits an instance.
///
/// # Errors
/// `InvalidArgument` where it does not apply to the instance.
pub fn formulation(
    instance: &Instance,
    wanted: Option<Semantics>,
) -> Result<AnyFormulation, Trouble> {
    match wanted {
        None => Ok(AnyFormulation::suiting(instance)),
        Some(semantics) => Ok(AnyFormulation::of(instance, semantics)?),
    }
}

fn semantics_of(plan: &AnyPlan) -> Semantics {
    match plan {
        AnyPlan::Schedule(Schedule::Checkmate(_)) => Semantics::Checkmate,
        AnyPlan::Schedule(Schedule::Monet(_)) => Semantics::Monet,
        AnyPlan::Statements(plan) => plan.semantics,
    }
}

/// Returns whether two instances are the same graph, whatever their links.
fn is_same_graph(one: &Instance, other: &Instance) -> bool {
    let (one, other) = (one.data(), other.data());
    one.name == other.name && one.cost_unit == other.cost_unit && one.nodes == other.nodes
}

/// A solve as it was asked for.
struct Question {
    instance: Instance,
    wanted: Option<Semantics>,
    budget: Budget,
    settings: Settings,
    /// Schedules or, with a link, plans to start from, with the graphs that they are of.
    starts: Vec<(AnyPlan, Instance)>,
    /// True if the order of first computations is chosen, too.
    reorder: bool,
    /// Times at which copies to the host are made, where the instance's link is used.
    offload: Option<CopyPhase>,
    release: Release,
    /// True if the plan is to have addresses, at multiples of so many bytes.
    addresses: bool,
    alignment: Option<u64>,
}

/// A solve as it ended.
struct Answer {
    /// The graph as the program sees it.
    view: Instance,
    outcome: Outcome,
    budget_bytes: u64,
    /// The answer where the order was chosen.
    reordered: Option<Reordered>,
    /// The answer where copies to the host were.
    offloaded: Option<Offloaded>,
    plain: Replay,
    semantics: Semantics,
}

impl Answer {
    fn has_plan(&self) -> bool {
        match (&self.reordered, &self.offloaded) {
            (Some(answer), _) => answer.plan.is_some(),
            (None, Some(answer)) => answer.plan.is_some(),
            (None, None) => self.outcome.schedule.is_some(),
        }
    }
}

impl Question {
    fn answer(&self, relay: &Relay) -> Result<Answer, Trouble> {
        let formulation = formulation(&self.instance, self.wanted)?;
        let plain = formulation.plain()?;
        let semantics = formulation.semantics();
        if let Some(phase) = self.offload {
            return self.offloaded(formulation, phase, plain, relay);
        }
        if self.reorder {
            return self.reordered(formulation, plain, relay);
        }
        let mut solve = Solve::of(formulation.clone(), self.budget)
            .settings(self.settings.clone())
            .listener(relay);
        self.check_starts(&formulation)?;
        for schedule in self.starts.iter().filter_map(|(start, _)| start.schedule()) {
            solve = solve.start(schedule.clone());
        }
        let (outcome, budget_bytes) = solve.outcome()?;
        Ok(Answer {
            view: (**formulation.instance()).clone(),
            outcome,
            budget_bytes,
            reordered: None,
            offloaded: None,
            plain,
            semantics,
        })
    }

    /// Checks that the plans to start from are of the graph and the formulation.
    fn check_starts(&self, formulation: &AnyFormulation) -> Result<(), Trouble> {
        let semantics = formulation.semantics();
        let is_unfit = |(plan, view): &(AnyPlan, Instance)| {
            semantics_of(plan) != semantics || !is_same_graph(view, formulation.instance())
        };
        let Some(k) = self.starts.iter().position(is_unfit) else {
            return Ok(());
        };
        let words = format!("starts[{k}]: a plan of another instance or formulation");
        Err(Trouble::new("InvalidPlan", words)
            .at(format!("starts[{k}]"))
            .remedy(format!(
                "give plans of {:?} under {:?}",
                self.instance.name(),
                semantics.as_str()
            )))
    }

    /// The answer with copies to the host.
    fn offloaded(
        &self,
        formulation: AnyFormulation,
        phase: CopyPhase,
        plain: Replay,
        relay: &Relay,
    ) -> Result<Answer, Trouble> {
        if self.reorder {
            let words = "reorder: a solve with copies to the host has none";
            return Err(Trouble::new("InvalidArgument", words)
                .at("reorder")
                .remedy("leave out reorder, or offload"));
        }
        self.check_starts(&formulation)?;
        let starts = self.starts.iter();
        let starts = starts.map(|(start, _)| start.statements(formulation.instance()));
        let starts: Vec<_> = starts.collect::<Result<_, _>>()?;
        let budget_bytes = self.budget.bytes(plain.peak_bytes);
        let semantics = formulation.semantics();
        let offload = Offload::new(formulation, budget_bytes)
            .phase(phase)
            .release(self.release);
        let offload = offload.settings(self.settings.clone()).starts(&starts);
        let answer = offload.listener(relay).run()?;
        Ok(Answer {
            view: (*answer.instance).clone(),
            outcome: answer.outcome.clone(),
            budget_bytes,
            reordered: None,
            offloaded: Some(answer),
            plain,
            semantics,
        })
    }

    /// The answer in an order of first computations that is chosen.
    fn reordered(
        &self,
        formulation: AnyFormulation,
        plain: Replay,
        relay: &Relay,
    ) -> Result<Answer, Trouble> {
        if !self.starts.is_empty() {
            let words = "starts: a solve that chooses the order starts from none";
            return Err(Trouble::new("InvalidArgument", words)
                .at("starts")
                .remedy("leave out starts, or reorder=True"));
        }
        let budget_bytes = self.budget.bytes(plain.peak_bytes);
        let semantics = formulation.semantics();
        let reorder = Reorder::new(formulation, budget_bytes).settings(self.settings.clone());
        let answer = reorder.listener(relay).run()?;
        Ok(Answer {
            view: (*answer.given).clone(),
            outcome: answer.outcome.clone(),
            budget_bytes,
            reordered: Some(answer),
            offloaded: None,
            plain,
            semantics,
        })
    }

    /// The plan of an answer.
    fn plan(&self, ended: &Answer, interrupted: bool) -> Result<Plan, Trouble> {
        let Answer {
            view,
            outcome,
            budget_bytes,
            reordered,
            offloaded,
            plain,
            semantics,
        } = ended;
        let found = || Some(Found::of(outcome, interrupted));
        let with_copies = offloaded.as_ref().and_then(|answer| answer.plan.as_ref());
        let chosen = reordered.as_ref().and_then(|r| {
            let document = r.plan.as_ref()?;
            let own = r.is_given_order() && outcome.cost() == Some(document.objective);
            Some((document, own))
        });
        let chosen = chosen.or(with_copies.map(|document| (document, false)));
        let plan = match (chosen, &outcome.schedule) {
            (Some((document, own)), _) => Plan {
                source: self.instance.clone(),
                view: view.clone(),
                replay: simulate::plan(view, &document.plan)?,
                document: document.clone(),
                plain: plain.clone(),
                schedule: outcome.schedule.clone().filter(|_| own),
                found: found(),
                arena_bound_bytes: None,
            },
            (None, Some(schedule)) => Plan::of(
                &self.instance,
                view,
                AnyPlan::Schedule(schedule.clone()),
                *budget_bytes,
                plain,
                found(),
            )?,
            (None, None) if outcome.status == Status::Infeasible => {
                return Err(infeasible(
                    view,
                    *semantics,
                    *budget_bytes,
                    outcome.infeasible_because.as_deref(),
                    plain,
                ));
            }
            (None, None) => return Err(limit(outcome, *budget_bytes, &self.settings)),
        };
        if !self.addresses {
            return Ok(plan);
        }
        let how = PlaceSettings {
            time_limit: self.settings.time_limit.map(|t| t.mul_f64(ADDRESS_SHARE)),
            threads: self.settings.threads,
            seed: self.settings.seed,
            ..PlaceSettings::default()
        };
        plan.placed(self.alignment, &how)
    }
}

/// The error of a budget that nothing fits, in the words of its proof.
fn infeasible(
    view: &Instance,
    semantics: Semantics,
    budget_bytes: u64,
    because: Option<&str>,
    plain: &Replay,
) -> Trouble {
    let small = match semantics {
        Semantics::Checkmate => check_budget(view, budget_bytes).err(),
        Semantics::Monet => None,
    };
    let reason = because.map_or(String::new(), |words| format!(": {words}"));
    let budget = format_bytes(budget_bytes);
    let message = format!("no stage schedule in this order fits the budget of {budget}{reason}");
    let mut remedy = match &small {
        Some(small) => {
            let needed = small.needed_bytes;
            format!(
                "give more than that: under checkmate no plan fits into less than {needed} bytes"
            )
        }
        None => "give more memory".into(),
    };
    if budget_bytes <= PERCENT_LIMIT && plain.peak_bytes > 100 * budget_bytes.max(1) {
        remedy +=
            &format!("; a share of the peak without recomputation is written \"{budget_bytes}%\"");
    }
    Trouble::new("InfeasibleBudget", message)
        .at("budget")
        .remedy(remedy)
        .detail("budget_bytes", Detail::Count(Some(budget_bytes)))
        .detail(
            "needed_bytes",
            Detail::Count(small.as_ref().map(|s| s.needed_bytes)),
        )
        .detail("node", Detail::Text(small.map(|s| s.name)))
        .detail("because", Detail::Text(because.map(str::to_owned)))
}

/// The error of a solve that ended without a plan.
fn limit(outcome: &Outcome, budget_bytes: u64, settings: &Settings) -> Trouble {
    let work = match settings.time_limit {
        Some(limit) => format!("the time limit of {} s", limit.as_secs_f64()),
        None => "the fixed amount of work of a solve without a time limit".into(),
    };
    let budget = format_bytes(budget_bytes);
    let message = format!("no plan for the budget of {budget} was found within {work}");
    Trouble::new("LimitReached", message)
        .at("time_limit")
        .remedy("give more time or more memory")
        .detail("budget_bytes", Detail::Count(Some(budget_bytes)))
        .detail("bound", Detail::Count(Some(outcome.bound)))
        .detail("seconds", Detail::Number(outcome.seconds))
}

/// Solves: the plan of least cost within a budget that was found, and a bound.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    instance, budget, *, time_limit = None, formulation = None, threads = None, seed = 0,
    gap = None, starts = Vec::new(), reorder = false, offload = None, host_memory = None,
    offload_phase = "any", offload_release = "at-once", on_progress = None, addresses = false, alignment = None
))]
pub fn solve(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    budget: &Bound<'_, PyAny>,
    time_limit: Option<Bound<'_, PyAny>>,
    formulation: Option<&str>,
    threads: Option<i64>,
    seed: u64,
    gap: Option<Bound<'_, PyAny>>,
    starts: Vec<Py<Plan>>,
    reorder: bool,
    offload: Option<&str>,
    host_memory: Option<Bound<'_, PyAny>>,
    offload_phase: &str,
    offload_release: &str,
    on_progress: Option<Py<PyAny>>,
    addresses: bool,
    alignment: Option<u64>,
) -> PyResult<Plan> {
    if let Some(found) = alignment.filter(|a| !a.is_power_of_two() || *a > ALIGNMENT_LIMIT) {
        let problem = PlacePlanError::Alignment { found };
        return Err(Trouble::argument("alignment", problem).into());
    }
    let instance = crate::instance::of(instance)?;
    let link = LinkArguments::of(offload, host_memory, offload_phase)?;
    let instance = match &link {
        Some(link) => link.applied(&instance)?,
        None => instance,
    };
    let start = |plan: &Py<Plan>| {
        let plan = plan.get();
        let start = match &link {
            Some(_) => AnyPlan::Statements(plan.document.plan.clone()),
            None => AnyPlan::Schedule(plan.start()?),
        };
        Ok((start, plan.view.clone()))
    };
    let question = Question {
        instance,
        release: linking::release(offload_release, link.as_ref())?,
        offload: link.as_ref().map(LinkArguments::phase),
        wanted: arguments::semantics(formulation)?,
        budget: arguments::budget(budget)?,
        settings: Limits {
            time_limit,
            threads,
            seed,
            gap,
        }
        .settings()?,
        starts: starts.iter().map(start).collect::<Result<_, Trouble>>()?,
        reorder,
        addresses: addresses || alignment.is_some(),
        alignment,
    };
    let callback = on_progress.as_ref().map(|call| call.clone_ref(py));
    let Ended { value, interrupt } = relay::work(py, callback, |relay| question.answer(relay))?;
    let answer = value?;
    if !answer.has_plan()
        && answer.outcome.status != Status::Infeasible
        && let Some(interrupt) = interrupt
    {
        return Err(interrupt);
    }
    let interrupted = interrupt.is_some();
    let plan = py.detach(|| question.plan(&answer, interrupted))?;
    if let Some(callback) = on_progress {
        let outcome = &answer.outcome;
        let last = Look {
            seconds: outcome.seconds,
            objective: Some(plan.replay.makespan),
            bound: outcome.bound,
            moves: outcome.moves,
            nodes: outcome.nodes,
        };
        callback.call1(py, (Progress::of(&last, 0, 1),))?;
    }
    Ok(plan)
}
