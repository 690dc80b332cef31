//! Lower bounds on the height that need no search.

use super::problem::{PlaceProblem, align, gcd};
use remat_instances::place::{Lives, Piece};

/// A bound with the place that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Buffers live at this moment, one above the other.
    Stack { time: u64 },
    /// The end of a fixed buffer, by position.
    Fixed { buffer: usize },
}

/// The largest bound by stacks and fixed buffers, in bytes; `None` if no buffer is in use.
///
/// A stack of buffers whose alignments have a common divisor takes their sizes rounded up to it,
/// but for the one on top.
pub(super) fn shown(lives: &Lives) -> Option<(u64, Shown)> {
    let buffers = lives.buffers();
    let has_windows = buffers.iter().any(|buffer| buffer.has_windows());
    let common = match has_windows {
        true => 1,
        false => buffers
            .iter()
            .fold(0, |divisor, buffer| gcd(divisor, buffer.alignment))
            .max(1),
    };
    let mut changes: Vec<(u64, bool, u64, u64)> = Vec::new();
    for buffer in buffers {
        for Piece {
            lower,
            upper,
            start,
            end,
        } in buffer.pieces()
        {
            let bytes = align(end - start, common);
            let excess = bytes - (end - start);
            changes.push((lower, true, bytes, excess));
            changes.push((upper, false, bytes, excess));
        }
    }
    changes.sort_unstable();
    let mut best: Option<(u64, Shown)> = None;
    let mut offer = |bytes: u64, shown: Shown| {
        if best.is_none_or(|(most, _)| bytes > most) {
            best = Some((bytes, shown));
        }
    };
    let mut load = 0;
    let mut excesses = std::collections::BTreeMap::new();
    for (time, begins, bytes, excess) in changes {
        if begins {
            load += bytes;
            *excesses.entry(excess).or_insert(0u32) += 1;
            let top = excesses.last_key_value().map_or(0, |(excess, _)| *excess);
            offer(load - top, Shown::Stack { time });
        } else {
            load -= bytes;
            if let Some(count) = excesses.get_mut(&excess) {
                *count -= 1;
                if *count == 0 {
                    excesses.remove(&excess);
                }
            }
        }
    }
    for (index, buffer) in buffers.iter().enumerate() {
        if let Some(offset) = buffer.offset
            && let Some(end) = buffer.pieces().iter().map(|piece| piece.end).max()
        {
            offer(offset + end, Shown::Fixed { buffer: index });
        }
    }
    best
}

/// Limit on sums times sizes that are counted; the checker has the same limit.
const SUM_STEPS_LIMIT: u64 = 1 << 34;

/// Heights that a lowest placement may have.
///
/// A placement that is pushed down has its top at the end of a chain of buffers, each on another or
/// on the floor. Without alignments and fixed offsets the height is a sum of sizes.
pub(super) struct Heights {
    unit: u64,
    /// Sums of sizes in units, a bit each; empty if they are not known.
    sums: Vec<u64>,
    /// Ends that items can have: remainder and divisor in bytes.
    ends: Vec<(u64, u64)>,
    /// Ends of fixed items in bytes, ascending.
    fixed: Vec<u64>,
}

impl Heights {
    /// The heights of a problem; sums are known up to `sums_limit` units.
    pub fn new(problem: &PlaceProblem, sums_limit: u64) -> Self {
        let unit = problem.unit;
        let items = &problem.items;
        let total: u64 = items.iter().map(|item| item.size).sum();
        let is_plain = items
            .iter()
            .all(|item| item.alignment == 1 && item.fixed.is_none() && item.excess == 0);
        let mut sums = Vec::new();
        let steps = total.saturating_mul(items.len() as u64);
        if is_plain && total <= sums_limit && steps <= SUM_STEPS_LIMIT {
            sums = vec![0u64; total as usize / 64 + 1];
            sums[0] = 1;
            let mut sizes: Vec<u64> = items.iter().map(|item| item.size).collect();
            sizes.sort_unstable();
            for size in sizes {
                add_shifted(&mut sums, size as usize);
            }
        }
        let bytes = |size: u64, excess: u64| size * unit - excess;
        let free = items.iter().filter(|item| item.fixed.is_none());
        let mut ends: Vec<(u64, u64)> = free
            .map(|item| {
                let divisor = item.alignment * unit;
                (bytes(item.size, item.excess) % divisor, divisor)
            })
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let ends_of_fixed = items.iter().filter_map(|item| {
            item.fixed
                .map(|offset| offset * unit + bytes(item.size, item.excess))
        });
        let mut fixed: Vec<u64> = ends_of_fixed.collect();
        fixed.sort_unstable();
        Heights {
            unit,
            sums,
            ends,
            fixed,
        }
    }

    /// Returns whether sums of sizes are known.
    pub fn has_sums(&self) -> bool {
        !self.sums.is_empty()
    }

    /// The least height that is at least `bytes`; `bytes` itself if there is no such height.
    pub fn from(&self, bytes: u64) -> u64 {
        if self.has_sums() {
            let mut sum = bytes.div_ceil(self.unit);
            while (sum as usize / 64) < self.sums.len() {
                let word = self.sums[sum as usize / 64] >> (sum % 64);
                if word != 0 {
                    return (sum + u64::from(word.trailing_zeros())) * self.unit;
                }
                sum = (sum / 64 + 1) * 64;
            }
            return bytes;
        }
        let free = self
            .ends
            .iter()
            .map(|&(remainder, divisor)| bytes + (remainder + divisor - bytes % divisor) % divisor);
        let fixed = self.fixed.iter().copied().filter(|&end| end >= bytes);
        free.chain(fixed).min().unwrap_or(bytes)
    }
}

/// Adds the sums that have one size more.
fn add_shifted(sums: &mut [u64], size: usize) {
    let (words, bits) = (size / 64, size % 64);
    for k in (words..sums.len()).rev() {
        let mut shifted = sums[k - words] << bits;
        if bits > 0 && k > words {
            shifted |= sums[k - words - 1] >> (64 - bits);
        }
        sums[k] |= shifted;
    }
}
