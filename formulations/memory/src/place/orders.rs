//! Orders in which buffers are placed one by one.

use remat_instances::place::Lives;
use std::cmp::Reverse;

/// A known order of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// Decreasing size, then decreasing life.
    Size,
    /// Decreasing size, then increasing begin of the life.
    SizeBegin,
    /// Decreasing life, then decreasing size.
    Life,
    /// Decreasing size times life.
    Area,
    /// Increasing begin of the life, then decreasing size.
    Begin,
    /// Increasing end of the life, then decreasing size.
    End,
    /// Decreasing load of the fullest moment, then life, then size.
    Total,
    /// Decreasing load of the fullest moment, then size, then life.
    TotalSize,
}

impl Sequence {
    pub const ALL: [Sequence; 8] = [
        Sequence::Size,
        Sequence::SizeBegin,
        Sequence::Life,
        Sequence::Area,
        Sequence::Begin,
        Sequence::End,
        Sequence::Total,
        Sequence::TotalSize,
    ];

    /// The buffers in this order.
    pub fn order(self, lives: &Lives) -> Vec<u32> {
        let totals = match self {
            Sequence::Total | Sequence::TotalSize => totals(lives),
            _ => Vec::new(),
        };
        let key = |index: u32| {
            let buffer = &lives.buffers()[index as usize];
            let life = buffer.upper - buffer.lower;
            let begin = Reverse(u128::MAX - u128::from(buffer.lower));
            let (size, long) = (Reverse(u128::from(buffer.size)), Reverse(u128::from(life)));
            let area = Reverse(size.0 * long.0);
            match self {
                Sequence::Size => (size, long, size),
                Sequence::Life => (long, size, size),
                Sequence::Area => (area, size, size),
                Sequence::SizeBegin => (size, begin, size),
                Sequence::Begin => (begin, size, size),
                Sequence::End => (Reverse(u128::MAX - u128::from(buffer.upper)), size, size),
                Sequence::Total => (Reverse(totals[index as usize].into()), long, size),
                Sequence::TotalSize => (Reverse(totals[index as usize].into()), size, long),
            }
        };
        let mut order: Vec<u32> = (0..lives.buffers().len() as u32).collect();
        order.sort_by_cached_key(|&index| (key(index), index));
        order
    }
}

/// The largest load in the life of each buffer, in bytes.
fn totals(lives: &Lives) -> Vec<u64> {
    let profile = lives.profile();
    // Largest loads of runs of 1, 2, 4, ... entries, from each entry on.
    let mut runs: Vec<Vec<u64>> = vec![profile.iter().map(|entry| entry.1).collect()];
    let mut length = 1;
    while 2 * length <= profile.len() {
        let last = &runs[runs.len() - 1];
        let doubled = (0..=profile.len() - 2 * length).map(|k| last[k].max(last[k + length]));
        let doubled = doubled.collect();
        runs.push(doubled);
        length *= 2;
    }
    let largest = |lower: u64, upper: u64| {
        let from = profile
            .partition_point(|entry| entry.0 <= lower)
            .saturating_sub(1);
        let to = profile
            .partition_point(|entry| entry.0 < upper)
            .max(from + 1);
        let level = (to - from).ilog2() as usize;
        runs[level][from].max(runs[level][to - (1 << level)])
    };
    let buffers = lives.buffers().iter();
    let total = buffers.map(
        |buffer| match profile.is_empty() || buffer.lower >= buffer.upper {
            true => 0,
            false => largest(buffer.lower, buffer.upper),
        },
    );
    total.collect()
}
