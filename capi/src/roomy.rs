//! Work on a thread with enough stack, however small the caller's stack is.
//!
//! The caller's thread waits meanwhile, and runs the callbacks.

use crate::codes::REMAT_ERROR_SOLVE;
use crate::trouble::Trouble;
use remat_search::STACK_BYTES;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::{self, Builder};

/// Work for the caller's thread.
type Job = Box<dyn FnOnce() + Send>;

/// Messages to the caller's thread.
enum News {
    Job(Job),
    End,
}

/// The caller's thread, for use by the work.
pub struct Caller(Sender<News>);

impl Caller {
    /// Runs a job on the caller's thread, one at a time, and waits for its result. `None` once the
    /// work has ended.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (give, take) = sync_channel(1);
        let job = Box::new(move || {
            // The receiver still waits for it.
            let _ = give.send(job());
        });
        self.0.send(News::Job(job)).ok()?;
        take.recv().ok()
    }
}

/// Reports that the work has ended, also by a panic.
struct EndOfWork(Sender<News>);

impl Drop for EndOfWork {
    fn drop(&mut self) {
        // Without a receiver the caller no longer waits.
        let _ = self.0.send(News::End);
    }
}

/// Does work on a thread with enough stack.
///
/// # Errors
/// `REMAT_ERROR_SOLVE` if no thread can be started.
///
/// # Panics
/// With the work's panic.
pub fn on_roomy_thread<T: Send>(work: impl FnOnce(Caller) -> T + Send) -> Result<T, Trouble> {
    let (sender, news) = channel();
    thread::scope(|scope| {
        let worker = move || {
            let _end = EndOfWork(sender.clone());
            work(Caller(sender))
        };
        let builder = Builder::new()
            .name("remat-bb".into())
            .stack_size(STACK_BYTES);
        let worker = builder.spawn_scoped(scope, worker).map_err(|e| {
            Trouble::new(REMAT_ERROR_SOLVE, format!("no thread can be started: {e}"))
        })?;
        while let Ok(News::Job(job)) = news.recv() {
            job();
        }
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn jobs_run_on_the_callers_thread_and_panics_come_back() {
        let me = thread::current().id();
        let found = on_roomy_thread(|caller| {
            let caller = Arc::new(caller);
            let there = caller.run(|| thread::current().id());
            let beside = caller.clone();
            let beside = thread::spawn(move || beside.run(|| thread::current().id()));
            (thread::current().id(), there, beside.join().unwrap())
        })
        .unwrap();
        assert_ne!(found.0, me);
        assert_eq!((found.1, found.2), (Some(me), Some(me)));
        let panic = std::panic::catch_unwind(|| on_roomy_thread(|_| panic!("gone")));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"gone"));
    }
}
