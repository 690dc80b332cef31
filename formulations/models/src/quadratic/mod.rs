//! Convex quadratic objectives: programs without integers by the barrier method, programs with
//! integers by tangents.
//!
//! | module | concept |
//! |---|---|
//! | `continuous` | [`solve_continuous`]: programs without integers, or their relaxations |
//! | `epigraph` | the linear model with a column above each block of the objective |
//! | `tangents` | rows below the objective, and points from quadratic programs with fixed integers |
//! | `exact` | tangents in rational numbers, for certificates |
//! | `integer` | [`solve_integer`]: branch and cut on the linear model |

mod continuous;
mod epigraph;
mod exact;
mod integer;
mod tangents;

pub use continuous::{Continuous, QuadraticError, solve_continuous};
pub use integer::solve_integer;

use crate::{Answered, ModelSettings};
use remat_lp::{ColId, Model, Quadratic};
use remat_solver::mip::Control;
use std::sync::Arc;

/// Solves a program with a convex quadratic objective, with integers or without. State files and
/// exact answers are not supported, and ignored. A certificate is one of [`solve_integer`], also
/// for programs without integers.
///
/// # Errors
/// [`QuadraticError`].
pub fn solve_model(
    model: &Arc<Model>,
    quadratic: &Arc<Quadratic>,
    settings: &ModelSettings,
    control: Control,
) -> Result<Answered, QuadraticError> {
    let proves = control.certificate.is_some();
    if proves || (0..model.num_cols()).any(|j| model.is_integer(ColId(j as u32))) {
        quadratic.check_convex(model.sense().sign())?;
        let result = solve_integer(model, quadratic, &settings.mip, control)?;
        return Ok(Answered::Integer {
            result,
            recognised: None,
        });
    }
    let (linear, interrupt) = settings.without_integers();
    let answer = solve_continuous(model, quadratic, &linear, &*interrupt)?;
    Ok(Answered::Quadratic(answer))
}
