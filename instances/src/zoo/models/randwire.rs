//! Randomly wired networks (Xie et al., "Exploring randomly wired neural networks for image
//! recognition", ICCV 2019), in which all layers differ.

use super::{ModelBuild, ZooModel, classes, classifier, conv_norm, images, size};
use crate::zoo::random::Draw;
use crate::zoo::spec::integer;
use crate::zoo::{Activation, Convolution, ModelSpec, Network, Tensor, ZooError};

pub(super) const RANDWIRE: ZooModel = ZooModel {
    name: "randwire",
    description: "randomly wired network, WS(4, 0.75) in the small regime (Xie et al., ICCV 2019)",
    own: &[
        size("224"),
        classes("1000"),
        integer("stages", [1, 5], "3", "randomly wired stages"),
        integer("nodes", [3, 100_000], "32", "nodes of a stage"),
        integer(
            "channels",
            [1, 1 << 16],
            "78",
            "channels of the first stage",
        ),
        integer(
            "neighbours",
            [2, 1_000],
            "4",
            "nodes that each node is wired to at first, an even number",
        ),
        integer(
            "rewired",
            [0, 100],
            "75",
            "percent of the edges that are wired anew",
        ),
        integer("seed", [0, 1 << 40], "1", "which wiring is drawn"),
    ],
    defaults: &[],
    builder: ModelBuild::Network(randwire),
};

fn randwire(spec: &ModelSpec) -> Result<Network, ZooError> {
    let channels = spec.integer("channels");
    let mut draw = Draw::new(spec.integer("seed"));
    let (mut net, x) = images(spec)?;
    let half = |out: u64| Convolution::new(out, 3).stride(2).padding(1).bias(false);
    let x = net.conv("conv1", x, half(channels.div_ceil(2)))?;
    let x = net.batch_norm("conv1.bn", x)?;
    // The second stage of the small regime is one convolution.
    let x = net.relu("conv2.relu", x)?;
    let x = net.conv("conv2", x, half(channels))?;
    let mut x = net.batch_norm("conv2.bn", x)?;
    for stage in 0..spec.integer("stages") {
        let wires = Wires::draw(spec, &mut draw);
        let at = format!("conv{}", stage + 3);
        x = wired(&mut net, &at, x, &wires, channels << stage)?;
    }
    let x = net.relu("head.relu", x)?;
    let names = ["head.conv", "head.bn", "head.activation"];
    let head = Convolution::new(1280, 1).bias(false);
    let x = conv_norm(&mut net, names, x, head, Activation::Relu)?;
    let x = classifier(&mut net, x, spec.integer("classes"), false)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

/// Inputs of each node of a stage, ascending and with smaller numbers than the node.
struct Wires(Vec<Vec<usize>>);

impl Wires {
    /// A Watts-Strogatz graph: a ring with each node joined to its next ones, and some edges
    /// rewired at one end to a random node. Edges run from the smaller number to the larger.
    fn draw(spec: &ModelSpec, draw: &mut Draw) -> Wires {
        let [n, neighbours, rewired] =
            ["nodes", "neighbours", "rewired"].map(|name| spec.integer(name) as usize);
        let mut joined = vec![Vec::new(); n];
        let steps = (neighbours / 2).clamp(1, (n - 1) / 2);
        for step in 1..=steps {
            for v in 0..n {
                join(&mut joined, v, (v + step) % n);
            }
        }
        for step in 1..=steps {
            for v in 0..n {
                let other = (v + step) % n;
                // A node joined to all others keeps its edges.
                if !draw.percent(rewired as u64) || joined[v].len() == n - 1 {
                    continue;
                }
                let free = |u: &usize| *u != v && !joined[v].contains(u);
                let to = loop {
                    let u = draw.below(n as u64) as usize;
                    if free(&u) {
                        break u;
                    }
                };
                for [a, b] in [[v, other], [other, v]] {
                    joined[a].retain(|u| *u != b);
                }
                join(&mut joined, v, to);
            }
        }
        for (v, of) in joined.iter_mut().enumerate() {
            of.retain(|u| *u < v);
            of.sort_unstable();
        }
        Wires(joined)
    }

    /// Nodes without readers.
    fn ends(&self) -> Vec<usize> {
        let mut read = vec![false; self.0.len()];
        self.0.iter().flatten().for_each(|u| read[*u] = true);
        (0..read.len()).filter(|v| !read[*v]).collect()
    }
}

fn join(joined: &mut [Vec<usize>], a: usize, b: usize) {
    if !joined[a].contains(&b) {
        joined[a].push(b);
        joined[b].push(a);
    }
}

/// A stage: nodes without inputs read the stage's input at half the resolution. The output is the
/// sum of the nodes without readers.
fn wired(
    net: &mut Network,
    at: &str,
    input: Tensor,
    wires: &Wires,
    channels: u64,
) -> Result<Tensor, ZooError> {
    let mut outputs: Vec<Tensor> = Vec::new();
    for (v, inputs) in wires.0.iter().enumerate() {
        let at = format!("{at}.{v}");
        let tensors: Vec<Tensor> = inputs.iter().map(|u| outputs[*u]).collect();
        let (x, stride) = match tensors.is_empty() {
            true => (input, 2),
            false => (sum(net, &at, &tensors)?, 1),
        };
        outputs.push(node(net, &at, x, stride, channels)?);
    }
    let ends: Vec<Tensor> = wires.ends().into_iter().map(|v| outputs[v]).collect();
    sum(net, at, &ends)
}

/// Sum of tensors, two at a time. (The paper's weights, one scalar per edge, are omitted.)
fn sum(net: &mut Network, at: &str, tensors: &[Tensor]) -> Result<Tensor, ZooError> {
    let mut x = tensors[0];
    for (k, y) in tensors[1..].iter().enumerate() {
        x = net.add(&format!("{at}.add{k}"), x, *y)?;
    }
    Ok(x)
}

/// ReLU, a separable 3x3 convolution, batch norm.
fn node(
    net: &mut Network,
    at: &str,
    x: Tensor,
    stride: u64,
    channels: u64,
) -> Result<Tensor, ZooError> {
    let x = net.relu(&format!("{at}.relu"), x)?;
    let groups = net.shape(x)[1];
    let depthwise = Convolution::new(groups, 3)
        .stride(stride)
        .padding(1)
        .groups(groups)
        .bias(false);
    let x = net.conv(&format!("{at}.depthwise"), x, depthwise)?;
    let pointwise = Convolution::new(channels, 1).bias(false);
    let x = net.conv(&format!("{at}.pointwise"), x, pointwise)?;
    net.batch_norm(&format!("{at}.bn"), x)
}
