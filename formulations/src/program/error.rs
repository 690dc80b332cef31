//! Errors of programs.

use remat_lp::ModelError;
use remat_solver::mip::SolveError;

/// Error in a program, in an edit of it, or in its settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProgramError {
    /// A number is NaN, or infinite where only finite numbers make sense.
    #[error("{what} is {value}; a finite number is needed")]
    NotFinite {
        /// Place where it was found.
        what: String,
        /// The offending number.
        value: f64,
    },
    /// A column or row that was removed, or is another program's.
    #[error("{what} {index} is not in the program")]
    Gone {
        /// "column" or "row".
        what: &'static str,
        /// Number of its handle.
        index: usize,
    },
    /// More columns or rows than 32-bit numbers tell apart.
    #[error("the program is too large: {what} exceed 2^30")]
    TooLarge {
        /// "columns" or "rows".
        what: &'static str,
    },
    /// The model of the program is refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The search cannot be made.
    #[error(transparent)]
    Solve(#[from] SolveError),
}
