//! The work of each operator: kernels of its forward pass, and the computations, inputs and costs
//! of its backward pass.

use super::builder::{Network, TensorLayout};
use super::cost::{Kernel, KernelClass};
use super::op::{Activation, Convolution, Heads, Op, Operation};
use crate::instance::Gradient;

/// Layout of backward passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BackwardStyle {
    /// Separate nodes for the parameter and input gradients of convolutions and linear layers.
    pub split: bool,
    /// A ReLU's gradient reads its input instead of its output.
    pub relu_reads_input: bool,
}

/// A node of an operator's backward pass. It always reads the operator's output gradient.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct BackwardNode {
    /// Suffix for the operator's name.
    pub suffix: &'static str,
    pub gradient: Gradient,
    /// Positions of the operator's inputs that it reads.
    pub reads_inputs: Vec<usize>,
    /// True if it reads the operator's output.
    pub reads_output: bool,
    /// Positions of the inputs with gradients made here; the output has them side by side.
    pub feeds: Vec<usize>,
    /// True if it makes the parameter gradients, which go to fixed memory.
    pub parameters: bool,
    pub kernels: Vec<Kernel>,
}

/// The backward pass of one operator.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct BackwardPlan {
    /// Inputs whose gradient is the output's gradient or a part of it, without computation.
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
    /// The literature calls this number the GMACs (or, loosely, GFLOPs) of a network; here it
    /// covers the whole batch.
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
            // Statistics, then normalisation: the input is read twice. The other normalisations
            // keep a row on chip.
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
            Op::Concat | Op::Expand | Op::PrependParameter => one(KernelClass::Copy, 0, moved),
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
            // Every score is read once; sorting by expert is a count and a scatter of choices.
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

    /// Multiply-adds of a convolution: every output element (input element if transposed) is
    /// multiplied with one group's channels times the window.
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

    /// Multiply-adds of an attention's products; the fused form skips the causally masked part.
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
            Op::FlashAttention(heads) => self.flash_products(operation, heads, [1, 1]),
            _ => 0,
        }
    }

    /// Multiply-adds of a fused attention that makes products of the extent of a query head, and of
    /// a value head, so many times each.
    fn flash_products(
        &self,
        operation: &Operation,
        heads: &Heads,
        [by_query, by_value]: [u128; 2],
    ) -> u128 {
        let keys = self.value(operation.inputs[1]).shape[1] as u128;
        // The output has the extent of the values.
        let [query, out] =
            [operation.inputs[0], operation.output].map(|x| self.value(x).elements as u128);
        (by_query * query + by_value * out) * keys / if heads.causal { 2 } else { 1 }
    }

    /// The backward pass of an operator. Inputs that need no gradient are omitted from `feeds` and
    /// `pass_through`, together with the kernels for them; a node without any result is omitted.
    pub(super) fn backward_plan(
        &self,
        operation: &Operation,
        style: BackwardStyle,
    ) -> BackwardPlan {
        let of = Gradients::of(self, operation);
        let (dy, count) = (of.dy, of.count);
        let bytes = |k: usize| of.bytes(k);
        match &operation.op {
            Op::View | Op::Slice(_) | Op::Add | Op::Concat => of.passed_through(),
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
            Op::Linear { bias } => self.product(operation, style, *bias),
            Op::GroupedLinear => {
                let mut plan = self.product(operation, style, false);
                let nodes = plan.nodes.iter_mut();
                nodes.for_each(|node| node.reads_inputs.push(1));
                plan
            }
            // Input and gradient are read for the sums and, in a batch norm, once more for the
            // result.
            Op::BatchNorm => of.normalisation(5),
            Op::LayerNorm | Op::RmsNorm => of.normalisation(3),
            Op::Activation(f) => of.activation(*f, style),
            Op::Softmax => of.output_alone(KernelClass::Reduction, 4, 3 * dy),
            Op::MaxPool(_) => of.single(&[0], KernelClass::MaxPoolGradient, 1, 2 * bytes(0) + dy),
            Op::Unpool => of.single(&[1], KernelClass::Gather, 0, 2 * bytes(0) + bytes(1)),
            Op::AveragePool(_) | Op::AdaptiveAveragePool | Op::Upsample => {
                of.single(&[], KernelClass::Reduction, 7, bytes(0) + dy)
            }
            Op::Multiply => of.factors(&[], KernelClass::Elementwise, [count; 2], 3 * dy),
            Op::Dropout => of.single(&[1], KernelClass::Elementwise, 2, 2 * dy + bytes(1)),
            // The rows' gradients are scattered into a dense gradient of the table.
            Op::Embedding => {
                let traffic = 2 * dy + self.gradient_traffic(operation);
                let kernel = kernel(KernelClass::Gather, count, traffic);
                BackwardPlan::of_parameters(Gradient::All, vec![], kernel)
            }
            Op::AddParameter => of.added_parameter(dy),
            Op::PrependParameter => {
                let rows = self.value(operation.output).shape[1].max(1);
                of.added_parameter(dy / rows as u128)
            }
            Op::Rotary => of.single(&[], KernelClass::Elementwise, 6, 2 * dy),
            Op::Expand => of.single(&[], KernelClass::Reduction, 1, bytes(0) + dy),
            Op::AttentionScores(_) | Op::AttentionContext(_) => {
                let flops = 2 * self.attention_products(operation);
                let traffic = dy + bytes(0) + bytes(1);
                of.factors(&[], KernelClass::MatrixProduct, [flops; 2], traffic)
            }
            Op::FlashAttention(heads) => of.flash_attention(heads),
            // Zero except at the chosen experts.
            Op::ChosenScores => {
                of.single(&[1], KernelClass::Gather, 0, bytes(0) + 2 * dy + bytes(1))
            }
            // The rows of each position are summed.
            Op::Dispatch => of.single(&[1], KernelClass::Gather, 1, dy + bytes(0) + bytes(1)),
            // A row's gradient is its position's gradient times its weight. A weight's gradient is
            // the product of its row and its position's gradient. Each row is combined with the
            // gradient of its position.
            Op::Combine => {
                let rows = self.first(operation).elements as u128;
                let traffic = 2 * bytes(0) + bytes(1) + bytes(2);
                of.factors(&[2], KernelClass::Gather, [rows, 2 * rows], traffic)
            }
        }
    }

    /// Backward pass of a matrix product.
    fn product(&self, operation: &Operation, style: BackwardStyle, bias: bool) -> BackwardPlan {
        let flops = 2 * self.linear_products(operation);
        let class = KernelClass::MatrixProduct;
        self.affine(operation, style, bias, [class, class], flops)
    }

    /// Backward pass of a convolution or linear layer. The weight's gradient reads the input. The
    /// input's gradient reads only the weight (which is fixed memory). The bias's gradient is a sum
    /// over the output gradient.
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
        let weight = kernel(
            weight_class,
            flops,
            moved + self.gradient_traffic(operation),
        );
        let mut parameters = BackwardNode {
            reads_inputs: vec![0],
            parameters: true,
            ..BackwardNode::new(".grad_weight", Gradient::Parameters, weight)
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
                feeds: vec![0],
                ..BackwardNode::new(".grad_input", Gradient::Input, input)
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

/// The gradients of one operator's inputs and parameters.
struct Gradients<'a> {
    network: &'a Network,
    operation: &'a Operation,
    /// Bytes of the output's gradient.
    dy: u128,
    /// Elements of the output.
    count: u128,
}

impl<'a> Gradients<'a> {
    fn of(network: &'a Network, operation: &'a Operation) -> Self {
        let out = network.value(operation.output);
        Gradients {
            network,
            operation,
            dy: out.bytes as u128,
            count: out.elements as u128,
        }
    }

    fn input(&self, k: usize) -> &TensorLayout {
        self.network.value(self.operation.inputs[k])
    }

    fn bytes(&self, k: usize) -> u128 {
        self.input(k).bytes as u128
    }

    /// Inputs that need a gradient.
    fn needed(&self) -> Vec<usize> {
        let inputs = 0..self.operation.inputs.len();
        inputs.filter(|k| self.input(*k).needs_gradient).collect()
    }

    /// Every input's gradient equals the output's gradient or is a part of it.
    fn passed_through(&self) -> BackwardPlan {
        BackwardPlan {
            pass_through: self.needed(),
            ..BackwardPlan::default()
        }
    }

    /// One node for the gradient of the first input.
    fn first_input(&self, node: BackwardNode) -> BackwardPlan {
        match self.input(0).needs_gradient {
            true => BackwardPlan::of(vec![BackwardNode {
                feeds: vec![0],
                ..node
            }]),
            false => BackwardPlan::default(),
        }
    }

    /// One node for the gradient of the first input, which reads the inputs `reads`.
    fn single(
        &self,
        reads: &[usize],
        class: KernelClass,
        flops_per_element: u128,
        traffic: u128,
    ) -> BackwardPlan {
        let kernel = kernel(class, flops_per_element * self.count, traffic);
        self.first_input(BackwardNode {
            reads_inputs: reads.to_vec(),
            ..BackwardNode::new(".grad", Gradient::All, kernel)
        })
    }

    /// One node for the gradient of the first input, which reads the output.
    fn output_alone(
        &self,
        class: KernelClass,
        flops_per_element: u128,
        traffic: u128,
    ) -> BackwardPlan {
        let kernel = kernel(class, flops_per_element * self.count, traffic);
        self.first_input(BackwardNode {
            reads_output: true,
            ..BackwardNode::new(".grad", Gradient::All, kernel)
        })
    }

    /// A node for each of the first two inputs that needs a gradient; it reads the other one and
    /// `also`.
    fn factors(
        &self,
        also: &[usize],
        class: KernelClass,
        flops: [u128; 2],
        traffic: u128,
    ) -> BackwardPlan {
        let node = |k: usize| {
            let kernel = kernel(class, flops[k], traffic);
            BackwardNode {
                reads_inputs: [&[1 - k], also].concat(),
                feeds: vec![k],
                ..BackwardNode::new([".grad_0", ".grad_1"][k], Gradient::Input, kernel)
            }
        };
        let inputs = self.needed().into_iter().filter(|k| *k < 2);
        BackwardPlan::of(inputs.map(node).collect())
    }

    /// One node for input and parameters; `passes` counts reads and writes of a tensor.
    fn normalisation(&self, passes: u128) -> BackwardPlan {
        let traffic = passes * self.dy;
        let kernel = kernel(KernelClass::Normalisation, 11 * self.count, traffic);
        let mut needed = self.needed();
        needed.retain(|k| *k == 0);
        BackwardPlan::of(vec![BackwardNode {
            reads_inputs: vec![0],
            feeds: needed,
            parameters: true,
            ..BackwardNode::new(".grad", Gradient::All, kernel)
        }])
    }

    fn activation(&self, function: Activation, style: BackwardStyle) -> BackwardPlan {
        let reads_output = match function {
            Activation::Relu | Activation::Relu6 => !style.relu_reads_input,
            Activation::Tanh => true,
            Activation::Gelu | Activation::Silu => false,
        };
        let (flops, traffic) = (2 * activation_flops(function), 3 * self.dy);
        match reads_output {
            true => self.output_alone(KernelClass::Elementwise, flops, traffic),
            false => self.single(&[0], KernelClass::Elementwise, flops, traffic),
        }
    }

    /// Backward pass of an added or prepended parameter: its gradient reads `read` bytes of the
    /// output's gradient.
    fn added_parameter(&self, read: u128) -> BackwardPlan {
        let traffic = read + self.network.gradient_traffic(self.operation);
        let kernel = kernel(KernelClass::Reduction, self.count, traffic);
        BackwardPlan::of_parameters(Gradient::Parameters, self.needed(), kernel)
    }

    /// Five products instead of two: the scores are recomputed (FlashAttention, section 3.1).
    /// Three have the extent of a query head, two the extent of a value head.
    fn flash_attention(&self, heads: &Heads) -> BackwardPlan {
        let network = self.network;
        let flops = 2 * network.flash_products(self.operation, heads, [3, 2]);
        let inputs = self.network.inputs(self.operation);
        let inputs: u128 = inputs.map(|x| x.bytes as u128).sum();
        let traffic = 2 * inputs + 2 * self.dy;
        let kernel = kernel(KernelClass::FusedAttention, flops, traffic);
        let mut needed = self.needed();
        needed.retain(|k| *k < 3);
        BackwardPlan::of(vec![BackwardNode {
            reads_inputs: vec![0, 1, 2],
            reads_output: true,
            feeds: needed,
            ..BackwardNode::new(".grad", Gradient::All, kernel)
        }])
    }
}

impl BackwardNode {
    /// A node of one kernel, without inputs or gradients yet.
    fn new(suffix: &'static str, gradient: Gradient, kernel: Kernel) -> Self {
        BackwardNode {
            suffix,
            gradient,
            reads_inputs: Vec::new(),
            reads_output: false,
            feeds: Vec::new(),
            parameters: false,
            kernels: vec![kernel],
        }
    }
}

impl BackwardPlan {
    /// One node for the parameters, in addition to inputs whose gradient is the output's.
    fn of_parameters(gradient: Gradient, pass_through: Vec<usize>, kernel: Kernel) -> Self {
        BackwardPlan {
            pass_through,
            nodes: vec![BackwardNode {
                parameters: true,
                ..BackwardNode::new(".grad", gradient, kernel)
            }],
        }
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
