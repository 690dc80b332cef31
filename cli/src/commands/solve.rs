//! `remat-bb solve`

mod addresses;
pub(super) mod least;
mod offload;
mod order;
mod summary;

use crate::arguments::SolveArguments;
use crate::failure::{Exit, Failure, note};
use crate::files::{self, Files};
use crate::progress::Reporter;
use crate::visible::shown;
use crate::{interrupt, rescue, source};
use remat_formulations::AnyFormulation;
use remat_formulations::solve::{AnyPlan, AnySolvable, LeastBudget, Solution, Solve};
use remat_instances::budget::{Budget, format_bytes, may_mean_percent};
use remat_instances::schedule::{ScheduleDocument, write_schedule};
use remat_instances::{Instance, write_instance};
use remat_report::SolveJson;
use remat_report::draw::progress::{self, ProgressPicture, ProgressPoint};
use remat_report::results;
use remat_search::{Listener, Progress, Settings, Status};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Solves, writes the requested files, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &SolveArguments) -> Result<Exit, Failure> {
    let mut arguments = arguments.clone();
    let (shards, link) = (&arguments.shards, arguments.link.as_ref());
    arguments.instance = shards.applied(&arguments.instance, link, &mut arguments.options)?;
    let arguments = &arguments;
    let begun = Instant::now();
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[
            ("--out", arguments.out.as_deref()),
            ("--schedule-out", arguments.schedule_out.as_deref()),
            ("--progress-svg", arguments.progress_svg.as_deref()),
            ("--certificate", arguments.certificate.as_deref()),
            ("--reordered-out", arguments.reordered_out.as_deref()),
        ],
    )?;
    order::check(arguments)?;
    offload::check(arguments)?;
    interrupt::catch(
        "ending with the best plan so far; once more to end at once",
        arguments.quiet,
    );
    let formulation = formulation(arguments)?;
    let instance = formulation.instance().clone();
    let plain = source::plain(&formulation)?;
    let settings = Settings {
        prove: arguments.certificate.is_some(),
        begun: Some(begun),
        ..arguments.options.settings()
    };
    let interrupted = interrupt::flag();
    let solvable = AnySolvable::of(formulation.clone(), arguments.options.copies());
    let watched = (&*interrupted as &dyn Listener, arguments.quiet);
    let mut least = least::asked(&arguments.budget, &solvable, &settings, watched)?;
    let budget_bytes = match &least {
        Some(least) => least.budget_bytes(),
        None => source::budget(&arguments.budget, plain.peak_bytes)?,
    };
    if may_mean_percent(budget_bytes, plain.peak_bytes) {
        let text = format!(
            "the budget is {budget_bytes} bytes; a share of the peak without recomputation is written {budget_bytes}%"
        );
        note(&text, arguments.quiet);
    }
    let reporter = Reporter::new(
        arguments.quiet,
        instance.cost_unit().clone(),
        plain.base_cost,
        settings.time_limit,
    );
    let listener = Followed {
        interrupted: &interrupted,
        reporter: &reporter,
        out: arguments.out.as_deref(),
    };
    // Writing a plan takes about as long as reading the instance.
    let writes = arguments.out.is_some() || arguments.schedule_out.is_some();
    let reserve = |limit: Duration| match writes {
        true => limit - begun.elapsed().min(limit / 2),
        false => limit,
    };
    let searched = Settings {
        time_limit: settings.time_limit.map(reserve),
        ..settings.clone()
    };
    let base_cost = plain.base_cost;
    let solve = Solve::of(formulation, Budget::Bytes(budget_bytes))
        .known_plain(plain)
        .options(&arguments.options)
        .settings(searched);
    let mut solve = started(solve, &instance, &arguments.starts)?;
    if arguments.schedule_out.is_some() && arguments.reordered_out.is_none() {
        // A schedule is of the instance as it was given.
        solve = solve.given_order();
    }
    if let Some((plan, _)) = least.as_ref().and_then(|least| least.plan.clone()) {
        solve = solve.start_from(plan, &instance);
    }
    let solution = solve.listener(&listener).run();
    reporter.finish();
    let solution = solution?;
    if least.is_none() {
        least = least::of_failure(&solution, &solvable, &*interrupted)?;
    }
    let solved = SolveReport {
        solution,
        settings: &settings,
        least,
    };
    let written = written(arguments, files, &solved, (reporter.looks(), base_cost));
    // The result is printed even if a file cannot be written.
    files.print(&if arguments.json {
        let least = solved.least.as_ref().map(least::json);
        results::json(&SolveJson::of(&solved.solution, solved.settings, least))
    } else {
        summary::summary(&solved, written.as_deref().unwrap_or_default())
    })?;
    written?;
    let solution = &solved.solution;
    if let Some(Err(problem)) = solution.addresses() {
        return Err(addresses::failure(problem));
    }
    Ok(match solution.status {
        Status::Infeasible => Exit::Infeasible,
        _ if solution.document().is_some() && solution.excess_bytes() == 0 => Exit::Done,
        _ => Exit::NoPlan,
    })
}

/// The requested formulation with the requested link.
fn formulation(arguments: &SolveArguments) -> Result<AnyFormulation, Failure> {
    let options = &arguments.options;
    if options.plan_class.is_some() {
        let instance = source::instance(&arguments.instance)?;
        return options.suiting(&instance).map_err(|e| Failure::Usage {
            problem: e.to_string(),
            remedy: "leave out --plan-class for all plans".into(),
        });
    }
    let (formulation, left_out) = source::formulation(&arguments.instance, options.formulation)?;
    if let Some(text) = &left_out {
        note(text, arguments.quiet);
    }
    let semantics = formulation.semantics();
    let formulation = match options.with_link(formulation.instance())? {
        None => formulation,
        Some(linked) => AnyFormulation::of(&linked, semantics)?,
    };
    match options.in_flight {
        None => Ok(formulation),
        Some(1) if formulation.instance().in_flight() > 1 => Err(Failure::Usage {
            problem: format!(
                "--in-flight 1: the instance has {} micro-batches in flight, and a plan for one would be read as one for these",
                formulation.instance().in_flight()
            ),
            remedy: "take in_flight out of the instance".into(),
        }),
        Some(k) => {
            let several = formulation.instance().with_in_flight(k);
            let several = several.map_err(|e| Failure::Usage {
                problem: format!("--in-flight {k}: {}", e.problem),
                remedy: e.remedy,
            })?;
            Ok(AnyFormulation::of(&several, semantics)?)
        }
    }
}

/// Writes the requested files; returns a line for each.
fn written(
    arguments: &SolveArguments,
    files: Files,
    solved: &SolveReport<'_>,
    looks: (Vec<ProgressPoint>, u64),
) -> Result<Vec<String>, Failure> {
    let out = |write: WriteResult, path: &Option<PathBuf>| {
        path.as_deref().map(|path| write(files, path, solved))
    };
    let lines = files::each(
        [
            out(write_plan, &arguments.out),
            out(write_schedule_file, &arguments.schedule_out),
            (arguments.progress_svg.as_deref())
                .map(|path| draw_progress(files, path, solved, looks).map(Some)),
            out(write_proof, &arguments.certificate),
            out(write_reordered, &arguments.reordered_out),
        ]
        .into_iter()
        .flatten(),
    )?;
    Ok(lines.into_iter().flatten().collect())
}

/// Adds starts to a solve.
fn started<'a>(
    mut solve: Solve<'a>,
    instance: &Instance,
    starts: &[PathBuf],
) -> Result<Solve<'a>, Failure> {
    for path in starts {
        let found = source::replayed_in(instance, path)?;
        let plan = match found.schedule {
            Some(schedule) => AnyPlan::Schedule(schedule),
            None => AnyPlan::Statements(found.plan),
        };
        solve = solve.start_from(plan, &found.instance);
    }
    Ok(solve)
}

/// Listener of a solve: shows progress, keeps the best plan, and passes on interrupts.
struct Followed<'a> {
    interrupted: &'a AtomicBool,
    reporter: &'a Reporter,
    out: Option<&'a Path>,
}

impl Listener for Followed<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupted.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        self.reporter.update(progress);
    }

    fn best(&self, cost: u64, plan: &dyn Fn() -> Option<String>) {
        if let Some(path) = self.out {
            rescue::keep(path, cost, plan);
        }
    }
}

/// A solution, its settings, and the least budget, if it was requested or no plan was found.
struct SolveReport<'a> {
    solution: Solution,
    settings: &'a Settings,
    least: Option<LeastBudget>,
}

/// Writes one file and returns a line about it; `None` if the solution has no content for it.
type WriteResult = fn(Files, &Path, &SolveReport<'_>) -> Result<Option<String>, Failure>;

/// Draws the solve over time; `looks` are its progress and the cost without recomputation.
fn draw_progress(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
    (mut looks, base_cost): (Vec<ProgressPoint>, u64),
) -> Result<String, Failure> {
    let solution = &solved.solution;
    looks.push(ProgressPoint {
        seconds: solution.seconds,
        objective: solution.cost(),
        bound: solution.bound,
    });
    let picture = ProgressPicture {
        title: format!("{}: cost and bound over time", solution.instance().name()),
        looks: &looks,
        base_cost,
        infeasible_because: solution.infeasible_because.as_deref(),
    };
    files.write(path, &progress::draw(&picture)?)?;
    Ok(format!("progress  {}", shown(path)))
}

/// Writes the proof of the bound, if there is one.
fn write_proof(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let solution = &solved.solution;
    let Some(proof) = &solution.proof else {
        note(
            "no certificate: the relaxation that proves bounds was not reached, or the graph is too large for it",
            false,
        );
        files.left(path);
        return Ok(None);
    };
    files.write(path, proof.text())?;
    let (plans, verb) = match solution.copies() {
        Some(_) => ("stage schedule with copies", "takes"),
        None => ("schedule", "costs"),
    };
    let claim = match proof.bound() {
        Some(bound) => {
            let unproven = match solution.status {
                Status::Infeasible => " (that none fits has no proof)".into(),
                _ if bound < solution.bound => {
                    format!(" (the bound {} has no proof)", solution.bound)
                }
                _ => String::new(),
            };
            format!("every {plans} within the budget {verb} at least {bound}{unproven}")
        }
        None => format!("no {plans} fits"),
    };
    Ok(Some(format!("proof     {}: {claim}", shown(path))))
}

/// Writes the plan, if there is one.
fn write_plan(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let solution = &solved.solution;
    let Some(document) = solution.document() else {
        files.left(path);
        return Ok(None);
    };
    files.write(path, &document.write(solution.instance()))?;
    Ok(Some(format!(
        "plan      {}: {} statements, peak {}",
        shown(path),
        document.plan.steps.len(),
        format_bytes(document.peak_bytes)
    )))
}

/// Writes the instance in the order of the answer.
fn write_reordered(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    files.write(path, &write_instance(solved.solution.scheduled_instance()))?;
    Ok(Some(format!("instance  {}", shown(path))))
}

/// Writes the schedule, if there is one.
fn write_schedule_file(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let solution = &solved.solution;
    let found = solution.schedule.as_ref().zip(solution.schedule_cost());
    let Some((schedule, objective)) = found else {
        files.left(path);
        return Ok(None);
    };
    let instance = solution.scheduled_instance();
    let document = ScheduleDocument {
        instance: instance.name().into(),
        budget_bytes: Some(solution.budget_bytes()),
        objective,
        schedule: schedule.clone(),
    };
    files.write(path, &write_schedule(&document, instance))?;
    Ok(Some(format!("schedule  {}", shown(path))))
}
