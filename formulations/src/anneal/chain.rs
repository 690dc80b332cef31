//! One annealing run: a temperature that falls, a price on excess memory that adapts, and the best schedule that fits.

use super::graph::Graph;
use super::moves::Proposer;
use super::price::Price;
use super::random::Random;
use super::state::{Delta, Flip, State};
use super::watch::Watch;
use crate::schedule::BitMatrix;
use std::time::{Duration, Instant};

/// Moves between two adjustments of temperature and price.
const BLOCK: u64 = 1024;
/// Where the price of excess of a run that seeks starts and ends, in [`Graph::absence_price`]. From the common price on large
/// general graphs freeze far above capacity: every recomputation then drags its inputs' with it.
pub(super) const SEEK_FROM: f64 = 0.03;
const SEEK_TO: f64 = 3000.0;
/// One in so many rejected flips is tried again together with a second one. Fewer (16) loses 2% on U-Net at 5 GiB.
const COMPOUND: u32 = 2;
/// Tensors at most that follow a flip.
const FOLLOWERS: usize = 16;

/// What a run found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Cost of the best schedule that fits.
    pub cost: u64,
    /// Its retained sets.
    pub retained: BitMatrix,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct ChainSettings {
    /// Moves to propose, rounded up to whole blocks of 1024.
    pub moves: u64,
    /// First temperature, in units of the mean cost of a node.
    pub hot: f64,
    /// Last temperature, in units of the mean cost of a node.
    pub cold: f64,
    /// A cost that cannot be beaten: the run ends when it is met.
    pub target: u64,
    /// Time in which the temperature must be down, whatever was done by then.
    pub time: Option<Duration>,
    /// As long as nothing fitted, excess gets dearer at a steady rate, from this multiple of [`Graph::absence_price`].
    pub seek: Option<f64>,
}

/// A run in progress.
pub struct Chain<'g> {
    graph: &'g Graph,
    proposer: Proposer<'g>,
    state: State<'g>,
    random: Random,
    price: Price,
    /// What it costs to be without a byte for a stage.
    absence_price: f64,
    evaluated: u64,
    best: Option<Found>,
    /// Cost of the current state when it is the best so far and not copied yet.
    unsaved: Option<u64>,
    /// Scratch of `follow`.
    done: Vec<Flip>,
    inputs: Vec<u32>,
}

impl<'g> Chain<'g> {
    /// A run that starts from given retained sets.
    pub fn new(graph: &'g Graph, start: &BitMatrix, random: Random) -> Self {
        let state = State::new(graph, start);
        let mut chain = Chain {
            graph,
            proposer: Proposer::new(graph),
            state,
            random,
            price: Price::new(graph.byte_price()),
            absence_price: graph.absence_price(),
            evaluated: 0,
            best: None,
            unsaved: None,
            done: Vec::new(),
            inputs: Vec::new(),
        };
        chain.notice();
        chain
    }

    /// Runs the temperature down once; `stop` is asked once a block, and `watch` told of what was done and found.
    pub fn run(&mut self, settings: ChainSettings, stop: &dyn Fn() -> bool, watch: &Watch) {
        let scale = self.graph.cost.iter().sum::<f64>() / self.graph.n as f64;
        let clock = Instant::now();
        let mut done = 0;
        loop {
            let by_time = settings.time.map_or(0.0, |time| {
                clock.elapsed().as_secs_f64() / time.as_secs_f64().max(1e-9)
            });
            let progress = by_time.max(done as f64 / settings.moves as f64);
            if progress >= 1.0 || stop() {
                break;
            }
            let temperature = scale * settings.hot * (settings.cold / settings.hot).powf(progress);
            for _ in 0..BLOCK {
                self.step(temperature);
            }
            done += BLOCK;
            self.state.resum();
            self.proposer.look(&self.state);
            match settings.seek.filter(|_| self.best_cost().is_none()) {
                Some(from) => {
                    self.price.value = self.absence_price * from * (SEEK_TO / from).powf(progress);
                }
                None => self.price.adjust(self.state.excess() > 0.0),
            }
            watch.report(std::mem::take(&mut self.evaluated), self.best_cost());
            if self.best_cost().is_some_and(|cost| cost <= settings.target) {
                break;
            }
        }
        self.save();
    }

    /// Cost of the best schedule that fits, copied or not.
    fn best_cost(&self) -> Option<u64> {
        self.unsaved.or(self.best.as_ref().map(|b| b.cost))
    }

    /// The retained sets where the run stands, whether they fit or not.
    pub fn retained(&self) -> BitMatrix {
        self.state.retained()
    }

    /// Bytes above capacity where the run stands, summed over stages.
    pub fn excess(&self) -> f64 {
        self.state.excess()
    }

    /// The best schedule that fits.
    pub fn best(&self) -> Option<&Found> {
        self.best.as_ref()
    }

    fn step(&mut self, temperature: f64) {
        let threshold = -temperature * self.random.unit().ln();
        let Some(flip) = self.proposer.anywhere(&self.state, &mut self.random) else {
            return;
        };
        let delta = self.state.evaluate(flip);
        self.evaluated += 1;
        if self.energy(delta) <= threshold {
            self.leave();
            self.state.apply(flip);
            self.notice();
        } else if self.random.one_in(COMPOUND) {
            if self.random.one_in(2) {
                self.compound(flip, delta, threshold);
            } else {
                self.follow(flip, delta, threshold);
            }
        }
    }

    /// Tries a rejected flip again with what it calls for: a tensor that is dropped wants the inputs of its next computation held,
    /// one that is kept needs them no more. Each of these is taken if it pays by itself.
    fn follow(&mut self, first: Flip, delta: Delta, threshold: f64) {
        self.leave();
        self.state.apply(first);
        let mut energy = self.energy(delta);
        let stage = first.to as usize;
        let mut done = std::mem::take(&mut self.done);
        let mut inputs = std::mem::take(&mut self.inputs);
        done.clear();
        inputs.clear();
        done.push(first);
        inputs.extend_from_slice(self.graph.needs(first.tensor as usize));
        let mut at = 0;
        while at < inputs.len() && at < FOLLOWERS {
            let j = inputs[at] as usize;
            at += 1;
            let Some(flip) = self.proposer.following(&self.state, j, stage, first.keep) else {
                continue;
            };
            let more = self.state.evaluate(flip);
            self.evaluated += 1;
            let gain = self.energy(more);
            if gain <= 0.0 {
                self.state.apply(flip);
                done.push(flip);
                energy += gain;
            }
            // What is dropped is not made here any more, what is not held is: its own inputs are next.
            if first.keep == (gain <= 0.0) {
                let more = self.graph.needs(j).iter();
                inputs.extend(more.filter(|i| !inputs[..].contains(i)).collect::<Vec<_>>());
            }
        }
        if energy <= threshold {
            self.notice();
        } else {
            for flip in done.iter().rev() {
                self.state.apply(flip.inverse());
            }
        }
        (self.done, self.inputs) = (done, inputs);
    }

    /// Tries a rejected flip again together with a second one: beside it in the graph, or during it in time.
    fn compound(&mut self, first: Flip, delta: Delta, threshold: f64) {
        self.leave();
        self.state.apply(first);
        let second = if self.random.one_in(2) {
            self.proposer.beside(&self.state, first, &mut self.random)
        } else {
            self.proposer.during(&self.state, first, &mut self.random)
        };
        if let Some(second) = second.filter(|s| *s != first.inverse()) {
            let more = self.state.evaluate(second);
            self.evaluated += 1;
            let both = Delta {
                cost: delta.cost + more.cost,
                excess: delta.excess + more.excess,
            };
            if self.energy(both) <= threshold {
                self.state.apply(second);
                self.notice();
                return;
            }
        }
        self.state.apply(first.inverse());
    }

    #[inline]
    fn energy(&self, delta: Delta) -> f64 {
        delta.cost + self.price.value * delta.excess
    }

    /// Marks the state as best where it is.
    #[inline]
    fn notice(&mut self) {
        if self.state.excess() == 0.0 {
            let cost = self.state.cost() as u64;
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
                retained: self.state.retained(),
            });
        }
    }
}
