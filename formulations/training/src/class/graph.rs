//! An instance and the rules of a class, in arrays.

use remat_instances::ClassRules;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::BitMatrix;
use std::sync::Arc;

/// Costs, sizes and readers, and the decisions of a class.
#[derive(Clone, Debug)]
pub struct ClassGraph {
    pub rules: Arc<ClassRules>,
    /// Cost of a recomputation.
    pub again: Vec<u64>,
    /// Cost of computing every node once.
    pub base: u64,
    /// Size of the output, in bytes.
    pub bytes: Vec<u64>,
    /// Scratch memory of the first run, in bytes.
    pub workspace: Vec<u64>,
    /// The same of a recomputation.
    pub workspace_again: Vec<u64>,
    /// Distinct inputs, ascending.
    pub needs: Vec<Vec<u32>>,
    /// Distinct readers, ascending.
    pub users: Vec<Vec<u32>>,
    /// The parent of a by-product.
    pub parent: Vec<Option<u32>>,
    /// Bytes for outputs and workspaces.
    pub capacity: u64,
}

impl ClassGraph {
    /// The graph of an instance under a budget in bytes (fixed memory included).
    pub fn new(instance: &Instance, rules: &Arc<ClassRules>, budget_bytes: u64) -> Self {
        let list = |ids: &[NodeId]| ids.iter().map(|d| d.0).collect::<Vec<u32>>();
        let nodes = instance.nodes();
        ClassGraph {
            rules: rules.clone(),
            again: nodes.iter().map(|v| v.run_cost(true)).collect(),
            base: instance.base_cost(),
            bytes: nodes.iter().map(|v| v.output_bytes).collect(),
            workspace: nodes.iter().map(|v| v.run_workspace_bytes(false)).collect(),
            workspace_again: nodes.iter().map(|v| v.run_workspace_bytes(true)).collect(),
            needs: instance.ids().map(|i| list(instance.needs(i))).collect(),
            users: instance.ids().map(|i| list(instance.users(i))).collect(),
            parent: nodes.iter().map(|v| v.parent().map(|p| p.0)).collect(),
            capacity: budget_bytes.saturating_sub(instance.static_bytes()),
        }
    }

    /// Number of nodes and of stages.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Readers of a node in the forward pass, and in the backward pass.
    pub fn readers(&self, node: usize) -> (&[u32], &[u32]) {
        let users = &self.users[node];
        users.split_at(users.partition_point(|u| *u < self.rules.first_backward()))
    }

    /// The decisions of retained sets: a decision drops its nodes unless one of them is kept behind
    /// its last forward reader.
    pub fn dropped(&self, retained: &BitMatrix) -> Vec<bool> {
        let is_saved = |node: &u32| {
            let stage = self.rules.saved_from(*node) as usize;
            stage < self.len() && retained.get(stage, *node as usize)
        };
        let decisions = self.rules.decisions().iter();
        decisions.map(|nodes| !nodes.iter().any(is_saved)).collect()
    }
}
