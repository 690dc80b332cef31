//! Stage schedules: the plans covered by the integer programs and their bounds.

use super::{Plan, Step};
use crate::Semantics;
use crate::instance::{Instance, NodeId};
use crate::name::Name;

/// Reason for a plan not to be a stage schedule of its instance.
///
/// Between two first computations, Checkmate's program (Jain et al., MLSys 2020, section 4.2) runs
/// each node at most once, in the order of the nodes. MONeT's program (Shah et al., ICLR 2021) does
/// so between two backward nodes and in the forward pass. Other plans may cost less than the bounds
/// for these schedules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStageSchedule {
    /// The plan copies tensors to the host, which programs without a link do not support.
    #[error("it copies tensors to the host, which no stage schedule does")]
    Copies,
    /// A node is first computed before an earlier one.
    #[error("{node} is computed before {before}, which comes first in the order of the nodes")]
    FirstOutOfOrder {
        /// The node.
        node: Name,
        /// The earlier node.
        before: Name,
    },
    /// A node runs twice in one stage.
    #[error("{node} runs twice in the stage of {stage}")]
    Twice {
        /// The node.
        node: Name,
        /// The node whose first computation ends the stage.
        stage: Name,
    },
    /// Recomputations of one stage are not in the order of the nodes.
    #[error("in the stage of {stage}, {node} runs after {after}, against the order of the nodes")]
    OutOfOrder {
        /// The node.
        node: Name,
        /// A later node that ran before it.
        after: Name,
        /// The node whose first computation ends the stage.
        stage: Name,
    },
    /// A node runs outside all stages.
    #[error("{node} runs again {place}, where no stage has it")]
    Outside {
        /// The node.
        node: Name,
        /// Place in the plan, in words.
        place: &'static str,
    },
}

impl Plan {
    /// Checks whether the plan is a stage schedule of its semantics' program. If it is, bounds and
    /// proofs for the instance are valid for it. Time is linear in the number of statements.
    ///
    /// # Errors
    /// [`NoStageSchedule`] for a plan that copies to the host, and for the first computation that
    /// no stage schedule can have.
    ///
    /// # Panics
    /// If the plan names nodes that are not in the instance; [`crate::simulate::plan`] detects
    /// them.
    pub fn stage_schedule(&self, instance: &Instance) -> Result<(), NoStageSchedule> {
        match self.has_copies() {
            true => Err(NoStageSchedule::Copies),
            false => self.stage_schedule_with_copies(instance),
        }
    }

    /// Checks whether the computations of the plan form a stage schedule, ignoring copies to the
    /// host and back. Bounds for instances with a link cover such plans.
    ///
    /// # Errors
    /// [`NoStageSchedule`] for the first computation that no stage schedule can have.
    ///
    /// # Panics
    /// As for [`Plan::stage_schedule`].
    pub fn stage_schedule_with_copies(&self, instance: &Instance) -> Result<(), NoStageSchedule> {
        let mut stages = StageWalk {
            instance,
            // Some nodes have no stage of their own: MONeT's forward pass is one stage.
            ends_stage: |i: NodeId| {
                // A gathered weight is never computed.
                if instance.node(i).is_gathered() {
                    return false;
                }
                self.semantics.has_stage_for_each_node()
                    || instance.node(i).is_backward()
                    || Some(i) == instance.loss()
            },
            done: vec![false; instance.len()],
            seen_in: vec![usize::MAX; instance.len()],
            stage: 0,
            next: 0,
            last: None,
        };
        for step in &self.steps {
            if let Step::Compute { node, .. } = step {
                stages.run(*node, self.semantics)?;
            }
        }
        Ok(())
    }
}

/// State of a walk through a plan.
struct StageWalk<'a, F> {
    instance: &'a Instance,
    ends_stage: F,
    /// Nodes computed so far.
    done: Vec<bool>,
    /// Stage of each node's last run.
    seen_in: Vec<usize>,
    stage: usize,
    /// First node, in order, that ends a stage and is not computed yet.
    next: usize,
    /// The last computation of the stage so far.
    last: Option<NodeId>,
}

impl<F: Fn(NodeId) -> bool> StageWalk<'_, F> {
    fn name(&self, i: NodeId) -> Name {
        self.instance.node(i).name.clone()
    }

    fn run(&mut self, i: NodeId, semantics: Semantics) -> Result<(), NoStageSchedule> {
        let n = self.instance.len();
        while self.next < n && !(self.ends_stage)(NodeId::from(self.next)) {
            self.next += 1;
        }
        let first = !std::mem::replace(&mut self.done[i.index()], true);
        let ends = (self.ends_stage)(i);
        if first && ends && i.index() != self.next {
            return Err(NoStageSchedule::FirstOutOfOrder {
                node: self.name(i),
                before: self.name(NodeId::from(self.next)),
            });
        }
        if !first && (self.next == n || (!semantics.has_stage_for_each_node() && ends)) {
            let place = if self.next == n {
                "after the last node"
            } else {
                "in the backward pass"
            };
            let node = self.name(i);
            return Err(NoStageSchedule::Outside { node, place });
        }
        let stage = || self.name(NodeId::from(self.next.min(n - 1)));
        if self.seen_in[i.index()] == self.stage {
            return Err(NoStageSchedule::Twice {
                node: self.name(i),
                stage: stage(),
            });
        }
        if let Some(after) = self.last.filter(|last| *last > i) {
            return Err(NoStageSchedule::OutOfOrder {
                node: self.name(i),
                after: self.name(after),
                stage: stage(),
            });
        }
        self.seen_in[i.index()] = self.stage;
        self.last = Some(i);
        if first && ends {
            self.stage += 1;
            self.next += 1;
            self.last = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{CostUnit, InstanceData, Node};
    use crate::plan::Register;

    /// `a -> b -> c`, and `d`, which reads all three.
    fn instance() -> Instance {
        let need = |k: u32| NodeId(k);
        let nodes = vec![
            Node::forward("a", vec![], 1, 1),
            Node::forward("b", vec![need(0)], 1, 1),
            Node::forward("c", vec![need(1)], 1, 1),
            Node::forward("d", vec![need(0), need(1), need(2)], 1, 1),
        ];
        Instance::new(InstanceData {
            name: "four".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        })
        .unwrap()
    }

    fn of(nodes: &[u32]) -> Result<(), String> {
        let steps = nodes.iter().map(|&k| Step::Compute {
            node: NodeId(k),
            register: Register(0),
            implementation: 0,
        });
        let plan = Plan {
            instance: "four".into(),
            semantics: Semantics::Checkmate,
            steps: steps.collect(),
        };
        plan.stage_schedule(&instance()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_no_stage_has_is_named() {
        assert_eq!(of(&[0, 1, 2, 3]), Ok(()));
        assert_eq!(of(&[0, 1, 0, 2, 0, 1, 3]), Ok(()));
        for (nodes, words) in [
            (&[1, 0][..], "b is computed before a, which comes first"),
            (&[0, 1, 2, 0, 0, 3], "a runs twice in the stage of d"),
            (&[0, 1, 2, 1, 0, 1, 3], "a runs after b"),
            (&[0, 1, 2, 3, 0], "a runs again after the last node"),
        ] {
            let problem = of(nodes).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }
}
