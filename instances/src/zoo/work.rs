//! The work of each operator: kernels of its forward pass, and what its backward pass computes,
//! reads and costs.

use super::builder::{Network, TensorLayout};
use super::cost::{Kernel, KernelClass};
use super::op::{Activation, Convolution, Heads, Op, Operation};
use crate::instance::Gradient;

/// Layout of backward passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BackwardStyle {
    /// Parameter and input gradients of convolutions and linear layers in nodes of their own.
    pub split: bool,
    /// A ReLU's gradient reads its input in place of its output.
    pub relu_reads_input: bool,
}

/// A node of the backward pass of one operator. It reads the operator's output gradient.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct BackwardNode {
    /// Appended to the operator's name.
    pub suffix: &'static str,
    pub gradient: Gradient,
    /// Inputs of the operator that it reads, by position.
    pub reads_inputs: Vec<usize>,
    /// True if it reads the operator's output.
    pub reads_output: bool,
    /// Inputs of the operator whose gradients it makes; its output holds them side by side.
    pub feeds: Vec<usize>,
    /// True if it makes the parameter gradients, which go to fixed memory.
    pub parameters: bool,
    pub kernels: Vec<Kernel>,
}

/// The backward pass of one operator.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct BackwardPlan {
    /// Inputs whose gradient is the output's gradient, or a part of it, without any computation.
    pub pass_through: Vec<usize>,
    pub nodes: Vec<BackwardNode>,
}

fn kernel(class: KernelClass, flops: u128, bytes: u128) -> Kernel {
    Kernel {
        class,
        flops,
        bytes,
    }
}

impl Network {
    /// Floating-point multiply-adds of one forward pass in convolutions, linear layers and
    /// attention.
    ///
    /// This is what the literature calls GMACs (or, loosely, GFLOPs) of a network, for the whole
    /// batch.
    pub fn multiply_adds(&self) -> u128 {
        self.operations
            .iter()
            .filter(|operation| {
                !matches!(operation.op, Op::CrossEntropy) && !operation.op.is_view()
            })
            .flat_map(|operation| self.forward_kernels(operation))
            .filter(|kernel| kernel.class.is_matrix() || kernel.class == KernelClass::Depthwise)
            .map(|kernel| kernel.flops / 2)
            .sum()
    }

    fn inputs<'a>(&'a self, operation: &'a Operation) -> impl Iterator<Item = &'a TensorLayout> {
        operation.inputs.iter().map(|x| self.value(*x))
    }

    /// Bytes of an operator's parameters, as stored.
    fn parameter_traffic(&self, operation: &Operation) -> u128 {
        self.parameter_elements(operation) * self.precision.parameters.bytes() as u128
    }

    fn gradient_traffic(&self, operation: &Operation) -> u128 {
        self.parameter_elements(operation) * self.precision.gradients.bytes() as u128
    }

    fn parameter_elements(&self, operation: &Operation) -> u128 {
        operation
            .parameters
            .iter()
            .map(|p| self.parameters[*p].elements as u128)
            .sum()
    }

    /// Kernels of an operator's forward pass.
    pub(super) fn forward_kernels(&self, operation: &Operation) -> Vec<Kernel> {
        let out = self.value(operation.output);
        let read: u128 = self.inputs(operation).map(|x| x.bytes as u128).sum();
        let (written, count) = (out.bytes as u128, out.elements as u128);
        let moved = read + written;
        let one = |class, per_element: u128, bytes| vec![kernel(class, per_element * count, bytes)];
        match &operation.op {
            Op::View | Op::Slice(_) => Vec::new(),
            Op::Convolution(c) => {
                let class = convolution_class(self.first(operation), c, KernelClass::Convolution);
                let flops = 2 * self.convolution_products(operation, c);
                vec![kernel(
                    class,
                    flops,
                    moved + self.parameter_traffic(operation),
                )]
            }
            Op::Linear { .. } => vec![kernel(
                KernelClass::MatrixProduct,
                2 * self.linear_products(operation),
                moved + self.parameter_traffic(operation),
            )],
            // Statistics, then normalisation: the input is read twice. The others keep a row on
            // chip.
            Op::BatchNorm => one(KernelClass::Normalisation, 7, moved + read),
            Op::LayerNorm | Op::RmsNorm => one(KernelClass::Normalisation, 7, moved),
            Op::Activation(f) => one(KernelClass::Elementwise, activation_flops(*f), moved),
            Op::Softmax => one(KernelClass::Reduction, 5, moved),
            Op::MaxPool(_) | Op::PoolIndices(_) => {
                let seen = self.first(operation).elements as u128;
                vec![kernel(KernelClass::MaxPool, seen, moved)]
            }
            Op::AveragePool(_) | Op::AdaptiveAveragePool => {
                let seen = self.first(operation).elements as u128;
                vec![kernel(KernelClass::Reduction, seen, moved)]
            }
            Op::Unpool => one(KernelClass::Gather, 0, moved),
            Op::Upsample => one(KernelClass::Reduction, 7, moved),
            Op::Add | Op::Multiply | Op::AddParameter => one(KernelClass::Elementwise, 1, moved),
            Op::Concat | Op::PrependParameter => one(KernelClass::Copy, 0, moved),
            Op::DropoutMask => one(KernelClass::Elementwise, 10, written),
            Op::Dropout => one(KernelClass::Elementwise, 2, moved),
            Op::Embedding => one(KernelClass::Gather, 0, 2 * written + read),
            Op::Rotary => one(KernelClass::Elementwise, 6, moved),
            Op::AttentionScores(_) | Op::AttentionContext(_) => {
                let flops = 2 * self.attention_products(operation);
                vec![kernel(KernelClass::MatrixProduct, flops, moved)]
            }
            Op::FlashAttention(_) => {
                let flops = 2 * self.attention_products(operation);
                vec![kernel(KernelClass::FusedAttention, flops, moved)]
            }
            // Every score is seen once; the order by expert is a count and a scatter of choices.
            Op::Route { .. } => vec![
                kernel(
                    KernelClass::Reduction,
                    self.first(operation).elements as u128,
                    moved,
                ),
                kernel(KernelClass::Gather, 0, 3 * written),
            ],
            Op::ChosenScores | Op::Dispatch => {
                let routes = self.value(operation.inputs[1]).bytes as u128;
                one(KernelClass::Gather, 0, 2 * written + routes)
            }
            Op::GroupedLinear => vec![kernel(
                KernelClass::MatrixProduct,
                2 * self.linear_products(operation),
                moved + self.parameter_traffic(operation),
            )],
            Op::Combine => {
                let rows = self.first(operation).elements as u128;
                vec![kernel(KernelClass::Gather, 2 * rows, moved)]
            }
            // Row maximum and sum, then probabilities minus targets.
            Op::CrossEntropy => one(KernelClass::Reduction, 8, moved + read),
        }
    }

    fn first(&self, operation: &Operation) -> &TensorLayout {
        self.value(operation.inputs[0])
    }

    /// Multiply-adds of a convolution: every output element (input element when transposed) meets
    /// one group's channels times the window.
    fn convolution_products(&self, operation: &Operation, c: &Convolution) -> u128 {
        let x = self.first(operation);
        let out = self.value(operation.output);
        let kernels = (2..x.shape.len()).map(|axis| u128::from(c.kernel_at(axis - 2)));
        let window = kernels.fold(1u128, u128::saturating_mul);
        let (swept, channels) = match c.transposed {
            false => (out.elements, x.shape[1]),
            true => (x.elements, c.out_channels),
        };
        (swept as u128).saturating_mul(window.saturating_mul((channels / c.groups) as u128))
    }

    fn linear_products(&self, operation: &Operation) -> u128 {
        let x = self.first(operation);
        let features = self
            .value(operation.output)
            .shape
            .last()
            .copied()
            .unwrap_or(1);
        x.elements as u128 * features as u128
    }

    /// Multiply-adds of an attention's products; the fused form skips what causality masks.
    fn attention_products(&self, operation: &Operation) -> u128 {
        let x = self.first(operation);
        match &operation.op {
            Op::AttentionScores(Heads { query, .. }) => {
                let out = self.value(operation.output).elements as u128;
                out * (x.shape[2] / query) as u128
            }
            Op::AttentionContext(Heads { query, .. }) => {
                let features = self.value(operation.output).shape[2];
                x.elements as u128 * (features / query) as u128
            }
            Op::FlashAttention(Heads { causal, .. }) => {
                let keys = self.value(operation.inputs[1]).shape[1];
                2 * (x.elements as u128) * keys as u128 / if *causal { 2 } else { 1 }
            }
            _ => 0,
        }
    }

    /// The backward pass of an operator. Inputs that need no gradient are left out of `feeds` and
    /// `pass_through`, with the kernels that would make them; a node that makes nothing is left
    /// out.
    pub(super) fn backward_plan(
        &self,
        operation: &Operation,
        style: BackwardStyle,
    ) -> BackwardPlan {
        let out = self.value(operation.output);
        let needed = |k: usize| self.value(operation.inputs[k]).needs_gradient;
        let bytes = |k: usize| self.value(operation.inputs[k]).bytes as u128;
        let (dy, count) = (out.bytes as u128, out.elements as u128);
        // One node for one input's gradient.
        let single = |reads_inputs: Vec<usize>, reads_output, class, per_element: u128, traffic| {
            let node = BackwardNode {
                suffix: ".grad",
                gradient: Gradient::All,
                reads_inputs,
                reads_output,
                feeds: vec![0],
                parameters: false,
                kernels: vec![kernel(class, per_element * count, traffic)],
            };
            match needed(0) {
                true => BackwardPlan::of(vec![node]),
                false => BackwardPlan::default(),
            }
        };
        let pass = || BackwardPlan {
            pass_through: (0..operation.inputs.len()).filter(|k| needed(*k)).collect(),
            ..BackwardPlan::default()
        };
        match &operation.op {
            Op::View | Op::Slice(_) | Op::Add | Op::Concat => pass(),
            Op::DropoutMask | Op::PoolIndices(_) | Op::Route { .. } | Op::CrossEntropy => {
                BackwardPlan::default()
            }
            Op::Convolution(c) => {
                let x = self.first(operation);
                let flops = 2 * self.convolution_products(operation, c);
                let input = convolution_class(x, c, KernelClass::ConvolutionInputGradient);
                let weight = convolution_class(x, c, KernelClass::ConvolutionWeightGradient);
                self.affine(operation, style, c.bias, [input, weight], flops)
            }
            Op::Linear { bias } => {
                let flops = 2 * self.linear_products(operation);
                let class = KernelClass::MatrixProduct;
                self.affine(operation, style, *bias, [class, class], flops)
            }
            Op::BatchNorm | Op::LayerNorm | Op::RmsNorm => {
                // Input and gradient are read for the sums and, in a batch norm, once more for the
                // result.
                let passes = match operation.op {
                    Op::BatchNorm => 5,
                    _ => 3,
                };
                BackwardPlan::of(vec![BackwardNode {
                    suffix: ".grad",
                    gradient: Gradient::All,
                    reads_inputs: vec![0],
                    reads_output: false,
                    feeds: vec![0].into_iter().filter(|k| needed(*k)).collect(),
                    parameters: true,
                    kernels: vec![kernel(KernelClass::Normalisation, 11 * count, passes * dy)],
                }])
            }
            Op::Activation(f) => {
                let from_output = match f {
                    Activation::Relu | Activation::Relu6 => !style.relu_reads_input,
                    Activation::Tanh => true,
                    Activation::Gelu | Activation::Silu => false,
                };
                let reads = if from_output { vec![] } else { vec![0] };
                let flops = 2 * activation_flops(*f);
                single(reads, from_output, KernelClass::Elementwise, flops, 3 * dy)
            }
            Op::Softmax => single(vec![], true, KernelClass::Reduction, 4, 3 * dy),
            Op::MaxPool(_) => {
                let traffic = 2 * bytes(0) + dy;
                single(vec![0], false, KernelClass::MaxPoolGradient, 1, traffic)
            }
            Op::Unpool => single(
                vec![1],
                false,
                KernelClass::Gather,
                0,
                2 * bytes(0) + bytes(1),
            ),
            Op::AveragePool(_) | Op::AdaptiveAveragePool | Op::Upsample => {
                single(vec![], false, KernelClass::Reduction, 7, bytes(0) + dy)
            }
            Op::Multiply => {
                let factor = |k: usize| BackwardNode {
                    suffix: [".grad_0", ".grad_1"][k],
                    gradient: Gradient::Input,
                    reads_inputs: vec![1 - k],
                    reads_output: false,
                    feeds: vec![k],
                    parameters: false,
                    kernels: vec![kernel(KernelClass::Elementwise, count, 3 * dy)],
                };
                BackwardPlan::of_both(needed, factor)
            }
            Op::Dropout => single(
                vec![1],
                false,
                KernelClass::Elementwise,
                2,
                2 * dy + bytes(1),
            ),
            // The rows' gradients are scattered into a dense gradient of the table.
            Op::Embedding => {
                let traffic = 2 * dy + self.gradient_traffic(operation);
                self.parameters_only(vec![], kernel(KernelClass::Gather, count, traffic))
            }
            Op::AddParameter | Op::PrependParameter => {
                let read = match operation.op {
                    Op::PrependParameter => dy / out.shape[1].max(1) as u128,
                    _ => dy,
                };
                let traffic = read + self.gradient_traffic(operation);
                let mut plan = self.parameters_only(
                    pass().pass_through,
                    kernel(KernelClass::Reduction, count, traffic),
                );
                plan.nodes[0].gradient = Gradient::Parameters;
                plan
            }
            Op::Rotary => single(vec![], false, KernelClass::Elementwise, 6, 2 * dy),
            Op::AttentionScores(_) | Op::AttentionContext(_) => {
                let flops = 2 * self.attention_products(operation);
                let factor = |k: usize| BackwardNode {
                    suffix: [".grad_0", ".grad_1"][k],
                    gradient: Gradient::Input,
                    reads_inputs: vec![1 - k],
                    reads_output: false,
                    feeds: vec![k],
                    parameters: false,
                    kernels: vec![kernel(
                        KernelClass::MatrixProduct,
                        flops,
                        dy + bytes(0) + bytes(1),
                    )],
                };
                BackwardPlan::of_both(needed, factor)
            }
            // Five products in place of two: the scores are made again (FlashAttention, section
            // 3.1).
            Op::FlashAttention(_) => {
                let flops = 5 * self.attention_products(operation);
                let inputs: u128 = self.inputs(operation).map(|x| x.bytes as u128).sum();
                BackwardPlan::of(vec![BackwardNode {
                    suffix: ".grad",
                    gradient: Gradient::All,
                    reads_inputs: vec![0, 1, 2],
                    reads_output: true,
                    feeds: (0..3).filter(|k| needed(*k)).collect(),
                    parameters: false,
                    kernels: vec![kernel(
                        KernelClass::FusedAttention,
                        flops,
                        2 * inputs + 2 * dy,
                    )],
                }])
            }
            // Zero but at the chosen experts.
            Op::ChosenScores => single(
                vec![1],
                false,
                KernelClass::Gather,
                0,
                bytes(0) + 2 * dy + bytes(1),
            ),
            // The rows of each position are added up.
            Op::Dispatch => single(
                vec![1],
                false,
                KernelClass::Gather,
                1,
                dy + bytes(0) + bytes(1),
            ),
            Op::GroupedLinear => {
                let flops = 2 * self.linear_products(operation);
                let class = KernelClass::MatrixProduct;
                let mut plan = self.affine(operation, style, false, [class, class], flops);
                plan.nodes
                    .iter_mut()
                    .for_each(|node| node.reads_inputs.push(1));
                plan
            }
            // A row's gradient is its position's times its weight, a weight's is the product of
            // its row and its position's gradient: each row meets the gradient of its position.
            Op::Combine => {
                let rows = self.first(operation).elements as u128;
                let factor = |k: usize| BackwardNode {
                    suffix: [".grad_0", ".grad_1"][k],
                    gradient: Gradient::Input,
                    reads_inputs: vec![1 - k, 2],
                    reads_output: false,
                    feeds: vec![k],
                    parameters: false,
                    kernels: vec![kernel(
                        KernelClass::Gather,
                        [rows, 2 * rows][k],
                        2 * bytes(0) + bytes(1) + bytes(2),
                    )],
                };
                BackwardPlan::of_both(needed, factor)
            }
        }
    }

    fn parameters_only(&self, pass_through: Vec<usize>, kernel: Kernel) -> BackwardPlan {
        BackwardPlan {
            pass_through,
            nodes: vec![BackwardNode {
                suffix: ".grad",
                gradient: Gradient::All,
                reads_inputs: vec![],
                reads_output: false,
                feeds: vec![],
                parameters: true,
                kernels: vec![kernel],
            }],
        }
    }

    /// Backward pass of a convolution or linear layer: the weight's gradient reads the input, the
    /// input's only the weight (which is fixed memory), and the bias's is a sum over the output
    /// gradient.
    fn affine(
        &self,
        operation: &Operation,
        style: BackwardStyle,
        bias: bool,
        [input_class, weight_class]: [KernelClass; 2],
        flops: u128,
    ) -> BackwardPlan {
        let x = self.first(operation);
        let dy = self.value(operation.output).bytes as u128;
        let moved = x.bytes as u128 + dy;
        let mut parameters = BackwardNode {
            suffix: ".grad_weight",
            gradient: Gradient::Parameters,
            reads_inputs: vec![0],
            reads_output: false,
            feeds: vec![],
            parameters: true,
            kernels: vec![kernel(
                weight_class,
                flops,
                moved + self.gradient_traffic(operation),
            )],
        };
        if bias {
            let sums = self.value(operation.output).elements as u128;
            parameters
                .kernels
                .push(kernel(KernelClass::Reduction, sums, dy));
        }
        let input = kernel(
            input_class,
            flops,
            moved + self.parameter_traffic(operation),
        );
        if !x.needs_gradient {
            if !style.split {
                parameters.suffix = ".grad";
            }
            return BackwardPlan::of(vec![parameters]);
        }
        if style.split {
            let input = BackwardNode {
                suffix: ".grad_input",
                gradient: Gradient::Input,
                reads_inputs: vec![],
                reads_output: false,
                feeds: vec![0],
                parameters: false,
                kernels: vec![input],
            };
            return BackwardPlan::of(vec![parameters, input]);
        }
        parameters.suffix = ".grad";
        parameters.gradient = Gradient::All;
        parameters.feeds = vec![0];
        parameters.kernels.push(input);
        BackwardPlan::of(vec![parameters])
    }
}

impl BackwardPlan {
    /// A node for each of two inputs whose gradient is needed.
    fn of_both(needed: impl Fn(usize) -> bool, node: impl Fn(usize) -> BackwardNode) -> Self {
        let inputs = [0, 1].into_iter().filter(|k| needed(*k));
        BackwardPlan::of(inputs.map(node).collect())
    }

    fn of(nodes: Vec<BackwardNode>) -> Self {
        BackwardPlan {
            nodes,
            ..BackwardPlan::default()
        }
    }
}

fn convolution_class(x: &TensorLayout, c: &Convolution, dense: KernelClass) -> KernelClass {
    if c.groups > 1 && c.groups == x.shape[1] {
        KernelClass::Depthwise
    } else {
        dense
    }
}

fn activation_flops(function: Activation) -> u128 {
    match function {
        Activation::Relu => 1,
        Activation::Relu6 => 2,
        Activation::Gelu => 12,
        Activation::Silu => 6,
        Activation::Tanh => 8,
    }
}
