//! Long runs: one for each thread with a share of the time. They follow if the time limit cuts the
//! runs of rounds short and the best schedule costs far more than the bound.
//!
//! Near the least budget of a general graph every recomputation drags others along, a move takes
//! long, and a run of a round is over before it is cold. The end of a run depends most on the first
//! schedule that fits: some threads start afresh again and again, the others go on from the best
//! ([095](../../../docs/inside/decisions/095-starts-near-the-least-budget.md)).

use super::chain::{ChainSettings, Found, LAST_TEMPERATURE, SEEK_COLD, SEEK_FROM, SEEK_HOT};
use super::landscape::Landscape;
use super::observer::Observer;
use super::population::Population;
use rayon::prelude::*;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Share of the time of its runs that a round must have taken for them to count as cut short.
const CUT_SHARE: f64 = 0.8;
/// Share of the time limit for long runs: the first share, its factor after a call without success,
/// and its limit.
const FIRST_SHARE: f64 = 0.1;
const SHARE_FACTOR: f64 = 1.5;
const MOST_SHARE: f64 = 0.4;
/// Share of the time limit up to which some threads start afresh.
const FRESH_SHARE: f64 = 0.5;
/// Moves for each node of a start that seeks, and of the run from its schedule.
const SEEK_MOVES_PER_NODE: u64 = 640;
const RUN_MOVES_PER_NODE: u64 = 3_000;
/// Factor on the first temperature of every second run.
const COOLER: f64 = 0.3;
/// First random stream of long runs, apart from the streams of rounds.
const FIRST_STREAM: u64 = 1 << 48;
/// Bits by which the numbers of a call and of a lane are shifted in a stream.
const CALL_SHIFT: u32 = 24;
const LANE_SHIFT: u32 = 12;

/// Long runs of a search, and whether they are due.
pub struct LongRuns<'a> {
    observer: &'a dyn Observer,
    calls: u64,
    share: f64,
    due: bool,
}

impl<'a> LongRuns<'a> {
    /// The state before the first long run.
    pub fn new(observer: &'a dyn Observer) -> Self {
        LongRuns {
            observer,
            calls: 0,
            share: FIRST_SHARE,
            due: false,
        }
    }

    /// Records a round: the number of its lanes, the time given to each of them, and the time
    /// taken.
    pub fn note_round(&mut self, lanes: usize, given: Option<Duration>, took: Duration) {
        let waves = lanes.div_ceil(rayon::current_num_threads()) as u32;
        self.due = given.is_some_and(|given| took >= (given * waves).mul_f64(CUT_SHARE));
    }

    /// Records whether the last long runs found a better schedule. After a call without success,
    /// the next one is longer and due after another round.
    pub fn note(&mut self, found: bool) {
        self.due = found;
        if !found {
            self.share = (SHARE_FACTOR * self.share).min(MOST_SHARE);
        }
    }

    /// Returns whether long runs are due.
    pub fn is_due<L: Landscape>(&self, graph: &L) -> bool {
        self.due && graph.long_run_hot().is_some() && self.observer.is_far()
    }

    /// One lane for each thread of the current rayon pool, within a share of the time limit and the
    /// time left. Lanes end early when the schedule is no longer far from the bound. In the first
    /// part of the time every second lane starts afresh, as often as there is time for; the others
    /// go on from the best schedules. Returns schedules that fit, and the moves.
    pub fn run<L: Landscape<Sets = BitMatrix>>(
        &mut self,
        graph: &L,
        everything: &BitMatrix,
        population: &Population,
        seed: u64,
        [limit, left]: [Duration; 2],
    ) -> (Vec<Found>, u64) {
        let Some(hot) = graph.long_run_hot() else {
            return (Vec::new(), 0);
        };
        let observer = WhileFar {
            observer: self.observer,
            moves: AtomicU64::new(0),
        };
        let time = limit.mul_f64(self.share).min(left);
        let fresh = limit.saturating_sub(left) < limit.mul_f64(FRESH_SHARE);
        let lanes = rayon::current_num_threads() as u64;
        let run = |lane: u64| {
            let turn = self.calls + lane;
            let work = LongLane {
                graph,
                hot: match turn / 2 % 2 {
                    0 => hot,
                    _ => COOLER * hot,
                },
                seed,
                stream: FIRST_STREAM + (self.calls << CALL_SHIFT) + (lane << LANE_SHIFT),
                deadline: Instant::now() + time,
                observer: &observer,
            };
            match population.member(lane as usize / 2) {
                Some(from) if turn % 2 == 1 || !fresh => {
                    work.go_on(&from.retained).into_iter().collect()
                }
                _ => work.start_afresh(everything),
            }
        };
        let found: Vec<Vec<Found>> = (0..lanes).into_par_iter().map(run).collect();
        self.calls += 1;
        let moves = observer.moves.into_inner();
        (found.into_iter().flatten().collect(), moves)
    }
}

/// The work of a thread.
struct LongLane<'a, L> {
    graph: &'a L,
    /// First temperature of runs from a schedule that fits.
    hot: f64,
    seed: u64,
    /// Its first random stream.
    stream: u64,
    deadline: Instant,
    observer: &'a WhileFar<'a>,
}

impl<L: Landscape<Sets = BitMatrix>> LongLane<'_, L> {
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// One run from a schedule that fits, as long as there is time.
    fn go_on(&self, from: &BitMatrix) -> Option<Found> {
        let random = Xoshiro256::new(self.seed, self.stream);
        let run = self.settings(u64::MAX, self.hot, LAST_TEMPERATURE, None);
        self.graph.anneal(from, random, run, self.observer)
    }

    /// Starts that seek, each with a run from its schedule, as often as there is time for.
    fn start_afresh(&self, everything: &BitMatrix) -> Vec<Found> {
        let nodes = self.graph.nodes() as u64;
        let mut found = Vec::new();
        for number in 0..1 << LANE_SHIFT {
            if self.left().is_zero() || self.observer.is_over() {
                break;
            }
            let random = Xoshiro256::new(self.seed, self.stream + number);
            let seek = self.settings(
                SEEK_MOVES_PER_NODE * nodes,
                SEEK_HOT,
                SEEK_COLD,
                Some(SEEK_FROM),
            );
            let Some(first) = self.graph.anneal(everything, random, seek, self.observer) else {
                continue;
            };
            let random = Xoshiro256::new(self.seed ^ 1, self.stream + number);
            let run = self.settings(RUN_MOVES_PER_NODE * nodes, self.hot, LAST_TEMPERATURE, None);
            found.extend(
                self.graph
                    .anneal(&first.retained, random, run, self.observer),
            );
            found.push(first);
        }
        found
    }

    fn settings(&self, moves: u64, hot: f64, cold: f64, seek: Option<f64>) -> ChainSettings {
        ChainSettings {
            moves,
            hot,
            cold,
            target: 0,
            time: Some(self.left()),
            seek,
        }
    }
}

/// Forwards to another observer while the best schedule is far from the bound; counts moves.
struct WhileFar<'a> {
    observer: &'a dyn Observer,
    moves: AtomicU64,
}

impl Observer for WhileFar<'_> {
    fn is_over(&self) -> bool {
        self.observer.is_over() || !self.observer.is_far()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
        self.observer.report(moves, best);
    }
}
