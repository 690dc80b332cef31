//! Plans by stages: computations in each stage, and tensors kept across stage boundaries.

use super::{HostBuffer, Plan, Register, Step};
use crate::instance::Instance;
use crate::schedule::{CheckmateSchedule, Schedule, StageRuns};
use std::collections::BTreeMap;

/// A plan by stages; each stage ends with the first computation of a node.
pub struct StageSpans {
    /// Number of stages.
    pub count: usize,
    /// First computations: `(stage, node)`.
    pub first: Vec<(usize, usize)>,
    /// Recomputations: `(stage, node)`.
    pub again: Vec<(usize, usize)>,
    /// Tensors kept at the start of stages: `(node, first stage, last stage)`, inclusive.
    pub kept: Vec<(usize, usize, usize)>,
    /// Tensors with a copy on the host at the start of stages, in the form of `kept`.
    pub on_host: Vec<(usize, usize, usize)>,
}

impl StageSpans {
    /// The stages of a plan, which must have passed its replay.
    pub fn new(plan: &Plan, nodes: usize) -> Self {
        let mut seen = vec![false; nodes];
        let mut stage = 0;
        let mut stages = StageSpans {
            count: 0,
            first: Vec::new(),
            again: Vec::new(),
            kept: Vec::new(),
            on_host: Vec::new(),
        };
        let mut buffers: BTreeMap<HostBuffer, (usize, usize)> = BTreeMap::new();
        // The node in each register, and the stage of its computation.
        let mut holds: BTreeMap<Register, (usize, usize)> = BTreeMap::new();
        let mut allocated: BTreeMap<Register, usize> = BTreeMap::new();
        let mut keep = |(node, from): (usize, usize), to: usize| {
            if to > from {
                stages.kept.push((node, from + 1, to));
            }
        };
        for step in &plan.steps {
            match *step {
                Step::Allocate { register, node } => {
                    allocated.insert(register, node.index());
                }
                Step::Prefetch { register, .. } | Step::Gather { register, .. } => {
                    if let Some(node) = allocated.get(&register) {
                        holds.insert(register, (*node, stage));
                    }
                }
                Step::Scatter { .. } => {}
                Step::Offload { register, buffer } => {
                    if let Some((node, _)) = holds.get(&register) {
                        buffers.insert(buffer, (*node, stage));
                    }
                }
                Step::Wait { .. } => {}
                Step::Release { buffer } => {
                    if let Some((node, from)) = buffers.remove(&buffer)
                        && stage > from + 1
                    {
                        stages.on_host.push((node, from + 1, stage - 1));
                    }
                }
                Step::Compute { node, register, .. } => {
                    let i = node.index();
                    if let Some(over) = holds.insert(register, (i, stage)) {
                        keep(over, stage);
                    }
                    if std::mem::replace(&mut seen[i], true) {
                        stages.again.push((stage, i));
                    } else {
                        stages.first.push((stage, i));
                        stage += 1;
                    }
                }
                Step::Deallocate { register } => {
                    if let Some(held) = holds.remove(&register) {
                        // A deallocation after the node of a stage belongs to that stage.
                        keep(held, stage.saturating_sub(1));
                    }
                }
            }
        }
        for held in holds.into_values() {
            keep(held, stage.saturating_sub(1));
        }
        stages.count = stage;
        stages
    }
}

/// Reason for the lack of a schedule from which a search may start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// The statements of MONeT's plans do not determine the stored tensors.
    #[error("of a plan of MONeT's program in a file the schedule is not known")]
    Undetermined,
    /// The plan has a computation outside all stages.
    #[error("the plan is no stage schedule: {0}")]
    Stage(#[from] super::NoStageSchedule),
}

impl Plan {
    /// The schedule of a plan that is a stage schedule of the instance. The plan must have passed
    /// its replay.
    ///
    /// # Errors
    /// [`NoSchedule`].
    pub fn schedule(&self, instance: &Instance) -> Result<Schedule, NoSchedule> {
        if !self.semantics.plans_determine_schedules() {
            return Err(NoSchedule::Undetermined);
        }
        self.stage_schedule(instance)?;
        let n = instance.len();
        let mut retained = StageRuns::new(n, n);
        for (node, first, last) in StageSpans::new(self, n).kept {
            // Tensors held beyond the last stage are not used.
            if first < n {
                retained.fill(node, first, last.min(n - 1));
            }
        }
        Ok(CheckmateSchedule::tightest(instance, retained).into())
    }
}
