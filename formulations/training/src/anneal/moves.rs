//! Proposals: which tensor to keep or drop, over which stages.

use super::graph::CheckmateLandscape;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::Flip;

/// Interface of retained sets for proposals.
pub(crate) trait RetainedSets {
    /// Returns whether a tensor is retained at the start of a stage.
    fn is_kept(&self, tensor: usize, stage: usize) -> bool;
    /// Last stage up to `stage` that computes or reads `tensor`, `stage >= tensor`.
    fn previous_touch(&self, tensor: usize, stage: usize) -> usize;
    /// First stage from `stage` on that computes or reads `tensor`.
    fn next_touch(&self, tensor: usize, stage: usize) -> Option<usize>;
    /// Tensors that a stage computes or reads, ascending.
    fn touched(&self, stage: usize) -> &[u32];
    /// Peak memory of a stage in bytes, without fixed memory.
    fn peak(&self, stage: usize) -> f64;
    /// Bytes for each stage: the capacity beside other micro-batches.
    fn capacity(&self) -> f64;
    /// Last stage up to `stage` that starts with a tensor; there is one.
    fn last_kept(&self, tensor: usize, stage: usize) -> usize;
    /// First stage from `stage` on that does not start with a tensor.
    fn first_free(&self, tensor: usize, stage: usize) -> usize;
}

/// Draws flips. The stages between two touches of a tensor (computations or reads) form a gap.
/// Inside a gap a tensor is useful only if it is held throughout, so flips go by gaps, whole or in
/// part.
pub struct CheckmateProposer<'g> {
    graph: &'g CheckmateLandscape,
    /// Stages in which a retention can matter: all after the first node's.
    stages: u32,
    /// Stages above capacity at the last call of [`CheckmateProposer::look`].
    tight: Vec<u32>,
}

impl<'g> CheckmateProposer<'g> {
    /// A proposer for a graph of at least two nodes.
    pub fn new(graph: &'g CheckmateLandscape) -> Self {
        CheckmateProposer {
            graph,
            stages: graph.n as u32 - 1,
            tight: Vec::new(),
        }
    }

    /// Notes the stages above capacity.
    pub fn look(&mut self, state: &impl RetainedSets) {
        let capacity = state.capacity();
        let above = |t: &u32| state.peak(*t as usize) > capacity;
        self.tight.clear();
        self.tight.extend((1..self.graph.n as u32).filter(above));
    }

    /// A flip anywhere; half of the draws at a stage above capacity, if there is one.
    ///
    /// Half of the draws choose a stage and a tensor that the stage touches, which finds the short
    /// gaps. The others choose a stage and any tensor, which finds the long ones.
    pub fn anywhere(&self, state: &impl RetainedSets, random: &mut Xoshiro256) -> Option<Flip> {
        let stage = match self.tight.len() {
            0 => 1 + random.below(self.stages),
            many if random.one_in(2) => self.tight[random.below(many as u32) as usize],
            _ => 1 + random.below(self.stages),
        } as usize;
        let tensor = if random.one_in(2) {
            let touched = state.touched(stage);
            touched[random.below(touched.len() as u32) as usize] as usize
        } else {
            random.below(stage as u32) as usize
        };
        let stage = if random.one_in(2) { stage } else { stage + 1 };
        self.at(state, tensor, stage, random)
    }

    /// A flip of an input or user of a flip's tensor, near one of its ends.
    pub fn beside(
        &self,
        state: &impl RetainedSets,
        flip: Flip,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let (needs, users) = (
            self.graph.needs(flip.tensor as usize),
            self.graph.users(flip.tensor as usize),
        );
        let pick = random.below((needs.len() + users.len()).max(1) as u32) as usize;
        let tensor = if pick < needs.len() {
            *needs.get(pick)?
        } else {
            *users.get(pick - needs.len())?
        } as usize;
        let stage =
            if random.one_in(2) { flip.from } else { flip.to } as usize + random.below(2) as usize;
        self.at(state, tensor, stage, random)
    }

    /// A flip of any tensor somewhere in the stages of another flip.
    pub fn during(
        &self,
        state: &impl RetainedSets,
        flip: Flip,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let stage = flip.from + random.below(flip.to - flip.from + 1);
        let tensor = random.below(stage);
        self.at(state, tensor as usize, stage as usize, random)
    }

    /// Flip of `tensor` in response to a flip of one of its readers in `stage`: `tensor` is dropped
    /// where it has no other use (`release`), or held where the reader is computed.
    pub fn following(
        &self,
        state: &impl RetainedSets,
        tensor: usize,
        stage: usize,
        release: bool,
    ) -> Option<Flip> {
        if stage <= tensor || stage >= self.graph.n || state.is_kept(tensor, stage) != release {
            return None;
        }
        if !release {
            // Part of the gap may be held already, without a use.
            let from = state.first_free(tensor, state.previous_touch(tensor, stage - 1) + 1);
            return Some(Flip {
                tensor: tensor as u32,
                from: from as u32,
                to: stage as u32,
                keep: true,
            });
        }
        let before = state.previous_touch(tensor, stage);
        let to = state.first_free(tensor, stage) - 1;
        let next = state.next_touch(tensor, stage);
        if before == stage || next.is_some_and(|next| next <= to) {
            return None;
        }
        Some(Flip {
            tensor: tensor as u32,
            from: before as u32 + 1,
            to: to as u32,
            keep: false,
        })
    }

    /// A flip of `tensor` in the gap that holds `stage`, or `None` if no flip is possible there.
    pub fn at(
        &self,
        state: &impl RetainedSets,
        tensor: usize,
        stage: usize,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        if stage <= tensor || stage >= self.graph.n {
            return None;
        }
        let before = state.previous_touch(tensor, stage - 1);
        let after = state.next_touch(tensor, stage);
        let keep = !state.is_kept(tensor, before + 1);
        let (mut from, mut to) = if keep {
            (before + 1, after?)
        } else {
            let end = after.unwrap_or(self.graph.n - 1);
            (before + 1, state.last_kept(tensor, end))
        };
        if to > from && random.one_in(3) {
            // Part of the gap: a drop that ends later is an earlier recomputation. A keep that
            // starts later is one, too.
            let span = (to - from) as u32;
            let near = if random.one_in(2) { span.min(4) } else { span };
            let mut cut = random.below(near) as usize;
            let needs = self.graph.needs(tensor);
            if !needs.is_empty() && random.one_in(2) {
                // While an input is there.
                let input = needs[random.below(needs.len() as u32) as usize] as usize;
                let there = state.previous_touch(input, to);
                if there < from || there >= to {
                    return None;
                }
                cut = to - 1 - there;
            }
            if keep {
                from = to - cut
            } else {
                to = from + (span as usize - 1 - cut)
            }
        }
        Some(Flip {
            tensor: tensor as u32,
            from: from as u32,
            to: to as u32,
            keep,
        })
    }
}
