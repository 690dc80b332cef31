//! Linear programs of AMPL and its relatives: `.nl` files, text and binary, and `.sol` files back.
//!
//! The format is that of D. M. Gay, "Writing .nl Files" (2005). Linear parts are read, with integer
//! columns and starting points; a nonlinear expression, a function, a logical constraint, a
//! complementarity or a set of ordered columns is refused by name.

mod input;
mod read;
mod solution;
#[cfg(test)]
mod tests;

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
