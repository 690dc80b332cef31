//! Answers of a model in another order.

use remat_lp::Permutation;
use remat_solver::mip::SolveResult;

/// A result for the model in its own order.
pub(super) fn in_order(mut result: SolveResult, order: &Permutation) -> SolveResult {
    for solution in result.solution.iter_mut().chain(&mut result.pool) {
        solution.x = order.restore(&solution.x);
    }
    result
}
