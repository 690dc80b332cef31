//! The least height of one part: fits first, then searches at the bound, with targets between the
//! bound and the best.

use super::bound::{Heights, Shown, shown};
use super::evict::{Evictions, Packing};
use super::fit::{Fitter, Rule};
use super::forest::first_fit;
use super::orders::Sequence;
use super::parts::BufferGroup;
use super::problem::{PlaceProblem, align, gcd};
use super::search::{Ground, HeightLanes, LaneStop, LaneTuning, Verdict};
use super::settings::PlaceTuning;
use super::windows::{WindowVerdict, Windows};
use super::{local, sweep};
use rayon::prelude::*;
use remat_instances::place::{Lives, Placement};

/// Work that all parts share.
pub(super) struct SharedWork<'a> {
    pub stop: LaneStop<'a>,
    pub seed: u64,
    /// Remaining nodes.
    pub nodes_left: u64,
    /// Nodes so far.
    pub nodes: u64,
    pub tuning: PlaceTuning,
}

/// Reason for a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundReason {
    /// Shown by the buffers of the part and its base.
    Shown(Shown),
    /// A search refuted all heights up to this one, in bytes.
    Refuted { height: u64 },
}

/// A placed part.
pub(super) struct PlacedGroup {
    /// Offset in bytes of each buffer of the part, above the base.
    pub offsets: Vec<u64>,
    /// Height in bytes, with the base.
    pub height: u64,
    /// Lower bound in bytes on placements of part and base.
    pub bound: u64,
    pub reason: BoundReason,
    /// True if the reason shows less, and the bound is the next sum of sizes.
    pub is_sum: bool,
}

/// A part with the state of its search.
pub(super) struct Least<'l> {
    part: &'l BufferGroup,
    /// The buffers of the part.
    inner: &'l Lives,
    heights: Heights,
    placed: PlacedGroup,
    /// Height in bytes that suffices.
    enough: u64,
}

impl<'l> Least<'l> {
    /// A part, whose buffers are `inner`; with its base they are `whole`.
    pub fn new(
        part: &'l BufferGroup,
        inner: &'l Lives,
        whole: &Lives,
        enough: u64,
        work: &SharedWork<'_>,
    ) -> Self {
        let all: Vec<u32> = (0..whole.buffers().len() as u32).collect();
        let heights = Heights::new(&PlaceProblem::new(whole, &all), work.tuning.sums_units);
        let (least, shown) = shown(whole).unwrap_or((0, Shown::Stack { time: 0 }));
        let is_plain = heights.has_sums() && !inner.buffers().iter().any(|b| b.has_windows());
        let bound = if is_plain { heights.from(least) } else { least };
        let placed = PlacedGroup {
            offsets: Vec::new(),
            height: u64::MAX,
            bound,
            reason: BoundReason::Shown(shown),
            is_sum: bound > least,
        };
        Least {
            part,
            inner,
            heights,
            placed,
            enough,
        }
    }

    /// Height at which the search is over.
    fn target(&self) -> u64 {
        self.placed.bound.max(self.enough)
    }

    fn is_done(&self) -> bool {
        self.placed.height <= self.target()
    }

    /// Takes offsets if they are lower.
    fn offer(&mut self, offsets: Vec<u64>, height: u64) {
        let height = height + self.part.base_bytes;
        if height < self.placed.height {
            (self.placed.offsets, self.placed.height) = (offsets, height);
        }
    }

    /// Records that no placement is as low as `height` bytes.
    fn refuted(&mut self, height: u64) {
        let sums = self.heights.has_sums();
        let next = self.heights.from(height + 1).max(height + 1);
        // Heights that are no sum of sizes need no search.
        let height = if sums { height } else { next - 1 };
        self.placed.bound = next;
        self.placed.reason = BoundReason::Refuted { height };
        self.placed.is_sum = next > height + 1;
    }

    /// Searches until the height is the bound or low enough, or the work is spent.
    pub fn run(mut self, work: &mut SharedWork<'_>) -> PlacedGroup {
        let enough = self.target() - self.part.base_bytes;
        let stop = work.stop.sharing(work.tuning.sweep_share);
        let offsets = above_fixed(self.inner, enough, &stop);
        let height = self.inner.height(&Placement::new(offsets.clone()));
        self.offer(offsets, height);
        if self.is_done() {
            return self.placed;
        }
        let has_windows = self.inner.buffers().iter().any(|b| b.has_windows());
        let is_large = self.inner.buffers().len() >= work.tuning.large_buffers && !has_windows;
        let fitter = Fitter::new(self.inner, work.tuning.fit_pairs);
        if let Some(fitter) = fitter.as_ref().filter(|_| !is_large) {
            self.fit(fitter, work);
        }
        if self.is_done() {
            return self.placed;
        }
        if has_windows {
            if let Some(fitter) = &fitter {
                self.improve(fitter, work.tuning.local_placements, work.seed, work);
            }
            self.search_windows(work);
            return self.placed;
        }
        let all: Vec<u32> = (0..self.inner.buffers().len() as u32).collect();
        let problem = PlaceProblem::new(self.inner, &all);
        if is_large {
            self.fit_large(&problem, work);
        }
        if self.is_done() {
            return self.placed;
        }
        let mut evictions = Evictions::new(&problem, self.packing(&problem), work.seed);
        let rounds = |rounds: u32| work.stop.deadline.map_or(rounds, |_| u32::MAX);
        if self.is_searchable(fitter.as_ref(), &problem, work.tuning) {
            if is_large {
                let stop = work.stop.sharing(2);
                self.evict(&mut evictions, rounds(work.tuning.first_rounds), &stop);
            }
            self.search(fitter.as_ref(), &problem, &mut evictions, work);
        } else {
            self.evict(&mut evictions, rounds(work.tuning.only_rounds), &work.stop);
        }
        self.placed
    }

    /// Returns whether the exact search takes so many buffers.
    fn is_searchable(
        &self,
        fitter: Option<&Fitter<'_>>,
        problem: &PlaceProblem,
        tuning: PlaceTuning,
    ) -> bool {
        let pairs = fitter.map_or(usize::MAX, |fitter| fitter.neighbours.total() / 2);
        let widths = problem.stretches.all().iter();
        let places: u64 = widths.map(|&(from, to)| u64::from(to - from)).sum();
        // A dive visits all sections at each of its nodes.
        let visits = (problem.items.len() as u64).saturating_mul(problem.sections as u64);
        pairs <= tuning.search_pairs
            && places <= tuning.search_places
            && visits <= tuning.search_visits
    }

    /// The best placement in units.
    fn packing(&self, problem: &PlaceProblem) -> Packing {
        let offsets = problem.items.iter();
        let offsets = offsets.map(|item| self.placed.offsets[item.buffer as usize] / problem.unit);
        Packing::new(problem, offsets.collect())
    }

    /// Takes a placement in units if it is lower.
    fn offer_packing(&mut self, problem: &PlaceProblem, packing: &Packing) {
        let mut offsets = vec![0; self.inner.buffers().len()];
        for (item, offset) in problem.items.iter().zip(&packing.offsets) {
            offsets[item.buffer as usize] = offset * problem.unit;
        }
        self.offer(offsets, packing.height);
    }

    /// Places very many buffers by first fit in all known orders.
    fn fit_large(&mut self, problem: &PlaceProblem, work: &SharedWork<'_>) {
        let mut item_of = vec![u32::MAX; self.inner.buffers().len()];
        for (item, of) in (0..).zip(&problem.items) {
            item_of[of.buffer as usize] = item;
        }
        let fit = |sequence: &Sequence| {
            if work.stop.is_over() {
                return None;
            }
            let order = sequence.order(self.inner).into_iter();
            let order = order.map(|buffer| item_of[buffer as usize]);
            let order = order.filter(|&item| item != u32::MAX);
            let offsets = first_fit(problem, order, work.tuning.fit_steps, &work.stop)?;
            Some(Packing::new(problem, offsets))
        };
        let fits: Vec<Option<Packing>> = Sequence::ALL.par_iter().map(fit).collect();
        for packing in fits.into_iter().flatten() {
            self.offer_packing(problem, &packing);
        }
    }

    /// Lowers the best placement by some rounds of evictions.
    fn evict(&mut self, evictions: &mut Evictions<'_>, rounds: u32, stop: &LaneStop<'_>) {
        let problem = evictions.problem();
        let enough = self.target() - self.part.base_bytes;
        evictions.offer(self.packing(problem));
        for _ in 0..rounds {
            if self.is_done() || stop.is_over() {
                return;
            }
            if evictions.round(enough, stop) {
                self.offer_packing(problem, evictions.best());
            }
        }
    }

    /// Places in all known orders.
    fn fit(&mut self, fitter: &Fitter<'_>, work: &SharedWork<'_>) {
        for sequence in Sequence::ALL {
            for rule in [Rule::First, Rule::Best] {
                if self.is_done() || self.placed.height < u64::MAX && work.stop.is_over() {
                    return;
                }
                let offsets = fitter.place(&sequence.order(self.inner), rule);
                let height = fitter.height(&offsets);
                self.offer(offsets, height);
            }
        }
    }

    /// Improves the best placement by local search.
    fn improve(&mut self, fitter: &Fitter<'_>, placements: u64, seed: u64, work: &SharedWork<'_>) {
        let enough = self.target() - self.part.base_bytes;
        let start = &self.placed.offsets;
        let better = local::improve(fitter, start, enough, placements, seed, &work.stop);
        let height = fitter.height(&better);
        self.offer(better, height);
    }

    /// Bisects the heights between bound and best, for buffers with windows.
    fn search_windows(&mut self, work: &mut SharedWork<'_>) {
        if self.inner.buffers().len() > work.tuning.window_buffers {
            return;
        }
        let mut windows = Windows::new(self.inner);
        while !self.is_done() && !work.stop.is_over() {
            let (low, high) = (self.target(), self.placed.height - 1);
            // The bound first: usually a placement reaches it.
            let middle = if windows.nodes == 0 {
                low
            } else {
                u64::midpoint(low, high)
            };
            let height = (middle / windows.unit * windows.unit).max(low);
            let before = windows.nodes;
            let verdict = windows.decide(height, work.nodes_left, &work.stop);
            let nodes = windows.nodes - before;
            work.nodes += nodes;
            work.nodes_left = work.nodes_left.saturating_sub(nodes);
            match verdict {
                WindowVerdict::Open => return,
                WindowVerdict::Fits(offsets) => {
                    let height = self.inner.height(&Placement::new(offsets.clone()));
                    self.offer(offsets, height);
                }
                WindowVerdict::Refuted => {
                    self.placed.bound = (height / windows.unit + 1) * windows.unit;
                    let height = self.placed.bound - 1;
                    self.placed.reason = BoundReason::Refuted { height };
                    self.placed.is_sum = false;
                }
            }
        }
    }

    /// Searches at the bound in rounds. If a round finds no answer, also between bound and best.
    fn search(
        &mut self,
        fitter: Option<&Fitter<'_>>,
        problem: &PlaceProblem,
        evictions: &mut Evictions<'_>,
        work: &mut SharedWork<'_>,
    ) {
        let ground = Ground::new(problem);
        // Distance of the target from the bound to the best, in shares of 2^-k.
        let mut share: u32 = 1;
        let mut rounds: u64 = 0;
        let mut lanes = None;
        while !self.is_done() && !work.stop.is_over() {
            let height = self.target();
            let at = lanes
                .take()
                .filter(|(at, _)| *at == height)
                .map(|(_, lanes)| lanes);
            let at = at.or_else(|| self.lanes(&ground, height, work, LaneTuning::default()));
            let Some(mut at) = at else {
                self.refuted(height);
                continue;
            };
            let Some(verdict) = self.round(&mut at, problem, height, work) else {
                return;
            };
            if verdict {
                continue;
            }
            lanes = Some((height, at));
            // The round found no answer: try a height between bound and best.
            self.evict(evictions, 1 << rounds.min(6), &work.stop);
            if let Some(fitter) = fitter {
                let placements = work.tuning.local_placements << rounds.min(16);
                self.improve(fitter, placements, work.seed ^ rounds, work);
            }
            loop {
                let gap = self.placed.height - height;
                let between = self.placed.height - (gap >> share).max(1);
                if self.is_done() || between <= height || work.stop.is_over() {
                    break;
                }
                let nodes = LaneTuning::default().nodes << rounds.min(20);
                let tuning = LaneTuning { nodes };
                let Some(mut at) = self.lanes(&ground, between, work, tuning) else {
                    break;
                };
                match self.round(&mut at, problem, between, work) {
                    None => return,
                    Some(true) => share = share.saturating_sub(1).max(1),
                    Some(false) => {
                        share = (share + 1).min(8);
                        break;
                    }
                }
            }
            rounds += 1;
        }
    }

    fn lanes<'g, 'p>(
        &self,
        ground: &'g Ground<'p>,
        height: u64,
        work: &SharedWork<'_>,
        tuning: LaneTuning,
    ) -> Option<HeightLanes<'g, 'p>> {
        let inner = height.checked_sub(self.part.base_bytes)?;
        HeightLanes::new(ground, inner, work.seed, tuning)
    }

    /// Does one round at a height; true if it found an answer, `None` if the nodes are spent.
    fn round(
        &mut self,
        lanes: &mut HeightLanes<'_, '_>,
        problem: &PlaceProblem,
        height: u64,
        work: &mut SharedWork<'_>,
    ) -> Option<bool> {
        if work.nodes_left < lanes.next_nodes() {
            return None;
        }
        let before = lanes.nodes;
        let (verdict, _) = lanes.round(&work.stop);
        let nodes = lanes.nodes - before;
        work.nodes += nodes;
        work.nodes_left = work.nodes_left.saturating_sub(nodes);
        match verdict {
            Verdict::Open => return Some(false),
            Verdict::Refuted(_) => self.refuted(height),
            Verdict::Fits(units) => {
                let offsets: Vec<u64> = units.iter().map(|&offset| offset * problem.unit).collect();
                let placement = Placement::new(offsets.clone());
                let height = self.inner.height(&placement);
                self.offer(offsets, height);
            }
        }
        Some(true)
    }
}

/// Offsets by sweeps: buffers without a fixed offset lie above all fixed ones.
fn above_fixed(lives: &Lives, enough: u64, stop: &LaneStop<'_>) -> Vec<u64> {
    let buffers = lives.buffers();
    let is_free = |k: &u32| buffers[*k as usize].offset.is_none();
    let free: Vec<u32> = (0..buffers.len() as u32).filter(is_free).collect();
    let fixed = buffers
        .iter()
        .filter_map(|b| b.offset.map(|offset| offset + b.size))
        .max();
    // A multiple of all alignments.
    let step = |step: u64, k: &u32| {
        let alignment = buffers[*k as usize].alignment;
        step.saturating_mul(alignment / gcd(step, alignment))
    };
    let base = fixed.map_or(0, |top| align(top, free.iter().fold(1, step)));
    let placed = sweep::place(&lives.restricted(&free), enough.saturating_sub(base), stop);
    let mut offsets: Vec<u64> = buffers.iter().map(|b| b.offset.unwrap_or(0)).collect();
    for (&k, offset) in free.iter().zip(placed) {
        offsets[k as usize] = base + offset;
    }
    offsets
}
