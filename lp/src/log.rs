//! The iteration log: numbers handed to whoever wants to watch, at each rebuild and at the end of a solve.

use crate::settings::Algorithm;
use std::fmt;
use std::sync::Arc;

/// Number and sum of violations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Violations {
    /// How many exceed the tolerance.
    pub count: usize,
    /// Their sum, in the scaled program.
    pub sum: f64,
}

/// The state of a solve at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogLine {
    /// The method at work: [`Algorithm::Dual`] or [`Algorithm::Primal`].
    pub algorithm: Algorithm,
    /// 1 while that method looks for a basis that is feasible to it, 2 afterwards.
    pub phase: u8,
    /// Pivots since the solver was made.
    pub iterations: u64,
    /// Objective of the present basic solution under the true costs, in the model's sense and units, offset included.
    pub objective: f64,
    /// Basic variables outside the bounds worked with.
    pub primal: Violations,
    /// Reduced costs of the wrong sign. In phase 1 of the primal those of the sum of infeasibilities, otherwise those of the
    /// costs worked with (which may be perturbed).
    pub dual: Violations,
    /// Whether the solve is over.
    pub last: bool,
}

/// A function that is called with every [`LogLine`]. It must not take long: the simplex waits for it.
///
/// ```
/// use remat_lp::{Log, ModelBuilder, Sense, Settings, Solver};
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(1.0, 0.0..);
/// let y = b.add_col(1.0, 0.0..);
/// b.add_row(2.0.., [(x, 1.0), (y, 2.0)]);
/// b.add_row(2.0.., [(x, 2.0), (y, 1.0)]);
/// let last = Arc::new(AtomicUsize::new(0));
/// let seen = last.clone();
/// let log = Log::new(move |line| {
///     if line.last {
///         assert_eq!((line.primal.count, line.dual.count), (0, 0));
///         seen.fetch_add(1, Ordering::Relaxed);
///     }
/// });
/// Solver::new(b.build()?, Settings { log: Some(log), ..Default::default() }).solve();
/// assert_eq!(last.load(Ordering::Relaxed), 1);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&LogLine) + Send + Sync>);

impl Log {
    /// A log that calls `f`.
    pub fn new(f: impl Fn(&LogLine) + Send + Sync + 'static) -> Log {
        Log(Arc::new(f))
    }

    pub(crate) fn line(&self, line: &LogLine) {
        (self.0)(line);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}
