//! Solvers that may be installed on the machine: SCIP (a `scip` on the path, or `pyscipopt` for
//! Python) and CBC (a `cbc` on the path). They run as processes of their own on the model written
//! as MPS; seconds are theirs, reading left out. Their primal integrals are not measured.

use super::{Config, Run};
use crate::bridge::{self, Limits, Solver};
use remat_lp::Model;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// A solver outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum External {
    /// SCIP.
    Scip,
    /// COIN-OR's branch and cut.
    Cbc,
}

/// Where a solver was found.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Which one.
    pub solver: External,
    program: PathBuf,
    /// True if the program is a Python with `pyscipopt`.
    python: bool,
}

/// A solver that is asked for and not there.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0} is not installed: {1}")]
pub struct NotInstalled(&'static str, &'static str);

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(name))
        .find(|p| p.is_file())
}

impl External {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            External::Scip => "SCIP",
            External::Cbc => "CBC",
        }
    }

    /// Looks for it.
    ///
    /// # Errors
    /// It is not there, with what would be.
    pub fn find(self) -> Result<Installed, NotInstalled> {
        let found = |program: PathBuf, python| Installed {
            solver: self,
            program,
            python,
        };
        match self {
            External::Cbc => on_path("cbc")
                .map(|p| found(p, false))
                .ok_or(NotInstalled("CBC", "no program cbc on the path")),
            External::Scip => on_path("scip")
                .map(|p| found(p, false))
                .or_else(|| {
                    let python = on_path("python3")?;
                    let there = Solver::Scip.version(&python.to_string_lossy()).is_ok();
                    there.then(|| found(python, true))
                })
                .ok_or(NotInstalled(
                    "SCIP",
                    "no program scip on the path, and no pyscipopt for python3",
                )),
        }
    }
}

impl Installed {
    /// Solves a model; a run that failed has the status `failed`.
    pub fn solve(&self, config: &Config, model: &Model) -> Run {
        self.try_solve(config, model).unwrap_or_else(|| Run {
            status: "failed".into(),
            ..Run::default()
        })
    }

    fn try_solve(&self, config: &Config, model: &Model) -> Option<Run> {
        let folder = tempfile::tempdir().ok()?;
        let path = folder.path().join("model.mps");
        remat_lp::mps::write(model, &path).ok()?;
        if self.python {
            let limits = Limits {
                seconds: config.time_limit,
                threads: config.threads,
                gap: config.gap,
            };
            let python = self.program.to_string_lossy();
            return Solver::Scip
                .solve(&python, &path, &limits)
                .ok()
                .map(of_bridge);
        }
        let output = self.command(config, &path).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut run = match self.solver {
            External::Cbc => read_cbc(&text),
            External::Scip => read_scip(&text),
        }?;
        // CBC takes every program as one of minimisation and prints the value of that.
        if let (External::Cbc, remat_lp::Sense::Maximise) = (self.solver, model.sense()) {
            run.objective = None;
        }
        Some(run)
    }

    fn command(&self, config: &Config, path: &Path) -> Command {
        let mut c = Command::new(&self.program);
        let (limit, gap) = (config.time_limit.to_string(), config.gap.to_string());
        let threads = config.threads.to_string();
        match self.solver {
            External::Cbc => {
                c.arg(path).args(["-sec", &limit, "-ratio", &gap]);
                if config.threads > 1 {
                    c.args(["-threads", &threads]);
                }
                c.arg("-solve");
            }
            External::Scip => {
                let line = format!(
                    "set limits time {limit} set limits gap {gap} set lp threads 1 read {} optimize quit",
                    path.display()
                );
                c.args(["-c", &line]);
            }
        }
        c
    }
}

/// The number after a colon on the line that starts so.
fn number(text: &str, start: &str) -> Option<f64> {
    let line = text.lines().rev().find(|l| l.starts_with(start))?;
    let value = line.split(':').nth(1)?.split_whitespace().next()?;
    value.parse().ok()
}

/// A run through Python.
fn of_bridge(run: bridge::Run) -> Run {
    Run {
        status: match run.status.as_str() {
            "optimal" | "gaplimit" => "optimal",
            "infeasible" => "infeasible",
            "unbounded" => "unbounded",
            _ => "limit",
        }
        .into(),
        objective: run.objective,
        bound: run.bound.unwrap_or(f64::NAN),
        nodes: run.nodes.unwrap_or(0),
        seconds: run.seconds,
        incumbents: Vec::new(),
    }
}

fn read_scip(text: &str) -> Option<Run> {
    let status = text.lines().find(|l| l.starts_with("SCIP Status"))?;
    let has = |s: &str| status.contains(s);
    let primal = number(text, "Primal Bound");
    Some(Run {
        status: if has("optimal solution") || has("gap limit") {
            "optimal"
        } else if has("infeasible]") {
            "infeasible"
        } else if has("unbounded]") {
            "unbounded"
        } else {
            "limit"
        }
        .into(),
        objective: primal.filter(|v| v.abs() < 1e20),
        bound: number(text, "Dual Bound")?,
        nodes: number(text, "Solving Nodes")? as u64,
        seconds: number(text, "Solving Time (sec)")?,
        incumbents: Vec::new(),
    })
}

fn read_cbc(text: &str) -> Option<Run> {
    let result = text.lines().rev().find(|l| l.starts_with("Result - "))?;
    let has = |s: &str| result.contains(s);
    let objective = number(text, "Objective value");
    Some(Run {
        status: if has("Optimal") {
            "optimal"
        } else if has("infeasible") {
            "infeasible"
        } else if has("unbounded") {
            "unbounded"
        } else {
            "limit"
        }
        .into(),
        objective,
        bound: number(text, "Lower bound")
            .or(objective)
            .unwrap_or(f64::NAN),
        nodes: number(text, "Enumerated nodes").unwrap_or(0.0) as u64,
        seconds: number(text, "Time (Wallclock seconds)")?,
        incumbents: Vec::new(),
    })
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
        assert_eq!((run.status.as_str(), run.nodes), ("optimal", 13));
        assert_eq!(run.objective, Some(568.1007));
        let cbc = "Result - Stopped on time limit\n\nObjective value:                12.5\n\
                   Lower bound:                    10.25\nGap:  0.2\nEnumerated nodes:               7\n\
                   Time (CPU seconds):             1.01\nTime (Wallclock seconds):       1.50\n";
        let run = read_cbc(cbc).unwrap();
        assert_eq!((run.status.as_str(), run.bound), ("limit", 10.25));
        assert_eq!((run.objective, run.seconds), (Some(12.5), 1.5));
        assert!(read_scip("").is_none() && read_cbc("").is_none());
    }

    #[test]
    fn solvers_that_are_here_find_an_optimum() {
        let text = "Minimize\n c: - 3 x - 2 y\nSubject To\n r: 2 x + 2 y <= 7\nBounds\n x <= 2\nGeneral\n x\n y\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let config = Config {
            dir: PathBuf::new(),
            reference: None,
            only: Vec::new(),
            time_limit: 10.0,
            threads: 1,
            gap: 0.0,
            opportunistic: false,
            safe_bounds: true,
            with: Vec::new(),
        };
        for solver in [External::Scip, External::Cbc] {
            match solver.find() {
                Ok(there) => {
                    let run = there.solve(&config, &model);
                    assert_eq!(run.status, "optimal", "{}", solver.name());
                    assert_eq!(run.objective.map(f64::round), Some(-8.0));
                }
                Err(e) => println!("skipped: {e}"),
            }
        }
    }
}
