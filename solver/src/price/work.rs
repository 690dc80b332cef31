//! Amount of work done by LP solvers.

use remat_lp::Solver;
use std::ops::{Add, Sub};

/// Work done by LP solvers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Simplex iterations.
    pub iterations: u64,
    /// Memory accesses, approximately: a measure of time that does not depend on the machine.
    pub ticks: u64,
}

impl Work {
    pub(super) fn of(solver: &Solver) -> Work {
        let stats = solver.stats();
        Work {
            iterations: stats.iterations(),
            ticks: stats.ticks,
        }
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work {
            iterations: self.iterations + other.iterations,
            ticks: self.ticks + other.ticks,
        }
    }
}

impl Sub for Work {
    type Output = Work;
    fn sub(self, other: Work) -> Work {
        Work {
            iterations: self.iterations - other.iterations,
            ticks: self.ticks - other.ticks,
        }
    }
}
