//! Exact search for buffers with windows, by differences of offsets.
//!
//! A buffer with a part in use in a gap is no rectangle: others may lie beside that part above and
//! below its offset. For two buffers, the clashing differences of their offsets are a few ranges,
//! and the ranges between are allowed. The search keeps bounds on offsets. If all lowest offsets
//! together are no placement, it branches on the allowed ranges of two buffers that clash. It is
//! meant for few buffers, because it uses no bounds by stacks.

use super::problem::{align, gcd};
use super::search::LaneStop;
use remat_instances::place::{Lives, Piece};

/// Answer at a height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WindowVerdict {
    /// Offsets in bytes.
    Fits(Vec<u64>),
    /// There is no placement.
    Refuted,
    /// Nodes are spent, or the search was stopped.
    Open,
}

/// Two buffers and the allowed differences of their offsets, second less first.
struct Pair {
    first: usize,
    second: usize,
    /// Allowed ranges, ascending, ends included.
    ranges: Vec<(i64, i64)>,
}

/// Buffers with windows, ready to be searched.
pub(super) struct Windows {
    pairs: Vec<Pair>,
    /// Largest end, alignment and fixed offset of each buffer.
    ends: Vec<i64>,
    alignments: Vec<u64>,
    fixed: Vec<Option<i64>>,
    /// Heights of lowest placements are multiples of this unit.
    pub unit: u64,
    pub nodes: u64,
}

const FAR: i64 = i64::MAX / 4;

/// Bounds on offsets, and for each pair the first and the last allowed range that is left.
#[derive(Clone)]
struct WindowBounds {
    lowest: Vec<i64>,
    highest: Vec<i64>,
    left: Vec<(u32, u32)>,
}

impl Windows {
    pub fn new(lives: &Lives) -> Self {
        let buffers = lives.buffers();
        let pieces: Vec<Vec<Piece>> = buffers.iter().map(|buffer| buffer.pieces()).collect();
        let mut pairs = Vec::new();
        for second in 0..buffers.len() {
            for first in 0..second {
                let ranges = allowed(&pieces[first], &pieces[second]);
                if ranges.len() > 1 {
                    pairs.push(Pair {
                        first,
                        second,
                        ranges,
                    });
                }
            }
        }
        let end = |pieces: &Vec<Piece>| pieces.iter().map(|p| p.end).max().unwrap_or(0) as i64;
        let mut unit = 0;
        for (buffer, pieces) in buffers.iter().zip(&pieces) {
            let numbers = pieces.iter().flat_map(|piece| [piece.start, piece.end]);
            unit = numbers.fold(unit, gcd);
            // Offsets that are aligned add no finer heights than their alignment.
            let alignment = if buffer.alignment > 1 {
                buffer.alignment
            } else {
                0
            };
            unit = gcd(gcd(unit, alignment), buffer.offset.unwrap_or(0));
        }
        Windows {
            pairs,
            ends: pieces.iter().map(end).collect(),
            alignments: buffers.iter().map(|buffer| buffer.alignment).collect(),
            fixed: buffers
                .iter()
                .map(|b| b.offset.map(|offset| offset as i64))
                .collect(),
            unit: unit.max(1),
            nodes: 0,
        }
    }

    /// Searches at a height in bytes, for so many nodes at most.
    pub fn decide(&mut self, height: u64, nodes: u64, stop: &LaneStop<'_>) -> WindowVerdict {
        let count = self.ends.len();
        let mut root = WindowBounds {
            lowest: self.fixed.iter().map(|fixed| fixed.unwrap_or(0)).collect(),
            highest: Vec::with_capacity(count),
            left: self
                .pairs
                .iter()
                .map(|pair| (0, pair.ranges.len() as u32 - 1))
                .collect(),
        };
        for k in 0..count {
            let room = height as i64 - self.ends[k];
            let highest = match self.fixed[k] {
                Some(fixed) if fixed <= room => fixed,
                None if room >= 0 => room - room % self.alignments[k] as i64,
                _ => return WindowVerdict::Refuted,
            };
            root.highest.push(highest);
        }
        let end = self.nodes.saturating_add(nodes);
        let mut open = vec![root];
        while let Some(mut bounds) = open.pop() {
            if self.nodes >= end || self.nodes.is_multiple_of(LaneStop::NODES) && stop.is_due() {
                return WindowVerdict::Open;
            }
            self.nodes += 1;
            if !self.tighten(&mut bounds) {
                continue;
            }
            let Some(clash) = self.clash(&bounds) else {
                return WindowVerdict::Fits(bounds.lowest.iter().map(|&o| o as u64).collect());
            };
            let (first, last) = bounds.left[clash];
            // The range that moves buffers least comes first, so it is pushed last.
            let difference = |bounds: &WindowBounds| {
                let pair = &self.pairs[clash];
                bounds.lowest[pair.second] - bounds.lowest[pair.first]
            };
            let now = difference(&bounds);
            let mut choices: Vec<u32> = (first..=last).collect();
            choices.sort_by_key(|&range| {
                let (low, high) = self.pairs[clash].ranges[range as usize];
                std::cmp::Reverse((low - now).max(now - high).max(0))
            });
            for range in choices {
                let mut child = bounds.clone();
                child.left[clash] = (range, range);
                open.push(child);
            }
        }
        WindowVerdict::Refuted
    }

    /// Propagates the bounds; false if there is no placement within them.
    fn tighten(&self, bounds: &mut WindowBounds) -> bool {
        loop {
            let mut changed = false;
            for (pair, left) in self.pairs.iter().zip(&mut bounds.left) {
                let (i, j) = (pair.first, pair.second);
                let least = bounds.lowest[j] - bounds.highest[i];
                let most = bounds.highest[j] - bounds.lowest[i];
                while left.0 < left.1 && pair.ranges[left.0 as usize].1 < least {
                    left.0 += 1;
                }
                while left.0 < left.1 && pair.ranges[left.1 as usize].0 > most {
                    left.1 -= 1;
                }
                let (low, high) = (
                    pair.ranges[left.0 as usize].0,
                    pair.ranges[left.1 as usize].1,
                );
                if low > most || high < least {
                    return false;
                }
                let above = bounds.lowest[i].saturating_add(low);
                let below = bounds.lowest[j].saturating_sub(high);
                for (k, offset) in [(j, above), (i, below)] {
                    if offset > bounds.lowest[k] {
                        bounds.lowest[k] = align(offset as u64, self.alignments[k]) as i64;
                        changed = true;
                    }
                }
                let above = bounds.highest[j].saturating_sub(low);
                let below = bounds.highest[i].saturating_add(high);
                for (k, offset) in [(i, above), (j, below)] {
                    if offset < bounds.highest[k] {
                        if offset < 0 {
                            return false;
                        }
                        bounds.highest[k] = offset - offset % self.alignments[k] as i64;
                        changed = true;
                    }
                }
                if bounds.lowest[i] > bounds.highest[i] || bounds.lowest[j] > bounds.highest[j] {
                    return false;
                }
            }
            if !changed {
                return true;
            }
        }
    }

    /// A pair that clashes if every buffer has its lowest offset.
    fn clash(&self, bounds: &WindowBounds) -> Option<usize> {
        self.pairs
            .iter()
            .zip(&bounds.left)
            .position(|(pair, left)| {
                let difference = bounds.lowest[pair.second] - bounds.lowest[pair.first];
                let ranges = &pair.ranges[left.0 as usize..=left.1 as usize];
                !ranges
                    .iter()
                    .any(|&(low, high)| (low..=high).contains(&difference))
            })
    }
}

/// The differences of the offsets of two buffers, second less first, that do not clash.
fn allowed(first: &[Piece], second: &[Piece]) -> Vec<(i64, i64)> {
    let mut clashes: Vec<(i64, i64)> = Vec::new();
    for a in first {
        for b in second {
            if a.lower < b.upper && b.lower < a.upper {
                // Differences that clash, ends excluded.
                clashes.push((a.start as i64 - b.end as i64, a.end as i64 - b.start as i64));
            }
        }
    }
    clashes.sort_unstable();
    let mut ranges = Vec::new();
    let mut from = -FAR;
    for (low, high) in clashes {
        if low >= from {
            ranges.push((from, low));
        }
        from = from.max(high);
    }
    ranges.push((from, FAR));
    ranges
}
