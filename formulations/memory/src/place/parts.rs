//! Parts that can be placed one by one. Lives are split at moments without buffers in use, and
//! buffers that are live together with all others lie on the floor.

use super::problem::gcd;
use remat_instances::place::Lives;

/// Buffers that are placed together, above some that lie on the floor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BufferGroup {
    /// Positions of the buffers, ascending.
    pub buffers: Vec<u32>,
    /// Positions of the buffers beneath, in their order from the floor.
    pub base: Vec<u32>,
    /// Sum of the sizes of the base in bytes.
    pub base_bytes: u64,
}

/// Splits buffers into parts; buffers that are never in use belong to no part.
///
/// A buffer that is live together with all others of its part can be moved to the floor. All others
/// are above or below it, and the ones below make room. Without it the part may split again.
pub(super) fn split(lives: &Lives) -> Vec<BufferGroup> {
    let is_used = |index: &u32| !lives.buffers()[*index as usize].pieces().is_empty();
    let buffers: Vec<u32> = (0..lives.buffers().len() as u32).filter(is_used).collect();
    let mut done = Vec::new();
    let mut open = vec![BufferGroup {
        buffers,
        base: Vec::new(),
        base_bytes: 0,
    }];
    while let Some(part) = open.pop() {
        for buffers in components(lives, &part.buffers) {
            let mut piece = BufferGroup {
                buffers,
                ..part.clone()
            };
            let floor = match piece.buffers.len() > 1 && is_plain(lives, &piece.buffers) {
                true => live_with_all(lives, &piece.buffers),
                false => Vec::new(),
            };
            if floor.is_empty() || floor.len() == piece.buffers.len() {
                done.push(piece);
                continue;
            }
            piece
                .buffers
                .retain(|index| floor.binary_search(index).is_err());
            let sizes = floor
                .iter()
                .map(|&index| lives.buffers()[index as usize].size);
            piece.base_bytes += sizes.sum::<u64>();
            piece.base.extend(floor);
            open.push(piece);
        }
    }
    done.sort_by(|a, b| a.buffers.cmp(&b.buffers));
    done
}

/// Returns whether buffers may lie one above the other in any order: they have no gaps and no fixed
/// offsets, and their sizes keep every alignment.
fn is_plain(lives: &Lives, buffers: &[u32]) -> bool {
    let of = |&index: &u32| &lives.buffers()[index as usize];
    let sizes = buffers
        .iter()
        .fold(0, |divisor, index| gcd(divisor, of(index).size));
    buffers.iter().all(|index| {
        let buffer = of(index);
        buffer.gaps.is_empty() && buffer.offset.is_none() && sizes.is_multiple_of(buffer.alignment)
    })
}

/// Groups of buffers such that no two of different groups are live together, each ascending.
fn components(lives: &Lives, buffers: &[u32]) -> Vec<Vec<u32>> {
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (position, &index) in buffers.iter().enumerate() {
        for piece in lives.buffers()[index as usize].pieces() {
            changes.push((piece.lower, true, position));
            changes.push((piece.upper, false, position));
        }
    }
    changes.sort_unstable();
    let mut groups = Groups((0..buffers.len()).collect());
    let mut live = std::collections::BTreeSet::new();
    for (_, begins, position) in changes {
        if begins {
            if let Some(&other) = live.first() {
                groups.join(position, other);
            }
            live.insert(position);
        } else {
            live.remove(&position);
        }
    }
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); buffers.len()];
    for (position, &index) in buffers.iter().enumerate() {
        lists[groups.root(position)].push(index);
    }
    lists.retain(|list| !list.is_empty());
    lists
}

/// Disjoint sets: the parent of each member.
struct Groups(Vec<usize>);

impl Groups {
    fn root(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// The buffers that are live together with each other one. Buffers have no gaps here.
fn live_with_all(lives: &Lives, buffers: &[u32]) -> Vec<u32> {
    let life = |index: &u32| {
        let buffer = &lives.buffers()[*index as usize];
        (buffer.lower, buffer.upper)
    };
    let first_end = buffers.iter().map(|index| life(index).1).min().unwrap_or(0);
    let last_begin = buffers.iter().map(|index| life(index).0).max().unwrap_or(0);
    let is_all = |index: &&u32| {
        let (lower, upper) = life(index);
        lower < first_end && last_begin < upper
    };
    buffers.iter().filter(is_all).copied().collect()
}
