//! A stretch: tensors that are annealed while all others stay, except those they bring along.

use super::super::graph::CheckmateLandscape;
use super::super::moves::CheckmateProposer;
use super::state::{SparseState, StageRange};
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{Delta, Flip, Landscape, Walk};

/// Tensors with the runs in which they are held.
pub(super) type Changes = Vec<(u32, Vec<StageRange>)>;

/// Some tensors of a graph, and the sets around them.
pub(super) struct TensorStretch<'a> {
    graph: &'a CheckmateLandscape,
    base: &'a SparseState<'a>,
    /// The tensors, at least one.
    tensors: Vec<u32>,
    mean_cost: f64,
    byte_price: f64,
}

impl<'a> TensorStretch<'a> {
    /// Windows of so many nodes each, with the tensors that are read together with theirs, at a
    /// given price of a byte. `None` if no tensor there matters.
    pub fn new(
        graph: &'a CheckmateLandscape,
        base: &'a SparseState<'a>,
        byte_price: f64,
        [windows, nodes]: [u32; 2],
        random: &mut Xoshiro256,
    ) -> Option<Self> {
        let n = graph.n as u32;
        let mut tensors = Vec::new();
        for _ in 0..windows {
            let begin = random.below(n);
            for i in begin..(begin + nodes).min(n) {
                tensors.push(i);
                for &user in graph.users(i as usize) {
                    tensors.push(user);
                    tensors.extend_from_slice(graph.needs(user as usize));
                }
            }
        }
        tensors.sort_unstable();
        tensors.dedup();
        let matters = |i: &u32| {
            let i = *i as usize;
            graph.bytes[i] > 0.0 && !graph.users(i).is_empty() && !graph.is_once(i)
        };
        tensors.retain(matters);
        let costs = tensors.iter().map(|i| graph.cost_again[*i as usize]);
        let mean_cost = costs.sum::<f64>() / tensors.len() as f64;
        (!tensors.is_empty()).then_some(TensorStretch {
            graph,
            base,
            tensors,
            mean_cost,
            byte_price,
        })
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }
}

impl Landscape for TensorStretch<'_> {
    type Sets = Changes;
    type Walk<'g>
        = StretchWalk<'g>
    where
        Self: 'g;

    fn nodes(&self) -> usize {
        self.len()
    }

    fn mean_cost(&self) -> f64 {
        self.mean_cost
    }

    fn byte_price(&self) -> f64 {
        self.byte_price
    }

    /// Unused: runs over stretches begin within the budget, so they do not seek.
    fn absence_price(&self) -> f64 {
        self.byte_price
    }

    fn walk<'g>(&'g self, start: &Changes) -> StretchWalk<'g> {
        let mut state = self.base.clone();
        for (tensor, runs) in start {
            state.set_runs(*tensor, runs);
        }
        StretchWalk {
            stretch: self,
            state,
            proposer: CheckmateProposer::new(self.graph),
            changed: start.iter().map(|c| c.0).collect(),
            tight: Vec::new(),
        }
    }
}

/// State of a run over a stretch.
pub(super) struct StretchWalk<'g> {
    stretch: &'g TensorStretch<'g>,
    state: SparseState<'g>,
    proposer: CheckmateProposer<'g>,
    /// Tensors that are, or have been since, held otherwise than at first, ascending.
    changed: Vec<u32>,
    /// Stages above capacity at the last look.
    tight: Vec<u32>,
}

impl Walk for StretchWalk<'_> {
    type Sets = Changes;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        self.state.evaluate(flip)
    }

    fn apply(&mut self, flip: Flip) {
        if let Err(at) = self.changed.binary_search(&flip.tensor) {
            self.changed.insert(at, flip.tensor);
        }
        self.state.apply(flip);
    }

    fn excess(&self) -> f64 {
        self.state.excess()
    }

    fn cost(&self) -> u64 {
        self.state.cost() as u64
    }

    fn retained(&self) -> Changes {
        let runs = |i: &u32| (*i, self.state.runs(*i as usize).to_vec());
        self.changed.iter().map(runs).collect()
    }

    fn look_around(&mut self) {
        self.state.resum();
        self.tight.clear();
        self.tight.extend(self.state.above().map(|t| t as u32));
    }

    /// A flip of a tensor behind one of its touches; if some stage is above capacity, half of the
    /// flips are in such a stage.
    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let tensors = &self.stretch.tensors;
        let tensor = tensors[random.below(tensors.len() as u32) as usize] as usize;
        let stage = match self.tight.len() {
            many if many > 0 && random.one_in(2) => {
                self.tight[random.below(many as u32) as usize] as usize
            }
            _ => {
                let touches = self.state.touches(tensor);
                touches[random.below(touches.len() as u32) as usize] as usize + 1
            }
        };
        self.proposer.at(&self.state, tensor, stage, random)
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        if random.one_in(2) {
            return self.proposer.beside(&self.state, first, random);
        }
        // A tensor of the stretch, during the flip.
        let tensors = &self.stretch.tensors;
        let tensor = tensors[random.below(tensors.len() as u32) as usize] as usize;
        let stage = first.from + random.below(first.to - first.from + 1);
        self.proposer
            .at(&self.state, tensor, stage as usize, random)
    }

    fn following(&self, tensor: usize, first: Flip) -> Option<Flip> {
        let stage = first.to as usize;
        self.proposer
            .following(&self.state, tensor, stage, first.keep)
    }

    fn inputs(&self, tensor: usize) -> &[u32] {
        self.stretch.graph.needs(tensor)
    }
}
