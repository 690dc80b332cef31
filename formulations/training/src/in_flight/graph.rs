//! The graph of a step with a wait node between its two passes.

use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, Node, NodeId, NodeKind, StructureError};
use remat_instances::plan::{Plan, Step};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use std::collections::BTreeSet;

/// Name of the node between the two passes.
const NAME: &str = "wait between the passes";

/// A graph with a node between forward and backward pass that costs nothing and runs once: other
/// micro-batches wait there ([`Waiting`](crate::waiting::Waiting)). So recomputations before the
/// wait are told from those behind it.
#[derive(Clone, Debug)]
pub(super) struct WaitGraph {
    data: InstanceData,
    /// Position of the node.
    at: usize,
    /// Fixed memory of that position in bytes, and what the node itself reads.
    beside_bytes: u64,
}

impl WaitGraph {
    /// The graph of an instance; `None` without a backward pass.
    pub fn of(instance: &Instance, semantics: Semantics) -> Option<Self> {
        let at = instance.backward_start()?.index();
        let mut data = instance.data().clone();
        let shifted = |id: &mut NodeId| id.0 += u32::from(id.index() >= at);
        for node in &mut data.nodes {
            shift(node, shifted);
        }
        let follows = semantics.fixed_memory_follows_frontier();
        // MONeT's backward nodes read the loss.
        let loss = instance.loss().filter(|_| follows);
        let name = (0..).map(|k| format!("{NAME}{}", "'".repeat(k)));
        let taken: BTreeSet<&str> = data.nodes.iter().map(|v| v.name.as_str()).collect();
        let name = name
            .into_iter()
            .find(|name| !taken.contains(name.as_str()))?;
        let needs: Vec<NodeId> = loss.into_iter().collect();
        let fixed_bytes = data.nodes[at - 1].fixed_bytes;
        let node = Node {
            fixed_bytes,
            once: true,
            ..Node::backward(name, None, needs.clone(), 0, 0)
        };
        data.nodes.insert(at, node);
        let read: u64 = needs.iter().map(|id| instance.node(*id).output_bytes).sum();
        let fixed = match follows {
            true => fixed_bytes,
            false => instance.static_bytes(),
        };
        Some(WaitGraph {
            data,
            at,
            beside_bytes: fixed + read,
        })
    }

    /// The graph with all micro-batches in flight.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn instance(&self) -> Result<Instance, StructureError> {
        Instance::new(self.data.clone())
    }

    /// The graph with one micro-batch in flight and at most `saved_bytes` between the passes, under
    /// a budget in bytes: the wait node takes the other memory.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn bounded(&self, budget_bytes: u64, saved_bytes: u64) -> Result<Instance, StructureError> {
        let mut data = InstanceData {
            in_flight: 1,
            ..self.data.clone()
        };
        let rest = budget_bytes.saturating_sub(self.beside_bytes);
        let taken = rest.saturating_sub(saved_bytes) as i64;
        let way = &mut data.nodes[self.at].implementations[0];
        (way.workspace_bytes, way.recompute_workspace_bytes) = (taken, taken);
        Instance::new(data)
    }

    /// The schedule of the graph that waits as soon as the backward pass of a schedule of the step
    /// begins; recomputations of that stage come behind the wait.
    pub fn schedule(&self, schedule: &CheckmateSchedule) -> CheckmateSchedule {
        let n = self.data.nodes.len();
        let at = self.at;
        let [mut computed, mut retained] = [(); 2].map(|()| StageRuns::new(n, n));
        computed.fill(at, at, at);
        for (node, own) in (0..n).filter(|i| *i != at).enumerate() {
            for [first, last] in schedule.retained.runs(node) {
                let (first, last) = (*first as usize, *last as usize);
                let behind = [usize::from(first > at), usize::from(last >= at)];
                retained.fill(own, first + behind[0], last + behind[1]);
            }
            for [first, last] in schedule.computed.runs(node) {
                for stage in *first as usize..=*last as usize {
                    let stage = stage + usize::from(stage >= at);
                    computed.fill(own, stage, stage);
                }
            }
        }
        CheckmateSchedule { computed, retained }
    }

    /// The plan of the step itself, from a plan of the graph.
    pub fn plan(&self, plan: &Plan, name: &str) -> Plan {
        let own = NodeId::from(self.at);
        let back = |node: NodeId| NodeId(node.0 - u32::from(node > own));
        let mut held = BTreeSet::new();
        let mut steps = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            match *step {
                Step::Allocate { register, node } if node == own => {
                    held.insert(register);
                }
                Step::Compute { node, .. } if node == own => {}
                Step::Deallocate { register } if held.contains(&register) => {
                    held.remove(&register);
                }
                Step::Allocate { register, node } => steps.push(Step::Allocate {
                    register,
                    node: back(node),
                }),
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => steps.push(Step::Compute {
                    node: back(node),
                    register,
                    implementation,
                }),
                other => steps.push(other),
            }
        }
        Plan {
            instance: name.into(),
            semantics: plan.semantics,
            steps,
        }
    }
}

/// Changes every reference of a node to another one.
fn shift(node: &mut Node, shifted: impl Fn(&mut NodeId)) {
    node.passing.iter_mut().for_each(&shifted);
    node.ends.iter_mut().for_each(&shifted);
    for way in &mut node.implementations {
        way.needs.iter_mut().for_each(&shifted);
    }
    if let Some(option) = &mut node.in_place {
        shifted(&mut option.on);
    }
    match &mut node.kind {
        NodeKind::ByProduct { parent } => shifted(parent),
        NodeKind::Backward {
            forward: Some(forward),
            ..
        } => shifted(forward),
        _ => {}
    }
}
