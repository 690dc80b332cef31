//! Callbacks and log lines of a solve. They run on the thread that called.

use crate::codes;
use crate::roomy::Caller;
use remat_models::program::{Answer, Col, Kind, Point, Program, Watcher};
use remat_report::search_log::{Ending, Head, SearchTable, Snapshot};
use remat_solver::mip::Progress;
use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Seconds between two rows without a better point.
const LOG_SECONDS: f64 = 1.0;

/// A snapshot of the search, as the header declares it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RematProgress {
    /// Seconds since the start.
    pub seconds: f64,
    /// Objective of the best point; NaN without one.
    pub objective: f64,
    /// Best bound: no point is better than this.
    pub bound: f64,
    /// Number of nodes done.
    pub nodes: i64,
    /// Number of open nodes.
    pub open_nodes: i64,
    /// Simplex iterations.
    pub iterations: i64,
}

/// Gets snapshots of the search; a return value other than 0 ends the solve.
pub type RematProgressCallback =
    Option<unsafe extern "C" fn(progress: *const RematProgress, user: *mut c_void) -> c_int>;
/// Gets better points; a return value other than 0 ends the solve.
pub type RematIncumbentCallback = Option<
    unsafe extern "C" fn(
        objective: f64,
        count: i32,
        values: *const f64,
        user: *mut c_void,
    ) -> c_int,
>;
/// Gets log lines.
pub type RematLogCallback = Option<unsafe extern "C" fn(line: *const c_char, user: *mut c_void)>;

/// A pointer that is passed back to the user's functions.
#[derive(Clone, Copy)]
pub struct User(pub *mut c_void);

impl User {
    /// The pointer. (A closure that names the field alone would not be `Send`.)
    fn pointer(self) -> *mut c_void {
        self.0
    }
}

impl Default for User {
    fn default() -> Self {
        User(std::ptr::null_mut())
    }
}

// SAFETY: this library never reads through it; the functions that get it run on the caller's
// thread.
unsafe impl Send for User {}
// SAFETY: likewise.
unsafe impl Sync for User {}

/// Callbacks of a solve.
#[derive(Clone, Copy, Default)]
pub struct Callbacks {
    /// Gets snapshots of the search.
    pub progress: (RematProgressCallback, User),
    /// Gets better points.
    pub incumbent: (RematIncumbentCallback, User),
    /// Gets log lines.
    pub log: (RematLogCallback, User),
}

/// Passes a solve's reports on to the callbacks.
pub struct Follower {
    callbacks: Callbacks,
    /// The thread that runs the callbacks.
    caller: Caller,
    stop: Arc<AtomicBool>,
    table: Mutex<LogState>,
}

/// The table of a log, and its last row.
#[derive(Default)]
struct LogState {
    rows: SearchTable,
    /// Seconds of the last row.
    logged: f64,
}

impl Follower {
    /// A follower of one solve, which `stop` ends.
    pub fn new(mut callbacks: Callbacks, log: bool, stop: Arc<AtomicBool>, caller: Caller) -> Self {
        if !log {
            callbacks.log = Default::default();
        }
        Follower {
            callbacks,
            caller,
            stop,
            table: Mutex::default(),
        }
    }

    /// Passes each line of a text on.
    fn log(&self, text: impl FnOnce() -> String) {
        let (Some(log), user) = self.callbacks.log else {
            return;
        };
        for line in text().lines() {
            let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
            self.caller.run(move || {
                // SAFETY: the user's function, with the user's pointer and a text that outlives the
                // call.
                unsafe { log(line.as_ptr(), user.pointer()) };
            });
        }
    }

    /// Ends the solve if a callback requests it.
    fn told(&self, answer: Option<c_int>) {
        if answer.is_some_and(|number| number != 0) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Logs the program's name and size, and the settings that differ from their defaults.
    pub fn begin(&self, program: &Program, settings: Vec<(String, String)>) {
        self.log(|| {
            let whole = |&col: &Col| program.kind(col).is_ok_and(Kind::is_integer);
            let head = Head {
                name: program.name().into(),
                rows: program.num_rows(),
                columns: program.num_cols(),
                integers: program.cols().filter(whole).count(),
                nonzeros: program.num_nonzeros(),
                settings,
            };
            head.text()
        });
    }

    /// Logs the end of the solve.
    pub fn end(&self, answer: Option<&Answer>) {
        let Some(answer) = answer else { return };
        self.log(|| {
            let status = codes::words(codes::of_ending(answer.ending)).unwrap_or_default();
            let ending = Ending {
                status: &status.to_string_lossy(),
                objective: answer.points.first().map(|point| point.objective),
                bound: Some(answer.bound),
                gap: Some(answer.gap()),
                nodes: answer.info.nodes,
                lp_iterations: answer.info.lp_iterations,
                seconds: answer.info.seconds,
            };
            ending.text()
        });
    }

    /// Logs a row of the table, if a better point was found or the time has come.
    fn row(&self, look: &Progress) {
        if self.callbacks.log.0.is_none() {
            return;
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = look.seconds >= table.logged + LOG_SECONDS;
        if !is_due && !table.rows.is_news(look.objective) {
            return;
        }
        table.logged = look.seconds;
        let text = table.rows.marked_row(&Snapshot {
            nodes: look.nodes,
            open: look.open,
            lp_iterations: Some(look.lp_iterations),
            bound: Some(look.dual_bound),
            objective: look.objective,
            gap: look.gap(),
            seconds: look.seconds,
            found_by: None,
        });
        drop(table);
        self.log(|| text);
    }
}

impl Watcher for Follower {
    fn progress(&self, look: &Progress) -> bool {
        self.row(look);
        if let (Some(callback), user) = self.callbacks.progress {
            let look = RematProgress {
                seconds: look.seconds,
                objective: look.objective.unwrap_or(f64::NAN),
                bound: look.dual_bound,
                nodes: signed(look.nodes),
                open_nodes: signed(look.open),
                iterations: signed(look.lp_iterations),
            };
            // SAFETY: the user's function, with the user's pointer and a snapshot that outlives the
            // call.
            let call = move || unsafe { callback(&look, user.pointer()) };
            self.told(self.caller.run(call));
        }
        !self.stop.load(Ordering::Relaxed)
    }

    fn incumbent(&self, point: &Point) {
        let (Some(callback), user) = self.callbacks.incumbent else {
            return;
        };
        let (objective, x) = (point.objective, point.x.clone());
        let call = move || {
            let count = x.len() as i32;
            // SAFETY: the user's function, with the user's pointer and values that outlive the
            // call.
            unsafe { callback(objective, count, x.as_ptr(), user.pointer()) }
        };
        self.told(self.caller.run(call));
    }
}

/// A counter as a signed C number.
pub fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
