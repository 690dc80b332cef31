//! A plan explained: what is dropped and computed again, when, and what that saves.
//!
//! Every time a tensor's last copy is freed and computed again later is an [`Absence`]. While it lasts, the tensor's bytes
//! are free for others. Whether that was needed is told by the fullest moment of the absence: where the tensor would
//! not have fitted in beside what was there, the budget forced it out (or forced out something in its place).

use crate::instance::{Instance, NodeId};
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
    /// The computation in the meantime at which most memory is in use, and how much, fixed memory included; `None` where
    /// none is in between.
    pub fullest: Option<(usize, u64)>,
}

impl Absence {
    /// Whether the tensor alone could have stayed within a budget, everything else unchanged.
    pub fn could_have_stayed(&self, budget_bytes: u64) -> bool {
        self.fullest
            .is_none_or(|(_, bytes)| bytes.saturating_add(self.bytes) <= budget_bytes)
    }
}

/// What becomes of one tensor.
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

/// A plan explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The plan's replay.
    pub replay: Replay,
    /// The node of each computation, in order.
    pub order: Vec<NodeId>,
    /// Tensors that are computed more than once: the dearest first.
    pub stories: Vec<Story>,
    /// Tensors that are read by the backward pass and stay in memory from their first computation to their last reader
    /// (all of them in graphs without a loss count by any later reader): the largest first.
    pub kept: Vec<NodeId>,
}

impl Explanation {
    /// Cost of all recomputations.
    pub fn extra_cost(&self) -> u64 {
        self.stories.iter().map(|s| s.cost).sum()
    }
}

/// Explains a plan.
///
/// # Errors
/// The [`ReplayError`] of [`simulate::plan`] for a plan that cannot be executed.
pub fn explain(instance: &Instance, plan: &Plan) -> Result<Explanation, ReplayError> {
    let replay = simulate::plan(instance, plan)?;
    let mut reader = Reader::new(instance, &replay);
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
    let last_forward = instance.loss().map(|l| l.index());
    let wanted_later = |i: usize| {
        let users = instance.users(NodeId::from(i));
        match last_forward {
            Some(loss) => i < loss && users.iter().any(|q| q.index() > loss),
            None => !users.is_empty(),
        }
    };
    let mut kept: Vec<NodeId> = (0..instance.len())
        .filter(|&i| reader.tensors[i].runs == 1 && wanted_later(i))
        .map(NodeId::from)
        .collect();
    kept.sort_by_key(|id| (std::cmp::Reverse(instance.node(*id).output_bytes), *id));
    Ok(Explanation {
        replay,
        order,
        stories,
        kept,
    })
}

#[derive(Clone, Default)]
struct Tensor {
    runs: usize,
    copies: usize,
    extra_cost: u64,
    /// Computations done when the last copy was freed, and the node after which.
    freed: Option<(usize, NodeId)>,
    absences: Vec<Absence>,
    /// The last absence waits for its first reader.
    unread: bool,
}

struct Reader<'a> {
    instance: &'a Instance,
    replay: &'a Replay,
    order: Vec<NodeId>,
    tensors: Vec<Tensor>,
    holds: BTreeMap<crate::plan::Register, NodeId>,
}

impl<'a> Reader<'a> {
    fn new(instance: &'a Instance, replay: &'a Replay) -> Self {
        Reader {
            instance,
            replay,
            order: Vec::with_capacity(replay.computations),
            tensors: vec![Tensor::default(); instance.len()],
            holds: BTreeMap::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { .. } => {}
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

    fn compute(&mut self, node: NodeId, register: crate::plan::Register, implementation: usize) {
        let at = self.order.len();
        let cost_before = match at {
            0 => 0,
            _ => self.replay.timeline[at - 1].cost,
        };
        let cost = self.replay.timeline[at].cost - cost_before;
        let needs = &self.instance.node(node).implementations[implementation].needs;
        for need in needs {
            let read = &mut self.tensors[need.index()];
            if std::mem::take(&mut read.unread)
                && let Some(last) = read.absences.last_mut()
            {
                last.made_for = Some(node);
            }
        }
        let overwritten = self.holds.insert(register, node);
        self.order.push(node);
        let between = |from: usize| {
            let moments = from..at;
            let fullest = moments.max_by_key(|&k| (self.replay.timeline[k].bytes, usize::MAX - k));
            fullest.map(|k| (k, self.replay.timeline[k].bytes))
        };
        let fullest = self.tensors[node.index()].freed.map(|f| between(f.0));
        let tensor = &mut self.tensors[node.index()];
        tensor.runs += 1;
        if tensor.runs > 1 {
            tensor.extra_cost += cost;
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
    use crate::baselines::fixtures::mirrored;
    use crate::schedule::CheckmateSchedule;

    #[test]
    fn a_tensor_that_is_dropped_and_made_again_has_an_absence() {
        // f0 f1 f2 loss b2 b1 b0, with f0 dropped behind f1 and made again for the backward pass.
        let instance = mirrored(&[vec![], vec![0], vec![1]]);
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
