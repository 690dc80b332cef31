//! Numbers that a program accepts, and handles that it does not have.

use super::ProgramError;
use remat_lp::ModelError;

/// Numbers of at least this size are infinite in bounds and sides.
pub const INFINITE: f64 = 1e20;

pub(super) fn gone(what: &'static str, index: usize) -> ProgramError {
    ProgramError::Gone { what, index }
}

pub(super) fn finite(value: f64, what: impl FnOnce() -> String) -> Result<f64, ProgramError> {
    match value.is_finite() {
        true => Ok(value),
        false => Err(ProgramError::NotFinite {
            what: what(),
            value,
        }),
    }
}

/// Returns whether two bounds, or sides of a row, are valid: neither is NaN, the lower one is below
/// [`INFINITE`], the upper one above `-INFINITE`. They may cross.
pub fn are_bounds(lower: f64, upper: f64) -> bool {
    lower < INFINITE && upper > -INFINITE
}

/// Bounds, or sides of a row, with large numbers as infinities.
///
/// # Errors
/// [`ProgramError::Model`] unless [`are_bounds`].
pub(super) fn sides(
    lower: f64,
    upper: f64,
    what: impl FnOnce() -> String,
) -> Result<(f64, f64), ProgramError> {
    let wide = |v: f64| match v.abs() >= INFINITE {
        true => v.signum() * f64::INFINITY,
        false => v,
    };
    let (lower, upper) = (wide(lower), wide(upper));
    match are_bounds(lower, upper) {
        true => Ok((lower, upper)),
        false => Err(ProgramError::Model(ModelError::BadBound {
            what: what(),
            lower,
            upper,
        })),
    }
}
