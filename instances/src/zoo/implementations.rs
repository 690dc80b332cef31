//! Implementation sets for MONeT's program: convolution algorithms, in-place activations, and
//! compact masks.
//!
//! The plain graph is unchanged: its implementations come first, so Checkmate's program sees the
//! same graph. These implementations are added:
//!
//! | operator | forward | backward |
//! |---|---|---|
//! | dense 2-D convolution | all algorithms | all except `gemm` |
//! | ReLU | in place; a mask of one bit an element | from `output`, `input` or `mask` |
//! | max pooling | indices of one byte an element | from `input` or `mask` |
//!
//! The convolution algorithms are `implicit_gemm` (the plain one, without workspace), `gemm`,
//! `winograd`, `winograd_nonfused` and `fft`.
//!
//! Workspaces (element size e; input N x C x H x W, output N x K x OH x OW, window k):
//! - `gemm`: the lowered input, `N C k^2 OH OW e` (Chetlur et al., "cuDNN", 2014, section 3);
//! - `winograd`, F(3x3, 3x3) with tiles that stay on chip: the transformed weights, `25 C K e`
//!   (Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016, section 4);
//! - `winograd_nonfused`, F(4x4, 3x3): `36 (C P + K P + C K) e` with `P = N ceil(OH/4) ceil(OW/4)`
//!   tiles (same);
//! - `fft`: spectra of inputs, outputs and weights, `(N C + N K + C K) F (F/2 + 1) 2 e` with F the
//!   next power of two from `max(H, W) + k - 1` on (Mathieu, Henaff, LeCun, "Fast training of
//!   convolutional networks through FFTs", ICLR 2014).
//!
//! The sizes measured in MONeT's published profiles are equal for `gemm` and within 1% for
//! `winograd_nonfused` (a test compares them). For `fft` they are up to a tenth larger.

use super::ZooError;
use super::builder::Network;
use super::cost::{Kernel, KernelClass, total_nanoseconds};
use super::device::Device;
use super::op::{Activation, Convolution, Op, Operation};
use super::program::{Action, TrainingProgram};
use super::training::{TrainingOptions, finish};
use super::work::BackwardStyle;
use crate::instance::{Implementation, InPlace, Instance, Node, NodeId, NodeKind};
use crate::number::LARGEST_VALUE;

/// Name of the plain implementation of a convolution.
const PLAIN: &str = "implicit_gemm";

/// An alternative algorithm for a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConvolutionAlgorithm {
    Gemm,
    Winograd,
    WinogradNonfused,
    Fft,
}

/// Extents of a dense 2-D convolution.
#[derive(Clone, Copy, Debug)]
struct Extents {
    batch: u128,
    inputs: u128,
    outputs: u128,
    /// Height and width of the output.
    place: [u128; 2],
    window: u128,
    /// Side of the transforms.
    side: u128,
    element_bytes: u128,
}

impl Extents {
    /// Tiles of 4 x 4 outputs.
    fn tiles(&self) -> u128 {
        self.batch * self.place[0].div_ceil(4) * self.place[1].div_ceil(4)
    }

    /// Number of images and weights to transform.
    fn planes(&self) -> u128 {
        self.batch * (self.inputs + self.outputs) + self.inputs * self.outputs
    }

    fn workspace_bytes(&self, algorithm: ConvolutionAlgorithm) -> u128 {
        let (c, k) = (self.inputs, self.outputs);
        let elements = match algorithm {
            ConvolutionAlgorithm::Gemm => {
                self.batch * c * self.window * self.window * self.place[0] * self.place[1]
            }
            ConvolutionAlgorithm::Winograd => 25 * c * k,
            ConvolutionAlgorithm::WinogradNonfused => 36 * (self.tiles() * (c + k) + c * k),
            ConvolutionAlgorithm::Fft => self.planes() * self.side * (self.side / 2 + 1) * 2,
        };
        elements * self.element_bytes
    }

    /// The kernels that replace a plain one.
    fn kernels(&self, algorithm: ConvolutionAlgorithm, plain: Kernel) -> Vec<Kernel> {
        let workspace = self.workspace_bytes(algorithm);
        let moving = |class, bytes| Kernel {
            class,
            flops: 0,
            bytes,
        };
        match algorithm {
            // The lowered input is written, and then read by the product.
            ConvolutionAlgorithm::Gemm => vec![
                Kernel {
                    bytes: plain.bytes + workspace,
                    ..plain
                },
                moving(KernelClass::Copy, workspace),
            ],
            // 25/81 of the products, at 55% of the plain rate (the published 3x3 convolutions are
            // 1.6 to 2 times faster).
            ConvolutionAlgorithm::Winograd => vec![Kernel {
                flops: plain.flops * 56 / 100,
                ..plain
            }],
            // A quarter of the products, between transforms that write and read the workspace.
            ConvolutionAlgorithm::WinogradNonfused => vec![
                Kernel {
                    flops: plain.flops / 4,
                    ..plain
                },
                moving(KernelClass::Elementwise, 2 * workspace),
            ],
            // Complex products of spectra, and transforms by rows and by columns.
            ConvolutionAlgorithm::Fft => vec![
                Kernel {
                    flops: 8
                        * self.batch
                        * self.inputs
                        * self.outputs
                        * self.side
                        * (self.side / 2 + 1),
                    ..plain
                },
                moving(KernelClass::Elementwise, 4 * workspace),
            ],
        }
    }
}

impl ConvolutionAlgorithm {
    const ALL: [ConvolutionAlgorithm; 4] = [
        ConvolutionAlgorithm::Gemm,
        ConvolutionAlgorithm::Winograd,
        ConvolutionAlgorithm::WinogradNonfused,
        ConvolutionAlgorithm::Fft,
    ];

    fn name(self) -> &'static str {
        match self {
            ConvolutionAlgorithm::Gemm => "gemm",
            ConvolutionAlgorithm::Winograd => "winograd",
            ConvolutionAlgorithm::WinogradNonfused => "winograd_nonfused",
            ConvolutionAlgorithm::Fft => "fft",
        }
    }

    fn applies(self, c: &Convolution) -> bool {
        let unit = c.stride == 1 && c.dilation == 1;
        match self {
            ConvolutionAlgorithm::Gemm => c.kernel > 1,
            ConvolutionAlgorithm::Winograd | ConvolutionAlgorithm::WinogradNonfused => {
                unit && c.kernel == 3
            }
            ConvolutionAlgorithm::Fft => unit && c.kernel > 1,
        }
    }

    /// Returns whether the algorithm can replace a kernel of this class.
    fn makes(self, class: KernelClass) -> bool {
        match class {
            KernelClass::Convolution => true,
            KernelClass::ConvolutionInputGradient => self != ConvolutionAlgorithm::Gemm,
            KernelClass::ConvolutionWeightGradient => {
                matches!(
                    self,
                    ConvolutionAlgorithm::WinogradNonfused | ConvolutionAlgorithm::Fft
                )
            }
            _ => false,
        }
    }
}

impl Network {
    /// Builds the instance like [`Network::training_instance`], with the implementation sets
    /// described at the top of the module.
    ///
    /// # Errors
    /// The errors of [`Network::training_instance`].
    pub fn training_instance_with_choices(
        &self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<Instance, ZooError> {
        let (nodes, _) = self.nodes_with_choices(device, options)?;
        finish(&self.name, device.host_link.clone(), nodes)
    }

    /// [`Network::training_instance_with_choices`], with the action of each node. Convolution
    /// algorithms have the same action; only a device model distinguishes them.
    ///
    /// # Errors
    /// The errors of [`Network::training_instance`].
    pub fn training_program_with_choices(
        self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<TrainingProgram, ZooError> {
        let (nodes, actions) = self.nodes_with_choices(device, options)?;
        Ok(TrainingProgram {
            instance: finish(&self.name, device.host_link.clone(), nodes)?,
            network: self,
            actions,
        })
    }

    fn nodes_with_choices(
        &self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<(Vec<Node>, Vec<Action>), ZooError> {
        let (nodes, actions) = self.training_nodes(device, options)?;
        let mut chooser = Chooser {
            network: self,
            device,
            style: options.style(),
            differentiated: vec![false; self.operations.len()],
            masks: vec![None; self.operations.len()],
            forward: vec![None; self.operations.len()],
            new_ids: Vec::with_capacity(nodes.len()),
            nodes: Vec::with_capacity(nodes.len()),
            actions: Vec::with_capacity(nodes.len()),
        };
        for action in &actions {
            if let Action::Backward { operation, .. } = action {
                chooser.differentiated[*operation] = true;
            }
        }
        for (node, action) in nodes.into_iter().zip(&actions) {
            chooser.add(node, action)?;
        }
        Ok((chooser.nodes, chooser.actions))
    }
}

struct Chooser<'a> {
    network: &'a Network,
    device: &'a Device,
    style: BackwardStyle,
    /// True for each operation with its own backward node.
    differentiated: Vec<bool>,
    /// New id of an operation's mask, and of its forward node.
    masks: Vec<Option<NodeId>>,
    forward: Vec<Option<NodeId>>,
    /// New ids by old id.
    new_ids: Vec<NodeId>,
    nodes: Vec<Node>,
    /// Actions of `nodes`.
    actions: Vec<Action>,
}

impl Chooser<'_> {
    fn add(&mut self, mut node: Node, action: &Action) -> Result<(), ZooError> {
        let new = |list: &[NodeId], ids: &[NodeId]| -> Vec<NodeId> {
            list.iter().map(|id| ids[id.index()]).collect()
        };
        for implementation in &mut node.implementations {
            implementation.needs = new(&implementation.needs, &self.new_ids);
        }
        if let NodeKind::Backward { forward, .. } = &mut node.kind {
            *forward = forward.map(|id| self.new_ids[id.index()]);
        }
        let id = NodeId::from(self.nodes.len());
        self.new_ids.push(id);
        self.actions.push(action.renumbered(&self.new_ids));
        match action {
            Action::Forward { operation } => {
                self.forward[*operation] = Some(id);
                self.add_forward(node, *operation, id)
            }
            Action::Backward {
                operation,
                feeds,
                parameters,
                ..
            } => {
                let plan = self
                    .network
                    .backward_plan(&self.network.operations[*operation], self.style);
                let same = plan
                    .nodes
                    .into_iter()
                    .find(|n| n.feeds == *feeds && n.parameters == *parameters);
                let kernels = same.map(|n| n.kernels).unwrap_or_default();
                self.add_backward(&mut node, *operation, &kernels)?;
                self.nodes.push(node);
                Ok(())
            }
            // A graph without implementation sets has no by-products.
            Action::Sum { .. } | Action::ByProduct { .. } => {
                self.nodes.push(node);
                Ok(())
            }
        }
    }

    fn add_forward(&mut self, mut node: Node, k: usize, id: NodeId) -> Result<(), ZooError> {
        let network = self.network;
        let operation = &network.operations[k];
        let out = network.value(operation.output);
        let (count, bytes) = (out.elements, node.output_bytes);
        let mask = match &operation.op {
            Op::Convolution(c) => {
                let kernels = network.forward_kernels(operation);
                self.add_algorithms(&mut node, operation, c, &kernels)?;
                None
            }
            Op::Activation(Activation::Relu | Activation::Relu6) => {
                let input = node.needs().first().copied();
                let same = |on: &NodeId| self.nodes[on.index()].output_bytes == bytes;
                node.in_place = input.filter(same).map(|on| InPlace {
                    on,
                    cost_delta: 0,
                    workspace_bytes: -(bytes as i64),
                });
                // One byte per element before the bits are packed.
                Some(("mask", count.div_ceil(8), count))
            }
            Op::MaxPool(p) => {
                let axes = out.shape.len().saturating_sub(2) as u32;
                let seen = p.kernel.checked_pow(axes);
                let fits = seen.is_some_and(|positions| positions <= 256);
                fits.then_some(("mask", count, 0))
            }
            _ => None,
        };
        let in_place = node.in_place.clone();
        let (fixed_bytes, name) = (node.fixed_bytes, node.name.clone());
        self.nodes.push(node);
        let Some((suffix, mask_bytes, scratch)) = mask.filter(|_| self.differentiated[k]) else {
            return Ok(());
        };
        let kernel = Kernel {
            class: KernelClass::Elementwise,
            flops: count as u128,
            bytes: bytes as u128 + mask_bytes as u128,
        };
        let name = format!("{name}.{suffix}");
        let cost = self.cost(&name, &[kernel])?;
        self.masks[k] = Some(NodeId::from(self.nodes.len()));
        self.actions.push(Action::ByProduct { operation: k });
        self.nodes.push(Node {
            name: name.into(),
            op: suffix.into(),
            shape: vec![mask_bytes],
            kind: NodeKind::ByProduct { parent: id },
            output_bytes: mask_bytes,
            fixed_bytes,
            implementations: vec![Implementation::new(vec![id], cost, scratch as i64)],
            in_place: in_place.map(|option| InPlace {
                workspace_bytes: option.workspace_bytes + scratch as i64,
                ..option
            }),
            ..Node::default()
        });
        Ok(())
    }

    fn add_backward(&self, node: &mut Node, k: usize, kernels: &[Kernel]) -> Result<(), ZooError> {
        let operation = &self.network.operations[k];
        let out = self.network.value(operation.output);
        match &operation.op {
            Op::Convolution(c) => self.add_algorithms(node, operation, c, kernels),
            Op::Activation(Activation::Relu | Activation::Relu6) => {
                let reads_input = self.style.relu_reads_input;
                node.implementations[0].name = word(reads_input).into();
                let plain = node.implementations[0].clone();
                let output = self.forward[k];
                let input = output.and_then(|id| self.nodes[id.index()].needs().first().copied());
                let (old, other) = match reads_input {
                    true => (input, output),
                    false => (output, input),
                };
                if let (Some(old), Some(other)) = (old, other) {
                    let needs = exchanged(&plain.needs, old, other);
                    node.implementations.push(Implementation {
                        name: word(!reads_input).into(),
                        needs,
                        ..plain.clone()
                    });
                }
                if let (Some(old), Some(mask)) = (old, self.masks[k]) {
                    let kernel = Kernel {
                        class: KernelClass::Elementwise,
                        flops: 2 * out.elements as u128,
                        bytes: 2 * out.bytes as u128 + out.elements.div_ceil(8) as u128,
                    };
                    node.implementations.push(Implementation {
                        name: "mask".into(),
                        ..Implementation::new(
                            exchanged(&plain.needs, old, mask),
                            self.cost(&node.name, &[kernel])?,
                            0,
                        )
                    });
                }
                Ok(())
            }
            Op::MaxPool(_) => {
                node.implementations[0].name = "input".into();
                let plain = node.implementations[0].clone();
                let input =
                    self.forward[k].and_then(|id| self.nodes[id.index()].needs().first().copied());
                if let (Some(old), Some(mask)) = (input, self.masks[k]) {
                    // The indices are read in addition: in the published profiles this
                    // implementation is slower, not faster.
                    let mut kernels = kernels.to_vec();
                    if let Some(first) = kernels.first_mut() {
                        first.bytes += out.elements as u128;
                    }
                    node.implementations.push(Implementation {
                        name: "mask".into(),
                        ..Implementation::new(
                            exchanged(&plain.needs, old, mask),
                            self.cost(&node.name, &kernels)?,
                            0,
                        )
                    });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Appends the algorithms that apply to a convolution or its gradients.
    fn add_algorithms(
        &self,
        node: &mut Node,
        operation: &Operation,
        c: &Convolution,
        kernels: &[Kernel],
    ) -> Result<(), ZooError> {
        let Some(extents) = self.network.extents(operation, c) else {
            return Ok(());
        };
        node.implementations[0].name = PLAIN.into();
        let needs = node.needs().to_vec();
        for algorithm in ConvolutionAlgorithm::ALL {
            if !algorithm.applies(c) || !kernels.iter().any(|k| algorithm.makes(k.class)) {
                continue;
            }
            let kernels: Vec<Kernel> = kernels
                .iter()
                .flat_map(|k| match algorithm.makes(k.class) {
                    true => extents.kernels(algorithm, *k),
                    false => vec![*k],
                })
                .collect();
            // An algorithm with more workspace than any device's memory is omitted.
            let workspace = extents.workspace_bytes(algorithm);
            if workspace > LARGEST_VALUE as u128 {
                continue;
            }
            let cost = self.cost(&node.name, &kernels)?;
            node.implementations.push(Implementation {
                name: algorithm.name().into(),
                ..Implementation::new(needs.clone(), cost, workspace as i64)
            });
        }
        Ok(())
    }

    fn cost(&self, at: &str, kernels: &[Kernel]) -> Result<u64, ZooError> {
        total_nanoseconds(kernels, self.device, self.network.precision().activations)
            .filter(|ns| *ns <= LARGEST_VALUE)
            .ok_or_else(|| ZooError::TooLarge {
                at: at.into(),
                what: "cost in nanoseconds",
            })
    }
}

fn word(reads_input: bool) -> &'static str {
    if reads_input { "input" } else { "output" }
}

/// The list with one entry replaced by another, ascending and distinct.
fn exchanged(list: &[NodeId], old: NodeId, new: NodeId) -> Vec<NodeId> {
    let mut list: Vec<NodeId> = list
        .iter()
        .map(|id| if *id == old { new } else { *id })
        .collect();
    list.sort_unstable();
    list.dedup();
    list
}

impl Network {
    /// Extents of a dense 2-D convolution; `None` for all others.
    fn extents(&self, operation: &Operation, c: &Convolution) -> Option<Extents> {
        let shape = |x| self.value(x).shape.as_slice();
        let [n, inputs, height, width] = shape(*operation.inputs.first()?) else {
            return None;
        };
        let [_, outputs, out_height, out_width] = shape(operation.output) else {
            return None;
        };
        // The formulas hold for square kernels only.
        if c.groups != 1 || c.transposed || c.along.is_some() {
            return None;
        }
        let side = (*height)
            .max(*width)
            .checked_add(c.kernel)?
            .checked_sub(1)?;
        let extents = Extents {
            batch: *n as u128,
            inputs: *inputs as u128,
            outputs: *outputs as u128,
            place: [*out_height as u128, *out_width as u128],
            window: c.kernel as u128,
            side: side.checked_next_power_of_two()? as u128,
            element_bytes: self.precision().activations.bytes() as u128,
        };
        // All quantities below are within 2^53 for any possible network, and products of three
        // extents are far below 2^128.
        let all = [
            extents.batch,
            extents.inputs,
            extents.outputs,
            extents.side,
            extents.window,
        ];
        all.iter().all(|e| *e < 1 << 24).then_some(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second and fourth convolutions of VGG-16 at 176 samples, measured (KiB) by cuDNN on a
    /// P100, as published with MONeT: lowering 4968448 and 9934848, non-fused Winograd 3727360 and
    /// 4970496.
    #[test]
    fn workspaces_are_the_measured_ones() {
        let layer = |inputs, outputs| Extents {
            batch: 176,
            inputs,
            outputs,
            place: [112, 112],
            window: 3,
            side: 128,
            element_bytes: 4,
        };
        for (layer, lowered, tiles) in [
            (layer(64, 128), 4_968_448, 3_727_360),
            (layer(128, 128), 9_934_848, 4_970_496),
        ] {
            let kib = |a| layer.workspace_bytes(a).div_ceil(1024);
            assert!(kib(ConvolutionAlgorithm::Gemm).abs_diff(lowered) * 1000 <= lowered);
            assert!(kib(ConvolutionAlgorithm::WinogradNonfused).abs_diff(tiles) * 100 <= tiles);
        }
    }
}
