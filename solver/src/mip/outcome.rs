//! Outcome of a solve, and its counters.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Reason for the end of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveStatus {
    /// The solution is optimal within the gaps of the settings.
    Optimal,
    /// No feasible point exists.
    Infeasible,
    /// No feasible point is better than the cutoff of the settings; there may be worse ones.
    Cutoff,
    /// The objective is unbounded over the feasible points; the solution is one of them.
    Unbounded,
    /// The relaxation is unbounded, and no feasible point was found: the program is infeasible or
    /// unbounded.
    InfeasibleOrUnbounded,
    /// The time limit.
    TimeLimit,
    /// The node limit.
    NodeLimit,
    /// The limit on memory for open nodes.
    MemoryLimit,
    /// The tick limit.
    TickLimit,
    /// An interrupt from outside.
    Interrupted,
    /// The tree is finished, but the linear programs of some leaves could not be resolved
    /// numerically. The dual bound accounts for them.
    Unresolved,
}

/// A feasible point of the original model.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Objective in the model's sense, with the offset.
    pub objective: f64,
    /// One value per column; values of integer columns are integers.
    pub x: Vec<f64>,
    /// Name of its finder.
    pub found_by: &'static str,
}

/// Counters of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// Nodes with a solved linear program, or closed by propagation.
    pub nodes: u64,
    /// Simplex iterations in total.
    pub lp_iterations: u64,
    /// Deterministic work units.
    pub ticks: u64,
    /// Cuts in the linear program after the root.
    pub cuts: u64,
    /// Linear programs of strong branching.
    pub strong_branchings: u64,
    /// Objective of the root's relaxation before cuts, in the model's sense.
    pub root_lp: f64,
    /// Dual bound after the root, in the model's sense.
    pub root_bound: f64,
    /// Bounds that ignored reduced costs within the tolerance on columns without bounds, because no
    /// useful safe bound was available.
    pub unproven_bounds: u64,
    /// Candidates refused by the check against the original model.
    pub refused: u64,
    /// Rows after presolve.
    pub presolved_rows: u64,
    /// Columns after presolve.
    pub presolved_cols: u64,
    /// Nodes that went through node files.
    pub spilled_nodes: u64,
    /// Repetitions of presolve and root.
    pub restarts: u64,
    /// Wall-clock seconds, including the time before a resume.
    pub seconds: f64,
}

/// The result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveResult {
    /// Reason for the end.
    pub status: SolveStatus,
    /// The best solution found.
    pub solution: Option<Solution>,
    /// The best solutions found, in order; at most the number in the settings.
    pub pool: Vec<Solution>,
    /// Reason for a missing certificate, if one was requested.
    pub certificate_problem: Option<String>,
    /// Problems with the files of the search.
    pub file_problems: FileProblems,
    /// The claim in rational numbers, if requested.
    pub exact: Option<ExactClaim>,
    /// Bound on the objective of every solution, in the model's sense.
    pub dual_bound: f64,
    /// Counters.
    pub info: Info,
}

/// Problems with the files of a search, in words that name the file. No solution is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProblems {
    /// A complete proof could not be written.
    pub certificate: Option<String>,
    /// The final state of the search could not be written.
    pub checkpoint: Option<String>,
    /// A node file could not be written or read. Unwritten nodes stay in memory; a read error ends
    /// the search as the memory limit does.
    pub node_files: Option<String>,
}

impl SolveResult {
    /// `|primal - dual| / max(1e-10, |primal|)`; infinite without a solution.
    pub fn gap(&self) -> f64 {
        match &self.solution {
            Some(s) if s.objective == self.dual_bound => 0.0,
            Some(s) => (s.objective - self.dual_bound).abs() / s.objective.abs().max(1e-10),
            None => f64::INFINITY,
        }
    }
}

/// A claim of a search in rational numbers, if the settings request it
/// ([`Settings::exact`](crate::mip::Settings::exact)). Fractions are written `p/q`, integers
/// without the slash. Numbers of the model are read as their printed decimals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactClaim {
    /// Objective of the solution, in the model's sense, with the offset. `None` if no point that is
    /// feasible without tolerance was found.
    pub objective: Option<String>,
    /// Bound on the objective of every feasible point. `None` without a proof, or without a
    /// feasible point.
    pub bound: Option<String>,
    /// One value per column: the solution without rounding. Empty without a solution.
    pub values: Vec<String>,
    /// Reason why the claim could not be confirmed.
    pub problem: Option<String>,
}

/// Error that makes a solve impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The linear programming core refused a model.
    #[error(transparent)]
    Model(#[from] remat_lp::ModelError),
    /// A state, node or certificate file could not be written or read.
    #[error("{}: {problem}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The system cannot start a thread.
    #[error("no thread can be started: {problem}")]
    Thread {
        /// Error reported by the system.
        problem: String,
    },
    /// A presolve step of an extension restores points that are no solutions.
    #[error("presolve steps ({steps}) restore no solution: {problem}")]
    PresolveStep {
        /// Names of the steps.
        steps: String,
        /// Description of the problem.
        problem: String,
    },
    /// A setting is invalid.
    #[error("setting `{name}` is {value}: {expected} is needed")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// Description of the valid values.
        expected: &'static str,
    },
}

impl SolveError {
    /// A problem with a file.
    pub(crate) fn file(path: &Path, problem: impl ToString) -> SolveError {
        SolveError::File {
            path: path.to_path_buf(),
            problem: problem.to_string(),
        }
    }
}
