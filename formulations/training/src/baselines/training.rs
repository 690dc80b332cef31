//! The shape of a training graph, as the heuristics see it: a forward pass, perhaps a loss, a
//! backward pass.

use super::NotApplicable;
use remat_instances::instance::{Instance, NodeId, NodeKind};

/// An instance with a backward pass, and where its passes meet.
#[derive(Clone, Debug)]
pub struct TrainingGraph<'a> {
    instance: &'a Instance,
    activations: Vec<NodeId>,
    backward_start: usize,
}

impl<'a> TrainingGraph<'a> {
    /// Splits an instance into its passes.
    ///
    /// # Errors
    /// [`NotApplicable::NoBackwardPass`] for graphs with neither a loss nor a backward node,
    /// [`NotApplicable::NoForwardPass`] for graphs without a node before the loss.
    pub fn new(instance: &'a Instance) -> Result<Self, NotApplicable> {
        let start = instance.backward_start();
        let backward_start = start.ok_or(NotApplicable::NoBackwardPass)?.index();
        let made_from_nothing = |i: NodeId| i.index() > 0 && instance.needs(i).is_empty();
        let activations: Vec<NodeId> = instance
            .ids()
            .filter(|&i| instance.node(i).kind == NodeKind::Forward && !made_from_nothing(i))
            .collect();
        if activations.is_empty() {
            return Err(NotApplicable::NoForwardPass);
        }
        Ok(TrainingGraph {
            instance,
            activations,
            backward_start,
        })
    }

    /// The instance.
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// The forward nodes in execution order, without by-products and the loss. Later nodes without
    /// inputs are left out too: a dropout mask or a table of positions can be made anew at any time
    /// and ends no segment.
    pub fn activations(&self) -> &[NodeId] {
        &self.activations
    }

    /// The first stage of the backward pass: every node below it belongs to the forward pass or is
    /// the loss.
    pub fn backward_start(&self) -> usize {
        self.backward_start
    }

    /// Checks that the forward pass is a chain: the first node has no inputs, each further one and
    /// the loss read exactly the forward node before. By-products hang off the chain and do not
    /// break it, nor do masks and other nodes without inputs.
    ///
    /// # Errors
    /// [`NotApplicable::NotAChain`] names the first node that breaks it.
    pub fn require_chain(&self) -> Result<(), NotApplicable> {
        let mut before: Option<NodeId> = None;
        for node in self.activations.iter().copied().chain(self.instance.loss()) {
            let mut needs = self.instance.needs(node).to_vec();
            needs.retain(|d| self.activations.binary_search(d).is_ok());
            if needs != before.as_slice() {
                return Err(NotApplicable::NotAChain {
                    node,
                    name: self.instance.node(node).name.clone(),
                    inputs: needs.len(),
                });
            }
            before = Some(node);
        }
        Ok(())
    }

    /// Last user of a node before the backward pass.
    pub fn last_forward_user(&self, id: NodeId) -> Option<usize> {
        let users = self.instance.users(id);
        let forward = users.partition_point(|u| u.index() < self.backward_start);
        users[..forward].last().map(|u| u.index())
    }

    /// Users of a node in the backward pass, ascending.
    pub fn backward_users(&self, id: NodeId) -> &'a [NodeId] {
        let users = self.instance.users(id);
        &users[users.partition_point(|u| u.index() < self.backward_start)..]
    }
}
