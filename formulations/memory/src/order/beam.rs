//! Beams: for each number of executed operators, the best few executed sets.

use super::bits;
use super::block::Blocks;
use super::ends::Ends;
use super::lanes::{News, RoundKnowledge};
use super::lazy::lazy;
use super::level::{falling, set_of};
use super::outcome::FoundBy;
use super::settings::OrderTuning;
use super::side::{Direction, Side, SideRun};
use super::states::NONE;
use std::collections::BTreeMap;

/// Executed sets of the narrowest beam for each number of operators.
const NARROWEST: usize = 16;

/// An executed set of a beam.
struct Kept {
    /// The set before it, in the list of all, and the operators between.
    parent: u32,
    path: Vec<u32>,
}

/// Sets of one size, sorted by the largest memory on the way, the memory, and the set.
type Front = BTreeMap<(u64, u64, Vec<u64>), (u32, Vec<u32>)>;

/// Beams from either end, wider and wider.
pub(super) struct Beams<'a> {
    ends: &'a Ends,
    tuning: &'a OrderTuning,
    width: usize,
    direction: Direction,
    beam: Option<Beam<'a>>,
}

/// An unfinished beam.
struct Beam<'a> {
    run: SideRun<'a>,
    blocks: Blocks,
    inside: Vec<u32>,
    /// Memory in bytes up to which differences do not count.
    bound: u64,
    width: usize,
    fronts: Vec<Front>,
    at: usize,
    kept: Vec<Kept>,
}

impl<'a> Beams<'a> {
    /// Beams of a problem.
    pub fn new(ends: &'a Ends, tuning: &'a OrderTuning) -> Self {
        Beams {
            ends,
            tuning,
            width: NARROWEST,
            direction: Direction::Forward,
            beam: None,
        }
    }

    /// Continues the current beam.
    pub fn round(
        &mut self,
        known: &RoundKnowledge,
        states: u64,
        is_over: &dyn Fn() -> bool,
    ) -> News {
        let mut news = News::default();
        while news.states < states && !is_over() {
            let direction = self.direction;
            let side = self.ends.side(direction);
            let beam = self
                .beam
                .get_or_insert_with(|| Beam::new(self.ends, side, known, self.width, self.tuning));
            if !beam.advance(known.peak, &mut news.states, is_over) {
                continue;
            }
            let order = beam.order();
            self.beam = None;
            self.direction = match direction {
                Direction::Forward => Direction::Backward,
                Direction::Backward => Direction::Forward,
            };
            if direction == Direction::Backward {
                self.width *= 2;
            }
            if let Some(order) = order {
                news.order = Some((side.turned(order), FoundBy::Beam));
                return news;
            }
        }
        news
    }
}

impl<'a> Beam<'a> {
    fn new(
        ends: &Ends,
        side: &'a Side,
        known: &RoundKnowledge,
        width: usize,
        tuning: &OrderTuning,
    ) -> Self {
        let (start, goal) = (bits::empty(side.len), bits::full(side.len));
        let lazy = lazy(side, &ends.reach, &start, &goal);
        let ranks = side.ranks(&known.order);
        let blocks = Blocks::new(side, lazy, &start, &goal, ranks, tuning.block_operators);
        let mut fronts = vec![Front::new(); side.len + 1];
        let first = (known.bound, side.base_bytes, start);
        fronts[0].insert(first, (NONE, Vec::new()));
        Beam {
            run: SideRun::new(side),
            inside: blocks.inside().to_vec(),
            blocks,
            bound: known.bound,
            width,
            fronts,
            at: 0,
            kept: Vec::new(),
        }
    }

    /// Expands the sets of one size; true if there are no more.
    fn advance(&mut self, peak: u64, states: &mut u64, is_over: &dyn Fn() -> bool) -> bool {
        let end = self.fronts.len() - 1;
        if self.at == end {
            return true;
        }
        let front = std::mem::take(&mut self.fronts[self.at]);
        self.at += 1;
        for ((most, _, set), (parent, path)) in front {
            if is_over() {
                return false;
            }
            *states += 1;
            self.run.load(&set);
            let kept = self.kept.len() as u32;
            self.kept.push(Kept { parent, path });
            for choice in self.blocks.choices(&mut self.run, self.bound) {
                let mut path = self.blocks.path(&mut self.run, &choice, self.bound);
                let most = path.iter().fold(most, |most, v| most.max(self.run.run(*v)));
                if most < peak {
                    falling(&mut self.run, &self.inside, most, &mut path);
                    self.offer(most, kept, path);
                } else {
                    path.iter().rev().for_each(|v| self.run.undo(*v));
                }
            }
        }
        false
    }

    /// Offers the current set of the run to its front, and goes back by the path.
    fn offer(&mut self, most: u64, parent: u32, path: Vec<u32>) {
        let bytes = self.run.bytes;
        let front = &mut self.fronts[self.run.count];
        let is_good = |(worst, memory, _): &(u64, u64, Vec<u64>)| (most, bytes) < (*worst, *memory);
        if front.len() < self.width || front.last_key_value().is_some_and(|(k, _)| is_good(k)) {
            front
                .entry((most, bytes, set_of(&self.run)))
                .or_insert_with(|| (parent, path.clone()));
            if front.len() > self.width {
                front.pop_last();
            }
        }
        path.iter().rev().for_each(|v| self.run.undo(*v));
    }

    /// The order of the best complete set.
    fn order(&mut self) -> Option<Vec<u32>> {
        let last = self.fronts.last_mut()?;
        let (_, (mut parent, path)) = last.pop_first()?;
        let mut paths = vec![path];
        while parent != NONE {
            let kept = &self.kept[parent as usize];
            paths.push(kept.path.clone());
            parent = kept.parent;
        }
        Some(paths.into_iter().rev().flatten().collect())
    }
}
