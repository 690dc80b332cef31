//! Checkpoint selection in O(n^3): Hong et al., section 3, Algorithm 3.
//!
//! Minimises equation 6. For a bound `s` on the segments, `M(i, s)` is the least memory of
//! checkpoints among `d_0 .. d_i` such that no segment is larger than `s`, where `d_i` need not be
//! one:
//!
//! ```text
//! M(i, s) = min over l(i) <= j <= i of  d_j + M(j - 1, s),   M(-1, s) = 0
//! ```
//!
//! with `l(i)` the least `j` for which `d_{j+1} + .. + d_i <= s`. Both `l` and the candidates move
//! one way, so a monotone queue gives all `M(., s)` in O(n); there are O(n^2) segment sums `s`.
//!
//! Departures from the text:
//! - The paper says that `d_n` is a checkpoint, but returns `s + M(n, s)`, which may leave it in a
//!   segment. That can be less than any value of equation 6 with `d_n` among the checkpoints (sizes
//!   1, 4, 1, 1: 6 where equation 6 gives at least 7). Here `c_s = d_n + M(n - 1, s)`, which brute
//!   force confirms.
//! - `l` is monotone for sizes of 0 as well (weakly), and ties in the queue are resolved either way
//!   at equal value.

use super::{LayerSizes, Selection};
use std::collections::VecDeque;

/// A best checkpoint set under equation 6. Among segment bounds of equal value the least wins.
///
/// Time O(n^3) at worst: bounds that cannot beat the best found are skipped. Memory O(n^2) for the
/// segment sums.
pub fn checkpoint_selection(sizes: &LayerSizes) -> Selection {
    let n = sizes.last();
    if n == 0 {
        return Selection {
            checkpoints: vec![0],
            peak_bytes: sizes.size(0),
        };
    }
    let mut bounds: Vec<u64> = (1..n)
        .flat_map(|from| (from + 1..=n).map(move |to| sizes.sum(from, to)))
        .chain([0])
        .collect();
    bounds.sort_unstable();
    bounds.dedup();
    let ends = sizes.size(0) + sizes.size(n);
    let mut scratch = SelectionColumn::new(n);
    let mut best: Option<(u64, u64)> = None;
    for bound in bounds {
        if best.is_some_and(|(peak, _)| bound + ends >= peak) {
            break;
        }
        let peak = bound + sizes.size(n) + scratch.run(sizes, bound);
        if best.is_none_or(|(least, _)| peak < least) {
            best = Some((peak, bound));
        }
    }
    let (peak_bytes, bound) = best.unwrap_or_default();
    scratch.run(sizes, bound);
    Selection {
        checkpoints: scratch.checkpoints(n),
        peak_bytes,
    }
}

/// One column of `M`, and the decisions behind its values.
struct SelectionColumn {
    /// `least[i] = M(i - 1, s)`, so that `least[0] = M(-1, s) = 0`.
    least: Vec<u64>,
    /// The `j` of `M(i, s)`: the last checkpoint at or before `i`.
    last_checkpoint: Vec<usize>,
    /// Candidates `j` with their `d_j + M(j - 1, s)`: `j` ascending, values ascending.
    queue: VecDeque<(usize, u64)>,
}

impl SelectionColumn {
    fn new(n: usize) -> Self {
        SelectionColumn {
            least: vec![0; n + 1],
            last_checkpoint: vec![0; n],
            queue: VecDeque::with_capacity(n),
        }
    }

    /// `M(n - 1, bound)`.
    fn run(&mut self, sizes: &LayerSizes, bound: u64) -> u64 {
        let n = sizes.last();
        self.queue.clear();
        let mut first = 0;
        for i in 0..n {
            while sizes.sum(first + 1, i + 1) > bound {
                first += 1;
            }
            let value = sizes.size(i) + self.least[i];
            while self.queue.back().is_some_and(|&(_, v)| v >= value) {
                self.queue.pop_back();
            }
            self.queue.push_back((i, value));
            while self.queue.front().is_some_and(|&(j, _)| j < first) {
                self.queue.pop_front();
            }
            // The queue holds i at least, because first <= i.
            let (j, value) = self.queue.front().copied().unwrap_or((i, value));
            self.least[i + 1] = value;
            self.last_checkpoint[i] = j;
        }
        self.least[n]
    }

    /// The checkpoints behind the last run.
    fn checkpoints(&self, n: usize) -> Vec<usize> {
        let mut list = vec![n];
        let mut end = n;
        while end > 0 {
            end = self.last_checkpoint[end - 1];
            list.push(end);
        }
        list.reverse();
        list
    }
}
