//! The whole search, to the end: no time limit, a gap of 0, one round of annealing.

use remat_formulations::solve::{Outcome, Settings, SolveError, solve};
use remat_instances::Instance;
use std::sync::atomic::AtomicBool;

/// What the search comes to, whatever is proven in the end.
///
/// # Errors
/// Those of [`solve`].
pub fn solved(instance: &Instance, budget: u64, threads: usize) -> Result<Outcome, SolveError> {
    let settings = Settings {
        gap: 0.0,
        rounds: 1,
        threads,
        ..Settings::new(budget)
    };
    solve(instance, &settings, &AtomicBool::new(false), &|_| ())
}
