//! Checkmate's schedules as a landscape that is annealed.

use super::graph::CheckmateLandscape;
use super::moves::CheckmateProposer;
use super::sparse::improve;
use super::state::CheckmateState;
use remat_instances::schedule::{BitMatrix, StageRuns};
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{Delta, Flip, Found, Landscape, Observer, StretchSettings, Walk};

/// Nodes from which on schedules are improved stretch by stretch before whole graphs are annealed.
const STRETCHED_FROM_NODES: usize = 5_000;

impl Landscape for CheckmateLandscape {
    type Sets = BitMatrix;
    type Walk<'g> = CheckmateWalk<'g>;

    fn nodes(&self) -> usize {
        self.n
    }

    fn mean_cost(&self) -> f64 {
        self.again.iter().sum::<f64>() / self.n as f64
    }

    fn byte_price(&self) -> f64 {
        self.byte_price()
    }

    /// Only for graphs without a backward pass: with one, relaxations lead to better plans
    /// (docs/inside/decisions/094).
    fn long_run_hot(&self) -> Option<f64> {
        self.is_general.then_some(1.0)
    }

    fn absence_price(&self) -> f64 {
        self.absence_price()
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> CheckmateWalk<'g> {
        CheckmateWalk::with_stored(self, start, None)
    }

    fn stretched(
        &self,
        from: &Found,
        settings: &StretchSettings,
        observer: &dyn Observer,
    ) -> Option<Found> {
        if self.n < STRETCHED_FROM_NODES {
            return None;
        }
        let retained = StageRuns::from(&from.retained);
        let found = improve(self, &retained, settings, observer)?;
        (found.cost < from.cost).then(|| Found {
            cost: found.cost,
            retained: found.retained.to_bits(),
        })
    }
}

/// State of a run over schedules of Checkmate's program.
pub struct CheckmateWalk<'g> {
    graph: &'g CheckmateLandscape,
    pub(crate) state: CheckmateState<'g>,
    proposer: CheckmateProposer<'g>,
}

impl<'g> CheckmateWalk<'g> {
    /// A run from given retained sets, in a program with pages if `stored` has tensors in secondary
    /// storage.
    pub(crate) fn with_stored(
        graph: &'g CheckmateLandscape,
        retained: &BitMatrix,
        stored: Option<&[u32]>,
    ) -> Self {
        CheckmateWalk {
            graph,
            state: CheckmateState::with_stored(graph, retained, stored),
            proposer: CheckmateProposer::new(graph),
        }
    }
}

impl Walk for CheckmateWalk<'_> {
    type Sets = BitMatrix;

    #[inline]
    fn evaluate(&mut self, flip: Flip) -> Delta {
        self.state.evaluate(flip)
    }

    fn apply(&mut self, flip: Flip) {
        self.state.apply(flip);
    }

    fn try_out(&mut self, flip: Flip) {
        self.state.try_out(flip);
    }

    fn take_back(&mut self, flip: Flip) {
        self.state.take_back(flip);
    }

    fn settle(&mut self) {
        self.state.settle();
    }

    #[inline]
    fn excess(&self) -> f64 {
        self.state.excess()
    }

    #[inline]
    fn cost(&self) -> u64 {
        self.state.cost() as u64
    }

    fn retained(&self) -> BitMatrix {
        self.state.retained()
    }

    fn look_around(&mut self) {
        self.state.resum();
        self.proposer.look(&self.state);
    }

    fn press(&mut self, share: f64) {
        self.state.press(share);
    }

    #[inline]
    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        self.proposer.anywhere(&self.state, random)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        if random.one_in(2) {
            self.proposer.beside(&self.state, first, random)
        } else {
            self.proposer.during(&self.state, first, random)
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
