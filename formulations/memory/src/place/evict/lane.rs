//! One search by evictions.

use super::super::forest::first_fit;
use super::super::problem::{PlaceProblem, align};
use super::super::search::LaneStop;
use super::Packing;
use super::clashes::Clashes;
use remat_search::random::SplitMix64;

/// Quantity by which a buffer weighs at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Its size.
    Size,
    /// The square of its size times its number of sections.
    SquareArea,
}

/// Numbers that tune a lane.
struct LaneNumbers {
    /// Largest first weight.
    scale: u128,
    /// Largest factor by which a weight grows.
    growth: u64,
    /// Factor of the weight of items that were placed in the last moves, and number of these moves.
    recent: i64,
    recent_moves: u64,
    /// Items of which the heaviest is placed next.
    picked: u64,
    /// Part of the rest of the gap, in tenths, by which the next target falls after a trial without
    /// success.
    rest_tenths: u64,
    /// Clashes that the first trial looks at, for each item and at most. Each further one has 1.5
    /// times as many.
    item_trial: u64,
    most_trial: u64,
    /// Steps over lists of a first fit that settles buffers.
    fit_steps: u64,
    /// Clashes between two looks at the clock.
    patience: u64,
}

const NUMBERS: LaneNumbers = LaneNumbers {
    scale: 1 << 20,
    growth: 1 << 12,
    recent: 64,
    recent_moves: 10,
    picked: 4,
    rest_tenths: 6,
    item_trial: 500,
    most_trial: 4_000_000,
    fit_steps: 20_000_000,
    patience: 200_000,
};

/// Offset of an item without a place.
const NOWHERE: u64 = u64::MAX;

/// Weight of a fixed item, above the weights of all others together.
const FIXED: i64 = 1 << 56;

/// A search for one target.
struct Trial {
    /// Bytes.
    target: u64,
    /// Units; [`NOWHERE`] for items of the pool.
    offsets: Vec<u64>,
    pool: Vec<u32>,
    /// Factors of the weights.
    factors: Vec<u64>,
    /// Move in which each item was placed.
    placed_in: Vec<u64>,
    moves: u64,
    /// Remaining clashes.
    left: u64,
}

/// A lane.
pub(super) struct EvictionLane {
    /// First weight of each item.
    weights: Vec<i64>,
    random: SplitMix64,
    trial: Option<Trial>,
    /// Gap between the goal and the best that a first target and the next one keep, of 1,024 parts.
    first_kept: u64,
    kept: u64,
    /// Clashes of the next trial.
    length: u64,
    /// Begin or end of the buffers in the way of an item, and their weight.
    changes: Vec<(u64, i64)>,
}

/// End of a search for a target.
enum TrialEnd {
    Placed,
    Spent,
    /// The work of the round is over, or the search was stopped.
    Paused,
}

impl EvictionLane {
    /// A lane whose first target keeps so many of 1,024 parts of the gap.
    pub fn new(problem: &PlaceProblem, (weight, kept): (Weight, u64), seed: u64) -> Self {
        let width = |item: usize| {
            let stretches = problem.stretches.list(item).iter();
            stretches.map(|s| u128::from(s.1 - s.0)).sum::<u128>()
        };
        let quantity = |item: usize| {
            let size = u128::from(problem.items[item].size);
            match weight {
                Weight::Size => size,
                // Sizes are below 2^53.
                Weight::SquareArea => (size * size).saturating_mul(width(item)),
            }
        };
        let quantities: Vec<u128> = (0..problem.items.len()).map(quantity).collect();
        let largest = quantities.iter().copied().max().unwrap_or(1).max(1);
        let part = largest.div_ceil(NUMBERS.scale);
        let weights = problem.items.iter().zip(quantities);
        let weights = weights.map(|(of, quantity)| match of.fixed {
            Some(_) => FIXED,
            None => (quantity / part + 1) as i64,
        });
        EvictionLane {
            weights: weights.collect(),
            random: SplitMix64(seed),
            trial: None,
            first_kept: kept,
            kept,
            length: NUMBERS
                .most_trial
                .min(NUMBERS.item_trial * problem.items.len() as u64),
            changes: Vec::new(),
        }
    }

    /// Searches for a placement below the best, until one has at most `enough` bytes or the work is
    /// spent. Returns the lowest one.
    pub fn run(
        &mut self,
        problem: &PlaceProblem,
        clashes: &Clashes,
        best: &Packing,
        enough: u64,
        work: u64,
        stop: &LaneStop<'_>,
    ) -> Option<Packing> {
        let mut found: Option<Packing> = None;
        let mut work = work;
        loop {
            let best = found.as_ref().unwrap_or(best);
            if best.height <= enough {
                return found;
            }
            let trial = self.trial.take().filter(|t| t.target < best.height);
            let Some(mut trial) = trial.or_else(|| self.begin(problem, best, enough)) else {
                return found;
            };
            work = work.saturating_sub(problem.items.len() as u64);
            match self.advance(&mut trial, problem, clashes, &mut work, stop) {
                TrialEnd::Placed => {
                    self.kept = self.first_kept.max(self.kept * 4 / 5);
                    found = Some(settled(problem, trial.offsets, stop));
                }
                TrialEnd::Spent => {
                    self.length += self.length / 2;
                    self.kept = 1024 - (1024 - self.kept) * NUMBERS.rest_tenths / 10;
                }
                TrialEnd::Paused => {
                    self.trial = Some(trial);
                    return found;
                }
            }
        }
    }

    /// A trial from a placement; `None` if fixed items reach above the target.
    fn begin(&self, problem: &PlaceProblem, best: &Packing, enough: u64) -> Option<Trial> {
        let gap = u128::from(best.height - enough);
        let target = enough + (gap * u128::from(self.kept) / 1024) as u64;
        let target = target.min(best.height - 1);
        let items = problem.items.len();
        let mut offsets = best.offsets.clone();
        let mut pool = Vec::new();
        for (item, offset) in offsets.iter_mut().enumerate() {
            if problem.latest(item, target)? < *offset {
                *offset = NOWHERE;
                pool.push(item as u32);
                if problem.items[item].fixed.is_some() {
                    return None;
                }
            }
        }
        Some(Trial {
            target,
            offsets,
            pool,
            factors: vec![1; items],
            placed_in: vec![0; items],
            moves: NUMBERS.recent_moves,
            left: self.length,
        })
    }

    /// Places items of the pool until it is empty.
    fn advance(
        &mut self,
        trial: &mut Trial,
        problem: &PlaceProblem,
        clashes: &Clashes,
        work: &mut u64,
        stop: &LaneStop<'_>,
    ) -> TrialEnd {
        let mut patience = 0;
        loop {
            if trial.pool.is_empty() {
                return TrialEnd::Placed;
            }
            if *work == 0 || patience == 0 && stop.is_over() {
                return TrialEnd::Paused;
            }
            if trial.left == 0 {
                return TrialEnd::Spent;
            }
            if patience == 0 {
                patience = NUMBERS.patience;
            }
            let item = self.pick(&mut trial.pool);
            let Some((offset, seen)) = self.choose(trial, problem, clashes, item) else {
                return TrialEnd::Spent;
            };
            self.place(trial, problem, clashes, (item, offset));
            let seen = seen as u64 + 16;
            *work = work.saturating_sub(seen);
            trial.left = trial.left.saturating_sub(seen);
            patience = patience.saturating_sub(seen);
        }
    }

    /// Takes the heaviest of some items at random.
    fn pick(&mut self, pool: &mut Vec<u32>) -> usize {
        let count = pool.len() as u64;
        let mut random = || (self.random.next() % count) as usize;
        let mut best = random();
        for _ in 1..NUMBERS.picked.min(count) {
            let other = random();
            if self.weights[pool[other] as usize] > self.weights[pool[best] as usize] {
                best = other;
            }
        }
        pool.swap_remove(best) as usize
    }

    /// The offset at which the items in the way weigh least, at random among equal ones, and the
    /// number of clashes.
    fn choose(
        &mut self,
        trial: &Trial,
        problem: &PlaceProblem,
        clashes: &Clashes,
        item: usize,
    ) -> Option<(u64, usize)> {
        let of = &problem.items[item];
        let last = problem.latest(item, trial.target)?;
        let changes = &mut self.changes;
        changes.clear();
        let mut seen = 0;
        clashes.each(problem, item, |other| {
            seen += 1;
            let offset = trial.offsets[other];
            if offset == NOWHERE {
                return;
            }
            let from = (offset + 1).saturating_sub(of.size);
            if from <= last {
                let mut weight = self.weights[other];
                if weight != FIXED {
                    weight *= trial.factors[other] as i64;
                    if trial.placed_in[other] + NUMBERS.recent_moves > trial.moves {
                        weight *= NUMBERS.recent;
                    }
                }
                changes.push((from, weight));
                changes.push((offset + problem.items[other].size, -weight));
            }
        });
        changes.sort_unstable_by_key(|change| change.0);
        let mut weight: i128 = 0;
        let mut best: Option<(i128, u64)> = None;
        let mut ties = 0;
        let (mut next, mut from) = (0, 0);
        loop {
            while let Some(change) = changes.get(next).filter(|change| change.0 <= from) {
                weight += i128::from(change.1);
                next += 1;
            }
            let end = changes
                .get(next)
                .map_or(last, |change| change.0 - 1)
                .min(last);
            let low = align(from, of.alignment);
            if low <= end {
                let high = end / of.alignment * of.alignment;
                let is_lower = best.is_none_or(|(least, _)| weight < least);
                ties = if is_lower { 0 } else { ties };
                if is_lower || best.is_some_and(|(least, _)| weight == least) {
                    ties += 1;
                    let random = self.random.next();
                    if (random >> 1).is_multiple_of(ties) {
                        best = Some((weight, if random.is_multiple_of(2) { low } else { high }));
                    }
                }
            }
            if end == last {
                break;
            }
            from = end + 1;
        }
        let (least, offset) = best?;
        (least < i128::from(FIXED)).then_some((offset, seen))
    }

    /// Places an item, and moves the items in its way to the pool.
    fn place(
        &self,
        trial: &mut Trial,
        problem: &PlaceProblem,
        clashes: &Clashes,
        (item, offset): (usize, u64),
    ) {
        let Trial { offsets, pool, .. } = trial;
        let top = offset + problem.items[item].size;
        let before = pool.len();
        clashes.each(problem, item, |other| {
            let theirs = offsets[other];
            if theirs < top && offset < theirs + problem.items[other].size {
                offsets[other] = NOWHERE;
                pool.push(other as u32);
            }
        });
        if pool.len() > before {
            let factor = &mut trial.factors[item];
            *factor = (*factor + 1).min(NUMBERS.growth);
        }
        trial.moves += 1;
        trial.placed_in[item] = trial.moves;
        trial.offsets[item] = offset;
    }
}

/// A placement with all items as low as first fit by their offsets puts them.
fn settled(problem: &PlaceProblem, offsets: Vec<u64>, stop: &LaneStop<'_>) -> Packing {
    let mut order: Vec<u32> = (0..offsets.len() as u32).collect();
    order.sort_unstable_by_key(|&item| (offsets[item as usize], item));
    let fit = first_fit(problem, order, NUMBERS.fit_steps, stop);
    let packing = Packing::new(problem, offsets);
    let lower = fit.map(|fit| Packing::new(problem, fit));
    lower
        .filter(|lower| lower.height < packing.height)
        .unwrap_or(packing)
}
