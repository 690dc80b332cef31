//! Predecessors and successors of nodes, direct and indirect.

use super::{Instance, NodeId};

/// Largest number of nodes for which predecessors and successors are computed, in two tables of
/// `nodes^2 / 8` bytes.
const NODE_LIMIT: usize = 5_000;

/// Predecessors and successors of each node, as bits: the nodes whose first computation comes
/// before, or behind, in every plan.
pub struct Reach {
    words: usize,
    before: Vec<u64>,
    behind: Vec<u64>,
}

impl Reach {
    /// The tables of an instance, in time of the order of nodes times edges; `None` for more than
    /// 5,000 nodes.
    pub fn of(instance: &Instance) -> Option<Self> {
        let n = instance.len();
        if n > NODE_LIMIT {
            return None;
        }
        let words = n.div_ceil(64);
        let (mut before, mut behind) = (vec![0; n * words], vec![0; n * words]);
        let row = |i: usize| i * words..(i + 1) * words;
        for id in instance.ids() {
            for need in instance.needs(id) {
                join(&mut before, row(id.index()), row(need.index()), *need);
            }
        }
        for id in instance.ids().rev() {
            for user in instance.users(id) {
                join(&mut behind, row(id.index()), row(user.index()), *user);
            }
        }
        Some(Reach {
            words,
            before,
            behind,
        })
    }

    /// Returns whether one node is a predecessor of another.
    pub fn is_before(&self, first: NodeId, second: NodeId) -> bool {
        let at = first.index() * self.words + second.index() / 64;
        self.behind[at] >> (second.index() % 64) & 1 != 0
    }

    /// Predecessors of a node, ascending.
    pub fn before(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let at = id.index() * self.words;
        let words = self.before[at..at + self.words].iter().enumerate();
        words.flat_map(|(k, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 != 0);
            bits.map(move |bit| NodeId::from(64 * k + bit))
        })
    }
}

/// Adds another row and its node to a row.
fn join(
    bits: &mut [u64],
    row: std::ops::Range<usize>,
    other: std::ops::Range<usize>,
    node: NodeId,
) {
    for (to, from) in row.clone().zip(other) {
        bits[to] |= bits[from];
    }
    bits[row.start + node.index() / 64] |= 1 << (node.index() % 64);
}
