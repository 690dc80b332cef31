//! From an instance and a budget to a plan.

use crate::numbers::{members, wrong_type};
use crate::plan::{Found, Plan};
use crate::relay::{self, Ended, Progress, Relay};
use crate::trouble::{Detail, Trouble};
use crate::{arguments, asked};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::bound::check_budget;
use remat_formulations::options::SolveOptions;
use remat_formulations::solve::{AnyPlan, AnySolvable, LeastBudget, Solution};
use remat_formulations::{AnyFormulation, Solve};
use remat_instances::Instance;
use remat_instances::budget::{Budget, format_bytes, may_mean_percent};
use remat_search::{Progress as Look, Status};
use std::time::{Duration, Instant};

/// A requested solve.
struct Question {
    instance: Instance,
    /// The budget; `None` asks for the least one with a plan.
    budget: Option<Budget>,
    /// Plans to start from, with their graphs.
    starts: Vec<(AnyPlan, Instance)>,
    options: SolveOptions,
}

impl Question {
    fn answer(&self, relay: &Relay) -> Result<Solution, Trouble> {
        let formulation = self.options.suiting(&self.instance)?;
        let mut settings = self.options.settings();
        settings.begun = Some(Instant::now());
        let (budget, least) = match self.budget {
            Some(budget) => (budget, None),
            None => {
                let solvable = self.solvable(&formulation);
                let least = LeastBudget::known(&solvable, relay)?;
                let least = least.search(&solvable, &settings, relay)?;
                (Budget::Bytes(least.budget_bytes()), least.plan)
            }
        };
        let instance = formulation.instance().clone();
        let mut solve = Solve::of(formulation, budget)
            .options(&self.options)
            .settings(settings)
            .listener(relay);
        if let Some((plan, _)) = least {
            solve = solve.start_from(plan, &instance);
        }
        for (plan, view) in &self.starts {
            solve = solve.start_from(plan.clone(), view);
        }
        Ok(solve.run()?)
    }

    fn solvable(&self, formulation: &AnyFormulation) -> AnySolvable {
        AnySolvable::of(formulation.clone(), self.options.copies())
    }

    /// The plan of a solution.
    fn plan(&self, solution: &Solution, interrupted: bool) -> Result<Plan, Trouble> {
        let Some((document, replay)) = solution.document().zip(solution.replay()) else {
            return Err(match solution.status {
                Status::Infeasible => {
                    let solvable = self.solvable(solution.formulation());
                    infeasible(solution, &LeastBudget::known(&solvable, &())?)
                }
                _ => limit(solution, self.options.time_limit),
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

/// The error of an infeasible budget, with its reason and the least budget that is known.
fn infeasible(solution: &Solution, least: &LeastBudget) -> Trouble {
    let budget_bytes = solution.budget_bytes();
    let small = match solution.formulation().semantics().chooses_implementations() {
        true => None,
        false => check_budget(solution.instance(), budget_bytes).err(),
    };
    let because = solution.infeasible_because.as_deref();
    let reason = because.map_or(String::new(), |words| format!(": {words}"));
    let budget = format_bytes(budget_bytes);
    let message = format!("no stage schedule in this order fits the budget of {budget}{reason}");
    let known = least.known_bytes();
    let mut remedy = match known {
        Some(known) => format!(
            "a plan is known for budget={known} ({}); budget=\"least\" searches for less",
            format_bytes(known)
        ),
        None => "give more memory, or budget=\"least\"".into(),
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
        .detail("known_bytes", Detail::Count(known))
        .detail("node", Detail::Text(small.map(|s| s.name.into())))
        .detail("because", Detail::Text(because.map(str::to_owned)))
}

/// The error of a solve that ended without a plan.
fn limit(solution: &Solution, time_limit: Option<Duration>) -> Trouble {
    let budget_bytes = solution.budget_bytes();
    let work = match time_limit {
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

/// Solves: returns the cheapest plan found within a budget, with a lower bound.
#[pyfunction]
#[pyo3(signature = (instance, budget, *, starts = None, on_progress = None, **options))]
pub fn solve(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    budget: &Bound<'_, PyAny>,
    starts: Option<Bound<'_, PyAny>>,
    on_progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let options = asked::options("solve", asked::ALL, options)?;
    let has_link = options.copies().is_some();
    let start = |name: &str, plan: &Bound<'_, PyAny>| {
        let Ok(plan) = plan.cast::<Plan>() else {
            return Err(wrong_type(name, plan, "a Plan"));
        };
        let plan = plan.get();
        let schedule = plan.schedule.clone().filter(|_| !has_link);
        let statements = || AnyPlan::Statements(plan.document.plan.clone());
        let start = schedule.map_or_else(statements, AnyPlan::Schedule);
        Ok((start, plan.view.clone()))
    };
    let question = Question {
        instance: asked::linked(&options, crate::instance::of(instance)?)?,
        budget: arguments::budget_or_least(budget)?,
        starts: match &starts {
            Some(starts) => members("starts", starts, "a list of plans", start)?,
            None => Vec::new(),
        },
        options,
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
