//! Checkmate's view of an instance, and the rules of a class.

use crate::checkmate::CheckmateGraph;
use remat_instances::ClassRules;
use remat_instances::instance::Instance;
use remat_instances::schedule::BitMatrix;
use std::ops::Deref;
use std::sync::Arc;

/// Costs, sizes and readers, and the decisions of a class.
#[derive(Clone, Debug)]
pub struct ClassGraph {
    graph: CheckmateGraph,
    /// The rules of the class.
    pub rules: Arc<ClassRules>,
}

impl Deref for ClassGraph {
    type Target = CheckmateGraph;

    fn deref(&self) -> &CheckmateGraph {
        &self.graph
    }
}

impl ClassGraph {
    /// The graph of an instance under a budget in bytes (fixed memory included).
    pub fn new(instance: &Instance, rules: &Arc<ClassRules>, budget_bytes: u64) -> Self {
        let capacity = budget_bytes.saturating_sub(instance.static_bytes());
        ClassGraph {
            graph: CheckmateGraph::with_capacity(instance, capacity),
            rules: rules.clone(),
        }
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
