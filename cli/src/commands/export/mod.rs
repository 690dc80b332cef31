//! `remat-bb export`

mod olla;

pub(super) use olla::OllaJson;

use crate::arguments::{ExportArguments, ExportedProgram};
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::source;
use crate::visible::shown;
use clap::ValueEnum;
use remat_formulations::checkmate::original::{Original, OriginalError, Stages};
use remat_formulations::{AnyFormulation, checkmate, monet};
use remat_instances::Instance;
use remat_instances::budget::{Budget, format_bytes};
use remat_lp::{Model, lp_format, mps};
use remat_report::results;
use remat_report::results::OriginJson;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Writes the program.
///
/// # Errors
/// [`Failure`] for bad input, a file name without a known format, a budget for which the program
/// cannot be stated, and files that cannot be written.
pub fn run(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let format = Format::of(&arguments.out)?;
    let budget = budget(arguments)?;
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[("the program", Some(&arguments.out))],
    )?;
    let Some(budget) = budget else {
        return olla::run(arguments, format, &files);
    };
    let stated = Stated::new(arguments, budget)?;
    let output = Output {
        file: &arguments.out,
        format,
        json: arguments.json,
    };
    stated.write(&name(arguments.formulation), &output, &files)
}

/// The requested program, without a file.
///
/// # Errors
/// As [`run`], and [`Failure::Usage`] for a program that cannot be stated under its budget.
pub fn model(arguments: &ExportArguments) -> Result<Model, Failure> {
    let Some(budget) = budget(arguments)? else {
        return olla::model(arguments);
    };
    Stated::new(arguments, budget)?.into_model(&arguments.instance)
}

/// An instance under a budget, and its program.
pub struct Stated {
    /// The instance as the program sees it.
    pub instance: Instance,
    /// The budget.
    pub budget_bytes: u64,
    /// Reason why no plan fits the budget, if it is found without a search.
    pub infeasible_because: Option<String>,
    /// The program; `None` if the budget is too small to state it.
    pub exported: Option<Exported>,
}

/// The output of a program.
pub struct Output<'a> {
    /// Name of the file.
    pub file: &'a Path,
    /// Its format.
    pub format: Format,
    /// True if the summary is a JSON object.
    pub json: bool,
}

impl Stated {
    fn new(arguments: &ExportArguments, budget: &str) -> Result<Self, Failure> {
        let semantics = arguments.formulation.semantics();
        let instance = source::instance(&arguments.instance)?.seen_by(semantics);
        // `build` refuses a program that needs a loss.
        let formulation = AnyFormulation::of(&instance, semantics);
        let formulation = formulation.unwrap_or_else(|_| AnyFormulation::checkmate(&instance));
        let plain = source::plain(&formulation)?;
        let budget_bytes = source::budget(budget, plain.peak_bytes)?;
        let unit_bytes = unit(arguments, &instance, budget_bytes)?;
        Ok(Stated {
            infeasible_because: too_small(arguments, &instance, budget_bytes),
            exported: build(arguments, &instance, budget_bytes, unit_bytes)?,
            instance,
            budget_bytes,
        })
    }

    /// The program alone.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the budget is too small to state it; `source` is the path of the
    /// instance.
    pub fn into_model(self, source: &Path) -> Result<Model, Failure> {
        let exported = self.exported.ok_or_else(|| Failure::Usage {
            problem: format!("{}: the budget is too small", shown(source)),
            remedy: "give a larger --budget".into(),
        })?;
        Ok(exported.model)
    }

    /// Writes the program and prints a summary; `formulation` is its name.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn write(
        &self,
        formulation: &str,
        output: &Output<'_>,
        files: &Files,
    ) -> Result<Exit, Failure> {
        let written = self.exported.as_ref();
        match written {
            Some(exported) => files.write(output.file, &output.format.text(&exported.model))?,
            None => files.left(output.file),
        }
        let file = shown(output.file);
        files.print(&match output.json {
            true => results::json(&ExportJson {
                origin: OriginJson::of(&self.instance),
                formulation,
                budget_bytes: self.budget_bytes,
                unit_bytes: written.map(|e| e.unit_bytes as u64),
                rows: written.map(|e| e.model.num_rows()),
                columns: written.map(|e| e.model.num_cols()),
                nonzeros: written.map(|e| e.model.num_nonzeros()),
                published_rows: written.and_then(|e| e.published).map(|p| p.0),
                published_nonzeros: written.and_then(|e| e.published).map(|p| p.1),
                file: written.map(|_| &*file),
                infeasible_because: self.infeasible_because.as_deref(),
                variant: None,
                steps: None,
            }),
            false => self.summary(formulation, &file),
        })?;
        Ok(match self.infeasible_because {
            Some(_) => Exit::Infeasible,
            None => Exit::Done,
        })
    }

    fn summary(&self, formulation: &str, file: &str) -> String {
        let what = format!(
            "{formulation} of {} under {}",
            self.instance.name(),
            format_bytes(self.budget_bytes)
        );
        let mut text = match &self.exported {
            Some(exported) => format!(
                "{file}: {what}: {} rows, {} columns, {} nonzeros\n",
                exported.model.num_rows(),
                exported.model.num_cols(),
                exported.model.num_nonzeros()
            ),
            None => format!("{what} cannot be stated, and is not written\n"),
        };
        if let Some(reason) = &self.infeasible_because {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "infeasible: {reason}");
        }
        text
    }
}

/// The budget, for programs with a budget; options of other programs are refused.
fn budget(arguments: &ExportArguments) -> Result<Option<&str>, Failure> {
    let a = arguments;
    let wrong = |option: &str, remedy: &str| {
        Err(Failure::Usage {
            problem: format!(
                "{option} does not go with --formulation {}",
                name(a.formulation)
            ),
            remedy: remedy.into(),
        })
    };
    if a.formulation.is_olla() {
        let timed = a.steps.is_some() || a.timestep_factor.is_some();
        let places = a.formulation == ExportedProgram::OllaPlace;
        return match (&a.budget, &a.unit, &a.order) {
            (Some(_), ..) => wrong(
                "--budget",
                "leave it out: the program is of the least memory",
            ),
            (_, Some(_), _) => wrong("--unit", "leave it out: the unit divides all sizes"),
            (.., Some(_)) if !places => wrong("--order", "leave it out, or export olla-place"),
            _ if places && timed => wrong("--steps", "leave it out, or export olla-order"),
            _ => Ok(None),
        };
    }
    for (option, is_there) in [
        ("--variant", a.variant.is_some()),
        ("--steps", a.steps.is_some()),
        ("--timestep-factor", a.timestep_factor.is_some()),
        ("--order", a.order.is_some()),
    ] {
        if is_there {
            return wrong(
                option,
                "leave it out, or export olla, olla-order or olla-place",
            );
        }
    }
    match &a.budget {
        Some(budget) => Ok(Some(budget)),
        None => Err(Failure::Usage {
            problem: format!("--formulation {} needs a --budget", name(a.formulation)),
            remedy:
                "give bytes, an amount (6GiB) or a share of the peak without recomputation (60%)"
                    .into(),
        }),
    }
}

/// Reason why no plan fits the budget, if it is found without a search. MONeT's program with the
/// tighter bound on local memory charges less than this test, so it has no reason.
fn too_small(
    arguments: &ExportArguments,
    instance: &Instance,
    budget_bytes: u64,
) -> Option<String> {
    if arguments.formulation == ExportedProgram::MonetTight {
        return None;
    }
    let formulation = AnyFormulation::of(instance, arguments.formulation.semantics()).ok()?;
    formulation.too_small(budget_bytes)
}

/// A program for a file.
pub struct Exported {
    /// The program.
    pub model: Model,
    /// Bytes of one unit of memory in it.
    pub unit_bytes: f64,
    /// Rows and nonzeros as the published runs count them.
    pub published: Option<(usize, usize)>,
}

/// The program; `None` if the budget is too small to state it.
fn build(
    arguments: &ExportArguments,
    instance: &Instance,
    budget_bytes: u64,
    unit_bytes: f64,
) -> Result<Option<Exported>, Failure> {
    Ok(Some(match arguments.formulation {
        ExportedProgram::CheckmateOriginal | ExportedProgram::CheckmateUnpartitioned => {
            let stages = match arguments.formulation {
                ExportedProgram::CheckmateOriginal => Stages::FrontierAdvancing,
                _ => Stages::Unpartitioned,
            };
            let program = Original::new(instance, budget_bytes, stages, unit_bytes);
            let program = match program {
                Ok(program) => program,
                Err(OriginalError::TooSmall(_)) => return Ok(None),
                Err(e @ OriginalError::FirstRunUnknown { .. }) => {
                    return Err(Failure::Usage {
                        problem: format!("{}: {e}", shown(&arguments.instance)),
                        remedy: "use --formulation checkmate-original".into(),
                    });
                }
            };
            Exported {
                model: program.model().clone(),
                unit_bytes,
                published: (stages == Stages::FrontierAdvancing)
                    .then(|| (program.published_rows(), program.published_nonzeros())),
            }
        }
        ExportedProgram::CheckmateInterval => {
            let Ok(graph) = checkmate::CheckmateGraph::new(instance, budget_bytes) else {
                return Ok(None);
            };
            Exported {
                model: checkmate::interval::written(&graph),
                unit_bytes: graph.memory_unit(),
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
            let program = Original::with_local_bound(instance, budget_bytes, unit_bytes, local);
            let program = program.map_err(|e| Failure::Usage {
                problem: format!("{}: {e}", shown(&arguments.instance)),
                remedy: "use --formulation checkmate-original".into(),
            })?;
            let size = program.published_size();
            Exported {
                model: program.model().clone(),
                unit_bytes,
                published: published.then_some((size.rows, size.nonzeros)),
            }
        }
        // Module `olla` writes them, as they have no budget.
        ExportedProgram::Olla | ExportedProgram::OllaOrder | ExportedProgram::OllaPlace => {
            return Ok(None);
        }
    }))
}

/// The unit of memory in bytes, for programs that do not choose their own.
fn unit(
    arguments: &ExportArguments,
    instance: &Instance,
    budget_bytes: u64,
) -> Result<f64, Failure> {
    let largest = match arguments.formulation {
        ExportedProgram::MonetOriginal | ExportedProgram::MonetTight => {
            monet::original::Original::unit_for(budget_bytes)
        }
        _ => Original::unit_for(instance, budget_bytes),
    };
    match &arguments.unit {
        Some(text) if arguments.formulation == ExportedProgram::CheckmateInterval => {
            Err(own_unit(&name(arguments.formulation), text))
        }
        text => unit_of(text.as_deref(), largest),
    }
}

/// The failure for a unit of a program that chooses its own.
pub fn own_unit(formulation: &str, text: &str) -> Failure {
    Failure::Usage {
        problem: format!("--unit {text:?}: the formulation {formulation} chooses its own unit"),
        remedy: "leave out --unit, or export checkmate-original".into(),
    }
}

/// The unit of memory in bytes: the requested one, or the largest, which keeps the budget near a
/// thousand units. Solvers ignore a millionth of a unit; of a larger unit that could be too much
/// memory.
///
/// # Errors
/// [`Failure::Usage`] for a text that is no amount, and for a unit that is too large.
pub fn unit_of(text: Option<&str>, largest: f64) -> Result<f64, Failure> {
    let Some(text) = text else {
        return Ok(largest);
    };
    let fail = |problem: String, remedy: String| Failure::Usage {
        problem: format!("--unit {text:?}: {problem}"),
        remedy,
    };
    let example = || "give an amount such as 1KiB".to_owned();
    match text.parse() {
        Ok(Budget::Bytes(bytes)) if bytes as f64 > largest => Err(fail(
            "with so large a unit solvers, which take a millionth of a unit for nothing, cannot tell what fits".into(),
            format!("give at most {} ({largest} bytes) for this budget", format_bytes(largest as u64)),
        )),
        Ok(Budget::Bytes(bytes)) if bytes > 0 => Ok(bytes as f64),
        Err(problem) => Err(fail(problem.to_string(), example())),
        Ok(_) => Err(fail("a unit is an amount of at least 1 byte".into(), example())),
    }
}

/// The program's name on the command line.
fn name(program: ExportedProgram) -> String {
    let value = program.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}

/// Format of a program's file.
#[derive(Clone, Copy)]
pub enum Format {
    /// MPS, free format.
    Mps,
    /// CPLEX LP.
    Lp,
}

impl Format {
    /// The format by the ending of a file name; MPS on standard output.
    ///
    /// # Errors
    /// [`Failure::Usage`] for another ending.
    pub fn of(path: &Path) -> Result<Format, Failure> {
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
                shown(path)
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

/// The object of `remat-bb export --json`, for the programs of Checkmate and MONeT.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExportJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program, as `--formulation` names it.
    formulation: &'a str,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Memory that one unit stands for in bytes; null if the program was not written.
    unit_bytes: Option<u64>,
    /// Number of rows; null if the program was not written.
    rows: Option<usize>,
    /// Number of columns; null if the program was not written.
    columns: Option<usize>,
    /// Number of nonzeros; null if the program was not written.
    nonzeros: Option<usize>,
    /// Number of rows, fixings and bounds, as the published runs count them; null unless
    /// `formulation` is `checkmate-original` or `monet-original`.
    published_rows: Option<usize>,
    /// Number of nonzeros, those of fixings and bounds included; null where `published_rows` is.
    published_nonzeros: Option<usize>,
    /// File of the program; null if the program was not written.
    file: Option<&'a str>,
    /// Reason in words why no plan fits the budget; null without one.
    infeasible_because: Option<&'a str>,
    /// Always null: only OLLA's programs have a variant.
    variant: Option<&'static str>,
    /// Always null: only OLLA's programs have time steps.
    steps: Option<u32>,
}
