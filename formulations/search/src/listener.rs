//! Listeners, which follow a solve and may end it.

use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a solve in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Seconds since the start.
    pub seconds: f64,
    /// Cost of the best schedule so far.
    pub objective: Option<u64>,
    /// Proven lower bound.
    pub bound: u64,
    /// Moves of the annealing so far.
    pub moves: u64,
    /// Branch-and-bound nodes so far.
    pub nodes: u64,
}

/// Follows a solve from another thread, and may end it with the best schedule so far.
///
/// A panic of a listener ends the solve with that panic.
pub trait Listener: Sync {
    /// Returns whether to end the solve with the best schedule so far; asked often.
    fn is_interrupted(&self) -> bool {
        false
    }
    /// Receives the progress, about ten times a second.
    fn progress(&self, _: &Progress) {}
    /// Receives the cost of the best schedule of the annealing so far, about ten times a second;
    /// `plan` makes its plan as a `remat-plan/1` document, which takes time.
    fn best(&self, _cost: u64, _plan: &dyn Fn() -> Option<String>) {}
}

/// Does not listen.
impl Listener for () {}

/// A flag that ends the solve.
impl Listener for AtomicBool {
    fn is_interrupted(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// A listener whose progress goes to a function.
pub struct Watching<'a, F> {
    /// Listener that may interrupt.
    pub listener: &'a dyn Listener,
    /// Receives the progress.
    pub look: F,
}

impl<F: Fn(&Progress) + Sync> Listener for Watching<'_, F> {
    fn is_interrupted(&self) -> bool {
        self.listener.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        (self.look)(progress);
    }

    fn best(&self, cost: u64, plan: &dyn Fn() -> Option<String>) {
        self.listener.best(cost, plan);
    }
}

/// A listener that may interrupt but receives no progress: for a solve that is a part of another.
pub struct Unheard<'a>(pub &'a dyn Listener);

impl Listener for Unheard<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_interrupted()
    }
}
