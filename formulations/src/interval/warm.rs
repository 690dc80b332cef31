//! What is taken along from one node of a tree to those below it.

use super::Program;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a relaxation rests on: rows with duals, basic intervals. A node that is far from the one that was solved before it has
/// few of its rows in the restricted program any more; to find them again takes longer than the rest of its work.
pub(super) struct Warm<P: Program> {
    pub rows: Vec<Arc<P::Row>>,
    pub columns: Vec<P::Column>,
}

impl<P: Program> Default for Warm<P> {
    fn default() -> Self {
        Warm {
            rows: Vec::new(),
            columns: Vec::new(),
        }
    }
}

/// Rows that several nodes rest on, each once.
pub(super) struct RowPool<R>(BTreeSet<Arc<R>>);

impl<R> Default for RowPool<R> {
    fn default() -> Self {
        RowPool(BTreeSet::new())
    }
}

impl<R: Ord> RowPool<R> {
    /// The rows as they are in the pool, where they come if they are new.
    pub fn share(&mut self, rows: Vec<R>) -> Vec<Arc<R>> {
        let mut share = |row: R| match self.0.get(&row) {
            Some(known) => known.clone(),
            None => {
                let row = Arc::new(row);
                self.0.insert(row.clone());
                row
            }
        };
        rows.into_iter().map(&mut share).collect()
    }

    /// Drops what nobody holds any more.
    pub fn forget(&mut self) {
        self.0.retain(|row| Arc::strong_count(row) > 1);
    }
}
