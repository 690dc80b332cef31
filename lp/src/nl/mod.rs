//! Linear programs of AMPL and its relatives: `.nl` files, text and binary, and `.sol` files back.
//!
//! The format is that of D. M. Gay, "Writing .nl Files" (2005). Linear parts are read, with integer
//! columns, starting points and ordered sets (suffixes `sosno` and `ref`); expressions that are
//! linear, or linear between points (piecewise terms, absolute values); defined variables. A
//! nonlinear expression, a function, a logical constraint or a complementarity is refused by name.

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

/// Reason why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum NlError {
    /// A part makes no sense.
    #[error("{file}, {place}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, or the byte of a binary file.
        place: String,
        /// Description of the mistake, and of what would be right.
        message: String,
    },
    /// The problem is none that is solved here.
    #[error("{file}: {what}; linear programs are solved, with integers")]
    NotLinear {
        /// The file.
        file: String,
        /// The part that is not linear.
        what: String,
    },
    /// All parts make sense, the model does not.
    #[error("{file}: {source}")]
    Model {
        /// The file.
        file: String,
        /// The error.
        source: ModelError,
    },
}
