//! The queue of open nodes.

use super::TreeNode;
use crate::mip::extend::{NodeSelector, NodeSummary};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Total order of keys; NaN last.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NodeKey(f64);

impl Eq for NodeKey {}
impl PartialOrd for NodeKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for NodeKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Open nodes, by bound and by the order of a [`NodeSelector`].
pub(crate) struct NodeQueue {
    selector: Arc<dyn NodeSelector>,
    /// [`Problem::scale`](crate::mip::problem::Problem::scale).
    scale: f64,
    nodes: BTreeMap<u64, (TreeNode, f64)>,
    /// Ties go to the younger node: on a plateau of the objective the search then goes down.
    by_key: BTreeSet<(NodeKey, Reverse<u64>)>,
    by_bound: BTreeSet<(NodeKey, u64)>,
    picks: u64,
    bytes: u64,
}

impl NodeQueue {
    pub fn new(selector: Arc<dyn NodeSelector>, scale: f64) -> Self {
        NodeQueue {
            selector,
            scale,
            nodes: BTreeMap::new(),
            by_key: BTreeSet::new(),
            by_bound: BTreeSet::new(),
            picks: 0,
            bytes: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The smallest bound of an open node.
    pub fn lowest_bound(&self) -> Option<f64> {
        self.by_bound.first().map(|k| k.0.0)
    }

    pub fn push(&mut self, node: TreeNode) {
        let key = self.selector.key(&NodeSummary {
            bound: node.bound / self.scale,
            estimate: node.estimate / self.scale,
            depth: node.depth,
            id: node.id,
        });
        self.bytes += node.bytes();
        self.by_key.insert((NodeKey(key), Reverse(node.id)));
        self.by_bound.insert((NodeKey(node.bound), node.id));
        let before = self.nodes.insert(node.id, (node, key));
        debug_assert!(before.is_none(), "two open nodes have the same number");
    }

    fn remove(&mut self, id: u64) -> Option<TreeNode> {
        let (node, key) = self.nodes.remove(&id)?;
        self.by_key.remove(&(NodeKey(key), Reverse(id)));
        self.by_bound.remove(&(NodeKey(node.bound), id));
        self.bytes -= node.bytes();
        Some(node)
    }

    /// Approximate memory of the nodes, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the nodes with the largest keys until at most `bytes` (or a single node) remain.
    pub fn take_last(&mut self, bytes: u64) -> Vec<TreeNode> {
        let mut taken = Vec::new();
        while self.bytes > bytes && self.nodes.len() > 1 {
            let Some(&(_, Reverse(id))) = self.by_key.last() else {
                break;
            };
            let Some(node) = self.remove(id) else { break };
            taken.push(node);
        }
        taken
    }

    /// Every open node, ordered by number.
    pub fn iter(&self) -> impl Iterator<Item = &TreeNode> {
        self.nodes.values().map(|n| &n.0)
    }

    pub fn picks(&self) -> u64 {
        self.picks
    }

    pub fn set_picks(&mut self, picks: u64) {
        self.picks = picks;
    }

    /// Takes the next node; periodically the one with the smallest bound.
    pub fn pop(&mut self) -> Option<TreeNode> {
        self.picks += 1;
        let period = self.selector.best_bound_period();
        let by_bound = period > 0 && self.picks.is_multiple_of(period);
        let id = if by_bound {
            self.by_bound.first()?.1
        } else {
            self.by_key.first()?.1.0
        };
        self.remove(id)
    }

    /// Drops every node whose bound reaches the cutoff; returns the smallest bound among them.
    pub fn prune(&mut self, cutoff: f64) -> f64 {
        let mut least = f64::INFINITY;
        while let Some(&(bound, id)) = self.by_bound.last() {
            if bound.0 < cutoff {
                break;
            }
            least = least.min(bound.0);
            self.remove(id);
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::extend::{BestBound, DepthFirst};

    fn node(id: u64, bound: f64, depth: u32) -> TreeNode {
        TreeNode {
            id,
            depth,
            bound,
            estimate: bound,
            path: None,
            basis: None,
            branched: None,
        }
    }

    #[test]
    fn selectors_order_the_queue_and_pruning_drops_the_rest() {
        let fill = |q: &mut NodeQueue| {
            for n in [
                node(0, 3.0, 1),
                node(1, 1.0, 2),
                node(2, 2.0, 5),
                node(3, 9.0, 0),
            ] {
                q.push(n);
            }
        };
        let mut q = NodeQueue::new(Arc::new(BestBound), 1.0);
        fill(&mut q);
        assert_eq!(q.prune(5.0), 9.0);
        assert_eq!(q.lowest_bound(), Some(1.0));
        let order: Vec<u64> = std::iter::from_fn(|| q.pop()).map(|n| n.id).collect();
        assert_eq!(order, [1, 2, 0]);
        let mut q = NodeQueue::new(Arc::new(DepthFirst), 1.0);
        fill(&mut q);
        assert_eq!(q.pop().map(|n| n.id), Some(2));
    }
}
