//! Annealing of what is retained and stored.
//!
//! The state is Checkmate's, with a bit for each tensor that is in secondary storage. A flip of
//! that bit is one of stage 0, when nothing is retained. A tensor that is stored is paged out in
//! the first stage that starts with it, which does not change as long as it is stored.

use super::PoetInstance;
use super::schedule::costs;
use crate::anneal::{CheckmateLandscape, CheckmateProposer, CheckmateState};
use remat_instances::schedule::BitMatrix;
use remat_search::anneal::{Delta, Flip, Landscape, Walk, Xoshiro256};

/// POET's program for a budget, as it is annealed.
pub struct PoetLandscape {
    base: CheckmateLandscape,
    /// Cost of a page-out by tensor; `None` where it has no pages.
    out: Vec<Option<f64>>,
    /// Tensors that have pages, and a stage to use them in.
    paged: Vec<u32>,
}

/// Numbers of the moves.
struct Tuning {
    /// One in so many steps stores a tensor, with what makes it of use.
    leap: u32,
    /// One in so many flips brings a tensor back from secondary storage.
    unstore: u32,
    /// Stages at most that a tensor is held before it is used, once it is paged in.
    early: u32,
}

/// Not tuned: with these the two recorded programs of 27 and 81 nodes are at their best known
/// values within a second (docs/poet.md).
const TUNING: Tuning = Tuning {
    leap: 6,
    unstore: 24,
    early: 2,
};

impl PoetLandscape {
    /// The landscape of an instance for a budget in bytes.
    pub fn new(instance: &PoetInstance, budget_bytes: u64) -> Self {
        let graph = instance.graph();
        let n = graph.len();
        let mut base = CheckmateLandscape::new(graph, budget_bytes);
        let of = |i: usize| costs(instance, i);
        base.page_in = (0..n).map(|i| of(i).back as f64).collect();
        for one in &instance.terms().freed_again {
            base.free_again(one.input.0, one.reader.index(), one.bytes);
        }
        let out: Vec<Option<f64>> = (instance.pages().iter())
            .map(|costs| costs.map(|costs| costs.out as f64))
            .collect();
        let has_use = |i: &u32| {
            let last = base.users(*i as usize).last();
            out[*i as usize].is_some() && last.is_some_and(|last| *last > i + 2)
        };
        PoetLandscape {
            paged: (0..n as u32).filter(has_use).collect(),
            out,
            base,
        }
    }
}

impl PoetLandscape {
    /// Cost to have each tensor again, whichever way costs less.
    fn again(&self) -> impl Iterator<Item = f64> + '_ {
        let pages = |i: usize| self.out[i].map(|out| out + self.base.page_in[i]);
        let costs = self.base.cost_again.iter().enumerate();
        costs.map(move |(i, cost)| pages(i).map_or(*cost, |pages| pages.min(*cost)))
    }

    /// Median of that cost for a byte and so many stages, of those that have all three.
    fn median_price(&self, stages: impl Fn(usize) -> f64) -> f64 {
        let all = self.again().zip(&self.base.bytes).enumerate();
        let priced = all.filter(|(_, (cost, bytes))| *cost > 0.0 && **bytes > 0.0);
        let mut prices: Vec<f64> = priced
            .map(|(i, (cost, bytes))| cost / bytes / stages(i))
            .collect();
        prices.sort_by(f64::total_cmp);
        prices.get(prices.len() / 2).copied().unwrap_or(1.0)
    }
}

impl Landscape for PoetLandscape {
    type Sets = BitMatrix;
    type Walk<'g> = PoetWalk<'g>;

    fn nodes(&self) -> usize {
        self.base.n
    }

    /// Mean of what it costs to have a tensor again: computed, or paged out and in.
    fn mean_cost(&self) -> f64 {
        self.again().sum::<f64>() / self.base.n as f64
    }

    fn byte_price(&self) -> f64 {
        self.median_price(|_| 1.0)
    }

    fn absence_price(&self) -> f64 {
        self.median_price(|i| {
            let last = self.base.users(i).last().map_or(i, |&q| q as usize);
            (last - i).max(1) as f64
        })
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> PoetWalk<'g> {
        let mut retained = start.clone();
        retained.clear_from(0, 0);
        let is_held = |i: &usize| (i + 1..self.base.n - 1).any(|t| start.get(t, *i));
        let stored = start.ones(0).filter(|i| self.out[*i].is_some());
        let stored: Vec<u32> = stored.filter(is_held).map(|i| i as u32).collect();
        let paid = stored.iter().filter_map(|i| self.out[*i as usize]);
        PoetWalk {
            paid: paid.sum(),
            graph: self,
            state: CheckmateState::with_stored(&self.base, &retained, Some(&stored)),
            proposer: CheckmateProposer::new(&self.base),
        }
    }
}

/// State of a run.
pub struct PoetWalk<'g> {
    graph: &'g PoetLandscape,
    state: CheckmateState<'g>,
    proposer: CheckmateProposer<'g>,
    /// Cost of page-outs.
    paid: f64,
}

/// A flip of the bit of secondary storage.
fn storing(tensor: usize, keep: bool) -> Flip {
    Flip {
        tensor: tensor as u32,
        from: 0,
        to: 0,
        keep,
    }
}

impl PoetWalk<'_> {
    fn out(&self, flip: Flip) -> f64 {
        let out = self.graph.out[flip.tensor as usize].unwrap_or(0.0);
        if flip.keep { out } else { -out }
    }

    /// The part of a flip that is the opposite throughout, and leaves the first stage that starts
    /// with a stored tensor as it is. Between two uses a tensor may be away, and come back.
    fn allowed(&self, flip: Flip) -> Option<Flip> {
        let tensor = flip.tensor as usize;
        let first = self
            .state
            .is_stored(tensor)
            .then(|| self.state.first_held(tensor));
        let begin = first
            .flatten()
            .map_or(flip.from, |stage| flip.from.max(stage as u32 + 1));
        let is_open = |stage: &u32| self.state.is_kept(tensor, *stage as usize) != flip.keep;
        let from = (begin..=flip.to).find(is_open)?;
        let to = (from..=flip.to).take_while(is_open).last()?;
        Some(Flip { from, to, ..flip })
    }

    /// Tries a flip out as part of a leap; returns the change of energy.
    fn take(&mut self, flip: Flip, price: f64, done: &mut Vec<Flip>) -> f64 {
        let delta = self.evaluate(flip);
        self.try_out(flip);
        done.push(flip);
        delta.energy(price)
    }
}

impl Walk for PoetWalk<'_> {
    type Sets = BitMatrix;

    const LEAP: Option<u32> = Some(TUNING.leap);

    fn evaluate(&mut self, flip: Flip) -> Delta {
        if flip.from > 0 {
            return self.state.evaluate(flip);
        }
        let mut delta = self.state.evaluate_storing(flip.tensor as usize);
        delta.cost += self.out(flip);
        delta
    }

    fn apply(&mut self, flip: Flip) {
        if flip.from > 0 {
            return self.state.apply(flip);
        }
        self.state.store(flip.tensor as usize);
        self.paid += self.out(flip);
    }

    fn try_out(&mut self, flip: Flip) {
        match flip.from > 0 {
            true => self.state.try_out(flip),
            false => self.apply(flip),
        }
    }

    fn take_back(&mut self, flip: Flip) {
        match flip.from > 0 {
            true => self.state.take_back(flip),
            false => self.apply(flip.inverse()),
        }
    }

    fn settle(&mut self) {
        self.state.settle();
    }

    fn excess(&self) -> f64 {
        self.state.excess()
    }

    fn cost(&self) -> u64 {
        (self.state.cost() + self.paid) as u64
    }

    fn retained(&self) -> BitMatrix {
        let mut sets = self.state.retained();
        for i in 0..self.graph.base.n {
            sets.set(0, i, self.state.is_stored(i));
        }
        sets
    }

    fn look_around(&mut self) {
        self.state.resum();
        self.proposer.look(&self.state);
    }

    fn press(&mut self, share: f64) {
        self.state.press(share);
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let paged = &self.graph.paged;
        if !paged.is_empty() && random.one_in(TUNING.unstore) {
            let tensor = paged[random.below(paged.len() as u32) as usize] as usize;
            return self.state.is_stored(tensor).then(|| storing(tensor, false));
        }
        self.allowed(self.proposer.anywhere(&self.state, random)?)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        if first.from == 0 {
            return self.anywhere(random);
        }
        let second = match random.one_in(2) {
            true => self.proposer.beside(&self.state, first, random),
            false => self.proposer.during(&self.state, first, random),
        };
        self.allowed(second?)
    }

    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        let stage = first.to as usize;
        let flip = self
            .proposer
            .following(&self.state, tensor, stage, first.keep);
        self.allowed(flip?)
    }

    fn inputs(&self, tensor: usize) -> &[u32] {
        self.graph.base.needs(tensor)
    }

    /// Stores a tensor, and pages it in where it is computed again, or lets go of it where it
    /// waits.
    fn leap(
        &mut self,
        price: f64,
        threshold: f64,
        random: &mut Xoshiro256,
        done: &mut Vec<Flip>,
    ) -> f64 {
        let paged = &self.graph.paged;
        if paged.is_empty() {
            return threshold + 1.0;
        }
        let tensor = paged[random.below(paged.len() as u32) as usize] as usize;
        let mut energy = 0.0;
        let first = match self.state.first_held(tensor) {
            Some(first) => first,
            None => {
                let [from, to] = [tensor as u32 + 1; 2];
                let (tensor, keep) = (tensor as u32, true);
                let flip = Flip {
                    tensor,
                    from,
                    to,
                    keep,
                };
                energy += self.take(flip, price, done);
                to as usize
            }
        };
        if first + 2 >= self.graph.base.n {
            return threshold + 1.0;
        }
        if !self.state.is_stored(tensor) {
            energy += self.take(storing(tensor, true), price, done);
        }
        let kinds = 1 + random.below(3);
        let early = random.below(TUNING.early + 1) as usize;
        let only = match random.one_in(2) {
            true => Some(first + random.below((self.graph.base.n - first) as u32) as usize),
            false => None,
        };
        let mut before = first;
        while let Some(touch) = self.state.next_touch(tensor, before + 1) {
            let here = only.is_none_or(|stage| (before..=touch).contains(&stage));
            let is_kept = self.state.is_kept(tensor, touch);
            let flip = if kinds & 1 != 0 && !is_kept {
                let from = touch.saturating_sub(early).max(before + 2);
                Some((from, touch, true))
            } else if kinds & 2 != 0 && is_kept {
                // It stays where it was paged out, and where it is used.
                let from = before + 1;
                Some((from, touch.saturating_sub(1 + early), false))
            } else {
                None
            };
            if let Some((from, to, keep)) = flip.filter(|f| here && f.0 <= f.1)
                && from > first
                && (from..=to).all(|t| self.state.is_kept(tensor, t) != keep)
            {
                let [from, to] = [from, to].map(|stage| stage as u32);
                let flip = Flip {
                    tensor: tensor as u32,
                    from,
                    to,
                    keep,
                };
                energy += self.take(flip, price, done);
            }
            before = touch;
        }
        match done.is_empty() {
            true => threshold + 1.0,
            false => energy,
        }
    }
}
