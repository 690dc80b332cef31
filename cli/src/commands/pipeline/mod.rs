//! `remat-bb pipeline`

pub mod compare;
mod summary;

use super::verify_pipeline::split;
use crate::arguments::PipelineArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::progress::Activity;
use crate::visible::shown;
use crate::{interrupt, source};
use remat_instances::instance::HostLink;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_pipeline::{Devices, Pipeline, PipelineError, PipelineSettings};
use remat_report::pipeline::PipelineJson;
use remat_report::results;
use remat_search::Status;

/// Finds cuts and plans, writes them, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or a file that cannot be written.
pub fn run(arguments: &PipelineArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[("--out", arguments.out.as_deref())],
    )?;
    interrupt::catch(
        "ending with the best pipeline so far; once more to end at once",
        arguments.quiet,
    );
    let schedule = schedule(arguments.schedule, arguments.stages, arguments.microbatches)?;
    let instance = source::instance(&arguments.instance)?;
    let split = split(&instance)?;
    let pipeline = pipeline(arguments, &split, schedule)?;
    let settings = PipelineSettings {
        time_limit: arguments.time_limit,
        gap: arguments.gap,
        threads: arguments.workers.threads,
        seed: arguments.workers.seed,
    };
    let activity = Activity::begin("searching for cuts and plans", arguments.quiet);
    let solution = pipeline.solve(&settings, &*interrupt::flag());
    drop(activity);
    let solution = solution.map_err(failure)?;
    let mut written = None;
    if let (Some(path), Some(document)) = (&arguments.out, solution.document()) {
        let text = document.write(&split);
        files.write(path, &text.map_err(|e| failure(e.into()))?)?;
        written = Some(format!("pipeline  {}", shown(path)));
    }
    files.print(&if arguments.json {
        results::json(&PipelineJson::of(&split, &solution))
    } else {
        summary::summary(&split, &solution, written.as_deref())
    })?;
    Ok(match solution.status {
        Status::Infeasible => Exit::Infeasible,
        _ if solution.best.is_some() => Exit::Done,
        _ => Exit::NoPlan,
    })
}

/// A schedule on so many devices.
///
/// # Errors
/// [`Failure::Usage`] for counts that it does not allow.
fn schedule(kind: ScheduleKind, devices: u32, microbatches: u32) -> Result<Schedule, Failure> {
    Schedule::new(kind, devices, microbatches).map_err(|e| Failure::Usage {
        problem: format!("--microbatches: {}", e.problem),
        remedy: e.remedy,
    })
}

fn pipeline<'s, 'a>(
    arguments: &PipelineArguments,
    split: &'s Split<'a>,
    schedule: Schedule,
) -> Result<Pipeline<'s, 'a>, Failure> {
    let count = schedule.devices();
    let devices = devices(count, &arguments.budget, arguments.speed.as_deref())?;
    let link = arguments.link.clone().map(|link| HostLink {
        latency_ns: arguments.link_latency.unwrap_or(0),
        ..link
    });
    let made = Pipeline::new(split, schedule, &devices);
    let made = made.map(|pipeline| pipeline.link(link));
    let made = match arguments.cut_before.is_empty() {
        true => made,
        false => made.and_then(|pipeline| pipeline.cut_before(&arguments.cut_before)),
    };
    made.map_err(failure)
}

/// Devices from lists of budgets and speeds.
///
/// # Errors
/// [`Failure::Usage`] names the value.
fn devices(count: usize, budgets: &str, speeds: Option<&str>) -> Result<Devices, Failure> {
    Devices::parse(count, budgets, speeds).map_err(|e| Failure::Usage {
        problem: e.to_string(),
        remedy: "give one value, or one for each device, with commas between".into(),
    })
}

/// An error of a pipeline as the command shows it.
fn failure(error: PipelineError) -> Failure {
    let remedy = match &error {
        PipelineError::FewPositions { .. } => "give fewer stages, or more nodes to --cut-before",
        PipelineError::NoPosition(_) => "name forward nodes between which no gradient goes ahead",
        PipelineError::NoTime(_) => "leave out --link, or give costs in ns, us, ms or s",
        PipelineError::Devices { .. } => "give one value, or one for each device",
        PipelineError::Count(_) => "give counts that the schedule allows",
        _ => "report this as a defect, with the command line",
    };
    let problem = match &error {
        PipelineError::NoPosition(_) => format!("--cut-before: {error}"),
        _ => error.to_string(),
    };
    Failure::Usage {
        problem,
        remedy: remedy.into(),
    }
}
