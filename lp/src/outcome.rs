//! Outcomes of a solve. Each outcome carries its proof, to be checked independently of the solver.

use crate::ids::{ColId, RowId};
use crate::model::{Crossed, Model};
use serde::{Deserialize, Serialize};

/// Status of a variable (column, or row activity) with respect to a basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VarStatus {
    /// Its value is determined by the others.
    Basic,
    /// It rests at its lower bound (or at both, when they are equal).
    AtLower,
    /// It rests at its upper bound.
    AtUpper,
    /// It has no bounds and rests at zero.
    Free,
}

/// A basis: the status of every column and of every row. `AtLower` of a row means that its activity
/// is at the row's lower bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Basis {
    /// One status per column.
    pub cols: Vec<VarStatus>,
    /// One status per row.
    pub rows: Vec<VarStatus>,
}

impl Basis {
    /// The basis in which every row is basic and every column rests at the bound nearest zero, or
    /// at zero if free.
    pub fn slack(model: &crate::Model) -> Basis {
        let rest = |l: f64, u: f64| {
            if l == f64::NEG_INFINITY && u == f64::INFINITY {
                VarStatus::Free
            } else if l == f64::NEG_INFINITY || (u != f64::INFINITY && u.abs() < l.abs()) {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            }
        };
        Basis {
            cols: model
                .col_lower
                .iter()
                .zip(&model.col_upper)
                .map(|(&l, &u)| rest(l, u))
                .collect(),
            rows: vec![VarStatus::Basic; model.num_rows()],
        }
    }

    /// Number of columns and rows that are basic; a complete basis has as many as the model has
    /// rows.
    pub fn num_basic(&self) -> usize {
        self.cols
            .iter()
            .chain(&self.rows)
            .filter(|&&s| s == VarStatus::Basic)
            .count()
    }
}

/// An optimal solution, in the model's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Objective value including the offset.
    pub objective: f64,
    /// Value of every column.
    pub x: Vec<f64>,
    /// Activity of every row, `A x`.
    pub row_activity: Vec<f64>,
    /// Dual value of every row: the change of the objective per unit of the row's active bound.
    pub y: Vec<f64>,
    /// Reduced cost of every column, `cost - A^T y`.
    pub reduced_costs: Vec<f64>,
    /// The basis that gives this solution.
    pub basis: Basis,
}

/// A proof of infeasibility: with multipliers `y`, the combined row `y^T A x` would need an
/// activity outside the range that the column bounds allow (Farkas' lemma for ranged rows).
#[derive(Clone, Debug, PartialEq)]
pub struct FarkasRay {
    /// One multiplier per row.
    pub y: Vec<f64>,
}

impl FarkasRay {
    /// The proof that bounds of a model cross ([`Model::crossed`]): a unit multiplier on the row,
    /// or all zeros if the bounds belong to a column.
    pub(crate) fn of_crossed(model: &Model) -> Option<FarkasRay> {
        let mut y = vec![0.0; model.num_rows()];
        if let Crossed::Row(row) = model.crossed()? {
            y[row.index()] = 1.0;
        }
        Some(FarkasRay { y })
    }
}

/// A proof of unboundedness: `x + t * direction` is feasible for all `t >= 0`, and the objective
/// improves without limit along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ray {
    /// A feasible point.
    pub x: Vec<f64>,
    /// One component per column.
    pub direction: Vec<f64>,
}

/// Limit that ended a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// [`Limits::iterations`](crate::Limits::iterations).
    Iterations,
    /// [`Limits::ticks`](crate::Limits::ticks).
    Ticks,
    /// [`Limits::interrupt`](crate::Limits::interrupt).
    Interrupt,
    /// Numerical trouble without a remedy; the basis is the last valid one.
    Numerical,
}

/// Outcome of a solve.
#[derive(Clone, Debug, PartialEq)]
pub enum LpOutcome {
    /// Optimal within tolerances.
    Optimal(Solution),
    /// No feasible point exists.
    Infeasible(FarkasRay),
    /// The objective is unbounded.
    Unbounded(Ray),
    /// The optimum is at or beyond the cutoff; `bound` is the objective of a dual feasible `y`.
    CutoffReached {
        /// The bound reached, in the model's sense.
        bound: f64,
        /// The dual vector that proves it (see [`crate::certificate::safe_bound`]).
        y: Vec<f64>,
    },
    /// A limit stopped the solve. The solver keeps its basis; another call continues from it.
    /// [`Solver::dual_bound`](crate::Solver::dual_bound) gives the bound proven so far.
    Limit(LimitKind),
}

impl LpOutcome {
    /// The solution, if optimal.
    pub fn optimal(&self) -> Option<&Solution> {
        match self {
            LpOutcome::Optimal(s) => Some(s),
            _ => None,
        }
    }
}

impl Solution {
    /// Value of a column.
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn value(&self, col: ColId) -> f64 {
        self.x[col.index()]
    }

    /// Dual value of a row.
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn dual(&self, row: RowId) -> f64 {
        self.y[row.index()]
    }
}
