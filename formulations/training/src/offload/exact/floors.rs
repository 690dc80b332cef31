//! Time that every plan loses, from the memory of first runs.
//!
//! While node `u` runs first, its inputs, output and workspace are in memory. Other tensors pass
//! over it, to be read by first runs up to `w`. The ones that do not fit must be recomputed or
//! fetched between `u` and `w`, in the order of their readers, on a lane of one copy at a time. So
//! the computations from `u` to `w` take longer, at least by the minimum over all choices of absent
//! tensors. Losses of spans from `u` to `w` that do not overlap add up.

use super::ExactTuning;
use super::problem::ExactProblem;
use super::set::{before, has, members};

/// Least time lost by plans from each first run on, by its node, with one more entry after the
/// last; `None` if some first run does not fit.
pub(super) fn floors(p: &ExactProblem, tuning: &ExactTuning) -> Option<Vec<u64>> {
    let room = p.room?;
    let mut choices = tuning.choices;
    let n = p.nodes;
    let mut floors = vec![0u64; n + 1];
    for u in (p.first..n).rev() {
        floors[u] = floors[u + 1];
        let own = p.sum(p.needs[u] | 1 << u) + p.workspace[u][0];
        let free = room.checked_sub(own)?;
        let passing = p.future[u + 1] & before(u) & !p.needs[u];
        let mut items: Vec<PassingTensor> = Vec::new();
        let mut seen = 0;
        for w in u + 1..n {
            let new = passing & p.needs[w] & !seen;
            seen |= new;
            items.extend(members(new).map(|i| PassingTensor::of(p, i, w)));
            if new == 0 {
                continue;
            }
            let all: u64 = items.iter().map(|item| item.bytes).sum();
            let over = all.saturating_sub(free);
            if over > 0 {
                let mut span = Span::new(p, u, w, &items);
                span.choices = choices.min(tuning.choices_per_span);
                choices -= span.choices;
                let lost = span.least(over)?;
                choices += span.choices;
                floors[u] = floors[u].max(lost.saturating_add(floors[w]));
            }
        }
    }
    Some(floors)
}

/// A tensor that passes over a node.
#[derive(Clone, Copy)]
struct PassingTensor {
    bytes: u64,
    /// Cost of a further run, if it may run again.
    again: Option<u64>,
    /// Time of the copy back, if it may come back.
    back: Option<u64>,
    /// Its first reader after the node.
    reader: usize,
}

impl PassingTensor {
    fn of(p: &ExactProblem, i: usize, reader: usize) -> Self {
        let by_loss = p.loss.is_none_or(|loss| i < loss && reader > loss);
        let comes = has(p.leaves & !p.scattered, i) && by_loss || has(p.gathered, i);
        PassingTensor {
            bytes: p.bytes[i],
            again: has(p.again, i).then(|| p.cost[i][1]),
            back: comes.then(|| p.times[i][1]),
            reader,
        }
    }
}

/// Search over the choices of absent tensors for a span.
struct Span {
    items: Vec<PassingTensor>,
    /// Bytes of the items from each on.
    left: Vec<u64>,
    /// By node: time of the computations that can hide copies due when it starts.
    hidden: Vec<u64>,
    /// By node: time of the chosen copies with this reader.
    back: Vec<u64>,
    best: u64,
    /// Choices that may still be tried.
    choices: u64,
}

impl Span {
    fn new(p: &ExactProblem, u: usize, w: usize, items: &[PassingTensor]) -> Self {
        let mut items = items.to_vec();
        items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
        let mut left = vec![0; items.len() + 1];
        for (k, item) in items.iter().enumerate().rev() {
            left[k] = left[k + 1] + item.bytes;
        }
        let from = p.loss.map_or(u, |loss| loss.max(u)) + 1;
        let hidden = (0..=w).map(|k| p.rest[from].saturating_sub(p.rest[k]));
        Span {
            items,
            left,
            hidden: hidden.collect(),
            back: vec![0; w + 1],
            best: u64::MAX,
            choices: 0,
        }
    }

    /// Least time lost by a choice of at least `over` bytes; 0 if too many choices would have to be
    /// tried, `None` if there is no choice.
    fn least(&mut self, over: u64) -> Option<u64> {
        self.choose(0, over, 0);
        match (self.choices, self.best) {
            (0, _) => Some(0),
            (_, u64::MAX) => None,
            (_, best) => Some(best),
        }
    }

    fn choose(&mut self, k: usize, over: u64, again: u64) {
        self.choices = self.choices.saturating_sub(1);
        if self.choices == 0 || again >= self.best || self.left[k] < over {
            return;
        }
        if over == 0 {
            let mut copied = 0;
            let mut lost = again;
            for (back, hidden) in self.back.iter().zip(&self.hidden) {
                copied += back;
                lost = lost.max(copied.saturating_sub(*hidden));
            }
            self.best = self.best.min(lost);
            return;
        }
        let Some(item) = self.items.get(k).copied() else {
            return;
        };
        let rest = over.saturating_sub(item.bytes);
        if let Some(back) = item.back {
            self.back[item.reader] += back;
            self.choose(k + 1, rest, again);
            self.back[item.reader] -= back;
        }
        if let Some(cost) = item.again {
            self.choose(k + 1, rest, again + cost);
        }
        self.choose(k + 1, over, again);
    }
}
