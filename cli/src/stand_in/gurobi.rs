//! The command line `gurobi_cl`: parameters as `Name=value`, then the file of the model.

use super::request::{Request, SolveRequest, number, write};
use crate::failure::Failure;
use crate::files;
use remat_lp::ColId;
use remat_models::program::Ending;
use remat_report::results::VERSION;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Reads the arguments, solves, and writes the result files.
///
/// # Errors
/// [`Failure`] for unreadable files and invalid numbers.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let told = format!(
        "remat-bb {}, which answers to the name gurobi_cl: this is not Gurobi\n",
        VERSION
    );
    files::print(&told)?;
    let mut request = Request::default();
    // Gurobi's own gap.
    request.settings.model.mip.relative_gap = 1e-4;
    let mut results: Vec<PathBuf> = Vec::new();
    for argument in arguments {
        match argument.split_once('=') {
            Some((name, value)) => parameter(&mut request, &mut results, name, value)?,
            None if argument.starts_with("--") => {}
            None => request.model = argument.into(),
        }
    }
    if request.model.as_os_str().is_empty() {
        return files::print("usage: gurobi_cl [Parameter=value]... FILE\n");
    }
    let solved = request.solve()?;
    files::print(&log(&solved))?;
    if solved.x().is_some() {
        let text = solution(&solved);
        results.iter().try_for_each(|path| write(path, &text))?;
    }
    Ok(())
}

fn parameter(
    request: &mut Request,
    results: &mut Vec<PathBuf>,
    name: &str,
    value: &str,
) -> Result<(), Failure> {
    let mip = &mut request.settings.model.mip;
    match name.to_ascii_lowercase().as_str() {
        "timelimit" => request.time_limit(name, value)?,
        "threads" => request.threads(name, value)?,
        "mipgap" => mip.relative_gap = number(name, value)?.clamp(0.0, 0.999_999),
        "mipgapabs" => mip.absolute_gap = number(name, value)?.max(0.0),
        "nodelimit" => {
            let nodes = number(name, value)?.max(0.0);
            mip.limits.nodes = Some(nodes as u64).filter(|_| nodes < 1e18);
        }
        "cutoff" => mip.cutoff = Some(number(name, value)?).filter(|v| v.abs() < 1e20),
        "seed" => mip.seed = number(name, value)?.abs() as u64,
        "presolve" => {
            mip.presolve = value != "0";
            if value == "0" {
                request.settings.model.linear.presolve = None;
            }
        }
        "cuts" => mip.cuts = value != "0",
        "heuristics" => mip.heuristics = number(name, value)? > 0.0,
        "intfeastol" => mip.integrality_tolerance = number(name, value)?.clamp(1e-10, 1e-3),
        "feasibilitytol" => mip.feasibility_tolerance = number(name, value)?.clamp(1e-10, 1e-3),
        "resultfile" => results.push(value.into()),
        "inputfile" => request.starts.push(value.into()),
        "logfile" | "logtoconsole" | "outputflag" => {}
        _ => crate::failure::note(&format!("gurobi_cl: {name} has no effect"), false),
    }
    Ok(())
}

fn solution(solved: &SolveRequest) -> String {
    let objective = solved.answer.points.first().map_or(0.0, |p| p.objective);
    let mut out = format!(
        "# Solution for model {}\n# Objective value = {objective}\n",
        solved.model.name()
    );
    for (j, value) in solved.x().unwrap_or_default().iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} {value}", solved.model.col_name(ColId(j as u32)));
    }
    out
}

/// Lines of Gurobi's log that other programs search for.
fn log(solved: &SolveRequest) -> String {
    let answer = &solved.answer;
    let mut out = match answer.ending {
        Ending::Optimal if solved.integer => "Optimal solution found (tolerance 1.00e-04)".into(),
        Ending::Optimal => {
            format!("Optimal objective  {:.9e}", answer.bound)
        }
        Ending::Infeasible | Ending::Cutoff => "Model is infeasible".into(),
        Ending::Unbounded => "Model is unbounded".to_owned(),
        Ending::InfeasibleOrUnbounded => "Model is infeasible or unbounded".into(),
        Ending::TimeLimit => "Time limit reached".into(),
        Ending::NodeLimit => "Node limit reached".into(),
        Ending::Interrupted => "Solve interrupted".into(),
        _ => "Solve ended by a limit".into(),
    };
    out.push('\n');
    let _ = writeln!(
        out,
        "Explored {} nodes ({} simplex iterations) in {:.2} seconds",
        answer.info.nodes, answer.info.lp_iterations, solved.seconds
    );
    if let Some(point) = answer.points.first() {
        let _ = writeln!(
            out,
            "Best objective {:.12e}, best bound {:.12e}, gap {:.4}%",
            point.objective,
            answer.bound,
            100.0 * answer.gap()
        );
    }
    out
}
