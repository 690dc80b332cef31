//! Explanation of a plan: the tensors that are dropped and recomputed or copied to the host and
//! back, when, and the savings.
//!
//! Each time that a tensor's last copy is freed and later recomputed is an [`Absence`]. Meanwhile
//! the tensor's bytes are available to others. The fullest moment of the absence shows whether it
//! was needed: if the tensor would not have fitted there, the budget forced it out (or forced out
//! another tensor in its place). A tensor that is copied to the host has a [`Departure`].

mod departures;
mod fullest;

pub use departures::{Departure, Return};

use crate::instance::{Instance, NodeId};
use crate::plain::Plain;
use crate::plan::{Plan, Register, Step};
use crate::simulate::{self, Replay, ReplayError};
use departures::Departures;
use fullest::{Fullest, Since};
use std::collections::BTreeMap;

/// A period between two computations of a tensor in which no copy of it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The tensor.
    pub node: NodeId,
    /// Number of computations before it was freed: it last existed during computation `from - 1`.
    pub from: usize,
    /// The computation that recomputes it, counted from 0.
    pub to: usize,
    /// The node after whose computation it was freed.
    pub freed_after: NodeId,
    /// The first node that reads it after the recomputation; `None` if no node reads it.
    pub made_for: Option<NodeId>,
    /// Cost of the recomputation.
    pub cost: u64,
    /// Bytes that are free during the absence.
    pub bytes: u64,
    /// The computation during the absence with the largest memory use, and that use in bytes, fixed
    /// memory included. `None` if the absence contains no computation. If the largest use is at a
    /// statement about a copy, the next computation is given.
    pub fullest: Option<(usize, u64)>,
}

impl Absence {
    /// Returns whether the tensor alone could have stayed within a budget, with the rest of the
    /// plan unchanged.
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
    /// Cost of these recomputations.
    pub cost: u64,
    /// Its absences, in order. A recomputation while another copy exists causes no absence.
    pub absences: Vec<Absence>,
}

/// A node whose first computation costs more than in the step without recomputation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slower {
    /// The node.
    pub node: NodeId,
    /// The implementation that it runs.
    pub implementation: usize,
    /// Additional cost over the step without recomputation ([`Plain`]); the whole cost if that step
    /// does not compute the node.
    pub cost: u64,
}

/// A plan explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Replay of the plan.
    pub replay: Replay,
    /// The node of each computation, in order.
    pub order: Vec<NodeId>,
    /// Tensors that are computed more than once, the most expensive first.
    pub stories: Vec<Story>,
    /// Tensors that backward nodes of the plan read and that stay in memory from their first
    /// computation to their last reader, the largest first. In graphs without a loss, any reader
    /// counts.
    pub kept: Vec<NodeId>,
    /// Nodes that run slower to save memory, in programs with implementations, the most expensive
    /// first.
    pub slower: Vec<Slower>,
    /// Savings at nodes that cost less than in the step without recomputation ([`Plain`]) or are
    /// left out. The cost of the plan is the cost of that step, plus [`Explanation::extra_cost`]
    /// and [`Explanation::slower_cost`], minus these savings.
    pub saved_cost: u64,
    /// Tensors that are copied to the host, in the order of these copies.
    pub departures: Vec<Departure>,
}

impl Explanation {
    /// Cost of all recomputations.
    pub fn extra_cost(&self) -> u64 {
        self.stories.iter().map(|s| s.cost).sum()
    }

    /// Total additional cost of slower implementations and by-products over the step without
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
    for (at, step) in plan.steps.iter().enumerate() {
        reader.step(at, *step);
    }
    let departures = reader.departures.list;
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
        .filter(|&i| {
            let tensor = &reader.tensors[i];
            tensor.runs == 1 && tensor.read_later && !tensor.was_away
        })
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
        departures,
    })
}

#[derive(Clone, Default)]
struct TensorHistory {
    runs: usize,
    /// Implementation and cost of the first computation.
    first: Option<(usize, u64)>,
    /// True if a backward node reads it; in graphs without a loss, any node.
    read_later: bool,
    copies: usize,
    extra_cost: u64,
    /// The moment at which the last copy was freed, and the node before it.
    freed: Option<(Since, NodeId)>,
    absences: Vec<Absence>,
    /// True if the last absence still waits for its first reader.
    unread: bool,
    /// True if it was copied back from the host to a device without another copy.
    was_away: bool,
}

struct PlanReader<'a> {
    instance: &'a Instance,
    replay: &'a Replay,
    order: Vec<NodeId>,
    fullest: Fullest,
    tensors: Vec<TensorHistory>,
    holds: BTreeMap<Register, NodeId>,
    /// For allocated empty registers, the fullest moment of the absence of their future tensor.
    coming: BTreeMap<Register, Option<(usize, u64)>>,
    departures: Departures,
}

impl<'a> PlanReader<'a> {
    fn new(instance: &'a Instance, replay: &'a Replay) -> Self {
        PlanReader {
            instance,
            replay,
            order: Vec::with_capacity(replay.computations),
            fullest: Fullest::default(),
            tensors: vec![TensorHistory::default(); instance.len()],
            holds: BTreeMap::new(),
            coming: BTreeMap::new(),
            departures: Departures::default(),
        }
    }

    /// Processes the statement at a position.
    fn step(&mut self, at: usize, step: Step) {
        match step {
            Step::Wait { .. } | Step::Release { .. } => {}
            Step::Allocate { register, node } => {
                let freed = self.tensors[node.index()].freed;
                let most = freed.and_then(|(since, _)| self.fullest.since(since));
                self.coming.insert(register, most);
            }
            Step::Offload { register, buffer } => {
                if let Some(node) = self.holds.get(&register) {
                    self.departures.leave(self.replay, *node, buffer);
                }
            }
            Step::Prefetch { buffer, register } => {
                let most = self.coming.remove(&register).flatten();
                if let Some(node) = self.departures.node(buffer) {
                    self.holds.insert(register, node);
                    let tensor = &mut self.tensors[node.index()];
                    tensor.copies += 1;
                    let freed = tensor.freed.take();
                    tensor.was_away |= freed.is_some();
                    let freed = freed.map(|(since, after)| (since.computations, after));
                    self.departures.come(self.replay, buffer, freed, most);
                }
            }
            Step::Gather { register, node } => {
                self.coming.remove(&register);
                self.holds.insert(register, node);
                self.tensors[node.index()].copies += 1;
                self.departures.gather(self.replay);
            }
            Step::Scatter { .. } => self.departures.gather(self.replay),
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
        self.fullest.copies(self.replay, at);
    }

    fn compute(&mut self, node: NodeId, register: Register, implementation: usize) {
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
        let freed = self.tensors[node.index()].freed;
        let fullest = match self.coming.remove(&register) {
            Some(most) => most,
            None => freed.and_then(|(since, _)| self.fullest.since(since)),
        };
        self.fullest.computation(self.replay, at);
        let tensor = &mut self.tensors[node.index()];
        tensor.runs += 1;
        if tensor.first.is_some() {
            tensor.extra_cost += cost;
        } else {
            tensor.first = Some((implementation, cost));
        }
        if tensor.copies == 0
            && let Some((since, freed_after)) = tensor.freed.take()
        {
            tensor.absences.push(Absence {
                node,
                from: since.computations,
                to: at,
                freed_after,
                made_for: None,
                cost,
                bytes: self.instance.node(node).output_bytes,
                fullest,
            });
            tensor.unread = true;
        }
        tensor.copies += 1;
        if let Some(gone) = overwritten {
            self.gone(gone);
        }
    }

    /// Records that a copy is freed.
    fn gone(&mut self, node: NodeId) {
        let since = self.fullest.now(self.order.len());
        let after = self.order.last().copied().unwrap_or(node);
        let tensor = &mut self.tensors[node.index()];
        tensor.copies = tensor.copies.saturating_sub(1);
        if tensor.copies == 0 {
            tensor.freed = Some((since, after));
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
        // f0 f1 f2 loss b2 b1 b0, with f0 dropped after f1 and recomputed for the backward pass.
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
            in_flight: 1,
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
