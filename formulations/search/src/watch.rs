//! The time limit of a solve, and its interrupts.

use super::{Effort, Listener, Settings};
use crate::Patience;
use std::time::{Duration, Instant};

/// The clock of a solve: its beginning, its time limit, and the listener that may end it.
pub struct Watch<'a> {
    begun: Instant,
    limit: Option<Duration>,
    effort: Effort,
    listener: &'a dyn Listener,
}

impl<'a> Watch<'a> {
    /// The clock of a solve that begins now, or at the moment in its settings.
    pub fn new(settings: &Settings, listener: &'a dyn Listener) -> Self {
        Watch {
            begun: settings.begun.unwrap_or_else(Instant::now),
            limit: settings.time_limit,
            effort: settings.effort,
            listener,
        }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Time left, if there is a limit.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    /// Work if there is no time limit.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Returns whether the time is over.
    pub fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.elapsed() >= limit)
    }

    /// Returns whether the time is over, or the listener ends the solve.
    pub fn is_over(&self) -> bool {
        self.is_late() || self.listener.is_interrupted()
    }

    /// The listener.
    pub fn listener(&self) -> &'a dyn Listener {
        self.listener
    }

    /// Does a piece of work that ends when a share of the time left is over, or the whole solve
    /// ends.
    pub fn within<R>(&self, share: f64, work: impl FnOnce(Patience<'_>) -> R) -> R {
        let end = self.left().map(|left| self.elapsed() + left.mul_f64(share));
        let is_over = || self.is_over() || end.is_some_and(|end| self.elapsed() >= end);
        work(Patience::until(&is_over))
    }
}
