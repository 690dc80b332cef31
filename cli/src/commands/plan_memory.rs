//! `remat-bb plan-memory`

use crate::arguments::PlanMemoryArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::progress::Activity;
use crate::visible::shown;
use crate::{interrupt, source};
use remat_instances::budget::format_bytes;
use remat_instances::order::OrderGraph;
use remat_memory::memory_plan::{MemoryPlanOutcome, MemoryPlanSearch};
use remat_memory::order::OrderSettings;
use remat_report::draw::addresses;
use remat_report::results::{GraphJson, ProvenJson, WorkJson};
use remat_report::{counted, results};
use remat_search::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Finds order and addresses, writes the requested files, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &PlanMemoryArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let files = Files::tried(
        arguments.json,
        &[&arguments.graph.graph],
        &[
            ("--out", arguments.out.as_deref()),
            ("--svg", arguments.svg.as_deref()),
        ],
    )?;
    interrupt::catch(
        "ending with the best plan so far; once more to end at once",
        arguments.quiet,
    );
    let graph = source::order_graph(&arguments.graph.graph)?;
    let variant = arguments.graph.variant;
    let activity = Activity::begin("searching an order and its addresses", arguments.quiet);
    let flag = interrupt::flag();
    let outcome = MemoryPlanSearch::new(&graph)
        .variant(variant)
        .settings(OrderSettings {
            time_limit: arguments.time_limit,
            begun: Some(begun),
            threads: arguments.workers.threads,
            seed: arguments.workers.seed,
            ..OrderSettings::default()
        })
        .listener(&*flag)
        .run()
        .map_err(source::memory_failure)?;
    drop(activity);
    let replay = outcome.plan.replay(&graph).map_err(|e| Failure::Usage {
        problem: e.to_string(),
        remedy: "this is a defect of the search: please report it".into(),
    })?;
    let report = MemoryReport {
        graph: &graph,
        arguments,
        outcome: &outcome,
        program: source::program_peak(&graph, variant),
        interrupted: flag.load(Ordering::Relaxed),
    };
    let mut written = Vec::new();
    if let Some(path) = &arguments.out {
        files.write(path, &outcome.plan.write())?;
        written.push(format!("order and addresses written to {}", shown(path)));
    }
    if let Some(path) = &arguments.svg {
        let lives = replay
            .order
            .buffers()
            .map_err(|e| source::memory_failure(e.into()))?;
        let title = format!("{}: addresses over time", graph.name());
        files.write(
            path,
            &addresses::draw(&lives, &outcome.plan.placement(), &title)?,
        )?;
        written.push(format!("picture written to {}", shown(path)));
    }
    files.print(&if arguments.json {
        report.json()
    } else {
        report.summary(&written)
    })?;
    Ok(Exit::Done)
}

struct MemoryReport<'a> {
    graph: &'a OrderGraph,
    arguments: &'a PlanMemoryArguments,
    outcome: &'a MemoryPlanOutcome,
    program: Option<u64>,
    interrupted: bool,
}

impl MemoryReport<'_> {
    fn status(&self) -> &'static str {
        match self.outcome.status {
            Status::Optimal => "optimal",
            _ if self.interrupted => "interrupted",
            _ => "feasible",
        }
    }

    fn json(&self) -> String {
        let o = self.outcome;
        results::json(&MemoryJson {
            proven: ProvenJson::of(
                self.status(),
                (o.total_bytes, Some(o.bound_bytes)),
                "orders-and-placements",
                None,
                (o.seconds, o.order.states + o.placement.nodes),
            ),
            graph: GraphJson::of(self.graph, self.arguments.graph.variant, self.program),
            order_peak_bytes: o.plan.order.peak_bytes,
            height_bytes: o.plan.height_bytes,
            load_bytes: o.placement.load,
            orders: o.orders,
            work: WorkJson::of(self.arguments.time_limit, &self.arguments.workers),
        })
    }

    fn summary(&self, written: &[String]) -> String {
        let o = self.outcome;
        let mut text = format!(
            "{}: {}, {}\n\n",
            self.graph.name(),
            counted(self.graph.len() as u64, "operator"),
            self.status()
        );
        let mut line = |name: &str, value: String| text += &format!("  {name:<10}{value}\n");
        let total = o.total_bytes;
        line("memory", format!("{} ({total} bytes)", format_bytes(total)));
        let gap = match total - o.bound_bytes {
            0 => "no order with any addresses needs less".into(),
            _ => format!(
                "gap {:.3}%",
                remat_search::relative_gap(o.total_bytes, o.bound_bytes) * 100.0
            ),
        };
        line("bound", format!("{} ({gap})", format_bytes(o.bound_bytes)));
        line(
            "arena",
            format!(
                "{}, {:.3}% above the load",
                format_bytes(o.plan.height_bytes),
                o.placement.fragmentation_percent()
            ),
        );
        line("resident", format_bytes(self.graph.base_bytes()));
        if let Some(program) = self.program {
            let change = (total as f64 / program.max(1) as f64 - 1.0) * 100.0;
            line(
                "program",
                format!(
                    "peak {} in the program's order ({change:+.2}%)",
                    format_bytes(program)
                ),
            );
        }
        line(
            "time",
            format!(
                "{:.2} s, {} placed",
                o.seconds,
                counted(o.orders as u64, "order")
            ),
        );
        for file in written {
            text += &format!("\n{file}\n");
        }
        text
    }
}

/// The object of `remat-bb plan-memory --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct MemoryJson<'a> {
    #[serde(flatten)]
    proven: ProvenJson,
    #[serde(flatten)]
    graph: GraphJson<'a>,
    /// Peak of the order in bytes.
    order_peak_bytes: u64,
    /// Size of the arena in bytes.
    height_bytes: u64,
    /// Largest sum of sizes at one moment, in bytes.
    load_bytes: u64,
    /// Number of orders placed.
    orders: usize,
    #[serde(flatten)]
    work: WorkJson,
}
