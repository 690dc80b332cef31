//! Traces of plans of a training step.

use super::events::{Events, Slice, Track};
use crate::clock::Clock;
use crate::pieces::Pieces;
use crate::spans::{Lane, Level, Span, Spans};
use remat_instances::Instance;
use remat_instances::instance::NodeId;
use remat_instances::plan::Plan;
use remat_instances::simulate::{Replay, ReplayError};
use serde_json::{Value, json};

/// Process of the step.
const STEP: usize = 1;
/// Thread of the step and its passes; lanes follow.
const PASSES: usize = 1;

/// The trace of a plan: lanes of computations, recomputations, waits and copies, counters of memory
/// in all and by content, and arrows from a tensor's first computation or copy to what brings it
/// back, and on to its reader.
///
/// # Errors
/// The [`ReplayError`] of a plan that cannot be executed.
pub fn of_plan(
    instance: &Instance,
    plan: &Plan,
    replay: &Replay,
    budget_bytes: Option<u64>,
) -> Result<String, ReplayError> {
    let spans = Spans::of(instance, plan, replay);
    let pieces = Pieces::of(instance, plan, replay, &spans, None)?;
    let clock = Clock::of(instance.cost_unit(), replay.makespan);
    let facts = json!({
        "graph": instance.name(),
        "semantics": plan.semantics.as_str(),
        "cost": replay.makespan,
        "compute_cost": replay.cost,
        "base_cost": replay.base_cost,
        "cost_unit": instance.cost_unit().name,
        "peak_memory_bytes": replay.peak_bytes,
        "peak_at": crate::moment(instance, replay),
        "budget_bytes": budget_bytes,
        "host_peak_bytes": replay.transfers.host_peak_bytes,
    });
    let list: Vec<(&str, Value)> = facts
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.as_str(), v.clone()))
        .collect();
    let mut events = Events::new(clock, &list);
    let words = events.clock().words();
    events.process(STEP, &format!("step of {}", instance.name()), &words);
    events.lane(track(PASSES), "step");
    for lane in Lane::ALL {
        if spans.lane(lane).next().is_some() {
            events.lane(track_of(lane), lane.name());
        }
    }
    passes(&mut events, instance, &spans, replay, facts);
    let (mut ends, mut begins) = (
        vec![Vec::new(); spans.list.len()],
        vec![Vec::new(); spans.list.len()],
    );
    for (id, (from, to)) in spans.arrows().into_iter().enumerate() {
        let node: &str = &instance.node(spans.list[from].node).name;
        begins[from].push((id, node));
        ends[to].push((id, node));
    }
    for (k, span) in spans.list.iter().enumerate() {
        let slice = Slice {
            track: track_of(span.lane),
            name: name(instance, &spans, span),
            category: span.lane.name(),
            begin: span.begin,
            end: span.end,
            args: args(instance, &spans, span),
        };
        events.slice(&slice);
        events.arrows(&slice, &ends[k], &begins[k]);
    }
    counters(&mut events, &spans, &pieces);
    Ok(events.finish())
}

fn track(thread: usize) -> Track {
    Track {
        process: STEP,
        thread,
    }
}

fn track_of(lane: Lane) -> Track {
    let position = Lane::ALL.iter().position(|other| *other == lane);
    track(PASSES + 1 + position.unwrap_or(0))
}

/// The step, its two passes, and the moment of the peak.
fn passes(events: &mut Events, instance: &Instance, spans: &Spans, replay: &Replay, facts: Value) {
    let mut slice = |name: String, begin, end, args| {
        events.slice(&Slice {
            track: track(PASSES),
            name,
            category: "step",
            begin,
            end,
            args,
        });
    };
    slice(instance.name().to_string(), 0, replay.makespan, facts);
    let start = instance.backward_start();
    let first = start.and_then(|start| {
        let mut runs = spans.lane(Lane::Computation);
        runs.find(|(_, span)| span.node >= start)
    });
    let peak = spans
        .memory
        .iter()
        .find(|level| level.bytes == replay.peak_bytes);
    let middle = first.map(|(_, span)| span.begin);
    let halves = middle.map(|at| [("forward", 0, at), ("backward", at, replay.makespan)]);
    let at_peak = |begin: u64, end: u64| peak.filter(|peak| (begin..end).contains(&peak.begin));
    for (pass, begin, end) in halves.into_iter().flatten() {
        events.slice(&Slice {
            track: track(PASSES),
            name: pass.into(),
            category: "step",
            begin,
            end,
            args: json!({}),
        });
        if let Some(peak) = at_peak(begin, end) {
            mark(events, instance, replay, peak);
        }
    }
    if let (None, Some(peak)) = (halves, peak) {
        mark(events, instance, replay, peak);
    }
}

fn mark(events: &mut Events, instance: &Instance, replay: &Replay, peak: &Level) {
    let name = format!("peak at {}", crate::moment(instance, replay));
    let args = json!({"memory_bytes": peak.bytes});
    events.mark(track(PASSES), &name, peak.begin, args);
}

fn name(instance: &Instance, spans: &Spans, span: &Span) -> String {
    let name = &instance.node(span.node).name;
    match (span.lane, span.origin) {
        (Lane::Wait, Some(copy)) => {
            let what = match spans.list[copy].lane {
                Lane::ToHost => "copy to the host of",
                Lane::FromHost => "copy back of",
                Lane::Scatter => "scatter of",
                _ => "gather of",
            };
            format!("wait for {what} {name}")
        }
        _ => name.to_string(),
    }
}

fn args(instance: &Instance, spans: &Spans, span: &Span) -> Value {
    let node = instance.node(span.node);
    let name = |k: usize| &instance.node(spans.list[k].node).name;
    let statement = |k: usize| spans.list[k].statement;
    let mut args = json!({"statement": span.statement, "cost": span.end - span.begin});
    if span.lane == Lane::Wait {
        return args;
    }
    args["operator"] = json!(node.op);
    args["shape"] = json!(shape(instance, span.node));
    args["bytes"] = json!(span.bytes);
    if !node.module.is_empty() {
        args["module"] = json!(node.module);
    }
    if span.lane.computes() {
        args["pass"] = json!(if node.is_backward() {
            "backward"
        } else {
            "forward"
        });
        let way = &node.implementations[usize::from(span.implementation)];
        if !way.name.is_empty() {
            args["implementation"] = json!(way.name);
        }
        let reads: Vec<_> = way
            .needs
            .iter()
            .map(|id| &instance.node(*id).name)
            .collect();
        args["reads"] = json!(reads);
    }
    if let Some(reader) = span.reader.filter(|_| span.lane != Lane::Computation) {
        args["for"] = json!(name(reader));
        args["for_statement"] = json!(statement(reader));
    }
    if let Some(origin) = span.origin {
        args["since_statement"] = json!(statement(origin));
    }
    if span.idle > 0 {
        args["computations_wait"] = json!(span.idle);
    }
    args
}

/// A shape as text, which viewers show on one line.
fn shape(instance: &Instance, id: NodeId) -> String {
    let list: Vec<String> = instance.node(id).shape.iter().map(u64::to_string).collect();
    list.join("x")
}

fn counters(events: &mut Events, spans: &Spans, pieces: &Pieces) {
    for level in &spans.memory {
        events.counter(STEP, "memory", level.begin, level.bytes);
    }
    for level in &spans.host {
        events.counter(STEP, "host memory", level.begin, level.bytes);
    }
    for (class, bytes) in pieces.by_class() {
        let name = format!("memory: {}", class.name());
        let mut before = None;
        for (moment, bytes) in spans.moments.iter().zip(bytes) {
            if before.replace(bytes) != Some(bytes) {
                events.counter(STEP, &name, moment.begin, bytes);
            }
        }
    }
}
