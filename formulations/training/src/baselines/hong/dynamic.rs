//! Dynamic checkpoint selection: Hong et al., section 4, Algorithm 5 in O(n^2) and Algorithm 6 in
//! O(n).
//!
//! Both minimise the largest `m(i)` of equation 9, PyTorch's memory. With
//! `s(i, j) = d_{i+1} + .. + d_{j-1} + max(d_i .. d_{j-1})` (equation 11) and
//! `U(i, j) = s(i, j) + d_j`,
//!
//! ```text
//! M(n) = d_n
//! M(i) = d_i + min over i < j <= n of  max(M(j), U(i, j))        (equation 16)
//! ```
//!
//! is the least peak of the steps behind checkpoint `i`.
//!
//! Departures from the text, each checked against all checkpoint sets by brute force:
//! - The text takes the minimum over `j < n`, Algorithm 5 over `j <= n`. The latter is right: `d_n`
//!   is a checkpoint.
//! - The answer is said to be `M(1)`. That would make layer 1 a checkpoint and leave the input out.
//!   With `d_0` in the checkpoint set, as equation 9 has it, the answer is `M(0)`; the sets of
//!   table 2 do not contain 1 either. For the paper's value without the input, set `d_0 = 0`.
//! - Algorithm 6 compares with "`j + 1`", but means the next element of the queue: `j + 1` itself
//!   may have left it.
//! - The paper's inequalities are strict, which sizes of 0 break. Only the weak forms are used
//!   here: `U(i, j)` does not decrease in `j` nor as `i` falls, and a `j` may go if both its `M`
//!   and its `U` are no less than another's.
//!
//! The paper gives no recursive variant of these algorithms.

use super::{LayerSizes, Selection};
use std::collections::VecDeque;

/// Algorithm 5: a best checkpoint set under equation 9 in O(n^2) time and O(n) memory. The first
/// `j` wins a tie.
pub fn dynamic_selection_quadratic(sizes: &LayerSizes) -> Selection {
    let n = sizes.last();
    let mut least = vec![0; n + 1];
    let mut next = vec![n; n + 1];
    least[n] = sizes.size(n);
    for i in (0..n).rev() {
        let mut buffer = 0;
        let mut best = (u64::MAX, n);
        for (j, &after) in least.iter().enumerate().skip(i + 1) {
            buffer = buffer.max(sizes.size(j - 1));
            let here = sizes.sum(i + 1, j + 1) + buffer;
            best = best.min((here.max(after), j));
        }
        least[i] = sizes.size(i) + best.0;
        next[i] = best.1;
    }
    selection(least[0], &next)
}

/// Algorithm 6: a best checkpoint set under equation 9 in O(n) time and memory.
///
/// The queue holds candidates `j`, ascending, with `M(j)` strictly falling. In that order `U(i, j)`
/// rises, so the best `j` is the first with `U(i, j) >= M(j)` or the one before. As `i` falls, `U`
/// rises. Candidates beyond the crossing never come back and leave at the end, while a new `M(i)`
/// removes those at the front that are no less. So only the last two candidates are examined, and
/// neither ever moves to the right. Their range maxima come from two windows that grow on the left
/// and shrink on the right.
pub fn dynamic_selection(sizes: &LayerSizes) -> Selection {
    let n = sizes.last();
    let mut next = vec![n; n + 1];
    // (j, M(j)), j ascending.
    let mut queue = VecDeque::from([(n, sizes.size(n))]);
    let mut least = sizes.size(n);
    // Largest sizes over i .. last candidate, and over i .. last candidate but one.
    let (mut to_last, mut to_second) = (WindowMax::default(), WindowMax::default());
    for i in (0..n).rev() {
        to_last.extend(i, sizes.size(i));
        to_second.extend(i, sizes.size(i));
        let memory = |window: &mut WindowMax, j: usize| sizes.sum(i + 1, j + 1) + window.up_to(j);
        let mut best = (u64::MAX, n);
        while let Some(&(last, m)) = queue.back() {
            best = (memory(&mut to_last, last).max(m), last);
            let Some(&(second, m)) = queue.len().checked_sub(2).and_then(|k| queue.get(k)) else {
                break;
            };
            let u = memory(&mut to_second, second);
            if u < m {
                // The last candidate is at or before the crossing, or the crossing lies between the
                // two.
                if m <= best.0 {
                    best = (m, second);
                }
                break;
            }
            queue.pop_back();
        }
        least = sizes.size(i) + best.0;
        next[i] = best.1;
        while queue.front().is_some_and(|&(_, m)| m >= least) {
            queue.pop_front();
        }
        queue.push_front((i, least));
    }
    selection(least, &next)
}

fn selection(peak_bytes: u64, next: &[usize]) -> Selection {
    let n = next.len() - 1;
    let mut checkpoints = vec![0];
    let mut i = 0;
    while i < n {
        i = next[i];
        checkpoints.push(i);
    }
    Selection {
        checkpoints,
        peak_bytes,
    }
}

/// The maximum over a window of positions that is extended to the left and cut on the right, O(1)
/// amortised.
#[derive(Default)]
struct WindowMax {
    /// Positions whose value is larger than all to their left, ascending in both.
    records: VecDeque<(usize, u64)>,
}

impl WindowMax {
    /// Adds the position left of the window.
    fn extend(&mut self, position: usize, value: u64) {
        while self.records.front().is_some_and(|&(_, v)| v <= value) {
            self.records.pop_front();
        }
        self.records.push_front((position, value));
    }

    /// Cuts the window before `end`, for good, and returns its maximum (0 for an empty window).
    fn up_to(&mut self, end: usize) -> u64 {
        while self.records.back().is_some_and(|&(p, _)| p >= end) {
            self.records.pop_back();
        }
        self.records.back().map_or(0, |&(_, v)| v)
    }
}
