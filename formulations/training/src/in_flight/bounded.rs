//! The graph of a step with a limit on what it keeps between its two passes.

use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, Node, NodeId, NodeKind, StructureError};
use remat_instances::plan::{Plan, Step};
use std::collections::BTreeSet;

/// Name of the node between the two passes.
const NAME: &str = "wait between the passes";

/// A graph in which a node between forward and backward pass takes memory of its own, so that other
/// memory there has a limit. It costs nothing, and runs once.
#[derive(Clone, Debug)]
pub(super) struct Bounded {
    data: InstanceData,
    /// Position of the node.
    at: usize,
    /// Fixed memory of that position in bytes, and what the node itself reads.
    beside_bytes: u64,
}

impl Bounded {
    /// The graph of an instance; `None` without a backward pass.
    pub fn of(instance: &Instance, semantics: Semantics) -> Option<Self> {
        let at = instance.backward_start()?.index();
        let mut data = instance.data().clone();
        data.in_flight = 1;
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
        Some(Bounded {
            data,
            at,
            beside_bytes: fixed + read,
        })
    }

    /// The graph with at most `saved_bytes` between the passes, under a budget in bytes.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn instance(
        &self,
        budget_bytes: u64,
        saved_bytes: u64,
    ) -> Result<Instance, StructureError> {
        let mut data = self.data.clone();
        let rest = budget_bytes.saturating_sub(self.beside_bytes);
        let taken = rest.saturating_sub(saved_bytes) as i64;
        let way = &mut data.nodes[self.at].implementations[0];
        (way.workspace_bytes, way.recompute_workspace_bytes) = (taken, taken);
        Instance::new(data)
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
