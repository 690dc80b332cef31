//! Outcome of a placement.

use remat_instances::place::{BoundCertificate, Placement, PlacementError};

/// Status of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceStatus {
    /// No placement is lower: the height is the bound.
    Optimal,
    /// The placement is within the capacity, as requested.
    Fits,
    /// A limit was reached with a gap between height and bound.
    Feasible,
    /// No placement is within the capacity: the bound is above it.
    Infeasible,
    /// A limit was reached: no placement within the capacity was found, and the bound is not above
    /// it.
    Undecided,
}

impl PlaceStatus {
    /// The status in a word.
    pub fn name(self) -> &'static str {
        match self {
            PlaceStatus::Optimal => "optimal",
            PlaceStatus::Fits => "fits",
            PlaceStatus::Feasible => "feasible",
            PlaceStatus::Infeasible => "infeasible",
            PlaceStatus::Undecided => "undecided",
        }
    }
}

/// Result of [`place`](super::place()).
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceOutcome {
    /// Status.
    pub status: PlaceStatus,
    /// The lowest placement that was found. It is above the capacity if the status is `Infeasible`
    /// or `Undecided`.
    pub placement: Placement,
    /// Its height in bytes, replayed.
    pub height: u64,
    /// Proven lower bound in bytes on the height of every placement.
    pub bound: u64,
    /// Largest load in bytes.
    pub load: u64,
    /// The argument for the bound; `remat_check::place` judges it.
    pub certificate: BoundCertificate,
    /// Nodes of the search.
    pub nodes: u64,
    /// Seconds taken.
    pub seconds: f64,
}

impl PlaceOutcome {
    /// Height above the load, in percent of the load.
    pub fn fragmentation_percent(&self) -> f64 {
        match self.load {
            0 => 0.0,
            load => (self.height as f64 / load as f64 - 1.0) * 100.0,
        }
    }
}

/// Reason why buffers cannot be placed at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Two fixed buffers share addresses.
    #[error("fixed offsets clash: {0}")]
    Fixed(PlacementError),
    /// A placement failed its replay, which is a defect of the search.
    #[error("a placement failed its replay: {0}; please report this")]
    Replay(PlacementError),
    /// Too many pairs of buffers are live together for this way to place them.
    #[error("more than {limit} pairs of buffers are live together; `place` takes more")]
    Pairs {
        /// Largest number of pairs.
        limit: usize,
    },
    /// The threads cannot be started.
    #[error("{threads} worker threads cannot be started: {problem}; ask for fewer")]
    Threads {
        /// Number of threads.
        threads: usize,
        /// Message of the system.
        problem: String,
    },
}
