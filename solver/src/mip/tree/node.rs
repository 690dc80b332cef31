//! A node, and the steps that lead to it.

use crate::mip::extend::Decision;
use crate::mip::relaxation::{BasisSnapshot, ExtraRow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One step from the root towards a node; nodes share common steps.
#[derive(Debug)]
pub(crate) struct PathLink {
    pub parent: Option<Arc<PathLink>>,
    pub decision: Decision,
    pub rows: Vec<Arc<ExtraRow>>,
}

/// Branching of a node's parent: solving the node shows its gain.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Branched {
    pub col: u32,
    pub up: bool,
    /// Distance that the column was moved.
    pub distance: f64,
    pub parent_bound: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct TreeNode {
    pub id: u64,
    pub depth: u32,
    /// Best known lower bound.
    pub bound: f64,
    pub estimate: f64,
    pub path: Option<Arc<PathLink>>,
    pub basis: Option<Arc<BasisSnapshot>>,
    pub branched: Option<Branched>,
}

impl TreeNode {
    /// Approximate memory in bytes: the node and its entries in the queue, its last step, and half
    /// a basis, since siblings share it.
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

    /// The columns branched on above, each once, in the order of the first branching on it. Within
    /// a step, inherited bounds precede its own bound.
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

    /// The steps from the root, in order.
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
