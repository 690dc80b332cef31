//! Solutions of a search in the order in which they were found.

use remat_solver::mip::{Observer, Progress, Solution};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Times (seconds from `begun` on) and objectives of the solutions of a search, each better than
/// the previous one.
pub(super) struct Incumbents {
    begun: Instant,
    seen: Mutex<Vec<(f64, f64)>>,
}

impl Incumbents {
    /// An empty list.
    pub fn new(begun: Instant) -> Self {
        Incumbents {
            begun,
            seen: Mutex::default(),
        }
    }

    /// Solutions so far.
    pub fn seen(&self) -> Vec<(f64, f64)> {
        self.list().clone()
    }

    fn list(&self) -> MutexGuard<'_, Vec<(f64, f64)>> {
        // A panic cannot leave the list half-written.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, objective: f64) {
        let mut list = self.list();
        if list.last().is_none_or(|(_, last)| *last != objective) {
            list.push((self.begun.elapsed().as_secs_f64(), objective));
        }
    }
}

impl Observer for Incumbents {
    fn incumbent(&self, solution: &Solution) {
        self.note(solution.objective);
    }

    // Recognised programs report their solutions as progress.
    fn progress(&self, progress: &Progress) -> bool {
        if let Some(objective) = progress.objective {
            self.note(objective);
        }
        true
    }
}
