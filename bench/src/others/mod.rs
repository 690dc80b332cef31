//! Other solvers, for comparison only. Each runs as a process, a program or a Python, on a model in
//! an MPS file; `remat-bb` runs beside them in the same way.
//!
//! | module | concept |
//! |---|---|
//! | `find` | places of solvers on this machine |
//! | `programs` | command lines of programs, and readers of their output |
//! | `process` | a process that is ended when its time is over |
//!
//! Solvers in Python run a short script (`scripts/`) that prints one JSON object. A solver's only
//! settings are threads, time limit, gap and seed.

mod find;
mod process;
mod programs;

pub use find::{Installed, NotInstalled};

use clap::ValueEnum;
use remat_lp::Sense;
use serde::Deserialize;
use std::path::Path;

/// A solver of mixed-integer programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Solver {
    /// remat-bb: recognises published programs, and solves them by their own methods
    RematBb,
    /// The general search of remat-bb alone
    RematBbGeneral,
    /// HiGHS: Python's highspy, or highs on the path
    Highs,
    /// SCIP: scip on the path, or Python's pyscipopt
    Scip,
    /// CBC: cbc on the path, or the one that comes with Python's pulp
    Cbc,
    /// CP-SAT: Python's ortools; it scales continuous columns to integers
    CpSat,
    /// ripsolve: Python's ripsolve
    Ripsolve,
}

impl Solver {
    /// All solvers, in the order of tables.
    pub const ALL: [Solver; 7] = [
        Solver::RematBb,
        Solver::RematBbGeneral,
        Solver::Highs,
        Solver::Scip,
        Solver::Cbc,
        Solver::CpSat,
        Solver::Ripsolve,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Solver::RematBb => "remat-bb",
            Solver::RematBbGeneral => "remat-bb, general",
            Solver::Highs => "HiGHS",
            Solver::Scip => "SCIP",
            Solver::Cbc => "CBC",
            Solver::CpSat => "CP-SAT",
            Solver::Ripsolve => "ripsolve",
        }
    }

    /// Name on the command line and in files.
    pub fn key(self) -> &'static str {
        match self {
            Solver::RematBb => "remat-bb",
            Solver::RematBbGeneral => "remat-bb-general",
            Solver::Highs => "highs",
            Solver::Scip => "scip",
            Solver::Cbc => "cbc",
            Solver::CpSat => "cp-sat",
            Solver::Ripsolve => "ripsolve",
        }
    }

    /// The solver with a key.
    pub fn of_key(key: &str) -> Option<Solver> {
        Solver::ALL.into_iter().find(|s| s.key() == key)
    }
}

/// Limits and settings of a run, the same for every solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Seconds; for remat-bb they include reading the file, for other solvers they do not.
    pub seconds: f64,
    /// Threads or workers, at least 1.
    pub threads: usize,
    /// Relative gap at which to end.
    pub gap: f64,
    /// Seed of random choices, where the solver has one.
    pub seed: u32,
}

/// A model to be solved.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// MPS file.
    pub program: &'a Path,
    /// Sense of its objective.
    pub sense: Sense,
    /// File for the best solution, if it is kept.
    pub solution: Option<&'a Path>,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Optimal within the gap.
    Optimal,
    /// Proven infeasible.
    Infeasible,
    /// Unbounded.
    Unbounded,
    /// A limit came first.
    Limit,
    /// No answer: refused, killed, or out of memory.
    #[default]
    Failed,
}

impl Status {
    const ALL: [Status; 5] = [
        Status::Optimal,
        Status::Infeasible,
        Status::Unbounded,
        Status::Limit,
        Status::Failed,
    ];

    /// The status as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::Infeasible => "infeasible",
            Status::Unbounded => "unbounded",
            Status::Limit => "limit",
            Status::Failed => "failed",
        }
    }

    /// The status that a word stands for.
    pub fn of_word(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// The status of a solver's own words, in lower case.
    fn of_words(words: &str) -> Status {
        let has = |part: &str| words.contains(part);
        if has("infeasible or unbounded") || has("inf_or_unbd") || has("inforunbd") {
            Status::Limit
        } else if has("infeasible") {
            Status::Infeasible
        } else if has("unbounded") {
            Status::Unbounded
        } else if has("optimal") || has("gap limit") || has("gaplimit") {
            Status::Optimal
        } else if has("invalid") || has("error") || has("abnormal") {
            Status::Failed
        } else {
            Status::Limit
        }
    }
}

/// Answer of a solver. Objectives and bounds are its own claims, in the sense of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolverRun {
    /// Its end.
    pub status: Status,
    /// The same in its own words.
    pub words: String,
    /// Objective of its best solution.
    pub objective: Option<f64>,
    /// Its dual bound.
    pub bound: Option<f64>,
    /// Nodes, where the solver reports them.
    pub nodes: Option<u64>,
    /// Seconds by its own clock, reading left out.
    pub seconds: f64,
    /// Seconds of the whole process, start and reading included.
    pub process_seconds: f64,
    /// Processor seconds of the process, where the system reports them.
    pub cpu_seconds: Option<f64>,
    /// Share of the machine's processor time that other processes used meanwhile, from 0 to 1, where
    /// the system reports it and the run is long enough.
    pub foreign_load: Option<f64>,
    /// Times (seconds) and objectives of its solutions, where the solver reports them.
    pub incumbents: Vec<(f64, f64)>,
}

/// The JSON object that a script prints, and `remat-bb` with `--json`.
#[derive(Deserialize)]
struct ScriptAnswer {
    status: String,
    objective: Option<f64>,
    bound: Option<f64>,
    nodes: Option<f64>,
    seconds: f64,
    #[serde(default)]
    incumbents: Vec<(f64, f64)>,
}

impl ScriptAnswer {
    /// The answer in a line; `None` if the line is no answer.
    fn read(line: &str) -> Option<SolverRun> {
        let answer: ScriptAnswer = serde_json::from_str(line).ok()?;
        Some(SolverRun {
            status: Status::of_words(&answer.status),
            words: answer.status,
            objective: answer.objective,
            bound: answer.bound,
            nodes: answer.nodes.map(|n| n as u64),
            seconds: answer.seconds,
            process_seconds: 0.0,
            cpu_seconds: None,
            foreign_load: None,
            incumbents: answer.incumbents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_read() {
        let line = r#"{"status": "timelimit", "objective": null, "bound": 3.5, "nodes": 9.0,
            "seconds": 1.25, "incumbents": [[0.5, 7]]}"#;
        let run = ScriptAnswer::read(line).expect("a run");
        assert_eq!((run.status, run.nodes), (Status::Limit, Some(9)));
        assert_eq!((run.bound, run.seconds), (Some(3.5), 1.25));
        assert_eq!(run.incumbents, [(0.5, 7.0)]);
        assert_eq!(ScriptAnswer::read("Killed"), None);
    }

    #[test]
    fn words_of_solvers_mean_one_thing() {
        for (words, status) in [
            ("optimal", Status::Optimal),
            ("gaplimit", Status::Optimal),
            ("infeasible", Status::Infeasible),
            ("primal infeasible or unbounded", Status::Limit),
            ("time limit reached", Status::Limit),
            ("unbounded", Status::Unbounded),
            ("model_invalid", Status::Failed),
        ] {
            assert_eq!(Status::of_words(words), status, "{words}");
        }
        for solver in Solver::ALL {
            assert_eq!(Solver::of_key(solver.key()), Some(solver));
            let value = solver.to_possible_value().expect("a name");
            assert_eq!(value.get_name(), solver.key());
        }
    }
}
