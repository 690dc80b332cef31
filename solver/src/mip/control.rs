//! Environment of a search: its observers and files.
//!
//! It is separate from [`Settings`](crate::mip::Settings), because programs solved inside the
//! search must not inherit it.

use crate::mip::outcome::Solution;
use crate::mip::statistics::Statistics;
use std::path::PathBuf;
use std::sync::Arc;

/// Progress of a search. Objective values are in the model's sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Wall-clock seconds since the start.
    pub seconds: f64,
    /// Nodes done.
    pub nodes: u64,
    /// Nodes open.
    pub open: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Bound on the objective of every solution.
    pub dual_bound: f64,
    /// Objective of the best solution.
    pub objective: Option<f64>,
}

/// An event of a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeChange {
    /// The node was created below its parent; the root has no parent. A root after the first one
    /// starts a new tree.
    Created {
        /// Number of the parent.
        parent: Option<u64>,
        /// Number of branchings above.
        depth: u32,
        /// Bound on the objective of every solution below, in the model's sense.
        bound: f64,
    },
    /// It was split.
    Split,
    /// Its relaxation or propagation proved that there is no better solution below.
    Closed,
    /// Closed in the same way, with solutions found at the node.
    Solved,
}

/// A change of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeEvent {
    /// Number of the node, unique within one tree.
    pub id: u64,
    /// The event.
    pub change: NodeChange,
}

/// Watches a search. One thread at a time calls it, and a slow observer delays the search.
///
/// While one worker searches alone, as at the root, a solution is reported when it is found. All
/// other reports come between rounds.
pub trait Observer: Send + Sync {
    /// Receives a new incumbent, checked against the model.
    fn incumbent(&self, _solution: &Solution) {}

    /// Receives changes of nodes since the last round, each child after its parent. Nodes that a
    /// new incumbent makes useless are not reported.
    fn nodes(&self, _events: &[NodeEvent]) {}

    /// Returns whether the observer wants calls of [`Observer::nodes`].
    fn watches_nodes(&self) -> bool {
        false
    }

    /// Receives the progress after every round of nodes. `false` ends the search as an interrupt
    /// does.
    fn progress(&self, _progress: &Progress) -> bool {
        true
    }
}

/// Path and interval for writing the state of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The state file. A rename replaces the previous one, so that a valid file exists at any time.
    pub path: PathBuf,
    /// Seconds between two states; each is taken at the next end of a round.
    pub seconds: f64,
}

/// Observers and files of a search.
#[derive(Clone, Default)]
pub struct Control {
    /// Observers of solutions and progress.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Collector of component counts.
    pub statistics: Option<Arc<Statistics>>,
    /// Destination of the state, written on a timer and at any end of the search.
    pub checkpoint: Option<Checkpoint>,
    /// A state file to resume, written for the same model.
    pub resume: Option<PathBuf>,
    /// A folder for node files: the search creates a subfolder in it when open nodes need more
    /// memory than allowed.
    pub node_files: Option<PathBuf>,
    /// Destination of an independently checkable proof (VIPR 1.1). Restricts the search to features
    /// that the proof supports.
    pub certificate: Option<PathBuf>,
}
