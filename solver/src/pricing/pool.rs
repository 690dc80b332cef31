//! Columns and rows that were found once, to be brought back without being searched for.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Items in the order they came in, each once. Beyond the limit the older half is forgotten: whatever a linear program
/// or a snapshot still uses lives on there.
#[derive(Clone, Debug)]
pub(crate) struct Pool<T> {
    items: Vec<Arc<T>>,
    known: BTreeSet<Arc<T>>,
    limit: usize,
}

impl<T: Ord> Pool<T> {
    pub fn new(limit: usize) -> Self {
        Pool {
            items: Vec::new(),
            known: BTreeSet::new(),
            limit: limit.max(2),
        }
    }

    pub fn items(&self) -> &[Arc<T>] {
        &self.items
    }

    pub fn contains(&self, item: &T) -> bool {
        self.known.contains(item)
    }

    /// Whether it was new.
    pub fn add(&mut self, item: Arc<T>) -> bool {
        if !self.known.insert(item.clone()) {
            return false;
        }
        self.items.push(item);
        if self.items.len() > self.limit {
            let half = self.items.len() / 2;
            for old in self.items.drain(..half) {
                self.known.remove(&old);
            }
        }
        true
    }

    pub fn clear(&mut self) {
        self.items.clear();
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_keeps_each_item_once_and_the_younger_ones() {
        let mut pool = Pool::new(4);
        for k in [1, 2, 2, 3, 4] {
            pool.add(Arc::new(k));
        }
        assert_eq!(pool.items().len(), 4);
        assert!(!pool.add(Arc::new(1)));
        assert!(pool.add(Arc::new(5)));
        let left: Vec<i32> = pool.items().iter().map(|k| **k).collect();
        assert_eq!(left, [3, 4, 5]);
        assert!(!pool.contains(&1) && pool.contains(&5));
    }
}
