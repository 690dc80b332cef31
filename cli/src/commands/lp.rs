//! `remat-bb lp`

mod quadratic;

use crate::arguments::{LpArguments, Switch};
use crate::failure::{Exit, Failure};
use crate::files::{self, Files, Input};
use crate::{door, interrupt, log};
use remat_lp::certificate::{self, Report};
use remat_lp::mps::{self, MpsFormat};
use remat_lp::presolve::PresolveSettings;
use remat_lp::refine::{Residuals, residuals};
use remat_lp::solution_file::SolutionFile;
use remat_lp::{
    Algorithm, LimitKind, LpOutcome, Model, ModelFile, Settings, Solved, lp_format, proven_bound,
};
use remat_models::{Linear, LinearSettings, solve_linear};
use remat_report::results;
use remat_report::results::VERSION;
use remat_report::{counted, number};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Relative tolerance of the check of a result's certificate.
const CERTIFICATE_TOLERANCE: f64 = 1e-6;

/// Solves a linear program (or the relaxation of a mixed-integer one), checks the result, and
/// reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &LpArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.file],
        &[("--solution", arguments.solution.as_deref())],
    )?;
    interrupt::catch("ending; once more to end at once", arguments.quiet);
    let clock = Instant::now();
    let text = ModelText::read(&arguments.file)?;
    let mut file = text.parse_all()?;
    if file.specials.are_only_quadratic()
        && let Some(quadratic) = file.specials.quadratic.take()
    {
        return quadratic::run(arguments, files, file.model, &quadratic, clock);
    }
    let given = text.linear(file)?;
    // Solve and check see the other order; only the file of the solution has the given one.
    let (model, order) = match arguments.permute.map(|seed| given.permuted(seed)) {
        Some((model, order)) => (Arc::new(model), Some((given, order))),
        None => (Arc::new(given), None),
    };
    let settings = Settings {
        algorithm: arguments.algorithm.into(),
        scaling: arguments.scaling == Switch::On,
        refine: arguments.refine,
        ..Settings::default()
    };
    let presolve = (arguments.presolve == Switch::On).then(PresolveSettings::default);
    let asked = LinearSettings {
        lp: settings,
        presolve,
        iterations: arguments.iteration_limit,
        time_limit: (arguments.time_limit).map(|limit| limit.saturating_sub(clock.elapsed())),
    };
    let interrupted = interrupt::flag();
    let table = log::SimplexLog::new(clock);
    let answer = log::shown(table, arguments.quiet, || {
        solve_linear(&model, &asked, &*interrupted)
    });
    let Linear {
        mut solved,
        timed_out,
        ..
    } = answer.map_err(super::mip::failure)?;
    let checked = certificate::check(&model, &solved.outcome, CERTIFICATE_TOLERANCE);
    if checked.is_err() {
        // An answer that its own certificate does not support is discarded.
        solved.outcome = LpOutcome::Limit(LimitKind::Numerical);
    }
    let result = LpResult {
        model: &model,
        checked: checked.map_err(|e| e.to_string()),
        solved: &solved,
        residuals: solved.outcome.optimal().map(|s| residuals(&model, s)),
        seconds: clock.elapsed(),
        timed_out,
        permuted: arguments.permute,
    };
    let written = match (&arguments.solution, &solved.outcome) {
        (Some(path), LpOutcome::Optimal(solution)) => {
            let file = match &order {
                Some((given, order)) => {
                    SolutionFile::new(given, "optimal", &order.restore(&solution.x))
                }
                None => SolutionFile::new(&model, "optimal", &solution.x),
            };
            files.write(path, &file.to_text())
        }
        (Some(path), _) => {
            files.left(path);
            Ok(())
        }
        (None, _) => Ok(()),
    };
    // The result is printed even if the file cannot be written.
    files.print(&if arguments.json {
        results::json(&result.json())
    } else {
        result.summary()
    })?;
    written?;
    Ok(match solved.outcome {
        LpOutcome::Optimal(_) | LpOutcome::Unbounded(_) => Exit::Done,
        LpOutcome::Infeasible(_) => Exit::Infeasible,
        LpOutcome::CutoffReached { .. } | LpOutcome::Limit(_) => Exit::NoPlan,
    })
}

/// The text of a model, and its format.
pub struct ModelText {
    name: String,
    /// The text of the file.
    pub text: String,
    /// True if it is in LP format, false if in MPS format.
    pub is_lp: bool,
}

impl ModelText {
    /// Reads MPS or CPLEX LP; the name decides between them, or else the content.
    pub fn read(path: &Path) -> Result<ModelText, Failure> {
        let input = files::text(path)?;
        if let Some(wrong) = door::program(path, &input) {
            return Err(wrong);
        }
        let Input { name, bytes } = input;
        let text = remat_lp::decode(bytes).map_err(|e| no_model(format!("{name}: {e}")))?;
        Ok(ModelText::of(path, name, text))
    }

    /// A text from a file, with its name for errors.
    pub fn of(path: &Path, name: String, text: String) -> ModelText {
        let is_lp = is_lp(path, &text);
        ModelText { name, text, is_lp }
    }

    /// The model with all its parts. Ignored parts of the file are reported, even under `--quiet`.
    pub fn parse_all(&self) -> Result<ModelFile, Failure> {
        let ModelText { name, text, is_lp } = self;
        let file = log::shown(log::ReaderLog(name.clone()), false, || match is_lp {
            true => lp_format::parse_all(text, name).map_err(|e| e.to_string()),
            false => mps::parse_all(text, MpsFormat::Auto).map_err(|e| format!("{name}: {e}")),
        });
        file.map_err(no_model)
    }

    /// The linear model.
    ///
    /// # Errors
    /// [`Failure`] for ordered sets, implications, semi-continuous columns and quadratic objectives.
    pub fn parse(&self) -> Result<Model, Failure> {
        self.linear(self.parse_all()?)
    }

    fn linear(&self, file: ModelFile) -> Result<Model, Failure> {
        file.linear().map_err(|error| Failure::Usage {
            problem: format!("{}: {error}", self.name),
            remedy: "`remat-bb mip FILE` solves models with ordered sets, implications, \
                     semi-continuous columns and quadratic objectives"
                .into(),
        })
    }
}

/// Reads a linear model.
pub fn read(path: &Path) -> Result<Model, Failure> {
    ModelText::read(path)?.parse()
}

/// Reads a model with ordered sets, implications, semi-continuous columns and products.
pub(crate) fn read_all(path: &Path) -> Result<ModelFile, Failure> {
    ModelText::read(path)?.parse_all()
}

fn no_model(problem: String) -> Failure {
    Failure::Usage {
        problem,
        remedy: "FILE is a linear or quadratic program in MPS format (fixed or free), or in CPLEX LP format; its name ends in .mps or \
                 .lp, or its content tells; both may be gzipped"
            .into(),
    }
}

/// Returns whether a file is in LP format: its name ends in `.lp`, or its name ends neither in
/// `.lp` nor in `.mps` and its text begins with the sense of an objective.
fn is_lp(path: &Path, text: &str) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = name.trim_end_matches(".gz");
    if name.ends_with(".lp") || name.ends_with(".mps") {
        return name.ends_with(".lp");
    }
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|l| !l.is_empty() && !l.starts_with(['\\', '*']));
    let first = first.unwrap_or_default().get(..3).unwrap_or_default();
    ["min", "max"].contains(&first.to_ascii_lowercase().as_str())
}

impl From<crate::arguments::LpMethod> for Algorithm {
    fn from(method: crate::arguments::LpMethod) -> Self {
        match method {
            crate::arguments::LpMethod::Auto => Algorithm::Auto,
            crate::arguments::LpMethod::Dual => Algorithm::Dual,
            crate::arguments::LpMethod::Primal => Algorithm::Primal,
            crate::arguments::LpMethod::Barrier => Algorithm::Barrier,
        }
    }
}

fn size([rows, cols, nonzeros]: [usize; 3]) -> String {
    format!(
        "{}, {}, {}",
        counted(rows as u64, "row"),
        counted(cols as u64, "column"),
        counted(nonzeros as u64, "nonzero")
    )
}

/// A solve and the result of its check.
struct LpResult<'a> {
    model: &'a Arc<Model>,
    solved: &'a Solved,
    residuals: Option<Residuals>,
    checked: Result<Report, String>,
    seconds: Duration,
    timed_out: bool,
    permuted: Option<u64>,
}

/// The object of `remat-bb lp --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct LpJson<'a> {
    /// `optimal`, `infeasible`, `unbounded`, `limit`, `interrupted` or `numeric` (the check refused
    /// every answer).
    status: &'a str,
    /// Version of this program.
    version: &'a str,
    /// Objective of the solution; null unless `status` is `optimal`.
    objective: Option<f64>,
    /// Bound that the dual values prove in spite of rounding; null without an optimal solution, or
    /// if neither bounds nor rows limit a column.
    bound: Option<f64>,
    /// Name of the model.
    model: &'a str,
    /// Number of rows.
    rows: usize,
    /// Number of columns.
    cols: usize,
    /// Number of nonzeros.
    nonzeros: usize,
    /// Number of integer columns, whose integrality is ignored.
    relaxed_integers: usize,
    /// Numbers of rows, columns and nonzeros after presolve; null without presolve.
    presolved: Option<[usize; 3]>,
    /// Number of simplex iterations, pushes of the crossover included.
    lp_iterations: u64,
    /// Number of iterations of the barrier method.
    barrier_iterations: u64,
    /// Number of pushes of the crossover.
    crossover_pushes: u64,
    /// Number of basis factorisations.
    factorisations: u64,
    /// Time in seconds.
    seconds: f64,
    /// `accepted`, `none` (no answer to check), or the reason why the check refused the answer.
    certificate: &'a str,
    /// Largest violation of a row or column bound; null if the check refused the answer.
    primal_violation: Option<f64>,
    /// Largest reduced cost or dual value of the wrong sign, divided by 1 + the largest cost; null
    /// if the check refused the answer.
    dual_violation: Option<f64>,
    /// Largest primal residual of the basic solution, in the model's units; null unless `status` is
    /// `optimal`.
    primal_residual: Option<f64>,
    /// Largest dual residual of the basic solution, in the model's units; null unless `status` is
    /// `optimal`.
    dual_residual: Option<f64>,
    /// Number of different products in a quadratic objective; 0 for a linear one.
    quadratic_products: usize,
    /// Residuals of the optimality conditions of a quadratic program; null for a linear one, and
    /// unless `status` is `optimal`.
    kkt: Option<KktJson>,
    /// Seed of `--permute`; null without it.
    permuted: Option<u64>,
}

/// Residuals of the conditions of Karush, Kuhn and Tucker, computed from the file's model. All but
/// the first are relative to the size of the objective or of its gradient.
#[derive(Serialize, JsonSchema)]
struct KktJson {
    /// Largest violation of a row or column bound.
    primal: f64,
    /// Largest part of the gradient that no bound balances.
    stationarity: f64,
    /// Largest dual value of a row that belongs to an infinite side.
    dual: f64,
    /// Largest product of a multiplier and the distance to its bound.
    complementarity: f64,
    /// Distance of primal and dual objective.
    gap: f64,
}

impl LpResult<'_> {
    fn status(&self) -> &'static str {
        match self.solved.outcome {
            LpOutcome::Optimal(_) => "optimal",
            LpOutcome::Infeasible(_) => "infeasible",
            LpOutcome::Unbounded(_) => "unbounded",
            LpOutcome::Limit(LimitKind::Interrupt) if !self.timed_out => "interrupted",
            LpOutcome::Limit(LimitKind::Numerical) => "numeric",
            LpOutcome::CutoffReached { .. } | LpOutcome::Limit(_) => "limit",
        }
    }

    /// The bound that the dual vector proves in spite of rounding.
    fn safe_bound(&self) -> Option<f64> {
        let solution = self.solved.outcome.optimal()?;
        Some(proven_bound(self.model, solution).0).filter(|b| b.is_finite())
    }

    fn json(&self) -> LpJson<'_> {
        let stats = &self.solved.stats;
        LpJson {
            status: self.status(),
            version: VERSION,
            objective: self.solved.outcome.optimal().map(|s| s.objective),
            bound: self.safe_bound(),
            model: self.model.name(),
            rows: self.model.num_rows(),
            cols: self.model.num_cols(),
            nonzeros: self.model.num_nonzeros(),
            relaxed_integers: super::integers(self.model),
            presolved: self.solved.reduced.map(|(r, c, n)| [r, c, n]),
            lp_iterations: stats.iterations(),
            barrier_iterations: stats.barrier,
            crossover_pushes: stats.crossover,
            factorisations: stats.factorisations,
            seconds: self.seconds.as_secs_f64(),
            certificate: match &self.checked {
                Err(reason) => reason,
                Ok(_) if matches!(self.solved.outcome, LpOutcome::Limit(_)) => "none",
                Ok(_) => "accepted",
            },
            primal_violation: self.checked.as_ref().ok().map(|r| r.primal_violation),
            dual_violation: self.checked.as_ref().ok().map(|r| r.dual_violation),
            primal_residual: self.residuals.map(|r| r.primal),
            dual_residual: self.residuals.map(|r| r.dual),
            quadratic_products: 0,
            kkt: None,
            permuted: self.permuted,
        }
    }

    fn summary(&self) -> String {
        let json = self.json();
        let stats = &self.solved.stats;
        let mut text = format!(
            "{}: {}\n",
            if json.model.is_empty() {
                "model"
            } else {
                json.model
            },
            size([json.rows, json.cols, json.nonzeros])
        );
        if json.relaxed_integers > 0 {
            let relaxed = counted(json.relaxed_integers as u64, "integer column");
            text += &format!("  relaxed      {relaxed}: `mip` keeps them whole\n");
        }
        if let Some(reduced) = json.presolved {
            text += &format!("  presolved    {}\n", size(reduced));
        }
        text += &format!("  status       {}\n", json.status);
        if let Some(objective) = json.objective {
            text += &format!("  objective    {}\n", number(objective));
        }
        if let Some(bound) = json.bound {
            text += &format!(
                "  safe bound   {}, proven by the dual values in spite of rounding\n",
                number(bound)
            );
        }
        text += &format!("  certificate  {}", json.certificate);
        if let (Some(primal), Some(dual), "optimal") =
            (json.primal_violation, json.dual_violation, json.status)
        {
            text += &format!(", largest violation {primal:.1e} primal, {dual:.1e} dual");
        }
        if let Some(r) = self.residuals {
            text += &format!(
                "\n  residuals    {:.1e} primal, {:.1e} dual",
                r.primal, r.dual
            );
        }
        if stats.barrier > 0 {
            text += &format!(
                "\n  barrier      {}, {} pushed by the crossover",
                counted(stats.barrier, "iteration"),
                counted(stats.crossover, "variable")
            );
        }
        text += &format!(
            "\n  simplex      {} (dual {} + {}, primal {} + {}), {}, {:.3} s\n",
            counted(stats.iterations(), "iteration"),
            stats.dual_phase1,
            stats.dual_phase2,
            stats.primal_phase1,
            stats.primal_phase2,
            counted(stats.factorisations, "factorisation"),
            json.seconds
        );
        text
    }
}
