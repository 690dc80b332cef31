//! From an instance and a budget to a plan.

use crate::arguments::{self, Limits};
use crate::linking::LinkArguments;
use crate::numbers::{members, whole_if_given, wrong_type};
use crate::plan::{Found, Plan};
use crate::relay::{self, Ended, Progress, Relay};
use crate::trouble::{Detail, Trouble};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::bound::check_budget;
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::solve::{AnyPlan, Solution};
use remat_formulations::{AnyFormulation, Solve};
use remat_instances::budget::{Budget, format_bytes, may_mean_percent};
use remat_instances::{Instance, Semantics};
use remat_search::{Progress as Look, Settings, Status};

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

/// A solve as it was asked for.
struct Question {
    instance: Instance,
    wanted: Option<Semantics>,
    budget: Budget,
    settings: Settings,
    /// Plans to start from, with the graphs that they are of.
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

impl Question {
    fn answer(&self, relay: &Relay) -> Result<Solution, Trouble> {
        let formulation = formulation(&self.instance, self.wanted)?;
        let solve = Solve::of(formulation, self.budget).settings(self.settings.clone());
        let mut solve = solve.listener(relay);
        if let Some(phase) = self.offload {
            solve = solve.offload(phase, self.release);
        }
        if self.reorder {
            solve = solve.reorder();
        }
        if self.addresses {
            solve = solve.addresses(self.alignment);
        }
        for (plan, view) in &self.starts {
            solve = solve.start_from(plan.clone(), view);
        }
        Ok(solve.run()?)
    }

    /// The plan of a solution.
    fn plan(&self, solution: &Solution, interrupted: bool) -> Result<Plan, Trouble> {
        let Some((document, replay)) = solution.document().zip(solution.replay()) else {
            return Err(match solution.status {
                Status::Infeasible => infeasible(solution),
                _ => limit(solution, &self.settings),
            });
        };
        let placed = solution.addresses().transpose();
        let placed = placed.map_err(|e| Trouble::argument("addresses", e))?;
        Ok(Plan {
            source: self.instance.clone(),
            view: (**solution.instance()).clone(),
            replay: replay.clone(),
            document: document.clone(),
            plain: solution.plain().clone(),
            schedule: solution.start().cloned(),
            found: Some(Found::of(solution, interrupted)),
            arena_bound_bytes: placed.map(|placed| placed.bound_bytes),
        })
    }
}

/// The error of a budget that nothing fits, in the words of its proof.
fn infeasible(solution: &Solution) -> Trouble {
    let budget_bytes = solution.budget_bytes();
    let small = match solution.formulation().semantics() {
        Semantics::Checkmate => check_budget(solution.instance(), budget_bytes).err(),
        Semantics::Monet => None,
    };
    let because = solution.infeasible_because.as_deref();
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
    if may_mean_percent(budget_bytes, solution.plain().peak_bytes) {
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
        .detail("node", Detail::Text(small.map(|s| s.name.into())))
        .detail("because", Detail::Text(because.map(str::to_owned)))
}

/// The error of a solve that ended without a plan.
fn limit(solution: &Solution, settings: &Settings) -> Trouble {
    let budget_bytes = solution.budget_bytes();
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
        .detail("bound", Detail::Count(Some(solution.bound)))
        .detail("seconds", Detail::Number(solution.seconds))
}

/// Solves: the plan of least cost within a budget that was found, and a bound.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    instance, budget, *, time_limit = None, effort = None, formulation = None, threads = None, seed = None,
    gap = None, starts = None, reorder = false, on_progress = None, addresses = false, alignment = None, **link
))]
pub fn solve(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    budget: &Bound<'_, PyAny>,
    time_limit: Option<Bound<'_, PyAny>>,
    effort: Option<&str>,
    formulation: Option<&str>,
    threads: Option<Bound<'_, PyAny>>,
    seed: Option<Bound<'_, PyAny>>,
    gap: Option<Bound<'_, PyAny>>,
    starts: Option<Bound<'_, PyAny>>,
    reorder: bool,
    on_progress: Option<Py<PyAny>>,
    addresses: bool,
    alignment: Option<Bound<'_, PyAny>>,
    link: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let alignment = whole_if_given("alignment", alignment.as_ref())?;
    let instance = crate::instance::of(instance)?;
    let link = LinkArguments::of("solve", link, true)?;
    let instance = match &link {
        Some(link) => link.applied(&instance)?,
        None => instance,
    };
    let start = |name: &str, plan: &Bound<'_, PyAny>| {
        let Ok(plan) = plan.cast::<Plan>() else {
            return Err(wrong_type(name, plan, "a Plan"));
        };
        let plan = plan.get();
        let schedule = plan.schedule.clone().filter(|_| link.is_none());
        let statements = || AnyPlan::Statements(plan.document.plan.clone());
        let start = schedule.map_or_else(statements, AnyPlan::Schedule);
        Ok((start, plan.view.clone()))
    };
    let question = Question {
        instance,
        release: link
            .as_ref()
            .map_or(Release::AtOnce, LinkArguments::release),
        offload: link.as_ref().map(LinkArguments::phase),
        wanted: arguments::semantics(formulation)?,
        budget: arguments::budget(budget)?,
        settings: Limits {
            time_limit,
            effort,
            threads,
            seed,
            gap,
        }
        .settings()?,
        starts: match &starts {
            Some(starts) => members("starts", starts, "a list of plans", start)?,
            None => Vec::new(),
        },
        reorder,
        addresses: addresses || alignment.is_some(),
        alignment,
    };
    let callback = on_progress.as_ref().map(|call| call.clone_ref(py));
    let Ended { value, interrupt } = relay::work(py, callback, |relay| question.answer(relay))?;
    let solution = value?;
    if solution.document().is_none()
        && solution.status != Status::Infeasible
        && let Some(interrupt) = interrupt
    {
        return Err(interrupt);
    }
    let interrupted = interrupt.is_some();
    let plan = relay::apart(py, || question.plan(&solution, interrupted))??;
    if let Some(callback) = on_progress {
        let last = Look {
            seconds: solution.seconds,
            objective: Some(plan.replay.makespan),
            bound: solution.bound,
            moves: solution.moves,
            nodes: solution.nodes,
        };
        callback.call1(py, (Progress::of(&last, 0, 1),))?;
    }
    Ok(plan)
}
