//! Simple rounding: moves every fractional column in a direction that violates no row.

use crate::mip::worker::{RoundShared, Worker};
use remat_lp::ModelError;

impl Worker {
    /// Rounds each fractional column in a direction without locks, if all have one.
    pub(crate) fn simple_rounding(
        &mut self,
        shared: &RoundShared,
        x: &[f64],
    ) -> Result<bool, ModelError> {
        let tol = shared.settings.integrality_tolerance;
        let mut y = x.to_vec();
        for j in 0..x.len() {
            if !shared.problem.integer[j] {
                continue;
            }
            if (x[j] - x[j].round()).abs() <= tol {
                y[j] = x[j].round();
                continue;
            }
            y[j] = match shared.locks[j] {
                (0, up) if up > 0 || shared.problem.cost[j] >= 0.0 => x[j].floor(),
                (_, 0) => x[j].ceil(),
                (0, _) => x[j].floor(),
                _ => return Ok(false),
            };
        }
        let objective = shared.problem.objective(&y);
        if objective >= self.cutoff {
            return Ok(false);
        }
        self.offer(shared, &y, "rounding")
    }
}
