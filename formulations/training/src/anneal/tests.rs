//! Runs of the annealing on graphs.

use super::CheckmateLandscape;
use crate::baselines::fixtures::layered;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_search::anneal::{
    ChainSettings, Landscape, LongRuns, Observer, POLISH_RUNS, PolishSettings, Population,
    SEEK_FROM, Walk, Xoshiro256, polish,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn runs_that_seek_come_down_to_tight_budgets() {
    for seed in 0..6 {
        let instance = layered(20, 8, seed);
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
        let budget = peak * 62 / 100;
        let run = ChainSettings {
            moves: 1 << 19,
            hot: 0.3,
            cold: 0.05,
            target: 0,
            time: None,
            seek: Some(SEEK_FROM),
        };
        let graph = CheckmateLandscape::new(&instance, budget);
        let found = graph.anneal(&all.retained.to_bits(), Xoshiro256::new(0, 0), run, &());
        let found = found.unwrap_or_else(|| panic!("graph {seed}: nothing fits"));
        let schedule = CheckmateSchedule::cheapest(&instance, found.retained);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        assert!(replay.peak_bytes <= budget, "graph {seed}");
        assert_eq!(replay.cost, found.cost, "graph {seed}");
    }
}

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
    let limits = [Duration::from_secs(2); 2];
    for far in [true, false] {
        let observer = Far(far);
        let mut long = LongRuns::new(&observer);
        assert!(!long.is_due(&graph));
        let second = Duration::from_secs(1);
        long.note_round(1, None, second);
        assert!(!long.is_due(&graph), "without a limit");
        long.note_round(1, Some(9 * second), second);
        assert!(!long.is_due(&graph), "done before its time");
        long.note_round(1, Some(second), second);
        assert_eq!(long.is_due(&graph), far);
        // First a fresh run, then one from its result. The full sets fit, and no sets are cheaper.
        let cost = graph.walk(&start).cost();
        let mut population = Population::default();
        for _ in 0..2 {
            let (found, moves) = long.run(&graph, &start, &population, 1, limits);
            assert_eq!([moves > 0, !found.is_empty()], [far; 2]);
            assert!(found.iter().all(|f| f.cost == cost));
            found.into_iter().for_each(|f| population.admit(f));
        }
        long.note(false);
        assert!(!long.is_due(&graph));
    }
}

/// Counts moves.
struct Moves(AtomicU64);

impl Observer for Moves {
    fn report(&self, moves: u64, _: Option<u64>) {
        self.0.fetch_add(moves, Ordering::Relaxed);
    }
}

#[test]
fn runs_whose_time_is_over_end_with_what_fits() {
    let instance = layered(12, 6, 1);
    let all = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
    let graph = CheckmateLandscape::new(&instance, peak);
    let polished = |time| {
        let settings = PolishSettings {
            moves: 1 << 16,
            time,
            seek: false,
            seed: 3,
            stream: 0,
        };
        let moves = Moves(AtomicU64::new(0));
        let starts = [all.retained.to_bits()];
        let found = polish(&graph, &starts, &settings, &moves);
        // The full sets fit, and no sets are cheaper.
        let cost = graph.walk(&starts[0]).cost();
        assert!(found.iter().all(|f| f.cost == cost));
        assert_eq!(found.len(), POLISH_RUNS);
        moves.0.into_inner()
    };
    let (all, few) = (polished(None), polished(Some(Duration::ZERO)));
    assert!(few < all / 8, "{few} moves of {all}");
}
