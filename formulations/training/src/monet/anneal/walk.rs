//! State of a run over schedules of MONeT's program, and its moves.

use super::graph::{MonetLandscape, has, ones};
use super::moves::MonetProposer;
use super::state::MonetState;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{Delta, Flip, Landscape, Walk};

/// One in so many steps switches backward nodes to other variants.
const SWITCH: u32 = 16;
/// Switches at most in one step.
const SWITCHES: usize = 4;

impl Landscape for MonetLandscape {
    type Sets = BitMatrix;
    type Walk<'g> = MonetWalk<'g>;

    const MOVE_WEIGHT: u64 = 4;

    fn nodes(&self) -> usize {
        self.columns + self.stages
    }

    fn mean_cost(&self) -> f64 {
        self.mean_cost
    }

    /// Median cost per byte of the forward nodes that have both: the worth of a byte.
    fn byte_price(&self) -> f64 {
        let mut ratio: Vec<f64> = (0..self.columns)
            .filter_map(|j| {
                let cost = self.forward_ways(true, j).first()?.cost;
                let bytes = self.bytes[j];
                (cost > 0 && bytes > 0).then(|| cost as f64 / bytes as f64)
            })
            .collect();
        ratio.sort_by(f64::total_cmp);
        ratio.get(ratio.len() / 2).copied().unwrap_or(1.0)
    }

    /// The price of a byte divided by half the number of stages: for about so many a forward node's
    /// tensor is stored.
    fn absence_price(&self) -> f64 {
        2.0 * self.byte_price() / self.stages.max(2) as f64
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> MonetWalk<'g> {
        MonetWalk {
            graph: self,
            state: MonetState::new(self, start),
            proposer: MonetProposer::new(self),
        }
    }
}

/// State of a run.
pub struct MonetWalk<'g> {
    graph: &'g MonetLandscape,
    state: MonetState<'g>,
    proposer: MonetProposer<'g>,
}

impl Walk for MonetWalk<'_> {
    type Sets = BitMatrix;

    const LEAP: Option<u32> = Some(SWITCH);

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

    fn excess(&self) -> f64 {
        self.state.excess() as f64
    }

    fn cost(&self) -> u64 {
        self.state.cost() as u64
    }

    fn retained(&self) -> BitMatrix {
        self.state.retained()
    }

    fn press(&mut self, share: f64) {
        self.state.press(share);
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        self.proposer.anywhere(&self.state, random)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        if random.one_in(3) {
            self.proposer.during(&self.state, first, random)
        } else {
            self.proposer.beside(&self.state, first, random)
        }
    }

    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        self.proposer.following(&self.state, tensor, first)
    }

    fn inputs(&self, tensor: usize) -> &[u32] {
        self.graph.needs(tensor)
    }

    /// Makes a backward node read other tensors. The tensors of its new variant become stored for
    /// it. Half of the time, tensors that only other variants read are dropped. Neighbouring nodes,
    /// whose tensors depend on each other, may follow suit.
    fn leap(
        &mut self,
        price: f64,
        threshold: f64,
        random: &mut Xoshiro256,
        done: &mut Vec<Flip>,
    ) -> f64 {
        let mut energy = 0.0;
        let Some(mut stage) = self.proposer.choice(random) else {
            return energy;
        };
        let graph = self.graph;
        for _ in 0..SWITCHES {
            let variants = &graph.stage[stage].variants;
            let chosen = &variants[random.below(variants.len() as u32) as usize];
            // Tensors that only other variants read may have other uses.
            let release = random.one_in(2);
            for i in ones(&graph.stage[stage].read_by_any) {
                let keep = has(&chosen.reads, i);
                if !keep && !release {
                    continue;
                }
                let flip = self
                    .proposer
                    .for_backward(&self.state, i, stage, keep, random);
                if let Some(flip) = flip {
                    energy += self.state.evaluate(flip).energy(price);
                    self.state.try_out(flip);
                    done.push(flip);
                }
            }
            if energy <= threshold && !done.is_empty() || random.one_in(3) {
                break;
            }
            let at = graph.choices.partition_point(|t| (*t as usize) < stage);
            let next = if random.one_in(2) {
                at + 1
            } else {
                at.wrapping_sub(1)
            };
            match graph.choices.get(next) {
                Some(t) => stage = *t as usize,
                None => break,
            }
        }
        energy
    }
}
