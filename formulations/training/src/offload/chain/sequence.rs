//! Sequences of actions on a chain, and their walk through memory.

use super::model::LinkedChain;

/// An action; stages count from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Action {
    /// `F_all`: runs a stage forward, keeps its input, saves all that its backward step needs.
    SaveAll(usize),
    /// `F_ck`: runs a stage forward, keeps its input and its output.
    KeepInput(usize),
    /// `F_0`: runs a stage forward and drops its plain input.
    DropInput(usize),
    /// `B`: the backward step; drops the stage's saved tensors, and a plain input.
    Backward(usize),
    /// The input of a stage may leave from here on.
    Offload(usize),
    /// The input of a stage must be back here.
    Prefetch(usize),
}

/// Reason why a sequence cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// An action names no stage of the chain.
    #[error("action {at} works on stage {stage}, the chain has {stages}")]
    NoStage {
        /// Place in the sequence.
        at: usize,
        /// The stage.
        stage: usize,
        /// Stages of the chain.
        stages: usize,
    },
    /// The input or the saved data of a stage is not there, or the backward step is out of turn.
    #[error("action {at}: {action:?} is not possible here")]
    NotPossible {
        /// Place in the sequence.
        at: usize,
        /// The action.
        action: Action,
    },
    /// The sequence ends before the last backward step.
    #[error("the sequence ends before the backward step of stage {stage}")]
    Unfinished {
        /// The stage.
        stage: usize,
    },
}

/// Least and largest memory of a chain without a link, in bytes: the peak if every stage is rerun
/// from the input, and the peak if all is saved (`M_low` and `M_high` of POFO, section 5).
///
/// # Errors
/// [`SequenceError::Unfinished`] for a chain without stages.
pub fn memory_range(chain: &LinkedChain) -> Result<(u64, u64), SequenceError> {
    let last = chain.len().saturating_sub(1);
    let backward = (0..=last).rev().map(Action::Backward);
    let saving: Vec<Action> = (0..=last).map(Action::SaveAll).chain(backward).collect();
    let mut again = Vec::new();
    for stage in (0..=last).rev() {
        if stage > 0 {
            again.push(Action::KeepInput(0));
        }
        again.extend((1..stage).map(Action::DropInput));
        again.extend([Action::SaveAll(stage), Action::Backward(stage)]);
    }
    let peak = |actions: &[Action]| {
        let walk = ChainWalk::new(chain, actions)?;
        Ok(walk
            .steps
            .iter()
            .map(|step| step.need_bytes)
            .max()
            .unwrap_or(0))
    };
    Ok((peak(&again)?, peak(&saving)?))
}

/// A computation of a sequence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ChainStep {
    /// Duration.
    pub time: f64,
    /// Bytes while it runs, including all values kept before, on the device or on the host.
    pub need_bytes: u64,
    /// Stage whose input it reads.
    pub reads: usize,
}

/// An input that goes to the host and comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Move {
    pub bytes: u64,
    /// The step that reads it first; the copy may start with it.
    pub leaves_with: usize,
    /// The first step of the backward phase that reads it.
    pub back_for: usize,
}

/// A sequence as steps and moves; the steps of the forward phase come first.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ChainWalk {
    pub steps: Vec<ChainStep>,
    /// Steps of the forward phase.
    pub forward: usize,
    /// In the order in which they leave.
    pub moves: Vec<Move>,
}

/// Values that are kept of each stage.
#[derive(Clone)]
struct Kept {
    plain: Vec<bool>,
    saved: Vec<bool>,
    has_run: Vec<bool>,
    next_backward: usize,
}

impl ChainWalk {
    /// Walks through a sequence.
    pub fn new(chain: &LinkedChain, actions: &[Action]) -> Result<ChainWalk, SequenceError> {
        let stages = chain.len();
        let mut kept = Kept {
            plain: vec![false; stages],
            saved: vec![false; stages],
            has_run: vec![false; stages],
            next_backward: stages,
        };
        let mut walk = ChainWalk::default();
        let mut leaving: Vec<Option<usize>> = vec![None; stages];
        for (at, &action) in actions.iter().enumerate() {
            let (Action::SaveAll(l)
            | Action::KeepInput(l)
            | Action::DropInput(l)
            | Action::Backward(l)
            | Action::Offload(l)
            | Action::Prefetch(l)) = action;
            if l >= stages {
                return Err(SequenceError::NoStage {
                    at,
                    stage: l,
                    stages,
                });
            }
            let is_there = l == 0 || kept.plain[l - 1] || kept.saved[l - 1];
            let impossible = SequenceError::NotPossible { at, action };
            match action {
                Action::Offload(_) => {
                    if !is_there || leaving[l].is_some() || kept.next_backward < stages {
                        return Err(impossible);
                    }
                    leaving[l] = Some(walk.moves.len());
                    walk.moves.push(Move {
                        bytes: chain.input_bytes(l, l > 0 && kept.saved[l - 1]),
                        leaves_with: walk.steps.len(),
                        back_for: usize::MAX,
                    });
                    continue;
                }
                Action::Prefetch(_) => {
                    if leaving[l].is_none() {
                        return Err(impossible);
                    }
                    continue;
                }
                _ => {}
            }
            let closes = actions[at + 1..]
                .iter()
                .find(|next| !matches!(next, Action::Offload(_) | Action::Prefetch(_)))
                == Some(&Action::Backward(l));
            let Some(step) = kept.step(chain, action, closes).filter(|_| is_there) else {
                return Err(impossible);
            };
            // The backward phase begins with the backward step of the loss.
            if let Some(number) = leaving[l].filter(|_| kept.next_backward < stages) {
                let first = &mut walk.moves[number].back_for;
                *first = (*first).min(walk.steps.len());
            }
            walk.steps.push(step);
            if matches!(action, Action::Backward(k) if k + 1 == stages) {
                walk.forward = walk.steps.len() - 1;
            }
        }
        match kept.next_backward {
            0 => Ok(walk),
            next => Err(SequenceError::Unfinished { stage: next - 1 }),
        }
    }
}

impl Kept {
    /// Bytes of all values that are kept, and of the gradient.
    fn bytes(&self, chain: &LinkedChain) -> u64 {
        let stages = chain.stages.iter().enumerate();
        let kept: u64 = stages
            .map(|(l, s)| match (self.saved[l], self.plain[l]) {
                (true, _) => s.saved_bytes,
                (false, true) => s.output_bytes,
                (false, false) => 0,
            })
            .sum();
        kept + chain.input_bytes + self.gradient_bytes(chain)
    }

    /// Bytes of the gradients before the next backward step; 0 before the loss has run backwards.
    fn gradient_bytes(&self, chain: &LinkedChain) -> u64 {
        match self.next_backward {
            next if next == chain.len() || next == 0 => 0,
            next => chain.stages[next - 1].gradient_bytes,
        }
    }

    /// Applies an action; `None` if it is not possible.
    fn step(&mut self, chain: &LinkedChain, action: Action, closes: bool) -> Option<ChainStep> {
        let held = self.bytes(chain);
        let gradient = self.gradient_bytes(chain);
        let (Action::SaveAll(l)
        | Action::KeepInput(l)
        | Action::DropInput(l)
        | Action::Backward(l)
        | Action::Offload(l)
        | Action::Prefetch(l)) = action;
        let stage = &chain.stages[l];
        let is_first = !self.has_run[l];
        let peaks = if is_first { stage.first } else { stage.again };
        let closes = closes && (self.next_backward == l + 1);
        let again = |time| if is_first { stage.forward_time } else { time };
        let (time, need_bytes) = match action {
            Action::SaveAll(_) if closes => (
                again(stage.close_time),
                held - gradient + stage.close_forward_bytes,
            ),
            Action::SaveAll(_) => (again(stage.save_time), held + peaks.save_bytes),
            Action::KeepInput(_) => (again(stage.pass_time), held + peaks.pass_bytes),
            Action::DropInput(_) => {
                let before = l.checked_sub(1).filter(|&k| self.plain[k])?;
                let rest = held - chain.stages[before].output_bytes;
                (again(stage.pass_time), rest + peaks.stream_bytes)
            }
            _ => {
                if self.next_backward != l + 1 || !self.saved[l] {
                    return None;
                }
                let rest = held - stage.saved_bytes - gradient;
                (stage.backward_time, rest + stage.backward_bytes)
            }
        };
        match action {
            Action::SaveAll(_) => (self.saved[l], self.plain[l]) = (true, false),
            Action::KeepInput(_) => self.plain[l] = !self.saved[l],
            Action::DropInput(_) => {
                self.plain[l - 1] = false;
                self.plain[l] = !self.saved[l];
            }
            _ => {
                self.saved[l] = false;
                if l > 0 {
                    self.plain[l - 1] = false;
                }
                self.next_backward = l;
            }
        }
        self.has_run[l] = true;
        Some(ChainStep {
            time,
            need_bytes,
            reads: l,
        })
    }
}
