//! `remat-bb fits`

use crate::arguments::FitsArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::progress::Activity;
use crate::{again, interrupt, source};
use remat_formulations::solve::{AnySolvable, Baselines, Compared, LeastBudget};
use remat_instances::budget::{amount, format_bytes};
use remat_instances::simulate::Replay;
use remat_report::results;
use remat_report::results::OriginJson;
use remat_search::{STAGE_SCHEDULES, Settings, Solvable, Status};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Tells whether the step of a graph fits.
///
/// # Errors
/// [`Failure`] for bad input, and for a step in a Python file, which only the Python package runs.
pub fn run(arguments: &FitsArguments) -> Result<Exit, Failure> {
    refuse_python(arguments)?;
    interrupt::catch(
        "ending with the answer so far; once more to end at once",
        false,
    );
    let begun = Instant::now();
    let path = Path::new(&arguments.step);
    let files = Files::tried(arguments.json, &[path], &[])?;
    let (formulation, _) = source::formulation(path, None)?;
    let solvable = AnySolvable::from(formulation);
    let plain = solvable.plain().map_err(|e| Failure::Replay {
        file: arguments.step.clone(),
        problem: Box::new(e),
    })?;
    let budget_bytes = source::budget(&arguments.budget, plain.peak_bytes)?;
    let answer = answer(&solvable, plain, budget_bytes, arguments)?;
    files.print(&if arguments.json {
        answer.json(&solvable, begun)
    } else {
        answer.text(&solvable)
    })?;
    Ok(answer.exit())
}

/// The failure for steps in Python files, and for options that only they have.
fn refuse_python(arguments: &FitsArguments) -> Result<(), Failure> {
    let step = &arguments.step;
    let usage = |problem: String, remedy: String| Failure::Usage { problem, remedy };
    if let Some((file, _)) = step.split_once(".py") {
        return Err(usage(
            format!("{step}: a step in a Python file is run by the Python package alone"),
            format!(
                "give {file}.py:NAME, a function that returns (model, inputs), to the command of \
                 the Python package (pip install remat-bb)"
            ),
        ));
    }
    let options = [
        ("--device", arguments.device.is_some()),
        ("--accumulate", arguments.accumulate),
    ];
    match options.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(usage(
            format!("{name}: the graph {step} has its device and its gradients in it"),
            format!("leave {name} out; it goes with FILE.py:NAME"),
        )),
        None => Ok(()),
    }
}

/// Whether a step fits, and how.
struct Answer {
    /// The step on the command line.
    step: String,
    budget_bytes: u64,
    plain: Replay,
    /// The cheapest schedule that fits; the one without recomputation if that fits.
    found: Option<Replay>,
    /// Reason why no stage schedule fits, if that is proven.
    infeasible_because: Option<String>,
    /// What is known about the least budget, for a step that does not fit as it is.
    least: Option<LeastBudget>,
}

fn answer(
    solvable: &AnySolvable,
    plain: Replay,
    budget_bytes: u64,
    arguments: &FitsArguments,
) -> Result<Answer, Failure> {
    let mut answer = Answer {
        step: arguments.step.clone(),
        budget_bytes,
        found: (plain.peak_bytes <= budget_bytes).then(|| plain.clone()),
        plain,
        infeasible_because: None,
        least: None,
    };
    if answer.found.is_some() {
        return Ok(answer);
    }
    let flag = interrupt::flag();
    let activity = Activity::begin("looking for a plan", arguments.json);
    let known = Baselines::of(solvable.clone());
    let known = known.for_sweep().until_set(flag.clone());
    let mut all = known.run(budget_bytes);
    let fits = |one: &Compared| one.fits(budget_bytes) == Some(true);
    answer.infeasible_because = solvable.too_small(budget_bytes);
    if answer.infeasible_because.is_none() && !all.iter().any(fits) {
        let settings = Settings {
            time_limit: Some(arguments.time_limit),
            ..Settings::default().without_overtime()
        };
        let ours = known.ours(budget_bytes, &settings, &*flag);
        if ours.infeasible {
            answer.infeasible_because = ours.result.as_ref().err().cloned();
        }
        all.push(ours);
    }
    let fitting = all.iter().filter(|one| fits(one));
    let best = fitting.min_by_key(|one| one.rank(budget_bytes));
    answer.found = best.and_then(Compared::replay).cloned();
    if answer.found.is_none() {
        answer.least = Some(LeastBudget::known(solvable, &*flag)?);
    }
    drop(activity);
    Ok(answer)
}

/// How a step fits.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Fits {
    /// As it is.
    Plain,
    /// With recomputation.
    Recomputation,
    /// Proven: no stage schedule fits.
    No,
    /// No plan that fits was found, and none is excluded.
    Unknown,
}

impl Answer {
    fn fits(&self) -> Fits {
        match &self.found {
            Some(_) if self.plain.peak_bytes <= self.budget_bytes => Fits::Plain,
            Some(_) => Fits::Recomputation,
            None if self.infeasible_because.is_some() => Fits::No,
            None => Fits::Unknown,
        }
    }

    fn exit(&self) -> Exit {
        match self.fits() {
            Fits::Plain | Fits::Recomputation => Exit::Done,
            Fits::No => Exit::Infeasible,
            Fits::Unknown => Exit::NoPlan,
        }
    }

    fn text(&self, solvable: &AnySolvable) -> String {
        let instance = solvable.formulation().instance();
        let (budget, plain) = (self.budget_bytes, self.plain.peak_bytes);
        let mut text = match (self.fits(), &self.found) {
            (Fits::Recomputation, Some(found)) => format!(
                "fits with recomputation: peak {} of {}, {:.2}% over no recomputation\n",
                format_bytes(found.peak_bytes),
                format_bytes(budget),
                found.overhead_percent(),
            ),
            (Fits::No, _) => format!(
                "does not fit: {}\n",
                self.infeasible_because.as_deref().unwrap_or_default()
            ),
            (Fits::Unknown, _) => {
                format!("unknown: no plan was found for {}\n", format_bytes(budget))
            }
            _ => format!(
                "fits: peak {} of {}, {} are free\n",
                format_bytes(plain),
                format_bytes(budget),
                format_bytes(budget - plain),
            ),
        };
        text += &format!("  step      {}\n", instance.name());
        text += &format!(
            "  peak      {} without recomputation\n",
            format_bytes(plain)
        );
        if let Some(least) = &self.least {
            let known = match least.known_bytes() {
                Some(known) => format!("a plan is known for {}; ", format_bytes(known)),
                None => String::new(),
            };
            let bound = format_bytes(least.bound_bytes);
            text += &format!("  least     {known}no stage schedule fits in less than {bound}\n");
        }
        let next = match (&self.least, self.fits()) {
            (_, Fits::Recomputation) => Some(self.budget_bytes),
            (Some(least), _) => least.known_bytes(),
            _ => None,
        };
        if let Some(bytes) = next {
            let step = again::quoted(&self.step);
            let budget = amount(bytes);
            text +=
                &format!("  next      remat-bb solve {step} --budget {budget} --out plan.json\n");
        }
        text
    }

    fn json(&self, solvable: &AnySolvable, begun: Instant) -> String {
        let instance = solvable.formulation().instance();
        let objective = self.found.as_ref().map(|found| found.makespan);
        let base = self.plain.base_cost;
        let status = match self.fits() {
            Fits::Plain => Status::Optimal,
            Fits::Recomputation if objective == Some(base) => Status::Optimal,
            Fits::Recomputation => Status::Feasible,
            Fits::No => Status::Infeasible,
            Fits::Unknown if interrupt::flag().load(Ordering::Relaxed) => Status::Interrupted,
            Fits::Unknown => Status::Limit,
        };
        let gap = objective.map(|cost| (cost - base.min(cost)) as f64 / (cost.max(1)) as f64);
        results::json(&FitsJson {
            origin: OriginJson::of(instance),
            status: status.as_str(),
            fits: self.fits(),
            objective,
            bound: objective.map(|_| base),
            gap,
            bound_scope: STAGE_SCHEDULES,
            overhead_percent: self.found.as_ref().map(Replay::overhead_percent),
            cost_unit: &instance.cost_unit().name,
            peak_memory_bytes: self.found.as_ref().map(|found| found.peak_bytes),
            plain_peak_bytes: self.plain.peak_bytes,
            budget_bytes: self.budget_bytes,
            least_budget_bytes: self.least.as_ref().and_then(LeastBudget::known_bytes),
            least_bound_bytes: self.least.as_ref().map(|least| least.bound_bytes),
            infeasible_because: self.infeasible_because.as_deref(),
            seconds: begun.elapsed().as_secs_f64(),
            nodes: None,
            lp_iterations: None,
        })
    }
}

/// The object of `remat-bb fits --json`, for a graph.
#[derive(Serialize, JsonSchema)]
pub(super) struct FitsJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// `optimal`: no plan is cheaper. `feasible`: the plan fits. `infeasible`: no stage schedule
    /// fits. `limit` or `interrupted`: no plan was found.
    status: &'a str,
    /// How the step fits.
    fits: Fits,
    /// Replayed cost of the cheapest plan found; null without a plan.
    objective: Option<u64>,
    /// Cost of the step without recomputation, which every plan costs at least; null without a plan.
    bound: Option<u64>,
    /// `(objective - bound) / objective`; null without a plan.
    gap: Option<f64>,
    /// Plans that the bound holds for.
    bound_scope: &'a str,
    /// Cost above the step without recomputation, in percent of it; null without a plan.
    overhead_percent: Option<f64>,
    /// Unit of all costs.
    cost_unit: &'a str,
    /// Replayed peak memory of the plan in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Least peak of a known plan in bytes, for a step without a plan.
    least_budget_bytes: Option<u64>,
    /// Proven lower bound on the peak of stage schedules in bytes, for a step without a plan.
    least_bound_bytes: Option<u64>,
    /// Reason in words why no stage schedule in the given order fits; null without a proof.
    infeasible_because: Option<&'a str>,
    /// Time in seconds.
    seconds: f64,
    /// Null: the nodes of a quick search are not counted.
    nodes: Option<u64>,
    /// Null: the iterations of a quick search are not counted.
    lp_iterations: Option<u64>,
}
