//! CPLEX LP files, plain or gzipped, in both directions: the format people write by hand.
//!
//! Sections: objective (`Minimize`, `Maximize` and their short forms), `Subject To`, `Bounds`,
//! `General`, `Binary`, `End`. Rows may be ranged (`-2 <= x + y <= 5`), the objective may contain a
//! constant, `\` starts a comment, section names are read in any case and start a line. Variables
//! are nonnegative unless `Bounds` says otherwise; columns are numbered in the order in which they
//! first appear, and a column that appears in a later section only is created there. Numbers of
//! magnitude 1e20 and `inf`, `infinity` are infinite. [`parse_all`] takes semi-continuous columns,
//! ordered sets and indicator constraints as well, [`parse`] rejects them by name. Quadratic terms,
//! other general constraints and several objectives are rejected by both; a section of that kind
//! that lists nothing is not. An
//! `End` that is missing, text behind it, and rows of one name are read with a remark.
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

/// Reason why a file could not be read or written.
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
    /// A word makes no sense where it stands.
    #[error("{file}, line {line}, at `{token}`: {message}")]
    Syntax {
        /// The file, or what [`parse`] was told to call the text.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// The word at fault.
        token: String,
        /// Description of the mistake, and of what would be right.
        message: String,
    },
    /// All words make sense, the model does not.
    #[error("{file}: {source}")]
    Model {
        /// The file.
        file: String,
        /// Error in the model.
        source: ModelError,
    },
    /// The file has more than a linear program with integers.
    #[error("{file}: {source}")]
    NotLinear {
        /// The file.
        file: String,
        /// The part that is more.
        source: NotLinear,
    },
}
