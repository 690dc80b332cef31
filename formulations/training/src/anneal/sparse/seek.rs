//! First sets that fit, from sets that nearly do.

use super::super::graph::CheckmateLandscape;
use super::super::moves::CheckmateProposer;
use super::state::SparseState;
use rayon::prelude::*;
use remat_instances::schedule::StageRuns;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{
    ChainSettings, Delta, Flip, Found, Landscape, Observer, SEEK_FROM, Walk,
};
use std::time::Duration;

/// Runs side by side if the work is fixed, so that the answer does not depend on the number of
/// threads. With a time limit there is at most one for each thread.
const LANES: usize = 2;
/// Moves of a run for each node; with a time limit, the run lasts until that ends.
const MOVES_PER_NODE: u64 = 640;
/// First and last temperature, in mean node costs: low, so that good parts of the sets stay.
const HOT: f64 = 0.05;
const COLD: f64 = 0.01;
/// Random streams of these runs begin here.
const FIRST_STREAM: u64 = 1 << 52;

/// The cheapest sets found that fit, from sets that nearly do. Runs over the whole graph, at least
/// one from each start, raise the weight of excess at a steady rate. With `time` they take that
/// long together, and the answer depends on the speed of the machine. `None` if no sets that fit
/// were found.
pub fn seek(
    graph: &CheckmateLandscape,
    starts: &[StageRuns],
    seed: u64,
    time: Option<Duration>,
    observer: &dyn Observer,
) -> Option<Found<StageRuns>> {
    let whole = Whole { graph };
    let threads = rayon::current_num_threads();
    let lanes = match time {
        Some(_) => starts.len().max(LANES.min(threads)),
        None => starts.len().max(LANES),
    };
    let waves = lanes.div_ceil(threads) as u32;
    let time = time.map(|time| time / waves);
    let run = |lane: usize| {
        let random = Xoshiro256::new(seed, FIRST_STREAM + lane as u64);
        let run = ChainSettings {
            moves: match time {
                Some(_) => u64::MAX,
                None => MOVES_PER_NODE * graph.n as u64,
            },
            hot: HOT,
            cold: COLD,
            target: 0,
            time,
            seek: Some(SEEK_FROM),
        };
        let start = starts.get(lane % starts.len().max(1))?;
        whole.anneal(start, random, run, observer)
    };
    let found: Vec<_> = (0..lanes).into_par_iter().map(run).collect();
    found.into_iter().flatten().min_by_key(|found| found.cost)
}

/// A graph whose sets are runs of stages.
struct Whole<'a> {
    graph: &'a CheckmateLandscape,
}

impl Landscape for Whole<'_> {
    type Sets = StageRuns;
    type Walk<'g>
        = WholeWalk<'g>
    where
        Self: 'g;

    fn nodes(&self) -> usize {
        self.graph.n
    }

    fn mean_cost(&self) -> f64 {
        Landscape::mean_cost(self.graph)
    }

    fn byte_price(&self) -> f64 {
        self.graph.byte_price()
    }

    fn absence_price(&self) -> f64 {
        self.graph.absence_price()
    }

    fn walk<'g>(&'g self, start: &StageRuns) -> WholeWalk<'g> {
        WholeWalk {
            graph: self.graph,
            state: SparseState::new(self.graph, start),
            proposer: CheckmateProposer::new(self.graph),
        }
    }
}

/// State of a run over all of a graph.
struct WholeWalk<'g> {
    graph: &'g CheckmateLandscape,
    state: SparseState<'g>,
    proposer: CheckmateProposer<'g>,
}

impl Walk for WholeWalk<'_> {
    type Sets = StageRuns;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        self.state.evaluate(flip)
    }

    fn apply(&mut self, flip: Flip) {
        self.state.apply(flip);
    }

    fn excess(&self) -> f64 {
        self.state.excess()
    }

    fn cost(&self) -> u64 {
        self.state.cost() as u64
    }

    fn retained(&self) -> StageRuns {
        self.state.retained()
    }

    fn look_around(&mut self) {
        self.state.resum();
        self.proposer.look(&self.state);
    }

    fn press(&mut self, share: f64) {
        self.state.press(share);
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        self.proposer.anywhere(&self.state, random)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        match random.one_in(2) {
            true => self.proposer.beside(&self.state, first, random),
            false => self.proposer.during(&self.state, first, random),
        }
    }

    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        let stage = first.to as usize;
        self.proposer
            .following(&self.state, tensor, stage, first.keep)
    }

    fn inputs(&self, tensor: usize) -> &[u32] {
        self.graph.needs(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::schedule::CheckmateSchedule;
    use remat_instances::{simulate, zoo};

    #[test]
    fn what_fits_is_found_from_everything_on_any_number_of_threads() {
        let spec = "zoo:random_layered?n=120&seed=1".parse().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let plain = simulate::checkmate(&instance, &all).unwrap();
        let budget = plain.peak_bytes * 8 / 10;
        let graph = CheckmateLandscape::new(&instance, budget);
        let found = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let starts = std::slice::from_ref(&all.retained);
            let work = || seek(&graph, starts, 1, None, &()).unwrap();
            pool.unwrap().install(work)
        });
        assert_eq!(found[0].retained, found[1].retained);
        let [found, _] = found;
        let schedule = CheckmateSchedule::cheapest(&instance, found.retained);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        assert_eq!(replay.cost, found.cost);
        assert!(replay.peak_bytes <= budget && replay.cost < 2 * instance.base_cost());
        let none = CheckmateLandscape::new(&instance, 1);
        let starts = std::slice::from_ref(&all.retained);
        assert!(seek(&none, starts, 1, None, &()).is_none());
    }
}
