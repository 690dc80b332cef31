//! Linear programs of AMPL and its relatives: `.nl` files, text and binary, and `.sol` files back.
//!
//! The format is described by D. M. Gay, "Writing .nl Files" (2005). Linear parts are supported,
//! with integer columns, starting points and ordered sets (suffixes `sosno` and `ref`). So are
//! linear and piecewise linear expressions (piecewise terms, absolute values) and defined
//! variables. A nonlinear expression, a function, a logical constraint or a complementarity is
//! rejected by name.

mod expression;
mod input;
mod read;
mod solution;
#[cfg(test)]
mod tests;

pub use expression::Piecewise;
pub use read::{NlProblem, parse};
pub use solution::NlSolution;

use crate::model::ModelError;

/// Reason for a failure to read a file.
#[derive(Debug, thiserror::Error)]
pub enum NlError {
    /// A part is not valid.
    #[error("{file}, {place}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, or the byte of a binary file.
        place: String,
        /// Description of the mistake and of a correct form.
        message: String,
    },
    /// The problem is not linear.
    #[error("{file}: {what}; linear programs are solved, with integers")]
    NotLinear {
        /// The file.
        file: String,
        /// The part that is not linear.
        what: String,
    },
    /// All parts are valid, but the model is not.
    #[error("{file}: {source}")]
    Model {
        /// The file.
        file: String,
        /// The error.
        source: ModelError,
    },
}
