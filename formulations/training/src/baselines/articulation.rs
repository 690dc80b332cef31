//! Chen's heuristics on any graph, with articulation points as the candidates (Checkmate, section
//! 5.1.1).
//!
//! An articulation point is a node whose removal disconnects the undirected forward graph: all
//! nodes after it are reconstructed from it alone. That graph has two more vertices. One is the
//! network's input, which is no node of the instance but always in memory, and which every node
//! without inputs reads. The other one stands for the nodes behind the loss. With both, every node
//! of a chain is an articulation point, and the heuristics reproduce Chen's on chains.

use super::training::TrainingGraph;
use super::{NotApplicable, segments};
use petgraph::algo::articulation_points::articulation_points;
use petgraph::graph::{NodeIndex, UnGraph};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_search::Patience;

/// AP sqrt(n): every `sqrt(n)`-th of the `n` articulation points is a checkpoint. Ignores the
/// budget.
///
/// # Errors
/// [`NotApplicable`] without a backward pass.
pub fn square_root(
    instance: &Instance,
    _budget_bytes: u64,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    let checkpoints = segments::square_root(&graph, &candidates(&graph));
    Ok(segments::schedule(&graph, &checkpoints))
}

/// AP greedy: segments of about equal memory that end at articulation points, searched over the
/// segment size.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, or if the time ends before the first schedule.
pub fn greedy(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    segments::best_greedy(&graph, &candidates(&graph), budget_bytes, patience)
}

/// The forward nodes that are articulation points, ascending, without by-products and the loss.
pub fn candidates(graph: &TrainingGraph<'_>) -> Vec<NodeId> {
    let cuts = articulation_points(&data_flow(graph));
    graph
        .activations()
        .iter()
        .copied()
        .filter(|v| cuts.contains(&NodeIndex::new(v.index())))
        .collect()
}

/// Data flow of the forward pass as an undirected graph, by-products left out. Vertices: the nodes
/// before the backward pass, the network's input, and one vertex for the nodes behind the pass.
fn data_flow(graph: &TrainingGraph<'_>) -> UnGraph<(), ()> {
    let instance = graph.instance();
    let start = graph.backward_start();
    let mut member = vec![false; start];
    for id in graph.activations().iter().copied().chain(instance.loss()) {
        member[id.index()] = true;
    }
    let (input, output) = (start as u32, start as u32 + 1);
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for i in (0..start).filter(|&i| member[i]) {
        let before = edges.len();
        for need in instance.needs(NodeId::from(i)) {
            if member[need.index()] {
                edges.push((need.0, i as u32));
            }
        }
        if edges.len() == before {
            edges.push((input, i as u32));
        }
    }
    if let Some(end) = instance.loss().or(graph.activations().last().copied()) {
        edges.push((end.0, output));
    }
    UnGraph::from_edges(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::{chen, fixtures, linearised};
    use petgraph::algo::connected_components;
    use proptest::prelude::*;

    #[test]
    fn residual_block_has_its_ends_as_candidates_and_not_its_inside() {
        // 0 -> 1 -> 2 -> 3 with the skip 0 -> 3, then 4.
        let instance = fixtures::mirrored(&[vec![], vec![0], vec![1], vec![0, 2], vec![3]]);
        let graph = TrainingGraph::new(&instance).unwrap();
        let found: Vec<u32> = candidates(&graph).iter().map(|v| v.0).collect();
        assert_eq!(found, [0, 3, 4]);
    }

    proptest! {
        #[test]
        fn candidates_are_the_activations_whose_removal_disconnects(
            instance in fixtures::training_dag(),
        ) {
            let graph = TrainingGraph::new(&instance).unwrap();
            let flow = data_flow(&graph);
            let whole = connected_components(&flow);
            let found = candidates(&graph);
            for &id in graph.activations() {
                // The node's edges go and it stays, as a component of its own.
                let mut without = flow.clone();
                without.retain_edges(|g, e| {
                    let (a, b) = g.edge_endpoints(e).unwrap();
                    a.index() != id.index() && b.index() != id.index()
                });
                let more = connected_components(&without) > whole + 1;
                prop_assert_eq!(found.contains(&id), more, "node {}", id.0);
            }
        }

        #[test]
        fn generalisations_reproduce_chen_on_chains(
            instance in fixtures::any_chain(),
            percent in 30u64..110,
        ) {
            let all = remat_instances::simulate::checkmate(
                &instance,
                &CheckmateSchedule::checkpoint_all(&instance),
            ).unwrap();
            let budget = all.peak_bytes * percent / 100;
            let square = chen::square_root(&instance, budget).unwrap();
            prop_assert_eq!(&square_root(&instance, budget).unwrap(), &square);
            prop_assert_eq!(&linearised::square_root(&instance, budget).unwrap(), &square);
            let best = chen::greedy(&instance, budget, Patience::ENDLESS).unwrap();
            prop_assert_eq!(&greedy(&instance, budget, Patience::ENDLESS).unwrap(), &best);
            prop_assert_eq!(&linearised::greedy(&instance, budget, Patience::ENDLESS).unwrap(), &best);
        }
    }
}
