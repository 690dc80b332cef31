//! Random layered graphs: general graphs like those in compilers, without a backward pass.
//!
//! Gagrani et al., "Neural topological ordering for computation graphs", NeurIPS 2022, appendix A,
//! draw such graphs; Bartan et al., "Moccasin", ICML 2023, plan them. Numbers of layers and edges,
//! costs and sizes roughly match the graphs published with the latter.

use super::{ModelBuild, ZooModel};
use crate::instance::{Instance, Node, NodeId};
use crate::zoo::random::Draw;
use crate::zoo::spec::integer;
use crate::zoo::training::finish;
use crate::zoo::{ModelSpec, ZooError};

pub(super) const RANDOM_LAYERED: ZooModel = ZooModel {
    name: "random_layered",
    description: "random layers of nodes, edges from layer to layer and some beyond (Gagrani et al., NeurIPS 2022), in a random order",
    own: &[
        integer("n", [3, 1_000_000], "500", "number of nodes"),
        integer("seed", [0, 1 << 40], "1", "which graph is drawn"),
        integer(
            "density",
            [0, 100],
            "25",
            "percent of the pairs of neighbouring layers that are edges",
        ),
        integer(
            "skips",
            [0, 1000],
            "16",
            "edges beyond the next layer, in percent of the others",
        ),
    ],
    defaults: &[],
    builder: ModelBuild::Graph(random_layered),
};

/// Means and standard deviations of sizes; each node draws one of the pairs.
const SIZES: [[u64; 2]; 4] = [[500, 250], [1_000, 300], [2_500, 500], [4_500, 1_000]];
/// Unit of these sizes.
const SIZE_UNIT: u64 = 10;
/// Upper limit of costs.
const COSTS: u64 = 1_000;

/// One node, several layers of random width, one node. Every node has an input in the previous
/// layer and a reader in the next.
fn random_layered(spec: &ModelSpec) -> Result<Instance, ZooError> {
    let [n, seed, density, skips] =
        ["n", "seed", "density", "skips"].map(|name| spec.integer(name));
    let mut draw = Draw::new(seed);
    let layers = layers(n as usize, &mut draw);
    let mut inputs = vec![Vec::new(); n as usize];
    for (l, pair) in layers.windows(2).enumerate() {
        let [before, layer] = [&pair[0], &pair[1]];
        let mut edges = Vec::new();
        for &to in layer {
            let has = edges.len();
            edges.extend(
                before
                    .iter()
                    .filter(|_| draw.percent(density))
                    .map(|&from| (from, to)),
            );
            if edges.len() == has {
                edges.push((one_of(before, &mut draw), to));
            }
        }
        let mut read = vec![false; before.len()];
        for (from, _) in &edges {
            read[from - before[0]] = true;
        }
        for (&from, _) in before.iter().zip(&read).filter(|(_, read)| !**read) {
            edges.push((from, one_of(layer, &mut draw)));
        }
        let beyond = if l > 0 {
            edges.len() as u64 * skips / 100
        } else {
            0
        };
        for _ in 0..beyond {
            let from = one_of(&layers[draw.below(l as u64) as usize], &mut draw);
            edges.push((from, one_of(layer, &mut draw)));
        }
        for (from, to) in edges {
            inputs[to].push(from);
        }
    }
    let nodes = in_random_order(&mut inputs, &mut draw);
    finish(&spec.to_string(), None, nodes)
}

/// Numbers of the nodes of each layer. There are about one and a half times as many layers as nodes
/// in the widest one.
fn layers(n: usize, draw: &mut Draw) -> Vec<Vec<usize>> {
    let root = (n as u64).isqrt();
    let mut layers = vec![vec![0]];
    let mut next = 1;
    while next < n - 1 {
        let width = draw.between(root.div_ceil(5), root + root / 10) as usize;
        let end = (next + width).min(n - 1);
        layers.push((next..end).collect());
        next = end;
    }
    layers.push(vec![n - 1]);
    layers
}

fn one_of(layer: &[usize], draw: &mut Draw) -> usize {
    layer[draw.below(layer.len() as u64) as usize]
}

/// The nodes in a random topological order.
fn in_random_order(inputs: &mut [Vec<usize>], draw: &mut Draw) -> Vec<Node> {
    let mut readers = vec![Vec::new(); inputs.len()];
    for (to, of) in inputs.iter_mut().enumerate() {
        of.sort_unstable();
        of.dedup();
        for from in of.iter() {
            readers[*from].push(to);
        }
    }
    let mut missing: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut ready = vec![0];
    let mut place = vec![NodeId::from(0); inputs.len()];
    let mut nodes = Vec::with_capacity(inputs.len());
    while !ready.is_empty() {
        let node = ready.swap_remove(draw.below(ready.len() as u64) as usize);
        place[node] = NodeId::from(nodes.len());
        let mut needs: Vec<NodeId> = inputs[node].iter().map(|from| place[*from]).collect();
        needs.sort_unstable();
        let [mean, deviation] = SIZES[draw.below(SIZES.len() as u64) as usize];
        let bytes = draw.about(mean, deviation) / SIZE_UNIT * SIZE_UNIT;
        nodes.push(Node {
            op: "random".into(),
            ..Node::forward(
                format!("node{}", nodes.len()),
                needs,
                draw.below(COSTS),
                bytes,
            )
        });
        for &reader in &readers[node] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                ready.push(reader);
            }
        }
    }
    nodes
}
