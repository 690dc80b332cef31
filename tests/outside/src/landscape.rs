//! The landscape that is annealed: the set of kept tensors, one flip at a time.

use crate::Knapsack;
use remat_instances::schedule::BitMatrix;
use remat_search::anneal::{Delta, Flip, Landscape, Walk, Xoshiro256};

/// A set of kept tensors, with its cost and bytes.
pub struct KnapsackWalk<'g> {
    knapsack: &'g Knapsack,
    kept: BitMatrix,
    now: (u64, u64),
}

impl KnapsackWalk<'_> {
    fn over(&self, bytes: u64) -> f64 {
        bytes.saturating_sub(self.knapsack.room) as f64
    }

    /// Cost and bytes after a flip.
    fn after(&self, flip: Flip) -> (u64, u64) {
        let (bytes, cost) = self.knapsack.tensors[flip.tensor as usize];
        match flip.keep {
            true => (self.now.0 - cost, self.now.1 + bytes),
            false => (self.now.0 + cost, self.now.1 - bytes),
        }
    }
}

impl Walk for KnapsackWalk<'_> {
    type Sets = BitMatrix;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        let (cost, bytes) = self.after(flip);
        Delta {
            cost: cost as f64 - self.now.0 as f64,
            excess: self.over(bytes) - self.excess(),
        }
    }

    fn apply(&mut self, flip: Flip) {
        self.now = self.after(flip);
        self.kept.set(0, flip.tensor as usize, flip.keep);
    }

    fn excess(&self) -> f64 {
        self.over(self.now.1)
    }

    fn cost(&self) -> u64 {
        self.now.0
    }

    fn retained(&self) -> BitMatrix {
        self.kept.clone()
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let tensor = random.below(self.kept.columns() as u32);
        let keep = !self.kept.get(0, tensor as usize);
        let (from, to) = (0, 0);
        Some(Flip {
            tensor,
            from,
            to,
            keep,
        })
    }
}

impl Landscape for Knapsack {
    type Sets = BitMatrix;
    type Walk<'g> = KnapsackWalk<'g>;

    fn nodes(&self) -> usize {
        self.tensors.len()
    }

    fn mean_cost(&self) -> f64 {
        self.once as f64 / self.tensors.len() as f64
    }

    fn byte_price(&self) -> f64 {
        self.once as f64 / self.room.max(1) as f64
    }

    fn absence_price(&self) -> f64 {
        self.byte_price()
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> KnapsackWalk<'g> {
        KnapsackWalk {
            knapsack: self,
            kept: start.clone(),
            now: self.cost_and_bytes(start),
        }
    }
}
