//! One stage: the layers that recompute, by Piper's rules and at least time.

use super::network::Network;

/// Limit on the number of labels of a search.
const MOST_LABELS: usize = 200_000;

/// Change of a layer from its faster variant to the other one, if that saves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The layer.
    pub layer: usize,
    /// Memory saved, positive.
    pub saved: u64,
    /// Time in addition.
    pub extra: u64,
}

/// A stage at one number of micro-batches in flight.
///
/// The memory of all layers counts at once, as in Piper, with the memory to recompute each.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Time with the faster variant of each layer.
    base: u64,
    /// Memory above the budget with these variants; 0 if they fit.
    excess: u64,
    /// Changes, by rising extra time for a unit of memory.
    changes: Vec<Change>,
}

/// Layers that change, with times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Lower bound on the time of the stage.
    pub bound: u64,
    /// Time of the stage.
    pub time: u64,
    /// Layers that take their slower variant.
    pub changed: Vec<usize>,
}

/// A partial choice of the exact search.
#[derive(Clone, Copy)]
struct Label {
    saved: u64,
    extra: u64,
    /// Index in the arena of the choice before, and the change that was added.
    last: Option<(usize, usize)>,
}

/// Sums over the first changes.
struct Prefix {
    saved: Vec<u64>,
    extra: Vec<u64>,
}

impl Stage {
    /// The stage of these layers; `sends` is the time of its sends.
    pub fn new(
        network: &Network,
        layers: &[usize],
        sends: u64,
        in_flight: u64,
        budget: u64,
    ) -> Stage {
        let (mut base, mut memory) = (sends, 0u64);
        let mut changes = Vec::new();
        for &layer in layers {
            let (faster, slower) = network.layers[layer].by_time();
            base += faster.time;
            memory += faster.memory(in_flight);
            let saved = faster
                .memory(in_flight)
                .saturating_sub(slower.memory(in_flight));
            if saved > 0 {
                let extra = slower.time - faster.time;
                changes.push(Change {
                    layer,
                    saved,
                    extra,
                });
            }
        }
        let ratio = |a: &Change, b: &Change| {
            let (left, right) = (wide(a.extra) * wide(b.saved), wide(b.extra) * wide(a.saved));
            left.cmp(&right).then(a.layer.cmp(&b.layer))
        };
        let excess = memory.saturating_sub(budget);
        if excess > 0 {
            changes.sort_by(ratio);
        }
        Stage {
            base,
            excess,
            changes,
        }
    }

    /// Piper's stages without a mix: no change, or all changes.
    pub fn whole(&self) -> Option<Decision> {
        match self.excess {
            0 => Some(self.decision(&[])),
            _ => self.can_fit().then(|| self.decision(&self.changes)),
        }
    }

    /// Piper's choice of layers: changes by rising extra time for memory, until the stage fits.
    pub fn greedy(&self) -> Option<Decision> {
        if !self.can_fit() {
            return None;
        }
        let mut left = self.excess;
        let needed = self.changes.iter().take_while(|change| {
            let goes_on = left > 0;
            left = left.saturating_sub(change.saved);
            goes_on
        });
        Some(self.decision(&self.changes[..needed.count()]))
    }

    /// The layers of least time: labels of saved memory and extra time, without dominated ones and
    /// without those whose bound is no better than the best choice.
    pub fn least(&self) -> Option<Decision> {
        self.least_within(MOST_LABELS)
    }

    /// [`Stage::least`] with a limit on the number of labels. A search that reaches it ends with
    /// the best choice so far, and with the bound where the last change counts in part.
    pub fn least_within(&self, most_labels: usize) -> Option<Decision> {
        if self.excess == 0 {
            return Some(self.decision(&[]));
        }
        let prefix = Prefix::of(&self.changes);
        let mut arena = vec![Label {
            saved: 0,
            extra: 0,
            last: None,
        }];
        let mut front = vec![0usize];
        let (root, upto) = prefix.complete(0, self.excess)?;
        // Best choice: a label, and the range of changes behind it.
        let mut best = (prefix.extra[upto], (0, 0..upto));
        for k in 0..self.changes.len() {
            let mut next = Vec::new();
            for &at in &front {
                let label = arena[at];
                next.push(at);
                let change = self.changes[k];
                arena.push(Label {
                    saved: label.saved + change.saved,
                    extra: label.extra + change.extra,
                    last: Some((at, k)),
                });
                next.push(arena.len() - 1);
            }
            next.retain(|&at| {
                let left = self.excess.saturating_sub(arena[at].saved);
                let Some((bound, upto)) = prefix.complete(k + 1, left) else {
                    return false;
                };
                let extra = arena[at].extra;
                let whole = extra + prefix.extra[upto] - prefix.extra[k + 1];
                if whole < best.0 {
                    best = (whole, (at, k + 1..upto));
                }
                left > 0 && extra + bound < best.0
            });
            next.sort_by_key(|&at| (arena[at].extra, std::cmp::Reverse(arena[at].saved)));
            let mut most = None;
            next.retain(|&at| {
                let is_more = most.is_none_or(|most| arena[at].saved > most);
                most = most.max(Some(arena[at].saved));
                is_more
            });
            front = next;
            if arena.len() > most_labels {
                break;
            }
        }
        let (mut at, rest) = best.1;
        let mut changed = self.changes[rest].to_vec();
        while let Some((before, k)) = arena[at].last {
            changed.push(self.changes[k]);
            at = before;
        }
        let mut decision = self.decision(&changed);
        if arena.len() > most_labels && !front.is_empty() {
            decision.bound = self.base + root;
        }
        Some(decision)
    }

    /// Returns whether the stage fits with all changes.
    fn can_fit(&self) -> bool {
        self.changes.iter().map(|c| c.saved).sum::<u64>() >= self.excess
    }

    fn decision(&self, changes: &[Change]) -> Decision {
        let time = self.base + changes.iter().map(|c| c.extra).sum::<u64>();
        let mut changed: Vec<usize> = changes.iter().map(|c| c.layer).collect();
        changed.sort_unstable();
        Decision {
            bound: time,
            time,
            changed,
        }
    }
}

impl Prefix {
    fn of(changes: &[Change]) -> Prefix {
        let mut prefix = Prefix {
            saved: vec![0],
            extra: vec![0],
        };
        let (mut saved, mut extra) = (0, 0);
        for change in changes {
            saved += change.saved;
            extra += change.extra;
            prefix.saved.push(saved);
            prefix.extra.push(extra);
        }
        prefix
    }

    /// Least extra time to save `left` with changes from `k` on in part, and the end of the
    /// changes that save it as wholes. `None` if they save less.
    fn complete(&self, k: usize, left: u64) -> Option<(u64, usize)> {
        if left == 0 {
            return Some((0, k));
        }
        let wanted = self.saved[k] + left;
        let end = self.saved.partition_point(|&saved| saved < wanted);
        if end == self.saved.len() {
            return None;
        }
        let part = wide(wanted - self.saved[end - 1]);
        let saved = wide(self.saved[end] - self.saved[end - 1]);
        let extra = wide(self.extra[end] - self.extra[end - 1]);
        // At most `extra`, which is 64 bits wide.
        let last = (part * extra).div_ceil(saved) as u64;
        Some((self.extra[end - 1] - self.extra[k] + last, end))
    }
}

fn wide(value: u64) -> u128 {
    u128::from(value)
}
