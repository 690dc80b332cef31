//! MPS files: fixed and free format, plain or gzipped, in both directions.
//!
//! Sections NAME, OBJSENSE, OBJNAME, ROWS, COLUMNS (with integer markers), RHS, RANGES, BOUNDS,
//! ENDATA. Bound types UP, LO, FX, FR, MI, PL, BV, LI, UI. A right-hand side on the objective row
//! is minus the objective's offset. An integer column without any bound is binary, as in most
//! readers. Bounds and right-hand sides of magnitude 1e20 are infinite.
//!
//! [`parse_all`] also accepts parts that [`parse`] rejects by name:
//! - bounds SC and SI (the column is 0 or within its bounds; without a value the upper bound is
//!   infinite);
//! - sections SOS, SOS1, SOS2 and SETS (ordered sets);
//! - INDICATORS (rows that hold if a binary column has a given value).
//!
//! Sections of other kinds (`QUADOBJ`, `GENCONS`, ...) must be empty. Further N rows, ranges of N
//! rows, further sets of a section and text behind ENDATA are ignored with a remark.

mod read;
mod write;

pub use read::{parse, parse_all, read, read_all};
pub use write::{to_string, to_string_all, write, write_all};

use crate::model::ModelError;
use crate::model_file::NotLinear;

/// Rule for splitting a line into fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MpsFormat {
    /// Free format; fixed format if the file is not valid in free format (names with spaces).
    #[default]
    Auto,
    /// Fields at fixed positions (2-3, 5-12, 15-22, 25-36, 40-47, 50-61).
    Fixed,
    /// Fields separated by white space.
    Free,
}

/// Reason for a failure to read or write a file.
#[derive(Debug, thiserror::Error)]
pub enum MpsError {
    /// The file could not be opened, read, unpacked or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Error reported by the system.
        source: std::io::Error,
    },
    /// A line is not valid.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// Description of the mistake and of a correct form.
        message: String,
    },
    /// All lines are valid, but the model is not.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The file is not a linear program with integers.
    #[error(transparent)]
    NotLinear(#[from] NotLinear),
}
