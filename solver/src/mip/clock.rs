//! Time limits, interrupts and panics reach all threads of a search through one flag.

use crate::beside::beside;
use crate::mip::settings::Limits;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Sleeps between two looks at the clock: the first one, doubled up to the longest.
const FIRST_NAP: Duration = Duration::from_micros(200);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// Runs `work`; meanwhile a thread sets `stop` when the seconds since `start` are over or an
/// interrupt comes. That thread ends with `work`, even where `work` panics. It is an error where it
/// cannot be had.
pub(crate) fn watched<T>(
    limits: &Limits,
    start: Instant,
    stop: &AtomicBool,
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
        if late || asked {
            stop.store(true, Ordering::Relaxed);
        }
    };
    beside([FIRST_NAP, LONGEST_NAP], watch, work)
}

/// Sets a flag when dropped, unless called off: threads that work for a caller who will not hear
/// them stop at their next look at it.
pub(crate) struct StopOnDrop<'a>(Option<&'a AtomicBool>);

impl<'a> StopOnDrop<'a> {
    pub fn new(stop: &'a AtomicBool) -> Self {
        StopOnDrop(Some(stop))
    }

    pub fn call_off(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(stop) = self.0 {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::Arc;

    #[test]
    fn the_clock_ends_with_the_work() {
        let limits = Limits {
            seconds: Some(1e9),
            interrupt: Some(Arc::default()),
            ..Limits::default()
        };
        let stop = AtomicBool::new(false);
        assert_eq!(watched(&limits, Instant::now(), &stop, || 7).unwrap(), 7);
        let work = || {
            watched(&limits, Instant::now(), &stop, || {
                resume_unwind(Box::new(8))
            })
        };
        let panic: Result<std::io::Result<()>, _> = catch_unwind(AssertUnwindSafe(work));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&8));
        assert!(!stop.load(Ordering::Relaxed));
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
        for limits in [late, asked] {
            let stop = AtomicBool::new(false);
            let waited = watched(&limits, Instant::now(), &stop, || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
            assert!(waited.is_ok());
        }
    }
}
