//! Programs on the path: their command lines, and readers of their output.

use super::{Limits, ScriptAnswer, Solver, SolverRun, Status, Task};
use remat_lp::Sense;
use std::path::Path;
use std::process::Command;

/// The command line that solves a model; `folder` is for files that only the program reads.
pub(super) fn command(
    solver: Solver,
    program: &Path,
    task: &Task<'_>,
    limits: &Limits,
    folder: &Path,
) -> Command {
    let mut c = Command::new(program);
    let [seconds, gap] = [limits.seconds, limits.gap].map(|v| v.to_string());
    let [threads, seed] = [limits.threads as u64, u64::from(limits.seed)].map(|v| v.to_string());
    match solver {
        Solver::Cbc => {
            c.arg(task.program).args(["-timeMode", "elapsed"]);
            c.args(["-sec", &seconds, "-ratio", &gap]);
            c.args(["-randomCbcSeed", &seed]);
            if limits.threads > 1 {
                c.args(["-threads", &threads]);
            }
            c.arg("-solve");
            if let Some(solution) = task.solution {
                c.arg("-solution").arg(solution);
            }
        }
        Solver::Scip => {
            let mut line = format!(
                "set limits time {seconds} set limits gap {gap} set lp threads 1 \
                 set randomization randomseedshift {seed} read {} optimize ",
                task.program.display()
            );
            if let Some(solution) = task.solution {
                line += &format!("write solution {} ", solution.display());
            }
            c.args(["-c", &(line + "quit")]);
        }
        Solver::Highs => {
            let options = folder.join("options");
            // If it cannot be written, the program reports that it cannot be read.
            let _ = std::fs::write(
                &options,
                format!("threads = {threads}\nmip_rel_gap = {gap}\n"),
            );
            c.arg("--options_file").arg(options);
            c.args(["--time_limit", &seconds, "--random_seed", &seed]);
            if let Some(solution) = task.solution {
                c.arg("--solution_file").arg(solution);
            }
            c.arg(task.program);
        }
        _ => {
            c.arg("mip").arg(task.program);
            c.args(["--json", "--quiet", "--time-limit", &seconds]);
            c.args(["--gap", &gap, "--threads", &threads, "--seed", &seed]);
            if solver == Solver::RematBbGeneral {
                c.arg("--no-recognise");
            }
            if let Some(solution) = task.solution {
                c.arg("--solution").arg(solution);
            }
        }
    }
    c
}

/// The answer in a program's output; `None` if the output has no answer.
pub(super) fn read(solver: Solver, text: &str, sense: Sense) -> Option<SolverRun> {
    match solver {
        Solver::Cbc => read_cbc(text, sense),
        Solver::Scip => read_scip(text),
        Solver::Highs => read_highs(text),
        _ => {
            let run = ScriptAnswer::read(text)?;
            (run.words != "error").then_some(run)
        }
    }
}

/// The number at the end of the last line with this start, after its colon if there is one.
fn number(text: &str, start: &str) -> Option<f64> {
    let line = text
        .lines()
        .rev()
        .find_map(|l| l.trim_start().strip_prefix(start))?;
    let value = line.trim_start().trim_start_matches(':');
    value.split_whitespace().next()?.parse().ok()
}

fn read_scip(text: &str) -> Option<SolverRun> {
    let line = text.lines().find(|l| l.starts_with("SCIP Status"))?;
    let words = line.split(['[', ']']).nth(1)?.to_owned();
    Some(SolverRun {
        status: Status::of_words(&words),
        words,
        objective: number(text, "Primal Bound").filter(|v| v.abs() < 1e20),
        bound: number(text, "Dual Bound").filter(|v| v.abs() < 1e20),
        nodes: number(text, "Solving Nodes").map(|n| n as u64),
        seconds: number(text, "Solving Time (sec)")?,
        ..SolverRun::default()
    })
}

fn read_highs(text: &str) -> Option<SolverRun> {
    let line = text
        .lines()
        .rev()
        .find_map(|l| l.trim_start().strip_prefix("Status"))?;
    let words = line.trim().to_lowercase();
    Some(SolverRun {
        status: Status::of_words(&words),
        words,
        objective: number(text, "Primal bound").filter(|v| v.is_finite()),
        bound: number(text, "Dual bound").filter(|v| v.is_finite()),
        nodes: number(text, "Nodes").map(|n| n as u64),
        seconds: number(text, "Timing")?,
        ..SolverRun::default()
    })
}

/// Reads CBC's output. CBC minimises every program and prints that program's values, so values of a
/// program that is maximised are left out.
fn read_cbc(text: &str, sense: Sense) -> Option<SolverRun> {
    let line = text
        .lines()
        .rev()
        .find_map(|l| l.strip_prefix("Result - "))?;
    let words = line.trim().to_lowercase();
    let status = Status::of_words(&words);
    let objective = number(text, "Objective value:");
    let proven = objective.filter(|_| status == Status::Optimal);
    let told = |value: Option<f64>| value.filter(|_| sense == Sense::Minimise);
    Some(SolverRun {
        status,
        words,
        objective: told(objective),
        bound: told(number(text, "Lower bound:").or(proven)),
        nodes: number(text, "Enumerated nodes:").map(|n| n as u64),
        seconds: number(text, "Time (Wallclock seconds):")?,
        incumbents: match sense {
            Sense::Minimise => text.lines().filter_map(cbc_incumbent).collect(),
            Sense::Maximise => Vec::new(),
        },
        ..SolverRun::default()
    })
}

/// `Cbc0012I Integer solution of 12 found by feasibility pump after 0 iterations and 0 nodes (0.10
/// seconds)`: seconds and value. Other lines of solutions look alike.
fn cbc_incumbent(line: &str) -> Option<(f64, f64)> {
    let (_, rest) = line.split_once("Integer solution of ")?;
    let value = rest.split_whitespace().next()?.parse().ok()?;
    let (_, time) = rest.rsplit_once('(')?;
    let time = time.split_whitespace().next()?.parse().ok()?;
    Some((time, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_read() {
        let scip = "SCIP Status        : problem is solved [optimal solution found]\n\
                    Solving Time (sec) : 0.07\nSolving Nodes      : 13\n\
                    Primal Bound       : +5.68100700000000e+02 (3 solutions)\n\
                    Dual Bound         : +5.68100700000000e+02\nGap                : 0.00 %\n";
        let run = read_scip(scip).unwrap();
        assert_eq!((run.status, run.nodes), (Status::Optimal, Some(13)));
        assert_eq!(run.objective, Some(568.1007));
        let cbc = "Cbc0012I Integer solution of 13 found by rounding after 0 iterations and 0 nodes (0.10 seconds)\n\
                   Result - Stopped on time limit\n\nObjective value:                12.5\n\
                   Lower bound:                    10.25\nGap:  0.2\nEnumerated nodes:               7\n\
                   Time (CPU seconds):             1.01\nTime (Wallclock seconds):       1.50\n";
        let run = read_cbc(cbc, Sense::Minimise).unwrap();
        assert_eq!((run.status, run.bound), (Status::Limit, Some(10.25)));
        assert_eq!((run.objective, run.seconds), (Some(12.5), 1.5));
        assert_eq!(run.incumbents, [(0.1, 13.0)]);
        let run = read_cbc(cbc, Sense::Maximise).unwrap();
        assert_eq!((run.objective, run.bound), (None, None));
        let highs = "Solving report\n  Status            Time limit reached\n  Primal bound      14\n  \
                     Dual bound        13.5\n  Gap               3.6%\n  Timing            2.01 (total)\n  \
                     Nodes             31\n";
        let run = read_highs(highs).unwrap();
        assert_eq!((run.status, run.seconds), (Status::Limit, 2.01));
        assert_eq!((run.objective, run.bound), (Some(14.0), Some(13.5)));
        assert_eq!(run.nodes, Some(31));
        assert!(read_scip("").is_none() && read_highs("").is_none());
        assert!(read_cbc("", Sense::Minimise).is_none());
    }
}
