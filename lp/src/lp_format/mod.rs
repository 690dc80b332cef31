//! CPLEX LP files, plain or gzipped, in both directions: the format people write by hand.
//!
//! Sections: objective (`Minimize`, `Maximize` and their short forms), `Subject To`, `Bounds`,
//! `General`, `Binary`, `End`. Rows may be ranged (`-2 <= x + y <= 5`), and the objective may
//! contain a constant. `\` starts a comment. Section names may be in any case and start a line.
//! Variables are nonnegative unless `Bounds` says otherwise. Columns are numbered in the order in
//! which they first appear, in any section. Numbers of magnitude 1e20 and `inf`, `infinity` are
//! infinite.
//!
//! [`parse_all`] also accepts semi-continuous columns, ordered sets, indicator constraints and a
//! quadratic part of the objective (`[ 2 x ^ 2 + 4 x * y ] / 2`); [`parse`] rejects them by name.
//! Both reject quadratic rows, other general constraints and several objectives, but accept an empty section of that kind. A missing `End`, text behind it,
//! and rows with equal names cause a remark.
//!
//! Source: *IBM ILOG CPLEX, LP file format*, and the dialects of Gurobi and HiGHS where they agree.

mod lex;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{parse, parse_all, read, read_all};
pub use write::{to_string, to_string_all, write, write_all};

use crate::model::ModelError;
use crate::model_file::NotLinear;

/// Reason for a failure to read or write a file.
#[derive(Debug, thiserror::Error)]
pub enum LpFormatError {
    /// The file could not be opened, read, unpacked or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Error reported by the system.
        source: std::io::Error,
    },
    /// A word is not valid at its place.
    #[error("{file}, line {line}, at `{token}`: {message}")]
    Syntax {
        /// The file, or the name given to [`parse`].
        file: String,
        /// Line number, from 1.
        line: usize,
        /// The word at fault.
        token: String,
        /// Description of the mistake and of a correct form.
        message: String,
    },
    /// All words are valid, but the model is not.
    #[error("{file}: {source}")]
    Model {
        /// The file.
        file: String,
        /// Error in the model.
        source: ModelError,
    },
    /// The file is not a linear program with integers.
    #[error("{file}: {source}")]
    NotLinear {
        /// The file.
        file: String,
        /// The part that is not linear.
        source: NotLinear,
    },
}
