//! Fixed memory: the memory that is resident under any schedule.

use super::{Instance, Node, NodeKind};
use std::borrow::Cow;
use std::sync::Arc;

/// Raises the fixed memory of each node of the forward pass to the largest value before it, because
/// the forward pass never frees fixed memory.
pub(super) fn never_shrinks_forward(nodes: &mut [Node]) {
    let is_forward = |v: &Node| v.kind != NodeKind::Loss && !v.is_backward();
    let end = nodes.iter().position(|v| !is_forward(v));
    let mut resident = 0;
    for node in &mut nodes[..end.unwrap_or(0)] {
        resident = node.fixed_bytes.max(resident);
        node.fixed_bytes = resident;
    }
}

impl Node {
    /// Adds bytes, of either sign, to the workspace of the first run by any implementation. A run
    /// in place has only one workspace, for all runs.
    pub fn add_first_workspace(&mut self, bytes: i64) {
        for way in &mut self.implementations {
            way.workspace_bytes += bytes;
        }
        if let Some(option) = &mut self.in_place {
            option.workspace_bytes += bytes;
        }
    }
}

impl Instance {
    /// Memory that is resident under any schedule, in bytes: the largest `fixed_bytes` of any node.
    ///
    /// Checkmate reserves it for the whole run (parameters, input batch, parameter gradients).
    pub fn static_bytes(&self) -> u64 {
        self.static_bytes
    }

    /// Fixed memory in bytes during a stage of MONeT's program, until its backward node runs: the
    /// value of the node before it. In stage 0 it is the value of the last node before the loss, or
    /// 0 if there is no such node.
    pub fn stage_fixed_bytes(&self, stage: usize) -> u64 {
        let newest = self.loss().map(|loss| loss.index() + stage);
        newest
            .and_then(|next| next.checked_sub(1))
            .map_or(0, |newest| self.nodes()[newest].fixed_bytes)
    }

    /// The instance as charged by MONeT's program. Stage 0 has one fixed memory in that program, so
    /// a larger fixed memory of the loss becomes workspace of its first run.
    pub fn charged_by_monet(&self) -> Cow<'_, Instance> {
        let Some(loss) = self.loss() else {
            return Cow::Borrowed(self);
        };
        let growth = self
            .node(loss)
            .fixed_bytes
            .saturating_sub(self.stage_fixed_bytes(0)) as i64;
        if growth == 0 {
            return Cow::Borrowed(self);
        }
        let mut data = self.data().clone();
        data.nodes[loss.index()].add_first_workspace(growth);
        Cow::Owned(Instance {
            data: Arc::new(data),
            ..self.clone()
        })
    }
}
