//! The recomputation of PyTorch's compiler: `min_cut_rematerialization_partition` and
//! `activation_memory_budget`.
//!
//! The partitioner decides which tensors the forward pass saves for the backward pass. Each forward
//! tensor is an edge of a flow network with its bytes as the capacity. Tensors that must not be
//! recomputed are linked to the source, tensors that the backward pass reads to the sink. A minimum
//! cut is a set of saved tensors of least bytes from which all other tensors that are read can be
//! recomputed by permitted operators ([`operators::Bans`]). PyTorch weighs the bytes by the
//! distance from the backward pass and doubles the bytes of tensors that would be fused away. Both
//! concern kernels, and are left out here.
//!
//! With an activation memory budget below 1 (the bytes that the default saves), the compiler first
//! bans fewer operators. In the end a knapsack chooses which compute-intensive tensors stay saved;
//! the others may be recomputed, and the minimum cut is solved anew.
//!
//! In the schedule, as in the compiler's backward graph, an unsaved tensor is recomputed once, when
//! it is first needed, and kept until its last need.

use super::knapsack::QuantisedKnapsack;
use super::operators::{self, Bans};
use super::retention::recompute_at_first_need;
use super::training::TrainingGraph;
use super::{NotApplicable, best};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_memory::max_flow::{FlowNetwork, UNLIMITED};

/// A minimum cut with all cheap operators recomputable ([`Bans::Expensive`]), for any backward
/// readers. Ignores the budget.
///
/// # Errors
/// [`NotApplicable`] without a backward pass.
pub fn minimum_cut(
    instance: &Instance,
    _budget_bytes: u64,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    let saved = minimum_cut_saved(&graph, &operators::banned(&graph, Bans::Expensive));
    Ok(recompute_at_first_need(&graph, &saved))
}

/// Steps in which the share of activation memory is searched.
const SHARES: u32 = 50;

/// The partition for the largest activation memory budget (in fiftieths, 1 being the default
/// partition) whose schedule fits, or the one with the least peak if no schedule fits.
///
/// # Errors
/// [`NotApplicable`] without a backward pass.
pub fn memory_budget(
    instance: &Instance,
    budget_bytes: u64,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    let partitions = Partitions::new(&graph);
    let mut tried: Vec<Vec<bool>> = Vec::new();
    let mut schedules = Vec::new();
    for step in (0..=SHARES).rev() {
        let saved = partitions.saved(step as f64 / SHARES as f64);
        if tried.contains(&saved) {
            continue;
        }
        let schedule = recompute_at_first_need(&graph, &saved);
        tried.push(saved);
        if simulate::checkmate(instance, &schedule).is_ok_and(|r| r.peak_bytes <= budget_bytes) {
            return Ok(schedule);
        }
        schedules.push(schedule);
    }
    Ok(best(instance, budget_bytes, schedules)
        .unwrap_or_else(|| CheckmateSchedule::checkpoint_all(instance)))
}

/// Saved values for each activation memory budget (PyTorch's `choose_saved_values_set`).
#[derive(Clone, Debug)]
pub struct Partitions<'a> {
    graph: &'a TrainingGraph<'a>,
    /// Partitions that need no knapsack, from the most saved bytes to the least, with these bytes
    /// as a share.
    plain: [(f64, Vec<bool>); 3],
    /// Nodes that [`Bans::ComputeIntensive`] bans.
    banned: Vec<bool>,
    /// The activations among them, the items of the knapsack, largest first.
    items: Vec<NodeId>,
    knapsack: QuantisedKnapsack,
}

impl<'a> Partitions<'a> {
    /// Solves the partitions of all levels and the knapsack for all budgets.
    pub fn new(graph: &'a TrainingGraph<'a>) -> Self {
        let instance = graph.instance();
        let bytes = |id: NodeId| instance.node(id).output_bytes;
        let partitions = [Bans::Default, Bans::Expensive, Bans::ComputeIntensive].map(|bans| {
            let saved = minimum_cut_saved(graph, &operators::banned(graph, bans));
            let kept = (0..saved.len()).filter(|&i| saved[i]).map(NodeId::from);
            (kept.map(bytes).sum::<u64>(), saved)
        });
        let reference = partitions[0].0.max(1) as f64;
        let banned = operators::banned(graph, Bans::ComputeIntensive);
        let mut items: Vec<NodeId> = graph
            .activations()
            .iter()
            .copied()
            .filter(|id| banned[id.index()])
            .collect();
        items.sort_by_key(|&id| std::cmp::Reverse(bytes(id)));
        let shares: Vec<f64> = items
            .iter()
            .map(|&id| bytes(id) as f64 / reference)
            .collect();
        let values: Vec<u64> = items
            .iter()
            .map(|&id| instance.node(id).run_cost(true))
            .collect();
        Partitions {
            graph,
            plain: partitions.map(|(bytes, saved)| (bytes as f64 / reference, saved)),
            knapsack: QuantisedKnapsack::solve(&shares, &values),
            banned,
            items,
        }
    }

    /// Marks the nodes before the backward pass that are saved when activations may take `share` (0
    /// to 1) of the bytes that the default partition saves. At 0 only the loss and by-products are
    /// banned.
    pub fn saved(&self, share: f64) -> Vec<bool> {
        let [(_, default), less, least] = &self.plain;
        if share >= 1.0 {
            return default.clone();
        }
        if share <= 0.0 {
            return minimum_cut_saved(self.graph, &operators::banned(self.graph, Bans::None));
        }
        for (size, saved) in [less, least] {
            if *size < share {
                return saved.clone();
            }
        }
        let mut banned = self.banned.clone();
        for (id, stays) in self.items.iter().zip(self.knapsack.chosen(share)) {
            banned[id.index()] = stays;
        }
        minimum_cut_saved(self.graph, &banned)
    }
}

/// A set of saved tensors of least total bytes for the backward pass. Every forward tensor that a
/// backward node reads is saved, or can be recomputed from saved ones (and the network's input)
/// without running a banned node. Among several sets it has the fewest recomputations: the cut
/// nearest to the backward pass.
///
/// `banned` and the result have an entry for each node before the backward pass.
pub fn minimum_cut_saved(graph: &TrainingGraph<'_>, banned: &[bool]) -> Vec<bool> {
    let instance = graph.instance();
    let start = graph.backward_start();
    let (inside, outside) = (|i: usize| 2 * i, |i: usize| 2 * i + 1);
    let (source, sink) = (2 * start, 2 * start + 1);
    let mut network = FlowNetwork::new(2 * start + 2);
    for (i, &is_banned) in banned.iter().enumerate().take(start) {
        let id = NodeId::from(i);
        network.add_edge(inside(i), outside(i), instance.node(id).output_bytes);
        if is_banned {
            network.add_edge(source, inside(i), UNLIMITED);
        }
        if !graph.backward_users(id).is_empty() {
            network.add_edge(outside(i), sink, UNLIMITED);
        }
        for need in instance.needs(id) {
            network.add_edge(outside(need.index()), inside(i), UNLIMITED);
        }
    }
    network.maximise(source, sink);
    let near_sink = network.sink_side(sink);
    (0..start)
        .map(|i| !near_sink[inside(i)] && near_sink[outside(i)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, chain, residual, training_dag};
    use proptest::prelude::*;

    /// Returns whether the backward pass can be served from `saved` without running a banned node
    /// again.
    fn serves(graph: &TrainingGraph<'_>, banned: &[bool], saved: impl Fn(usize) -> bool) -> bool {
        let instance = graph.instance();
        let mut available: Vec<bool> = Vec::new();
        for (i, is_banned) in banned.iter().enumerate() {
            let needs = instance.needs(NodeId::from(i));
            let remade = !is_banned && needs.iter().all(|j| available[j.index()]);
            available.push(saved(i) || remade);
        }
        (0..banned.len()).all(|i| available[i] || graph.backward_users(NodeId::from(i)).is_empty())
    }

    #[test]
    fn relu_after_convolution_is_recomputed_and_the_convolution_saved() {
        let mut data = chain(&[9, 1, 9, 1], &[4; 4], &[Reads::Both; 4])
            .data()
            .clone();
        for (node, op) in data
            .nodes
            .iter_mut()
            .zip(["conv2d", "relu", "conv2d", "relu"])
        {
            node.op = op.into();
        }
        let instance = Instance::new(data).unwrap();
        let schedule = minimum_cut(&instance, 0).unwrap();
        let runs = |i: usize| {
            (0..instance.len())
                .filter(|&t| schedule.computed.get(t, i))
                .count()
        };
        assert_eq!([0, 1, 2, 3].map(runs), [1, 2, 1, 2]);
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        assert_eq!(replay.cost, instance.base_cost() + 2);
    }

    #[test]
    fn smaller_budgets_save_less_and_the_largest_fitting_share_is_taken() {
        let instance = residual(30);
        let graph = TrainingGraph::new(&instance).unwrap();
        let partitions = Partitions::new(&graph);
        let bytes = |share: f64| -> u64 {
            let saved = partitions.saved(share);
            let ids = instance
                .ids()
                .take(saved.len())
                .filter(|i| saved[i.index()]);
            ids.map(|i| instance.node(i).output_bytes).sum()
        };
        assert!(bytes(0.5) <= bytes(1.0) && bytes(0.0) <= bytes(0.5) && bytes(0.0) < bytes(1.0));
        let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
        let default = recompute_at_first_need(&graph, &partitions.saved(1.0));
        assert_eq!(memory_budget(&instance, peak(&default)).unwrap(), default);
        let half = recompute_at_first_need(&graph, &partitions.saved(0.5));
        let found = memory_budget(&instance, peak(&half)).unwrap();
        assert!(peak(&found) <= peak(&half));
    }

    proptest! {
        #[test]
        fn the_cut_saves_the_least_bytes(instance in training_dag()) {
            let graph = TrainingGraph::new(&instance).unwrap();
            let mut before = u64::MAX;
            for bans in [Bans::Default, Bans::Expensive, Bans::ComputeIntensive, Bans::None] {
                let banned = operators::banned(&graph, bans);
                let saved = minimum_cut_saved(&graph, &banned);
                let bytes = |chosen: &dyn Fn(usize) -> bool| -> u64 {
                    let ids = instance.ids().take(banned.len()).filter(|i| chosen(i.index()));
                    ids.map(|i| instance.node(i).output_bytes).sum()
                };
                prop_assert!(serves(&graph, &banned, |i| saved[i]));
                let least = (0u32..1 << banned.len())
                    .filter(|set| serves(&graph, &banned, |i| set >> i & 1 != 0))
                    .map(|set| bytes(&|i| set >> i & 1 != 0))
                    .min();
                prop_assert_eq!(Some(bytes(&|i| saved[i])), least);
                prop_assert!(bytes(&|i| saved[i]) <= before);
                before = bytes(&|i| saved[i]);
            }
        }

        #[test]
        fn nothing_banned_runs_twice(instance in training_dag()) {
            let graph = TrainingGraph::new(&instance).unwrap();
            let banned = operators::banned(&graph, Bans::Expensive);
            let schedule = minimum_cut(&instance, 0).unwrap();
            for i in 0..instance.len() {
                let times = (0..instance.len()).filter(|&t| schedule.computed.get(t, i)).count();
                let may_rerun = i < banned.len() && !banned[i];
                prop_assert!(times == 1 || times == 2 && may_rerun);
            }
        }
    }
}
