//! Operators of a network and their hyper-parameters.

use super::tensor::format_shape;
use super::{Tensor, ZooError};

/// Hyper-parameters of a convolution over every spatial axis of its input (2 or 3 of them, or any
/// other number).
///
/// ```
/// use remat_instances::zoo::Convolution;
/// let stem = Convolution::new(64, 7).stride(2).padding(3).bias(false);
/// assert_eq!((stem.out_channels, stem.kernel, stem.groups), (64, 7, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Convolution {
    /// Output channels.
    pub out_channels: u64,
    /// Kernel extent along each spatial axis.
    pub kernel: u64,
    /// Stride along each spatial axis.
    pub stride: u64,
    /// Zero padding on both ends of each spatial axis.
    pub padding: u64,
    /// Dilation.
    pub dilation: u64,
    /// Groups; equal to the input channels for a depthwise convolution.
    pub groups: u64,
    /// True if there is a bias.
    pub bias: bool,
    /// True if it is a transposed convolution (the gradient of one, used to upsample).
    pub transposed: bool,
    /// The only spatial axis with the given kernel and padding; the others have a kernel of 1 and
    /// no padding. `None` for all axes.
    pub along: Option<usize>,
}

impl Convolution {
    /// Stride 1, no padding, no dilation, one group, with bias.
    pub fn new(out_channels: u64, kernel: u64) -> Self {
        Convolution {
            out_channels,
            kernel,
            stride: 1,
            padding: 0,
            dilation: 1,
            groups: 1,
            bias: true,
            transposed: false,
            along: None,
        }
    }

    /// A transposed convolution with a stride.
    pub fn transposed(out_channels: u64, kernel: u64, stride: u64) -> Self {
        Convolution {
            transposed: true,
            ..Convolution::new(out_channels, kernel).stride(stride)
        }
    }

    /// Sets the stride.
    pub fn stride(self, stride: u64) -> Self {
        Convolution { stride, ..self }
    }

    /// Sets the padding.
    pub fn padding(self, padding: u64) -> Self {
        Convolution { padding, ..self }
    }

    /// Sets the dilation.
    pub fn dilation(self, dilation: u64) -> Self {
        Convolution { dilation, ..self }
    }

    /// Sets the number of groups.
    pub fn groups(self, groups: u64) -> Self {
        Convolution { groups, ..self }
    }

    /// Sets whether there is a bias.
    pub fn bias(self, bias: bool) -> Self {
        Convolution { bias, ..self }
    }

    /// Sets the only spatial axis with the given kernel and padding.
    ///
    /// ```
    /// use remat_instances::zoo::Convolution;
    /// let row = Convolution::new(192, 7).padding(3).along(1);
    /// assert_eq!([0, 1].map(|axis| row.kernel_at(axis)), [1, 7]);
    /// assert_eq!([0, 1].map(|axis| row.padding_at(axis)), [0, 3]);
    /// ```
    pub fn along(self, axis: usize) -> Self {
        Convolution {
            along: Some(axis),
            ..self
        }
    }

    /// Kernel extent along a spatial axis.
    pub fn kernel_at(&self, axis: usize) -> u64 {
        match self.along {
            Some(only) if only != axis => 1,
            _ => self.kernel,
        }
    }

    /// Zero padding on both ends of a spatial axis.
    pub fn padding_at(&self, axis: usize) -> u64 {
        match self.along {
            Some(only) if only != axis => 0,
            _ => self.padding,
        }
    }

    /// Output extent along one axis, or the reason why the window does not fit.
    fn extent(&self, axis: usize, input: u64) -> Result<u64, Misfit> {
        let reach = self
            .kernel_at(axis)
            .checked_sub(1)
            .and_then(|k| k.checked_mul(self.dilation))
            .ok_or(Misfit::Overflow)?;
        let both = self.padding_at(axis).checked_mul(2);
        let both = both.ok_or(Misfit::Overflow)?;
        if self.transposed {
            let spread = input
                .checked_sub(1)
                .and_then(|d| d.checked_mul(self.stride))
                .and_then(|d| d.checked_add(reach + 1))
                .ok_or(Misfit::Overflow)?;
            return match spread.checked_sub(both) {
                Some(extent) if extent > 0 => Ok(extent),
                _ => Err(Misfit::Vanishes),
            };
        }
        let padded = input.checked_add(both).ok_or(Misfit::Overflow)?;
        match padded.checked_sub(reach + 1) {
            Some(room) => Ok(room / self.stride + 1),
            None => Err(Misfit::Vanishes),
        }
    }
}

/// Hyper-parameters of a pooling window, the same along every spatial axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pooling {
    /// Window extent.
    pub kernel: u64,
    /// Stride.
    pub stride: u64,
    /// Padding on both ends.
    pub padding: u64,
    /// True if a last, partly filled window counts (if it starts inside the input).
    pub ceil: bool,
}

impl Pooling {
    /// No padding, partly filled windows dropped.
    pub fn new(kernel: u64, stride: u64) -> Self {
        Pooling {
            kernel,
            stride,
            padding: 0,
            ceil: false,
        }
    }

    /// Sets the padding.
    pub fn padding(self, padding: u64) -> Self {
        Pooling { padding, ..self }
    }

    /// Counts partly filled windows.
    pub fn ceil(self) -> Self {
        Pooling { ceil: true, ..self }
    }

    fn extent(&self, input: u64) -> Result<u64, Misfit> {
        let padded = self
            .padding
            .checked_mul(2)
            .and_then(|both| input.checked_add(both))
            .ok_or(Misfit::Overflow)?;
        let room = match padded.checked_sub(self.kernel) {
            Some(room) => room,
            None if self.ceil && input > 0 => return Ok(1),
            None => return Err(Misfit::Vanishes),
        };
        if !self.ceil {
            return Ok(room / self.stride + 1);
        }
        let extent = room.div_ceil(self.stride) + 1;
        // A window that starts in the padding on the right covers no input.
        let starts_outside = (extent - 1) * self.stride >= input + self.padding;
        Ok(extent - u64::from(starts_outside))
    }
}

/// Reason for a window not to fit.
enum Misfit {
    Vanishes,
    Overflow,
}

/// An elementwise function of one tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// min(max(x, 0), 6).
    Relu6,
    /// Gaussian error linear unit.
    Gelu,
    /// x times the logistic function of x, also called swish.
    Silu,
    /// Hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// Operator name.
    pub fn name(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Relu6 => "relu6",
            Activation::Gelu => "gelu",
            Activation::Silu => "silu",
            Activation::Tanh => "tanh",
        }
    }
}

/// Shape of one attention: query heads, key and value heads (fewer for grouped queries), causal or
/// not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heads {
    /// Query heads.
    pub query: u64,
    /// Key and value heads; divides `query`.
    pub key_value: u64,
    /// True if a position attends only to itself and earlier positions.
    pub causal: bool,
}

/// A range along one axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The axis.
    pub axis: usize,
    /// First position.
    pub start: u64,
    /// Number of positions.
    pub length: u64,
}

/// An operator.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Convolution, plain or transposed; parameters: weight, and bias if there is one.
    Convolution(Convolution),
    /// Affine map of the last axis; parameters: weight, and bias if there is one.
    Linear {
        /// True if there is a bias.
        bias: bool,
    },
    /// Batch normalisation over all axes but the channels; parameters: scale, shift.
    BatchNorm,
    /// Layer normalisation of the last axis; parameters: scale, shift.
    LayerNorm,
    /// Root-mean-square normalisation of the last axis; parameter: scale.
    RmsNorm,
    /// An elementwise function.
    Activation(Activation),
    /// Softmax over the last axis.
    Softmax,
    /// Max pooling.
    MaxPool(Pooling),
    /// Positions of the maxima, for unpooling.
    PoolIndices(Pooling),
    /// Scatters its first input to the positions in the second.
    Unpool,
    /// Average pooling.
    AveragePool(Pooling),
    /// Average pooling to the output's extents.
    AdaptiveAveragePool,
    /// Linear interpolation to the output's extents.
    Upsample,
    /// Sum of two tensors.
    Add,
    /// Elementwise product of two tensors.
    Multiply,
    /// Concatenation along axis 1.
    Concat,
    /// The one entry along an axis, repeated to the output's extent.
    Expand,
    /// Same elements, other shape.
    View,
    /// A part of the elements.
    Slice(Slice),
    /// A random mask, drawn from a seed.
    DropoutMask,
    /// Product of its first input with the mask in the second.
    Dropout,
    /// Rows of a table (the parameter) for ids.
    Embedding,
    /// Adds a parameter that is broadcast over the batch.
    AddParameter,
    /// Puts a parameter vector before the first position.
    PrependParameter,
    /// Rotary position embedding.
    Rotary,
    /// Query times key: inputs query, key.
    AttentionScores(Heads),
    /// Probabilities times value: inputs probabilities, value.
    AttentionContext(Heads),
    /// Inputs query, key, value.
    FlashAttention(Heads),
    /// The experts of each position, with the largest scores along the last axis, and the order of
    /// all choices by expert.
    Route {
        /// Number of experts of a position.
        top_k: u64,
    },
    /// Scores of the chosen experts: inputs scores, routes.
    ChosenScores,
    /// A row for each choice of an expert, sorted by expert: inputs stream, routes.
    Dispatch,
    /// Linear map of each row by its expert's matrix: inputs rows, routes; parameter: the matrices.
    GroupedLinear,
    /// Weighted sum of the rows of each position: inputs rows, weights, routes.
    Combine,
    /// Cross entropy of softmax; its output has the logits' gradients.
    CrossEntropy,
}

impl Op {
    /// Operator name of its node; `rank` is the number of axes of its output.
    pub fn name(&self, rank: usize) -> String {
        let spatial = rank.saturating_sub(2);
        match self {
            Op::Convolution(c) if c.transposed => format!("conv_transpose{spatial}d"),
            Op::Convolution(_) => format!("conv{spatial}d"),
            Op::Linear { .. } => "linear".into(),
            Op::BatchNorm => "batch_norm".into(),
            Op::LayerNorm => "layer_norm".into(),
            Op::RmsNorm => "rms_norm".into(),
            Op::Activation(f) => f.name().into(),
            Op::Softmax => "softmax".into(),
            Op::MaxPool(_) => format!("max_pool{spatial}d"),
            Op::PoolIndices(_) => format!("max_pool{spatial}d_indices"),
            Op::Unpool => format!("max_unpool{spatial}d"),
            Op::AveragePool(_) => format!("avg_pool{spatial}d"),
            Op::AdaptiveAveragePool => format!("adaptive_avg_pool{spatial}d"),
            Op::Upsample => "upsample".into(),
            Op::Add => "add".into(),
            Op::Multiply => "mul".into(),
            Op::Concat => "concat".into(),
            Op::Expand => "expand".into(),
            Op::View => "view".into(),
            Op::Slice(_) => "slice".into(),
            Op::DropoutMask => "dropout_mask".into(),
            Op::Dropout => "dropout".into(),
            Op::Embedding => "embedding".into(),
            Op::AddParameter => "add_parameter".into(),
            Op::PrependParameter => "prepend_parameter".into(),
            Op::Rotary => "rotary".into(),
            Op::AttentionScores(_) => "attention_scores".into(),
            Op::AttentionContext(_) => "attention_context".into(),
            Op::FlashAttention(_) => "flash_attention".into(),
            Op::Route { .. } => "route".into(),
            Op::ChosenScores => "chosen_scores".into(),
            Op::Dispatch => "dispatch".into(),
            Op::GroupedLinear => "grouped_linear".into(),
            Op::Combine => "combine".into(),
            Op::CrossEntropy => "cross_entropy".into(),
        }
    }

    /// Returns whether the output shares its first input's memory (no node, no cost, no bytes).
    pub fn is_view(&self) -> bool {
        matches!(self, Op::View | Op::Slice(_))
    }

    /// Returns whether it blocks gradients: masks and positions.
    pub fn is_constant(&self) -> bool {
        matches!(
            self,
            Op::DropoutMask | Op::PoolIndices(_) | Op::Route { .. }
        )
    }
}

/// One application of an operator.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// Name of its node.
    pub name: String,
    /// The operator.
    pub op: Op,
    /// Input tensors, in the operator's order.
    pub inputs: Vec<Tensor>,
    /// Output tensor.
    pub output: Tensor,
    /// Indices into the network's parameters.
    pub parameters: Vec<usize>,
}

/// Output shape of a convolution.
pub(super) fn convolved(
    layer: &str,
    shape: &[u64],
    convolution: &Convolution,
) -> Result<Vec<u64>, ZooError> {
    if shape.len() < 3 {
        return Err(misfit(
            layer,
            shape,
            "a convolution needs batch, channels and spatial axes",
            "give an input of at least 3 axes",
        ));
    }
    let groups = convolution.groups;
    let divides = |channels: u64| groups > 0 && channels.is_multiple_of(groups);
    if !divides(shape[1]) || !divides(convolution.out_channels) {
        return Err(misfit(
            layer,
            shape,
            format!(
                "{groups} groups do not divide {} input and {} output channels",
                shape[1], convolution.out_channels
            ),
            "choose a common divisor",
        ));
    }
    if convolution.kernel == 0 || convolution.stride == 0 || convolution.dilation == 0 {
        let problem = "kernel, stride and dilation are at least 1";
        return Err(misfit(layer, shape, problem, "correct them"));
    }
    let mut out = vec![shape[0], convolution.out_channels];
    if convolution
        .along
        .is_some_and(|axis| axis + 2 >= shape.len())
    {
        let problem = "there is no such spatial axis";
        return Err(misfit(layer, shape, problem, "count them from 0"));
    }
    for (axis, d) in shape[2..].iter().enumerate() {
        let extent = convolution.extent(axis, *d);
        out.push(fit(layer, shape, convolution.kernel, extent)?);
    }
    Ok(out)
}

/// Output shape of a pooling.
pub(super) fn pooled(layer: &str, shape: &[u64], pooling: &Pooling) -> Result<Vec<u64>, ZooError> {
    if shape.len() < 3 || pooling.kernel == 0 || pooling.stride == 0 {
        let problem = "pooling needs spatial axes, a window and a stride";
        return Err(misfit(layer, shape, problem, "give all three"));
    }
    let mut out = shape[..2].to_vec();
    for d in &shape[2..] {
        out.push(fit(layer, shape, pooling.kernel, pooling.extent(*d))?);
    }
    Ok(out)
}

fn fit(
    layer: &str,
    shape: &[u64],
    kernel: u64,
    extent: Result<u64, Misfit>,
) -> Result<u64, ZooError> {
    extent.map_err(|why| match why {
        Misfit::Vanishes => misfit(
            layer,
            shape,
            format!("the output shrinks below 1 pixel under a window of {kernel}"),
            "make the input size larger",
        ),
        Misfit::Overflow => ZooError::TooLarge {
            at: layer.into(),
            what: "extent",
        },
    })
}

/// A layer that cannot be applied to its input.
pub(super) fn misfit(
    layer: &str,
    shape: &[u64],
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> ZooError {
    ZooError::Layer {
        layer: layer.into(),
        input: format_shape(shape),
        problem: problem.into(),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(input: u64, convolution: Convolution) -> Option<u64> {
        convolved("c", &[1, 4, input], &convolution)
            .ok()
            .map(|shape| shape[2])
    }

    fn pool(input: u64, pooling: Pooling) -> Option<u64> {
        pooled("p", &[1, 4, input], &pooling)
            .ok()
            .map(|shape| shape[2])
    }

    /// Compares with the count of window positions that fit.
    #[test]
    fn extents_count_window_positions() {
        for input in 1..20 {
            for kernel in 1..6 {
                for stride in 1..4 {
                    for padding in 0..3 {
                        for dilation in 1..3 {
                            let c = Convolution::new(4, kernel)
                                .stride(stride)
                                .padding(padding)
                                .dilation(dilation);
                            let last = |start: u64| start + (kernel - 1) * dilation;
                            let fits = (0..)
                                .step_by(stride as usize)
                                .take_while(|start| last(*start) < input + 2 * padding)
                                .count() as u64;
                            assert_eq!(conv(input, c), (fits > 0).then_some(fits), "{input} {c:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn transposed_undoes_strided() {
        for input in 1..10 {
            let up = conv(input, Convolution::transposed(4, 4, 2).padding(1));
            assert_eq!(up, Some(2 * input));
            assert_eq!(
                conv(2 * input, Convolution::new(4, 4).stride(2).padding(1)),
                Some(input)
            );
        }
    }

    /// GoogLeNet's pools: 112 -> 56 -> 28 -> 14 -> 7 with partly filled windows.
    #[test]
    fn ceil_mode() {
        assert_eq!(pool(112, Pooling::new(3, 2)), Some(55));
        assert_eq!(pool(112, Pooling::new(3, 2).ceil()), Some(56));
        assert_eq!(pool(56, Pooling::new(3, 2).ceil()), Some(28));
        assert_eq!(pool(14, Pooling::new(2, 2).ceil()), Some(7));
        assert_eq!(pool(28, Pooling::new(3, 1).padding(1).ceil()), Some(28));
        // A window starting at 4 would cover only padding.
        assert_eq!(pool(3, Pooling::new(2, 2).padding(1).ceil()), Some(2));
        assert_eq!(pool(1, Pooling::new(2, 2)), None);
    }

    #[test]
    fn misfits_name_the_layer() {
        let error = convolved("stem", &[8, 3, 4, 4], &Convolution::new(64, 7)).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("layer stem: the output shrinks below 1 pixel")
        );
        assert!(convolved("g", &[8, 3, 4, 4], &Convolution::new(64, 1).groups(2)).is_err());
        assert!(
            convolved(
                "s",
                &[8, 3, u64::MAX, 4],
                &Convolution::new(64, 1).padding(1)
            )
            .is_err()
        );
    }
}
