//! First solutions: searches before the root's relaxation, and after it while there is no
//! incumbent.

use crate::mip::worker::{RoundShared, Worker};
use remat_lp::ModelError;

/// Rows from which on a long search precedes the first relaxation, because that may take all the
/// time.
const ROWS_BEFORE_RELAXATION: usize = 10_000;

impl Worker {
    /// Looks for a solution before the first relaxation, with more effort if that is large.
    pub(crate) fn early_solution(&mut self, shared: &RoundShared) -> Result<(), ModelError> {
        let size = shared.problem.rows.index.len() as u64;
        if shared.problem.num_rows() >= ROWS_BEFORE_RELAXATION {
            self.heuristic(shared, "fix and propagate", |w| {
                w.fix_and_propagate(shared, 50_000_000 + 2_000 * size)
            })?;
        }
        if shared.settings.nesting > 0 {
            return Ok(());
        }
        let budget = jump_budget(size);
        let seed = shared.settings.first_seed() + 1;
        let start = match &self.best {
            Some(best) => best.x.clone(),
            None => cheapest_corner(shared),
        };
        self.heuristic(shared, "jump", |w| w.jump(shared, &start, budget, seed))?;
        Ok(())
    }

    /// Looks for a solution after the root's relaxation, from its point `relaxed`.
    pub(crate) fn first_solution(
        &mut self,
        shared: &RoundShared,
        relaxed: &[f64],
    ) -> Result<(), ModelError> {
        let budget = jump_budget(shared.problem.rows.index.len() as u64);
        let seed = shared.settings.first_seed();
        let jumped = |w: &mut Worker, x: &[f64], seed| w.jump(shared, x, budget, seed);
        if self.heuristic(shared, "jump", |w| jumped(w, relaxed, seed))? {
            return Ok(());
        }
        // The outermost search has walked from this corner before the relaxation.
        if shared.settings.nesting > 0 {
            let corner = cheapest_corner(shared);
            if self.heuristic(shared, "jump", |w| jumped(w, &corner, seed + 1))? {
                return Ok(());
            }
        }
        self.heuristic(shared, "fix and propagate", |w| {
            w.fix_and_propagate(shared, budget)
        })?;
        Ok(())
    }
}

/// Ticks of a walk on a program of this many nonzeros.
fn jump_budget(nonzeros: u64) -> u64 {
    (20_000 + 500 * nonzeros).min(5_000_000 + 50 * nonzeros)
}

/// The point with the best objective, as far as bounds are finite.
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
