//! Bytes that only the host may hold at a moment, built into an instance without a link.
//!
//! Bytes that only the host holds at moment `h` went there before `h` and come back after it. In
//! time `T` a link of bandwidth `b` carries `b T` bytes, so they are at most `b_out T(0, h)` and at
//! most `b_in T(h, end)`. Each of the two times is at most the cost of the first computations on
//! its side of `h`, plus the makespan's excess over all first computations; both together are the
//! makespan. A plan that keeps these bytes on the device instead computes the same without copies,
//! under a budget that is larger by this *envelope*. So no plan with a link costs less than the
//! best plan without a link under the budget plus the envelope. This gives a bound, and a schedule
//! for which only copies remain to be chosen.
//!
//! An envelope is built into an instance: the budget is enlarged by its peak, and nodes without
//! cost hold the difference to the peak elsewhere (rounded down, so that the bound stays valid).

use crate::checkmate::CheckmateGraph;
use crate::offload::CopyPhase;
use crate::offload::interval::write_link;
use remat_instances::Semantics;
use remat_instances::instance::{
    CopyTimes, Implementation, Instance, InstanceData, Node, NodeId, NodeKind, StructureError,
    passing_in_plain_order,
};
use remat_instances::plan::{Plan, Step};
use remat_search::BoundProof;
use std::fmt::Write;

/// Bytes that only the host may have while each stage runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Bytes by stage.
    pub bytes: Vec<u64>,
}

impl Envelope {
    /// The envelope of plans whose makespan is at most `extra` above the cost of all first
    /// computations, in the instance's cost unit.
    pub fn of(
        instance: &Instance,
        times: &CopyTimes,
        phase: CopyPhase,
        host_memory_bytes: Option<u64>,
        extra: u64,
    ) -> Self {
        let costs: Vec<u64> = instance
            .nodes()
            .iter()
            .map(|v| {
                if v.parent().is_none() {
                    first_cost(v)
                } else {
                    0
                }
            })
            .collect();
        let all: u64 = costs.iter().sum();
        let loss = instance.loss().filter(|_| phase == CopyPhase::Loss);
        let mut before = 0u64;
        let mut bytes = Vec::with_capacity(costs.len());
        // The times before and after add up to the makespan.
        let whole = all.saturating_add(extra);
        let (out, back) = (times.to_host_within(whole), times.from_host_within(whole));
        let both = match u128::from(out) + u128::from(back) {
            0 => 0,
            sum => (u128::from(out) * u128::from(back) / sum) as u64 + 1,
        };
        let most = both.min(host_memory_bytes.unwrap_or(u64::MAX));
        // Copies to the host end when the loss starts; copies back start when it has run.
        let (mut until_loss, mut from_loss) = (u64::MAX, u64::MAX);
        if let Some(loss) = loss {
            until_loss = costs[..loss.index()].iter().sum();
            from_loss = costs[loss.index() + 1..].iter().sum();
        }
        for cost in costs {
            let out = before.min(until_loss).saturating_add(extra);
            let back = (all - before).min(from_loss).saturating_add(extra);
            let here = times.to_host_within(out).min(times.from_host_within(back));
            bytes.push(here.min(most));
            before += cost;
        }
        Envelope { bytes }
    }

    /// Cost of all first computations, each by its cheapest implementation: no plan costs less.
    pub fn first_costs(instance: &Instance) -> u64 {
        let made = |v: &&Node| v.parent().is_none();
        instance.nodes().iter().filter(made).map(first_cost).sum()
    }

    /// The same with each stage's bytes scaled by a share.
    pub fn scaled(&self, share: f64) -> Self {
        let part = |b: &u64| (*b as f64 * share) as u64;
        Envelope {
            bytes: self.bytes.iter().map(part).collect(),
        }
    }
}

/// Least cost of a first computation.
fn first_cost(node: &Node) -> u64 {
    let least = node.implementations.iter().map(|p| p.cost).min();
    let in_place = node.in_place.as_ref().map_or(0, |p| p.cost_delta.min(0));
    least.unwrap_or(0).saturating_add_signed(in_place)
}

/// Bytes beyond which memory is of no use while each stage runs, fixed memory included. They are
/// all tensors that may be read then or later, plus the largest workspace and output of a node that
/// may run. (Without recomputation less may suffice, but more memory lets a node be recomputed
/// beside more tensors.)
pub(crate) fn useful_bytes(instance: &Instance, semantics: Semantics) -> Vec<u64> {
    let nodes = instance.nodes();
    let n = nodes.len();
    let fixed = instance.static_bytes();
    let sum = |bytes: u64, more: u64| bytes.saturating_add(more);
    if semantics.charges_more_than_plans() {
        // A tensor may be charged as stored and as an input.
        let twice = nodes.iter().flat_map(|v| [v.output_bytes; 2]);
        let ways = nodes.iter().flat_map(|v| &v.implementations);
        let ways = ways.map(|way| way.workspace_bytes.max(way.recompute_workspace_bytes));
        let in_place = nodes.iter().flat_map(|v| &v.in_place);
        let all = ways.chain(in_place.map(|option| option.workspace_bytes));
        let workspace = all.fold(0, i64::max).unsigned_abs();
        return vec![sum(twice.fold(fixed, sum), workspace); n];
    }
    let last = CheckmateGraph::with_capacity(instance, 0).last_stage;
    let working = |i: usize, again| sum(nodes[i].run_workspace_bytes(again), nodes[i].output_bytes);
    let mut again = 0;
    let useful = (0..n).map(|stage| {
        let alive = (0..stage).filter(|i| last[*i] as usize >= stage);
        let runs = working(stage, false).max(again);
        if instance.may_recompute(NodeId::from(stage)) {
            again = again.max(working(stage, true));
        }
        let tensors = alive.map(|i| nodes[i].output_bytes);
        tensors.fold(sum(fixed, runs), sum)
    });
    useful.collect()
}

/// An instance with an envelope built in.
pub(crate) struct Enveloped {
    /// The instance, with nodes that hold memory.
    pub instance: Instance,
    /// Peak of the envelope, by which the budget grows, in bytes.
    pub most_bytes: u64,
    /// Node of the given instance for each node; `None` for nodes that hold memory.
    of: Vec<Option<NodeId>>,
    /// Nodes that hold memory, in their order.
    holders: Vec<Holder>,
}

/// A node that holds memory.
struct Holder {
    id: NodeId,
    bytes: u64,
    /// Stage of the node after it.
    from: usize,
    /// Stage of the node after which it is read; `None` if the last node reads it.
    until: Option<usize>,
}

/// Number of steps in which the envelope rises, and in which it falls.
const STEPS: u64 = 12;

impl Enveloped {
    /// Builds an envelope into an instance; in each stage at most `useful_bytes` of it are of use.
    ///
    /// # Errors
    /// [`StructureError`] if the sizes add up to too much.
    pub fn of(
        instance: &Instance,
        envelope: &Envelope,
        useful_bytes: &[u64],
    ) -> Result<Self, StructureError> {
        let bytes = envelope.bytes.iter().zip(useful_bytes);
        let bytes: Vec<u64> = bytes.map(|(b, useful)| *b.min(useful)).collect();
        let most_bytes = bytes.iter().copied().max().unwrap_or(0);
        let peak = bytes.iter().position(|b| *b == most_bytes).unwrap_or(0);
        let step = most_bytes.div_ceil(STEPS).max(1);
        // Difference to the peak, as a number of steps: falling up to the peak, then rising.
        let lacks = |stage: usize| (most_bytes - bytes[stage]) / step;
        let n = instance.len();
        let mut made = Made::new(instance, step);
        let mut ends = vec![0u64; n];
        let mut held = lacks(0);
        let holders: Vec<NodeId> = (0..held).map(|_| made.holder(0)).collect();
        let mut holders = holders.into_iter();
        for (stage, ended) in ends.iter_mut().enumerate().take(peak) {
            let then = held.min(lacks(stage + 1));
            *ended = held - then;
            held = then;
        }
        let mut risen: Vec<NodeId> = Vec::new();
        // Holders added after the peak stay until the end, so the difference is rounded down to its
        // minimum over the later stages.
        let mut least = u64::MAX;
        let mut rises = vec![0u64; n];
        for stage in (peak..n).rev() {
            least = least.min(lacks(stage));
            rises[stage] = least;
        }
        for stage in 0..n {
            let above = stage > peak && rises[stage] > rises[stage - 1];
            if above {
                let more = rises[stage] - rises[stage - 1];
                risen.extend((0..more).map(|_| made.holder(stage)));
            }
            made.node(instance, stage);
            for _ in 0..ends[stage] {
                holders
                    .next()
                    .into_iter()
                    .for_each(|h| made.reader(stage, h));
            }
        }
        holders.for_each(|h| made.reader(peak, h));
        made.finish(instance, &risen, most_bytes)
    }

    /// Proof of a bound for plans with copies of `given`, which has the link, from a proof for
    /// plans without copies of the enveloped instance. The bound is at most `horizon`, up to which
    /// the envelope covers all plans.
    pub fn proof(
        &self,
        given: &Instance,
        by_loss: bool,
        budget_bytes: u64,
        horizon: u64,
        within: &BoundProof,
    ) -> BoundProof {
        let bound = within.bound().unwrap_or(u64::MAX).min(horizon);
        // A bound of `u64::MAX` means that no plan fits.
        let bound = (bound < u64::MAX).then_some(bound);
        let claim = bound.map_or("infeasible".into(), |b| format!("bound {b}"));
        let mut text = format!(
            "remat-proof/2\nprogram envelope\ninstance {}\nbudget {budget_bytes}\nclaim {claim}\n",
            given.name()
        );
        write_link(given, by_loss, &mut text);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "horizon {horizon}\nholders {}", self.holders.len());
        for holder in &self.holders {
            let _ = write!(text, "{} {} ", holder.bytes, holder.from);
            let _ = match holder.until {
                Some(until) => writeln!(text, "{until}"),
                None => writeln!(text, "end"),
            };
        }
        text.push_str(within.text());
        BoundProof::new(text, bound)
    }

    /// Converts a plan of the enveloped instance into a plan of the given instance.
    pub fn strip(&self, given: &Instance, plan: &Plan) -> Plan {
        let mut held = std::collections::BTreeSet::new();
        let of = |node: NodeId| self.of.get(node.index()).copied().flatten();
        let mut steps = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            match *step {
                Step::Allocate { register, node } => match of(node) {
                    Some(node) => steps.push(Step::Allocate { register, node }),
                    None => {
                        held.insert(register);
                    }
                },
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => {
                    if let Some(node) = of(node) {
                        steps.push(Step::Compute {
                            node,
                            register,
                            implementation,
                        });
                    }
                }
                Step::Deallocate { register } if held.remove(&register) => {}
                other => steps.push(other),
            }
        }
        Plan {
            instance: given.name().into(),
            semantics: plan.semantics,
            steps,
        }
    }
}

/// Nodes of the enveloped instance under construction.
struct Made {
    nodes: Vec<Node>,
    of: Vec<Option<NodeId>>,
    /// New ids of the given nodes.
    ids: Vec<NodeId>,
    step: u64,
    holders: Vec<Holder>,
    /// First node after the forward pass.
    behind: usize,
    names: usize,
    stem: String,
}

impl Made {
    fn new(instance: &Instance, step: u64) -> Self {
        let mut stem = String::from("held");
        while instance.nodes().iter().any(|v| v.name.starts_with(&stem)) {
            stem.push('_');
        }
        let loss = instance.loss().map(NodeId::index);
        let backward = instance.nodes().iter().position(Node::is_backward);
        let behind = loss.map(|l| l + 1).into_iter().chain(backward).min();
        Made {
            nodes: Vec::new(),
            of: Vec::new(),
            ids: Vec::new(),
            step,
            holders: Vec::new(),
            behind: behind.unwrap_or(usize::MAX),
            names: 0,
            stem,
        }
    }

    fn add(&mut self, stage: usize, needs: Vec<NodeId>, bytes: u64) -> NodeId {
        let kind = match stage >= self.behind {
            true => NodeKind::Backward {
                forward: None,
                gradient: Default::default(),
            },
            false => NodeKind::Forward,
        };
        self.names += 1;
        let fixed_bytes = self.nodes.last().map_or(0, |v| v.fixed_bytes);
        self.nodes.push(Node {
            name: format!("{}{}", self.stem, self.names).into(),
            kind,
            output_bytes: bytes,
            fixed_bytes,
            implementations: vec![Implementation::new(needs, 0, 0)],
            once: true,
            stays: true,
            ..Node::default()
        });
        self.of.push(None);
        NodeId::from(self.nodes.len() - 1)
    }

    /// Adds a node that holds a step of memory, before the node of a stage.
    fn holder(&mut self, stage: usize) -> NodeId {
        let id = self.add(stage, Vec::new(), self.step);
        self.holders.push(Holder {
            id,
            bytes: self.step,
            from: stage,
            until: None,
        });
        id
    }

    /// Adds a node that reads a holder, and so ends it, after the node of a stage.
    fn reader(&mut self, stage: usize, holder: NodeId) {
        let held = self.holders.iter_mut().filter(|held| held.id == holder);
        held.for_each(|held| held.until = Some(stage));
        self.add(stage + 1, vec![holder], 0);
    }

    /// Adds a node of the given instance.
    fn node(&mut self, instance: &Instance, stage: usize) {
        let mut node = instance.nodes()[stage].clone();
        let new = |id: &mut NodeId| *id = self.ids[id.index()];
        for implementation in &mut node.implementations {
            implementation.needs.iter_mut().for_each(new);
        }
        node.ends.iter_mut().for_each(new);
        if let Some(option) = &mut node.in_place {
            new(&mut option.on);
        }
        match &mut node.kind {
            NodeKind::ByProduct { parent } => new(parent),
            NodeKind::Backward {
                forward: Some(forward),
                ..
            } => new(forward),
            _ => {}
        }
        self.ids.push(NodeId::from(self.nodes.len()));
        self.of.push(Some(NodeId::from(stage)));
        self.nodes.push(node);
    }

    fn finish(
        mut self,
        instance: &Instance,
        risen: &[NodeId],
        most_bytes: u64,
    ) -> Result<Enveloped, StructureError> {
        // Holders added after the peak stay until the last node, which reads them.
        let proper = |v: &Node| v.parent().is_none();
        if let Some(last) = self.nodes.iter().rposition(proper) {
            for implementation in &mut self.nodes[last].implementations {
                let before = risen.iter().filter(|id| id.index() < last);
                implementation.needs.extend(before);
                implementation.needs.sort_unstable();
            }
        }
        let passing = passing_in_plain_order(&self.nodes);
        for (node, passing) in self.nodes.iter_mut().zip(passing) {
            node.passing = passing;
        }
        let data = InstanceData {
            name: instance.name().into(),
            cost_unit: instance.cost_unit().clone(),
            host_link: None,
            in_flight: 1,
            nodes: self.nodes,
        };
        Ok(Enveloped {
            instance: Instance::new(data)?,
            most_bytes,
            of: self.of,
            holders: self.holders,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::instance::CostUnit;

    #[test]
    fn workspaces_of_recomputations_are_of_use() {
        let mut nodes = vec![
            Node::forward("a", vec![], 1, 2),
            Node::forward("b", vec![NodeId(0)], 1, 3),
            Node::forward("c", vec![NodeId(0), NodeId(1)], 1, 1),
        ];
        nodes[0].implementations[0].recompute_workspace_bytes = 100;
        let data = InstanceData {
            name: "three".into(),
            cost_unit: CostUnit::nanoseconds(),
            host_link: None,
            in_flight: 1,
            nodes,
        };
        let instance = Instance::new(data).unwrap();
        // Computed plainly it takes at most 6 bytes; `a` may be computed again beside `b`.
        let useful = useful_bytes(&instance, Semantics::Checkmate);
        assert_eq!(useful, [2, 2 + 102, 5 + 102]);
        assert_eq!(useful_bytes(&instance, Semantics::Monet), [112; 3]);
    }
}
