//! Lower placements of many buffers by evictions.
//!
//! A search has a target below the best height. Buffers that end above it have no place. One of them
//! is placed where the buffers in its way weigh least; these lose their place in turn. The weight of
//! a buffer grows each time it has to evict others, so that buffers that are hard to place stay. If
//! all buffers have a place, first fit in the order of their offsets settles them, and the target
//! falls. (Nagata and Bräysy, Operations Research Letters 2009, do the same with vehicles' routes.)
//!
//! Two lanes with their own weights and random choices search side by side, in rounds of fixed
//! work. Each round ends with the best placement of both.

mod clashes;
mod lane;

use super::problem::PlaceProblem;
use super::search::LaneStop;
use clashes::Clashes;
use lane::{EvictionLane, Weight};
use rayon::prelude::*;
use remat_search::random::mix;

/// Numbers that tune the evictions.
struct EvictionTuning {
    /// Weights of the lanes, and the part of the gap that their first targets keep, of 1,024 parts.
    /// Which are best differs from one kind of lives to another.
    lanes: [(Weight, u64); 2],
    /// Clashes that a lane looks at in a round, for each item and at most.
    item_work: u64,
    most_work: u64,
}

const TUNING: EvictionTuning = EvictionTuning {
    lanes: [(Weight::SquareArea, 512), (Weight::Size, 700)],
    item_work: 500,
    most_work: 8_000_000,
};

/// A placement in units, with its height in bytes.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    pub offsets: Vec<u64>,
    pub height: u64,
}

impl Packing {
    /// A placement of all items.
    pub fn new(problem: &PlaceProblem, offsets: Vec<u64>) -> Self {
        let items = problem.items.iter().zip(&offsets);
        let ends = items.map(|(item, offset)| (offset + item.size) * problem.unit - item.excess);
        let height = ends.max().unwrap_or(0);
        Packing { offsets, height }
    }
}

/// A search by evictions, which goes on where it stopped.
pub(super) struct Evictions<'p> {
    problem: &'p PlaceProblem,
    clashes: Clashes,
    lanes: Vec<EvictionLane>,
    best: Packing,
}

impl<'p> Evictions<'p> {
    /// A search from a placement.
    pub fn new(problem: &'p PlaceProblem, start: Packing, seed: u64) -> Self {
        let lanes = (0..).zip(TUNING.lanes);
        let lanes = lanes.map(|(k, lane)| EvictionLane::new(problem, lane, mix(seed ^ mix(k))));
        Evictions {
            problem,
            clashes: Clashes::new(problem),
            lanes: lanes.collect(),
            best: start,
        }
    }

    /// The items.
    pub fn problem(&self) -> &'p PlaceProblem {
        self.problem
    }

    /// The best placement.
    pub fn best(&self) -> &Packing {
        &self.best
    }

    /// Takes a placement from elsewhere if it is lower.
    pub fn offer(&mut self, packing: Packing) {
        if packing.height < self.best.height {
            self.best = packing;
        }
    }

    /// Searches one round, for a placement of at most `enough` bytes. Returns whether the best
    /// became lower.
    pub fn round(&mut self, enough: u64, stop: &LaneStop<'_>) -> bool {
        let (problem, clashes, best) = (self.problem, &self.clashes, &self.best);
        let work = TUNING.item_work * problem.items.len() as u64;
        let work = work.min(TUNING.most_work);
        let lanes = self.lanes.par_iter_mut();
        let found = lanes.map(|lane| lane.run(problem, clashes, best, enough, work, stop));
        let found: Vec<Option<Packing>> = found.collect();
        let lowest = found.into_iter().flatten().min_by_key(|found| found.height);
        let Some(lowest) = lowest.filter(|found| found.height < self.best.height) else {
            return false;
        };
        self.best = lowest;
        true
    }
}

#[cfg(test)]
mod tests;
