//! Work beside the interpreter. A search runs on a separate thread, without the interpreter's lock;
//! the calling thread handles signals and passes snapshots of the search to Python.

use crate::numbers::function_if_given;
use crate::trouble::Trouble;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use remat_search::{Listener, Progress as Look, STACK_BYTES, SolveError};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Time between two checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// A snapshot of a search.
#[pyclass(frozen, get_all, module = "remat_bb")]
#[derive(Clone, Debug)]
pub struct Progress {
    /// Seconds since the start.
    seconds: f64,
    /// Cost of the best plan so far, in the instance's unit; `None` before the first.
    objective: Option<u64>,
    /// Proven lower bound on the cost.
    bound: u64,
    /// `(objective - bound) / objective`; `None` before the first plan.
    gap: Option<f64>,
    /// Branch-and-bound nodes so far.
    nodes: u64,
    /// Moves of the annealing so far.
    moves: u64,
    /// Number of finished budgets of a frontier; 0 for other solves.
    done: usize,
    /// Number of all budgets of a frontier; 1 for other solves.
    total: usize,
}

impl Progress {
    /// A snapshot of one of several solves.
    pub fn of(look: &Look, done: usize, total: usize) -> Self {
        let gap = |cost: u64| match cost {
            0 => 0.0,
            _ => cost.saturating_sub(look.bound) as f64 / cost as f64,
        };
        Progress {
            seconds: look.seconds,
            objective: look.objective,
            bound: look.bound,
            gap: look.objective.map(gap),
            nodes: look.nodes,
            moves: look.moves,
            done,
            total,
        }
    }
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        let some = |n: Option<String>| n.unwrap_or_else(|| "None".into());
        format!(
            "Progress(seconds={:.3}, objective={}, bound={}, gap={}, nodes={}, done={}, total={})",
            self.seconds,
            some(self.objective.map(|o| o.to_string())),
            self.bound,
            some(self.gap.map(|g| format!("{g:.6}"))),
            self.nodes,
            self.done,
            self.total
        )
    }
}

/// State that the two threads share; `L` is the type of a snapshot.
pub struct Relay<L = Progress> {
    stop: Arc<AtomicBool>,
    state: Mutex<RelayState<L>>,
    news: Condvar,
}

struct RelayState<L> {
    /// The latest snapshot that Python has not seen.
    look: Option<L>,
    done: bool,
}

impl<L> Default for Relay<L> {
    fn default() -> Self {
        Relay {
            stop: Arc::default(),
            state: Mutex::new(RelayState {
                look: None,
                done: false,
            }),
            news: Condvar::new(),
        }
    }
}

impl<L> Relay<L> {
    /// The flag that is set to end the work.
    pub fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    fn state(&self) -> MutexGuard<'_, RelayState<L>> {
        // Code that holds the lock never leaves the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a snapshot.
    pub fn show(&self, look: L) {
        self.state().look = Some(look);
        self.news.notify_one();
    }

    fn finish(&self) {
        self.state().done = true;
        self.news.notify_one();
    }

    /// Waits for a tick, a snapshot or the end; returns the snapshot, and whether the work is done.
    fn wait(&self) -> (Option<L>, bool) {
        let quiet = |state: &mut RelayState<L>| state.look.is_none() && !state.done;
        let waited = self.news.wait_timeout_while(self.state(), TICK, quiet);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (state.look.take(), state.done)
    }
}

impl Relay {
    /// Publishes a snapshot of one of several solves.
    pub fn look(&self, look: &Look, done: usize, total: usize) {
        self.show(Progress::of(look, done, total));
    }
}

impl Listener for Relay {
    fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn progress(&self, look: &Look) {
        self.look(look, 0, 1);
    }
}

/// Reports the end of the work, also after a panic.
struct Finish<'a, L>(&'a Relay<L>);

impl<L> Drop for Finish<'_, L> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Result of work, and the `KeyboardInterrupt` that requested its end.
pub struct Ended<T> {
    /// The result.
    pub value: T,
    /// The interrupt, if there was one.
    pub interrupt: Option<PyErr>,
}

/// Types of snapshots that become Python objects.
pub trait Shown: Send + 'static + for<'py> IntoPyObject<'py> {}

impl<L: Send + 'static + for<'py> IntoPyObject<'py>> Shown for L {}

/// Works on another thread without the interpreter's lock. Meanwhile Ctrl-C sets the relay's flag,
/// which ends the work, and `callback` gets each snapshot. An exception of a signal's handler or of
/// the callback ends the work as well.
///
/// # Errors
/// The first exception of the callback or of a signal's handler, once the work has ended. The first
/// `KeyboardInterrupt` of a handler is returned in [`Ended`] instead.
pub fn work<L: Shown, T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Arc<Relay<L>>) -> T + Send,
) -> PyResult<Ended<T>> {
    work_until(py, Arc::default(), callback, work)
}

/// As [`work`], with a flag that others may set too.
///
/// # Errors
/// As [`work`].
pub fn work_until<L: Shown, T: Send>(
    py: Python<'_>,
    stop: Arc<AtomicBool>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Arc<Relay<L>>) -> T + Send,
) -> PyResult<Ended<T>> {
    function_if_given(py, "on_progress", callback.as_ref())?;
    let relay = Arc::new(Relay {
        stop,
        ..Relay::default()
    });
    py.detach(|| {
        std::thread::scope(|scope| {
            let shared = &relay;
            let worker = worker(scope, move || {
                let _finish = Finish(shared);
                work(shared)
            })?;
            let watched = watch(&relay, callback);
            let value = worker.join().map_err(|panic| fault(&*panic))?;
            let interrupt = watched?;
            Ok(Ended { value, interrupt })
        })
    })
}

/// Does work without the interpreter's lock on a thread with enough stack, however small the
/// calling thread's stack is. A panic becomes an `InternalError`.
///
/// # Errors
/// `InternalError` for a panic, and the system's error if no thread can be started.
pub fn apart<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T, Trouble> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let worker = worker(scope, work)?;
            worker.join().map_err(|panic| fault(&*panic))
        })
    })
}

/// A thread for work, with enough stack.
fn worker<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Trouble> {
    let builder = Builder::new()
        .name("remat-bb".into())
        .stack_size(STACK_BYTES);
    let worker = builder.spawn_scoped(scope, work);
    worker.map_err(|e| Trouble::from(SolveError::Thread(e)))
}

/// The exception of a panic: a fault of this package.
fn fault(panic: &(dyn Any + Send)) -> Trouble {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let words = format!("a fault in remat-bb: {}", text.unwrap_or("no words"));
    Trouble::new("InternalError", words).remedy("please report it, with the input")
}

/// Handles signals and snapshots until the work is done; returns the first interrupt.
fn watch<L: Shown>(relay: &Relay<L>, callback: Option<Py<PyAny>>) -> PyResult<Option<PyErr>> {
    let mut interrupt = None;
    let mut failed = None;
    loop {
        let (look, done) = relay.wait();
        let (signalled, told) = Python::attach(|py| {
            let signalled = py.check_signals();
            let told = match (&callback, look) {
                (Some(callback), Some(look)) if failed.is_none() => {
                    callback.call1(py, (look,)).map(drop)
                }
                _ => Ok(()),
            };
            (signalled, told)
        });
        if let Err(error) = signalled {
            relay.stop.store(true, Ordering::Relaxed);
            let first = Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
                && interrupt.is_none();
            match first {
                true => interrupt = Some(error),
                false => failed = failed.or(Some(error)),
            }
        }
        // Every exception of a callback is raised, also an interrupt.
        if let Err(error) = told {
            relay.stop.store(true, Ordering::Relaxed);
            failed = failed.or(Some(error));
        }
        if done {
            return failed.map_or(Ok(interrupt), Err);
        }
    }
}
