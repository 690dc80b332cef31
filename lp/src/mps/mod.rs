//! MPS files: fixed and free format, plain or gzipped, in both directions.
//!
//! Sections NAME, OBJSENSE, OBJNAME, ROWS, COLUMNS (with integer markers), RHS, RANGES, BOUNDS,
//! ENDATA. Bound types UP, LO, FX, FR, MI, PL, BV, LI, UI. A right-hand side on the objective row is
//! minus the objective's offset. An integer column without any bound is binary, as most readers
//! have it. Bounds and right-hand sides of magnitude 1e20 are infinite.
//!
//! [`parse_all`] takes as well, and [`parse`] rejects by name: bounds SC and SI (the column is 0 or
//! within its bounds; without a value the upper bound is infinite), sections SOS, SOS1, SOS2 and
//! SETS (ordered sets), and INDICATORS (rows that hold where a binary column has a value). Sections
//! of other kinds (`QUADOBJ`, `GENCONS`, ...) may be there if they list nothing. Further N rows, ranges of N rows, further sets of a section and text behind ENDATA do
//! not count, which a remark says.

mod read;
mod write;

pub use read::{parse, parse_all, read, read_all};
pub use write::{to_string, to_string_all, write, write_all};

use crate::model::ModelError;
use crate::model_file::NotLinear;

/// Rule by which the fields of a line are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MpsFormat {
    /// Free format; fixed format where free makes no sense (names with spaces).
    #[default]
    Auto,
    /// Fields at fixed positions (2-3, 5-12, 15-22, 25-36, 40-47, 50-61).
    Fixed,
    /// Fields separated by white space.
    Free,
}

/// Reason why a file could not be read or written.
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
    /// A line makes no sense.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// Description of the mistake, and of what would be right.
        message: String,
    },
    /// All lines make sense, the model does not.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The file has more than a linear program with integers.
    #[error(transparent)]
    NotLinear(#[from] NotLinear),
}
