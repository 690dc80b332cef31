//! Heterogeneous chains: the model of rotor and POFO, its operations, and their replay.
//!
//! A chain has stages `0..=L` (the papers count from 1). Stage `l` turns the output `a_{l-1}` of
//! the stage before into its own output `a_l`. Its backward step needs the gradient `delta_l`, the
//! input `a_{l-1}` and `abar_l`, all intermediate data of the stage. The last stage holds the loss.
//! Sources: Beaumont, Eyraud-Dubois, Hermann, Joly, Shilova, "Optimal checkpointing for
//! heterogeneous chains: how to train deep neural networks with limited memory", 2019; POFO,
//! NeurIPS 2021, section 3.1 and table 1.
//!
//! The published model has one duration and one overhead for each direction. Here a stage may be a
//! whole block of an [`Instance`]. Checkmate's replay frees a tensor inside a block after its last
//! read. It computes every node in the first pass, and only the needed ones in a later pass. A
//! [`Stage`] therefore carries the cost and peak of each *kind of run*; [`Chain::from_parameters`]
//! fills them in from the published parameters. With these numbers:
//! - the cost of a persistent schedule equals the cost of its [`CheckmateSchedule`];
//! - its peak is at least the peak of its [`CheckmateSchedule`]. The model holds a stage's input
//!   until the stage's backward step is over, even if the last read comes before. A schedule within
//!   the budget under the model is within the budget in the replay.
//!
//! [`extract`] makes a chain from an instance, [`TrainingChain::schedule`] maps operations back.

mod extract;
mod schedule;

pub(in crate::baselines) use schedule::HeldTensors;

pub use extract::{Block, NoChain, TrainingChain, extract};

#[cfg(doc)]
use remat_instances::{instance::Instance, schedule::CheckmateSchedule};

/// Peaks of the ways to run a stage forward, in bytes, without the gradient held at the time. The
/// stage's input is not counted unless stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ForwardPeaks {
    /// Only the output is kept; the input is held anyway (`F_ck`).
    pub pass_bytes: u64,
    /// Only the output is kept; the input is counted and freed after its last read (`F_none`).
    pub stream_bytes: u64,
    /// Everything that the backward step needs is kept, and the output (`F_all`).
    pub save_bytes: u64,
}

/// One stage of a [`Chain`]. Costs in the instance's unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stage {
    /// Size of the output, `a_l`.
    pub output_bytes: u64,
    /// Size of the tensors that `F_all` leaves, `abar_l`: all that the backward step needs of this
    /// stage, and the output.
    pub saved_bytes: u64,
    /// Size of the gradients that are alive when the backward step starts, `delta_l`; 0 for the
    /// last stage.
    pub gradient_bytes: u64,
    /// Cost of the first forward run.
    pub forward_cost: u64,
    /// Cost of the backward step, which runs once.
    pub backward_cost: u64,
    /// Cost of a further run that makes the output only (`F_ck`, `F_none`).
    pub pass_cost: u64,
    /// Cost of a further run that makes the output and everything saved (`F_all`).
    pub save_cost: u64,
    /// Cost of a further `F_all` directly before the backward step, which need not make the output.
    pub close_cost: u64,
    /// Peaks of the first forward run.
    pub first: ForwardPeaks,
    /// Peaks of a further forward run.
    pub again: ForwardPeaks,
    /// Peak of `F_all` and the backward step directly after it, with gradients and without the
    /// input. For the last stage the run is the first, for the others a further one: a persistent
    /// schedule has no other case.
    pub close_bytes: u64,
    /// Peak of the forward half alone, with gradients.
    pub close_forward_bytes: u64,
    /// Peak of the backward step if `F_all` ran before, with gradients and saved data and without
    /// the input.
    pub backward_bytes: u64,
}

/// A stage by its published parameters (POFO, table 1 and appendix B).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StageParameters {
    /// Duration of the forward operation, `u_F`.
    pub forward_cost: u64,
    /// Duration of the backward operation, `u_B`.
    pub backward_cost: u64,
    /// Size of the output, `a_l`.
    pub output_bytes: u64,
    /// Size of all intermediate data, the output among them, `abar_l`; at least `output_bytes`.
    pub saved_bytes: u64,
    /// Size of the gradient that the backward step reads, `delta_l`.
    pub gradient_bytes: u64,
    /// Temporary memory of the forward operation, `o_f`.
    pub forward_overhead_bytes: u64,
    /// Temporary memory of the backward operation, `o_b`.
    pub backward_overhead_bytes: u64,
}

/// A chain of stages; the last one computes the loss.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chain {
    /// The stages, at least one.
    pub stages: Vec<Stage>,
    /// Memory that is in use throughout: the input of the first stage, and other fixed memory.
    pub fixed_bytes: u64,
}

impl Chain {
    /// A chain by its published parameters: `stages[l]` with input `a_{l-1}`, the first with an
    /// input of `input_bytes`.
    ///
    /// The gradient that the first stage makes (`delta_0` in the papers, the gradient of the batch)
    /// is counted as 0 bytes.
    pub fn from_parameters(input_bytes: u64, stages: &[StageParameters]) -> Self {
        let mut input = input_bytes;
        let mut incoming = 0;
        let last = stages.len().saturating_sub(1);
        let stages = stages
            .iter()
            .enumerate()
            .map(|(l, p)| {
                let saved = p.saved_bytes.max(p.output_bytes);
                let gradient = if l == last { 0 } else { p.gradient_bytes };
                let peaks = ForwardPeaks {
                    pass_bytes: p.output_bytes + p.forward_overhead_bytes,
                    stream_bytes: input + p.output_bytes + p.forward_overhead_bytes,
                    save_bytes: saved + p.forward_overhead_bytes,
                };
                let backward = saved + gradient + incoming + p.backward_overhead_bytes;
                input = p.output_bytes;
                incoming = p.gradient_bytes;
                Stage {
                    output_bytes: p.output_bytes,
                    saved_bytes: saved,
                    gradient_bytes: gradient,
                    forward_cost: p.forward_cost,
                    backward_cost: p.backward_cost,
                    pass_cost: p.forward_cost,
                    save_cost: p.forward_cost,
                    close_cost: p.forward_cost,
                    first: peaks,
                    again: peaks,
                    close_bytes: backward.max(peaks.save_bytes + gradient),
                    close_forward_bytes: peaks.save_bytes + gradient,
                    backward_bytes: backward,
                }
            })
            .collect();
        Chain {
            stages,
            fixed_bytes: input_bytes,
        }
    }

    /// Number of stages.
    pub fn len(&self) -> usize {
        self.stages.len()
    }

    /// Returns whether there is no stage.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Cost without recomputation.
    pub fn base_cost(&self) -> u64 {
        self.stages
            .iter()
            .map(|s| s.forward_cost + s.backward_cost)
            .sum()
    }
}

/// An operation on a chain; stages count from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `F_all`: runs the stage forward, keeps its input, saves everything that its backward step
    /// needs.
    SaveAll(usize),
    /// `F_ck`: runs the stage forward, keeps its input and its output.
    KeepInput(usize),
    /// `F_none`: runs the stage forward and drops its input, which is a plain output of the stage
    /// before.
    DropInput(usize),
    /// `B`: the backward step; drops the saved data of the stage, its input (if it is a plain
    /// output) and the gradient that was read.
    Backward(usize),
}

impl Operation {
    /// The stage it works on.
    pub fn stage(self) -> usize {
        match self {
            Operation::SaveAll(l)
            | Operation::KeepInput(l)
            | Operation::DropInput(l)
            | Operation::Backward(l) => l,
        }
    }
}

/// Reason why a sequence of operations cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// There is no such stage.
    #[error("operation {at} works on stage {stage}, the chain has {stages}")]
    NoStage {
        /// Position in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
        /// Number of stages.
        stages: usize,
    },
    /// The input of the stage is not in memory.
    #[error("operation {at}: the input of stage {stage} is not in memory")]
    MissingInput {
        /// Position in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The input is to be dropped, but is part of the saved data of a stage, or the chain's input.
    #[error("operation {at} drops the input of stage {stage}, which is not a plain output")]
    CannotDrop {
        /// Position in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// A backward step comes out of turn.
    #[error("operation {at} is the backward step of stage {stage}, but {expected} is next")]
    OutOfTurn {
        /// Position in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
        /// The stage whose backward step is next (`stages` when all are done).
        expected: usize,
    },
    /// A backward step lacks the saved data of its stage.
    #[error("operation {at}: the backward step of stage {stage} needs data that is not saved")]
    NotSaved {
        /// Position in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The sequence ends before the last backward step.
    #[error("the sequence ends before the backward step of stage {stage}")]
    Unfinished {
        /// The stage whose backward step is missing.
        stage: usize,
    },
}

/// Cost and peak of a sequence of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChainReplay {
    /// Total cost.
    pub cost: u64,
    /// Largest memory at any moment, fixed memory included.
    pub peak_bytes: u64,
}

/// Replays operations under the chain's own memory model.
///
/// # Errors
/// [`OperationError`] names the first operation that is impossible.
pub fn replay(chain: &Chain, operations: &[Operation]) -> Result<ChainReplay, OperationError> {
    let mut state = ChainState::new(chain);
    let mut total = ChainReplay {
        cost: 0,
        peak_bytes: chain.fixed_bytes,
    };
    for (at, &operation) in operations.iter().enumerate() {
        let stage = operation.stage();
        let closes = operations.get(at + 1) == Some(&Operation::Backward(stage));
        let step = state.apply(chain, at, operation, closes)?;
        total.cost += step.cost;
        total.peak_bytes = total.peak_bytes.max(step.peak_bytes);
    }
    match state.next_backward {
        Some(stage) => Err(OperationError::Unfinished { stage }),
        None => Ok(total),
    }
}

/// State of a chain between two operations: the data that it holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::baselines) struct ChainState {
    /// True if the output of the stage is in memory by itself.
    pub(super) plain: Vec<bool>,
    /// True if all saved data of the stage are in memory, including its output.
    pub(super) saved: Vec<bool>,
    computed: Vec<bool>,
    pub(super) next_backward: Option<usize>,
}

impl ChainState {
    pub(super) fn new(chain: &Chain) -> Self {
        let n = chain.len();
        ChainState {
            plain: vec![false; n],
            saved: vec![false; n],
            computed: vec![false; n],
            next_backward: n.checked_sub(1),
        }
    }

    /// Returns whether the output of the stage is in memory.
    pub(super) fn holds(&self, l: usize) -> bool {
        self.plain[l] || self.saved[l]
    }

    fn held_bytes(&self, chain: &Chain) -> u64 {
        let stages = chain.stages.iter().enumerate();
        let data: u64 = stages
            .map(|(l, s)| match (self.saved[l], self.plain[l]) {
                (true, _) => s.saved_bytes,
                (false, true) => s.output_bytes,
                (false, false) => 0,
            })
            .sum();
        let gradient = self
            .next_backward
            .map_or(0, |l| chain.stages[l].gradient_bytes);
        chain.fixed_bytes + data + gradient
    }

    /// Applies one operation; `closes` is true if the stage's backward step follows at once.
    /// Returns its cost and peak.
    pub(super) fn apply(
        &mut self,
        chain: &Chain,
        at: usize,
        operation: Operation,
        closes: bool,
    ) -> Result<ChainReplay, OperationError> {
        let l = operation.stage();
        let Some(stage) = chain.stages.get(l) else {
            return Err(OperationError::NoStage {
                at,
                stage: l,
                stages: chain.len(),
            });
        };
        if l > 0 && !self.holds(l - 1) {
            return Err(OperationError::MissingInput { at, stage: l });
        }
        let held = self.held_bytes(chain);
        let first = !self.computed[l];
        let peaks = if first { stage.first } else { stage.again };
        let closes = closes && self.next_backward == Some(l);
        let (cost, peak_bytes) = match operation {
            Operation::SaveAll(_) if closes => (
                stage.close_cost,
                held - stage.gradient_bytes + stage.close_bytes,
            ),
            Operation::SaveAll(_) => (stage.save_cost, held + peaks.save_bytes),
            Operation::KeepInput(_) => (stage.pass_cost, held + peaks.pass_bytes),
            Operation::DropInput(_) => {
                if l == 0 || !self.plain[l - 1] {
                    return Err(OperationError::CannotDrop { at, stage: l });
                }
                let input = chain.stages[l - 1].output_bytes;
                (stage.pass_cost, held - input + peaks.stream_bytes)
            }
            Operation::Backward(_) => {
                if self.next_backward != Some(l) {
                    return Err(OperationError::OutOfTurn {
                        at,
                        stage: l,
                        expected: self.next_backward.unwrap_or(chain.len()),
                    });
                }
                if !self.saved[l] {
                    return Err(OperationError::NotSaved { at, stage: l });
                }
                let outside = held - stage.saved_bytes - stage.gradient_bytes;
                (stage.backward_cost, outside + stage.backward_bytes)
            }
        };
        let cost = match operation {
            Operation::Backward(_) => cost,
            _ if first => stage.forward_cost,
            _ => cost,
        };
        self.update(operation);
        Ok(ChainReplay { cost, peak_bytes })
    }

    fn update(&mut self, operation: Operation) {
        let l = operation.stage();
        match operation {
            Operation::SaveAll(_) => {
                self.saved[l] = true;
                self.plain[l] = false;
            }
            Operation::KeepInput(_) => self.plain[l] = !self.saved[l],
            Operation::DropInput(_) => {
                self.plain[l - 1] = false;
                self.plain[l] = !self.saved[l];
            }
            Operation::Backward(_) => {
                self.saved[l] = false;
                if l > 0 {
                    self.plain[l - 1] = false;
                }
                self.next_backward = l.checked_sub(1);
            }
        }
        self.computed[l] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Chain {
        let stage = |cost, a, abar| StageParameters {
            forward_cost: cost,
            backward_cost: 10 * cost,
            output_bytes: a,
            saved_bytes: abar,
            gradient_bytes: a,
            ..StageParameters::default()
        };
        Chain::from_parameters(7, &[stage(1, 4, 9), stage(2, 5, 6), stage(3, 1, 1)])
    }

    #[test]
    fn saving_everything_costs_the_base_and_holds_all() {
        use Operation::*;
        let chain = three();
        let all = [
            SaveAll(0),
            SaveAll(1),
            SaveAll(2),
            Backward(2),
            Backward(1),
            Backward(0),
        ];
        let found = replay(&chain, &all).unwrap();
        // Peak: backward of stage 1 with 9 and 6 saved, gradients of 5 and 4, input batch of 7.
        assert_eq!((found.cost, found.peak_bytes), (66, 31));
    }

    #[test]
    fn a_checkpoint_is_paid_with_a_second_run() {
        use Operation::*;
        let chain = three();
        let list = [
            KeepInput(0),
            KeepInput(1),
            SaveAll(2),
            Backward(2),
            SaveAll(1),
            Backward(1),
            SaveAll(0),
            Backward(0),
        ];
        let found = replay(&chain, &list).unwrap();
        // Peak: backward of stage 1 with its input of 4 and 6 saved, gradients of 5 and 4, input
        // batch of 7.
        assert_eq!((found.cost, found.peak_bytes), (66 + 1 + 2, 26));
    }

    #[test]
    fn impossible_sequences_are_named() {
        use Operation::*;
        let chain = three();
        let run = |list: &[Operation]| replay(&chain, list).unwrap_err();
        assert_eq!(
            run(&[SaveAll(1)]),
            OperationError::MissingInput { at: 0, stage: 1 }
        );
        assert_eq!(
            run(&[SaveAll(0), DropInput(1)]),
            OperationError::CannotDrop { at: 1, stage: 1 }
        );
        assert_eq!(
            run(&[SaveAll(0), Backward(0)]),
            OperationError::OutOfTurn {
                at: 1,
                stage: 0,
                expected: 2
            }
        );
        assert_eq!(
            run(&[KeepInput(0), KeepInput(1), KeepInput(2), Backward(2)]),
            OperationError::NotSaved { at: 3, stage: 2 }
        );
        assert_eq!(run(&[SaveAll(0)]), OperationError::Unfinished { stage: 2 });
        assert_eq!(
            run(&[SaveAll(9)]),
            OperationError::NoStage {
                at: 0,
                stage: 9,
                stages: 3
            }
        );
    }
}
