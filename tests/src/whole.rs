//! The whole search, on the programs by name.

use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::monet::MonetFormulation;
use remat_instances::Instance;
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule};
use remat_search::{Outcome, Settings, Solvable, SolveError};

/// The outcome of the whole search on Checkmate's program: no time limit, a gap of 0, one round of
/// annealing.
///
/// # Errors
/// The solve's errors.
pub fn solved(
    instance: &Instance,
    budget_bytes: u64,
    threads: usize,
) -> Result<Outcome<CheckmateSchedule>, SolveError> {
    let settings = Settings {
        gap: 0.0,
        rounds: 1,
        threads,
        ..Settings::default()
    };
    checkmate(instance, budget_bytes, &[], &settings)
}

/// A solve of Checkmate's program.
///
/// # Errors
/// The solve's errors.
pub fn checkmate(
    instance: &Instance,
    budget_bytes: u64,
    starts: &[CheckmateSchedule],
    settings: &Settings,
) -> Result<Outcome<CheckmateSchedule>, SolveError> {
    CheckmateFormulation::new(instance.clone()).solve(budget_bytes, starts, settings, &())
}

/// A solve of MONeT's program.
///
/// # Errors
/// The solve's errors.
pub fn monet(
    instance: &Instance,
    budget_bytes: u64,
    starts: &[MonetSchedule],
    settings: &Settings,
) -> Result<Outcome<MonetSchedule>, SolveError> {
    MonetFormulation::new(instance.clone())?.solve(budget_bytes, starts, settings, &())
}
