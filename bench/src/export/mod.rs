//! `remat-bench export`: compact programs as files, for other solvers.

pub mod arguments;

use arguments::{CompactProgram, ExportArguments};
use clap::ValueEnum;
use remat_bb::commands::export::{Exported, Format, Output, Stated, own_unit, unit_of};
use remat_bb::failure::{Exit, Failure};
use remat_bb::files::Files;
use remat_bb::source;
use remat_bb::visible::shown;
use remat_formulations::AnyFormulation;
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::original::Original;
use remat_instances::Instance;
use remat_lp::Model;
use remat_tests::compact::checkmate::{Compact, Space};
use remat_tests::compact::offload::{OffloadProgram, OffloadProgramError, Pauses};

/// Writes the program.
///
/// [`Failure`] for bad input, a file name without a known format, a program without its link, and
/// files that cannot be written.
pub fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let output = Output {
        file: &arguments.out,
        format: Format::of(&arguments.out)?,
        json: arguments.json,
    };
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[("the program", Some(&arguments.out))],
    )?;
    stated(arguments)?.write(&name(arguments.formulation), &output, &files)
}

/// The program of a command line, without writing it.
///
/// # Errors
/// As [`run`], and [`Failure::Usage`] for a program that cannot be stated under its budget.
pub fn model(arguments: &ExportArguments) -> Result<Model, Failure> {
    stated(arguments)?.into_model(&arguments.instance)
}

fn stated(arguments: &ExportArguments) -> Result<Stated, Failure> {
    let formulation = AnyFormulation::checkmate(&source::instance(&arguments.instance)?);
    let instance = Instance::clone(formulation.instance());
    let plain = source::plain(&formulation)?;
    let budget_bytes = source::budget(&arguments.budget, plain.peak_bytes)?;
    let program = name(arguments.formulation);
    let linked = arguments.offload.with_link(&instance)?;
    let (instance, exported) = match (arguments.formulation, linked) {
        (CompactProgram::Checkmate, None) => {
            if let Some(text) = &arguments.unit {
                return Err(own_unit(&program, text));
            }
            let exported = edges(&instance, budget_bytes);
            (instance, exported)
        }
        (CompactProgram::Checkmate, Some(_)) => {
            return Err(Failure::Usage {
                problem: format!("--offload does not go with --formulation {program}"),
                remedy: "leave it out, or export checkmate-offload".into(),
            });
        }
        (CompactProgram::CheckmateOffload, Some(linked)) => {
            let exported = copies(arguments, &linked, budget_bytes)?;
            (linked, exported)
        }
        (CompactProgram::CheckmateOffload, None) => {
            return Err(Failure::Usage {
                problem: format!("--formulation {program} needs a link"),
                remedy: "give --offload pcie4, a speed, or on for the instance's own".into(),
            });
        }
    };
    let solvable = (arguments.offload).solvable(AnyFormulation::checkmate(&instance))?;
    Ok(Stated {
        infeasible_because: solvable.too_small(budget_bytes),
        instance,
        budget_bytes,
        exported,
    })
}

/// The retention-edge form; `None` if the budget is too small to state it.
fn edges(instance: &Instance, budget_bytes: u64) -> Option<Exported> {
    let graph = CheckmateGraph::new(instance, budget_bytes).ok()?;
    let unit_bytes = graph.memory_unit();
    Some(Exported {
        model: Compact::new(graph, Space::Full).with_memory_rows(),
        unit_bytes,
        published: None,
    })
}

/// The program with copies; `None` if the budget is too small to state it.
fn copies(
    arguments: &ExportArguments,
    instance: &Instance,
    budget_bytes: u64,
) -> Result<Option<Exported>, Failure> {
    let largest = Original::unit_for(instance, budget_bytes);
    let unit_bytes = unit_of(arguments.unit.as_deref(), largest)?;
    let pauses = arguments.pauses.map_or(Pauses::Uncounted, Pauses::Counted);
    let phase = arguments.offload.offload_phase;
    match OffloadProgram::new(instance, budget_bytes, phase, pauses, unit_bytes) {
        Ok(program) => Ok(Some(Exported {
            model: program.model().clone(),
            unit_bytes,
            published: None,
        })),
        Err(OffloadProgramError::TooSmall(_)) => Ok(None),
        Err(e) => Err(Failure::Usage {
            problem: format!("{}: {e}", shown(&arguments.instance)),
            remedy: "leave out --offload-phase".into(),
        }),
    }
}

/// The name as on the command line.
fn name(program: CompactProgram) -> String {
    let value = program.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}
