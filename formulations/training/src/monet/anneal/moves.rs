//! Proposals: which tensor to keep or drop, over which stages.

use super::graph::MonetLandscape;
use super::state::MonetState;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::Flip;

/// One in so many flips that keep a tensor covers one stage only, for the backward node of the
/// stage before. Without such flips, only a switch of that node's variant would end a stretch
/// there, and the gap may have no other use.
const BEYOND: u32 = 32;

/// Draws flips. The stages between two uses of a tensor (computations, or backward nodes that may
/// read it) form a gap. Inside a gap a tensor is useful only if it is held throughout, so flips go
/// by gaps, whole or in part.
///
/// A backward node reads only tensors that its stage computes or that are stored beyond the stage
/// (row 6 of the written-out program). So a flip for a backward node covers one more stage.
pub struct MonetProposer<'g> {
    graph: &'g MonetLandscape,
}

impl<'g> MonetProposer<'g> {
    /// A proposer for a graph.
    pub fn new(graph: &'g MonetLandscape) -> Self {
        MonetProposer { graph }
    }

    /// A flip anywhere.
    ///
    /// Half of the draws choose a stage and a tensor that the stage uses, which finds the short
    /// gaps. The others choose a stage and any tensor, which finds the long ones.
    pub fn anywhere(&self, state: &MonetState<'_>, random: &mut Xoshiro256) -> Option<Flip> {
        let stage = random.below(self.graph.stages as u32) as usize;
        let used = state.used(stage);
        let tensor = if random.one_in(2) && !used.is_empty() {
            used[random.below(used.len() as u32) as usize] as usize
        } else {
            random.below(self.graph.columns as u32) as usize
        };
        let stage = stage + random.below(2) as usize;
        self.at(state, tensor, stage, random)
    }

    /// A flip of a partner of a flip's tensor: an input, a reader, a by-product, or an alternative
    /// that a backward node may read. It lies near one of the flip's ends, or over the same stages
    /// in the opposite direction.
    pub fn beside(
        &self,
        state: &MonetState<'_>,
        flip: Flip,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let partners = &self.graph.partners[flip.tensor as usize];
        let pick = random.below(partners.len() as u32) as usize;
        let tensor = *partners.get(pick)? as usize;
        if random.one_in(2) {
            return self.instead(state, flip, tensor);
        }
        let end = if random.one_in(2) { flip.from } else { flip.to };
        self.at(state, tensor, (end + random.below(2)) as usize, random)
    }

    /// A flip of any tensor somewhere in the stages of another flip.
    pub fn during(
        &self,
        state: &MonetState<'_>,
        flip: Flip,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let stage = flip.from + random.below(flip.to - flip.from + 1);
        let tensor = random.below(self.graph.columns as u32);
        self.at(state, tensor as usize, stage as usize, random)
    }

    /// A flip of `tensor` in response to a flip of one of its readers. If the reader is kept,
    /// `tensor` is dropped where it has no other use. If the reader is dropped, `tensor` is stored
    /// up to the stage that computes the reader.
    pub fn following(&self, state: &MonetState<'_>, tensor: usize, first: Flip) -> Option<Flip> {
        let (release, stage) = (first.keep, first.to as usize);
        if stage == 0 || state.is_kept(tensor, stage) != release {
            return None;
        }
        if !release {
            let mut from = state.previous_use(tensor, stage - 1).unwrap_or(0) + 1;
            // Part of the gap may be stored already, without a use.
            while state.is_kept(tensor, from) {
                from += 1;
            }
            return Some(Flip {
                tensor: tensor as u32,
                from: from as u32,
                to: stage as u32,
                keep: true,
            });
        }
        // A backward node reads the tensor beyond its stage, so the stored stretch is followed to
        // its end.
        let before = state.previous_use(tensor, stage - 1).unwrap_or(0);
        let mut to = stage;
        while to < self.graph.stages && state.is_kept(tensor, to + 1) {
            to += 1;
        }
        let used = state.next_use(tensor, stage);
        used.is_none_or(|next| next > to).then_some(Flip {
            tensor: tensor as u32,
            from: before as u32 + 1,
            to: to as u32,
            keep: false,
        })
    }

    /// A stage whose backward node has several variants, or `None` if no stage has such a node.
    pub fn choice(&self, random: &mut Xoshiro256) -> Option<usize> {
        let choices = &self.graph.choices;
        let pick = random.below(choices.len() as u32) as usize;
        choices.get(pick).map(|t| *t as usize)
    }

    /// The flip that makes `tensor` stored, or not stored, for the backward node of `stage`. `None`
    /// if that is already so.
    ///
    /// The flip goes back to the nearest stage that needs no change, but not beyond the tensor's
    /// last use; half of the flips may cross that use.
    pub fn for_backward(
        &self,
        state: &MonetState<'_>,
        tensor: usize,
        stage: usize,
        keep: bool,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let mut end = (stage + 1).min(self.graph.stages);
        // A tensor that is stored at the start of `stage`, but not beyond it, is of no use to the
        // backward node.
        if !keep && !state.is_kept(tensor, end) {
            end -= 1;
        }
        if end == 0 || state.is_kept(tensor, end) == keep {
            return None;
        }
        let before = state
            .previous_use(tensor, stage.saturating_sub(1))
            .unwrap_or(0);
        let least = if random.one_in(2) { 1 } else { before + 1 };
        let mut from = end;
        while from > least && state.is_kept(tensor, from - 1) != keep {
            from -= 1;
        }
        Some(Flip {
            tensor: tensor as u32,
            from: from as u32,
            to: end as u32,
            keep,
        })
    }

    /// Keeps `tensor` where the flip drops its own, or the other way round, over the last stretch
    /// of the flip's stages where the tensor is in the opposite state.
    fn instead(&self, state: &MonetState<'_>, flip: Flip, tensor: usize) -> Option<Flip> {
        let keep = !flip.keep;
        let (from, to) = (flip.from as usize, flip.to as usize);
        let mut end = to;
        while end >= from && state.is_kept(tensor, end) == keep {
            end -= 1;
        }
        if end < from {
            return None;
        }
        let mut begin = end;
        while begin > from && state.is_kept(tensor, begin - 1) != keep {
            begin -= 1;
        }
        Some(Flip {
            tensor: tensor as u32,
            from: begin as u32,
            to: end as u32,
            keep,
        })
    }

    /// A flip of `tensor` in the gap that holds the start of `stage`, or `None` if no flip is
    /// possible there.
    fn at(
        &self,
        state: &MonetState<'_>,
        tensor: usize,
        stage: usize,
        random: &mut Xoshiro256,
    ) -> Option<Flip> {
        let stages = self.graph.stages;
        if stage == 0 || stage > stages {
            return None;
        }
        // A by-product without an earlier use could be made in the first stage.
        let before = state.previous_use(tensor, stage - 1).unwrap_or(0);
        let after = state.next_use(tensor, stage);
        let keep = !state.is_kept(tensor, before + 1);
        let mut from = before + 1;
        let mut to;
        let read = |t: usize| {
            self.graph.readers[tensor]
                .binary_search(&(t as u32))
                .is_ok()
        };
        if keep && read(before) && random.one_in(BEYOND) {
            // Only for the backward node of the stage before.
            to = from;
        } else if keep {
            to = after?;
            let beyond = to < stages && !state.is_kept(tensor, to + 1) && read(to);
            // Without the stage beyond, only forward nodes can use the tensor.
            if beyond && !random.one_in(8) {
                to += 1;
            }
        } else {
            to = after.unwrap_or(stages);
            while !state.is_kept(tensor, to) {
                to -= 1;
            }
            let tail = to < stages
                && state.is_kept(tensor, to + 1)
                && (to + 1 == stages || !state.is_kept(tensor, to + 2));
            if tail && !random.one_in(4) {
                to += 1;
            }
        }
        if to > from && random.one_in(3) {
            // Part of the gap: a drop that ends later is an earlier recomputation. A keep that
            // starts later is one, too.
            let span = (to - from) as u32;
            let near = if random.one_in(2) { span.min(4) } else { span };
            let cut = random.below(near) as usize;
            if keep {
                from = to - cut;
            } else {
                to = from + (span as usize - 1 - cut);
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
