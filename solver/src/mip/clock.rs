//! One flag passes time limits, interrupts and panics to all threads of a search, and keeps the
//! first reason.

use crate::beside::beside;
use crate::mip::outcome::SolveStatus;
use crate::mip::settings::Limits;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Sleeps between two checks of the clock: the first one, doubled up to the longest.
const FIRST_NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// Reason to stop a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The time limit.
    TimeLimit,
    /// An interrupt from outside, or an observer that ends the search.
    Interrupt,
    /// An error or a panic, which the caller receives instead of a result.
    Abandoned,
}

impl StopReason {
    /// The status of a search that ends for this reason.
    pub fn status(self) -> SolveStatus {
        match self {
            StopReason::TimeLimit => SolveStatus::TimeLimit,
            StopReason::Interrupt | StopReason::Abandoned => SolveStatus::Interrupted,
        }
    }
}

/// The flag that stops a search, the programs inside it and their threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    reason: Arc<OnceLock<StopReason>>,
}

impl Stop {
    /// Raises the flag; only the first reason counts.
    pub fn raise(&self, reason: StopReason) {
        let _ = self.reason.set(reason);
        self.flag.store(true, Ordering::Release);
    }

    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Status for the reason, if the flag is raised.
    pub fn status(&self) -> Option<SolveStatus> {
        self.flag.load(Ordering::Acquire).then(|| {
            let reason = self.reason.get().copied();
            reason.unwrap_or(StopReason::Interrupt).status()
        })
    }

    /// The flag alone, for read access.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }
}

/// Runs `work`. Meanwhile a thread raises `stop` when the time limit since `start` is over or an
/// interrupt comes. That thread ends with `work`, even if `work` panics. Fails if the thread cannot
/// be started.
pub(crate) fn watched<T>(
    limits: &Limits,
    start: Instant,
    stop: &Stop,
    work: impl FnOnce() -> T,
) -> std::io::Result<T> {
    if limits.seconds.is_none() && limits.interrupt.is_none() {
        return Ok(work());
    }
    let watch = || {
        let late = limits
            .seconds
            .is_some_and(|s| start.elapsed().as_secs_f64() >= s);
        let asked = (limits.interrupt.as_ref()).is_some_and(|i| i.load(Ordering::Relaxed));
        if asked {
            stop.raise(StopReason::Interrupt);
        } else if late {
            stop.raise(StopReason::TimeLimit);
        }
    };
    beside([FIRST_NAP, LONGEST_NAP], watch, work)
}

/// Raises a flag when dropped, unless called off: threads whose caller no longer waits then stop at
/// their next check.
pub(crate) struct StopOnDrop<'a>(Option<&'a Stop>);

impl<'a> StopOnDrop<'a> {
    pub fn new(stop: &'a Stop) -> Self {
        StopOnDrop(Some(stop))
    }

    pub fn call_off(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(stop) = self.0 {
            stop.raise(StopReason::Abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    #[test]
    fn the_clock_ends_with_the_work() {
        let limits = Limits {
            seconds: Some(1e9),
            interrupt: Some(Arc::default()),
            ..Limits::default()
        };
        let stop = Stop::default();
        assert_eq!(watched(&limits, Instant::now(), &stop, || 7).unwrap(), 7);
        let work = || {
            watched(&limits, Instant::now(), &stop, || {
                resume_unwind(Box::new(8))
            })
        };
        let panic: Result<std::io::Result<()>, _> = catch_unwind(AssertUnwindSafe(work));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&8));
        assert_eq!(stop.status(), None);
    }

    #[test]
    fn time_and_interrupts_set_the_flag() {
        let late = Limits {
            seconds: Some(0.001),
            ..Limits::default()
        };
        let asked = Limits {
            interrupt: Some(Arc::new(AtomicBool::new(true))),
            ..Limits::default()
        };
        let ends = [
            (late, SolveStatus::TimeLimit),
            (asked, SolveStatus::Interrupted),
        ];
        for (limits, status) in ends {
            let stop = Stop::default();
            let waited = watched(&limits, Instant::now(), &stop, || {
                while !stop.is_raised() {
                    std::thread::yield_now();
                }
            });
            assert!(waited.is_ok());
            stop.raise(StopReason::Abandoned);
            assert_eq!(stop.status(), Some(status), "the first reason counts");
        }
    }
}
