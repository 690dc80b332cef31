//! Small graphs with a link to the host: random cases, and judges of their optimum.
//!
//! | module | concept |
//! |---|---|
//! | `machine` | statements about computations and copies, from their definition alone |
//! | `runs` | [`least_makespan`] over all runs; [`is_beaten`] with fronts of clocks |

mod machine;
mod runs;

pub use runs::{TooMany, is_beaten, least_makespan};

use crate::graphs::{self, Numbers};
use crate::monet::{self, Mode};
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
use remat_instances::instance::{
    CostUnit, Duplex, HostLink, Instance, InstanceData, Node, NodeId, NodeKind,
};

/// A graph with a link and a budget.
#[derive(Clone, Debug)]
pub struct LinkedCase {
    /// The graph, with its link; costs are in nanoseconds.
    pub instance: Instance,
    /// Memory of the device in bytes, the fixed part included.
    pub budget_bytes: u64,
    /// True if nodes may run again.
    pub recompute: bool,
    /// True if copies to the host end before the loss and copies back begin after it.
    pub by_loss: bool,
    /// True if MONeT's semantics hold, with all ways to run a node.
    pub is_monet: bool,
}

impl LinkedCase {
    /// A random case of three to `nodes` nodes, mostly of nearly `nodes`.
    pub fn random(seed: u64, nodes: usize) -> Self {
        let mut numbers = Numbers::new(seed);
        let is_training = numbers.below(2) == 0;
        let graph = match is_training {
            true => {
                let forward = (nodes as u64 - 1) / 2;
                let fewer = numbers.below(2).min(forward.saturating_sub(1));
                graphs::training((forward - fewer) as usize, &mut numbers)
            }
            false => {
                let fewer = numbers.below(3).min(nodes as u64 - 3);
                graphs::general(nodes - fewer as usize, &mut numbers)
            }
        };
        let graph = match numbers.below(3) {
            0 => graphs::with_unlike_runs(&graph, &mut numbers),
            _ => graph,
        };
        let rate = |numbers: &mut Numbers| [1, 1, 2, 3][numbers.below(4) as usize] * 1_000_000_000;
        let to_host = rate(&mut numbers);
        let link = HostLink {
            latency_ns: [0, 0, 0, 2, 5][numbers.below(5) as usize],
            duplex: [Duplex::Full, Duplex::Half][usize::from(numbers.below(3) == 0)],
            host_memory_bytes: (numbers.below(4) == 0).then(|| numbers.below(40)),
            ..HostLink::new(
                to_host,
                [to_host, rate(&mut numbers)][numbers.below(2) as usize],
            )
        };
        let mut data = InstanceData {
            cost_unit: CostUnit::nanoseconds(),
            host_link: Some(link),
            ..graph.data().clone()
        };
        let fixed = numbers.below(3);
        let is_even = numbers.below(3) > 0;
        for (i, node) in data.nodes.iter_mut().enumerate() {
            // Equal sizes and few inputs from far back leave many tensors that pass over nodes.
            if is_even {
                node.output_bytes = 5 + numbers.below(8);
                let needs = &mut node.implementations[0].needs;
                let far = NodeId::from(numbers.below(1 + i as u64 / 2) as usize);
                if i > 2 && needs.len() < 2 && !needs.contains(&far) {
                    needs.push(far);
                    needs.sort_unstable();
                }
            }
            node.fixed_bytes = fixed;
            node.stays = numbers.below(8) == 0;
            if numbers.below(12) == 0 {
                node.output_bytes = 0;
            }
        }
        let instance = Instance::new(data).expect("inputs come before");
        let bytes = |i: usize| instance.nodes()[i].output_bytes;
        let needed = instance.nodes().iter().enumerate().map(|(i, node)| {
            let inputs = node.needs().iter().map(|d| bytes(d.index()));
            inputs.sum::<u64>() + bytes(i) + node.workspace_bytes()
        });
        let least = needed.max().unwrap_or(0) + fixed;
        let all = (0..instance.len()).map(bytes).sum::<u64>();
        // One byte less than a single computation needs, now and then.
        let more = numbers.below(2 + all / 7);
        LinkedCase {
            budget_bytes: (least + more).saturating_sub(1),
            recompute: numbers.below(4) > 0,
            by_loss: is_training && numbers.below(3) == 0,
            is_monet: false,
            instance,
        }
    }

    /// A random case with one to three gathered weights, and with some scattered gradients. Other
    /// tensors are copied to the host in one case of three.
    pub fn random_sharded(seed: u64, nodes: usize) -> Self {
        let mut case = LinkedCase::random(seed, nodes);
        let mut numbers = Numbers::new(seed ^ 0x4653_4450);
        let weights = 1 + numbers.below(3) as usize;
        let copies = numbers.below(3) == 0;
        let mut data = case.instance.data().clone();
        let n = data.nodes.len();
        let old = std::mem::take(&mut data.nodes);
        for k in 0..weights {
            let bytes = 2 + numbers.below(7);
            data.nodes.push(Node {
                gather_bytes: Some(bytes - numbers.below(2)),
                fixed_bytes: old[0].fixed_bytes,
                ..Node::forward(format!("w{k}"), Vec::new(), 0, bytes)
            });
        }
        for mut node in old {
            node.passing.clear();
            node.stays |= !copies;
            let last = node.output_bytes;
            let is_leaf = node.parent().is_none() && node.in_place.is_none();
            if is_leaf && numbers.below(4) == 0 {
                node.scatter_bytes = Some(last);
            }
            shift(&mut node, weights);
            data.nodes.push(node);
        }
        // Each weight has a reader, and often one far behind it.
        for k in 0..weights {
            let first = numbers.below(n as u64) as usize;
            for reader in [first, first + numbers.below((n - first) as u64) as usize] {
                let node = &mut data.nodes[weights + reader];
                for way in &mut node.implementations {
                    way.needs.push(NodeId::from(k));
                    way.needs.sort_unstable();
                    way.needs.dedup();
                }
            }
        }
        case.instance = Instance::new(data).expect("weights come first");
        let (graph, _) = case.instance.computations();
        let least = remat_formulations::bound::smallest_budget(&graph).needed_bytes;
        let all: u64 = (case.instance.nodes().iter()).map(|v| v.output_bytes).sum();
        case.budget_bytes = (least + numbers.below(2 + all / 5)).saturating_sub(1);
        case
    }

    /// A random case under MONeT's semantics, with `forward` operators, in any of its modes.
    pub fn random_monet(seed: u64, forward: usize) -> Self {
        let mut numbers = Numbers::new(seed ^ 0x4d6f_4e65);
        let mode = Mode::all().nth(numbers.below(16) as usize);
        let mode = mode.expect("there are sixteen");
        let graph = monet::training(forward, mode, &mut numbers);
        let rate = [1, 1, 2, 3][numbers.below(4) as usize] * 1_000_000_000;
        let link = HostLink {
            latency_ns: [0, 0, 0, 2][numbers.below(4) as usize],
            duplex: [Duplex::Full, Duplex::Half][usize::from(numbers.below(4) == 0)],
            host_memory_bytes: (numbers.below(4) == 0).then(|| numbers.below(40)),
            ..HostLink::new(rate, rate)
        };
        let mut data = InstanceData {
            cost_unit: CostUnit::nanoseconds(),
            host_link: Some(link),
            ..graph.data().clone()
        };
        let is_even = numbers.below(3) > 0;
        let is_fixed_any = numbers.below(3) == 0;
        for node in &mut data.nodes {
            node.stays = numbers.below(10) == 0;
            if is_fixed_any {
                node.fixed_bytes = numbers.below(5);
            }
            // Equal sizes leave many tensors that pass over nodes; gradients are small.
            if is_even && node.parent().is_none() {
                let least = if node.is_backward() { 1 } else { 8 };
                node.output_bytes = least + numbers.below(6);
            }
        }
        for i in 0..data.nodes.len() {
            let over = data.nodes[i].in_place.as_ref().map(|option| option.on);
            let bytes = over.map(|on| data.nodes[on.index()].output_bytes as i64);
            if let (Some(option), Some(bytes)) = (&mut data.nodes[i].in_place, bytes) {
                option.workspace_bytes = numbers.below(3) as i64 - bytes;
            }
        }
        let instance = Instance::new(data).expect("as the graph");
        let least = |node: &Node| {
            let bytes = |id: &NodeId| instance.node(*id).output_bytes as i64;
            let ways = node.implementations.iter();
            let ways = ways.map(|w| w.needs.iter().map(bytes).sum::<i64>() + w.workspace_bytes);
            ways.min().unwrap_or(0) + (node.output_bytes + node.fixed_bytes) as i64
        };
        let least = instance.nodes().iter().map(least).max().unwrap_or(0);
        let all: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        LinkedCase {
            budget_bytes: least.max(0) as u64 + numbers.below(2 + all / 8),
            recompute: true,
            by_loss: numbers.below(4) == 0,
            is_monet: true,
            instance,
        }
    }

    /// The same with another link.
    pub fn with_link(&self, link: HostLink) -> Self {
        let instance = self.instance.with_host_link(Some(link));
        LinkedCase {
            instance: instance.expect("a small link"),
            ..self.clone()
        }
    }

    /// Times of copies.
    pub fn copies(&self) -> CopyPhase {
        match self.by_loss {
            true => CopyPhase::Loss,
            false => CopyPhase::Any,
        }
    }

    /// The least makespan by the exact search; `None` if no plan fits.
    pub fn optimum(&self) -> Option<u64> {
        let settings = ExactSettings {
            copies: self.copies(),
            recompute: self.recompute,
            ..ExactSettings::default()
        };
        let search = ExactSearch::new(&self.instance, self.budget_bytes).settings(settings);
        match search.run().expect("a link and a unit of time") {
            ExactOutcome::Optimal { plan, .. } => Some(plan.replay.makespan),
            ExactOutcome::Infeasible { .. } => None,
            other => panic!("{other:?}"),
        }
    }

    /// The link.
    pub fn link(&self) -> HostLink {
        self.instance.host_link().cloned().unwrap_or_default()
    }
}

/// Moves the references of a node by a number of nodes.
fn shift(node: &mut Node, by: usize) {
    let moved = |id: &mut NodeId| *id = NodeId::from(id.index() + by);
    for way in &mut node.implementations {
        way.needs.iter_mut().for_each(moved);
    }
    match &mut node.kind {
        NodeKind::ByProduct { parent } => moved(parent),
        NodeKind::Backward {
            forward: Some(forward),
            ..
        } => moved(forward),
        _ => {}
    }
}
