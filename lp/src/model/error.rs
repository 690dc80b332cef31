//! Errors in a model, and the checks that find them.

use crate::ids::Bounds;

/// Error in a model or in a change to one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A number is NaN, or infinite where only finite numbers make sense.
    #[error("{what} is {value}; a finite number is needed")]
    NotFinite {
        /// Place of the number.
        what: String,
        /// The offending number.
        value: f64,
    },
    /// A bound is NaN, or the wrong infinity for its side.
    #[error(
        "bounds of {what} are [{lower}, {upper}]: neither side may be NaN, the lower +inf or the upper -inf"
    )]
    BadBound {
        /// Place of the bounds.
        what: String,
        /// The lower bound given.
        lower: f64,
        /// The upper bound given.
        upper: f64,
    },
    /// The lower bound is above the upper bound.
    #[error("bounds of {what} cross: lower {lower} is above upper {upper}")]
    CrossedBounds {
        /// Place of the bounds.
        what: String,
        /// The lower bound given.
        lower: f64,
        /// The upper bound given.
        upper: f64,
    },
    /// An index points outside the model.
    #[error("{what} {index} does not exist; the model has {len}")]
    OutOfRange {
        /// "row" or "column".
        what: &'static str,
        /// The index given.
        index: usize,
        /// Number of rows or columns in the model.
        len: usize,
    },
    /// Two entries have the same row and column.
    #[error("row {row} has two entries in column {col}")]
    Duplicate {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        col: usize,
    },
    /// Two lists of required equal length differ in length.
    #[error("{what}: expected {expected} entries, found {found}")]
    Length {
        /// Name of the list.
        what: &'static str,
        /// The length needed.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// The model has more rows, columns or entries than 32-bit indices address.
    #[error("the model is too large: {what} exceeds 2^31")]
    TooLarge {
        /// "rows" or "columns".
        what: &'static str,
    },
}

/// Largest difference by which the sides of a row or column may contradict each other, in its own
/// units; anything within it is feasible (docs/reference/tolerances.md).
pub const CONTRADICTION: f64 = 1e-7;

/// Rejects bounds that are NaN or the wrong infinity.
pub(crate) fn check_sides(what: impl FnOnce() -> String, b: Bounds) -> Result<(), ModelError> {
    if b.lower.is_nan()
        || b.upper.is_nan()
        || b.lower == f64::INFINITY
        || b.upper == f64::NEG_INFINITY
    {
        return Err(ModelError::BadBound {
            what: what(),
            lower: b.lower,
            upper: b.upper,
        });
    }
    Ok(())
}

/// Rejects bounds that are NaN, the wrong infinity, or crossing.
pub(crate) fn check_bounds(what: &str, b: Bounds) -> Result<(), ModelError> {
    check_sides(|| what.to_string(), b)?;
    if b.lower > b.upper {
        return Err(ModelError::CrossedBounds {
            what: what.to_string(),
            lower: b.lower,
            upper: b.upper,
        });
    }
    Ok(())
}
