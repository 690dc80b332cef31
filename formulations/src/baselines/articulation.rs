//! Chen's heuristics on any graph, with articulation points as the candidates (Checkmate, section 5.1.1).
//!
//! An articulation point is a node whose removal disconnects the undirected forward graph: what comes after it is
//! reconstructed from it alone. The network's input, which is no node of the instance but always in memory, is a vertex
//! of that graph, read by every node without inputs; so is what follows the loss. With both, every node of a chain is
//! an articulation point, and the heuristics reproduce Chen's on chains.

use super::training::TrainingGraph;
use super::{NotApplicable, segments};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;

/// AP sqrt(n): every `sqrt(n)`-th of the `n` articulation points is a checkpoint. Ignores the budget.
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

/// AP greedy: segments of about equal memory that end at articulation points, searched over the segment size.
///
/// # Errors
/// [`NotApplicable`] without a backward pass.
pub fn greedy(instance: &Instance, budget_bytes: u64) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    Ok(segments::best_greedy(
        &graph,
        &candidates(&graph),
        budget_bytes,
    ))
}

/// The forward nodes that are articulation points, ascending. By-products and the loss are none.
pub fn candidates(graph: &TrainingGraph<'_>) -> Vec<NodeId> {
    let instance = graph.instance();
    let start = graph.backward_start();
    let mut member = vec![false; start];
    for id in graph.activations().iter().copied().chain(instance.loss()) {
        member[id.index()] = true;
    }
    // Vertices: the nodes before the backward pass, the network's input, and what follows the end of the pass.
    let (input, output) = (start as u32, start as u32 + 1);
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); start + 2];
    let mut join = |a: u32, b: u32| {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    };
    for i in (0..start).filter(|&i| member[i]) {
        let mut reads_a_member = false;
        for need in instance.needs(NodeId::from(i)) {
            if member[need.index()] {
                join(need.0, i as u32);
                reads_a_member = true;
            }
        }
        if !reads_a_member {
            join(input, i as u32);
        }
    }
    if let Some(end) = instance.loss().or(graph.activations().last().copied()) {
        join(end.0, output);
    }
    let is_cut = articulation_points(&neighbours);
    graph
        .activations()
        .iter()
        .copied()
        .filter(|v| is_cut[v.index()])
        .collect()
}

/// Which vertices of an undirected graph disconnect their component when removed.
///
/// `neighbours[v]` lists the neighbours of `v`; parallel edges and loops change nothing. Tarjan's low-link values
/// (Hopcroft and Tarjan, 1973) with an explicit stack, in time linear in vertices and edges.
pub fn articulation_points(neighbours: &[Vec<u32>]) -> Vec<bool> {
    const UNSEEN: u32 = u32::MAX;
    let n = neighbours.len();
    let mut is_cut = vec![false; n];
    let mut order = vec![UNSEEN; n];
    let mut low = vec![UNSEEN; n];
    let mut time = 0;
    // Vertex and position in its list of neighbours.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        let mut root_children = 0;
        (order[root], low[root]) = (time, time);
        time += 1;
        path.push((root, 0));
        while let Some((v, at)) = path.last_mut() {
            let v = *v;
            if let Some(&u) = neighbours[v].get(*at) {
                *at += 1;
                let u = u as usize;
                if order[u] == UNSEEN {
                    (order[u], low[u]) = (time, time);
                    time += 1;
                    path.push((u, 0));
                } else {
                    // The edge to the parent may count: low[v] then is order[parent], which is no less than needed.
                    low[v] = low[v].min(order[u]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[v]);
                if parent == root {
                    root_children += 1;
                } else if low[v] >= order[parent] {
                    is_cut[parent] = true;
                }
            }
        }
        is_cut[root] = root_children > 1;
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::{chen, fixtures, linearised};
    use proptest::prelude::*;

    fn components(neighbours: &[Vec<u32>], without: Option<usize>) -> usize {
        let mut seen = vec![false; neighbours.len()];
        if let Some(v) = without {
            seen[v] = true;
        }
        let mut count = 0;
        for root in 0..neighbours.len() {
            if seen[root] {
                continue;
            }
            count += 1;
            seen[root] = true;
            let mut open = vec![root];
            while let Some(v) = open.pop() {
                for &u in &neighbours[v] {
                    if !std::mem::replace(&mut seen[u as usize], true) {
                        open.push(u as usize);
                    }
                }
            }
        }
        count
    }

    #[test]
    fn long_paths_do_not_overflow_the_stack() {
        let n = 200_000u32;
        let mut neighbours = vec![Vec::new(); n as usize];
        for v in 1..n {
            neighbours[v as usize].push(v - 1);
            neighbours[v as usize - 1].push(v);
        }
        let is_cut = articulation_points(&neighbours);
        assert!(!is_cut[0] && !is_cut[n as usize - 1]);
        assert_eq!(is_cut.iter().filter(|&&c| c).count(), n as usize - 2);
    }

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
        fn articulation_points_are_those_whose_removal_disconnects(
            n in 1usize..14,
            edges in prop::collection::vec((any::<u8>(), any::<u8>()), 0..24),
        ) {
            let mut neighbours = vec![Vec::new(); n];
            for (a, b) in edges {
                let (a, b) = (a as usize % n, b as usize % n);
                neighbours[a].push(b as u32);
                neighbours[b].push(a as u32);
            }
            let found = articulation_points(&neighbours);
            let whole = components(&neighbours, None);
            for (v, &is_cut) in found.iter().enumerate() {
                prop_assert_eq!(is_cut, components(&neighbours, Some(v)) > whole, "vertex {}", v);
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
            let best = chen::greedy(&instance, budget).unwrap();
            prop_assert_eq!(&greedy(&instance, budget).unwrap(), &best);
            prop_assert_eq!(&linearised::greedy(&instance, budget).unwrap(), &best);
        }
    }
}
