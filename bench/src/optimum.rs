//! Optima in comparisons of solvers.

use remat_lp::Model;

/// An optimum in units of cost, `None` for an infeasible instance; or the reason why there is no
/// answer.
pub type Optimum = Result<Option<u64>, String>;

/// HiGHS's optimum of a program with integer costs, on one thread, within a time limit in seconds.
/// `None` if HiGHS is not built in.
#[cfg(feature = "highs")]
pub fn by_highs(model: &Model, seconds: f64) -> Option<Optimum> {
    let run = crate::highs::solve_mip(model, seconds, 1, 0.0);
    Some(match (run.status.as_str(), run.objective) {
        ("optimal", Some(cost)) => Ok(Some(cost.round() as u64)),
        ("infeasible", _) => Ok(None),
        (other, _) => Err(other.to_owned()),
    })
}

/// HiGHS's optimum of a program with integer costs, on one thread, within a time limit in seconds.
/// `None` if HiGHS is not built in.
#[cfg(not(feature = "highs"))]
pub fn by_highs(_: &Model, _: f64) -> Option<Optimum> {
    None
}
