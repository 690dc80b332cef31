//! Open nodes of the tree.

use super::domain::Pricer;
use super::master::Snapshot;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node: the branching rows above it, and the basis its parent ended with.
#[derive(Clone, Debug)]
pub(crate) struct Node<C, R> {
    pub id: u64,
    pub depth: u32,
    /// Proven lower bound.
    pub bound: f64,
    pub branchings: Vec<Arc<R>>,
    pub basis: Option<Arc<Snapshot<C, R>>>,
}

/// A node of a domain's tree.
pub(crate) type NodeOf<D> = Node<<D as Pricer>::Column, <D as Pricer>::Row>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Key(f64, u64);

impl Eq for Key {}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

/// Open nodes by bound; where bounds are equal, as they often are, the youngest first: solutions are deep.
#[derive(Clone, Debug)]
pub(crate) struct Queue<C, R> {
    nodes: BTreeMap<Key, Node<C, R>>,
}

impl<C, R> Queue<C, R> {
    pub fn new() -> Self {
        Queue {
            nodes: BTreeMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn push(&mut self, node: Node<C, R>) {
        self.nodes.insert(Key(node.bound, node.id), node);
    }

    pub fn pop(&mut self) -> Option<Node<C, R>> {
        self.nodes.pop_first().map(|e| e.1)
    }

    pub fn lowest_bound(&self) -> Option<f64> {
        self.nodes.first_key_value().map(|e| e.0.0)
    }

    /// Drops every node whose bound reaches the cutoff.
    pub fn prune(&mut self, cutoff: f64) {
        while let Some(last) = self.nodes.last_entry() {
            if last.key().0 < cutoff {
                break;
            }
            last.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_bound_comes_first_and_closed_nodes_go() {
        let mut queue: Queue<u8, u8> = Queue::new();
        for (id, bound) in [(0, 3.0), (1, 1.0), (2, 1.0), (3, 7.0)] {
            queue.push(Node {
                id,
                depth: 0,
                bound,
                branchings: Vec::new(),
                basis: None,
            });
        }
        queue.prune(7.0);
        assert_eq!(queue.lowest_bound(), Some(1.0));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|n| n.id).collect();
        assert_eq!(order, [2, 1, 0]);
    }
}
