//! `remat-bb schema`

use super::*;
use crate::arguments::SchemaArguments;
use crate::errors::ErrorJson;
use crate::failure::{Exit, Failure};
use crate::files;
use remat_report::SolveJson;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;

/// The schema of an object that a command prints.
type OfObject = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The objects that each command prints with `--json`, and the object for errors.
static OBJECTS: [(&str, &[OfObject]); 23] = [
    ("solve", &[of::<SolveJson<'static>>]),
    (
        "verify",
        &[
            of::<verify::VerifyJson<'static>>,
            of::<verify_memory::JudgedJson<'static>>,
            of::<verify_pipeline::PipelineReplayJson<'static>>,
        ],
    ),
    (
        "pipeline",
        &[of::<remat_report::pipeline::PipelineJson<'static>>],
    ),
    ("fits", &[of::<fits::FitsJson<'static>>]),
    ("improve", &[of::<improve::ImproveJson<'static>>]),
    (
        "baselines",
        &[
            of::<baselines::BaselinesJson<'static>>,
            of::<baselines_memory::MemoryBaselinesJson<'static>>,
            of::<pipeline::compare::PipelineBaselinesJson<'static>>,
        ],
    ),
    (
        "sweep",
        &[
            of::<sweep::SweepJson<'static>>,
            of::<pipeline::compare::PipelineSweepJson<'static>>,
            of::<grid::GridJson>,
        ],
    ),
    ("merge", &[of::<remat_report::grid::MergeJson>]),
    ("max-batch", &[of::<max_batch::MaxBatchJson<'static>>]),
    (
        "show",
        &[
            of::<show::ShowJson<'static>>,
            of::<show_memory::ShowMemoryJson<'static>>,
            of::<show_pipeline::ShowPipelineJson<'static>>,
        ],
    ),
    ("report", &[of::<report::ReportJson<'static>>]),
    ("explain", &[of::<explain::ExplainJson<'static>>]),
    ("order", &[of::<order::OrderJson<'static>>]),
    ("place", &[of::<place::PlaceJson<'static>>]),
    ("plan-memory", &[of::<plan_memory::MemoryJson<'static>>]),
    (
        "export",
        &[
            of::<export::ExportJson<'static>>,
            of::<export::OllaJson<'static>>,
        ],
    ),
    ("lp", &[of::<lp::LpJson<'static>>]),
    ("mip", &[of::<mip::MipJson<'static>>]),
    (
        "check-certificate",
        &[
            of::<check_certificate::CheckJson<'static>>,
            of::<check_certificate::MemoryProofJson<'static>>,
            of::<check_certificate::ProofJson<'static>>,
        ],
    ),
    ("exec", &[of::<torch::objects::ExecJson<'static>>]),
    ("profile", &[of::<torch::objects::ProfileJson<'static>>]),
    (
        "train-check",
        &[of::<torch::objects::TrainCheckJson<'static>>],
    ),
    ("error", &[of::<ErrorJson<'static>>]),
];

/// Commands that print an object with `--json`, and `error`.
pub fn names() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, _)| *name)
}

/// The JSON schema of the object that a command prints with `--json`, or of `error`.
pub fn of_command(name: &str) -> Option<serde_json::Value> {
    let (_, objects) = OBJECTS.iter().find(|(known, _)| *known == name)?;
    let mut generator = SchemaGenerator::default();
    let all: Vec<Schema> = objects
        .iter()
        .map(|object| object(&mut generator))
        .collect();
    Some(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("remat-bb {name} --json"),
        "anyOf": all,
        "$defs": generator.take_definitions(true),
    }))
}

/// Prints the schema of a command's object.
///
/// # Errors
/// [`Failure::Usage`] for a command that prints no object, [`Failure::Write`] if standard output
/// cannot be written.
pub fn run(arguments: &SchemaArguments) -> Result<Exit, Failure> {
    let name = &arguments.command;
    let schema = of_command(name).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        Failure::Usage {
            problem: format!("{name:?} prints no object that has a schema"),
            remedy: format!("write one of {}", known.join(", ")),
        }
    })?;
    files::print(&format!("{schema:#}\n"))?;
    Ok(Exit::Done)
}
