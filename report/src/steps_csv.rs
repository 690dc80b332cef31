//! Memory over time as CSV, a row for each statement, step or pass.

use crate::draw::pipeline::PipelinePicture;
use crate::spans::{Lane, Spans};
use remat_instances::Instance;
use remat_instances::instance::NodeId;
use remat_instances::order::{OrderGraph, OrderReplay};
use remat_instances::pipeline::timeline::device_memory;
use remat_instances::place::Lives;
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::simulate::Replay;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A field of a row: quoted if it must be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// The statements of a plan. Times are in the instance's cost unit; of a copy, those of the link.
/// Memory includes fixed memory.
pub fn of_plan(instance: &Instance, plan: &Plan, replay: &Replay) -> String {
    let spans = Spans::of(instance, plan, replay);
    let list = spans.list.iter().filter(|span| span.lane != Lane::Wait);
    let by_statement: BTreeMap<_, _> = list.map(|span| (span.statement, span)).collect();
    let mut registers: BTreeMap<Register, NodeId> = BTreeMap::new();
    let mut buffers: BTreeMap<HostBuffer, NodeId> = BTreeMap::new();
    let mut out = String::from(
        "index,kind,node,operator,begin,end,bytes,memory_bytes,host_bytes,recomputation\n",
    );
    for (at, (step, own)) in plan.steps.iter().zip(&spans.statements).enumerate() {
        let (kind, node) = match *step {
            Step::Allocate { register, node } => {
                registers.insert(register, node);
                ("allocate", Some(node))
            }
            Step::Compute { node, register, .. } => {
                registers.insert(register, node);
                ("compute", Some(node))
            }
            Step::Deallocate { register } => ("deallocate", registers.remove(&register)),
            Step::Offload { register, buffer } => {
                let node = registers.get(&register).copied();
                buffers.extend(node.map(|node| (buffer, node)));
                ("offload", node)
            }
            Step::Wait { buffer } => ("wait", buffers.get(&buffer).copied()),
            Step::Prefetch { buffer, .. } => ("prefetch", buffers.get(&buffer).copied()),
            Step::Release { buffer } => ("release", buffers.remove(&buffer)),
            Step::Gather { node, .. } => ("gather", Some(node)),
            Step::Scatter { node, .. } => ("scatter", Some(node)),
        };
        let known = node.map(|node| instance.node(node));
        let span = by_statement.get(&at);
        let (begin, end) = span.map_or((own.begin, own.end), |span| (span.begin, span.end));
        let bytes = span.map(|span| span.bytes);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{at},{kind},{},{},{begin},{end},{},{},{},{}",
            field(known.map_or("", |node| &node.name)),
            field(known.map_or("", |node| &node.op)),
            bytes.or(known.map(|node| node.output_bytes)).unwrap_or(0),
            own.memory_bytes,
            own.host_bytes,
            u8::from(span.is_some_and(|span| span.lane == Lane::Recomputation)),
        );
    }
    out
}

/// The steps of an order; memory includes resident memory.
pub fn of_order(graph: &OrderGraph, replay: &OrderReplay) -> String {
    let mut out = String::from("index,node,operator,workspace_bytes,memory_bytes,after_bytes\n");
    for (k, step) in replay.steps.iter().enumerate() {
        let operator = &graph.operators()[step.operator.index()];
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{k},{},{},{},{},{}",
            field(&operator.name),
            field(&operator.kind),
            operator.workspace_bytes,
            step.during_bytes,
            step.after_bytes,
        );
    }
    out
}

/// The moments of a table of lives at which memory changes.
pub fn of_lives(lives: &Lives) -> String {
    let mut out = String::from("time,memory_bytes\n");
    for (moment, bytes) in lives.profile() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{},{bytes}", lives.time(moment));
    }
    out
}

/// The passes of a pipeline and the times in which a device is idle, device by device. Times are in
/// the graph's cost unit; memory includes fixed memory.
pub fn of_pipeline(picture: &PipelinePicture<'_>) -> String {
    let mut out = String::from(
        "device,kind,stage,microbatch,begin,end,fixed_bytes,waiting_bytes,running_bytes,memory_bytes\n",
    );
    let replay = picture.replay;
    for (device, fixed) in picture.fixed_bytes.iter().enumerate() {
        for span in device_memory(&replay.timeline, device, &replay.profiles) {
            let kind = match span.pass {
                Some(pass) if pass.backward => "backward",
                Some(_) => "forward",
                None => "idle",
            };
            let of = span
                .pass
                .map(|pass| (pass.stage.to_string(), pass.microbatch.to_string()));
            let (stage, microbatch) = of.unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{device},{kind},{stage},{microbatch},{},{},{fixed},{},{},{}",
                span.start,
                span.end,
                span.waiting_bytes,
                span.running_bytes,
                fixed + span.bytes(),
            );
        }
    }
    out
}
