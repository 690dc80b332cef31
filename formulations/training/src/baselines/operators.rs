//! Forward operators that are recomputed, by the rules of PyTorch's partitioner
//! (`should_ban_recomputation`).
//!
//! torch.compile recomputes pointwise operators, views and operators that it decomposes into them
//! (normalisations, softmax, dropout, concatenation), because a fused kernel reads its inputs
//! anyway. Further operators are spared at some levels only: see [`Bans`]. Its heuristics about
//! kernels that an instance does not have (chains that fuse too long, values used far apart) are
//! left out.

use super::training::TrainingGraph;
use remat_instances::instance::{NodeId, NodeKind};

/// Nodes that are never recomputed, from the most to the least. Each level contains the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bans {
    /// PyTorch's default: all that [`Bans::Expensive`] bans, and tensors read by a backward
    /// operator that is not pointwise. These must be in memory there in full, so that a
    /// recomputation is not fused away.
    Default,
    /// All operators that are not pointwise, and reductions: operators whose output has less than a
    /// quarter of their inputs' bytes.
    Expensive,
    /// Compute-intensive operators and reductions only.
    ComputeIntensive,
    /// Only the loss, by-products and nodes that are computed once, which every level bans.
    None,
}

/// Class of an operator in PyTorch's partitioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorClass {
    /// Pointwise operators, views, and operators that decompose into them.
    Pointwise,
    /// Matrix products, convolutions, attention, recurrent cells.
    ComputeIntensive,
    /// Known, but in neither list: never recomputed by default.
    Other,
}

const COMPUTE_INTENSIVE: [&str; 10] = [
    "conv",
    "matmul",
    "linear",
    "dense",
    "attention",
    "einsum",
    "lstm",
    "gru",
    "rnn",
    "upsample",
];
const DECOMPOSED: [&str; 8] = [
    "norm", "softmax", "dropout", "relu", "gelu", "sigmoid", "swish", "convert",
];
const POINTWISE: [&str; 64] = [
    "abs",
    "activation",
    "add",
    "alias",
    "bias_add",
    "broadcast",
    "cast",
    "cat",
    "ceil",
    "clamp",
    "clone",
    "concat",
    "concatenate",
    "contiguous",
    "cos",
    "div",
    "elu",
    "erf",
    "exp",
    "expand",
    "flatten",
    "floor",
    "hardtanh",
    "identity",
    "log",
    "maximum",
    "minimum",
    "mish",
    "mul",
    "multiply",
    "mean",
    "neg",
    "pad",
    "permute",
    "pow",
    "reciprocal",
    "relu6",
    "reshape",
    "round",
    "rsqrt",
    "scale",
    "select",
    "silu",
    "sin",
    "slice",
    "softplus",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sub",
    "subtract",
    "sum",
    "t",
    "tanh",
    "to",
    "transpose",
    "truncate",
    "unsqueeze",
    "view",
    "where",
    "zeropad2d",
    "zero_padding2d",
];
const OTHER: [&str; 6] = ["pool", "embedding", "sort", "topk", "gather", "scatter"];

/// The class of an operator by its name, in the spelling of ATen, PyTorch or Keras; `None` if the
/// name is unknown or empty. A backward operator (`_bwd`, `_backward`) has the class of its forward
/// twin.
///
/// ```
/// use remat_formulations::baselines::operators::{OperatorClass, class};
/// assert_eq!(class("aten::relu_"), Some(OperatorClass::Pointwise));
/// assert_eq!(class("_convolution"), Some(OperatorClass::ComputeIntensive));
/// assert_eq!(class("max_pool2d"), Some(OperatorClass::Other));
/// assert_eq!(class("frobnicate"), None);
/// ```
pub fn class(op: &str) -> Option<OperatorClass> {
    let lower = op.to_ascii_lowercase();
    let plain = lower.rsplit("::").next().unwrap_or(&lower);
    let plain = plain.strip_prefix("aten.").unwrap_or(plain);
    let plain = plain.split('.').next().unwrap_or(plain);
    let plain = plain
        .strip_suffix("_bwd")
        .or_else(|| plain.strip_suffix("_backward"))
        .unwrap_or(plain)
        .trim_matches('_');
    if POINTWISE.contains(&plain) || DECOMPOSED.iter().any(|part| plain.contains(part)) {
        Some(OperatorClass::Pointwise)
    } else if plain.ends_with("mm") || COMPUTE_INTENSIVE.iter().any(|part| plain.contains(part)) {
        Some(OperatorClass::ComputeIntensive)
    } else if OTHER.iter().any(|part| plain.contains(part)) {
        Some(OperatorClass::Other)
    } else {
        None
    }
}

/// Marks the nodes before the backward pass that are never recomputed at a level of [`Bans`].
///
/// Nodes are banned by class of operator. An operator of unknown name is classified by its cost for
/// each byte that it reads or writes. It counts as pointwise below half of the average over the
/// forward pass, else as compute-intensive. Length: [`TrainingGraph::backward_start`].
pub fn banned(graph: &TrainingGraph<'_>, bans: Bans) -> Vec<bool> {
    let instance = graph.instance();
    let mut banned = vec![true; graph.backward_start()];
    let classes = classes(graph);
    let is_pointwise = |id: NodeId| classes[id.index()] == OperatorClass::Pointwise;
    for &id in graph.activations() {
        let node = instance.node(id);
        let reduction = bytes_read(graph, id) > 4 * node.output_bytes;
        let materialised = || {
            let users = graph.backward_users(id).iter();
            users.copied().any(|user| {
                let reader = instance.node(user);
                match (class(&reader.op), reader.kind) {
                    (Some(class), _) => class != OperatorClass::Pointwise,
                    (
                        None,
                        NodeKind::Backward {
                            forward: Some(twin),
                            ..
                        },
                    ) if twin.index() < classes.len() => !is_pointwise(twin),
                    _ => true,
                }
            })
        };
        if !instance.may_recompute(id) {
            continue;
        }
        banned[id.index()] = match bans {
            Bans::Default => reduction || !is_pointwise(id) || materialised(),
            Bans::Expensive => reduction || !is_pointwise(id),
            Bans::ComputeIntensive => {
                reduction || classes[id.index()] == OperatorClass::ComputeIntensive
            }
            Bans::None => false,
        };
    }
    banned
}

/// The class of every node before the backward pass; [`OperatorClass::Other`] for the loss and
/// by-products.
fn classes(graph: &TrainingGraph<'_>) -> Vec<OperatorClass> {
    let instance = graph.instance();
    let moved = |id: NodeId| (bytes_read(graph, id) + instance.node(id).output_bytes) as u128;
    let all_moved: u128 = graph.activations().iter().map(|&i| moved(i)).sum();
    let all_cost: u128 = graph
        .activations()
        .iter()
        .map(|&i| instance.node(i).cost() as u128)
        .sum();
    let mut classes = vec![OperatorClass::Other; graph.backward_start()];
    for &id in graph.activations() {
        let node = instance.node(id);
        classes[id.index()] = class(&node.op).unwrap_or({
            if 2 * node.cost() as u128 * all_moved < all_cost * moved(id) {
                OperatorClass::Pointwise
            } else {
                OperatorClass::ComputeIntensive
            }
        });
    }
    classes
}

fn bytes_read(graph: &TrainingGraph<'_>, id: NodeId) -> u64 {
    let instance = graph.instance();
    let needs = instance.needs(id).iter();
    needs.map(|&j| instance.node(j).output_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, chain};

    #[test]
    fn operators_of_the_published_profiles_are_known() {
        for op in ["relu_", "batch_norm", "add_", "cat", "flatten", "dropout"] {
            assert_eq!(class(op), Some(OperatorClass::Pointwise), "{op}");
        }
        for op in [
            "_convolution",
            "addmm",
            "aten.bmm.default",
            "Conv2D",
            "Dense",
        ] {
            assert_eq!(class(op), Some(OperatorClass::ComputeIntensive), "{op}");
        }
        for op in ["max_pool2d", "adaptive_avg_pool2d", "MaxPooling2D"] {
            assert_eq!(class(op), Some(OperatorClass::Other), "{op}");
        }
        for op in ["relu__bwd", "add__bwd", "batch_norm_bwd"] {
            assert_eq!(class(op), Some(OperatorClass::Pointwise), "{op}");
        }
        assert_eq!(
            class("_convolution_bwd"),
            Some(OperatorClass::ComputeIntensive)
        );
        for op in ["", "custom_kernel"] {
            assert_eq!(class(op), None, "{op}");
        }
    }

    #[test]
    fn unknown_operators_are_judged_by_cost_per_byte_and_reductions_are_kept() {
        // Cost per byte moved: 100/8, 1/16, 100/16, 1/9; the average is 202/49.
        let instance = chain(&[100, 1, 100, 1], &[8, 8, 8, 1], &[Reads::Both; 4]);
        let graph = TrainingGraph::new(&instance).unwrap();
        // The last one is cheap, but reads eight times the bytes it writes; then comes the loss.
        assert_eq!(
            banned(&graph, Bans::Expensive),
            [true, false, true, true, true]
        );
        assert_eq!(
            banned(&graph, Bans::None),
            [false, false, false, false, true]
        );
    }

    #[test]
    fn equal_nodes_of_unknown_kind_are_all_kept() {
        let instance = chain(&[3; 5], &[8; 5], &[Reads::Both; 5]);
        let graph = TrainingGraph::new(&instance).unwrap();
        assert_eq!(banned(&graph, Bans::ComputeIntensive)[1..], [true; 5]);
    }

    #[test]
    fn a_tensor_read_by_the_backward_of_a_convolution_is_kept_by_default_only() {
        let mut data = chain(&[9, 1, 9], &[4; 3], &[Reads::Input; 3])
            .data()
            .clone();
        for (node, op) in data.nodes.iter_mut().zip(["conv2d", "relu", "conv2d"]) {
            node.op = op.into();
        }
        let instance = remat_instances::Instance::new(data).unwrap();
        let graph = TrainingGraph::new(&instance).unwrap();
        assert!(banned(&graph, Bans::Default)[1]);
        assert!(!banned(&graph, Bans::Expensive)[1]);
    }
}
