//! Listener shared by the partial solves of a solve with a link.

use remat_search::{Listener, Progress};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reports the best plan with copies so far, and the bound, to a listener.
pub(super) struct StageListener<'a> {
    listener: &'a dyn Listener,
    bound: AtomicU64,
    best: AtomicU64,
}

impl<'a> StageListener<'a> {
    pub fn new(listener: &'a dyn Listener, bound: u64) -> Self {
        StageListener {
            listener,
            bound: AtomicU64::new(bound),
            best: AtomicU64::new(u64::MAX),
        }
    }

    /// Reports a plan.
    pub fn found(&self, cost: u64, plan: &dyn Fn() -> Option<String>) {
        self.best.fetch_min(cost, Ordering::Relaxed);
        self.listener.best(cost, plan);
    }

    /// Stores a bound.
    pub fn learn(&self, bound: u64) {
        self.bound.store(bound, Ordering::Relaxed);
    }
}

impl Listener for StageListener<'_> {
    fn is_interrupted(&self) -> bool {
        self.listener.is_interrupted()
    }

    /// Replaces objective and bound: a partial solve has a budget of its own.
    fn progress(&self, progress: &Progress) {
        let best = self.best.load(Ordering::Relaxed);
        self.listener.progress(&Progress {
            objective: (best < u64::MAX).then_some(best),
            bound: self.bound.load(Ordering::Relaxed),
            ..*progress
        });
    }
}
