//! Crossover from a point of the barrier method to a basis.
//!
//! - `crash.rs`: a basis of the variables furthest from their bounds, measured by the point's
//!   complementarity.
//! - `dual_push.rs`: basic variables with nonzero reduced cost are pushed to zero, or out of the
//!   basis.
//! - `primal_push.rs`: variables left between their bounds are pushed to one, or into the basis
//!   (Megiddo, *On finding primal- and dual-optimal bases*, ORSA J. on Computing 3 (1991); Bixby &
//!   Saltzman, *Recovering an optimal LP basis from an interior point solution*, Operations
//!   Research Letters 15 (1994)).
//!
//! The simplex method finishes: the basis is primal feasible up to the point's residuals, and
//! nearly dual feasible.

mod crash;
mod dual_push;
mod primal_push;

use crate::outcome::{LimitKind, VarStatus};
use crate::simplex::{Core, WorkBudget};

/// Relative error of an updated factorisation that triggers a fresh one.
const UPDATE_ERROR: f64 = 1e-6;
/// Smallest pivot that a push takes.
const LEAST_PIVOT: f64 = 1e-5;

/// A point in the units of a [`Core`]: values of structurals and logicals, and their reduced costs.
pub(crate) struct CorePoint {
    pub x: Vec<f64>,
    pub d: Vec<f64>,
}

/// Moves to a basis near a point. `Err` is a limit that ended the pushes; the core then has the
/// basis reached so far.
pub(crate) fn run(core: &mut Core, point: CorePoint, budget: &WorkBudget) -> Result<(), LimitKind> {
    core.restore_bounds();
    core.restore_costs();
    let superbasic = crash::install(core, &point);
    let mut d = reduced_costs(core, &point);
    let end = dual_push::run(core, &mut d, &superbasic, budget)
        .and_then(|()| primal_push::run(core, &superbasic, budget));
    core.settle_nonbasic();
    core.primal_valid = false;
    core.dual_valid = false;
    end
}

/// The bound nearest to a value and its status; zero and `Free` without bounds.
fn nearest(x: f64, l: f64, u: f64) -> (f64, VarStatus) {
    match (l.is_finite(), u.is_finite()) {
        (false, false) => (0.0, VarStatus::Free),
        (true, false) => (l, VarStatus::AtLower),
        (false, true) => (u, VarStatus::AtUpper),
        _ if x - l <= u - x => (l, VarStatus::AtLower),
        _ => (u, VarStatus::AtUpper),
    }
}

/// Reduced costs at the point's duals.
fn reduced_costs(core: &Core, point: &CorePoint) -> Vec<f64> {
    let (n, m) = (core.n, core.m);
    // A logical has cost zero and a unit column.
    let y: Vec<f64> = point.d[n..n + m].iter().map(|d| -d).collect();
    let structural = (0..n).map(|j| {
        let product: f64 = core.a.iter(j).map(|(i, v)| v * y[i]).sum();
        core.cost[j] - product
    });
    structural.chain(point.d[n..].iter().copied()).collect()
}
