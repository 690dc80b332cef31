//! Annealing of the retained and stored tensors.
//!
//! The state is Checkmate's, with a bit for each tensor that is in secondary storage. A flip of
//! that bit is a flip in stage 0, in which no tensor is retained. A tensor that is stored is paged
//! out in the first stage that starts with it, which does not change as long as it is stored.

use super::PoetInstance;
use crate::anneal::{CheckmateLandscape, CheckmateWalk};
use remat_instances::schedule::BitMatrix;
use remat_search::anneal::{Delta, Flip, Landscape, Walk, Xoshiro256};

/// The landscape of POET's program for a budget.
pub struct PoetLandscape {
    base: CheckmateLandscape,
    /// Cost of a page-out by tensor; `None` if it has no pages.
    out: Vec<Option<f64>>,
    /// Tensors that have pages, and a stage to use them in.
    paged: Vec<u32>,
}

/// Tuning of the moves.
struct Tuning {
    /// One in this many steps stores a tensor, together with flips that use it.
    leap: u32,
    /// One in this many flips brings a tensor back from secondary storage.
    unstore: u32,
    /// Maximum number of stages for which a paged-in tensor is held before it is used.
    early: u32,
}

/// Not tuned: with these values the two recorded programs of 27 and 81 nodes reach their best known
/// values within a second (docs/theory/poet.md).
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
        let mut out = vec![None; n];
        base.page_in = vec![0.0; n];
        for (i, costs) in instance.pages().iter().enumerate() {
            if let Some(costs) = costs {
                let [there, back] = [costs.out, costs.back].map(|cost| cost as f64);
                (out[i], base.page_in[i]) = (Some(there), back);
                base.again[i] = base.again[i].min(there + back);
            }
        }
        for one in &instance.terms().freed_again {
            base.free_again(one.input.0, one.reader.index(), one.bytes);
        }
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

impl Landscape for PoetLandscape {
    type Sets = BitMatrix;
    type Walk<'g> = PoetWalk<'g>;

    fn nodes(&self) -> usize {
        self.base.n
    }

    fn mean_cost(&self) -> f64 {
        self.base.mean_cost()
    }

    fn byte_price(&self) -> f64 {
        self.base.byte_price()
    }

    fn absence_price(&self) -> f64 {
        self.base.absence_price()
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
            base: CheckmateWalk::with_stored(&self.base, &retained, Some(&stored)),
        }
    }
}

/// State of a run.
pub struct PoetWalk<'g> {
    graph: &'g PoetLandscape,
    base: CheckmateWalk<'g>,
    /// Cost of page-outs.
    paid: f64,
}

/// A flip in stages `from..=to`; of the bit of secondary storage in stage 0.
fn flip(tensor: usize, [from, to]: [usize; 2], keep: bool) -> Flip {
    let [tensor, from, to] = [tensor, from, to].map(|k| k as u32);
    Flip {
        tensor,
        from,
        to,
        keep,
    }
}

impl PoetWalk<'_> {
    fn out(&self, flip: Flip) -> f64 {
        let out = self.graph.out[flip.tensor as usize].unwrap_or(0.0);
        if flip.keep { out } else { -out }
    }

    /// The first part of a flip in which all bits are the opposite, without the first stage that
    /// starts with a stored tensor. Between two uses a tensor may be absent and come back.
    fn allowed(&self, flip: Flip) -> Option<Flip> {
        let tensor = flip.tensor as usize;
        let state = &self.base.state;
        let first = state.first_held(tensor).filter(|_| state.is_stored(tensor));
        let begin = first.map_or(flip.from, |stage| flip.from.max(stage as u32 + 1));
        let is_open = |stage: &u32| state.is_kept(tensor, *stage as usize) != flip.keep;
        let from = (begin..=flip.to).find(is_open)?;
        let to = (from..=flip.to).take_while(is_open).last()?;
        Some(Flip { from, to, ..flip })
    }

    /// Tries a flip as part of a leap; returns the change of energy.
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
            return self.base.state.evaluate(flip);
        }
        let mut delta = self.base.state.evaluate_storing(flip.tensor as usize);
        delta.cost += self.out(flip);
        delta
    }

    fn apply(&mut self, flip: Flip) {
        if flip.from > 0 {
            return self.base.state.apply(flip);
        }
        self.base.state.store(flip.tensor as usize);
        self.paid += self.out(flip);
    }

    fn try_out(&mut self, flip: Flip) {
        match flip.from > 0 {
            true => self.base.state.try_out(flip),
            false => self.apply(flip),
        }
    }

    fn take_back(&mut self, flip: Flip) {
        match flip.from > 0 {
            true => self.base.state.take_back(flip),
            false => self.apply(flip.inverse()),
        }
    }

    fn settle(&mut self) {
        self.base.settle();
    }

    fn excess(&self) -> f64 {
        self.base.excess()
    }

    fn cost(&self) -> u64 {
        (self.base.state.cost() + self.paid) as u64
    }

    fn retained(&self) -> BitMatrix {
        let mut sets = self.base.state.retained();
        for i in 0..self.graph.base.n {
            sets.set(0, i, self.base.state.is_stored(i));
        }
        sets
    }

    fn look_around(&mut self) {
        self.base.look_around();
    }

    fn press(&mut self, share: f64) {
        self.base.press(share);
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let paged = &self.graph.paged;
        if !paged.is_empty() && random.one_in(TUNING.unstore) {
            let tensor = paged[random.below(paged.len() as u32) as usize] as usize;
            let is_stored = self.base.state.is_stored(tensor);
            return is_stored.then(|| flip(tensor, [0, 0], false));
        }
        self.allowed(self.base.anywhere(random)?)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        if first.from == 0 {
            return self.anywhere(random);
        }
        self.allowed(self.base.second(first, random)?)
    }

    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        self.allowed(self.base.following(tensor, first)?)
    }

    fn inputs(&self, tensor: usize) -> &[u32] {
        self.base.inputs(tensor)
    }

    /// Stores a tensor, and pages it in where it is recomputed, or drops it where it waits.
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
        let first = match self.base.state.first_held(tensor) {
            Some(first) => first,
            None => {
                let next = tensor + 1;
                energy += self.take(flip(tensor, [next, next], true), price, done);
                next
            }
        };
        if first + 2 >= self.graph.base.n {
            return threshold + 1.0;
        }
        if !self.base.state.is_stored(tensor) {
            energy += self.take(flip(tensor, [0, 0], true), price, done);
        }
        let kinds = 1 + random.below(3);
        let early = random.below(TUNING.early + 1) as usize;
        let only = match random.one_in(2) {
            true => Some(first + random.below((self.graph.base.n - first) as u32) as usize),
            false => None,
        };
        let mut before = first;
        while let Some(touch) = self.base.state.next_touch(tensor, before + 1) {
            let here = only.is_none_or(|stage| (before..=touch).contains(&stage));
            let is_kept = self.base.state.is_kept(tensor, touch);
            let stages = if kinds & 1 != 0 && !is_kept {
                let from = touch.saturating_sub(early).max(before + 2);
                Some((from, touch, true))
            } else if kinds & 2 != 0 && is_kept {
                // It stays in the stage in which it was paged out, and in stages that use it.
                let from = before + 1;
                Some((from, touch.saturating_sub(1 + early), false))
            } else {
                None
            };
            if let Some((from, to, keep)) = stages.filter(|f| here && f.0 <= f.1)
                && from > first
                && (from..=to).all(|t| self.base.state.is_kept(tensor, t) != keep)
            {
                energy += self.take(flip(tensor, [from, to], keep), price, done);
            }
            before = touch;
        }
        match done.is_empty() {
            true => threshold + 1.0,
            false => energy,
        }
    }
}
