//! A plan explained: what is dropped and computed again, when, and what that saves.
//!
//! Every time a tensor's last copy is freed and computed again later is an [`Absence`]. While it
//! lasts, the tensor's bytes are free for others. Whether that was needed is told by the fullest
//! moment of the absence: where the tensor would not have fitted in beside what was there, the
//! budget forced it out (or forced out something in its place).

use crate::instance::{Instance, NodeId};
use crate::plain::Plain;
use crate::plan::{Plan, Step};
use crate::simulate::{self, Replay, ReplayError};
use std::collections::BTreeMap;

/// A time without a tensor between two of its computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The tensor.
    pub node: NodeId,
    /// Computations done when it was freed: it was last there while computation `from - 1` ran.
    pub from: usize,
    /// The computation that makes it again, counted from 0.
    pub to: usize,
    /// The node after whose computation it was freed.
    pub freed_after: NodeId,
    /// The first node that reads it once it is there again; `None` where nothing does.
    pub made_for: Option<NodeId>,
    /// Cost of making it again.
    pub cost: u64,
    /// Bytes that are free in the meantime.
    pub bytes: u64,
    /// The computation in the meantime at which most memory is in use, and how much, fixed memory
    /// included; `None` where none is in between.
    pub fullest: Option<(usize, u64)>,
}

impl Absence {
    /// Returns whether the tensor alone could have stayed within a budget, everything else
    /// unchanged.
    pub fn could_have_stayed(&self, budget_bytes: u64) -> bool {
        self.fullest
            .is_none_or(|(_, bytes)| bytes.saturating_add(self.bytes) <= budget_bytes)
    }
}

/// History of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The tensor.
    pub node: NodeId,
    /// Computations beyond the first.
    pub recomputations: usize,
    /// Their cost.
    pub cost: u64,
    /// Its absences, in order. A recomputation while another copy is there makes none.
    pub absences: Vec<Absence>,
}

/// A node whose first computation costs more than in the step without recomputation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slower {
    /// The node.
    pub node: NodeId,
    /// The implementation that it runs.
    pub implementation: usize,
    /// Cost beyond that of the step without recomputation ([`Plain`]); all of it for what that step
    /// leaves out.
    pub cost: u64,
}

/// A plan explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The plan's replay.
    pub replay: Replay,
    /// The node of each computation, in order.
    pub order: Vec<NodeId>,
    /// Tensors that are computed more than once: the dearest first.
    pub stories: Vec<Story>,
    /// Tensors that the plan's backward nodes read and that stay in memory from their first
    /// computation to their last reader (in graphs without a loss any reader counts): the largest
    /// first.
    pub kept: Vec<NodeId>,
    /// Nodes that are slower than they could be to need less memory, in programs with
    /// implementations: the dearest first.
    pub slower: Vec<Slower>,
    /// Cost that nodes save which cost less than in the step without recomputation, or are left out
    /// ([`Plain`]). The plan costs that step, [`Explanation::extra_cost`] and
    /// [`Explanation::slower_cost`], less this.
    pub saved_cost: u64,
}

impl Explanation {
    /// Cost of all recomputations.
    pub fn extra_cost(&self) -> u64 {
        self.stories.iter().map(|s| s.cost).sum()
    }

    /// Cost of slower implementations and by-products in all, beyond the step without
    /// recomputation.
    pub fn slower_cost(&self) -> u64 {
        self.slower.iter().map(|s| s.cost).sum()
    }
}

/// Explains a plan.
///
/// # Errors
/// The [`ReplayError`] of [`simulate::plan`] for a plan that cannot be executed.
pub fn explain(instance: &Instance, plan: &Plan) -> Result<Explanation, ReplayError> {
    let replay = simulate::plan(instance, plan)?;
    let mut reader = PlanReader::new(instance, &replay);
    for step in &plan.steps {
        reader.step(*step);
    }
    let order = reader.order;
    let mut stories: Vec<Story> = reader
        .tensors
        .iter()
        .enumerate()
        .filter(|(_, t)| t.runs > 1)
        .map(|(i, t)| Story {
            node: NodeId::from(i),
            recomputations: t.runs - 1,
            cost: t.extra_cost,
            absences: t.absences.clone(),
        })
        .collect();
    stories.sort_by_key(|s| (std::cmp::Reverse(s.cost), s.node));
    let mut kept: Vec<NodeId> = (0..instance.len())
        .filter(|&i| reader.tensors[i].runs == 1 && reader.tensors[i].read_later)
        .map(NodeId::from)
        .collect();
    kept.sort_by_key(|id| (std::cmp::Reverse(instance.node(*id).output_bytes), *id));
    let plain = Plain::of(instance, plan.semantics);
    let mut slower: Vec<Slower> = Vec::new();
    let mut saved_cost = 0;
    for (i, tensor) in reader.tensors.iter().enumerate() {
        let node = NodeId::from(i);
        let (implementation, cost) = tensor.first.unwrap_or_default();
        let usual = plain.node_cost(node);
        saved_cost += usual.saturating_sub(cost);
        if cost > usual {
            slower.push(Slower {
                node,
                implementation,
                cost: cost - usual,
            });
        }
    }
    slower.sort_by_key(|s| (std::cmp::Reverse(s.cost), s.node));
    Ok(Explanation {
        replay,
        order,
        stories,
        kept,
        slower,
        saved_cost,
    })
}

#[derive(Clone, Default)]
struct TensorHistory {
    runs: usize,
    /// Implementation and cost of the first computation.
    first: Option<(usize, u64)>,
    /// A backward node reads it; in graphs without a loss, any node.
    read_later: bool,
    copies: usize,
    extra_cost: u64,
    /// Computations done when the last copy was freed, and the node after which.
    freed: Option<(usize, NodeId)>,
    absences: Vec<Absence>,
    /// The last absence waits for its first reader.
    unread: bool,
}

struct PlanReader<'a> {
    instance: &'a Instance,
    replay: &'a Replay,
    order: Vec<NodeId>,
    /// Computations after which none so far is fuller, in order: the first of them from a moment on
    /// is the fullest since.
    fuller: Vec<usize>,
    tensors: Vec<TensorHistory>,
    holds: BTreeMap<crate::plan::Register, NodeId>,
    /// The node whose output each host buffer took last.
    buffers: BTreeMap<crate::plan::HostBuffer, NodeId>,
}

impl<'a> PlanReader<'a> {
    fn new(instance: &'a Instance, replay: &'a Replay) -> Self {
        PlanReader {
            instance,
            replay,
            order: Vec::with_capacity(replay.computations),
            fuller: Vec::new(),
            tensors: vec![TensorHistory::default(); instance.len()],
            holds: BTreeMap::new(),
            buffers: BTreeMap::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { .. } | Step::Wait { .. } | Step::Release { .. } => {}
            Step::Offload { register, buffer } => {
                if let Some(node) = self.holds.get(&register) {
                    self.buffers.insert(buffer, *node);
                }
            }
            Step::Prefetch { buffer, register } => self.fetched(buffer, register),
            Step::Deallocate { register } => {
                if let Some(node) = self.holds.remove(&register) {
                    self.gone(node);
                }
            }
            Step::Compute {
                node,
                register,
                implementation,
            } => self.compute(node, register, usize::from(implementation)),
        }
    }

    /// A register holds what came from the host.
    fn fetched(&mut self, buffer: crate::plan::HostBuffer, register: crate::plan::Register) {
        if let Some(node) = self.buffers.get(&buffer) {
            self.holds.insert(register, *node);
            let tensor = &mut self.tensors[node.index()];
            tensor.copies += 1;
            tensor.freed = None;
        }
    }

    fn compute(&mut self, node: NodeId, register: crate::plan::Register, implementation: usize) {
        let at = self.order.len();
        let cost_before = match at {
            0 => 0,
            _ => self.replay.timeline[at - 1].cost,
        };
        let cost = self.replay.timeline[at].cost - cost_before;
        let needs = &self.instance.node(node).implementations[implementation].needs;
        let last_forward = self.instance.loss();
        for need in needs {
            let read = &mut self.tensors[need.index()];
            read.read_later |= last_forward.is_none_or(|loss| *need < loss && node > loss);
            if std::mem::take(&mut read.unread)
                && let Some(last) = read.absences.last_mut()
            {
                last.made_for = Some(node);
            }
        }
        let overwritten = self.holds.insert(register, node);
        self.order.push(node);
        let bytes_at = |k: usize| self.replay.timeline[k].bytes;
        let fullest = self.tensors[node.index()].freed.map(|(from, _)| {
            let k = self.fuller.partition_point(|k| *k < from);
            self.fuller.get(k).map(|&k| (k, bytes_at(k)))
        });
        while self
            .fuller
            .pop_if(|k| bytes_at(*k) < bytes_at(at))
            .is_some()
        {}
        self.fuller.push(at);
        let tensor = &mut self.tensors[node.index()];
        tensor.runs += 1;
        if tensor.first.is_some() {
            tensor.extra_cost += cost;
        } else {
            tensor.first = Some((implementation, cost));
        }
        if tensor.copies == 0
            && let Some((from, freed_after)) = tensor.freed.take()
        {
            tensor.absences.push(Absence {
                node,
                from,
                to: at,
                freed_after,
                made_for: None,
                cost,
                bytes: self.instance.node(node).output_bytes,
                fullest: fullest.flatten(),
            });
            tensor.unread = true;
        }
        tensor.copies += 1;
        if let Some(gone) = overwritten {
            self.gone(gone);
        }
    }

    /// A copy is freed.
    fn gone(&mut self, node: NodeId) {
        let done = self.order.len();
        let after = self.order.last().copied().unwrap_or(node);
        let tensor = &mut self.tensors[node.index()];
        tensor.copies = tensor.copies.saturating_sub(1);
        if tensor.copies == 0 {
            tensor.freed = Some((done, after));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{CostUnit, InstanceData, Node};
    use crate::schedule::CheckmateSchedule;

    #[test]
    fn a_tensor_that_is_dropped_and_made_again_has_an_absence() {
        // f0 f1 f2 loss b2 b1 b0, with f0 dropped behind f1 and made again for the backward pass.
        let node = |k: &u32| NodeId(*k);
        let forward = |k: u32, needs: &[u32]| {
            Node::forward(format!("f{k}"), needs.iter().map(node).collect(), 1, 1)
        };
        let backward = |k: u32, needs: &[u32]| {
            let needs = needs.iter().map(node).collect();
            Node::backward(format!("b{k}"), Some(NodeId(k)), needs, 1, 1)
        };
        let nodes = vec![
            forward(0, &[]),
            forward(1, &[0]),
            forward(2, &[1]),
            Node::loss("loss", vec![NodeId(2)], 1, 1),
            backward(2, &[1, 3]),
            backward(1, &[0, 4]),
            backward(0, &[0, 5]),
        ];
        let instance = Instance::new(InstanceData {
            name: "chain".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            nodes,
        })
        .unwrap();
        let n = instance.len();
        let keep = CheckmateSchedule::checkpoint_all(&instance);
        let mut retained = keep.retained.clone();
        let last = instance.users(NodeId(0)).last().unwrap().index();
        for t in 2..last {
            retained.set(t, 0, false);
        }
        retained.set(last, 0, false);
        let schedule = CheckmateSchedule::cheapest(&instance, retained);
        let plan = Plan::from_checkmate(&instance, &schedule).unwrap();
        let told = explain(&instance, &plan).unwrap();
        assert_eq!(
            told.order.len(),
            n + told.stories.iter().map(|s| s.recomputations).sum::<usize>()
        );
        assert_eq!(told.replay.cost, instance.base_cost() + told.extra_cost());
        let story = told.stories.iter().find(|s| s.node == NodeId(0)).unwrap();
        assert!(story.recomputations >= 1);
        let absence = story.absences[0];
        assert_eq!(absence.freed_after, NodeId(1));
        assert_eq!(absence.bytes, instance.nodes()[0].output_bytes);
        assert!(absence.made_for.is_some());
        let (at, bytes) = absence.fullest.unwrap();
        assert!(absence.from <= at && at < absence.to);
        let timeline = &told.replay.timeline;
        assert!((absence.from..absence.to).all(|k| timeline[k].bytes <= bytes));
        assert_eq!(told.order[absence.to], NodeId(0));
        assert!(absence.could_have_stayed(bytes + absence.bytes));
        assert!(!absence.could_have_stayed(bytes + absence.bytes - 1));
        let untouched =
            explain(&instance, &Plan::from_checkmate(&instance, &keep).unwrap()).unwrap();
        assert!(untouched.stories.is_empty() && untouched.extra_cost() == 0);
        assert!(untouched.kept.contains(&NodeId(0)));
    }
}
