//! `remat-bb verify` of pipelines.

use crate::arguments::VerifyArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::document;
use remat_instances::pipeline::arrangement::{Arrangement, PipelineReplay};
use remat_instances::pipeline::document::{PipelineDocument, PipelineFile, SCHEMA};
use remat_instances::pipeline::split::Split;
use remat_report::Table;
use remat_report::pipeline::{DeviceJson, StageJson, devices, stages};
use remat_report::results::{self, OriginJson};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// A pipeline read from a file, with its replay.
pub(super) struct ReplayedPipeline {
    pub file: String,
    /// Fixed memory of each device in bytes.
    pub fixed_bytes: Vec<u64>,
    /// The graph of each stage.
    pub graphs: Vec<Instance>,
    pub document: PipelineDocument,
    pub replay: PipelineReplay,
}

/// Returns whether a file is a pipeline. A stream can be read once only, so it is not examined.
///
/// # Errors
/// [`Failure`] for a file that cannot be read.
pub(super) fn is_pipeline(path: &Path) -> Result<bool, Failure> {
    if !path.is_file() {
        return Ok(false);
    }
    let input = files::document(path)?;
    let schema = document::schema(&input.name, &input.bytes).unwrap_or(None);
    Ok(schema.as_deref() == Some(SCHEMA))
}

/// Reads a pipeline of a graph and replays it.
///
/// # Errors
/// [`Failure`] for a file that is not a pipeline of the graph, and for plans that cannot be executed.
pub(super) fn replayed(split: &Split<'_>, path: &Path) -> Result<ReplayedPipeline, Failure> {
    let input = files::document(path)?;
    let document = PipelineFile::parse(&input.name, &input.bytes)?.pipeline(split)?;
    let arrangement = Arrangement::new(split, document.schedule, document.cuts.clone());
    let broken = |problem: String| Failure::Usage {
        problem: format!("{}: {problem}", input.name),
        remedy: "give a pipeline that `remat-bb pipeline` wrote for this graph".into(),
    };
    let mut graphs = Vec::new();
    for stage in 0..document.schedule.stages() {
        let graph = arrangement.instance(stage, true);
        graphs.push(graph.map_err(|e| broken(e.problem))?);
    }
    let plans = document.plans.iter().map(|own| &own.plan);
    let pairs: Vec<_> = graphs.iter().zip(plans).collect();
    let replay = arrangement.replay(&document.devices, document.link.as_ref(), &pairs);
    let replay = replay.map_err(|e| broken(e.to_string()))?;
    let devices = 0..document.schedule.devices();
    Ok(ReplayedPipeline {
        file: input.name,
        fixed_bytes: devices.map(|d| arrangement.fixed_bytes(d)).collect(),
        replay,
        graphs,
        document,
    })
}

/// The graph of a pipeline, ready to be cut.
///
/// # Errors
/// [`Failure::Usage`] for a graph that cannot be cut.
pub(super) fn split<'a>(instance: &'a Instance) -> Result<Split<'a>, Failure> {
    Split::of(instance).map_err(|e| Failure::Usage {
        problem: e.to_string(),
        remedy: "give a training graph of one micro-batch".into(),
    })
}

/// Verifies a pipeline; `None` for any other file.
///
/// # Errors
/// [`Failure`] for bad input, plans that cannot be executed, and false claims.
pub fn run(arguments: &VerifyArguments) -> Result<Option<Exit>, Failure> {
    if !is_pipeline(&arguments.plan)? {
        return Ok(None);
    }
    if arguments.budget.is_some() {
        return Err(Failure::Usage {
            problem: "--budget: a pipeline names the budget of each device".into(),
            remedy: "leave out --budget".into(),
        });
    }
    let instance = source::instance(&arguments.instance)?;
    let split = split(&instance)?;
    let found = replayed(&split, &arguments.plan)?;
    let differences = differences(&found);
    files::print(&match arguments.json {
        true => json(&split, &found, &differences),
        false => summary(&split, &found, &differences),
    })?;
    match differences.is_empty() {
        true => Ok(Some(Exit::Done)),
        false => Err(Failure::Mismatch {
            file: found.file,
            differences,
        }),
    }
}

/// Claims of a file that its replay refutes, each in words.
fn differences(found: &ReplayedPipeline) -> Vec<String> {
    let (document, replay) = (&found.document, &found.replay);
    let mut list = Vec::new();
    let makespan = replay.timeline.makespan;
    if document.objective != replay.objective {
        let (recorded, replayed) = (document.objective, replay.objective);
        list.push(format!(
            "it records a time of {recorded} by the formula, which gives {replayed}"
        ));
    }
    if document.makespan != makespan {
        let recorded = document.makespan;
        list.push(format!(
            "it records a time of {recorded}, the replay takes {makespan}"
        ));
    }
    for (device, (own, peak)) in document.devices.iter().zip(&replay.peaks).enumerate() {
        if *peak > own.budget_bytes {
            let (needed, budget) = (format_bytes(*peak), format_bytes(own.budget_bytes));
            list.push(format!(
                "device {device} needs {needed}, above its budget of {budget}"
            ));
        }
    }
    for (stage, (plan, profile)) in document.plans.iter().zip(&replay.profiles).enumerate() {
        if plan.objective != profile.cost() {
            let (recorded, replayed) = (plan.objective, profile.cost());
            list.push(format!("the plan of stage {stage} records a cost of {recorded}, the replay costs {replayed}"));
        }
    }
    list
}

/// The object of `remat-bb verify --json` for a pipeline.
#[derive(Serialize, JsonSchema)]
pub(super) struct PipelineReplayJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// The file.
    file: &'a str,
    /// True if the replay confirms all claims of the file.
    verified: bool,
    /// Claims that the replay refutes, in words.
    differences: &'a [String],
    /// Order of passes.
    schedule: String,
    /// Micro-batches.
    microbatches: u32,
    /// Time by the formula.
    objective: u64,
    /// Time of the replay of all events.
    makespan: u64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Devices.
    devices: Vec<DeviceJson>,
    /// Stages.
    stages: Vec<StageJson>,
}

fn json(split: &Split<'_>, found: &ReplayedPipeline, differences: &[String]) -> String {
    let (document, replay) = (&found.document, &found.replay);
    results::json(&PipelineReplayJson {
        origin: OriginJson::of(split.instance()),
        file: &found.file,
        verified: differences.is_empty(),
        differences,
        schedule: document.schedule.kind().to_string(),
        microbatches: document.schedule.microbatches(),
        objective: replay.objective,
        makespan: replay.timeline.makespan,
        cost_unit: &split.instance().cost_unit().name,
        devices: devices(&document.devices, replay),
        stages: stages(split, &document.schedule, &document.cuts, replay),
    })
}

fn summary(split: &Split<'_>, found: &ReplayedPipeline, differences: &[String]) -> String {
    let (document, replay) = (&found.document, &found.replay);
    let unit = split.instance().cost_unit();
    let verdict = match differences.is_empty() {
        true => "verified: the replay confirms the claims of the file",
        false => "refuted: the replay does not confirm the claims of the file",
    };
    let mut table = Table::new(&[
        ("device", true),
        ("passes", true),
        ("peak", true),
        ("budget", true),
    ]);
    for (device, own) in document.devices.iter().enumerate() {
        table.row(vec![
            device.to_string(),
            replay.timeline.devices[device].len().to_string(),
            format_bytes(replay.peaks[device]),
            format_bytes(own.budget_bytes),
        ]);
    }
    format!(
        "{}: pipeline of {}, {}, {}\n  status    {verdict}\n  time      {} in the replay of all events, {} by the formula\n{}",
        found.file,
        split.instance().name(),
        document.schedule.kind(),
        remat_report::micro_batches(document.schedule.microbatches()),
        remat_report::cost(replay.timeline.makespan, unit),
        remat_report::cost(replay.objective, unit),
        table.render("  "),
    )
}
