//! Listener shared by consecutive solves.

use remat_search::{Listener, Progress};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reports the best plan of all solves so far, and the bound over all orders, to a listener.
pub(super) struct OrderListener<'a> {
    listener: &'a dyn Listener,
    bound: u64,
    best: AtomicU64,
}

impl<'a> OrderListener<'a> {
    pub fn new(listener: &'a dyn Listener, bound: u64) -> Self {
        OrderListener {
            listener,
            bound,
            best: AtomicU64::new(u64::MAX),
        }
    }

    /// Keeps the cost of a plan.
    pub fn keep(&self, cost: Option<u64>) {
        if let Some(cost) = cost {
            self.best.fetch_min(cost, Ordering::Relaxed);
        }
    }
}

impl Listener for OrderListener<'_> {
    fn is_interrupted(&self) -> bool {
        self.listener.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        self.keep(progress.objective);
        let best = self.best.load(Ordering::Relaxed);
        self.listener.progress(&Progress {
            objective: (best < u64::MAX).then_some(best),
            bound: self.bound,
            ..*progress
        });
    }

    fn best(&self, cost: u64, plan: &dyn Fn() -> Option<String>) {
        if cost <= self.best.load(Ordering::Relaxed) {
            self.listener.best(cost, plan);
        }
    }
}
