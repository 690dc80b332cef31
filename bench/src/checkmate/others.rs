//! HiGHS, SCIP and CP-SAT through their Python packages, on the published program: for comparison only, and left out where
//! they are not there. Each runs in a process of its own on the program as an MPS file, with our limit and our gap.

use super::Config;
use remat_formulations::Instance;
use remat_formulations::checkmate::original::{Original, Stages};
use remat_lp::mps;
use std::process::Command;

/// Programs with more nonzeros are not given to other solvers: writing and reading them takes longer than the limit.
const MOST_NONZEROS: usize = 20_000_000;

/// A solver that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// HiGHS, package `highspy`.
    Highs,
    /// SCIP, package `pyscipopt`; on one thread, its usual way.
    Scip,
    /// CP-SAT, package `ortools`, with as many workers as we have threads.
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
    /// Seconds of its run, without reading the file.
    pub seconds: f64,
}

/// What every script begins with: no run outlives twice its limit by more than a minute.
const BEGIN: &str = "
import json, math, signal, sys, time
path, limit, threads, gap = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
signal.alarm(int(2 * limit) + 60)
def say(status, objective, bound, start):
    seen = lambda v: v if isinstance(v, (int, float)) and math.isfinite(v) and abs(v) < 1e19 else None
    print(json.dumps({'status': str(status), 'objective': seen(objective), 'bound': seen(bound), 'seconds': time.time() - start}))
";

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
say(h.modelStatusToString(h.getModelStatus()), found, info.mip_dual_bound, start)
";

const SCIP: &str = "
import pyscipopt
m = pyscipopt.Model()
m.hideOutput()
m.readProblem(path)
m.setParam('limits/time', limit)
m.setParam('limits/gap', gap)
start = time.time()
m.optimize()
say(m.getStatus(), m.getObjVal() if m.getNSols() > 0 else None, m.getDualbound(), start)
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
say(status.name, s.objective_value if found else None, s.best_objective_bound if proven else None, start)
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

    /// Runs on the published program of an instance.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn solve(
        self,
        python: &str,
        config: &Config,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Result<Run, String> {
        let unit = match self {
            // It takes whole numbers only, and refuses rows that rounding makes infeasible.
            Solver::CpSat => 1.0,
            Solver::Highs | Solver::Scip => Original::unit_for(instance, budget_bytes),
        };
        let program = Original::new(instance, budget_bytes, Stages::FrontierAdvancing, unit)
            .map_err(|e| e.to_string())?;
        let nonzeros = program.model().num_nonzeros();
        if nonzeros > MOST_NONZEROS {
            return Err(format!("left out: {nonzeros} nonzeros"));
        }
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = folder.path().join("program.mps");
        mps::write(program.model(), &path).map_err(|e| e.to_string())?;
        drop(program);
        let script = match self {
            Solver::Highs => HIGHS,
            Solver::Scip => SCIP,
            Solver::CpSat => CP_SAT,
        };
        let threads = match config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let output = Command::new(python)
            .arg("-c")
            .arg(format!("{BEGIN}{script}"))
            .arg(&path)
            .arg(config.seconds.to_string())
            .arg(threads.to_string())
            .arg(config.settings(budget_bytes).gap.to_string())
            .output()
            .map_err(|e| format!("{python}: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let over_time = || format!("stopped after {:.0} s", 2.0 * config.seconds + 60.0);
        read(text.lines().last().unwrap_or_default())
            .ok_or_else(|| said.lines().last().map_or_else(over_time, str::to_owned))
    }
}

/// The last line of a script.
fn read(line: &str) -> Option<Run> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(Run {
        status: value["status"].as_str()?.to_lowercase(),
        objective: value["objective"].as_f64(),
        bound: value["bound"].as_f64(),
        seconds: value["seconds"].as_f64()?,
    })
}

/// The solvers that are there, and what a table says of them and of those that are not.
pub struct Others {
    /// The Python that has them, as it is called.
    python: String,
    /// Those that are there.
    pub solvers: Vec<Solver>,
    /// A line for each.
    pub text: String,
}

impl Others {
    /// Looks for them.
    pub fn find(config: &Config) -> Others {
        let Some(python) = config.python.clone() else {
            return Others {
                python: String::new(),
                solvers: Vec::new(),
                text: "HiGHS, SCIP, CP-SAT: left out\n".into(),
            };
        };
        let mut solvers = Vec::new();
        let mut text = String::new();
        for solver in Solver::ALL {
            let name = solver.name();
            text += &match solver.version(&python) {
                Ok(version) => {
                    solvers.push(solver);
                    let seconds = config.seconds;
                    format!("{name} {version} on the published program, {seconds} s each\n")
                }
                Err(reason) => format!("{name}: left out, {reason}\n"),
            };
        }
        Others {
            python,
            solvers,
            text,
        }
    }

    /// Headings of their columns: cost, bound, seconds of each.
    pub fn headings(&self) -> Vec<(&'static str, bool)> {
        let each = |s: &Solver| [(s.name(), true), ("bound", true), ("s", true)];
        self.solvers.iter().flat_map(each).collect()
    }

    /// All of them on an instance.
    pub fn solve(
        &self,
        config: &Config,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Vec<Result<Run, String>> {
        let run = |s: &Solver| s.solve(&self.python, config, instance, budget_bytes);
        self.solvers.iter().map(run).collect()
    }
}

/// Cells of the columns of one solver.
pub fn cells(run: &Result<Run, String>) -> [String; 3] {
    match run {
        Err(reason) => [reason.clone(), String::new(), String::new()],
        Ok(run) => [
            run.objective
                .map_or_else(|| run.status.clone(), |cost| format!("{cost:.0}")),
            run.bound.map_or_else(|| "-".into(), |b| format!("{b:.0}")),
            format!("{:.1}", run.seconds),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_formulations::solve::{self, Settings};
    use remat_formulations::zoo;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn config(python: Option<&str>) -> Config {
        Config {
            dir: PathBuf::new(),
            seconds: 30.0,
            threads: 1,
            parts: Vec::new(),
            only: Vec::new(),
            points: 2,
            python: python.map(Into::into),
            out: None,
        }
    }

    #[test]
    fn unknown_numbers_stay_unknown() {
        let run = read(
            r#"{"status": "Time limit reached", "objective": null, "bound": 3.5, "seconds": 1.25}"#,
        );
        let run = run.expect("a run");
        assert_eq!(
            cells(&Ok(run)),
            ["time limit reached", "4", "1.2"].map(String::from)
        );
        assert_eq!(read("Killed"), None);
        let none = Others::find(&config(None));
        assert!(none.solvers.is_empty() && none.headings().is_empty());
    }

    #[test]
    fn solvers_that_are_here_agree_with_ours() {
        let config = config(Some("python3"));
        let others = Others::find(&config);
        let spec = "chain?n=6".parse().expect("a model");
        let instance = zoo::build(&spec).expect("a chain");
        let budget = 4 << 20;
        let settings = Settings::new(budget);
        let never = AtomicBool::new(false);
        let ours = solve::solve(&instance, &settings, &never, &|_| {}).expect("solved");
        let optimum = ours.objective.expect("a plan") as f64;
        for (solver, run) in others
            .solvers
            .iter()
            .zip(others.solve(&config, &instance, budget))
        {
            let found = run.expect("a run").objective.expect("a plan");
            assert!((found - optimum).abs() <= 1e-4 * optimum, "{solver:?}");
        }
        println!("{}", others.text);
    }
}
