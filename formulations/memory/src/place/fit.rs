//! Placing buffers one by one in an order: first fit and best fit, with every option.

use super::problem::{Lists, align};
use remat_instances::place::{Buffer, Lives, Piece};

/// Choice among the places that are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The lowest.
    First,
    /// The one that leaves the least free above; the lowest of these.
    Best,
}

/// Buffers with the buffers that clash with each, ready to be placed in many orders.
pub(super) struct Fitter<'l> {
    pub lives: &'l Lives,
    /// Rectangles of each buffer.
    pieces: Lists<Piece>,
    /// Buffers that share a moment with each.
    pub neighbours: Lists<u32>,
}

/// Offset of an unplaced buffer.
const UNPLACED: u64 = u64::MAX;

impl<'l> Fitter<'l> {
    /// The buffers; `None` if more than `pairs_limit` pairs of them are live together.
    pub fn new(lives: &'l Lives, pairs_limit: usize) -> Option<Self> {
        let mut pieces = Lists::new();
        let mut changes: Vec<(u64, bool, u32)> = Vec::new();
        for (index, buffer) in lives.buffers().iter().enumerate() {
            let list = buffer.pieces();
            for piece in &list {
                changes.push((piece.lower, true, index as u32));
                changes.push((piece.upper, false, index as u32));
            }
            pieces.push(list);
        }
        changes.sort_unstable();
        let mut neighbours = vec![Vec::new(); lives.buffers().len()];
        let mut live: Vec<u32> = Vec::new();
        let mut pairs = 0;
        for (_, begins, index) in changes {
            if !begins {
                live.retain(|&other| other != index);
                continue;
            }
            for &other in &live {
                neighbours[other as usize].push(index);
                neighbours[index as usize].push(other);
            }
            pairs += live.len();
            if pairs > pairs_limit {
                return None;
            }
            live.push(index);
        }
        let mut lists = Lists::new();
        for mut list in neighbours {
            list.sort_unstable();
            list.dedup();
            lists.push(list);
        }
        Some(Fitter {
            lives,
            pieces,
            neighbours: lists,
        })
    }

    /// Places the fixed buffers, then the others in an order.
    pub fn place(&self, order: &[u32], rule: Rule) -> Vec<u64> {
        let buffers = self.lives.buffers();
        let offset = |buffer: &Buffer| buffer.offset.unwrap_or(UNPLACED);
        let mut offsets: Vec<u64> = buffers.iter().map(offset).collect();
        let mut taken = Vec::new();
        for &index in order {
            let index = index as usize;
            if buffers[index].offset.is_some() {
                continue;
            }
            self.taken(index, &offsets, &mut taken);
            offsets[index] = self.choose(index, &taken, rule);
        }
        offsets
    }

    /// Offsets that a buffer cannot have, as ranges from a first to a last one, ascending.
    fn taken(&self, index: usize, offsets: &[u64], taken: &mut Vec<(u64, u64)>) {
        taken.clear();
        let mine = self.pieces.list(index);
        for &other in self.neighbours.list(index) {
            let other = other as usize;
            let offset = offsets[other];
            if offset == UNPLACED {
                continue;
            }
            for theirs in self.pieces.list(other) {
                for piece in mine {
                    if piece.lower >= theirs.upper || theirs.lower >= piece.upper {
                        continue;
                    }
                    // A buffer that ends where the other begins does not clash.
                    if offset + theirs.end <= piece.start {
                        continue;
                    }
                    let from = (offset + theirs.start + 1).saturating_sub(piece.end);
                    let to = offset + theirs.end - 1 - piece.start;
                    taken.push((from, to));
                }
            }
        }
        taken.sort_unstable();
    }

    fn choose(&self, index: usize, taken: &[(u64, u64)], rule: Rule) -> u64 {
        let buffer = &self.lives.buffers()[index];
        let mut best = None;
        let mut offset = 0;
        for &(from, to) in taken {
            if from > offset {
                if rule == Rule::First {
                    return offset;
                }
                let left = from - offset;
                if best.is_none_or(|(least, _)| left < least) {
                    best = Some((left, offset));
                }
            }
            if to >= offset {
                offset = align(to + 1, buffer.alignment);
            }
        }
        best.map_or(offset, |(_, offset)| offset)
    }

    /// Largest end of a buffer in use.
    pub fn height(&self, offsets: &[u64]) -> u64 {
        let end = |index: usize| self.pieces.list(index).iter().map(|piece| piece.end).max();
        let tops = (0..offsets.len()).filter_map(|k| end(k).map(|end| offsets[k] + end));
        tops.max().unwrap_or(0)
    }

    /// Buffers on stacks that reach the top: buffers that end there, and buffers that support them.
    pub fn critical(&self, offsets: &[u64], height: u64) -> Vec<u32> {
        let mut is_critical = vec![false; offsets.len()];
        let mut critical: Vec<u32> = Vec::new();
        let end = |k: usize| self.pieces.list(k).iter().map(|p| p.end).max().unwrap_or(0);
        for k in 0..offsets.len() {
            if end(k) > 0 && offsets[k] + end(k) == height {
                is_critical[k] = true;
                critical.push(k as u32);
            }
        }
        let mut next = 0;
        while next < critical.len() {
            let k = critical[next] as usize;
            next += 1;
            if self.lives.buffers()[k].offset.is_some() {
                continue;
            }
            let alignment = self.lives.buffers()[k].alignment;
            for &other in self.neighbours.list(k) {
                let o = other as usize;
                if !is_critical[o] && align(offsets[o] + end(o), alignment) == offsets[k] {
                    is_critical[o] = true;
                    critical.push(other);
                }
            }
        }
        critical
    }
}
