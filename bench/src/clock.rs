//! Processor time, which the load of a shared machine distorts far less than the clock on the wall.

use std::time::{Duration, Instant};

/// A stopwatch that counts the processor time of the thread that starts and reads it. It counts
/// wall-clock time where the system does not report processor time (Linux does).
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    used: Option<Duration>,
}

impl Stopwatch {
    /// Starts counting.
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall: Instant::now(),
            used: thread_time(),
        }
    }

    /// Processor time of this thread since the start, which must have been on this thread.
    pub fn elapsed(&self) -> Duration {
        match (self.used, thread_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.wall.elapsed(),
        }
    }

    /// [`Stopwatch::elapsed`] in seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

/// Processor time of this thread so far, to the nanosecond.
#[cfg(target_os = "linux")]
fn thread_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(
        time.tv_sec.try_into().ok()?,
        time.tv_nsec.try_into().ok()?,
    ))
}

#[cfg(not(target_os = "linux"))]
fn thread_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let watch = Stopwatch::start();
        if watch.used.is_none() {
            eprintln!("skipped: no processor time on this system");
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
        let slept = watch.elapsed();
        assert!(slept < Duration::from_millis(90), "{slept:?}");
        let mut x = 1u64;
        while watch.elapsed() == slept {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(watch.elapsed() > slept);
    }
}
