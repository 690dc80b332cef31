//! Optima as comparisons of solvers see them.

use remat_lp::Model;

/// An optimum in units of cost, `None` where nothing fits; or why there is none.
pub type Optimum = Result<Option<u64>, String>;

/// What HiGHS says of a program with integer costs within so many seconds, on one thread; `None`
/// where it is not built in.
#[cfg(feature = "highs")]
pub fn by_highs(model: &Model, seconds: f64) -> Option<Optimum> {
    let run = crate::highs::solve_mip(model, seconds, 1, 0.0);
    Some(match (run.status.as_str(), run.objective) {
        ("optimal", Some(cost)) => Ok(Some(cost.round() as u64)),
        ("infeasible", _) => Ok(None),
        (other, _) => Err(other.to_owned()),
    })
}

/// What HiGHS says of a program with integer costs within so many seconds, on one thread; `None`
/// where it is not built in.
#[cfg(not(feature = "highs"))]
pub fn by_highs(_: &Model, _: f64) -> Option<Optimum> {
    None
}
