//! Reductions before the search, and the way back.

mod postsolve;

pub(crate) use postsolve::Postsolve;

use crate::domain::Domain;
use crate::problem::Problem;
use crate::settings::Settings;
use std::sync::atomic::AtomicBool;

/// What presolve came to.
pub(crate) enum Presolved {
    Infeasible,
    Reduced(Problem, Postsolve),
}

/// Reduces a problem. Without `reduce`, only bounds of integer columns are tightened.
pub(crate) fn run(mut p: Problem, _settings: &Settings, _reduce: bool, _stop: &AtomicBool) -> Presolved {
    for j in 0..p.num_cols() {
        if p.lower[j] > p.upper[j] {
            return Presolved::Infeasible;
        }
    }
    let mut domain = Domain::new(&p);
    domain.enqueue_all(&p);
    if !domain.propagate(&p) {
        return Presolved::Infeasible;
    }
    for j in 0..p.num_cols() {
        if p.integer[j] {
            p.lower[j] = domain.lower[j];
            p.upper[j] = domain.upper[j];
        }
    }
    let n = p.num_cols();
    Presolved::Reduced(p, Postsolve::identity(n))
}
