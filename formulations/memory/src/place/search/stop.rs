//! Interrupts of a search.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// A time limit, an interrupt, and earlier lanes with an answer.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct LaneStop<'a> {
    /// Moment at which the time is over.
    pub deadline: Option<Instant>,
    /// A flag that ends all lanes.
    pub interrupt: Option<&'a AtomicBool>,
    /// Number of the first lane with an answer, and of this one.
    pub lane: Option<(&'a AtomicUsize, usize)>,
}

impl LaneStop<'_> {
    /// Nodes between two checks.
    pub const NODES: u64 = 64;

    /// The same, with only a share of the remaining time, as a divisor.
    pub fn sharing(self, share: u32) -> Self {
        let now = Instant::now();
        let deadline = self
            .deadline
            .map(|deadline| now + deadline.saturating_duration_since(now) / share);
        LaneStop { deadline, ..self }
    }

    /// Returns whether the time is over or the interrupt is set.
    pub fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
            || self
                .interrupt
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Returns whether this lane has to stop.
    pub fn is_due(&self) -> bool {
        self.lane
            .is_some_and(|(first, this)| first.load(Ordering::Relaxed) < this)
            || self.is_over()
    }
}
