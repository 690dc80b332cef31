//! Training graphs with weights sharded over devices (fully sharded data parallelism, FSDP: Zhao et
//! al., VLDB 2023).
//!
//! A *group* is a block (operators whose names begin with the same `layers.3`), or the operators
//! before, between or behind blocks. Each group has one gathered weight, read by its operators'
//! forward nodes and input gradients, and one scattered gradient, made when its last parameter
//! gradient is. From its first parameter gradient on, the nodes of its backward pass hold the
//! gradients made so far as workspace.

use super::ZooError;
use super::builder::Network;
use super::device::Device;
use super::program::Action;
use super::training::{TrainingOptions, finish};
use crate::instance::{HostLink, Instance, Node, NodeId, NodeKind};
use std::collections::BTreeMap;

/// Number of shards of each tensor, and the link between devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sharding {
    /// Devices, each with one shard of every weight, gradient and optimizer state; at least 2.
    pub shards: u64,
    /// Speed of the link in bytes per second, each way.
    pub bytes_per_second: u64,
}

impl Sharding {
    /// Bytes of the other devices' shards of a tensor.
    fn travels(&self, bytes: u64) -> u64 {
        bytes - bytes.div_ceil(self.shards)
    }
}

/// Parameters of a group of operators.
#[derive(Default)]
struct Group {
    name: String,
    /// Bytes of its parameters, and of their gradients.
    weight_bytes: u64,
    gradient_bytes: u64,
    /// Positions of the first and last backward node that computes gradients of parameters.
    backward: Option<[usize; 2]>,
}

/// The block of an operator: its name up to the first number between dots.
fn block(name: &str) -> Option<&str> {
    let mut end = 0;
    for part in name.split('.') {
        let is_number = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if is_number && end > 0 {
            return Some(&name[..end + part.len()]);
        }
        end += part.len() + 1;
    }
    None
}

/// The group of each operation, and the groups.
fn groups(network: &Network) -> (Vec<usize>, Vec<Group>) {
    let mut groups: Vec<(Option<&str>, Group)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut of = Vec::with_capacity(network.operations.len());
    for operation in &network.operations {
        let block = block(&operation.name);
        let place = match block {
            Some(block) => known.get(block).copied(),
            None => (groups.last().is_some_and(|last| last.0.is_none())).then(|| groups.len() - 1),
        };
        let place = place.unwrap_or_else(|| {
            let name = block.unwrap_or(&operation.name).to_owned();
            block.map(|block| known.insert(block, groups.len()));
            groups.push((
                block,
                Group {
                    name,
                    ..Group::default()
                },
            ));
            groups.len() - 1
        });
        of.push(place);
    }
    (of, groups.into_iter().map(|(_, group)| group).collect())
}

/// The sharded training graph of a network.
///
/// # Errors
/// The errors of [`Network::training_instance`].
pub(super) fn training_instance(
    network: &Network,
    device: &Device,
    options: &TrainingOptions,
    sharding: &Sharding,
) -> Result<Instance, ZooError> {
    let (nodes, actions) = network.training_nodes(device, options)?;
    let (group_of, mut groups) = groups(network);
    // A shared parameter belongs to the group of its first operator.
    let mut owner: Vec<Option<usize>> = vec![None; network.parameters.len()];
    for (operation, group) in network.operations.iter().zip(&group_of) {
        for parameter in &operation.parameters {
            owner[*parameter].get_or_insert(*group);
        }
    }
    let precision = &network.precision;
    for (parameter, group) in network.parameters.iter().zip(&owner) {
        if let Some(group) = group {
            let group = &mut groups[*group];
            group.weight_bytes += parameter.elements * precision.parameters.bytes();
            group.gradient_bytes += parameter.elements * precision.gradients.bytes();
        }
    }
    let owners = |operation: usize| {
        let parameters = network.operations[operation].parameters.iter();
        let mut list: Vec<usize> = parameters.filter_map(|p| owner[*p]).collect();
        list.dedup();
        list
    };
    for (k, action) in actions.iter().enumerate() {
        if let Action::Backward {
            operation,
            parameters: true,
            ..
        } = action
        {
            for group in owners(*operation) {
                let [_, last] = groups[group].backward.get_or_insert([k, k]);
                *last = k;
            }
        }
    }
    let mut sharded = ShardedNodes::new(&groups, sharding, fixed_bytes(&nodes, network, sharding));
    let mut made = vec![0; groups.len()];
    let mut seen = vec![false; network.parameters.len()];
    for (k, (mut node, action)) in nodes.into_iter().zip(&actions).enumerate() {
        let mut reads = Vec::new();
        match action {
            Action::Forward { operation } => reads = owners(*operation),
            Action::Backward {
                operation,
                feeds,
                parameters,
                ..
            } => {
                if !feeds.is_empty() {
                    reads = owners(*operation);
                }
                let own = network.operations[*operation].parameters.iter();
                for parameter in own.filter(|_| *parameters) {
                    if let (Some(group), false) = (owner[*parameter], seen[*parameter]) {
                        seen[*parameter] = true;
                        let elements = network.parameters[*parameter].elements;
                        made[group] += elements * precision.gradients.bytes();
                    }
                }
            }
            Action::ByProduct { .. } | Action::Sum { .. } => {}
        }
        let spans = groups.iter().zip(&made);
        let held = spans.filter(|(group, _)| {
            group
                .backward
                .is_some_and(|[first, last]| first <= k && k <= last)
        });
        let held: u64 = held.map(|(_, made)| made).sum();
        for way in &mut node.implementations {
            way.workspace_bytes += held as i64;
            way.recompute_workspace_bytes += held as i64;
        }
        sharded.push(node, &reads);
        let ended = |group: &&Group| group.backward.is_some_and(|[_, last]| last == k);
        groups
            .iter()
            .filter(ended)
            .for_each(|group| sharded.scatter(group, k));
    }
    let speed = sharding.bytes_per_second;
    finish(
        &network.name,
        Some(HostLink::new(speed, speed)),
        sharded.nodes,
    )
}

/// Fixed memory of one device: input batch and running statistics, and its shards of the rest.
fn fixed_bytes(nodes: &[Node], network: &Network, sharding: &Sharding) -> u64 {
    let all = nodes.iter().map(|node| node.fixed_bytes).max().unwrap_or(0);
    let parameters = network.parameters.iter().map(|p| p.elements).sum::<u64>();
    let before = network.bytes_before_gradients().unwrap_or(0);
    let whole = before - (parameters * network.precision.parameters.bytes()).min(before);
    whole + (all - whole.min(all)).div_ceil(sharding.shards)
}

/// Nodes of the sharded graph, with new ids.
struct ShardedNodes<'a> {
    sharding: &'a Sharding,
    fixed_bytes: u64,
    nodes: Vec<Node>,
    /// New id of each node of the plain graph.
    ids: Vec<NodeId>,
    /// Id of each group's weight.
    weights: Vec<Option<NodeId>>,
}

impl<'a> ShardedNodes<'a> {
    fn new(groups: &[Group], sharding: &'a Sharding, fixed_bytes: u64) -> Self {
        let mut sharded = ShardedNodes {
            sharding,
            fixed_bytes,
            nodes: Vec::new(),
            ids: Vec::new(),
            weights: Vec::new(),
        };
        for group in groups {
            let weight = (group.weight_bytes > 0).then(|| NodeId::from(sharded.nodes.len()));
            if weight.is_some() {
                sharded.nodes.push(Node {
                    op: "gather".into(),
                    fixed_bytes,
                    stays: true,
                    gather_bytes: Some(sharding.travels(group.weight_bytes)),
                    ..Node::forward(
                        format!("{}.weights", group.name),
                        Vec::new(),
                        0,
                        group.weight_bytes,
                    )
                });
            }
            sharded.weights.push(weight);
        }
        sharded
    }

    /// Adds a node of the plain graph, which also reads the weights of some groups.
    fn push(&mut self, mut node: Node, groups: &[usize]) {
        let moved = |id: &mut NodeId| *id = self.ids[id.index()];
        for way in &mut node.implementations {
            way.needs.iter_mut().for_each(moved);
            way.needs
                .extend(groups.iter().filter_map(|group| self.weights[*group]));
            way.needs.sort_unstable();
            way.needs.dedup();
        }
        if let NodeKind::Backward {
            forward: Some(forward),
            ..
        } = &mut node.kind
        {
            *forward = self.ids[forward.index()];
        }
        node.fixed_bytes = self.fixed_bytes;
        node.resident.clear();
        node.stays = true;
        self.ids.push(NodeId::from(self.nodes.len()));
        self.nodes.push(node);
    }

    /// Adds the gradient of a group behind the last node `k` of the plain graph that computes a
    /// part of it.
    fn scatter(&mut self, group: &Group, k: usize) {
        let bytes = group.gradient_bytes;
        let gradient = Node::backward(
            format!("{}.gradients", group.name),
            None,
            vec![self.ids[k]],
            0,
            bytes,
        );
        self.nodes.push(Node {
            op: "scatter".into(),
            fixed_bytes: self.fixed_bytes,
            stays: true,
            once: true,
            scatter_bytes: Some(self.sharding.travels(bytes)),
            ..gradient
        });
    }
}
