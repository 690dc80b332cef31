//! One annealing run: a temperature that falls, a price on excess memory that adapts, and the best schedule that fits.
//!
//! As [`crate::anneal::Chain`] for Checkmate's program, with moves that exchange tensors for their partners.

use super::graph::{Graph, has, ones};
use super::moves::Proposer;
use super::state::State;
use crate::anneal::{ChainSettings, Delta, End, Flip, Found, Landscape, Price, Random, Watch};
use crate::schedule::BitMatrix;
use std::time::Instant;

/// Moves between two adjustments of temperature and price.
const BLOCK: u64 = 1024;
/// One in so many rejected flips is tried again together with a second one.
const COMPOUND: u32 = 2;
/// One in so many steps switches backward nodes to other variants.
const SWITCH: u32 = 16;
/// Switches at most in one step.
const SWITCHES: usize = 4;

/// A run in progress.
pub struct Chain<'g> {
    graph: &'g Graph,
    proposer: Proposer<'g>,
    state: State<'g>,
    random: Random,
    price: Price,
    evaluated: u64,
    /// Flips of the step at hand.
    done: Vec<Flip>,
    best: Option<Found>,
    /// Cost of the current state when it is the best so far and not copied yet.
    unsaved: Option<u64>,
}

impl<'g> Chain<'g> {
    /// A run that starts from given retained sets (shape `(T + 1) x columns`).
    pub fn new(graph: &'g Graph, start: &BitMatrix, random: Random) -> Self {
        let mut chain = Chain {
            graph,
            proposer: Proposer::new(graph),
            state: State::new(graph, start),
            random,
            price: Price::new(typical_price(graph)),
            evaluated: 0,
            done: Vec::new(),
            best: None,
            unsaved: None,
        };
        chain.notice();
        chain
    }

    /// Runs the temperature down once; `stop` is asked once a block, and `watch` told of what was done and found.
    pub fn run(&mut self, settings: ChainSettings, stop: &dyn Fn() -> bool, watch: &Watch) {
        let scale = self.graph.mean_cost;
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
            self.price.adjust(self.state.excess() > 0);
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

    /// The best schedule that fits.
    pub fn best(&self) -> Option<&Found> {
        self.best.as_ref()
    }

    fn step(&mut self, temperature: f64) {
        let threshold = -temperature * self.random.unit().ln();
        if self.random.one_in(SWITCH) {
            self.switch(threshold);
            return;
        }
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
            self.compound(flip, delta, threshold);
        }
    }

    /// Tries a rejected flip again together with a second one: of a partner, or during it in time.
    fn compound(&mut self, first: Flip, delta: Delta, threshold: f64) {
        self.leave();
        self.state.apply(first);
        let second = if self.random.one_in(3) {
            self.proposer.during(&self.state, first, &mut self.random)
        } else {
            self.proposer.beside(&self.state, first, &mut self.random)
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

    /// Has a backward node read other tensors: what its new variant reads is stored for it, what only others read is not.
    /// Neighbouring nodes, whose tensors depend on each other, may follow suit.
    fn switch(&mut self, threshold: f64) {
        let Some(mut stage) = self.proposer.choice(&mut self.random) else {
            return;
        };
        self.leave();
        let mut energy = 0.0;
        let graph = self.graph;
        for _ in 0..SWITCHES {
            let variants = &graph.stage[stage].variants;
            let chosen = &variants[self.random.below(variants.len() as u32) as usize];
            for i in ones(&graph.stage[stage].read_by_any) {
                let keep = has(&chosen.reads, i);
                let flip =
                    self.proposer
                        .for_backward(&self.state, i, stage, keep, &mut self.random);
                if let Some(flip) = flip {
                    let delta = self.state.evaluate(flip);
                    energy += self.energy(delta);
                    self.evaluated += 1;
                    self.state.apply(flip);
                    self.done.push(flip);
                }
            }
            if energy <= threshold && !self.done.is_empty() || self.random.one_in(3) {
                break;
            }
            let at = graph.choices.partition_point(|t| (*t as usize) < stage);
            let next = if self.random.one_in(2) {
                at + 1
            } else {
                at.wrapping_sub(1)
            };
            match graph.choices.get(next) {
                Some(t) => stage = *t as usize,
                None => break,
            }
        }
        if energy <= threshold {
            self.done.clear();
            self.notice();
        } else {
            while let Some(flip) = self.done.pop() {
                self.state.apply(flip.inverse());
            }
        }
    }

    #[inline]
    fn energy(&self, delta: Delta) -> f64 {
        delta.cost + self.price.value * delta.excess
    }

    /// Marks the state as best where it is.
    #[inline]
    fn notice(&mut self) {
        if self.state.excess() == 0 {
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

/// Median cost per byte of the forward nodes that have both: what a byte is worth.
fn typical_price(graph: &Graph) -> f64 {
    let mut ratio: Vec<f64> = (0..graph.columns)
        .filter_map(|j| {
            let cost = graph.forward_ways(true, j).first()?.cost;
            let bytes = graph.bytes[j];
            (cost > 0 && bytes > 0).then(|| cost as f64 / bytes as f64)
        })
        .collect();
    ratio.sort_by(f64::total_cmp);
    ratio.get(ratio.len() / 2).copied().unwrap_or(1.0)
}

impl Landscape for Graph {
    const MOVE_WEIGHT: u64 = 8;

    fn nodes(&self) -> usize {
        self.columns + self.stages
    }

    fn attempt(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> End {
        let mut chain = Chain::new(self, start, random);
        chain.run(run, stop, watch);
        chain.best().cloned().map_or(End::Nothing, End::Fits)
    }
}
