//! An instance with its link and budget as the search reads it.

use super::label::MachineState;
use super::set::{NODES_LIMIT, Set, before, has, members, one};
use super::{ExactError, ExactSettings};
use crate::offload::CopyPhase;
use remat_instances::instance::{CopyTimes, Duplex, Instance, Node, NodeId};

/// Sizes, times and dependencies, with nodes as numbers.
pub(super) struct ExactProblem {
    pub nodes: usize,
    /// Inputs of each node.
    pub needs: Vec<Set>,
    pub bytes: Vec<u64>,
    /// Cost of the first run and of a further one.
    pub cost: Vec<[u64; 2]>,
    /// Workspace of the first run and of a further one, in bytes.
    pub workspace: Vec<[u64; 2]>,
    /// The node that a by-product comes with.
    pub parent: Vec<Option<usize>>,
    /// By-products of each node that may run again.
    pub companions: Vec<Set>,
    /// Nodes that may run again.
    pub again: Set,
    /// The last first run before which each node may run again.
    pub again_until: Vec<usize>,
    /// Tensors that may leave and can come back, and scattered gradients.
    pub leaves: Set,
    /// Gathered weights: they can come from the begin on, and are never computed.
    pub gathered: Set,
    /// Scattered gradients: they must leave, and never come back.
    pub scattered: Set,
    /// The first node that is computed.
    pub first: usize,
    /// Tensors that take memory.
    pub sized: Set,
    /// Time of the copy of each tensor to the host and back; 0 for tensors that stay, and for the
    /// direction in which a weight or gradient does not go.
    pub times: Vec<[u64; 2]>,
    /// Memory of the device in bytes without the fixed part; `None` if that part alone is too
    /// large.
    pub room: Option<u64>,
    /// Memory of the host in bytes.
    pub host_room: u64,
    /// True if one lane serves both directions.
    pub half: bool,
    /// The loss, if copies must leave before it and come back after it.
    pub loss: Option<usize>,
    /// Tensors that may still be read once the nodes before `t` have run, by `t`; scattered
    /// gradients among them.
    pub live: Vec<Set>,
    /// Tensors of nodes before `t` that first runs from `t` on read, by `t`.
    pub future: Vec<Set>,
    /// Cost of the first runs from `t` on, by `t`.
    pub rest: Vec<u64>,
}

impl ExactProblem {
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        settings: &ExactSettings,
    ) -> Result<Self, ExactError> {
        let n = instance.len();
        if n > NODES_LIMIT {
            return Err(ExactError::TooManyNodes { nodes: n });
        }
        let link = instance.host_link().ok_or(ExactError::NoLink)?;
        let is_open = link.to_host_bytes_per_second > 0 && link.from_host_bytes_per_second > 0;
        let copy_times = link.times(instance.cost_unit());
        if is_open && copy_times.is_none() {
            let unit = instance.cost_unit().name.clone();
            return Err(ExactError::NoTime { unit });
        }
        let loss = match settings.copies {
            CopyPhase::Any => None,
            CopyPhase::Loss => Some(instance.loss().ok_or(ExactError::NoLoss)?.index()),
        };
        let node = |i: usize| instance.node(NodeId::from(i));
        let set = |list: &[NodeId]| list.iter().fold(0, |set, d| set | one(d.index()));
        let all = |f: &dyn Fn(usize) -> bool| {
            let chosen = (0..n).filter(|i| f(*i));
            chosen.fold(0, |set, i| set | one(i))
        };
        let needs: Vec<Set> = (0..n).map(|i| set(node(i).needs())).collect();
        let parent: Vec<_> = (0..n)
            .map(|i| node(i).parent().map(NodeId::index))
            .collect();
        let again = all(&|i| settings.recompute && instance.may_recompute(NodeId::from(i)));
        let again_until = instance.ids().map(|i| instance.last_stage_again(i).index());
        let again_until: Vec<usize> = again_until.collect();
        let companions = (0..n).map(|p| again & all(&|i| parent[i] == Some(p)));
        let companions = companions.collect();
        let both = |i: usize| copies(copy_times.as_ref()?, node(i));
        let gathered = all(&|i| node(i).is_gathered());
        let scattered = all(&|i| node(i).is_scattered());
        let sized = all(&|i| node(i).output_bytes > 0);
        let host_room = link.host_memory_bytes.unwrap_or(u64::MAX);
        let may = |i: usize| {
            let fits = node(i).output_bytes <= host_room;
            let may = fits && instance.may_offload(NodeId::from(i));
            (may || node(i).is_scattered()) && both(i).is_some()
        };
        let mut future = vec![0; n + 1];
        let mut rest = vec![0u64; n + 1];
        for t in (0..n).rev() {
            future[t] = (future[t + 1] | needs[t]) & before(t);
            rest[t] = rest[t + 1] + node(t).run_cost(false);
        }
        let mut live = future.clone();
        for (t, live) in live.iter_mut().enumerate() {
            *live |= scattered;
            for u in (0..t).rev() {
                if has(*live & again, u) && t <= again_until[u] {
                    *live |= needs[u];
                }
            }
        }
        Ok(ExactProblem {
            nodes: n,
            bytes: (0..n).map(|i| node(i).output_bytes).collect(),
            cost: both_runs(n, |i, again| node(i).run_cost(again)),
            workspace: both_runs(n, |i, again| node(i).run_workspace_bytes(again)),
            companions,
            again,
            again_until,
            leaves: (sized | scattered) & all(&may),
            gathered,
            scattered,
            first: instance.gathered(),
            sized,
            times: (0..n).map(|i| both(i).unwrap_or_default()).collect(),
            room: budget_bytes.checked_sub(instance.static_bytes()),
            host_room,
            half: link.duplex == Duplex::Half,
            loss,
            live,
            future,
            rest,
            needs,
            parent,
        })
    }

    /// Returns whether a state is at the end: all nodes have run, all gradients are scattered.
    pub fn is_end(&self, s: &MachineState) -> bool {
        usize::from(s.next) == self.nodes && self.scattered & !s.host == 0
    }

    /// Bytes that the host holds for a set.
    pub fn host_sum(&self, set: Set) -> u64 {
        self.sum(set & !self.gathered & !self.scattered)
    }

    /// Bytes of the tensors of a set.
    pub fn sum(&self, set: Set) -> u64 {
        members(set).map(|i| self.bytes[i]).sum()
    }
}

fn both_runs(n: usize, of: impl Fn(usize, bool) -> u64) -> Vec<[u64; 2]> {
    (0..n).map(|i| [of(i, false), of(i, true)]).collect()
}

fn copies(times: &CopyTimes, node: &Node) -> Option<[u64; 2]> {
    match (node.gather_bytes, node.scatter_bytes) {
        (Some(bytes), _) => Some([0, times.from_host(bytes)?]),
        (_, Some(bytes)) => Some([times.to_host(bytes)?, 0]),
        _ => {
            let bytes = node.output_bytes;
            Some([times.to_host(bytes)?, times.from_host(bytes)?])
        }
    }
}
