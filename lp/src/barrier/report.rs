//! The events of the barrier method.

use super::iterate::Residuals;

/// Emits the state of an iterate as an event.
pub(super) fn report(sign: f64, iterations: u64, r: &Residuals, last: bool) {
    tracing::debug!(
        name: "barrier",
        target: "remat_lp",
        algorithm = "barrier",
        iterations,
        objective = sign * r.primal_objective,
        dual_objective = sign * r.dual_objective,
        primal_residual = r.primal,
        dual_residual = r.infeasible_dual,
        mu = r.mu,
        last,
        "barrier"
    );
}
