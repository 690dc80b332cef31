//! Placing very many buffers: a sweep over the lowest valleys.
//!
//! The floors over the sections are a skyline. The sweep takes its lowest valley, in it the section
//! of which most is left to place (the least slack), and the best buffer that is live there and
//! lies within the valley. Where there is none the section rises to the lower wall. Valleys do not
//! disturb each other, so the order of preference among buffers decides everything, and a buffer
//! costs O(log^2 n): there is time for several orders.

mod choice;
mod rests;
mod skyline;

use super::problem::{Problem, align};
use super::search::{Measure, Preference, Stop};
use choice::Choice;
use rayon::prelude::*;
use remat_instances::place::Lives;
use rests::Rests;
use skyline::Skyline;

/// Numbers that tune the sweeps.
struct SweepTuning {
    /// Powers of the load by which sections are weighed; with 0 sections are counted. On lives of
    /// 50,000 buffers each of them was the best of some.
    powers: [i32; 6],
    /// Shares of a valley, as divisors, within which a buffer counts as beside a wall; 0 for no
    /// preference of such buffers.
    walls: [u32; 4],
    /// Weight of a buffer beside a wall that makes up for the best weight, in tenths.
    beside_tenths: u128,
    /// Sweeps side by side.
    lanes: usize,
    /// Buffers from which all sweeps are made; the first few before.
    large_buffers: usize,
    few_sweeps: usize,
}

const TUNING: SweepTuning = SweepTuning {
    powers: [0, 16, 64, 200, 4, 1],
    walls: [0, 512, 32, 100_000],
    beside_tenths: 8,
    lanes: 4,
    large_buffers: 2_000,
    few_sweeps: 4,
};

/// Places buffers without fixed offsets, with sweeps until one is at most `enough` bytes high;
/// gaps count as life, and windows as the whole buffer. Offsets in bytes.
pub(super) fn place(lives: &Lives, enough: u64, stop: &Stop<'_>) -> Vec<u64> {
    let all: Vec<u32> = (0..lives.buffers().len() as u32).collect();
    let problem = Problem::new(lives, &all);
    let sweep = Sweep::new(&problem);
    let mut variants: Vec<(i32, u32)> = Vec::new();
    for (k, &wall) in TUNING.walls.iter().enumerate() {
        // Each lane with a power of its own.
        let powers = TUNING
            .powers
            .iter()
            .cycle()
            .skip(k)
            .take(TUNING.powers.len());
        variants.extend(powers.map(|&power| (power, wall)));
    }
    if problem.items.len() < TUNING.large_buffers {
        variants.truncate(TUNING.few_sweeps);
    }
    let mut best: Option<(u64, Vec<u64>)> = None;
    for lanes in variants.chunks(TUNING.lanes) {
        let is_low = best.as_ref().is_some_and(|(height, _)| *height <= enough);
        if is_low || best.is_some() && stop.is_over() {
            break;
        }
        let is_first = best.is_none();
        let placed: Vec<Option<(u64, Vec<u64>)>> = lanes
            .par_iter()
            .enumerate()
            .map(|(lane, &(power, wall))| {
                // The very first is finished even if the time is over.
                let is_late = || !(is_first && lane == 0) && stop.is_over();
                let offsets = sweep.run(power, wall, &is_late)?;
                Some((sweep.height(&offsets), offsets))
            })
            .collect();
        for placed in placed.into_iter().flatten() {
            if best.as_ref().is_none_or(|(height, _)| placed.0 < *height) {
                best = Some(placed);
            }
        }
    }
    let mut offsets = vec![0; lives.buffers().len()];
    for (item, offset) in problem
        .items
        .iter()
        .zip(best.map_or(Vec::new(), |best| best.1))
    {
        offsets[item.buffer as usize] = offset * problem.unit;
    }
    offsets
}

/// A problem with the hulls of the stretches of its items.
struct Sweep<'p> {
    problem: &'p Problem,
    spans: Vec<(u32, u32)>,
}

impl<'p> Sweep<'p> {
    fn new(problem: &'p Problem) -> Self {
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

    /// Height in bytes.
    fn height(&self, offsets: &[u64]) -> u64 {
        let ends = self
            .problem
            .items
            .iter()
            .zip(offsets)
            .map(|(item, offset)| (offset + item.size) * self.problem.unit - item.excess);
        ends.max().unwrap_or(0)
    }

    /// One sweep: offsets in units, or `None` if it is late.
    fn run(&self, power: i32, wall: u32, is_late: &dyn Fn() -> bool) -> Option<Vec<u64>> {
        let items = &self.problem.items;
        let measure = if power == 0 {
            Measure::Width
        } else {
            Measure::Weight(power)
        };
        let ranks = Preference::plain(measure).ranks(self.problem);
        let weights = measure.weights(self.problem);
        let mut choice = Choice::new(&self.spans, &ranks);
        let mut rests = Rests::new(&self.spans, self.problem);
        let mut skyline = Skyline::new(self.problem.sections as u32);
        let mut offsets = vec![0; items.len()];
        let mut left = items.len();
        while left > 0 {
            let (from, to, level) = skyline.lowest()?;
            let (section, rest) = rests.fullest(from, to);
            if rest == 0 {
                skyline.close(from, to);
                continue;
            }
            let Some(best) = choice.best((from, section), (section + 1, to)) else {
                // Nothing reaches the section: it rises, with all about it that nothing reaches.
                let level = skyline.wall(from, to);
                match choice.next_begin(from, to) {
                    begin if begin > section => skyline.lift(from, begin, level),
                    _ => skyline.lift(section, choice.next_begin(section + 1, to), level),
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
            offsets[k] = align(level, items[k].alignment);
            rests.place(self.spans[k], items[k].size);
            skyline.lift(self.spans[k].0, self.spans[k].1, offsets[k] + items[k].size);
            choice.take(item);
            left -= 1;
            if left.is_multiple_of(256) && is_late() {
                return None;
            }
        }
        Some(offsets)
    }
}
