//! Covers: limits on the tensors in memory together at an event.

use super::graph::Graph;
use crate::proof::knapsack::{check_weight, fits_more};

/// Upper limit on the total weight of the tensors in memory at an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// The stage.
    pub stage: u32,
    /// The node whose turn it is.
    pub node: u32,
    /// The right side.
    pub most: u32,
    /// The weight of a recomputation of the node in the stage. If it is not 0, inputs of the node
    /// have no weight.
    pub made: u32,
    /// Tensors with weights, ascending.
    pub weights: Vec<(u32, u32)>,
}

impl Cover {
    /// Checks that tensors that fit weigh no more than the right side.
    ///
    /// # Errors
    /// The fault of the cover.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        let Cover { stage, node, .. } = *self;
        if node > stage || stage as usize >= graph.len() || (node == stage && self.made > 0) {
            return Err(format!("node {node} has no such turn in stage {stage}"));
        }
        check_weight(self.most)?;
        if !self.weights.windows(2).all(|w| w[0].0 < w[1].0) {
            return Err("tensors are weighed twice".into());
        }
        // Inputs of the stage's own node up to here are there in any case.
        // With any order within the stage, only at its moment.
        let in_order = node == stage || !graph.moments;
        let is_fixed = |k: u32| in_order && k <= node && graph.reads(stage, k);
        let refused = |k: u32| {
            let of_node = self.made > 0 && (k == node || graph.reads(node, k));
            k >= stage || is_fixed(k) || of_node
        };
        if let Some((k, _)) = self.weights.iter().find(|w| refused(w.0)) {
            return Err(format!("tensor {k} is not free to be there or not"));
        }
        let bytes = |k: &u32| graph.bytes[*k as usize];
        let inputs = graph.inputs[stage as usize].iter();
        let fixed: u64 = inputs.filter(|k| is_fixed(**k)).map(bytes).sum();
        let own = match node == stage {
            true => graph.working[node as usize],
            false => 0,
        };
        let too_heavy = || format!("tensors that weigh more than {} fit", self.most);
        let room = graph.capacity.checked_sub(fixed + own);
        if self.fits_more(graph, room, self.most) {
            return Err(too_heavy());
        }
        if self.made == 0 {
            return Ok(());
        }
        let needed = graph.inputs[node as usize].iter().chain([&node]);
        let counted: u64 = needed.filter(|k| is_fixed(**k)).map(bytes).sum();
        let room = room.and_then(|room| room.checked_sub(graph.need_again(node) - counted));
        match self.most.checked_sub(self.made) {
            Some(most) if !self.fits_more(graph, room, most) => Ok(()),
            // With no room the node is never recomputed here.
            None if room.is_none() => Ok(()),
            _ => Err(too_heavy()),
        }
    }

    /// Returns whether tensors of a larger weight fit into some room.
    fn fits_more(&self, graph: &Graph, room: Option<u64>, most: u32) -> bool {
        let items = self.weights.iter();
        let items = items.map(|&(k, weight)| (graph.bytes[k as usize], weight));
        fits_more(items, room, most)
    }
}
