//! A thread beside a piece of work, and panics that end both.

use remat_solver::beside::beside;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between two ticks.
const TICK: Duration = Duration::from_millis(100);

/// Sets a flag when the thread that holds it panics, so that threads that wait for its work end.
pub struct StopOnPanic<'a>(pub &'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Does the work while `tick` is called ten times a second from another thread. A panic of either
/// sets `stop`, which is to end the other, and goes on from here. Returns an error if no thread can
/// be started.
pub fn ticking<R>(
    tick: impl Fn() + Sync,
    stop: &AtomicBool,
    work: impl FnOnce() -> R,
) -> std::io::Result<R> {
    let tick = || {
        let _stop = StopOnPanic(stop);
        tick();
    };
    beside([TICK; 2], tick, || {
        let _stop = StopOnPanic(stop);
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Instant;

    /// Waits for the flag, not for ever.
    fn wait(stop: &AtomicBool) -> bool {
        let clock = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            if clock.elapsed() > Duration::from_secs(20) {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    #[test]
    fn a_panic_of_the_tick_ends_the_work_and_arrives() {
        let stop = AtomicBool::new(false);
        let ended = AtomicBool::new(false);
        let call = || {
            ticking(
                || panic!("tick"),
                &stop,
                || ended.store(wait(&stop), Ordering::Relaxed),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"tick"));
        assert!(ended.load(Ordering::Relaxed));
    }

    #[test]
    fn a_panic_of_the_work_ends_the_ticking_and_arrives() {
        let stop = AtomicBool::new(false);
        let call = || ticking(|| (), &stop, || panic!("work"));
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"work"));
        assert!(stop.load(Ordering::Relaxed));
    }
}
