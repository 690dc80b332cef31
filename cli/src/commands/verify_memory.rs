//! `remat-bb verify` of orders, orders with addresses, and placements.

use crate::arguments::VerifyArguments;
use crate::failure::{Exit, Failure};
use crate::files::{self, Input};
use crate::source;
use remat_instances::budget::format_bytes;
use remat_instances::document;
use remat_instances::name::Name;
use remat_instances::order::{
    MEMORY_PLAN_SCHEMA, MemoryPlan, ORDER_PLAN_SCHEMA, OrderGraph, OrderPlan, Variant,
};
use remat_instances::place::read_placement;
use remat_report::results;
use remat_report::results::VERSION;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Replay of a file, in the terms of all three kinds.
struct JudgedFile {
    kind: &'static str,
    name: Name,
    sha256: Option<String>,
    variant: Option<Variant>,
    /// Peak of an order, all of it; height of a placement.
    peak_bytes: u64,
    height_bytes: Option<u64>,
    bound_bytes: Option<u64>,
    budget_bytes: Option<u64>,
}

/// Verifies the file where it is one of these; `None` for any other.
///
/// # Errors
/// [`Failure`] for bad input, an order that cannot run, addresses that are shared, and claims that
/// are not true.
pub fn run(arguments: &VerifyArguments) -> Result<Option<Exit>, Failure> {
    // Streams are read once, by whoever knows what they are.
    if !arguments.plan.is_file() {
        return Ok(None);
    }
    let input = files::document(&arguments.plan)?;
    let schema = document::schema(&input.name, &input.bytes).unwrap_or(None);
    let judged = match schema.as_deref() {
        Some(ORDER_PLAN_SCHEMA) => order(&arguments.instance, &input)?,
        Some(MEMORY_PLAN_SCHEMA) => memory_plan(&arguments.instance, &input)?,
        None if is_placement(&input.bytes) => placement(&arguments.instance, &input)?,
        _ => return Ok(None),
    };
    let budget_bytes = match &arguments.budget {
        Some(text) => Some(source::budget(text, judged.peak_bytes)?),
        None => judged.budget_bytes,
    };
    let judged = JudgedFile {
        budget_bytes,
        ..judged
    };
    let fits = budget_bytes.is_none_or(|budget| judged.peak_bytes <= budget);
    files::print(&match arguments.json {
        true => json(&judged, &input.name, fits),
        false => summary(&judged, &input.name),
    })?;
    match budget_bytes {
        Some(budget) if !fits => Err(Failure::TooLarge {
            file: input.name,
            needed: format_bytes(judged.peak_bytes),
            budget: format_bytes(budget),
        }),
        _ => Ok(Some(Exit::Done)),
    }
}

/// A table with a column `offset`.
fn is_placement(bytes: &[u8]) -> bool {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let head = String::from_utf8_lossy(line);
    head.split(',').any(|name| name.trim() == "offset")
}

/// A file that its replay refutes.
pub(super) fn refused(file: &str, problem: impl std::fmt::Display) -> Failure {
    Failure::Usage {
        problem: format!("{file}: {problem}"),
        remedy: "the replay is the judge: write the file again, or give what it was made for"
            .into(),
    }
}

fn order(graph: &Path, input: &Input) -> Result<JudgedFile, Failure> {
    let graph = source::order_graph(graph)?;
    let plan = OrderPlan::parse(&input.name, &input.bytes)?;
    let replay = plan.replay(&graph).map_err(|e| refused(&input.name, e))?;
    Ok(JudgedFile {
        peak_bytes: replay.peak_bytes,
        ..of_order("order", &graph, &plan)
    })
}

fn memory_plan(graph: &Path, input: &Input) -> Result<JudgedFile, Failure> {
    let graph = source::order_graph(graph)?;
    let plan = MemoryPlan::parse(&input.name, &input.bytes)?;
    let replay = plan.replay(&graph).map_err(|e| refused(&input.name, e))?;
    Ok(JudgedFile {
        peak_bytes: replay.total_bytes,
        height_bytes: Some(replay.height_bytes),
        ..of_order("memory plan", &graph, &plan.order)
    })
}

fn of_order(kind: &'static str, graph: &OrderGraph, plan: &OrderPlan) -> JudgedFile {
    JudgedFile {
        kind,
        name: graph.name().into(),
        sha256: Some(graph.digest()),
        variant: Some(plan.variant),
        peak_bytes: 0,
        height_bytes: None,
        bound_bytes: plan.bound_bytes,
        budget_bytes: plan.budget_bytes,
    }
}

fn placement(lives: &Path, input: &Input) -> Result<JudgedFile, Failure> {
    let buffers = source::lives(lives)?;
    let placement = read_placement(&input.name, &input.bytes, &buffers)
        .map_err(|e| source::table_failure(&e))?;
    let replay = placement
        .replay(&buffers)
        .map_err(|e| refused(&input.name, e))?;
    Ok(JudgedFile {
        kind: "placement",
        name: crate::files::input_name(lives).into(),
        sha256: None,
        variant: None,
        peak_bytes: replay.height,
        height_bytes: Some(replay.height),
        bound_bytes: Some(replay.load),
        budget_bytes: None,
    })
}

#[derive(Serialize, JsonSchema)]
pub(super) struct JudgedJson<'a> {
    verified: bool,
    version: &'static str,
    instance: &'a str,
    instance_sha256: Option<&'a str>,
    file: &'a str,
    kind: &'a str,
    variant: Option<&'a str>,
    peak_memory_bytes: u64,
    height_bytes: Option<u64>,
    recorded_bound_bytes: Option<u64>,
    budget_bytes: Option<u64>,
}

fn json(judged: &JudgedFile, file: &str, fits: bool) -> String {
    results::json(&JudgedJson {
        verified: fits,
        version: VERSION,
        instance: &judged.name,
        instance_sha256: judged.sha256.as_deref(),
        file,
        kind: judged.kind,
        variant: judged.variant.map(Variant::as_str),
        peak_memory_bytes: judged.peak_bytes,
        height_bytes: judged.height_bytes,
        recorded_bound_bytes: judged.bound_bytes,
        budget_bytes: judged.budget_bytes,
    })
}

fn summary(judged: &JudgedFile, file: &str) -> String {
    let mut text = format!("{file}: a valid {} for {}\n\n", judged.kind, judged.name);
    let mut line = |name: &str, value: String| text += &format!("  {name:<8}{value}\n");
    let peak = judged.peak_bytes;
    line("memory", format!("{} ({peak} bytes)", format_bytes(peak)));
    if let Some(height) = judged.height_bytes.filter(|h| *h != peak) {
        line("arena", format_bytes(height));
    }
    if let Some(variant) = judged.variant {
        line("variant", variant.to_string());
    }
    text
}
