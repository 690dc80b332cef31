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

/// Replay of a file of one of the three kinds.
struct JudgedFile {
    kind: &'static str,
    name: Name,
    sha256: Option<String>,
    variant: Option<Variant>,
    /// Peak of an order or a memory plan, with resident memory; height of a placement.
    peak_bytes: u64,
    height_bytes: Option<u64>,
    bound_bytes: Option<u64>,
    budget_bytes: Option<u64>,
}

/// Verifies an order, a memory plan or a placement; `None` for any other file.
///
/// # Errors
/// [`Failure`] for bad input, an infeasible order, overlapping addresses, and false claims.
pub fn run(arguments: &VerifyArguments) -> Result<Option<Exit>, Failure> {
    // A stream can be read once only, so its kind is not examined here.
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

/// Returns whether a text is a table with a column `offset`.
fn is_placement(bytes: &[u8]) -> bool {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let head = String::from_utf8_lossy(line);
    head.split(',').any(|name| name.trim() == "offset")
}

/// The failure for a file that its replay refutes.
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

/// The object of `remat-bb verify --json`, for an order, a memory plan or a placement.
#[derive(Serialize, JsonSchema)]
pub(super) struct JudgedJson<'a> {
    /// True if the result is within its budget; a file that its replay refutes is an error.
    verified: bool,
    /// Version of this program.
    version: &'static str,
    /// Name of the graph, or file of the table of lives.
    instance: &'a str,
    /// SHA-256 of the graph; null for a table of lives.
    instance_sha256: Option<&'a str>,
    /// Name of the file.
    file: &'a str,
    /// `order`, `memory plan` or `placement`.
    kind: &'a str,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges); null for a placement.
    variant: Option<&'a str>,
    /// Replayed peak of the order, resident memory and arena of the memory plan, or height of the
    /// placement, in bytes.
    peak_memory_bytes: u64,
    /// Size of the arena in bytes; null for an order.
    height_bytes: Option<u64>,
    /// Lower bound in bytes that the file records (of a placement: its load); null if it records
    /// none.
    recorded_bound_bytes: Option<u64>,
    /// Memory budget in bytes, from `--budget` or the file; null without one.
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
