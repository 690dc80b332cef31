//! A window on a search in progress, shared by its runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Best cost and number of moves so far.
#[derive(Debug)]
pub struct Watch {
    best: AtomicU64,
    moves: AtomicU64,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            best: AtomicU64::new(u64::MAX),
            moves: AtomicU64::new(0),
        }
    }
}

impl Watch {
    /// Cost of the best schedule that fits, over all runs.
    pub fn best(&self) -> Option<u64> {
        Some(self.best.load(Ordering::Relaxed)).filter(|cost| *cost < u64::MAX)
    }

    /// Moves evaluated in all runs.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Adds moves, and a run's best cost.
    pub(crate) fn report(&self, moves: u64, best: Option<u64>) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
        if let Some(cost) = best {
            self.best.fetch_min(cost, Ordering::Relaxed);
        }
    }
}
