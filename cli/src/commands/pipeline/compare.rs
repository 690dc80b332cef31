//! `remat-bb baselines` and `remat-bb sweep` of pipelines.

use super::{devices, failure, schedule};
use crate::arguments::{BaselinesArguments, PipelineShape, SweepArguments};
use crate::commands::verify_pipeline::split;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::progress::Activity;
use crate::{interrupt, source};
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::pipeline::split::Split;
use remat_pipeline::baselines::{Compared, baselines};
use remat_pipeline::{Pipeline, PipelineSettings, PipelineSolution};
use remat_report::results::{self, OriginJson};
use remat_report::{Table, counted, micro_batches};
use remat_search::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// A pipeline in `baselines`.
#[derive(Serialize, JsonSchema)]
struct ComparedJson {
    /// Rule for cuts.
    cuts: &'static str,
    /// Rule of recomputation.
    recomputation: &'static str,
    /// Time by the formula; null without a pipeline.
    objective: Option<u64>,
    /// Time of the replay of all events; null without a pipeline.
    makespan: Option<u64>,
    /// Largest memory of a device in bytes; null without a pipeline.
    peak_memory_bytes: Option<u64>,
    /// True if every device keeps its budget.
    fits: bool,
    /// Reason for no pipeline.
    problem: Option<String>,
}

/// The object of `remat-bb baselines --stages S --json`.
#[derive(Serialize, JsonSchema)]
pub struct PipelineBaselinesJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Order of passes.
    schedule: String,
    /// Number of devices.
    devices: usize,
    /// Micro-batches.
    microbatches: u32,
    /// Largest budget of a device in bytes.
    budget_bytes: u64,
    /// Unit of all times.
    cost_unit: &'a str,
    /// The pipelines, those that fit first, by time.
    baselines: Vec<ComparedJson>,
}

/// Compares known ways to cut and to recompute at a budget.
///
/// # Errors
/// [`Failure`] for bad input.
pub fn compare(arguments: &BaselinesArguments, shape: &PipelineShape) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[("--csv", arguments.csv.as_deref())],
    )?;
    let instance = source::instance(&arguments.instance)?;
    let split = split(&instance)?;
    let Some(budget) = &arguments.budget else {
        return Err(Failure::Usage {
            problem: "baselines of a pipeline need a budget of each device".into(),
            remedy: "add --budget, for example --budget 40GiB".into(),
        });
    };
    let (stages, count) = (
        one(shape, shape.stages())?,
        one(shape, shape.microbatches())?,
    );
    let pipeline = shaped(&split, shape, (stages, count), budget)?;
    let settings = PipelineSettings {
        time_limit: Some(arguments.time_limit),
        threads: arguments.options.threads,
        seed: arguments.options.seed,
        ..PipelineSettings::default()
    };
    let activity = Activity::begin("rules for cuts and recomputation", false);
    let rows = baselines(&pipeline, &settings, &*interrupt::flag()).map_err(failure);
    drop(activity);
    let mut rows = rows?;
    rows.sort_by_key(|row| match &row.result {
        Ok(found) if found.excess_bytes == 0 => (0, found.objective, found.peak_bytes),
        Ok(found) => (1, found.excess_bytes, found.objective),
        Err(_) => (2, 0, 0),
    });
    if let Some(path) = &arguments.csv {
        files.write(path, &csv(&rows))?;
    }
    files.print(&match arguments.json {
        true => results::json(&PipelineBaselinesJson {
            origin: OriginJson::of(&instance),
            schedule: pipeline.schedule().kind().to_string(),
            devices: pipeline.schedule().devices(),
            microbatches: count,
            budget_bytes: largest_budget(&pipeline),
            cost_unit: &instance.cost_unit().name,
            baselines: rows.iter().map(ComparedJson::of).collect(),
        }),
        false => table(&instance, &pipeline, &rows),
    })?;
    let fits = |row: &Compared| matches!(&row.result, Ok(found) if found.excess_bytes == 0);
    Ok(match rows.iter().any(fits) {
        true => Exit::Done,
        false => Exit::NoPlan,
    })
}

impl ComparedJson {
    fn of(row: &Compared) -> Self {
        let found = row.result.as_ref().ok();
        ComparedJson {
            cuts: row.cuts,
            recomputation: row.recomputation,
            objective: found.map(|f| f.objective),
            makespan: found.map(|f| f.makespan),
            peak_memory_bytes: found.map(|f| f.peak_bytes),
            fits: found.is_some_and(|f| f.excess_bytes == 0),
            problem: row.result.as_ref().err().cloned(),
        }
    }
}

fn csv(rows: &[Compared]) -> String {
    let mut text = String::from("cuts,recomputation,objective,makespan,peak_bytes,fits\n");
    for row in rows {
        let (cuts, rule) = (row.cuts, row.recomputation);
        // Writing to a string cannot fail.
        let _ = match &row.result {
            Ok(f) => writeln!(
                text,
                "{cuts},\"{rule}\",{},{},{},{}",
                f.objective,
                f.makespan,
                f.peak_bytes,
                f.excess_bytes == 0
            ),
            Err(_) => writeln!(text, "{cuts},\"{rule}\",,,,false"),
        };
    }
    text
}

fn table(instance: &Instance, pipeline: &Pipeline<'_, '_>, rows: &[Compared]) -> String {
    let unit = instance.cost_unit();
    let mut table = Table::new(&[
        ("cuts", false),
        ("recomputation", false),
        ("time", true),
        ("replayed", true),
        ("largest peak", true),
        ("fits", false),
    ]);
    for row in rows {
        let head = [row.cuts.to_owned(), row.recomputation.to_owned()];
        let rest = match &row.result {
            Ok(found) => vec![
                remat_report::cost(found.objective, unit),
                remat_report::cost(found.makespan, unit),
                format_bytes(found.peak_bytes),
                match found.excess_bytes {
                    0 => "yes".into(),
                    bytes => format!("no, {} too much", format_bytes(bytes)),
                },
            ],
            Err(problem) => vec![String::new(), String::new(), String::new(), problem.clone()],
        };
        table.row([&head[..], &rest].concat());
    }
    format!(
        "{}: {} on {}, {}, budget {}\n{}",
        instance.name(),
        pipeline.schedule().kind(),
        counted(pipeline.schedule().devices() as u64, "device"),
        micro_batches(pipeline.schedule().microbatches()),
        format_bytes(largest_budget(pipeline)),
        table.render("  ")
    )
}

fn largest_budget(pipeline: &Pipeline<'_, '_>) -> u64 {
    let budgets = pipeline.devices().iter().map(|device| device.budget_bytes);
    budgets.max().unwrap_or(0)
}

fn one(shape: &PipelineShape, list: &[u32]) -> Result<u32, Failure> {
    match list {
        [one] => Ok(*one),
        _ => Err(Failure::Usage {
            problem: format!(
                "baselines compare one pipeline: {} and {} are given",
                counted(shape.stages().len() as u64, "number of stages"),
                counted(shape.microbatches().len() as u64, "number of micro-batches"),
            ),
            remedy: "give one number with --stages and one with --microbatches".into(),
        }),
    }
}

fn shaped<'s, 'a>(
    split: &'s Split<'a>,
    shape: &PipelineShape,
    (stages, count): (u32, u32),
    budget: &str,
) -> Result<Pipeline<'s, 'a>, Failure> {
    let schedule = schedule(shape.schedule, stages, count)?;
    let devices = devices(stages as usize, budget, shape.speed.as_deref())?;
    let made = Pipeline::new(split, schedule, &devices).map_err(failure)?;
    Ok(made.link(shape.link.clone()))
}

/// A pipeline in `sweep`.
#[derive(Serialize, JsonSchema)]
struct SweptJson {
    /// Number of devices.
    stages: u32,
    /// Micro-batches.
    microbatches: u32,
    /// Budget of each device, as given.
    budget: String,
    /// Largest budget of a device in bytes; null if the counts do not go together.
    budget_bytes: Option<u64>,
    /// As of `pipeline`; `infeasible` where no pipeline fits.
    status: &'static str,
    /// Time by the formula; null without a pipeline.
    objective: Option<u64>,
    /// Proven lower bound; null if infeasible.
    bound: Option<u64>,
    /// `(objective - bound) / objective`.
    gap: Option<f64>,
    /// Time of the replay of all events; null without a pipeline.
    makespan: Option<u64>,
    /// Largest memory of a device in bytes; null without a pipeline.
    peak_memory_bytes: Option<u64>,
    /// Wall-clock time in seconds.
    seconds: f64,
    /// Reason for no pipeline.
    problem: Option<String>,
}

/// The object of `remat-bb sweep --stages S,.. --json`.
#[derive(Serialize, JsonSchema)]
pub struct PipelineSweepJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Order of passes.
    schedule: String,
    /// Unit of all times.
    cost_unit: &'a str,
    /// The pipelines: budgets within micro-batches within stages.
    pipelines: Vec<SweptJson>,
}

/// Solves pipelines over budgets, stages and micro-batches.
///
/// # Errors
/// [`Failure`] for bad input.
pub fn sweep(arguments: &SweepArguments, shape: &PipelineShape) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[("--csv", arguments.csv.as_deref())],
    )?;
    interrupt::catch(
        "ending with the pipelines done so far; once more to end at once",
        arguments.quiet,
    );
    let instance = source::instance(&arguments.instance)?;
    let split = split(&instance)?;
    let search = arguments.options.settings();
    let settings = PipelineSettings {
        time_limit: search.time_limit,
        threads: search.threads,
        seed: search.seed,
        ..PipelineSettings::default()
    };
    let budgets = budgets(&arguments.budgets)?;
    let flag = interrupt::flag();
    let mut rows = Vec::new();
    for &stages in shape.stages() {
        for &count in shape.microbatches() {
            for budget in &budgets {
                if flag.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let text = format!("{stages} stages, {}, {budget}", micro_batches(count));
                let _activity = Activity::begin(&text, arguments.quiet);
                let row = match shaped(&split, shape, (stages, count), budget) {
                    Ok(pipeline) => {
                        let solution = pipeline.solve(&settings, &*flag).map_err(failure)?;
                        SweptJson::of(
                            (stages, count),
                            budget,
                            largest_budget(&pipeline),
                            &solution,
                        )
                    }
                    // A corner of the grid that no schedule has.
                    Err(Failure::Usage { problem, .. }) => {
                        SweptJson::without((stages, count), budget, problem)
                    }
                    Err(other) => return Err(other),
                };
                rows.push(row);
            }
        }
    }
    if let Some(path) = &arguments.csv {
        files.write(path, &swept_csv(&rows))?;
    }
    let found = rows.iter().any(|row| row.objective.is_some());
    let infeasible = rows
        .iter()
        .all(|row| row.status == Status::Infeasible.as_str());
    files.print(&match arguments.json {
        true => results::json(&PipelineSweepJson {
            origin: OriginJson::of(&instance),
            schedule: shape.schedule.to_string(),
            cost_unit: &instance.cost_unit().name,
            pipelines: rows,
        }),
        false => swept_table(&instance, &rows),
    })?;
    Ok(match (found, infeasible) {
        (true, _) => Exit::Done,
        (false, true) => Exit::Infeasible,
        (false, false) => Exit::NoPlan,
    })
}

/// Budgets of a list or of a range, each as a text for all devices.
fn budgets(text: &str) -> Result<Vec<String>, Failure> {
    if !text.contains("..") {
        return Ok(text.split(',').map(str::to_owned).collect());
    }
    match text.contains('%') {
        // Hundredths of a percent, so that shares of an unknown peak are numbers.
        true => {
            let shares = crate::commands::sweep::budgets("--budgets", text, 10_000)?;
            let percent = |share: &u64| format!("{}%", *share as f64 / 100.0);
            Ok(shares.iter().map(percent).collect())
        }
        false => {
            let bytes = crate::commands::sweep::budgets("--budgets", text, 0)?;
            Ok(bytes.iter().map(u64::to_string).collect())
        }
    }
}

impl SweptJson {
    fn of(
        (stages, microbatches): (u32, u32),
        budget: &str,
        budget_bytes: u64,
        solution: &PipelineSolution,
    ) -> Self {
        let best = solution.best.as_ref();
        SweptJson {
            stages,
            microbatches,
            budget: budget.trim().into(),
            budget_bytes: Some(budget_bytes),
            status: solution.status.as_str(),
            objective: solution.objective(),
            bound: solution
                .infeasible_because
                .is_none()
                .then_some(solution.bound),
            gap: solution.gap(),
            makespan: best.map(|best| best.replay.timeline.makespan),
            peak_memory_bytes: best.and_then(|best| best.replay.peaks.iter().copied().max()),
            seconds: solution.elapsed.as_secs_f64(),
            problem: solution.infeasible_because.clone(),
        }
    }

    fn without((stages, microbatches): (u32, u32), budget: &str, problem: String) -> Self {
        SweptJson {
            stages,
            microbatches,
            budget: budget.trim().into(),
            budget_bytes: None,
            status: Status::Infeasible.as_str(),
            objective: None,
            bound: None,
            gap: None,
            makespan: None,
            peak_memory_bytes: None,
            seconds: 0.0,
            problem: Some(problem),
        }
    }
}

fn swept_csv(rows: &[SweptJson]) -> String {
    let mut text = String::from(
        "stages,microbatches,budget,budget_bytes,status,objective,bound,gap,makespan,peak_bytes,seconds\n",
    );
    let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    for row in rows {
        let gap = row.gap.map_or(String::new(), |gap| gap.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{gap},{},{},{:.3}",
            row.stages,
            row.microbatches,
            row.budget,
            number(row.budget_bytes),
            row.status,
            number(row.objective),
            number(row.bound),
            number(row.makespan),
            number(row.peak_memory_bytes),
            row.seconds
        );
    }
    text
}

fn swept_table(instance: &Instance, rows: &[SweptJson]) -> String {
    let unit = instance.cost_unit();
    let mut table = Table::new(&[
        ("stages", true),
        ("micro-batches", true),
        ("budget", true),
        ("status", false),
        ("time", true),
        ("gap", true),
        ("replayed", true),
        ("largest peak", true),
        ("seconds", true),
        ("", false),
    ]);
    for row in rows {
        let cost = |value: Option<u64>| {
            value.map_or(String::new(), |value| remat_report::cost(value, unit))
        };
        let gap = row.gap.map(|gap| format!("{:.3}%", 100.0 * gap));
        table.row(vec![
            row.stages.to_string(),
            row.microbatches.to_string(),
            row.budget.clone(),
            row.status.into(),
            cost(row.objective),
            gap.unwrap_or_default(),
            cost(row.makespan),
            row.peak_memory_bytes.map(format_bytes).unwrap_or_default(),
            format!("{:.1}", row.seconds),
            row.problem.clone().unwrap_or_default(),
        ]);
    }
    format!("{}\n{}", instance.name(), table.render("  "))
}
