//! `remat-bb export`

use crate::arguments::{ExportArguments, ExportedProgram};
use crate::failure::{Exit, Failure};
use crate::files::{self, Files};
use crate::{report, source};
use clap::ValueEnum;
use remat_formulations::checkmate::compact::{Compact, Space};
use remat_formulations::checkmate::original::{Original, OriginalError, Stages};
use remat_formulations::{checkmate, monet};
use remat_instances::Instance;
use remat_instances::budget::{Budget, format_bytes};
use remat_instances::plan::Semantics;
use remat_lp::{Model, lp_format, mps};
use serde::Serialize;
use std::path::Path;

/// Writes the program.
///
/// # Errors
/// [`Failure`] for bad input, a file name that says no format, a budget that no program can be
/// stated for, and files that cannot be written.
pub fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let format = Format::of(&arguments.out)?;
    let files = Files::tried(
        arguments.json,
        &[Path::new(&arguments.instance)],
        &[("the program", Some(&arguments.out))],
    )?;
    let semantics = match arguments.formulation {
        ExportedProgram::MonetOriginal | ExportedProgram::MonetTight => Semantics::Monet,
        _ => Semantics::Checkmate,
    };
    let instance = source::instance(&arguments.instance)?.seen_by(semantics);
    let plain = match semantics {
        Semantics::Checkmate => source::plain_replay(&instance, Semantics::Checkmate)?,
        Semantics::Monet if instance.loss().is_some() => {
            source::plain_replay(&instance, Semantics::Monet)?
        }
        Semantics::Monet => {
            source::plain_replay(&instance.single_implementation().0, Semantics::Checkmate)?
        }
    };
    let budget_bytes = source::budget(&arguments.budget, plain.peak_bytes)?;
    let unit_bytes = unit(arguments)?;
    let exported = build(arguments, &instance, budget_bytes, unit_bytes)?;
    files.write(&arguments.out, &format.text(&exported.model))?;
    let size = (
        exported.model.num_rows(),
        exported.model.num_cols(),
        exported.model.num_nonzeros(),
    );
    let file = files::shown(&arguments.out);
    files.print(&if arguments.json {
        report::json(&ExportJson {
            instance: instance.name(),
            formulation: &name(arguments.formulation),
            budget_bytes,
            unit_bytes: exported.unit_bytes,
            rows: size.0,
            columns: size.1,
            nonzeros: size.2,
            published_rows: exported.published.map(|p| p.0),
            published_nonzeros: exported.published.map(|p| p.1),
            file: &file,
        })
    } else {
        format!(
            "{file}: {} of {} under {}: {} rows, {} columns, {} nonzeros\n",
            name(arguments.formulation),
            instance.name(),
            format_bytes(budget_bytes),
            size.0,
            size.1,
            size.2
        )
    })?;
    Ok(Exit::Done)
}

/// A program to be written.
struct Exported {
    model: Model,
    unit_bytes: f64,
    /// Rows and nonzeros as the published runs count them.
    published: Option<(usize, usize)>,
}

fn build(
    arguments: &ExportArguments,
    instance: &Instance,
    budget_bytes: u64,
    unit_bytes: Option<f64>,
) -> Result<Exported, Failure> {
    let too_small = |e: remat_formulations::bound::TooSmall| Failure::Usage {
        problem: format!("--budget {:?}: {e}", arguments.budget),
        remedy: "give a larger budget; remat-bb show names the largest tensors".into(),
    };
    Ok(match arguments.formulation {
        ExportedProgram::CheckmateOriginal | ExportedProgram::CheckmateUnpartitioned => {
            let stages = match arguments.formulation {
                ExportedProgram::CheckmateOriginal => Stages::FrontierAdvancing,
                _ => Stages::Unpartitioned,
            };
            let unit_bytes =
                unit_bytes.unwrap_or_else(|| Original::unit_for(instance, budget_bytes));
            let program = Original::new(instance, budget_bytes, stages, unit_bytes);
            let program = program.map_err(|e| match e {
                OriginalError::TooSmall(e) => too_small(e),
                OriginalError::FirstRunUnknown { .. } => Failure::Usage {
                    problem: format!("{}: {e}", arguments.instance),
                    remedy: "use --formulation checkmate-original".into(),
                },
            })?;
            Exported {
                model: program.model().clone(),
                unit_bytes,
                published: (stages == Stages::FrontierAdvancing)
                    .then(|| (program.published_rows(), program.published_nonzeros())),
            }
        }
        ExportedProgram::Checkmate => {
            let graph =
                checkmate::CheckmateGraph::new(instance, budget_bytes).map_err(too_small)?;
            let unit_bytes = graph.memory_unit();
            Exported {
                model: Compact::new(graph, Space::Full).with_memory_rows(),
                unit_bytes,
                published: None,
            }
        }
        ExportedProgram::MonetOriginal | ExportedProgram::MonetTight => {
            use monet::original::{LocalBound, Original};
            let published = arguments.formulation == ExportedProgram::MonetOriginal;
            let local = match published {
                true => LocalBound::Plain,
                false => LocalBound::Tight,
            };
            let unit_bytes = unit_bytes.unwrap_or_else(|| Original::unit_for(budget_bytes));
            let program = Original::with_local_bound(instance, budget_bytes, unit_bytes, local);
            let program = program.map_err(|e| Failure::Usage {
                problem: format!("{}: {e}", arguments.instance),
                remedy: "use --formulation checkmate-original".into(),
            })?;
            let size = program.published_size();
            Exported {
                model: program.model().clone(),
                unit_bytes,
                published: published.then_some((size.rows, size.nonzeros)),
            }
        }
    })
}

fn unit(arguments: &ExportArguments) -> Result<Option<f64>, Failure> {
    let Some(text) = &arguments.unit else {
        return Ok(None);
    };
    if arguments.formulation == ExportedProgram::Checkmate {
        return Err(Failure::Usage {
            problem: format!("--unit {text:?}: the formulation checkmate chooses its own unit"),
            remedy: "leave out --unit, or export checkmate-original".into(),
        });
    }
    match text.parse() {
        Ok(Budget::Bytes(bytes)) if bytes > 0 => Ok(Some(bytes as f64)),
        Err(problem) => Err(Failure::Usage {
            problem: format!("--unit: {problem}"),
            remedy: "give an amount such as 1KiB".into(),
        }),
        Ok(_) => Err(Failure::Usage {
            problem: format!("--unit {text:?}: a unit is an amount of at least 1 byte"),
            remedy: "give an amount such as 1KiB".into(),
        }),
    }
}

/// The name as on the command line.
fn name(program: ExportedProgram) -> String {
    let value = program.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}

#[derive(Clone, Copy)]
enum Format {
    Mps,
    Lp,
}

impl Format {
    fn of(path: &Path) -> Result<Format, Failure> {
        if path == Path::new("-") {
            return Ok(Format::Mps);
        }
        let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        if stem.ends_with(".mps") {
            return Ok(Format::Mps);
        }
        if stem.ends_with(".lp") {
            return Ok(Format::Lp);
        }
        Err(Failure::Usage {
            problem: format!(
                "{}: the name of the file to write does not say its format",
                path.display()
            ),
            remedy: "end it in .mps, .lp, .mps.gz or .lp.gz".into(),
        })
    }

    fn text(self, model: &Model) -> String {
        match self {
            Format::Mps => mps::to_string(model),
            Format::Lp => lp_format::to_string(model),
        }
    }
}

#[derive(Serialize)]
struct ExportJson<'a> {
    instance: &'a str,
    formulation: &'a str,
    budget_bytes: u64,
    unit_bytes: f64,
    rows: usize,
    columns: usize,
    nonzeros: usize,
    published_rows: Option<usize>,
    published_nonzeros: Option<usize>,
    file: &'a str,
}
