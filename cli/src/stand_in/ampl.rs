//! The command line of AMPL's solvers: `remat-bb stub -AMPL name=value ...`. The environment
//! variables `remat_bb_options` and `remat-bb_options` may have options, too.

use super::request::{Request, SolveRequest, number, refused, write};
use crate::failure::{Failure, note};
use crate::files::{self, Input};
use remat_lp::nl::{self, NlSolution};
use remat_models::program::{Ending, Program};
use remat_report::results::VERSION;
use std::path::PathBuf;

/// Prints the answer to `-v`.
///
/// # Errors
/// [`Failure`] if standard output cannot be written.
pub fn version() -> Result<(), Failure> {
    files::print(&format!("remat-bb {} (AMPL solver)\n", VERSION))
}

/// Reads `stub.nl`, solves it, and writes `stub.sol`.
///
/// # Errors
/// [`Failure`] for unreadable files and invalid numbers.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let given = arguments.first().map(String::as_str).unwrap_or_default();
    let stub = given.strip_suffix(".nl").unwrap_or(given);
    let mut request = Request::default();
    let mut objective = 1;
    let mut quiet = false;
    let variables = ["remat_bb_options", "remat-bb_options"];
    let environment = variables.iter().find_map(|name| std::env::var(name).ok());
    let words = environment.iter().flat_map(|text| text.split_whitespace());
    for word in words.chain(arguments[1..].iter().map(String::as_str)) {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let mip = &mut request.settings.model.mip;
        match name.trim().to_ascii_lowercase().as_str() {
            "timelimit" | "timlim" | "time" | "max_cpu_time" | "lim:time" => {
                request.time_limit(name, value)?;
            }
            "threads" | "tech:threads" => request.threads(name, value)?,
            "mipgap" | "mip:gap" | "ratio" => {
                mip.relative_gap = number(name, value)?.clamp(0.0, 0.999_999);
            }
            "mipgapabs" | "absmipgap" | "mip:gapabs" => {
                mip.absolute_gap = number(name, value)?.max(0.0);
            }
            "nodelimit" | "nodelim" | "lim:nodes" => {
                mip.limits.nodes = Some(number(name, value)?.max(0.0) as u64);
            }
            "seed" | "alg:seed" => mip.seed = number(name, value)?.abs() as u64,
            "objno" | "obj:no" => objective = number(name, value)?.max(0.0) as usize,
            "relax" | "alg:relax" => request.relax = value != "0",
            "outlev" | "tech:outlev" => quiet = value == "0",
            "wantsol" => {}
            _ => note(&format!("{name} has no effect"), quiet),
        }
    }
    let path: PathBuf = format!("{stub}.nl").into();
    let Input { name, bytes } = files::text(&path)?;
    let problem = nl::parse(&bytes, &name, objective).map_err(|error| Failure::Usage {
        problem: error.to_string(),
        remedy: "give a linear problem as AMPL, Pyomo or JuMP write it".into(),
    })?;
    let program = Program::of_nl(&problem).map_err(refused)?;
    request.points.extend(problem.start);
    let solved = request.solve_program(program, problem.model)?;
    let message = message(&solved);
    if !quiet {
        files::print(&format!("{message}\n"))?;
    }
    let (rows, cols) = problem.size;
    let duals = solved.answer.duals.as_ref().map(|d| &d.rows[..rows]);
    let solution = NlSolution {
        message: &message,
        options: &problem.options,
        size: problem.size,
        duals,
        x: solved.x().map(|x| &x[..cols]),
        objective: problem.objective,
        result: result_code(&solved),
    };
    write(&PathBuf::from(format!("{stub}.sol")), &solution.to_text())
}

/// Result code, by the ranges of AMPL's documentation.
fn result_code(solved: &SolveRequest) -> i32 {
    match solved.answer.ending {
        Ending::Optimal => 0,
        Ending::Infeasible | Ending::Cutoff => 200,
        Ending::InfeasibleOrUnbounded => 299,
        Ending::Unbounded => 300,
        Ending::TimeLimit => 401,
        Ending::NodeLimit => 402,
        Ending::IterationLimit => 400,
        Ending::MemoryLimit | Ending::WorkLimit => 403,
        Ending::Interrupted => 404,
        Ending::Numeric => 500,
    }
}

fn message(solved: &SolveRequest) -> String {
    let answer = &solved.answer;
    let words = match answer.ending {
        Ending::Optimal => "optimal solution",
        Ending::Infeasible | Ending::Cutoff => "infeasible problem",
        Ending::Unbounded => "unbounded problem",
        Ending::InfeasibleOrUnbounded => "infeasible or unbounded problem",
        Ending::Numeric => "numerical trouble",
        limit => limit.words(),
    };
    let objective = match answer.points.first() {
        Some(point) => format!("; objective {}", remat_report::number(point.objective)),
        None => String::new(),
    };
    let nodes = answer.info.nodes;
    format!(
        "remat-bb {}: {words}{objective}\n{} simplex iterations, {nodes} nodes",
        VERSION, answer.info.lp_iterations
    )
}
