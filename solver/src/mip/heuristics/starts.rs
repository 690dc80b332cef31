//! First solutions: what is tried before the root's relaxation, and behind it while there is none.

use crate::mip::worker::{RoundShared, Worker};
use remat_lp::ModelError;

/// Rows from which a solution is looked for at length before the first relaxation, which may take
/// all the time there is.
const ROWS_BEFORE_RELAXATION: usize = 10_000;

impl Worker {
    /// Looks for a solution before the first relaxation: briefly where that one is small.
    pub(crate) fn early_solution(&mut self, shared: &RoundShared) -> Result<(), ModelError> {
        let size = shared.problem.rows.index.len() as u64;
        if shared.problem.num_rows() >= ROWS_BEFORE_RELAXATION {
            self.heuristic(shared, "fix and propagate", |w| {
                w.fix_and_propagate(shared, 50_000_000 + 2_000 * size)
            })?;
        } else if shared.settings.nesting == 0 {
            let budget = (20_000 + 100 * size).min(2_000_000 + 20 * size);
            let corner = cheapest_corner(shared);
            let seed = shared.settings.first_seed() + 1;
            self.heuristic(shared, "jump", |w| w.jump(shared, &corner, budget, seed))?;
        }
        Ok(())
    }

    /// Looks for a solution from the point of the root's relaxation, and from where the objective
    /// is best.
    pub(crate) fn first_solution(
        &mut self,
        shared: &RoundShared,
        relaxed: &[f64],
    ) -> Result<(), ModelError> {
        let size = shared.problem.rows.index.len() as u64;
        let budget = (20_000 + 500 * size).min(5_000_000 + 50 * size);
        let seed = shared.settings.first_seed();
        let jumped = |w: &mut Worker, x: &[f64], seed| w.jump(shared, x, budget, seed);
        if self.heuristic(shared, "jump", |w| jumped(w, relaxed, seed))? {
            return Ok(());
        }
        let corner = cheapest_corner(shared);
        if !self.heuristic(shared, "jump", |w| jumped(w, &corner, seed + 1))? {
            self.heuristic(shared, "fix and propagate", |w| {
                w.fix_and_propagate(shared, budget)
            })?;
        }
        Ok(())
    }
}

/// The point at which the objective is best, as far as bounds are finite.
fn cheapest_corner(shared: &RoundShared) -> Vec<f64> {
    let bounds = shared.lower.iter().zip(&shared.upper);
    let priced = bounds.zip(&shared.problem.cost);
    let corner = priced.map(|((&l, &u), &cost)| match cost < 0.0 {
        true if u.is_finite() => u,
        _ if l.is_finite() => l,
        _ if u.is_finite() => u,
        _ => 0.0,
    });
    corner.collect()
}
