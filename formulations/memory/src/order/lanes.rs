//! Searches side by side: exact ones from both ends, dives at higher levels, windows.
//!
//! Work goes in rounds. In a round each lane visits a fixed number of states by itself. Afterwards
//! the results are merged in the order of the lanes, so the answer does not depend on threads.

use super::beam::Beams;
use super::ends::{Caught, Ends, How};
use super::level::{Level, Pause};
use super::outcome::FoundBy;
use super::settings::OrderTuning;
use super::side::Direction;
use super::windows::Windows;
use std::panic::resume_unwind;
use std::thread;

/// State of knowledge before a round.
#[derive(Clone, Debug)]
pub(super) struct RoundKnowledge {
    /// The best order and its peak.
    pub order: Vec<u32>,
    pub peak: u64,
    /// The proven bound.
    pub bound: u64,
    /// A budget: better orders are not needed.
    pub budget: Option<u64>,
}

impl RoundKnowledge {
    /// Returns whether a bound proves the best order best, or settles the budget.
    pub fn is_settled_by(&self, bound: u64) -> bool {
        let settled = |budget| self.peak <= budget || bound > budget;
        self.peak <= bound || self.budget.is_some_and(settled)
    }

    /// The highest level at which an order would be news: below the best, and at most the budget
    /// while no order is within it.
    pub fn cap(&self) -> u64 {
        let better = self.peak.saturating_sub(1);
        self.budget.map_or(better, |budget| better.min(budget))
    }
}

/// News of a lane after a round.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    /// A complete order.
    pub order: Option<(Vec<u32>, FoundBy)>,
    /// A proven bound.
    pub bound: u64,
    /// Visited states.
    pub states: u64,
}

/// Levels of dives for an order, as fractions of the way from the bound to the best peak. A dive
/// that finds no order goes on to the next one.
const FRACTIONS: [(u64, u64); 6] = [(1, 4), (1, 2), (3, 4), (7, 8), (31, 32), (1, 1)];
/// States of the first dives, and of the first windows.
const FIRST_STATES: u64 = 2_000;

/// An independent search.
pub(super) enum OrderLane<'a> {
    /// All sets within the proven bound.
    Exact(Exact<'a>),
    /// An order within a level between bound and best.
    Dive(Dive<'a>),
    /// Better orders of parts of the best order.
    Windows(Windows<'a>),
    /// The best few executed sets of each size.
    Beams(Beams<'a>),
}

/// An exact search of a direction.
pub(super) struct Exact<'a> {
    ends: &'a Ends,
    direction: Direction,
    caught: Caught,
    level: Level<'a>,
    is_full: bool,
    states: u64,
}

/// Dives of a direction.
pub(super) struct Dive<'a> {
    ends: &'a Ends,
    tuning: &'a OrderTuning,
    direction: Direction,
    at: usize,
    states: u64,
    open: Option<(Level<'a>, Caught)>,
}

impl<'a> OrderLane<'a> {
    /// The lanes of a problem.
    pub fn all(
        ends: &'a Ends,
        known: &RoundKnowledge,
        states: u64,
        seed: u64,
        tuning: &'a OrderTuning,
    ) -> Vec<OrderLane<'a>> {
        let caught = ends.caught(known.bound);
        let both = [Direction::Forward, Direction::Backward];
        let how = How {
            known: &known.order,
            bound: known.bound,
            cap: known.cap(),
            tuning,
        };
        let exact = both.map(|direction| {
            let level = ends.level(direction, &caught, how);
            OrderLane::Exact(Exact {
                ends,
                direction,
                caught: caught.clone(),
                level,
                is_full: false,
                states,
            })
        });
        let dives = both.map(|direction| {
            OrderLane::Dive(Dive {
                ends,
                tuning,
                direction,
                at: 0,
                states: FIRST_STATES,
                open: None,
            })
        });
        let beams = Beams::new(ends, tuning);
        let windows = Windows::new(ends, seed, FIRST_STATES, tuning);
        exact
            .into_iter()
            .chain(dives)
            .chain([OrderLane::Windows(windows), OrderLane::Beams(beams)])
            .collect()
    }

    /// Returns whether the lane is exact.
    pub fn is_exact(&self) -> bool {
        matches!(self, OrderLane::Exact(_))
    }

    /// Returns whether the lane has work left.
    pub fn is_open(&self) -> bool {
        match self {
            OrderLane::Exact(exact) => !exact.is_full,
            OrderLane::Dive(_) | OrderLane::Beams(_) => true,
            OrderLane::Windows(windows) => windows.is_open(),
        }
    }

    /// Does a round.
    pub fn round(
        &mut self,
        known: &RoundKnowledge,
        states: u64,
        is_over: &dyn Fn() -> bool,
    ) -> News {
        match self {
            OrderLane::Exact(exact) => exact.round(known, states, is_over),
            OrderLane::Dive(dive) => dive.round(known, states, is_over),
            OrderLane::Windows(windows) => windows.round(known, states, is_over),
            OrderLane::Beams(beams) => beams.round(known, states, is_over),
        }
    }
}

impl Exact<'_> {
    fn round(&mut self, known: &RoundKnowledge, states: u64, is_over: &dyn Fn() -> bool) -> News {
        self.level.raise(known.bound);
        self.level.cap(known.cap());
        let before = self.level.expanded;
        let states = states.min(self.states.saturating_sub(before));
        let pause = self.level.work(states, is_over);
        self.is_full = pause == Pause::Full || self.level.expanded >= self.states;
        let order = self.level.order();
        let order = order.map(|order| self.ends.whole(self.direction, &self.caught, order));
        News {
            order: order.map(|order| (order, FoundBy::Level)),
            bound: self.level.bound(),
            states: self.level.expanded - before,
        }
    }
}

impl<'a> Dive<'a> {
    fn round(&mut self, known: &RoundKnowledge, states: u64, is_over: &dyn Fn() -> bool) -> News {
        let mut news = News::default();
        while news.states < states && news.order.is_none() && !is_over() {
            let (level, caught) = match self.open.take() {
                Some(open) => open,
                None => self.begin(known),
            };
            let mut level = level;
            let before = level.expanded;
            let left = self.states.saturating_sub(before).min(states - news.states);
            let pause = level.work(left.max(1), is_over);
            news.states += (level.expanded - before).max(1);
            match pause {
                Pause::Found => {
                    let order = level.order().unwrap_or_default();
                    let order = self.ends.whole(self.direction, &caught, order);
                    news.order = Some((order, FoundBy::Level));
                    self.at = 0;
                }
                Pause::Exhausted => {
                    news.bound = news.bound.max(level.bound());
                    return news;
                }
                Pause::Worked if level.expanded < self.states => {
                    self.open = Some((level, caught));
                }
                Pause::Worked | Pause::Full => self.next(),
            }
        }
        news
    }

    /// Goes on to the next fraction; after the last one, to the first with twice the states.
    fn next(&mut self) {
        self.at += 1;
        if self.at == FRACTIONS.len() {
            self.at = 0;
            self.states *= 2;
        }
    }

    fn begin(&self, known: &RoundKnowledge) -> (Level<'a>, Caught) {
        let (part, whole) = FRACTIONS[self.at];
        let way = known.cap().saturating_sub(known.bound);
        let level = known.bound + (u128::from(way) * u128::from(part) / u128::from(whole)) as u64;
        let caught = self.ends.caught(level);
        let how = How {
            known: &known.order,
            bound: level,
            cap: level,
            tuning: self.tuning,
        };
        let search = self.ends.level(self.direction, &caught, how);
        (search, caught)
    }
}

/// Does a round of the open lanes on so many threads. News are in the order of lanes.
pub(super) fn round(
    lanes: &mut [&mut OrderLane<'_>],
    known: &RoundKnowledge,
    states: u64,
    threads: usize,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Vec<News> {
    let count = lanes.len();
    let mut news: Vec<Option<News>> = vec![None; count];
    let share = count.div_ceil(threads.max(1));
    let work = |lanes: &mut [&mut OrderLane<'_>], news: &mut [Option<News>]| {
        for (lane, news) in lanes.iter_mut().zip(news) {
            *news = Some(lane.round(known, states, is_over));
        }
    };
    thread::scope(|scope| {
        let mut parts = lanes
            .chunks_mut(share.max(1))
            .zip(news.chunks_mut(share.max(1)));
        let mine = parts.next();
        let others: Vec<_> = parts
            .map(|(lanes, news)| {
                let spawned = thread::Builder::new().spawn_scoped(scope, move || work(lanes, news));
                spawned.map_err(|_| ())
            })
            .collect();
        if let Some((lanes, news)) = mine {
            work(lanes, news);
        }
        for other in others.into_iter().flatten() {
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
    // Lanes for which no thread could be started.
    for (lane, news) in lanes.iter_mut().zip(&mut news) {
        if news.is_none() {
            *news = Some(lane.round(known, states, is_over));
        }
    }
    news.into_iter().flatten().collect()
}
