//! Short cold runs from schedules that are nearly good: rounded relaxations.

use super::chain::{ChainSettings, Found, LAST_TEMPERATURE, SEEK_FROM};
use super::landscape::Landscape;
use super::observer::Observer;
use rayon::prelude::*;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::time::Duration;

/// First temperatures, in mean node costs. The coldest runs stay near the relaxation. The others
/// leave it to repair errors of rounding. The best temperature differs from instance to instance.
const FIRST_TEMPERATURES: [f64; 4] = [0.001, 0.01, 0.03, 0.1];

/// Moves of a run, for each node of the graph.
pub const POLISH_MOVES_PER_NODE: u64 = 1 << 11;
/// Runs of a call of [`polish`] for each start.
pub const POLISH_RUNS: usize = FIRST_TEMPERATURES.len();

/// Settings of polishing.
#[derive(Clone, Copy, Debug)]
pub struct PolishSettings {
    /// Moves of a run.
    pub moves: u64,
    /// Time for all runs together; runs that it ends early are cold by then.
    pub time: Option<Duration>,
    /// True if runs seek a schedule that fits: before the first one is known, the retained sets of
    /// a relaxation are far from fitting.
    pub seek: bool,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the random streams, so that calls differ.
    pub stream: u64,
}

/// Anneals from each start (retained sets, whether they fit or not), at several low temperatures,
/// in the current rayon pool. Returns schedules that fit, in the order of starts and temperatures.
pub fn polish<L: Landscape<Sets = BitMatrix>>(
    graph: &L,
    starts: &[BitMatrix],
    settings: &PolishSettings,
    observer: &dyn Observer,
) -> Vec<Found> {
    let runs: Vec<(usize, f64)> = (0..starts.len())
        .flat_map(|s| FIRST_TEMPERATURES.map(|hot| (s, hot)))
        .collect();
    let waves = runs.len().div_ceil(rayon::current_num_threads()).max(1);
    let time = settings.time.map(|time| time / waves as u32);
    let seek = settings.seek.then_some(SEEK_FROM);
    let found: Vec<Option<Found>> = runs
        .par_iter()
        .enumerate()
        .map(|(k, &(s, hot))| {
            // Random streams apart from the streams of the rounds.
            let stream = settings.stream.wrapping_mul(1024) + k as u64;
            let random = Xoshiro256::new(!settings.seed, stream);
            let run = ChainSettings {
                moves: settings.moves,
                hot,
                cold: LAST_TEMPERATURE,
                target: 0,
                time,
                seek,
            };
            graph.anneal(&starts[s], random, run, observer)
        })
        .collect();
    found.into_iter().flatten().collect()
}
