//! Short cold runs from schedules that are nearly good: rounded relaxations.

use super::chain::{ChainSettings, Found, SEEK_FROM};
use super::landscape::Landscape;
use super::random::Random;
use super::watch::Watch;
use crate::schedule::BitMatrix;
use rayon::prelude::*;

/// First temperatures, in mean node costs. The coldest runs stay where the relaxation is, the others leave it to repair
/// what rounding broke; which of them wins differs from instance to instance.
const HOT: [f64; 4] = [0.001, 0.01, 0.03, 0.1];
const COLD: f64 = 0.001;

/// Moves of a run, for each node of the graph.
pub const POLISH_MOVES_PER_NODE: u64 = 1 << 11;
/// Runs of a call of [`polish`] for each start.
pub const POLISH_RUNS: usize = HOT.len();

/// Anneals from each start (retained sets, whether they fit or not), at several low temperatures, `moves`
/// moves a run, in the current rayon pool. Returns what fits, in the order of starts and temperatures; `stream` numbers
/// the random streams, so that calls differ.
pub fn polish<L: Landscape>(
    graph: &L,
    starts: &[BitMatrix],
    moves: u64,
    seed: u64,
    stream: u64,
    stop: &(dyn Fn() -> bool + Sync),
    watch: &Watch,
) -> Vec<Found> {
    let runs: Vec<(usize, f64)> = (0..starts.len())
        .flat_map(|s| HOT.map(|hot| (s, hot)))
        .collect();
    // Where no schedule is known that fits, what the relaxation retains is far from one.
    let seek = watch.best().is_none().then_some(SEEK_FROM);
    let found: Vec<Option<Found>> = runs
        .par_iter()
        .enumerate()
        .map(|(k, &(s, hot))| {
            // Streams of their own, apart from those of the rounds.
            let random = Random::new(!seed, stream.wrapping_mul(1024) + k as u64);
            let run = ChainSettings {
                moves,
                hot,
                cold: COLD,
                target: 0,
                time: None,
                seek,
            };
            graph.anneal(&starts[s], random, run, &|| stop(), watch)
        })
        .collect();
    found.into_iter().flatten().collect()
}
