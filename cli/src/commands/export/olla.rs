//! OLLA's programs, of graphs and of tables of lives.

use super::{Format, name};
use crate::arguments::{ExportArguments, ExportSteps, ExportedProgram};
use crate::failure::{Exit, Failure};
use crate::files::{self, Files};
use crate::source;
use crate::visible::shown;
use remat_instances::name::Name;
use remat_instances::order::{OrderGraph, OrderPlan, Variant};
use remat_lp::Model;
use remat_memory::olla::{JointProgram, OrderProgram, PlaceProgram, ProgramError, Steps};
use remat_report::results;
use remat_report::results::VERSION;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// A program and its subject.
struct Written {
    model: Model,
    instance: Name,
    sha256: Option<String>,
    variant: Option<Variant>,
    steps: Option<u32>,
}

/// Writes the program.
///
/// # Errors
/// As [`super::run`].
pub(super) fn run(
    arguments: &ExportArguments,
    format: Format,
    files: &Files,
) -> Result<Exit, Failure> {
    let written = written(arguments)?;
    let model = &written.model;
    files.write(&arguments.out, &format.text(model))?;
    let file = shown(&arguments.out);
    let formulation = name(arguments.formulation);
    let (rows, columns, nonzeros) = (model.num_rows(), model.num_cols(), model.num_nonzeros());
    files.print(&if arguments.json {
        results::json(&OllaJson {
            version: VERSION,
            instance: &written.instance,
            instance_sha256: written.sha256.as_deref(),
            formulation: &formulation,
            budget_bytes: None,
            unit_bytes: unit_bytes(model),
            rows,
            columns,
            nonzeros,
            published_rows: None,
            published_nonzeros: None,
            file: &file,
            infeasible_because: None,
            variant: written.variant.map(Variant::as_str),
            steps: written.steps,
        })
    } else {
        let steps = written.steps.map(|steps| format!(" in {steps} time steps"));
        format!(
            "{file}: {formulation} of {}{}: {rows} rows, {columns} columns, {nonzeros} nonzeros\n",
            written.instance,
            steps.unwrap_or_default(),
        )
    })?;
    Ok(Exit::Done)
}

/// The program, without a file.
///
/// # Errors
/// As [`super::run`].
pub(super) fn model(arguments: &ExportArguments) -> Result<Model, Failure> {
    Ok(written(arguments)?.model)
}

fn written(arguments: &ExportArguments) -> Result<Written, Failure> {
    match is_table(&arguments.instance) {
        true => of_lives(arguments),
        false => of_graph(arguments),
    }
}

/// Returns whether a path names a table of lives.
fn is_table(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("csv"))
}

/// Bytes of a unit of memory: the cost of the only column with a cost.
fn unit_bytes(model: &Model) -> u64 {
    model.costs().iter().copied().fold(0.0, f64::max) as u64
}

fn of_lives(arguments: &ExportArguments) -> Result<Written, Failure> {
    let path = &arguments.instance;
    let text = files::input_name(path);
    let wrong = |problem: String, remedy: &str| Failure::Usage {
        problem,
        remedy: remedy.into(),
    };
    if arguments.formulation != ExportedProgram::OllaPlace {
        let problem = format!("{text}: a table of lives has no operators to put in order");
        return Err(wrong(problem, "export olla-place, or give a graph"));
    }
    if arguments.order.is_some() || arguments.variant.is_some() {
        let problem = format!("{text}: a table of lives has no --order and no --variant");
        return Err(wrong(problem, "leave them out, or give a graph"));
    }
    let lives = source::lives(path)?;
    let program = PlaceProgram::new(&lives).map_err(|e| failure(&text, &e))?;
    Ok(Written {
        model: program.model().clone(),
        instance: text.into(),
        sha256: None,
        variant: None,
        steps: None,
    })
}

fn of_graph(arguments: &ExportArguments) -> Result<Written, Failure> {
    let path = &arguments.instance;
    let graph = source::order_graph(path)?;
    let fail = |e: ProgramError| failure(&files::input_name(path), &e);
    let mut variant = arguments.variant.unwrap_or_default();
    let steps = match (arguments.steps, arguments.timestep_factor) {
        (Some(ExportSteps::Count(steps)), _) => Steps::Count(steps),
        (Some(ExportSteps::Operators), _) => Steps::Operators,
        (None, factor) => Steps::Published(factor.unwrap_or(1.0)),
    };
    let (model, steps) = match arguments.formulation {
        ExportedProgram::Olla => {
            let program = JointProgram::new(&graph, variant, steps).map_err(fail)?;
            (program.model().clone(), Some(program.steps()))
        }
        ExportedProgram::OllaOrder => {
            let program = OrderProgram::new(&graph, variant, steps).map_err(fail)?;
            (program.model().clone(), Some(program.steps()))
        }
        _ => {
            let plan = plan(arguments, &graph, variant)?;
            variant = plan.variant;
            let replay = graph.replay(variant, &plan.order);
            let replay = replay.map_err(|e| source::order_failure(e.into()))?;
            let program = PlaceProgram::of_order(&graph, &replay).map_err(fail)?;
            (program.model().clone(), None)
        }
    };
    Ok(Written {
        model,
        instance: graph.name().clone(),
        sha256: Some(graph.digest()),
        variant: Some(variant),
        steps,
    })
}

/// The requested order, or the program's.
fn plan(
    arguments: &ExportArguments,
    graph: &OrderGraph,
    variant: Variant,
) -> Result<OrderPlan, Failure> {
    let Some(path) = &arguments.order else {
        let plan = OrderPlan::new(graph, variant, graph.program_order().to_vec());
        return plan.map_err(|e| source::order_failure(e.into()));
    };
    let input = files::document(path)?;
    let plan = OrderPlan::parse(&input.name, &input.bytes)?;
    let wrong = |problem: String| Failure::Usage {
        problem: format!("{}: {problem}", input.name),
        remedy: "give an order that `remat-bb order --out` wrote for this graph".into(),
    };
    if let Some(wanted) = arguments.variant.filter(|v| *v != plan.variant) {
        let found = plan.variant;
        return Err(wrong(format!(
            "the order is for the variant {found}, not {wanted}"
        )));
    }
    plan.replay(graph).map_err(|e| wrong(e.to_string()))?;
    Ok(plan)
}

fn failure(text: &str, problem: &ProgramError) -> Failure {
    let remedy = match problem {
        ProgramError::Cycle(_) => "take another --variant, or take an edge out of the graph",
        ProgramError::Steps { .. } => "leave --steps out, or give operators",
        ProgramError::TooLarge { .. } => "give fewer --steps, or a smaller graph",
        _ => "see the message",
    };
    Failure::Usage {
        problem: format!("{text}: {problem}"),
        remedy: remedy.into(),
    }
}

/// The object of `remat-bb export --json`, for OLLA's programs.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct OllaJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// Name of the graph, or file of the table of lives.
    instance: &'a str,
    /// SHA-256 of the graph; null for a table of lives.
    instance_sha256: Option<&'a str>,
    /// Integer program, as `--formulation` names it.
    formulation: &'a str,
    /// Always null: OLLA's programs minimise memory.
    budget_bytes: Option<u64>,
    /// Memory that one unit stands for in bytes.
    unit_bytes: u64,
    /// Number of rows.
    rows: usize,
    /// Number of columns.
    columns: usize,
    /// Number of nonzeros.
    nonzeros: usize,
    /// Always null.
    published_rows: Option<usize>,
    /// Always null.
    published_nonzeros: Option<usize>,
    /// File of the program.
    file: &'a str,
    /// Always null.
    infeasible_because: Option<&'a str>,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges); null for a table of lives.
    variant: Option<&'static str>,
    /// Number of time steps; null for `olla-place`.
    steps: Option<u32>,
}
