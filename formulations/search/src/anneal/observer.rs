//! Observers of an annealing in progress.

use super::chain::Found;
use remat_instances::schedule::BitMatrix;
use std::time::Instant;

/// Follows an annealing from any of its threads: ends it, receives reports of its work, and
/// supplies retained sets to polish.
pub trait Observer: Sync {
    /// Returns whether to end; asked often.
    fn is_over(&self) -> bool {
        false
    }
    /// Returns whether the gap between the best schedule and the bound is wide enough for long
    /// runs; asked often.
    fn is_far(&self) -> bool {
        false
    }
    /// Takes a report: moves evaluated since the last one, and the cost of the best schedule of the
    /// run that fits.
    fn report(&self, _moves: u64, _best: Option<u64>) {}
    /// Takes the best schedule so far, between rounds.
    fn found(&self, _: &Found) {}
    /// Retained sets to polish, requested between rounds.
    fn start(&self) -> Option<BitMatrix> {
        None
    }
}

/// Does not observe.
impl Observer for () {}

/// Another observer, with a deadline.
pub struct Until<'a> {
    /// The other observer.
    pub observer: &'a dyn Observer,
    /// The deadline.
    pub deadline: Option<Instant>,
}

impl Observer for Until<'_> {
    fn is_over(&self) -> bool {
        self.observer.is_over() || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    fn is_far(&self) -> bool {
        self.observer.is_far()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.observer.report(moves, best);
    }
}
