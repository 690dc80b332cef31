//! Surroundings of a search: those who watch it, and the files it keeps.
//!
//! Apart from [`Settings`](crate::mip::Settings) because programs solved inside the search must not
//! have any of it.

use crate::mip::outcome::Solution;
use crate::mip::statistics::Statistics;
use std::path::PathBuf;
use std::sync::Arc;

/// A look at a search in progress. Objective values are in the model's sense.
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
    /// No solution is better than this.
    pub dual_bound: f64,
    /// Objective of the best solution.
    pub objective: Option<f64>,
}

/// An event of a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NodeChange {
    /// It is there, below its parent; the root has none. A root after the first one belongs to a
    /// tree that was begun anew.
    Created {
        /// Number of the parent.
        parent: Option<u64>,
        /// Branchings above.
        depth: u32,
        /// No solution below is better than this, in the model's sense.
        bound: f64,
    },
    /// It was split.
    Split,
    /// Nothing better is below: its relaxation or propagation says so.
    Closed,
    /// The same, and solutions were found at it.
    Solved,
}

/// A change of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeEvent {
    /// Number of the node, its own within one tree.
    pub id: u64,
    /// The event.
    pub change: NodeChange,
}

/// Watches a search. Called by one thread at a time; what takes long here holds the search up.
///
/// A solution is told of when it is found while one worker searches alone, as it does at the root;
/// all else between rounds.
pub trait Observer: Send + Sync {
    /// A new best solution, checked against the model.
    fn incumbent(&self, _solution: &Solution) {}

    /// Changes of nodes since the last round, each child behind its parent. Nodes that a new best
    /// solution makes useless go without.
    fn nodes(&self, _events: &[NodeEvent]) {}

    /// Returns whether [`Observer::nodes`] wants to be told.
    fn watches_nodes(&self) -> bool {
        false
    }

    /// After every round of nodes. `false` ends the search as an interrupt does.
    fn progress(&self, _progress: &Progress) -> bool {
        true
    }
}

/// Path and interval for writing the state of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The state file. The one before is replaced by a rename, so that a valid one is there at any
    /// moment.
    pub path: PathBuf,
    /// Seconds between two of them, taken at the next end of a round.
    pub seconds: f64,
}

/// Observers and files of a search.
#[derive(Clone, Default)]
pub struct Control {
    /// Told of solutions and progress.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Counts of the search's parts are added here.
    pub statistics: Option<Arc<Statistics>>,
    /// Destination of the state, written on a timer and at the end of the search, however it ends.
    pub checkpoint: Option<Checkpoint>,
    /// A state file to go on from, written for the same model.
    pub resume: Option<PathBuf>,
    /// The folder in which the search makes one of its own for node files, when open nodes need
    /// more memory than allowed.
    pub node_files: Option<PathBuf>,
    /// Destination of a proof that others can check (VIPR 1.1). Restricts the search to what can be
    /// proven there.
    pub certificate: Option<PathBuf>,
}
