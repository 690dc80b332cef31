//! Graphs with further nodes that cost nothing and that no node reads.
//!
//! Such a node only marks a moment. One between the two passes is where other micro-batches wait
//! ([`Waiting`](crate::waiting::Waiting)). One before a node is an *idle stage*: a stage schedule
//! may recompute there without a first computation.

use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, Node, NodeId, NodeKind};
use remat_instances::plan::{Plan, Step};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use std::collections::BTreeSet;

/// A graph with inserted nodes.
#[derive(Clone, Debug)]
pub(crate) struct InsertedNodes {
    /// The graph.
    pub data: InstanceData,
    /// The inserted nodes, by their ids in it, ascending.
    ids: Vec<u32>,
}

impl InsertedNodes {
    /// The graph with a node before each of some nodes, ascending: backward ones, or any but the
    /// first of a graph without a backward pass. It runs once, has the fixed memory of the node
    /// before it, and reads the loss where all backward nodes do.
    pub fn before(
        instance: &Instance,
        semantics: Semantics,
        places: &[NodeId],
        name: &str,
    ) -> Self {
        let mut data = instance.data().clone();
        let shifted = |id: NodeId| id.0 + places.partition_point(|at| *at <= id) as u32;
        for node in &mut data.nodes {
            shift(node, |id| id.0 = shifted(*id));
        }
        // MONeT's backward nodes read the loss.
        let follows = semantics.fixed_memory_follows_frontier();
        let loss = instance.loss().filter(|_| follows);
        let needs: Vec<NodeId> = loss.into_iter().collect();
        let nodes = instance.nodes().iter();
        let mut taken: BTreeSet<String> = nodes.map(|v| v.name.to_string()).collect();
        let mut ids = Vec::with_capacity(places.len());
        for at in places {
            let id = shifted(*at) - 1;
            let mut own = name.to_string();
            while !taken.insert(own.clone()) {
                own.push('\'');
            }
            let fixed_bytes = instance.node(NodeId(at.0 - 1)).fixed_bytes;
            let node = match instance.backward_start() {
                Some(_) => Node::backward(own, None, needs.clone(), 0, 0),
                None => Node::forward(own, needs.clone(), 0, 0),
            };
            let node = Node {
                fixed_bytes,
                once: true,
                ..node
            };
            data.nodes.insert(id as usize, node);
            ids.push(id);
        }
        InsertedNodes { data, ids }
    }

    /// The schedule of the graph that does nothing at inserted nodes; recomputations of a stage come
    /// behind those before its node.
    pub fn schedule(&self, schedule: &CheckmateSchedule) -> CheckmateSchedule {
        let n = self.data.nodes.len();
        let [mut computed, mut retained] = [(); 2].map(|()| StageRuns::new(n, n));
        for id in self.ids.iter().map(|id| *id as usize) {
            computed.fill(id, id, id);
        }
        let own: Vec<usize> = (0..n as u32)
            .filter(|i| self.ids.binary_search(i).is_err())
            .map(|i| i as usize)
            .collect();
        for (node, &id) in own.iter().enumerate() {
            for [first, last] in schedule.retained.runs(node) {
                // A tensor that is there when a stage begins is there at the inserted nodes before.
                let first = match *first {
                    0 => 0,
                    first => own[first as usize - 1] + 1,
                };
                retained.fill(id, first, own[*last as usize]);
            }
            for [first, last] in schedule.computed.runs(node) {
                for stage in *first..=*last {
                    let stage = own[stage as usize];
                    computed.fill(id, stage, stage);
                }
            }
        }
        CheckmateSchedule { computed, retained }
    }

    /// The plan of the graph without the inserted nodes, from a plan of the graph with them.
    pub fn plan(&self, plan: &Plan, name: &str) -> Plan {
        let is_own = |node: NodeId| self.ids.binary_search(&node.0).is_ok();
        let back = |node: NodeId| NodeId(node.0 - self.ids.partition_point(|i| *i < node.0) as u32);
        let mut held = BTreeSet::new();
        let mut steps = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            match *step {
                Step::Allocate { register, node } if is_own(node) => {
                    held.insert(register);
                }
                Step::Compute { node, .. } if is_own(node) => {}
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
