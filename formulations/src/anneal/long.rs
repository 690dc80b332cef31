//! Long runs: one for each thread with a large share of the time, where the limit of time cuts the
//! runs of rounds short and the best schedule costs far more than is proven.
//!
//! Near the least budget of a general graph every recomputation drags others along, a move takes
//! long, and a run of a round is over before it is cold. One slow run from a high temperature then
//! finds what eight fast ones do not ([094](../../../docs/decisions/094-long-runs.md)).

use super::chain::{ChainSettings, Found};
use super::landscape::Landscape;
use super::observer::Observer;
use rayon::prelude::*;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Share of the time that the runs of a round were given which it must have taken for them to count
/// as cut short.
const CUT_SHARE: f64 = 0.8;
/// Share of the time limit that a long run gets.
const TIME_SHARE: f64 = 0.4;
/// Moves for each node from which on they count as many. Of 500 nodes 4,700 from the higher
/// temperature found nothing, and 6,000 found more than from the lower one.
const MANY_MOVES_PER_NODE: f64 = 6_000.0;
/// Factor on the first temperature of every second run.
const COOLER: f64 = 0.3;
/// Last temperature, in mean node costs.
const LAST_TEMPERATURE: f64 = 0.001;
/// Random streams of long runs begin here, apart from those of rounds.
const FIRST_STREAM: u64 = 1 << 48;

/// Long runs of a search, and whether they are due.
pub(super) struct LongRuns<'a> {
    observer: &'a dyn Observer,
    calls: u64,
    due: bool,
    /// Moves that runs of rounds have reported, and the time these took, of all threads.
    moves: AtomicU64,
    time: Duration,
}

impl<'a> LongRuns<'a> {
    /// None yet.
    pub fn new(observer: &'a dyn Observer) -> Self {
        LongRuns {
            observer,
            calls: 0,
            due: false,
            moves: AtomicU64::new(0),
            time: Duration::ZERO,
        }
    }

    /// Begins a round of runs beside which moves are counted.
    pub fn round<T>(
        &mut self,
        lanes: usize,
        time: Option<Duration>,
        work: impl FnOnce(&dyn Observer) -> T,
    ) -> T {
        let began = Instant::now();
        let out = work(&Counting(self));
        let took = began.elapsed();
        let threads = rayon::current_num_threads();
        self.time += took * threads as u32;
        let given = time.map(|time| time * lanes.div_ceil(threads) as u32);
        self.due = given.is_some_and(|given| took >= given.mul_f64(CUT_SHARE));
        out
    }

    /// Takes note of whether the last long runs found something better.
    pub fn note(&mut self, found: bool) {
        self.due = found;
    }

    /// Returns whether long runs are due.
    pub fn is_due<L: Landscape>(&self, graph: &L) -> bool {
        self.due && graph.long_run_hot().is_some() && self.observer.is_far()
    }

    /// One run for each thread of the current rayon pool, from given retained sets, within a share
    /// of the time limit and what is left of it; they end early once the schedule is no longer far
    /// from the bound. Returns what fits, and the moves.
    pub fn run<L: Landscape<Sets = BitMatrix>>(
        &mut self,
        graph: &L,
        start: &BitMatrix,
        seed: u64,
        [limit, left]: [Duration; 2],
    ) -> (Vec<Found>, u64) {
        let Some(temperatures) = graph.long_run_hot() else {
            return (Vec::new(), 0);
        };
        let lanes = rayon::current_num_threads() as u64;
        let time = limit.mul_f64(TIME_SHARE).min(left);
        let share = time.as_secs_f64() / self.time.as_secs_f64().max(1e-9);
        let moves = self.moves.load(Ordering::Relaxed) as f64 * share;
        let many = moves >= MANY_MOVES_PER_NODE * graph.nodes() as f64;
        let observer = WhileFar {
            observer: self.observer,
            moves: AtomicU64::new(0),
        };
        let run = |lane: u64| {
            let random = Xoshiro256::new(seed, FIRST_STREAM + self.calls * lanes + lane);
            let cooler = if (self.calls + lane) % 2 == 1 {
                COOLER
            } else {
                1.0
            };
            let run = ChainSettings {
                moves: u64::MAX,
                hot: temperatures[usize::from(many)] * cooler,
                cold: LAST_TEMPERATURE,
                target: 0,
                time: Some(time),
                seek: None,
            };
            graph.anneal(start, random, run, &observer)
        };
        let found: Vec<Option<Found>> = (0..lanes).into_par_iter().map(run).collect();
        self.calls += 1;
        let moves = observer.moves.into_inner();
        (found.into_iter().flatten().collect(), moves)
    }
}

/// The observer of a search; counts moves.
struct Counting<'a, 'b>(&'b LongRuns<'a>);

impl Observer for Counting<'_, '_> {
    fn is_over(&self) -> bool {
        self.0.observer.is_over()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.0.moves.fetch_add(moves, Ordering::Relaxed);
        self.0.observer.report(moves, best);
    }
}

/// Another observer, as long as the best schedule is far from the bound; counts moves.
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

#[cfg(test)]
mod tests {
    use super::super::CheckmateLandscape;
    use super::super::landscape::Walk;
    use super::*;
    use crate::baselines::fixtures::layered;
    use remat_instances::schedule::CheckmateSchedule;
    use remat_instances::simulate;

    struct Far(bool);

    impl Observer for Far {
        fn is_far(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn long_runs_follow_rounds_that_are_cut_short_as_long_as_the_bound_is_far() {
        let instance = layered(12, 6, 1);
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
        let graph = CheckmateLandscape::new(&instance, peak);
        let start = all.retained.to_bits();
        let limits = [Duration::from_millis(50); 2];
        for far in [true, false] {
            let observer = Far(far);
            let mut long = LongRuns::new(&observer);
            assert!(!long.is_due(&graph));
            long.round(1, None, |_| ());
            assert!(!long.is_due(&graph), "without a limit");
            long.round(1, Some(Duration::from_secs(9)), |runs| runs.report(7, None));
            assert!(!long.is_due(&graph), "done before its time");
            long.round(1, Some(Duration::ZERO), |_| ());
            assert_eq!(long.is_due(&graph), far);
            assert_eq!(long.moves.load(Ordering::Relaxed), 7);
            let (found, moves) = long.run(&graph, &start, 1, limits);
            assert_eq!(moves > 0, far);
            // Everything is kept, which fits, and nothing is cheaper.
            let cost = graph.walk(&start).cost();
            assert!(!found.is_empty() && found.iter().all(|f| f.cost == cost));
            long.note(false);
            assert!(!long.is_due(&graph));
        }
    }
}
