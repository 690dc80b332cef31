//! Placing very many buffers: a sweep over the lowest valleys.
//!
//! The floors over the sections are a skyline. The sweep takes its lowest valley, and in it the
//! section with the most left to place (the least slack). Then it takes the best buffer that is
//! live there and lies within the valley. If there is no such buffer, the section rises to the
//! lower wall. Valleys do not disturb each other, so the order of preference among buffers decides.
//! A buffer costs `O(log^2 n)`, so there is time for several orders. Very many buffers are swept in
//! stages of the height: each stage by all orders, from the best state of the stage before.

mod choice;
mod rests;
mod skyline;

use super::problem::{PlaceProblem, align};
use super::search::{LaneStop, Measure, Preference};
use choice::ChoiceTree;
use rayon::prelude::*;
use remat_instances::place::Lives;
use rests::Rests;
use skyline::Skyline;

/// Numbers that tune the sweeps.
struct SweepTuning {
    /// Powers of the load by which sections are weighed; with 0 sections are counted. On lives of
    /// 50,000 buffers, each power was the best for some.
    powers: [i32; 6],
    /// Shares of a valley, as divisors, within which a buffer counts as beside a wall; 0 for no
    /// preference of such buffers.
    walls: [u32; 4],
    /// Weight of a buffer beside a wall that makes up for the best weight, in tenths.
    beside_tenths: u128,
    /// Buffers from which there are stages; below, the first few orders are tried.
    large_buffers: usize,
    few_orders: usize,
    /// Numbers of stages, one attempt after another. With more stages the order changes more often,
    /// by less.
    stages: [u64; 3],
}

const TUNING: SweepTuning = SweepTuning {
    powers: [0, 16, 64, 200, 4, 1],
    walls: [0, 512, 32, 100_000],
    beside_tenths: 8,
    large_buffers: 2_000,
    few_orders: 4,
    stages: [24, 1, 4],
};

/// An order of preference: the power by which sections are weighed, and the share for walls.
type SweepOrder = (i32, u32);

/// Places buffers without fixed offsets, with sweeps until one is at most `enough` bytes high. Gaps
/// count as life, and windows as the whole buffer. Returns offsets in bytes.
pub(super) fn place(lives: &Lives, enough: u64, stop: &LaneStop<'_>) -> Vec<u64> {
    let all: Vec<u32> = (0..lives.buffers().len() as u32).collect();
    let problem = PlaceProblem::new(lives, &all);
    let sweep = Sweep::new(&problem);
    let walls = TUNING.walls.iter();
    let orders = walls.flat_map(|&wall| TUNING.powers.iter().map(move |&power| (power, wall)));
    let orders: Vec<SweepOrder> = orders.collect();
    let start = SweepProgress::new(&sweep);
    let is_over = || stop.is_over();
    // The very first sweep is finished even if the time is over.
    let mut best = sweep
        .advance(&start, orders[0], u64::MAX, &|| false)
        .unwrap_or(start.clone());
    let is_large = problem.items.len() >= TUNING.large_buffers;
    if is_large {
        for stages in TUNING.stages {
            if sweep.height(&best) <= enough || stop.is_over() {
                break;
            }
            let state = sweep.staged(&start, &orders, stages, enough / problem.unit, &is_over);
            if let Some(state) = state.filter(|state| sweep.height(state) < sweep.height(&best)) {
                best = state;
            }
        }
    } else if sweep.height(&best) > enough {
        let few = orders[1..TUNING.few_orders].par_iter();
        let tried = few.map(|&order| sweep.advance(&start, order, u64::MAX, &is_over));
        let tried: Vec<Option<SweepProgress>> = tried.collect();
        let placed = std::iter::once(best.clone()).chain(tried.into_iter().flatten());
        best = placed
            .min_by_key(|placed| sweep.height(placed))
            .unwrap_or(best);
    }
    let mut offsets = vec![0; lives.buffers().len()];
    for (item, offset) in problem.items.iter().zip(best.offsets) {
        offsets[item.buffer as usize] = offset * problem.unit;
    }
    offsets
}

/// A sweep under way.
#[derive(Clone)]
struct SweepProgress {
    rests: Rests,
    skyline: Skyline,
    /// Offset in units of each placed item.
    offsets: Vec<u64>,
    /// Unplaced items.
    left: Vec<u32>,
    /// Largest top so far.
    top: u64,
}

impl SweepProgress {
    fn new(sweep: &Sweep<'_>) -> Self {
        let items = sweep.problem.items.len();
        SweepProgress {
            rests: Rests::new(&sweep.spans, sweep.problem),
            skyline: Skyline::new(sweep.problem.sections as u32),
            offsets: vec![0; items],
            left: (0..items as u32).collect(),
            top: 0,
        }
    }

    /// Lower bound in units on the final height.
    fn committed(&self) -> u64 {
        let runs =
            self.skyline
                .runs()
                .map(|(from, to, level)| match self.rests.fullest(from, to).1 {
                    0 => 0,
                    rest => level + rest,
                });
        runs.max().unwrap_or(0).max(self.top)
    }
}

/// A problem with the hulls of the stretches of its items.
struct Sweep<'p> {
    problem: &'p PlaceProblem,
    spans: Vec<(u32, u32)>,
}

impl<'p> Sweep<'p> {
    fn new(problem: &'p PlaceProblem) -> Self {
        let span = |item| {
            let list = problem.stretches.list(item);
            (
                list.first().map_or(0, |s| s.0),
                list.last().map_or(0, |s| s.1),
            )
        };
        let spans = (0..problem.items.len()).map(span).collect();
        Sweep { problem, spans }
    }

    /// Height in bytes of a finished sweep.
    fn height(&self, placed: &SweepProgress) -> u64 {
        let ends = self
            .problem
            .items
            .iter()
            .zip(&placed.offsets)
            .map(|(item, offset)| (offset + item.size) * self.problem.unit - item.excess);
        ends.max().unwrap_or(0)
    }

    /// A sweep in stages up to `goal` units, each by the order that loses least.
    fn staged(
        &self,
        start: &SweepProgress,
        orders: &[SweepOrder],
        stages: u64,
        goal: u64,
        is_late: &(dyn Fn() -> bool + Sync),
    ) -> Option<SweepProgress> {
        let mut state = start.clone();
        for stage in 1..=stages {
            let share = u128::from(goal) * u128::from(stage) / u128::from(stages);
            let cut = if stage == stages {
                u64::MAX
            } else {
                share as u64
            };
            let tried = orders
                .par_iter()
                .map(|&order| self.advance(&state, order, cut, is_late));
            let tried: Vec<Option<SweepProgress>> = tried.collect();
            state = tried
                .into_iter()
                .flatten()
                .min_by_key(SweepProgress::committed)?;
        }
        state.left.is_empty().then_some(state)
    }

    /// Continues a sweep from a state until no item is left below `cut` units; `None` if it is
    /// late.
    fn advance(
        &self,
        state: &SweepProgress,
        (power, wall): SweepOrder,
        cut: u64,
        is_late: &(dyn Fn() -> bool + Sync),
    ) -> Option<SweepProgress> {
        let items = &self.problem.items;
        let measure = if power == 0 {
            Measure::Width
        } else {
            Measure::Weight(power)
        };
        let ranks = Preference::plain(measure).ranks(self.problem);
        let weights = measure.weights(self.problem);
        let mut choice = ChoiceTree::new(&self.spans, &state.left, &ranks);
        let mut state = state.clone();
        let mut is_placed = vec![false; items.len()];
        let mut left = state.left.len();
        while left > 0 {
            let (from, to, level) = state.skyline.lowest()?;
            if level >= cut {
                break;
            }
            let (section, rest) = state.rests.fullest(from, to);
            if rest == 0 {
                state.skyline.close(from, to);
                continue;
            }
            let Some(best) = choice.best((from, section), (section + 1, to)) else {
                // No item fits on the section: it rises, with all sections around it on which no
                // item fits.
                let level = state.skyline.wall(from, to);
                match choice.next_begin(from, to) {
                    begin if begin > section => state.skyline.lift(from, begin, level),
                    _ => state
                        .skyline
                        .lift(section, choice.next_begin(section + 1, to), level),
                }
                continue;
            };
            let mut item = best;
            if let Some(near) = (to - from).checked_div(wall) {
                let at_left = ((from, section.min(from + near)), (section + 1, to));
                let at_right = ((from, section), ((section + 1).max(to - near), to));
                let beside = [at_left, at_right].map(|(begins, ends)| choice.best(begins, ends));
                let enough = weights[best as usize] / 10 * TUNING.beside_tenths;
                let heavy = beside
                    .into_iter()
                    .flatten()
                    .filter(|&k| weights[k as usize] >= enough);
                item = heavy.min_by_key(|&k| ranks[k as usize]).unwrap_or(best);
            }
            let k = item as usize;
            let offset = align(level, items[k].alignment);
            let top = offset + items[k].size;
            state.offsets[k] = offset;
            state.top = state.top.max(top);
            state.rests.place(self.spans[k], items[k].size);
            state.skyline.lift(self.spans[k].0, self.spans[k].1, top);
            choice.take(item);
            is_placed[k] = true;
            left -= 1;
            if left.is_multiple_of(256) && is_late() {
                return None;
            }
        }
        state.left.retain(|&item| !is_placed[item as usize]);
        Some(state)
    }
}
