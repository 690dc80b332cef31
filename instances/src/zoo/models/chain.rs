//! A linear chain, the graph studied in theory (Griewank and Walther, TOMS 2000; Chen et al., 2016;
//! Jain et al., 2020).

use super::{ModelBuild, ZooModel};
use crate::instance::{Instance, Node, NodeId};
use crate::zoo::spec::integer;
use crate::zoo::training::finish;
use crate::zoo::{ModelSpec, ZooError};

pub(super) const CHAIN: ZooModel = ZooModel {
    name: "chain",
    description: "linear chain of n equal layers, a loss, and their n backward nodes",
    own: &[
        integer("n", [1, 1_000_000], "1000", "number of layers"),
        integer("bytes", [0, 1 << 40], "1048576", "bytes of each output"),
        integer("cost", [0, 1 << 40], "100000", "cost of a layer in ns"),
        integer(
            "backward_cost",
            [0, 1 << 40],
            "200000",
            "cost of a layer's backward node in ns",
        ),
    ],
    defaults: &[],
    builder: ModelBuild::Graph(chain),
};

/// Layers 0..n, the loss with cost 0, then for each layer, in reverse, a node that reads the
/// layer's input and the gradient from the next layer. The last node computes only parameter
/// gradients, so its output is empty. There is no fixed memory.
fn chain(spec: &ModelSpec) -> Result<Instance, ZooError> {
    let n = spec.integer("n") as usize;
    let [bytes, cost, backward_cost] =
        ["bytes", "cost", "backward_cost"].map(|name| spec.integer(name));
    let mut nodes = Vec::with_capacity(2 * n + 1);
    for i in 0..n {
        let needs = i.checked_sub(1).map(NodeId::from).into_iter().collect();
        nodes.push(Node {
            op: "layer".into(),
            ..Node::forward(format!("layer{i}"), needs, cost, bytes)
        });
    }
    nodes.push(Node::loss("loss", vec![NodeId::from(n - 1)], 0, bytes));
    for i in (0..n).rev() {
        let input = i.checked_sub(1).map(NodeId::from);
        let gradient = NodeId::from(nodes.len() - 1);
        nodes.push(Node {
            op: "layer_backward".into(),
            ..Node::backward(
                format!("layer{i}.grad"),
                Some(NodeId::from(i)),
                input.into_iter().chain([gradient]).collect(),
                backward_cost,
                if i > 0 { bytes } else { 0 },
            )
        });
    }
    finish(&spec.to_string(), None, nodes)
}
