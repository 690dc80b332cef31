//! A thread that runs beside a piece of work: a clock, a watcher.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle, Thread};
use std::time::Duration;

/// Stops the ticking when dropped, also by a panic of the work.
struct EndOnDrop<'a> {
    over: &'a AtomicBool,
    ticker: Thread,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.ticker.unpark();
    }
}

/// Runs `work` while another thread calls `tick`: at once, after `naps[0]`, and after naps that
/// double up to `naps[1]`. That thread ends with the work, even if the work panics. Panics of both
/// are propagated; a panic of `tick` only after the work has ended.
///
/// # Errors
/// The error of the system if it cannot start a thread; the work is then not started.
///
/// ```
/// use remat_solver::beside::beside;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use std::time::Duration;
///
/// let stop = AtomicBool::new(false);
/// let naps = [Duration::from_millis(1); 2];
/// let answer = beside(naps, || stop.store(true, Ordering::Relaxed), || {
///     while !stop.load(Ordering::Relaxed) {
///         std::thread::yield_now();
///     }
///     7
/// });
/// assert_eq!(answer?, 7);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn beside<R>(
    [first, longest]: [Duration; 2],
    tick: impl Fn() + Sync,
    work: impl FnOnce() -> R,
) -> std::io::Result<R> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let ticker = thread::Builder::new().spawn_scoped(scope, || {
            let mut nap = first;
            while !over.load(Ordering::Acquire) {
                tick();
                thread::park_timeout(nap);
                nap = (nap * 2).min(longest);
            }
        })?;
        let end = EndOnDrop {
            over: &over,
            ticker: ticker.thread().clone(),
        };
        let result = work();
        drop(end);
        joined(ticker);
        Ok(result)
    })
}

/// The result of a thread; propagates its panic.
pub fn joined<R>(thread: ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
