//! Errors of programs.

use crate::quadratic::QuadraticError;
use remat_lp::ModelError;
use remat_solver::mip::SolveError;

impl ProgramError {
    /// Returns whether the error is about a part without an exact linear form.
    pub(super) fn is_of_form(&self) -> bool {
        matches!(
            self,
            ProgramError::Unbounded { .. }
                | ProgramError::NotBinary { .. }
                | ProgramError::Product { .. }
        )
    }
}

/// Error in a program, in an edit of it, or in its settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// A number is NaN, or infinite although it must be finite.
    #[error("{what} is {value}; a finite number is needed")]
    NotFinite {
        /// Place where it was found.
        what: String,
        /// The offending number.
        value: f64,
    },
    /// A column or row that was removed, or belongs to another program.
    #[error("{what} {index} is not in the program")]
    Gone {
        /// "column" or "row".
        what: &'static str,
        /// Number of its handle.
        index: usize,
    },
    /// A point with another number of values than the program has columns.
    #[error("{what} has {found} values; the program has {needed} columns, removed ones included")]
    Length {
        /// The point.
        what: String,
        /// Number of its values.
        found: usize,
        /// Number of column handles.
        needed: usize,
    },
    /// More columns or rows than the limit of 2^30.
    #[error("the program is too large: {what} exceed 2^30")]
    TooLarge {
        /// "columns" or "rows".
        what: &'static str,
    },
    /// Points of a function by pieces are invalid.
    #[error("piecewise linear function: {problem}")]
    Pieces {
        /// Description of the fault.
        problem: &'static str,
    },
    /// A product without a known exact linear form.
    #[error("the product of {first} and {second} cannot be expressed exactly: {missing}")]
    Product {
        /// Name of one column.
        first: String,
        /// Name of the other.
        second: String,
        /// Condition under which it would be possible.
        missing: String,
    },
    /// A quadratic objective that is not convex, with a product without an exact linear form.
    #[error("{problem}; and {missing}")]
    NotConvex {
        /// Column and eigenvalue.
        problem: String,
        /// The product, and the condition under which it would have a linear form.
        missing: String,
    },
    /// A feature that a program with a quadratic objective does not have.
    #[error("a program with a quadratic objective has no {feature}")]
    Quadratic {
        /// The feature.
        feature: &'static str,
    },
    /// A column of a special constraint has no bound, and the rows imply no bound.
    #[error("{what} needs a finite {bound} bound of {column}, at most 1e9 in size")]
    Unbounded {
        /// Kind of the constraint.
        what: &'static str,
        /// "lower" or "upper".
        bound: &'static str,
        /// Name of the column, or of the expression.
        column: String,
    },
    /// A column that must be binary has other values than 0 and 1.
    #[error("{what} is about binary columns, and {column} is none")]
    NotBinary {
        /// Kind of the constraint.
        what: &'static str,
        /// Name of the column.
        column: String,
    },
    /// The name of a file promises a compression that is not written.
    #[error("files are not written as .{ending}: end the name in .gz, or in .lp or .mps alone")]
    Ending {
        /// Ending of the name.
        ending: String,
    },
    /// There is no exact answer.
    #[error("there is no exact answer: {problem}")]
    Inexact {
        /// The reason.
        problem: String,
    },
    /// The program was neither proven feasible nor infeasible.
    #[error("within the limits there is no proof that the program is infeasible")]
    Undecided,
    /// The model of the program is invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The search failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

impl From<QuadraticError> for ProgramError {
    fn from(error: QuadraticError) -> Self {
        match error {
            QuadraticError::Solve(error) => error.into(),
            QuadraticError::NotConvex(error) => ProgramError::NotConvex {
                problem: error.to_string(),
                missing: "products of the objective stay as they are".into(),
            },
        }
    }
}
