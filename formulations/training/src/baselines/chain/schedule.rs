//! From operations on a chain to a schedule of the training graph.
//!
//! A schedule is frontier-advancing. All recomputations between two backward steps belong to one
//! stage: the stage of the node that is computed next for the first time, the first node of the
//! coming backward stretch. A persistent sequence runs a contiguous ascending run of stages there
//! (`F^s .. F^t`, then `B^t`), hence no node twice in a stage. The dynamic program for stages
//! `s..=t` starts with `F^s` and goes on, in either case, with the program for `s'..=t`, `s' > s`.
//!
//! Only the *held* tensors are taken from the operations (the retained matrix S); the computations
//! are the cheapest for them ([`CheckmateSchedule::tightest`]). A sequence that is not persistent
//! runs a stage twice between two backward steps. It becomes a schedule that runs the stage once
//! and holds the output in between. The schedule costs no more than the sequence; its peak follows
//! from the replay.

use super::{ChainState, Operation, OperationError, TrainingChain};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};

impl TrainingChain<'_> {
    /// The schedule of a sequence of operations.
    ///
    /// For a persistent sequence its cost equals the cost of [`super::replay`], and its peak is at
    /// most the one found there.
    ///
    /// # Errors
    /// [`OperationError`] if the sequence cannot be executed.
    pub fn schedule(&self, operations: &[Operation]) -> Result<CheckmateSchedule, OperationError> {
        let chain = self.chain();
        let mut held = HeldTensors::new(self);
        let mut state = ChainState::new(chain);
        let mut first = vec![true; chain.len()];
        for (at, &operation) in operations.iter().enumerate() {
            let l = operation.stage();
            let before = state.clone();
            state.apply(chain, at, operation, false)?;
            let Some(next) = before.next_backward else {
                continue;
            };
            match operation {
                Operation::SaveAll(_) | Operation::KeepInput(_) => {
                    held.keep_input(l);
                    held.run_forward(l, first[l], next);
                    if matches!(operation, Operation::SaveAll(_)) {
                        held.save(l);
                    }
                }
                Operation::DropInput(_) => {
                    if !first[l] {
                        held.use_input(l, next);
                    }
                    held.run_forward(l, first[l], next);
                }
                Operation::Backward(_) => {}
            }
            if !matches!(operation, Operation::Backward(_)) {
                first[l] = false;
            }
        }
        if let Some(stage) = state.next_backward {
            return Err(OperationError::Unfinished { stage });
        }
        Ok(held.finish())
    }
}

/// Builds the retained matrix of a chain's instance. Stages of the chain are called blocks here.
pub(in crate::baselines) struct HeldTensors<'a> {
    instance: &'a Instance,
    chain: &'a TrainingChain<'a>,
    retained: StageRuns,
    /// Stage in which each block was run forward last; `None` for a first run, which has one stage
    /// per node.
    run_at: Vec<Option<usize>>,
}

impl<'a> HeldTensors<'a> {
    /// Holds only gradients, the loss and, inside each block's first run, the tensors that later
    /// nodes of the block read.
    pub(in crate::baselines) fn new(chain: &'a TrainingChain<'a>) -> Self {
        let instance = chain.instance;
        let n = instance.len();
        let mut held = HeldTensors {
            instance,
            chain,
            retained: StageRuns::new(n, n),
            run_at: vec![None; chain.blocks().len()],
        };
        let blocks = chain.blocks();
        let loss = blocks[blocks.len() - 1].backward.start;
        for i in 0..n {
            let users = instance.users(NodeId::from(i));
            let last = if i < loss {
                users.iter().rev().find(|u| u.index() <= loss)
            } else {
                users.last()
            };
            if let Some(last) = last {
                held.hold(i, i + 1, last.index());
            }
        }
        held
    }

    fn hold(&mut self, tensor: usize, from: usize, to: usize) {
        self.retained.fill(tensor, from, to);
    }

    /// The stage after the one in which a tensor of block `l` was computed last.
    fn since(&self, l: usize, tensor: NodeId) -> usize {
        self.run_at[l].unwrap_or(tensor.index()) + 1
    }

    /// Records that block `l` runs forward, for the first time or before the backward stretch of
    /// block `next`.
    pub(in crate::baselines) fn run_forward(&mut self, l: usize, first: bool, next: usize) {
        self.run_at[l] = (!first).then(|| self.chain.blocks()[next].backward.start);
    }

    /// Holds the input of block `l` until the block's backward stretch is over.
    pub(in crate::baselines) fn keep_input(&mut self, l: usize) {
        if let Some(before) = l.checked_sub(1)
            && let Some(x) = self.chain.blocks()[before].output
        {
            let end = self.chain.blocks()[l].backward.end;
            self.hold(x.index(), self.since(before, x), end - 1);
        }
    }

    /// Holds the input of block `l` until the recomputations before the backward stretch of block
    /// `next`.
    fn use_input(&mut self, l: usize, next: usize) {
        if let Some(before) = l.checked_sub(1)
            && let Some(x) = self.chain.blocks()[before].output
        {
            let to = self.chain.blocks()[next].backward.start;
            self.hold(x.index(), self.since(before, x), to);
        }
    }

    /// Holds all tensors of block `l` that its backward stretch reads until that is over.
    pub(in crate::baselines) fn save(&mut self, l: usize) {
        let block = &self.chain.blocks()[l];
        for &id in &block.saved {
            self.hold(id.index(), self.since(l, id), block.backward.end - 1);
        }
    }

    /// Saves as [`Self::save`] does, apart from the block's output.
    pub(in crate::baselines) fn save_inner(&mut self, l: usize) {
        let block = &self.chain.blocks()[l];
        for &id in block.saved.iter().filter(|&&id| Some(id) != block.output) {
            self.hold(id.index(), self.since(l, id), block.backward.end - 1);
        }
    }

    /// Holds the output of block `l` until the block's backward stretch is over.
    pub(in crate::baselines) fn keep_output(&mut self, l: usize) {
        let block = &self.chain.blocks()[l];
        if let Some(x) = block.output {
            self.hold(x.index(), self.since(l, x), block.backward.end - 1);
        }
    }

    /// The cheapest schedule, without useless retentions.
    pub(in crate::baselines) fn finish(self) -> CheckmateSchedule {
        CheckmateSchedule::tightest(self.instance, self.retained)
    }
}
