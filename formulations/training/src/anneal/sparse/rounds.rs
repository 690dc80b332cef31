//! Rounds of runs over stretches side by side, merged at barriers.

use super::super::graph::CheckmateLandscape;
use super::state::SparseState;
use super::stretch::{Changes, TensorStretch};
use rayon::prelude::*;
use remat_instances::schedule::StageRuns;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{ChainSettings, Landscape, Observer, StretchSettings, Until};
use std::time::Instant;

/// Runs in a round if the work is fixed, so that the answer does not depend on the number of
/// threads. With a time limit there is one for each thread, if these are more.
const LANES: usize = 8;
/// First temperatures in mean costs of the stretch's tensors, and the last one.
const HOT: [f64; 4] = [0.01, 0.1, 0.03, 0.3];
const COLD: f64 = 0.001;
/// Windows of a stretch and nodes of each.
const WINDOWS: [[u32; 2]; 4] = [[1, 128], [2, 64], [8, 16], [32, 4]];
/// Moves of a run for each tensor of its stretch.
const MOVES_PER_TENSOR: u64 = 128;

/// Outcome of rounds over stretches.
#[derive(Clone, Debug)]
pub struct Stretched {
    /// Cost of the sets.
    pub cost: u64,
    /// The retained sets, shape `n x n`.
    pub retained: StageRuns,
    /// Moves that the runs were given.
    pub moves: u64,
    /// Rounds.
    pub rounds: u64,
}

/// Improves retained sets that fit, stretch by stretch. Each run of a round anneals a few windows
/// of the graph at low temperatures and leaves all others as they are. The results of a round are
/// merged in the order of the runs, as far as the sets fit and cost less. `None` if the given sets
/// do not fit.
pub fn improve(
    graph: &CheckmateLandscape,
    retained: &StageRuns,
    settings: &StretchSettings,
    observer: &dyn Observer,
) -> Option<Stretched> {
    let mut state = SparseState::new(graph, retained);
    if state.excess() > 0.0 {
        return None;
    }
    let deadline = settings
        .time
        .and_then(|time| Instant::now().checked_add(time));
    let until = Until { observer, deadline };
    let byte_price = graph.byte_price();
    let lanes = match settings.time {
        Some(_) => LANES.max(rayon::current_num_threads()),
        None => LANES,
    };
    let (mut rounds, mut moves) = (0, 0);
    while rounds < settings.rounds && !until.is_over() && state.cost() > settings.target as f64 {
        let run = |lane: usize| {
            let number = rounds * lanes as u64 + lane as u64;
            let mut random = Xoshiro256::new(settings.seed, number);
            let windows = WINDOWS[number as usize % WINDOWS.len()];
            let stretch = TensorStretch::new(graph, &state, byte_price, windows, &mut random)?;
            let run = ChainSettings {
                moves: MOVES_PER_TENSOR * stretch.len() as u64,
                hot: HOT[(number as usize / WINDOWS.len()) % HOT.len()],
                cold: COLD,
                target: settings.target,
                time: None,
                seek: None,
            };
            let found = stretch.anneal(&Changes::new(), random, run, &until)?;
            let is_better = (found.cost as f64) < state.cost();
            Some((run.moves, is_better.then_some(found.retained)))
        };
        let found: Vec<_> = (0..lanes).into_par_iter().map(run).collect();
        for (given, changes) in found.into_iter().flatten() {
            moves += given;
            if let Some(changes) = changes {
                take(&mut state, &changes);
            }
        }
        rounds += 1;
        observer.report(0, Some(state.cost() as u64));
    }
    state.resum();
    Some(Stretched {
        cost: state.cost() as u64,
        retained: state.retained(),
        moves,
        rounds,
    })
}

/// Takes over changes if the sets then fit and cost less.
fn take(state: &mut SparseState<'_>, changes: &Changes) {
    let cost = state.cost();
    let old = |(tensor, _): &(u32, _)| (*tensor, state.runs(*tensor as usize).to_vec());
    let before: Changes = changes.iter().map(old).collect();
    for (tensor, runs) in changes {
        state.set_runs(*tensor, runs);
    }
    if state.excess() > 0.0 || state.cost() >= cost {
        for (tensor, runs) in &before {
            state.set_runs(*tensor, runs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anneal::CheckmateState;
    use crate::anneal::moves::{CheckmateProposer, RetainedSets};
    use crate::baselines::dtr;
    use crate::baselines::fixtures::{residual, small_dag};
    use proptest::prelude::*;
    use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
    use remat_instances::simulate;
    use remat_search::Patience;

    proptest! {
        #[test]
        fn runs_and_bits_see_the_same(
            instance in small_dag(14),
            kept in prop::collection::vec(any::<bool>(), 196),
            seed in any::<u64>(),
            capacity in 1..60u64,
        ) {
            let n = instance.len();
            let graph = CheckmateLandscape::new(&instance, capacity);
            let mut bits = BitMatrix::new(n, n);
            for t in 1..n {
                (0..t).for_each(|i| bits.set(t, i, kept[14 * t + i]));
            }
            if n < 2 {
                return Ok(());
            }
            let mut dense = CheckmateState::new(&graph, &bits);
            let mut sparse = SparseState::new(&graph, &StageRuns::from(&bits));
            let proposer = CheckmateProposer::new(&graph);
            let mut random = [seed; 2].map(|seed| Xoshiro256::new(seed, 0));
            // Excess has weights from the sixtieth flip on. Three rises multiply a weight by at most
            // 37, so the rounding of 28 sums of such terms stays below 1e-9. Twenty would reach e^24,
            // where terms that cancel leave 1e-4.
            for k in 0..80 {
                let flip = proposer.anywhere(&dense, &mut random[0]);
                prop_assert_eq!(flip, proposer.anywhere(&sparse, &mut random[1]));
                let Some(flip) = flip else { continue };
                if [60, 67, 74].contains(&k) {
                    dense.press(0.1);
                    sparse.press(0.1);
                }
                let [delta, other] = [dense.evaluate(flip), sparse.evaluate(flip)];
                if k < 60 {
                    prop_assert_eq!(delta, other);
                }
                // Weights are summed in another order.
                prop_assert_eq!(delta.cost, other.cost);
                let apart = (delta.excess - other.excess).abs();
                prop_assert!(apart <= 1e-9 * delta.excess.abs().max(1.0));
                for release in [false, true] {
                    let (i, t) = (flip.tensor as usize, flip.to as usize);
                    let followed = proposer.following(&dense, i, t, release);
                    prop_assert_eq!(followed, proposer.following(&sparse, i, t, release));
                }
                if k % 3 > 0 {
                    dense.apply(flip);
                    sparse.apply(flip);
                }
                prop_assert_eq!((dense.cost(), dense.excess()), (sparse.cost(), sparse.excess()));
                for t in 0..n {
                    prop_assert_eq!(dense.touched(t), sparse.touched(t));
                    prop_assert_eq!(dense.peak(t), sparse.peak(t));
                }
                prop_assert_eq!(&StageRuns::from(dense.retained()), &sparse.retained());
            }
            // All runs at once, back to the first sets.
            (0..n as u32).for_each(|i| sparse.set_runs(i, StageRuns::from(&bits).runs(i as usize)));
            prop_assert_eq!(StageRuns::from(&bits), sparse.retained());
            let anew = CheckmateState::new(&graph, &bits);
            prop_assert_eq!((anew.cost(), anew.excess()), (sparse.cost(), sparse.excess()));
        }
    }

    /// A plan for less memory than the budget: dropped tensors can be kept again.
    #[test]
    fn stretches_make_plans_better_on_any_number_of_threads() {
        let instance = residual(30);
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let budget = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
        let first = dtr::run(&instance, budget * 8 / 10, Patience::ENDLESS).unwrap();
        let before = simulate::checkmate(&instance, &first).unwrap();
        assert!(before.peak_bytes <= budget && before.cost > instance.base_cost());
        let graph = CheckmateLandscape::new(&instance, budget);
        let settings = StretchSettings {
            seed: 1,
            rounds: 1,
            time: None,
            target: 0,
        };
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let work = || improve(&graph, &first.retained, &settings, &()).unwrap();
            pool.unwrap().install(work)
        });
        assert_eq!(found[0].retained, found[1].retained);
        let [found, _] = found;
        let schedule = CheckmateSchedule::cheapest(&instance, found.retained);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        assert_eq!(replay.cost, found.cost);
        assert!(replay.peak_bytes <= budget && replay.cost < before.cost);
    }
}
