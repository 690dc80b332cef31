//! Answers to programs.

use crate::RecognisedAs;
use remat_lp::VarStatus;
use remat_solver::mip::{ExactClaim, Info};
use serde::{Deserialize, Serialize};

/// Reason why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The first point is optimal, within the gaps if there are integers.
    Optimal,
    /// No point exists.
    Infeasible,
    /// The objective has no limit.
    Unbounded,
    /// No point is better than the cutoff.
    Cutoff,
    /// The objective has no limit over the relaxation, and no point was found: the program is
    /// infeasible or unbounded.
    InfeasibleOrUnbounded,
    /// The time limit.
    TimeLimit,
    /// The limit on nodes.
    NodeLimit,
    /// The limit on simplex iterations.
    IterationLimit,
    /// The limit on memory.
    MemoryLimit,
    /// The limit on work.
    WorkLimit,
    /// Interrupted from outside.
    Interrupted,
    /// Numerical trouble that no remedy cured.
    Numeric,
}

impl Ending {
    /// The ending in words.
    pub fn words(self) -> &'static str {
        match self {
            Ending::Optimal => "optimal",
            Ending::Infeasible => "infeasible",
            Ending::Unbounded => "unbounded",
            Ending::InfeasibleOrUnbounded => "infeasible or unbounded",
            Ending::Cutoff => "cutoff",
            Ending::TimeLimit => "time limit",
            Ending::NodeLimit => "node limit",
            Ending::IterationLimit => "iteration limit",
            Ending::MemoryLimit => "memory limit",
            Ending::WorkLimit => "work limit",
            Ending::Interrupted => "interrupted",
            Ending::Numeric => "numeric",
        }
    }
}

/// A feasible point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Objective in the program's sense, with its constant.
    pub objective: f64,
    /// Value of each column, by handle: NaN for removed columns. Integer columns have integer
    /// values.
    pub x: Vec<f64>,
}

/// Duals of a linear program, by handle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Duals {
    /// For each row the change of the objective per unit of its side.
    pub rows: Vec<f64>,
    /// Reduced cost of each column: `cost - A^T y`.
    pub reduced_costs: Vec<f64>,
    /// Status of each column in the basis; `None` for columns that were removed.
    pub col_status: Vec<Option<VarStatus>>,
    /// Status of each row in the basis.
    pub row_status: Vec<Option<VarStatus>>,
}

/// An answer in rational numbers, if the settings request one. Fractions are written `p/q`, whole
/// numbers without the line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exact {
    /// Objective of the point, in the program's sense, with its constant. `None` if there is no
    /// point that is feasible without a tolerance, or no point was found.
    pub objective: Option<String>,
    /// No feasible point is better than this. `None` without a proof, or if no point is feasible.
    pub bound: Option<String>,
    /// Reason why the claim could not be settled.
    pub problem: Option<String>,
}

impl From<ExactClaim> for Exact {
    fn from(claim: ExactClaim) -> Self {
        Exact {
            objective: claim.objective,
            bound: claim.bound,
            problem: claim.problem,
        }
    }
}

/// The answer to a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Reason for the end.
    pub ending: Ending,
    /// Points found, the best first.
    pub points: Vec<Point>,
    /// No point is better than this, in the program's sense.
    pub bound: f64,
    /// Duals of a solved linear program.
    pub duals: Option<Duals>,
    /// A proof that no point exists, by row (Farkas), for linear programs.
    pub farkas: Option<Vec<f64>>,
    /// A direction in which the objective improves without end, by column, for linear programs.
    pub ray: Option<Vec<f64>>,
    /// Values of several objectives at the first point, in their order; empty if there is one
    /// objective.
    pub objective_values: Vec<f64>,
    /// The answer in rational numbers, if the settings request it.
    pub exact: Option<Exact>,
    /// Counters.
    pub info: Info,
    /// The published program that the model was recognised as; serialised answers omit it.
    #[serde(skip)]
    pub recognised: Option<RecognisedAs>,
}

impl Answer {
    /// An answer without a point.
    pub(super) fn of(ending: Ending) -> Self {
        Answer {
            ending,
            points: Vec::new(),
            bound: f64::NAN,
            duals: None,
            farkas: None,
            ray: None,
            objective_values: Vec::new(),
            exact: None,
            info: Info::default(),
            recognised: None,
        }
    }

    /// `|objective - bound| / max(1e-10, |objective|)`; infinite without a point.
    pub fn gap(&self) -> f64 {
        match self.points.first() {
            Some(p) if p.objective == self.bound => 0.0,
            Some(p) => (p.objective - self.bound).abs() / p.objective.abs().max(1e-10),
            None => f64::INFINITY,
        }
    }
}
