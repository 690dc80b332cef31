//! Outcome of a solve, and what was counted on the way.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Reason why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveStatus {
    /// The solution is optimal within the gaps of the settings.
    Optimal,
    /// No feasible point exists.
    Infeasible,
    /// No feasible point is better than the cutoff of the settings; whether there is any at all is
    /// not known.
    Cutoff,
    /// The objective has no limit over the feasible points; the solution is one of them.
    Unbounded,
    /// The objective has no limit over the relaxation, and no feasible point was found: there is
    /// none, or the objective has no limit.
    InfeasibleOrUnbounded,
    /// The time limit.
    TimeLimit,
    /// The node limit.
    NodeLimit,
    /// The limit on memory for open nodes.
    MemoryLimit,
    /// The tick limit.
    TickLimit,
    /// Interrupted from outside.
    Interrupted,
    /// The tree is done, but leaves remained whose linear programs could not be settled
    /// numerically; the dual bound takes them into account.
    Unresolved,
}

/// A feasible point of the original model.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Objective in the model's sense, offset included.
    pub objective: f64,
    /// One value per column; those of integer columns are integers.
    pub x: Vec<f64>,
    /// Name of its finder.
    pub found_by: &'static str,
}

/// Counters of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// Nodes whose linear program was solved or which propagation closed.
    pub nodes: u64,
    /// Simplex iterations, all of them.
    pub lp_iterations: u64,
    /// Deterministic work units.
    pub ticks: u64,
    /// Cuts in the linear program after the root.
    pub cuts: u64,
    /// Strong branching linear programs.
    pub strong_branchings: u64,
    /// Objective of the root's relaxation before cuts, in the model's sense.
    pub root_lp: f64,
    /// Dual bound after the root, in the model's sense.
    pub root_bound: f64,
    /// Bounds in which reduced costs within the tolerance were overlooked on columns without
    /// bounds, because no safe bound of use could be computed.
    pub unproven_bounds: u64,
    /// Candidates refused by the check against the original model.
    pub refused: u64,
    /// Rows after presolve.
    pub presolved_rows: u64,
    /// Columns after presolve.
    pub presolved_cols: u64,
    /// Nodes that went through node files.
    pub spilled_nodes: u64,
    /// Times that presolve and root were done again.
    pub restarts: u64,
    /// Wall-clock seconds, those before a resume included.
    pub seconds: f64,
}

/// The result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveResult {
    /// Reason why it ended.
    pub status: SolveStatus,
    /// The best solution found.
    pub solution: Option<Solution>,
    /// The best solutions found, the best first; at most as many as the settings ask for.
    pub pool: Vec<Solution>,
    /// Reason why there is no proof to write, where a certificate was wanted.
    pub certificate_problem: Option<String>,
    /// Problems with the files of the search.
    pub file_problems: FileProblems,
    /// The claim in rational numbers, where it was asked for.
    pub exact: Option<ExactClaim>,
    /// No solution is better than this, in the model's sense.
    pub dual_bound: f64,
    /// Counters.
    pub info: Info,
}

/// Problems with the files of a search, in words that name the file. They cost no solution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProblems {
    /// The proof was there, and could not be written.
    pub certificate: Option<String>,
    /// The state at the end of the search could not be written.
    pub checkpoint: Option<String>,
    /// A node file could not be written, so that its nodes stayed in memory, or could not be read,
    /// which ended the search as the memory limit does.
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

/// A claim of a search in rational numbers, where the settings ask for it
/// ([`Settings::exact`](crate::mip::Settings::exact)). Fractions are written `p/q`, whole numbers
/// without the line; the numbers of the model are the decimals that they print as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactClaim {
    /// Objective of the solution, in the model's sense, offset included. `None` where there is no
    /// point that is feasible without a tolerance, or none was found.
    pub objective: Option<String>,
    /// No feasible point is better than this. `None` where nothing is proven, or nothing feasible.
    pub bound: Option<String>,
    /// One value per column: the solution without rounding. Empty where there is none.
    pub values: Vec<String>,
    /// Reason why the claim could not be settled.
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
        /// Description of what is wrong with it.
        problem: String,
    },
    /// The system has no further thread.
    #[error("no thread can be started: {problem}")]
    Thread {
        /// Error reported by the system.
        problem: String,
    },
    /// A presolve step of a domain gives points that are no solutions.
    #[error("presolve steps ({steps}) restore no solution: {problem}")]
    PresolveStep {
        /// Names of the steps.
        steps: String,
        /// Description of what is wrong.
        problem: String,
    },
    /// A setting makes no sense.
    #[error("setting `{name}` is {value}: {expected} is needed")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// Description of the right values.
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
