//! Limits of heuristics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The limit of a heuristic, which heuristics that may take long check often.
#[derive(Clone, Copy)]
pub struct Patience<'a>(Waiting<'a>);

#[derive(Clone, Copy)]
enum Waiting<'a> {
    Endless,
    Until(&'a (dyn Fn() -> bool + Sync)),
    Flag(&'a Arc<AtomicBool>),
}

impl<'a> Patience<'a> {
    /// Waits for as long as it takes.
    pub const ENDLESS: Patience<'static> = Patience(Waiting::Endless);

    /// Waits until `is_over`, which is asked often, returns true.
    pub fn until(is_over: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Patience(Waiting::Until(is_over))
    }

    /// Waits until a flag is set.
    pub fn until_set(flag: &'a Arc<AtomicBool>) -> Self {
        Patience(Waiting::Flag(flag))
    }

    /// Returns whether the heuristic is to end, with the best schedule so far.
    pub fn is_over(self) -> bool {
        match self.0 {
            Waiting::Endless => false,
            Waiting::Until(is_over) => is_over(),
            Waiting::Flag(flag) => flag.load(Ordering::Relaxed),
        }
    }

    /// The flag, for linear programs to check, if the limit is one.
    pub fn flag(self) -> Option<Arc<AtomicBool>> {
        match self.0 {
            Waiting::Flag(flag) => Some(flag.clone()),
            Waiting::Endless | Waiting::Until(_) => None,
        }
    }
}
