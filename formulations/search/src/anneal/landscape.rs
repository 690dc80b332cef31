//! Interface between a run and the program whose schedules it anneals.

use super::chain::{Chain, ChainSettings, Found};
use super::flip::{Delta, Flip};
use super::observer::Observer;
use remat_lp::random::Xoshiro256;
use std::time::Duration;

/// State of a run: retained sets with derived values, and moves.
///
/// A program needs single flips only: the methods with defaults make runs faster, or let them get
/// further.
pub trait Walk {
    /// Copied retained sets.
    type Sets;
    /// One in so many steps is a [`leap`](Walk::leap); `None` for no leaps.
    const LEAP: Option<u32> = None;

    /// Computes the change by a flip.
    fn evaluate(&mut self, flip: Flip) -> Delta;
    /// Makes a flip for good.
    fn apply(&mut self, flip: Flip);
    /// Makes a flip that may be taken back.
    fn try_out(&mut self, flip: Flip) {
        self.apply(flip);
    }
    /// Takes back the last flip that was tried and not taken back.
    fn take_back(&mut self, flip: Flip) {
        self.apply(flip.inverse());
    }
    /// Accepts the flips that were tried.
    fn settle(&mut self) {}
    /// Bytes above capacity, summed over stages.
    fn excess(&self) -> f64;
    /// Cost of the schedule.
    fn cost(&self) -> u64;
    /// The retained sets.
    fn retained(&self) -> Self::Sets;
    /// Called after every block of steps.
    fn look_around(&mut self) {}
    /// Called after every block of steps of a run that seeks and has not found a schedule yet.
    /// Excess may count for more in stages that stay above capacity; `share` is the part of the run
    /// since the last call.
    fn press(&mut self, share: f64) {
        let _ = share;
    }

    /// A flip anywhere.
    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip>;
    /// A flip to go with another one: near it in the graph, or at the same time.
    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        let _ = first;
        self.anywhere(random)
    }
    /// Flip of a tensor in response to a flip of a tensor that reads it. If the other one is kept,
    /// it is dropped where it is held without use; else it is held where it is computed.
    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        let _ = (tensor, first);
        None
    }
    /// Inputs of a tensor's computation that may follow its flips.
    fn inputs(&self, tensor: usize) -> &[u32] {
        let _ = tensor;
        &[]
    }

    /// Tries flips that belong together and lists them in `done`, until they gain enough or it
    /// gives up. Returns the change of energy at a price of excess.
    fn leap(
        &mut self,
        price: f64,
        threshold: f64,
        random: &mut Xoshiro256,
        done: &mut Vec<Flip>,
    ) -> f64 {
        let _ = (price, threshold, random, done);
        0.0
    }
}

/// A program whose schedules follow from their retained sets and can be annealed.
pub trait Landscape: Sync + Sized {
    /// Copied retained sets.
    type Sets: Send;
    /// State of a run.
    type Walk<'g>: Walk<Sets = Self::Sets>
    where
        Self: 'g;

    /// Approximate time of a move, in moves of Checkmate's annealing.
    const MOVE_WEIGHT: u64 = 1;

    /// Number of nodes; the work of a run grows with it.
    fn nodes(&self) -> usize;
    /// Mean cost of a recomputation: the unit of temperatures.
    fn mean_cost(&self) -> f64;
    /// Initial price of a byte of excess.
    fn byte_price(&self) -> f64;
    /// First temperature of long runs, in mean node costs. Long runs take a large share of the time
    /// if the best schedule is far from the bound. `None` for no long runs.
    fn long_run_hot(&self) -> Option<f64> {
        None
    }
    /// Price of the absence of a byte for one stage.
    fn absence_price(&self) -> f64;
    /// A walk from given retained sets.
    fn walk<'g>(&'g self, start: &Self::Sets) -> Self::Walk<'g>;

    /// One annealing run from given retained sets: the best schedule that fits, if any.
    fn anneal(
        &self,
        start: &Self::Sets,
        random: Xoshiro256,
        run: ChainSettings,
        observer: &dyn Observer,
    ) -> Option<Found<Self::Sets>> {
        let mut chain = Chain::new(self, start, random);
        chain.run(run, observer);
        chain.into_best()
    }

    /// Improves a schedule stretch by stretch, on graphs so large that runs over all of them gain
    /// little. `None` on smaller graphs, and if no better schedule was found.
    fn stretched(
        &self,
        _from: &Found<Self::Sets>,
        _settings: &StretchSettings,
        _observer: &dyn Observer,
    ) -> Option<Found<Self::Sets>> {
        None
    }
}

/// Settings of rounds over stretches.
#[derive(Clone, Copy, Debug)]
pub struct StretchSettings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Limit on the rounds.
    pub rounds: u64,
    /// End after this time. The answer then depends on the speed of the machine.
    pub time: Option<Duration>,
    /// A cost that cannot be beaten: the rounds end when they reach this cost.
    pub target: u64,
}
