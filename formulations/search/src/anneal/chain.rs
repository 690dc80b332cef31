//! One annealing run: a temperature that falls, a price on excess memory that adapts, and the best
//! schedule that fits.

use super::flip::{Delta, Flip};
use super::landscape::{Landscape, Walk};
use super::observer::Observer;
use super::price::Price;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::time::{Duration, Instant};

/// Moves between two adjustments of temperature and price.
const BLOCK: u64 = 1024;
/// Moves between two checks for an end: on large graphs a block takes seconds.
const ASKED_EVERY: u64 = 64;
/// First and last price of excess of a run that seeks, in units of [`Landscape::absence_price`].
/// From the common price on, large general graphs freeze far above capacity, because every
/// recomputation drags the recomputations of its inputs with it.
pub const SEEK_FROM: f64 = 0.03;
const SEEK_TO: f64 = 100.0;
/// First and last temperature of a run that seeks from the plan that keeps everything, in mean node
/// costs.
pub const SEEK_HOT: f64 = 0.3;
pub const SEEK_COLD: f64 = 0.05;
/// Last temperature of other runs.
pub const LAST_TEMPERATURE: f64 = 0.001;
/// One in so many rejected flips is tried again together with a second one. Fewer retries (16) lose
/// 2% on U-Net at 5 GiB.
const COMPOUND: u32 = 2;
/// Limit on the tensors that follow a flip.
const FOLLOWERS: usize = 16;

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Found<S = BitMatrix> {
    /// Cost of the best schedule that fits.
    pub cost: u64,
    /// Its retained sets.
    pub retained: S,
}

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct ChainSettings {
    /// Moves to propose, rounded up to whole blocks of 1024.
    pub moves: u64,
    /// First temperature, in units of the mean cost of a node.
    pub hot: f64,
    /// Last temperature, in units of the mean cost of a node.
    pub cold: f64,
    /// A cost that cannot be beaten: the run ends when it reaches this cost.
    pub target: u64,
    /// Time within which the temperature falls to `cold`, even if fewer moves are done.
    pub time: Option<Duration>,
    /// Multiple of [`Landscape::absence_price`] at which the price of excess starts; it rises at a
    /// steady rate until a schedule fits.
    pub seek: Option<f64>,
}

/// A run in progress.
pub struct Chain<'g, L: Landscape> {
    landscape: &'g L,
    walk: L::Walk<'g>,
    random: Xoshiro256,
    price: Price,
    evaluated: u64,
    best: Option<Found<L::Sets>>,
    /// Cost of the current state if it is the best so far and not copied yet.
    unsaved: Option<u64>,
    /// Flips of the current step.
    done: Vec<Flip>,
    /// Scratch of `follow`.
    inputs: Vec<u32>,
}

impl<'g, L: Landscape> Chain<'g, L> {
    /// A run that starts from given retained sets.
    pub fn new(landscape: &'g L, start: &L::Sets, random: Xoshiro256) -> Self {
        let mut chain = Chain {
            landscape,
            walk: landscape.walk(start),
            random,
            price: Price::new(landscape.byte_price()),
            evaluated: 0,
            best: None,
            unsaved: None,
            done: Vec::new(),
            inputs: Vec::new(),
        };
        chain.notice();
        chain
    }

    /// Runs the temperature down once; `observer` is asked and receives a report once a block.
    pub fn run(&mut self, settings: ChainSettings, observer: &dyn Observer) {
        let scale = self.landscape.mean_cost();
        let absence_price = self.landscape.absence_price();
        let clock = Instant::now();
        let (mut done, mut before) = (0, 0.0);
        'run: loop {
            let by_time = settings.time.map_or(0.0, |time| {
                clock.elapsed().as_secs_f64() / time.as_secs_f64().max(1e-9)
            });
            let progress = by_time.max(done as f64 / settings.moves as f64);
            if progress >= 1.0 {
                break;
            }
            let temperature = scale * settings.hot * (settings.cold / settings.hot).powf(progress);
            for _ in 0..BLOCK / ASKED_EVERY {
                if observer.is_over() {
                    break 'run;
                }
                for _ in 0..ASKED_EVERY {
                    self.step(temperature);
                }
            }
            done += BLOCK;
            self.walk.look_around();
            match settings.seek.filter(|_| self.best_cost().is_none()) {
                Some(from) => {
                    self.price.value = absence_price * from * (SEEK_TO / from).powf(progress);
                    self.walk.press(progress - before);
                }
                None => self.price.adjust(self.walk.excess() > 0.0),
            }
            before = progress;
            observer.report(std::mem::take(&mut self.evaluated), self.best_cost());
            if self.best_cost().is_some_and(|cost| cost <= settings.target) {
                break;
            }
        }
        if self.evaluated > 0 {
            observer.report(std::mem::take(&mut self.evaluated), self.best_cost());
        }
        self.save();
    }

    /// Cost of the best schedule that fits, copied or not.
    fn best_cost(&self) -> Option<u64> {
        self.unsaved.or(self.best.as_ref().map(|b| b.cost))
    }

    /// The best schedule that fits, at the end.
    pub fn into_best(self) -> Option<Found<L::Sets>> {
        self.best
    }

    /// Bytes above capacity of the current sets, summed over stages.
    pub fn excess(&self) -> f64 {
        self.walk.excess()
    }

    /// The current retained sets.
    pub fn retained(&self) -> L::Sets {
        self.walk.retained()
    }

    fn step(&mut self, temperature: f64) {
        let threshold = -temperature * self.random.unit().ln();
        if L::Walk::LEAP.is_some_and(|often| self.random.one_in(often)) {
            self.leap(threshold);
            return;
        }
        let Some(flip) = self.walk.anywhere(&mut self.random) else {
            return;
        };
        let delta = self.walk.evaluate(flip);
        self.evaluated += 1;
        if self.energy(delta) <= threshold {
            self.leave();
            self.walk.apply(flip);
            self.notice();
        } else if delta.cost.is_finite() && self.random.one_in(COMPOUND) {
            if self.random.one_in(2) {
                self.compound(flip, delta, threshold);
            } else {
                self.follow(flip, delta, threshold);
            }
        }
    }

    /// Tries a rejected flip again together with a second one.
    fn compound(&mut self, first: Flip, delta: Delta, threshold: f64) {
        self.leave();
        self.walk.try_out(first);
        let second = self.walk.second(first, &mut self.random);
        if let Some(second) = second.filter(|s| *s != first.inverse()) {
            let more = self.walk.evaluate(second);
            self.evaluated += 1;
            let both = Delta {
                cost: delta.cost + more.cost,
                excess: delta.excess + more.excess,
            };
            if self.energy(both) <= threshold {
                self.walk.settle();
                self.walk.apply(second);
                self.notice();
                return;
            }
        }
        self.walk.take_back(first);
    }

    /// Tries a rejected flip again with the flips that it suggests. A dropped tensor needs the
    /// inputs of its next computation held, a kept one does not need them any more. Each suggested
    /// flip is made if it pays by itself.
    fn follow(&mut self, first: Flip, delta: Delta, threshold: f64) {
        self.leave();
        self.walk.try_out(first);
        let mut energy = self.energy(delta);
        let mut inputs = std::mem::take(&mut self.inputs);
        self.done.clear();
        inputs.clear();
        self.done.push(first);
        inputs.extend_from_slice(self.walk.inputs(first.tensor as usize));
        let mut at = 0;
        while at < inputs.len() && at < FOLLOWERS {
            let j = inputs[at] as usize;
            at += 1;
            let Some(flip) = self.walk.following(j, first) else {
                continue;
            };
            let more = self.walk.evaluate(flip);
            self.evaluated += 1;
            let gain = self.energy(more);
            if gain <= 0.0 {
                self.walk.try_out(flip);
                self.done.push(flip);
                energy += gain;
            }
            // A dropped tensor is not computed here any more, and a tensor that is not held is: its
            // own inputs come next.
            if first.keep == (gain <= 0.0) {
                let more = self.walk.inputs(j).iter();
                inputs.extend(more.filter(|i| !inputs[..].contains(i)).collect::<Vec<_>>());
            }
        }
        self.inputs = inputs;
        self.settle(energy, threshold);
    }

    /// Tries a move that no series of single flips finds.
    fn leap(&mut self, threshold: f64) {
        self.leave();
        self.done.clear();
        let price = self.price.value;
        let energy = self
            .walk
            .leap(price, threshold, &mut self.random, &mut self.done);
        self.evaluated += self.done.len() as u64;
        self.settle(energy, threshold);
    }

    /// Accepts the flips of this step, or takes them back.
    fn settle(&mut self, energy: f64, threshold: f64) {
        if energy <= threshold {
            self.walk.settle();
            self.notice();
        } else {
            for flip in self.done.iter().rev() {
                self.walk.take_back(*flip);
            }
        }
    }

    #[inline]
    fn energy(&self, delta: Delta) -> f64 {
        delta.energy(self.price.value)
    }

    /// Marks the current state as the best, if it is.
    #[inline]
    fn notice(&mut self) {
        if self.walk.excess() == 0.0 {
            let cost = self.walk.cost();
            if self.best_cost().is_none_or(|best| cost < best) {
                self.unsaved = Some(cost);
            }
        }
    }

    /// Copies a best state before it is left.
    #[inline]
    fn leave(&mut self) {
        if self.unsaved.is_some() {
            self.save();
        }
    }

    fn save(&mut self) {
        if let Some(cost) = self.unsaved.take() {
            self.best = Some(Found {
                cost,
                retained: self.walk.retained(),
            });
        }
    }
}
