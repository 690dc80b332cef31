//! Synthetic training graphs for the tests of this folder.

use proptest::prelude::*;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};

/// Forward tensors that the backward node of a chain's step reads, besides a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Input,
    Output,
    Both,
}

fn instance(nodes: Vec<Node>) -> Instance {
    Instance::new(InstanceData {
        name: "synthetic".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .unwrap()
}

fn ids(list: &[usize]) -> Vec<NodeId> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list.dedup();
    list.into_iter().map(NodeId::from).collect()
}

/// A chain with a loss: forward nodes `0..l`, the loss `l`, the backward of `i` at `2 l - i`.
pub fn chain(costs: &[u64], bytes: &[u64], reads: &[Reads]) -> Instance {
    let l = costs.len();
    let mut nodes = Vec::new();
    for i in 0..l {
        let needs = if i == 0 { vec![] } else { ids(&[i - 1]) };
        nodes.push(Node::forward(format!("f{i}"), needs, costs[i], bytes[i]));
    }
    nodes.push(Node::loss("loss", ids(&[l - 1]), 1, 1));
    for i in (0..l).rev() {
        let mut needs = vec![2 * l - i - 1];
        if reads[i] != Reads::Output && i > 0 {
            needs.push(i - 1);
        }
        if reads[i] != Reads::Input {
            needs.push(i);
        }
        let gradient_bytes = if i == 0 { 1 } else { bytes[i - 1] };
        nodes.push(Node::backward(
            format!("b{i}"),
            Some(NodeId::from(i)),
            ids(&needs),
            2 * costs[i],
            gradient_bytes,
        ));
    }
    instance(nodes)
}

/// A chain whose costs and sizes are all 1.
pub fn uniform_chain(length: usize, reads: Reads) -> Instance {
    chain(&vec![1; length], &vec![1; length], &vec![reads; length])
}

/// A training graph over a forward graph given by its inputs: nodes without users feed the loss,
/// the backward node of `i` reads the gradients of its users and its inputs. Costs and sizes are 1.
pub fn mirrored(inputs: &[Vec<usize>]) -> Instance {
    training(inputs, |_| (1, 1, 0), |_| (true, false), 0)
}

/// `sizes(k)`: cost, bytes and workspace of node `k`; `reads(i)`: whether the backward of `i` reads
/// inputs and output.
fn training(
    inputs: &[Vec<usize>],
    sizes: impl Fn(usize) -> (u64, u64, i64),
    reads: impl Fn(usize) -> (bool, bool),
    fixed_bytes: u64,
) -> Instance {
    let l = inputs.len();
    let backward = |i: usize| 2 * l - i;
    let users: Vec<Vec<usize>> = (0..l)
        .map(|i| (0..l).filter(|&u| inputs[u].contains(&i)).collect())
        .collect();
    let mut nodes: Vec<Node> = (0..l)
        .map(|i| Node::forward(format!("f{i}"), ids(&inputs[i]), 0, 0))
        .collect();
    let ends: Vec<usize> = (0..l).filter(|&i| users[i].is_empty()).collect();
    nodes.push(Node::loss("loss", ids(&ends), 0, 0));
    for i in (0..l).rev() {
        let mut needs: Vec<usize> = users[i].iter().map(|&u| backward(u)).collect();
        if users[i].is_empty() {
            needs.push(l);
        }
        let (of_inputs, of_output) = reads(i);
        if of_inputs {
            needs.extend(&inputs[i]);
        }
        if of_output {
            needs.push(i);
        }
        nodes.push(Node::backward(
            format!("b{i}"),
            Some(NodeId::from(i)),
            ids(&needs),
            0,
            0,
        ));
    }
    for (k, node) in nodes.iter_mut().enumerate() {
        let (cost, bytes, workspace) = sizes(k);
        node.output_bytes = bytes;
        node.fixed_bytes = fixed_bytes;
        node.implementations[0].cost = cost;
        node.implementations[0].recompute_cost = cost;
        node.implementations[0].workspace_bytes = workspace;
    }
    instance(nodes)
}

const OPS: [&str; 6] = ["conv2d", "relu_", "batch_norm", "addmm", "max_pool2d", ""];

/// Random training graphs of 4 to 12 forward nodes, a loss and a mirrored backward pass.
pub fn training_dag() -> impl Strategy<Value = Instance> {
    (4usize..=12)
        .prop_flat_map(|l| {
            (
                Just(l),
                prop::collection::vec(any::<u8>(), l),
                prop::collection::vec((0u64..20, 0u64..30, 0i64..6), 2 * l + 1),
                prop::collection::vec((any::<bool>(), any::<bool>(), 0usize..6), l),
                0u64..9,
            )
        })
        .prop_map(|(l, picks, sizes, reads, fixed)| {
            // The low bits of a pick choose among the four nodes before; one node in sixteen reads
            // the network's input.
            let inputs: Vec<Vec<usize>> = (0..l)
                .map(|i| {
                    let chosen: Vec<usize> = (1..=4usize.min(i))
                        .filter(|&d| picks[i] >> (d - 1) & 1 != 0)
                        .map(|d| i - d)
                        .collect();
                    if chosen.is_empty() && i > 0 && picks[i] >> 4 != 0 {
                        vec![i - 1]
                    } else {
                        chosen
                    }
                })
                .collect();
            let graph = training(&inputs, |k| sizes[k], |i| (reads[i].0, reads[i].1), fixed);
            let mut data = graph.data().clone();
            for (node, read) in data.nodes.iter_mut().zip(&reads) {
                node.op = OPS[read.2].into();
            }
            Instance::new(data).unwrap()
        })
}

/// Random chains of 1 to 24 forward nodes with mixed costs, sizes and reads.
pub fn any_chain() -> impl Strategy<Value = Instance> {
    prop::collection::vec((1u64..20, 1u64..30, 0u8..3), 1..24).prop_map(|nodes| {
        let costs: Vec<u64> = nodes.iter().map(|v| v.0).collect();
        let bytes: Vec<u64> = nodes.iter().map(|v| v.1).collect();
        let reads: Vec<Reads> = nodes
            .iter()
            .map(|v| [Reads::Input, Reads::Output, Reads::Both][v.2 as usize])
            .collect();
        chain(&costs, &bytes, &reads)
    })
}

/// Random graphs without passes, of 1 to `largest` nodes.
pub fn small_dag(largest: usize) -> impl Strategy<Value = Instance> {
    prop::collection::vec((any::<u16>(), 0u64..9, 0u64..9), 1..=largest).prop_map(|nodes| {
        let list = nodes
            .iter()
            .enumerate()
            .map(|(i, &(picks, cost, bytes))| {
                let needs: Vec<usize> = (0..i).filter(|j| picks >> j & 1 != 0).collect();
                Node::forward(format!("v{i}"), ids(&needs), cost, bytes)
            })
            .collect();
        instance(list)
    })
}

/// A deep network with residual blocks of three nodes, `2 * forward + 1` nodes in all, of uneven
/// costs and sizes.
pub fn residual(forward: usize) -> Instance {
    let inputs: Vec<Vec<usize>> = (0..forward)
        .map(|i| match i {
            0 => vec![],
            i if i % 3 == 0 => vec![i - 3, i - 1],
            i => vec![i - 1],
        })
        .collect();
    let graph = training(
        &inputs,
        |k| {
            (
                1 + (k as u64 * 37) % 23,
                (1 + (k as u64 * 61) % 17) << 20,
                1 << 18,
            )
        },
        |i| (i % 3 != 0, i % 3 == 2),
        1 << 24,
    );
    let mut data = graph.data().clone();
    for (i, node) in data.nodes.iter_mut().enumerate() {
        if node.kind == NodeKind::Forward {
            node.op = ["add_", "_convolution", "relu_"][i % 3].into();
        }
    }
    Instance::new(data).unwrap()
}

/// A layered graph without passes, `layers * width` nodes and one that reads the last layer: each
/// node reads one of the layer before, one of a few layers before that, and one from anywhere.
pub fn layered(layers: usize, width: usize, seed: u64) -> Instance {
    let mut random = remat_lp::random::Xoshiro256::new(seed, 0);
    let mut below = |n: usize| random.below(n as u32) as usize;
    let mut list = Vec::new();
    for k in 0..layers * width {
        let first = k / width * width;
        let mut needs = Vec::new();
        if first > 0 {
            needs.push(first - width + below(width));
            needs.push(first - 1 - below(first.min(4 * width)));
            needs.push(below(first));
        }
        needs.sort_unstable();
        needs.dedup();
        let (cost, bytes) = (1 + below(999) as u64, 1 + below(4999) as u64);
        list.push(Node::forward(format!("v{k}"), ids(&needs), cost, bytes));
    }
    let last: Vec<usize> = ((layers - 1) * width..layers * width).collect();
    list.push(Node::forward("last".to_owned(), ids(&last), 1, 1));
    instance(list)
}
