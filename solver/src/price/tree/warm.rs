//! Warm starts: the rows and basis that a node takes over from its parent.

use crate::price::Program;
use crate::price::master::Basics;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rows and the basis of a solved relaxation. The restricted master has lost most of a node's
/// rows if the node is far from the one solved before it. Restoring the basis of its parent lets it
/// start where the parent ended.
pub(in crate::price) struct Warm<P: Program> {
    /// Rows with duals in its best bound.
    pub priced: Vec<Arc<P::Row>>,
    pub basis: Basics<P>,
}

/// Rows of the warm starts of several nodes, each row once.
pub(super) struct RowPool<P: Program>(BTreeSet<Arc<P::Row>>);

impl<P: Program> Default for RowPool<P> {
    fn default() -> Self {
        RowPool(BTreeSet::new())
    }
}

impl<P: Program> RowPool<P> {
    /// Replaces the rows of a warm start by those in the pool. New rows are added to the pool.
    pub fn share(&mut self, mut warm: Warm<P>) -> Warm<P> {
        for row in warm.priced.iter_mut().chain(&mut warm.basis.tight) {
            match self.0.get(row) {
                Some(known) => *row = known.clone(),
                None => {
                    self.0.insert(row.clone());
                }
            }
        }
        warm
    }

    /// Drops the rows that no warm start uses any more.
    pub fn forget(&mut self) {
        self.0.retain(|row| Arc::strong_count(row) > 1);
    }
}
