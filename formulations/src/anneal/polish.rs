//! Short cold runs from schedules that are nearly good: rounded relaxations.

use super::chain::{ChainSettings, Found, SEEK_FROM};
use super::landscape::Landscape;
use super::watch::Watch;
use rayon::prelude::*;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::time::Duration;

/// First temperatures, in mean node costs. The coldest runs stay where the relaxation is, the others leave it to repair
/// what rounding broke; which of them wins differs from instance to instance.
const HOT: [f64; 4] = [0.001, 0.01, 0.03, 0.1];
const COLD: f64 = 0.001;

/// Moves of a run, for each node of the graph.
pub const POLISH_MOVES_PER_NODE: u64 = 1 << 11;
/// Runs of a call of [`polish`] for each start.
pub const POLISH_RUNS: usize = HOT.len();

/// How much to polish.
#[derive(Clone, Copy, Debug)]
pub struct PolishSettings {
    /// Moves of a run.
    pub moves: u64,
    /// Time for all runs together; those that it ends early are cold by then.
    pub time: Option<Duration>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the random streams, so that calls differ.
    pub stream: u64,
}

/// Anneals from each start (retained sets, whether they fit or not), at several low temperatures, in the current rayon pool.
/// Returns what fits, in the order of starts and temperatures.
pub fn polish<L: Landscape>(
    graph: &L,
    starts: &[BitMatrix],
    settings: &PolishSettings,
    stop: &(dyn Fn() -> bool + Sync),
    watch: &Watch,
) -> Vec<Found> {
    let runs: Vec<(usize, f64)> = (0..starts.len())
        .flat_map(|s| HOT.map(|hot| (s, hot)))
        .collect();
    let waves = runs.len().div_ceil(rayon::current_num_threads()).max(1);
    let time = settings.time.map(|time| time / waves as u32);
    // Where no schedule is known that fits, what the relaxation retains is far from one.
    let seek = watch.best().is_none().then_some(SEEK_FROM);
    let found: Vec<Option<Found>> = runs
        .par_iter()
        .enumerate()
        .map(|(k, &(s, hot))| {
            // Streams of their own, apart from those of the rounds.
            let stream = settings.stream.wrapping_mul(1024) + k as u64;
            let random = Xoshiro256::new(!settings.seed, stream);
            let run = ChainSettings {
                moves: settings.moves,
                hot,
                cold: COLD,
                target: 0,
                time,
                seek,
            };
            graph.anneal(&starts[s], random, run, &|| stop(), watch)
        })
        .collect();
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use super::super::landscape::Walk;
    use super::*;
    use crate::baselines::fixtures::layered;
    use remat_instances::schedule::CheckmateSchedule;
    use remat_instances::simulate;

    #[test]
    fn runs_whose_time_is_over_end_with_what_fits() {
        let instance = layered(12, 6, 1);
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
        let graph = Graph::new(&instance, peak);
        let polished = |time| {
            let watch = Watch::default();
            let settings = PolishSettings {
                moves: 1 << 16,
                time,
                seed: 3,
                stream: 0,
            };
            let starts = [all.retained.clone()];
            let found = polish(&graph, &starts, &settings, &|| false, &watch);
            // Everything is kept, which fits, and nothing is cheaper.
            let cost = graph.walk(&all.retained).cost();
            assert!(found.iter().all(|f| f.cost == cost));
            assert_eq!(found.len(), POLISH_RUNS);
            watch.moves()
        };
        let (all, few) = (polished(None), polished(Some(Duration::ZERO)));
        assert!(few < all / 8, "{few} moves of {all}");
    }
}
