//! `remat-bb show` of pipelines.

use super::show_viewers;
use super::verify_pipeline::{ReplayedPipeline, is_pipeline, replayed, split};
use crate::arguments::ShowArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::source;
use remat_instances::budget::format_bytes;
use remat_instances::pipeline::split::Split;
use remat_instances::pipeline::timeline::{MemorySpan, device_memory};
use remat_report::draw::pipeline::PipelinePicture;
use remat_report::draw::{pipeline, pipeline_memory};
use remat_report::pipeline::{DeviceJson, StageJson, devices, stages};
use remat_report::results::{self, OriginJson};
use remat_report::{Table, counted, micro_batches, snapshot, steps_csv, trace};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Shows a pipeline; `None` for any other file.
///
/// # Errors
/// [`Failure`] for bad input, plans that cannot be executed, and files that cannot be written.
pub fn run(arguments: &ShowArguments) -> Result<Option<Exit>, Failure> {
    let Some(path) = arguments.plan.as_deref() else {
        return Ok(None);
    };
    if !is_pipeline(path)? {
        return Ok(None);
    }
    let unfit = [
        ("--svg-addresses", arguments.svg_addresses.is_some()),
        ("--statements", arguments.statements),
        ("--budget", arguments.budget.is_some()),
        ("--formulation", arguments.program.formulation.is_some()),
    ];
    if let Some((name, _)) = unfit.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage {
            problem: format!("{name} is for plans of one device"),
            remedy: format!("leave {name} out, or name a plan"),
        });
    }
    let inputs: [&Path; 2] = [path, &arguments.instance];
    let pictures = [
        ("--svg", arguments.svg.as_deref()),
        ("--svg-schedule", arguments.svg_schedule.as_deref()),
        ("--svg-memory", arguments.svg_memory.as_deref()),
    ];
    let outputs = [&pictures[..], &show_viewers::outputs(arguments)].concat();
    let files = Files::tried(arguments.json, &inputs, &outputs)?;
    let instance = source::instance(&arguments.instance)?;
    let split = split(&instance)?;
    let found = replayed(&split, path)?;
    let picture = |subject: &str| picture(&split, &found, subject);
    for path in arguments.svg.iter().chain(&arguments.svg_schedule) {
        files.write(path, &pipeline::draw(&picture("passes of a pipeline"))?)?;
    }
    if let Some(path) = &arguments.svg_memory {
        let drawn = pipeline_memory::draw(&picture("memory of the devices of a pipeline"))?;
        files.write(path, &drawn)?;
    }
    let shown = picture("pipeline");
    let contents = show_viewers::Contents {
        trace: || Ok(trace::of_pipeline(&shown)),
        snapshot: || Ok(snapshot::of_pipeline(&shown)),
        csv: || steps_csv::of_pipeline(&shown),
    };
    show_viewers::write(&files, arguments, contents)?;
    files.print(&match arguments.json {
        true => json(&split, &found),
        false => describe(&split, &found),
    })?;
    Ok(Some(Exit::Done))
}

/// The pipeline for pictures.
pub(super) fn picture<'p>(
    split: &Split<'p>,
    found: &'p ReplayedPipeline,
    subject: &str,
) -> PipelinePicture<'p> {
    PipelinePicture {
        schedule: found.document.schedule,
        devices: &found.document.devices,
        fixed_bytes: &found.fixed_bytes,
        replay: &found.replay,
        unit: split.instance().cost_unit(),
        title: format!("{}: {subject}", split.instance().name()),
    }
}

fn describe(split: &Split<'_>, found: &ReplayedPipeline) -> String {
    let (document, replay) = (&found.document, &found.replay);
    let instance = split.instance();
    let unit = instance.cost_unit();
    let schedule = &document.schedule;
    let makespan = replay.timeline.makespan;
    let mut out = format!(
        "{}: pipeline of {} on {}, {}, {}\n",
        instance.name(),
        counted(schedule.stages() as u64, "stage"),
        counted(schedule.devices() as u64, "device"),
        schedule.kind(),
        micro_batches(schedule.microbatches()),
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "  time      {} in the replay of all events, {} by the formula\n  idle      {:.1}% of the devices' time",
        remat_report::cost(makespan, unit),
        remat_report::cost(replay.objective, unit),
        100.0 * picture(split, found, "").idle_share(),
    );
    out += &devices_table(split, found);
    out.push('\n');
    out += &stages_table(split, found);
    out
}

/// A line for each device: its time, and its memory at the peak.
fn devices_table(split: &Split<'_>, found: &ReplayedPipeline) -> String {
    let (document, replay) = (&found.document, &found.replay);
    let unit = split.instance().cost_unit();
    let makespan = replay.timeline.makespan;
    let mut table = Table::new(&[
        ("device", true),
        ("busy", true),
        ("idle", true),
        ("fixed", true),
        ("waiting", true),
        ("running", true),
        ("peak", true),
        ("budget", true),
    ]);
    for (device, own) in document.devices.iter().enumerate() {
        let busy = replay.timeline.busy(device);
        let spans = device_memory(&replay.timeline, device, &replay.profiles);
        let most = spans.iter().map(MemorySpan::bytes).max();
        let peak = spans.iter().find(|span| Some(span.bytes()) == most);
        let of = |bytes: fn(&MemorySpan) -> u64| format_bytes(peak.map_or(0, bytes));
        let idle = 100.0 * (makespan - busy) as f64 / makespan.max(1) as f64;
        table.row(vec![
            device.to_string(),
            remat_report::cost(busy, unit),
            format!("{idle:.1}%"),
            format_bytes(found.fixed_bytes[device]),
            of(|span| span.waiting_bytes),
            of(|span| span.running_bytes),
            format_bytes(replay.peaks[device]),
            format_bytes(own.budget_bytes),
        ]);
    }
    table.render("  ")
}

fn stages_table(split: &Split<'_>, found: &ReplayedPipeline) -> String {
    let (document, replay) = (&found.document, &found.replay);
    let unit = split.instance().cost_unit();
    let schedule = &document.schedule;
    let mut table = Table::new(&[
        ("stage", true),
        ("device", true),
        ("begins with", false),
        ("in flight", true),
        ("forward", true),
        ("backward", true),
        ("recomputed", true),
        ("saved each", true),
    ]);
    for (stage, profile) in replay.profiles.iter().enumerate() {
        let again = replay.recomputed[stage].both();
        let once = profile.cost().saturating_sub(again);
        let before = stage.checked_sub(1);
        let begin = before.map_or(0, |before| document.cuts[before]) as usize;
        table.row(vec![
            stage.to_string(),
            schedule.device_of(stage).to_string(),
            split.instance().nodes()[begin].name.to_string(),
            schedule.in_flight(stage).to_string(),
            remat_report::cost(profile.forward, unit),
            remat_report::cost(profile.backward, unit),
            format!("{:.2}%", 100.0 * again as f64 / once.max(1) as f64),
            format_bytes(profile.saved_bytes),
        ]);
    }
    table.render("  ")
}

fn json(split: &Split<'_>, found: &ReplayedPipeline) -> String {
    let (document, replay) = (&found.document, &found.replay);
    let list = devices(&document.devices, replay).into_iter().enumerate();
    let device = |(device, own)| ShowDeviceJson {
        own,
        fixed_bytes: found.fixed_bytes[device],
        busy: replay.timeline.busy(device),
        passes: passes(found, device),
    };
    results::json(&ShowPipelineJson {
        origin: OriginJson::of(split.instance()),
        file: &found.file,
        schedule: document.schedule.kind().to_string(),
        microbatches: document.schedule.microbatches(),
        objective: replay.objective,
        makespan: replay.timeline.makespan,
        cost_unit: &split.instance().cost_unit().name,
        idle_share: picture(split, found, "").idle_share(),
        devices: list.map(device).collect(),
        stages: stages(split, &document.schedule, &document.cuts, replay),
    })
}

/// Passes of a device with the memory of each.
fn passes(found: &ReplayedPipeline, device: usize) -> Vec<PassJson> {
    let replay = &found.replay;
    let spans = device_memory(&replay.timeline, device, &replay.profiles);
    let passes = spans.into_iter().filter_map(|span| {
        let pass = span.pass?;
        Some(PassJson {
            stage: pass.stage,
            microbatch: pass.microbatch,
            is_backward: pass.backward,
            start: span.start,
            end: span.end,
            waiting_bytes: span.waiting_bytes,
            running_bytes: span.running_bytes,
        })
    });
    passes.collect()
}

/// The object of `remat-bb show --json`, for a pipeline.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShowPipelineJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// The file.
    file: &'a str,
    /// Order of passes: `gpipe`, `1f1b` or `interleaved:V`.
    schedule: String,
    /// Micro-batches.
    microbatches: u32,
    /// Time by the formula.
    objective: u64,
    /// Time of the replay of all events.
    makespan: u64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Share of the devices' time in which they run no pass.
    idle_share: f64,
    /// Devices.
    devices: Vec<ShowDeviceJson>,
    /// Stages.
    stages: Vec<StageJson>,
}

/// A device with its passes.
#[derive(Serialize, JsonSchema)]
struct ShowDeviceJson {
    #[serde(flatten)]
    own: DeviceJson,
    /// Fixed memory in bytes.
    fixed_bytes: u64,
    /// Time in which it runs passes.
    busy: u64,
    /// Its passes in order.
    passes: Vec<PassJson>,
}

/// A pass of one micro-batch through one stage.
#[derive(Serialize, JsonSchema)]
struct PassJson {
    /// Stage, from 0.
    stage: usize,
    /// Micro-batch, from 0.
    microbatch: u32,
    /// True for the backward pass.
    is_backward: bool,
    /// Time at its begin.
    start: u64,
    /// Time at its end.
    end: u64,
    /// Bytes that waiting micro-batches hold beside it.
    waiting_bytes: u64,
    /// Its own largest memory in bytes, without fixed memory.
    running_bytes: u64,
}
