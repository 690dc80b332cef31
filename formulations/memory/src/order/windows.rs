//! Better orders of parts of an order: each window is searched alone.

use super::bits;
use super::ends::{Ends, How};
use super::lanes::{News, RoundKnowledge};
use super::level::Pause;
use super::outcome::FoundBy;
use super::settings::OrderTuning;
use super::side::{Direction, SideRun};
use remat_search::random::SplitMix64;

/// Operators of the narrowest window.
const NARROWEST: usize = 24;

/// Windows around the peak of the best order, wider and wider until one helps.
pub(super) struct Windows<'a> {
    ends: &'a Ends,
    tuning: &'a OrderTuning,
    /// Operators of a window.
    width: usize,
    /// States of a window.
    states: u64,
    /// The order at work, and its peak.
    order: Vec<u32>,
    peak: u64,
    /// Windows tried at the current peak.
    tried: usize,
    random: Random,
    is_open: bool,
}

impl<'a> Windows<'a> {
    /// Windows of the best order.
    pub fn new(ends: &'a Ends, seed: u64, states: u64, tuning: &'a OrderTuning) -> Self {
        Windows {
            ends,
            tuning,
            width: NARROWEST,
            states,
            order: Vec::new(),
            peak: u64::MAX,
            tried: 0,
            random: Random::new(seed),
            is_open: true,
        }
    }

    /// Returns whether another window could help.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Searches windows.
    pub fn round(
        &mut self,
        known: &RoundKnowledge,
        states: u64,
        is_over: &dyn Fn() -> bool,
    ) -> News {
        let mut news = News::default();
        if known.peak < self.peak {
            (self.order, self.peak) = (known.order.clone(), known.peak);
            (self.width, self.tried) = (NARROWEST, 0);
        }
        while news.states < states && !is_over() && self.is_open {
            let n = self.order.len();
            let (peak, step) = peak_of(self.ends, &self.order);
            if peak < self.peak {
                self.peak = peak;
                news.order = Some((self.order.clone(), FoundBy::Windows));
                return news;
            }
            // The peak is in the middle first, then somewhere in the window.
            let before = match self.tried {
                0 => self.width / 2,
                _ => self.random.below(self.width),
            };
            let from = step.saturating_sub(before);
            let to = (from + self.width).min(n).max(step + 1);
            let found = self.search(from, to, peak - 1, &mut news.states, is_over);
            if found {
                (self.tried, self.width) = (0, NARROWEST.max(self.width / 2));
                continue;
            }
            self.tried += 1;
            if self.tried == 3 {
                self.tried = 0;
                self.width *= 2;
                if self.width > 2 * n {
                    self.width = NARROWEST;
                    self.states *= 2;
                }
            }
        }
        news
    }

    /// Searches an order of a window within a level, and adopts it.
    fn search(
        &mut self,
        from: usize,
        to: usize,
        level: u64,
        states: &mut u64,
        is_over: &dyn Fn() -> bool,
    ) -> bool {
        let side = &self.ends.forward;
        let mut start = bits::empty(side.len);
        self.order[..from]
            .iter()
            .for_each(|v| bits::insert(&mut start, *v));
        let mut goal = start.clone();
        self.order[from..to]
            .iter()
            .for_each(|v| bits::insert(&mut goal, *v));
        let how = How {
            known: &self.order,
            bound: level,
            cap: level,
            tuning: self.tuning,
        };
        let mut search = self.ends.window(Direction::Forward, &start, goal, how);
        let pause = search.work(self.states, is_over);
        *states += search.expanded.max(1);
        if from == 0 && to == self.order.len() && pause == Pause::Exhausted {
            self.is_open = false;
        }
        match search.order() {
            Some(order) if pause == Pause::Found => {
                drop(search);
                self.order[from..to].copy_from_slice(&order);
                true
            }
            _ => false,
        }
    }
}

/// Random numbers by a seed.
pub(super) struct Random(SplitMix64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Random(SplitMix64(seed ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// A number below another, 0 below 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next() % end.max(1) as u64) as usize
    }
}

/// The peak of an order, and the first step that has it.
pub(super) fn peak_of(ends: &Ends, order: &[u32]) -> (u64, usize) {
    let mut run = SideRun::new(&ends.forward);
    let mut peak = (0, 0);
    for (k, v) in order.iter().enumerate() {
        let need = run.run(*v);
        if need > peak.0 {
            peak = (need, k);
        }
    }
    peak
}
