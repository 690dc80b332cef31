//! Interface between a run and the program whose schedules it anneals.

use super::chain::{Chain, ChainSettings, Found};
use super::flip::{Delta, Flip};
use super::observer::Observer;
use remat_lp::random::Xoshiro256;
use std::time::Duration;

/// State of a run: retained sets with what follows from them, and ways to go on.
///
/// Single flips are enough for a program: what has a default makes runs faster, or takes them
/// further.
pub trait Walk {
    /// Retained sets, written down.
    type Sets;
    /// One in so many steps is a [`leap`](Walk::leap), if any is.
    const LEAP: Option<u32> = None;

    /// Computes the change by a flip.
    fn evaluate(&mut self, flip: Flip) -> Delta;
    /// Carries a flip out, for good.
    fn apply(&mut self, flip: Flip);
    /// Carries a flip out that may be taken back.
    fn try_out(&mut self, flip: Flip) {
        self.apply(flip);
    }
    /// Takes back the flip that was tried last and not taken back.
    fn take_back(&mut self, flip: Flip) {
        self.apply(flip.inverse());
    }
    /// Flips that were tried stay.
    fn settle(&mut self) {}
    /// Bytes above capacity, summed over stages.
    fn excess(&self) -> f64;
    /// Cost of the schedule.
    fn cost(&self) -> u64;
    /// The retained sets.
    fn retained(&self) -> Self::Sets;
    /// Is called after every block of steps.
    fn look_around(&mut self) {}
    /// Is called after every block of steps of a run that seeks and has found nothing yet: excess
    /// may count for more in stages that stay above capacity; `share` is the part of the run since
    /// the last time.
    fn press(&mut self, share: f64) {
        let _ = share;
    }

    /// A flip anywhere.
    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip>;
    /// A flip to go with another one: beside it in the graph, or during it in time.
    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        let _ = first;
        self.anywhere(random)
    }
    /// Flip of a tensor in response to one of a tensor that has it as an input: it is let go where
    /// it is held for nothing, if the other is kept, or held where it is computed.
    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        let _ = (tensor, first);
        None
    }
    /// Inputs of a tensor's computation, as far as they may follow its flips.
    fn inputs(&self, tensor: usize) -> &[u32] {
        let _ = tensor;
        &[]
    }

    /// Tries flips that belong together and lists them in `done`, until they gain enough or it
    /// gives up; returns the change of energy at a price of excess.
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

/// A program whose schedules follow from their retained sets, and can be annealed.
pub trait Landscape: Sync + Sized {
    /// Retained sets, written down.
    type Sets: Send;
    /// State of a run.
    type Walk<'g>: Walk<Sets = Self::Sets>
    where
        Self: 'g;

    /// Time of a move, in that of a move of Checkmate's annealing, about.
    const MOVE_WEIGHT: u64 = 1;

    /// Number of nodes; the work of a run grows with it.
    fn nodes(&self) -> usize;
    /// Mean cost of a recomputation: the unit of temperatures.
    fn mean_cost(&self) -> f64;
    /// Initial price of a byte of excess.
    fn byte_price(&self) -> f64;
    /// First temperature of long runs, in mean node costs: runs that take a large share of the time
    /// where the best schedule is far from the bound. `None` where there are none.
    fn long_run_hot(&self) -> Option<f64> {
        None
    }
    /// Price of the absence of a byte for one stage.
    fn absence_price(&self) -> f64;
    /// Given retained sets.
    fn walk<'g>(&'g self, start: &Self::Sets) -> Self::Walk<'g>;

    /// One annealing run from given retained sets: the best schedule it saw that fits, if any did.
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

    /// Improves a schedule stretch by stretch, where the graph is so large that runs over all of it
    /// come to little; `None` where it is not, or nothing better was found.
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
    /// Rounds at most.
    pub rounds: u64,
    /// End after this time. The answer is then as good as the machine is fast.
    pub time: Option<Duration>,
    /// A cost that cannot be beaten: the rounds end when it is met.
    pub target: u64,
}
