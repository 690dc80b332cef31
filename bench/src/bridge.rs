//! HiGHS, SCIP and CP-SAT through their Python packages, for comparison only: each runs in a
//! process of its own on a program in an MPS file, with a limit and a gap that are given.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// A solver that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// HiGHS, package `highspy`.
    Highs,
    /// SCIP, package `pyscipopt`; concurrent where it gets more than one thread.
    Scip,
    /// CP-SAT, package `ortools`, with as many workers as threads.
    CpSat,
}

/// What it found.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it ended, in its own words.
    pub status: String,
    /// Its best objective.
    pub objective: Option<f64>,
    /// Its dual bound.
    pub bound: Option<f64>,
    /// Nodes, where it tells.
    pub nodes: Option<u64>,
    /// Seconds of its run, without reading the file.
    pub seconds: f64,
}

/// What a run is given.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds, without reading the file.
    pub seconds: f64,
    /// Threads or workers.
    pub threads: usize,
    /// Relative gap at which to end.
    pub gap: f64,
}

/// What every script begins with: no run outlives twice its limit by more than a minute.
const BEGIN: &str = "
import json, math, signal, sys, time
path, limit, threads, gap = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
signal.alarm(int(2 * limit) + 60)
def say(status, objective, bound, nodes, start):
    seen = lambda v: v if isinstance(v, (int, float)) and math.isfinite(v) and abs(v) < 1e19 else None
    print(json.dumps({'status': str(status).lower(), 'objective': seen(objective), 'bound': seen(bound), 'nodes': nodes,
                      'seconds': time.time() - start}))
";

/// The signal that `signal.alarm` sends.
const ALARM: i32 = 14;

const HIGHS: &str = "
import highspy
h = highspy.Highs()
h.setOptionValue('output_flag', False)
h.setOptionValue('threads', threads)
h.setOptionValue('mip_rel_gap', gap)
h.readModel(path)
h.setOptionValue('time_limit', limit)
start = time.time()
h.run()
info = h.getInfo()
found = info.objective_function_value if info.primal_solution_status == 2 else None
say(h.modelStatusToString(h.getModelStatus()), found, info.mip_dual_bound, info.mip_node_count, start)
";

const SCIP: &str = "
import pyscipopt
m = pyscipopt.Model()
m.hideOutput()
m.readProblem(path)
m.setParam('limits/time', limit)
m.setParam('limits/gap', gap)
m.setParam('lp/threads', 1)
m.setParam('parallel/maxnthreads', threads)
start = time.time()
m.optimize() if threads == 1 else m.solveConcurrent()
say(m.getStatus(), m.getObjVal() if m.getNSols() > 0 else None, m.getDualbound(), m.getNNodes(), start)
";

const CP_SAT: &str = "
from ortools.linear_solver.python import model_builder
m = model_builder.Model()
m.import_from_mps_file(path)
s = model_builder.Solver('sat')
parameters = ['num_workers', threads], ['max_time_in_seconds', limit], ['relative_gap_limit', gap], ['mip_max_bound', 1e13]
s.set_solver_specific_parameters(','.join(f'{name}:{value}' for name, value in parameters))
start = time.time()
status = s.solve(m)
found = status in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE)
proven = status != model_builder.SolveStatus.INFEASIBLE
say(status.name, s.objective_value if found else None, s.best_objective_bound if proven else None, None, start)
";

impl Solver {
    /// All of them.
    pub const ALL: [Solver; 3] = [Solver::Highs, Solver::Scip, Solver::CpSat];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Highs => "HiGHS",
            Solver::Scip => "SCIP",
            Solver::CpSat => "CP-SAT",
        }
    }

    /// Its version, as a Python tells it.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn version(self, python: &str) -> Result<String, String> {
        let (package, ask) = match self {
            Solver::Highs => ("highspy", "highspy.Highs().version()"),
            Solver::Scip => ("pyscipopt", "pyscipopt.Model().version()"),
            Solver::CpSat => ("ortools", "ortools.__version__"),
        };
        let output = Command::new(python)
            .arg("-c")
            .arg(format!("import {package}; print({ask})"))
            .output()
            .map_err(|e| format!("{python}: {e}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(format!("{python} has no package {package}")),
        }
    }

    /// Runs it on a program.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn solve(self, python: &str, program: &Path, limits: &Limits) -> Result<Run, String> {
        let script = match self {
            Solver::Highs => HIGHS,
            Solver::Scip => SCIP,
            Solver::CpSat => CP_SAT,
        };
        let output = Command::new(python)
            .arg("-c")
            .arg(format!("{BEGIN}{script}"))
            .arg(program)
            .arg(limits.seconds.to_string())
            .arg(limits.threads.to_string())
            .arg(limits.gap.to_string())
            .output()
            .map_err(|e| format!("{python}: {e}"))?;
        let (text, said) = (output.stdout, String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&text);
        read(text.lines().last().unwrap_or_default()).ok_or_else(|| match output.status.signal() {
            Some(ALARM) => "stopped, far over its time".into(),
            Some(signal) => format!("killed by signal {signal}"),
            None => said.lines().last().unwrap_or("no answer").to_owned(),
        })
    }
}

/// The last line of a script.
fn read(line: &str) -> Option<Run> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(Run {
        status: value["status"].as_str()?.to_owned(),
        objective: value["objective"].as_f64(),
        bound: value["bound"].as_f64(),
        nodes: value["nodes"].as_u64(),
        seconds: value["seconds"].as_f64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{lp_format, mps};

    /// The Python on the path.
    const PYTHON: &str = "python3";

    #[test]
    fn last_lines_are_read() {
        let line = r#"{"status": "timelimit", "objective": null, "bound": 3.5, "nodes": 9, "seconds": 1.25}"#;
        let run = read(line).expect("a run");
        let (status, nodes) = (run.status.as_str(), run.nodes);
        assert_eq!((status, run.objective, nodes), ("timelimit", None, Some(9)));
        assert_eq!((run.bound, run.seconds), (Some(3.5), 1.25));
        assert_eq!(read("Killed"), None);
    }

    #[test]
    fn solvers_that_are_here_find_an_optimum() {
        let text = "Minimize\n c: - 3 x - 2 y\nSubject To\n r: 2 x + 2 y <= 7\nBounds\n x <= 2\n y <= 9\nGeneral\n x\n y\nEnd\n";
        let model = lp_format::parse(text, "case").expect("a program");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("case.mps");
        mps::write(&model, &path).expect("written");
        for threads in [1, 2] {
            let limits = Limits {
                seconds: 10.0,
                threads,
                gap: 0.0,
            };
            for solver in Solver::ALL {
                if let Err(reason) = solver.version(PYTHON) {
                    println!("{} skipped: {reason}", solver.name());
                    continue;
                }
                let run = solver.solve(PYTHON, &path, &limits).expect("a run");
                let objective = run.objective.map(f64::round);
                assert_eq!(objective, Some(-8.0), "{}", solver.name());
            }
        }
    }
}
