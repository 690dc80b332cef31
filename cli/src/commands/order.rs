//! `remat-bb order`

use crate::arguments::OrderArguments;
use crate::failure::{Exit, Failure, note};
use crate::files::Files;
use crate::progress::Activity;
use crate::visible::shown;
use crate::{interrupt, source};
use remat_instances::budget::format_bytes;
use remat_instances::order::{OrderGraph, OrderPlan, OrderReplay};
use remat_memory::order::{OrderBaselines, OrderOutcome, OrderSearch, OrderSettings};
use remat_report::counted;
use remat_report::results;
use remat_report::results::{GraphJson, ProvenJson, WorkJson};
use remat_search::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Finds an order, writes the requested files, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &OrderArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let files = Files::tried(
        arguments.json,
        &[&arguments.graph.graph],
        &[
            ("--out", arguments.out.as_deref()),
            ("--certificate", arguments.certificate.as_deref()),
        ],
    )?;
    interrupt::catch(
        "ending with the best order so far; once more to end at once",
        arguments.quiet,
    );
    let graph = source::order_graph(&arguments.graph.graph)?;
    let variant = arguments.graph.variant;
    let program = source::program_peak(&graph, variant);
    let budget_bytes = match &arguments.budget {
        Some(text) => Some(source::budget(text, program.unwrap_or(0))?),
        None => None,
    };
    let settings = OrderSettings {
        time_limit: arguments.time_limit,
        begun: Some(begun),
        budget_bytes,
        threads: arguments.workers.threads,
        seed: arguments.workers.seed,
        ..OrderSettings::default()
    };
    let activity = Activity::begin("searching an order", arguments.quiet);
    let flag = interrupt::flag();
    let search = OrderSearch::new(&graph)
        .variant(variant)
        .settings(settings.clone())
        .listener(&*flag);
    let found = match arguments.baseline {
        None => {
            let outcome = search.run().map_err(source::order_failure)?;
            FoundOrder {
                plan: OrderPlan {
                    budget_bytes,
                    ..outcome.plan(&graph)
                },
                replay: outcome.replay.clone(),
                outcome: Some(outcome),
                found_by: None,
            }
        }
        Some(rule) => {
            let known = OrderBaselines::of(&graph, variant).map_err(source::order_failure)?;
            let known = known.rule(rule);
            let plan = OrderPlan::new(&graph, variant, known.order.clone());
            FoundOrder {
                plan: plan.map_err(|e| source::order_failure(e.into()))?,
                replay: known.replay.clone(),
                outcome: None,
                found_by: Some(rule.as_str()),
            }
        }
    };
    drop(activity);
    let report = OrderReport {
        graph: &graph,
        arguments,
        found: &found,
        program,
        budget_bytes,
        seconds: begun.elapsed().as_secs_f64(),
        interrupted: flag.load(Ordering::Relaxed),
    };
    let mut written = Vec::new();
    if let Some(path) = &arguments.out {
        files.write(path, &found.plan.write())?;
        written.push(format!("order written to {}", shown(path)));
    }
    if let (Some(path), Some(outcome)) = (&arguments.certificate, &found.outcome) {
        match search.prove(outcome).map_err(source::order_failure)? {
            Some(proof) => {
                files.write(path, proof.text())?;
                written.push(format!("proof written to {}", shown(path)));
            }
            None => {
                note(
                    "no proof: the bound of the level search took more work than a proof may",
                    false,
                );
                files.left(path);
            }
        }
    }
    files.print(&if arguments.json {
        report.json()
    } else {
        report.summary(&written)
    })?;
    Ok(report.exit())
}

/// An order, by the search or by a rule.
struct FoundOrder {
    plan: OrderPlan,
    replay: OrderReplay,
    outcome: Option<OrderOutcome>,
    found_by: Option<&'static str>,
}

struct OrderReport<'a> {
    graph: &'a OrderGraph,
    arguments: &'a OrderArguments,
    found: &'a FoundOrder,
    /// Peak of the program's own order, if the variant allows it.
    program: Option<u64>,
    budget_bytes: Option<u64>,
    seconds: f64,
    interrupted: bool,
}

impl OrderReport<'_> {
    fn fits(&self) -> bool {
        let peak = self.found.replay.peak_bytes;
        self.budget_bytes.is_none_or(|budget| peak <= budget)
    }

    fn status(&self) -> &'static str {
        match self.found.outcome.as_ref().map(|o| o.status) {
            Some(Status::Optimal) if self.fits() => "optimal",
            Some(Status::Infeasible) => "infeasible",
            _ if self.interrupted => "interrupted",
            _ if self.fits() => "feasible",
            _ => "limit",
        }
    }

    fn exit(&self) -> Exit {
        match self.status() {
            "infeasible" => Exit::Infeasible,
            _ if self.fits() => Exit::Done,
            _ => Exit::NoPlan,
        }
    }

    fn json(&self) -> String {
        let outcome = self.found.outcome.as_ref();
        results::json(&OrderJson {
            proven: ProvenJson::of(
                self.status(),
                (self.found.replay.peak_bytes, outcome.map(|o| o.bound_bytes)),
                "orders",
                self.budget_bytes,
                (self.seconds, outcome.map_or(0, |o| o.states)),
            ),
            graph: GraphJson::of(self.graph, self.arguments.graph.variant, self.program),
            bound_by: outcome.map(|o| o.bound_by.as_str()),
            found_by: outcome.map_or(self.found.found_by, |o| Some(o.found_by.as_str())),
            cuts: outcome.map(|o| o.cuts),
            work: WorkJson::of(self.arguments.time_limit, &self.arguments.workers),
        })
    }

    fn summary(&self, written: &[String]) -> String {
        let peak = self.found.replay.peak_bytes;
        let mut text = format!(
            "{}: {}, {}\n\n",
            self.graph.name(),
            counted(self.graph.len() as u64, "operator"),
            self.status()
        );
        let mut line = |name: &str, value: String| text += &format!("  {name:<9}{value}\n");
        line("peak", format!("{} ({peak} bytes)", format_bytes(peak)));
        if let Some(outcome) = &self.found.outcome {
            let bound = outcome.bound_bytes;
            let gap = match peak.saturating_sub(bound) {
                0 => "no order needs less".into(),
                _ => format!("gap {:.3}%", outcome.gap() * 100.0),
            };
            let by = outcome.bound_by.as_str();
            line("bound", format!("{} ({by}; {gap})", format_bytes(bound)));
            line("found by", outcome.found_by.as_str().into());
        }
        if let Some(program) = self.program {
            let change = (peak as f64 / program.max(1) as f64 - 1.0) * 100.0;
            line(
                "program",
                format!(
                    "{} in the program's order ({change:+.2}%)",
                    format_bytes(program)
                ),
            );
        }
        line("resident", format_bytes(self.graph.base_bytes()));
        if let Some(budget) = self.budget_bytes {
            let words = match self.status() {
                "infeasible" => "no order fits",
                _ if self.fits() => "kept",
                _ => "not met",
            };
            line("budget", format!("{}: {words}", format_bytes(budget)));
        }
        line("time", format!("{:.2} s", self.seconds));
        for file in written {
            text += &format!("\n{file}\n");
        }
        text
    }
}

/// The object of `remat-bb order --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct OrderJson<'a> {
    #[serde(flatten)]
    proven: ProvenJson,
    #[serde(flatten)]
    graph: GraphJson<'a>,
    /// Argument of the bound: `resident memory`, `working set`, `forced lives`, `node cut`,
    /// `implied precedence` or `level search`; null if a rule gave the order.
    bound_by: Option<&'a str>,
    /// Rule or search that found the order.
    found_by: Option<&'a str>,
    /// Number of minimum cuts at operators of the whole graph; null if a rule gave the order.
    cuts: Option<usize>,
    #[serde(flatten)]
    work: WorkJson,
}
