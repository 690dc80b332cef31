//! Conversion of plans to lists of computations, and back.

use super::trace::{Trace, TraceRun};
use super::{NoStageSchedule, Plan, Step};
use crate::Semantics;
use crate::instance::{Instance, NodeId, StructureError};
use crate::simulate::{self, ReplayError};
use std::collections::BTreeSet;

/// One computation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computation {
    /// The node.
    pub node: NodeId,
    /// Index into the node's implementations.
    pub implementation: u16,
    /// True if it is computed into the buffer of the input that the node may overwrite.
    pub in_place: bool,
}

/// Computations in order, each with the computations whose values it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computations {
    /// The computations.
    pub runs: Vec<Computation>,
    /// For each, the positions of the computations whose values it reads: the newest of each node.
    pub reads: Vec<Vec<usize>>,
    /// For each, the position of the computation whose value it overwrites.
    pub overwrites: Vec<Option<usize>>,
    /// For each by-product, the position of its parent's run.
    pub parent: Vec<Option<usize>>,
}

impl Plan {
    /// The computations in execution order.
    pub(super) fn runs(&self) -> Vec<Computation> {
        let mut filled = BTreeSet::new();
        let mut runs = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Allocate { .. }
                | Step::Offload { .. }
                | Step::Wait { .. }
                | Step::Release { .. }
                | Step::Scatter { .. } => {}
                Step::Prefetch { register, .. } | Step::Gather { register, .. } => {
                    filled.insert(register);
                }
                Step::Deallocate { register } => {
                    filled.remove(&register);
                }
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => runs.push(Computation {
                    node,
                    implementation,
                    in_place: !filled.insert(register),
                }),
            }
        }
        runs
    }

    /// The computations of a plan, in order. Each reads the newest value of each input, independent
    /// of the plan's registers.
    ///
    /// # Errors
    /// The [`ReplayError`] of [`simulate::plan`] for a plan that cannot be executed.
    ///
    /// ```
    /// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
    /// use remat_instances::{plan::Plan, schedule::CheckmateSchedule};
    /// let nodes = vec![
    ///     Node::forward("a", vec![], 10, 4),
    ///     Node::forward("b", vec![NodeId(0)], 20, 8),
    /// ];
    /// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
    /// let instance = Instance::new(data)?;
    /// let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
    /// let computations = plan.computations_in_order(&instance)?;
    /// assert_eq!(computations.reads, vec![vec![], vec![0]]);
    /// assert_eq!(Plan::of_computations(&instance, plan.semantics, &computations.runs)?, plan);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn computations_in_order(&self, instance: &Instance) -> Result<Computations, ReplayError> {
        simulate::plan(instance, self)?;
        let runs = self.runs();
        let trace = Trace::resolve(instance, self.semantics, stagewise(&runs))?;
        let index = |r: &u32| *r as usize;
        let list = |of: &[Option<u32>]| of.iter().map(|r| r.as_ref().map(index)).collect();
        let all = |reads: &Vec<u32>| reads.iter().map(index).collect();
        Ok(Computations {
            reads: trace.reads().iter().map(all).collect(),
            overwrites: list(trace.overwrites()),
            parent: list(trace.parents()),
            runs,
        })
    }

    /// A plan from computations in order. Each computation reads the newest value of its inputs,
    /// and values are freed right after their last use. Unneeded computations are dropped, as in
    /// [`Plan::optimised`].
    ///
    /// # Errors
    /// [`ReplayError`] for computations that cannot be executed in this order.
    pub fn of_computations(
        instance: &Instance,
        semantics: Semantics,
        runs: &[Computation],
    ) -> Result<Self, ReplayError> {
        let trace = Trace::resolve(instance, semantics, stagewise(runs))?;
        Ok(trace.without_dead_runs().emit())
    }

    /// The order in which a plan first computes the nodes. Nodes that it never computes
    /// (by-products without a reader) follow the node before them in the instance.
    pub fn first_computations(&self, instance: &Instance) -> Vec<NodeId> {
        let mut seen = vec![false; instance.len()];
        let mut order = Vec::with_capacity(instance.len());
        for step in &self.steps {
            if let Step::Compute { node, .. } = step
                && let Some(seen) = seen.get_mut(node.index())
                && !std::mem::replace(seen, true)
            {
                order.push(*node);
            }
        }
        for id in instance.ids().filter(|id| !seen[id.index()]) {
            let before = id.index().checked_sub(1).map(NodeId::from);
            let at = before.and_then(|b| order.iter().position(|o| *o == b));
            order.insert(at.map_or(0, |at| at + 1), id);
        }
        order
    }

    /// The same plan for the instance with its nodes in another order ([`Instance::reordered`]):
    /// node `order[k]` becomes node `k`.
    pub fn renumbered(&self, order: &[NodeId]) -> Plan {
        let mut position: Vec<NodeId> = (0..order.len()).map(NodeId::from).collect();
        for (k, id) in order.iter().enumerate() {
            if let Some(place) = position.get_mut(id.index()) {
                *place = NodeId::from(k);
            }
        }
        let moved = |id: NodeId| position.get(id.index()).copied().unwrap_or(id);
        let step = |step: &Step| match *step {
            Step::Allocate { register, node } => Step::Allocate {
                register,
                node: moved(node),
            },
            Step::Compute {
                node,
                register,
                implementation,
            } => Step::Compute {
                node: moved(node),
                register,
                implementation,
            },
            same => same,
        };
        Plan {
            instance: self.instance.clone(),
            semantics: self.semantics,
            steps: self.steps.iter().map(step).collect(),
        }
    }

    /// Checks whether the plan is a stage schedule of the instance with its nodes in the order of
    /// the plan's first computations. If it is, bounds for that order are valid for the plan.
    ///
    /// # Errors
    /// [`NoStageInOwnOrder`] if it is not, or if its order mixes forward and backward nodes.
    pub fn stage_schedule_in_own_order(
        &self,
        instance: &Instance,
    ) -> Result<(), NoStageInOwnOrder> {
        let order = self.first_computations(instance);
        let own = instance.reordered(&order)?;
        Ok(self.renumbered(&order).stage_schedule(&own)?)
    }
}

/// Reason for a plan not to be a stage schedule in the order of its own first computations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStageInOwnOrder {
    /// The order is not valid for an instance.
    #[error("its order of first computations is no order of a step: {0}")]
    Order(#[from] StructureError),
    /// The plan computes something outside all stages.
    #[error(transparent)]
    Stage(#[from] NoStageSchedule),
}

/// Runs whose stages are their positions, for error messages.
fn stagewise(runs: &[Computation]) -> Vec<TraceRun> {
    let run = |(stage, run): (usize, &Computation)| TraceRun {
        node: run.node,
        implementation: run.implementation,
        in_place: run.in_place,
        stage,
    };
    runs.iter().enumerate().map(run).collect()
}
