//! Choice of gaps: annealing over the sets of values that are away, evaluated by the clock.

use super::clock::Clock;
use super::sequence::Sequence;
use remat_search::random::SplitMix64;
use std::time::Instant;

/// Settings of a search for gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChooseSettings {
    pub seed: u64,
    /// Maximum number of moves.
    pub moves: u64,
    /// Moment at which the search ends.
    pub deadline: Option<Instant>,
    /// Memory of the host in bytes.
    pub host_bytes: u64,
}

/// Tuning of the search for gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChooseTuning {
    /// First temperature, as a share of the costs of the sequence.
    pub hot: f64,
    /// Last temperature, likewise.
    pub cold: f64,
    /// Maximum number of gaps added in a move so that the memory fits again.
    pub repairs: usize,
    /// Moves between two checks of the time.
    pub block: u64,
}

impl Default for ChooseTuning {
    fn default() -> Self {
        ChooseTuning {
            hot: 3e-3,
            cold: 1e-5,
            repairs: 4,
            block: 64,
        }
    }
}

/// Chosen gaps with their makespan.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub gaps: Vec<bool>,
    pub makespan: u64,
}

/// Search over sets of gaps.
pub(super) struct Choose<'a> {
    sequence: &'a Sequence,
    clock: Clock<'a>,
    budget_bytes: u64,
    settings: ChooseSettings,
    tuning: ChooseTuning,
    random: SplitMix64,
    chosen: Vec<bool>,
    changed: Vec<usize>,
}

impl<'a> Choose<'a> {
    pub fn new(sequence: &'a Sequence, budget_bytes: u64, settings: ChooseSettings) -> Self {
        Choose {
            sequence,
            clock: Clock::new(sequence, budget_bytes),
            budget_bytes,
            settings,
            tuning: ChooseTuning::default(),
            random: SplitMix64(settings.seed),
            chosen: sequence.gaps.iter().map(|gap| gap.is_forced()).collect(),
            changed: Vec::new(),
        }
    }

    /// Searches from a given set, or from a greedy cover of the excess memory. Returns `None` if
    /// the first set does not fit.
    pub fn run(&mut self, start: Option<&[bool]>, is_over: &dyn Fn() -> bool) -> Option<Chosen> {
        match start {
            Some(start) => self.chosen.copy_from_slice(start),
            None => self.cover(),
        }
        let mut now = self.makespan()?;
        let mut best = Chosen {
            gaps: self.chosen.clone(),
            makespan: now,
        };
        let costs: u64 = self.sequence.costs.iter().sum();
        let begun = Instant::now();
        let gaps = self.sequence.gaps.len() as u64;
        let (mut done, mut share) = (0u64, 0.0f64);
        while done < self.settings.moves && gaps > 0 && best.makespan > costs {
            share = share.max(done as f64 / self.settings.moves as f64);
            let is_block = done.is_multiple_of(self.tuning.block);
            if is_block && is_over() {
                break;
            }
            if is_block && let Some(deadline) = self.settings.deadline {
                let all = deadline.saturating_duration_since(begun).as_secs_f64();
                share = share.max(begun.elapsed().as_secs_f64() / all.max(1e-9));
                if share >= 1.0 {
                    break;
                }
            }
            let (hot, cold) = (self.tuning.hot, self.tuning.cold);
            let temperature = costs as f64 * hot * (cold / hot).powf(share);
            self.step();
            match self.makespan() {
                Some(then) if self.accepts(now, then, temperature) => now = then,
                _ => {
                    for gap in std::mem::take(&mut self.changed) {
                        self.chosen[gap] ^= true;
                    }
                }
            }
            if now < best.makespan {
                best.makespan = now;
                best.gaps.copy_from_slice(&self.chosen);
            }
            done += 1;
        }
        Some(best)
    }

    fn accepts(&mut self, now: u64, then: u64, temperature: f64) -> bool {
        if then <= now {
            return true;
        }
        let draw = (self.random.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((now as f64 - then as f64) / temperature).exp() > draw
    }

    /// Makespan of the chosen gaps, if they fit.
    fn makespan(&mut self) -> Option<u64> {
        let placed = self.clock.place(&self.chosen);
        let fits = placed.excess == 0 && placed.host_bytes <= self.settings.host_bytes;
        fits.then_some(placed.makespan)
    }

    fn flip(&mut self, gap: usize) {
        self.chosen[gap] ^= true;
        self.changed.push(gap);
    }

    fn below(&mut self, count: usize) -> usize {
        (self.random.next() % count.max(1) as u64) as usize
    }

    /// Adds a gap, removes one, or exchanges two; then adds gaps to cover excess memory.
    fn step(&mut self) {
        self.changed.clear();
        let gap = self.below(self.chosen.len());
        if self.sequence.gaps[gap].is_forced() {
            return;
        }
        self.flip(gap);
        if self.random.next() & 1 == 0 {
            let span = self.sequence.gaps[gap];
            let kind = self.chosen[gap];
            // An overlapping gap that was in the opposite state.
            for _ in 0..8 {
                let other = self.below(self.chosen.len());
                let g = &self.sequence.gaps[other];
                let meets = g.after < span.before && span.after < g.before;
                if other != gap && meets && self.chosen[other] == kind && !g.is_forced() {
                    self.flip(other);
                    break;
                }
            }
        }
        for _ in 0..self.tuning.repairs {
            let Some(at) = self.clock.most_above(&self.chosen) else {
                return;
            };
            let over = |g: &super::sequence::Gap| (g.after as usize) < at && at < g.before as usize;
            let from = self.below(self.chosen.len());
            let count = self.chosen.len();
            let order = (0..count).map(|k| (from + k) % count);
            let mut free = order.filter(|k| !self.chosen[*k] && over(&self.sequence.gaps[*k]));
            let Some(found) = free.next() else { return };
            self.flip(found);
        }
    }

    /// Chooses gaps greedily until the memory fits: first the gap that covers the most excess bytes
    /// per unit of link time.
    fn cover(&mut self) {
        let n = self.sequence.len();
        loop {
            let Some(_) = self.clock.most_above(&self.chosen) else {
                return;
            };
            let held = self.clock.held();
            let above: Vec<u64> = held
                .iter()
                .map(|h| h.saturating_sub(self.budget_bytes))
                .collect();
            debug_assert_eq!(above.len(), n);
            let worth = |gap: &super::sequence::Gap| {
                let inside = &above[gap.after as usize + 1..gap.before as usize];
                let covered: u64 = inside.iter().map(|a| (*a).min(gap.bytes)).sum();
                covered as f64 / (gap.out + gap.back).max(1) as f64
            };
            let free = (0..self.chosen.len()).filter(|k| !self.chosen[*k]);
            let found = free.map(|k| (worth(&self.sequence.gaps[k]), k));
            match found.max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((worth, gap)) if worth > 0.0 => self.chosen[gap] = true,
                _ => return,
            }
        }
    }
}
