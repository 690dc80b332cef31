//! Convex quadratic programs without integers.

use crate::{LinearSettings, watched};
use remat_lp::qp::{self, QuadraticSettings, QuadraticSolved};
use remat_lp::{Model, NotConvex, Quadratic};
use remat_search::Listener;
use remat_solver::mip::SolveError;
use std::sync::Arc;

/// Reason why a quadratic program was not solved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuadraticError {
    /// The objective is not convex (minimised) or concave (maximised).
    #[error(transparent)]
    NotConvex(#[from] NotConvex),
    /// The search failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// The answer to a quadratic program.
#[derive(Debug)]
pub struct Continuous {
    /// Outcome with duals and residuals, or a ray.
    pub solved: QuadraticSolved,
    /// True if the time limit ended it.
    pub timed_out: bool,
    /// Time taken.
    pub seconds: f64,
}

/// Solves a convex quadratic program, or the relaxation of one with integers. Of the settings it
/// uses the limits and the scaling.
///
/// ```
/// use remat_lp::{ColId, ModelBuilder, Quadratic, Sense};
/// use remat_models::{LinearSettings, quadratic::solve_continuous};
///
/// // min (x - 3)^2 - 9, x <= 2
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(-6.0, 0.0..=2.0);
/// let q = Quadratic::of_products(1, [(x, x, 1.0)])?;
/// let model = std::sync::Arc::new(b.build()?);
/// let answer = solve_continuous(&model, &q, &LinearSettings::default(), &())?;
/// let solution = answer.solved.outcome.optimal().ok_or("no optimum")?;
/// assert!((solution.objective + 8.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`QuadraticError`].
pub fn solve_continuous(
    model: &Arc<Model>,
    quadratic: &Quadratic,
    settings: &LinearSettings,
    listener: &dyn Listener,
) -> Result<Continuous, QuadraticError> {
    let how = QuadraticSettings {
        scaling: settings.lp.scaling,
        ..QuadraticSettings::default()
    };
    let watched = watched(settings, listener, |limits| {
        qp::solve(model, quadratic, &how, limits)
    })?;
    Ok(Continuous {
        solved: watched.answer?,
        timed_out: watched.timed_out,
        seconds: watched.seconds,
    })
}
