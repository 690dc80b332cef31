//! A node, and the steps that lead to it.

use crate::mip::extend::Decision;
use crate::mip::relaxation::{BasisSnapshot, ExtraRow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One step from the root towards a node; nodes share the steps they have in common.
#[derive(Debug)]
pub(crate) struct PathLink {
    pub parent: Option<Arc<PathLink>>,
    pub decision: Decision,
    pub rows: Vec<Arc<ExtraRow>>,
}

/// Branching of a node's parent, whose gain is to be learned from solving the node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Branched {
    pub col: u32,
    pub up: bool,
    /// Distance that the column had to move.
    pub distance: f64,
    pub parent_bound: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct TreeNode {
    pub id: u64,
    pub depth: u32,
    /// Lower bound known so far.
    pub bound: f64,
    pub estimate: f64,
    pub path: Option<Arc<PathLink>>,
    pub basis: Option<Arc<BasisSnapshot>>,
    pub branched: Option<Branched>,
}

impl TreeNode {
    /// Bytes that it takes up in memory, roughly: itself and its places in the queue, its last
    /// step, and half a basis, since that is shared by siblings.
    pub fn bytes(&self) -> u64 {
        let step = self.path.as_ref().map_or(0, |l| {
            let rows: usize = l.rows.iter().map(|r| 64 + 16 * r.entries.len()).sum();
            128 + 24 * l.decision.bounds.len() + 2 * rows
        });
        let basis = self.basis.as_ref().map_or(0, |b| {
            128 + b.basis.cols.len() + b.basis.rows.len() + 8 * b.tags.len()
        });
        (std::mem::size_of::<TreeNode>() + 128 + step + basis / 2) as u64
    }

    /// The columns branched on above, each once, in the order of the first branching on it: a
    /// step's own bound stands behind those that it hands down.
    pub fn branched_columns(&self) -> Vec<u32> {
        let mut columns: Vec<u32> = Vec::new();
        for step in self.steps() {
            if let Some((c, _)) = step.decision.bounds.last()
                && !columns.contains(&c.0)
            {
                columns.push(c.0);
            }
        }
        columns
    }

    /// The steps from the root, first one first.
    pub fn steps(&self) -> Vec<&PathLink> {
        let mut steps = Vec::new();
        let mut at = self.path.as_deref();
        while let Some(link) = at {
            steps.push(link);
            at = link.parent.as_deref();
        }
        steps.reverse();
        steps
    }
}
