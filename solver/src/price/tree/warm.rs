//! Warm starts: the rows and basis that a node takes over from its parent.

use crate::price::Program;
use crate::price::master::Basics;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rows and the basis that a relaxation rests on. A node that is far from the one that was
/// solved before it has few of its rows in the restricted master any more: where the basis of its
/// parent is put together again, it begins where that one ended.
pub(in crate::price) struct Warm<P: Program> {
    /// Rows with duals in its best bound.
    pub priced: Vec<Arc<P::Row>>,
    pub basis: Basics<P>,
}

/// Rows that several nodes rest on, each once.
pub(super) struct RowPool<P: Program>(BTreeSet<Arc<P::Row>>);

impl<P: Program> Default for RowPool<P> {
    fn default() -> Self {
        RowPool(BTreeSet::new())
    }
}

impl<P: Program> RowPool<P> {
    /// The same with rows as they are in the pool, where they come if they are new.
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

    /// Drops what nobody holds any more.
    pub fn forget(&mut self) {
        self.0.retain(|row| Arc::strong_count(row) > 1);
    }
}
