//! Forward and backward computation of every operator of the zoo, as explicit calls without
//! autograd.
//!
//! | file | operators |
//! |---|---|
//! | `affine.rs` | convolutions, linear layers, embeddings, added and prepended parameters |
//! | `norm.rs` | batch, layer and root-mean-square normalisation |
//! | `pointwise.rs` | activations, dropout, products, sums |
//! | `pool.rs` | pooling, unpooling, upsampling |
//! | `attention.rs` | softmax, scores and context, fused attention, rotary positions |
//! | `experts.rs` | routes, rows and products of a mixture of experts |
//! | `loss.rs` | cross entropy |
//! | `compact.rs` | encodings of ReLUs and max pooling for backward passes, in bits and bytes |

mod affine;
mod attention;
mod compact;
mod experts;
mod loss;
mod norm;
mod pointwise;
mod pool;
#[cfg(test)]
mod tests;

use crate::error::ExecError;
use remat_instances::zoo::{Activation, Network, Op, Operation};
use tch::Tensor;

/// Data of an operator's call, forward and backward.
pub struct Call<'a> {
    pub network: &'a Network,
    pub operation: &'a Operation,
    /// Inputs; `None` for an input that is not in memory.
    pub inputs: Vec<Option<Tensor>>,
    /// The operator's own output, slot by slot; backward only, if it is in memory.
    pub output: Option<&'a [Tensor]>,
    /// Content of its by-product; backward only, if the implementation reads it.
    pub compact: Option<&'a Tensor>,
    /// Positions of maxima, left by a pooling for its by-product.
    pub positions: Option<Tensor>,
    pub parameters: Vec<&'a Tensor>,
    /// Small tensors that stay from the forward to the backward pass, outside of registers.
    pub aside: &'a mut Vec<Tensor>,
    /// Running mean and variance, if this computation updates them: the first one of a batch norm
    /// in a training step.
    pub running: Option<&'a [Tensor; 2]>,
    /// Device on which tensors are made.
    pub place: tch::Device,
    /// Seed of the operator's random numbers, the same in every run.
    pub seed: i64,
}

/// Gradients that a backward computation makes.
#[derive(Default)]
pub struct Gradients {
    /// Gradients of the requested inputs, in that order.
    pub inputs: Vec<Tensor>,
    /// Gradients of the parameters, in the operator's order.
    pub parameters: Vec<Tensor>,
}

/// Gradients to make.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Inputs, by position.
    pub inputs: &'a [usize],
    /// True if the gradients of all parameters are made.
    pub parameters: bool,
}

impl Wanted<'_> {
    fn input(&self, k: usize) -> bool {
        self.inputs.contains(&k)
    }
}

impl Call<'_> {
    fn input(&self, k: usize) -> Result<&Tensor, ExecError> {
        let tensor = self.inputs.get(k).and_then(Option::as_ref);
        tensor.ok_or_else(|| self.problem(format!("input {k} is not in memory")))
    }

    fn saved(&self, slot: usize) -> Result<&Tensor, ExecError> {
        let tensor = self.output.and_then(|output| output.get(slot));
        tensor.ok_or_else(|| self.problem(format!("slot {slot} of its output is not in memory")))
    }

    fn compact(&self) -> Result<&Tensor, ExecError> {
        let tensor = self.compact;
        tensor.ok_or_else(|| self.problem("its by-product is not in memory".into()))
    }

    fn aside(&self, k: usize) -> Result<&Tensor, ExecError> {
        let tensor = self.aside.get(k);
        tensor.ok_or_else(|| self.problem("its forward pass has not run".into()))
    }

    fn problem(&self, what: String) -> ExecError {
        ExecError::Mismatch(format!("{}: {what}", self.operation.name))
    }

    /// Shape of the output.
    fn shape(&self) -> Vec<i64> {
        sizes(self.network.shape(self.operation.output))
    }

    /// Extents of the output's spatial axes.
    fn spatial(&self) -> Vec<i64> {
        self.shape().split_off(2)
    }

    /// Shape of an input, in memory or not.
    fn input_shape(&self, k: usize) -> Vec<i64> {
        sizes(self.network.shape(self.operation.inputs[k]))
    }
}

/// A shape as libtorch takes it.
pub fn sizes(shape: &[u64]) -> Vec<i64> {
    shape.iter().map(|d| *d as i64).collect()
}

/// The tensors of an operator's output.
///
/// # Errors
/// [`ExecError`] if libtorch refuses or an input is missing.
pub fn forward(call: &mut Call<'_>) -> Result<Vec<Tensor>, ExecError> {
    let one = |tensor: Result<Tensor, ExecError>| Ok(vec![tensor?]);
    match &call.operation.op {
        Op::Convolution(c) => one(affine::convolution(call, c)),
        Op::Linear { .. } => one(affine::linear(call)),
        Op::Embedding => one(affine::embedding(call)),
        Op::AddParameter => one(affine::add_parameter(call)),
        Op::PrependParameter => one(affine::prepend(call)),
        Op::BatchNorm => one(norm::batch_norm(call)),
        Op::LayerNorm => one(norm::layer_norm(call)),
        Op::RmsNorm => one(norm::rms_norm(call)),
        Op::Activation(f) => one(pointwise::activation(call, *f)),
        Op::Add => Ok(vec![call.input(0)?.f_add(call.input(1)?)?]),
        Op::Multiply => Ok(vec![call.input(0)?.f_mul(call.input(1)?)?]),
        Op::Concat => one(pointwise::concat(call)),
        Op::DropoutMask => one(pointwise::dropout_mask(call)),
        Op::Dropout => one(pointwise::dropout(call.input(0)?, call.input(1)?)),
        Op::MaxPool(p) => {
            let (y, positions) = pool::max_pool(call.input(0)?, p)?;
            call.positions = Some(positions);
            Ok(vec![y])
        }
        Op::PoolIndices(p) => Ok(vec![pool::max_pool(call.input(0)?, p)?.1]),
        Op::AveragePool(p) => one(pool::average(call, p)),
        Op::AdaptiveAveragePool => one(pool::adaptive(call)),
        Op::Upsample => one(pool::upsample(call)),
        Op::Unpool => one(pool::unpool(call)),
        Op::Softmax => Ok(vec![call.input(0)?.f_softmax(-1, None)?]),
        Op::Expand => one(pointwise::expand(call)),
        Op::Rotary => one(attention::rotary(call.input(0)?, false)),
        Op::AttentionScores(heads) => one(attention::scores(call, heads)),
        Op::AttentionContext(heads) => one(attention::context(call, heads)),
        Op::FlashAttention(heads) => attention::fused(call, heads),
        Op::Route { top_k } => one(experts::route(call, *top_k)),
        Op::ChosenScores => one(experts::chosen(call)),
        Op::Dispatch => one(experts::dispatch(call)),
        Op::GroupedLinear => one(experts::grouped_linear(call)),
        Op::Combine => one(experts::combine(call)),
        Op::CrossEntropy => loss::cross_entropy(call),
        Op::View | Op::Slice(_) => Err(call.problem("a view is no node".into())),
    }
}

/// Makes the by-product that an operator's backward pass can read in place of its input or output,
/// from [`forward`]'s output.
///
/// # Errors
/// As [`forward`].
pub fn by_product(call: &mut Call<'_>) -> Result<Vec<Tensor>, ExecError> {
    match &call.operation.op {
        Op::Activation(f @ (Activation::Relu | Activation::Relu6)) => {
            Ok(vec![compact::mask(call.saved(0)?, *f)?])
        }
        Op::MaxPool(p) => Ok(vec![compact::places(call, p)?]),
        _ => Err(call.problem("has no by-product".into())),
    }
}

/// Gradients of an operator's inputs and parameters from its output's gradient.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    call: &mut Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let one = |tensor: Result<Tensor, ExecError>| {
        Ok(Gradients {
            inputs: vec![tensor?],
            parameters: vec![],
        })
    };
    match &call.operation.op {
        Op::Convolution(c) => affine::convolution_backward(call, c, dy, wanted),
        Op::Linear { bias } => affine::linear_backward(call, *bias, dy, wanted),
        Op::Embedding => affine::embedding_backward(call, dy),
        Op::AddParameter => affine::add_parameter_backward(call, dy),
        Op::PrependParameter => affine::prepend_backward(dy),
        Op::BatchNorm => norm::batch_norm_backward(call, dy, wanted),
        Op::LayerNorm => norm::layer_norm_backward(call, dy, wanted),
        Op::RmsNorm => norm::rms_norm_backward(call, dy, wanted),
        Op::Activation(f) => one(pointwise::activation_backward(call, *f, dy)),
        Op::Multiply => {
            let other = |k: &usize| Ok(dy.f_mul(call.input(1 - *k)?)?);
            let inputs = wanted.inputs.iter().map(other);
            Ok(Gradients {
                inputs: inputs.collect::<Result<_, ExecError>>()?,
                parameters: vec![],
            })
        }
        Op::Dropout => one(pointwise::dropout(dy, call.input(1)?)),
        Op::MaxPool(p) => one(pool::max_pool_backward(call, p, dy)),
        Op::AveragePool(p) => one(pool::average_backward(call, p, dy)),
        Op::AdaptiveAveragePool => one(pool::adaptive_backward(call, dy)),
        Op::Upsample => one(pool::upsample_backward(call, dy)),
        Op::Unpool => one(pool::unpool_backward(call, dy)),
        Op::Softmax => {
            let y = call.saved(0)?;
            one(Tensor::f_internal_softmax_backward_data(dy, y, -1, dy.kind()).map_err(Into::into))
        }
        Op::Expand => one(pointwise::expand_backward(call, dy)),
        Op::Rotary => one(attention::rotary(dy, true)),
        Op::AttentionScores(heads) => attention::scores_backward(call, heads, dy, wanted),
        Op::AttentionContext(heads) => attention::context_backward(call, heads, dy, wanted),
        Op::FlashAttention(heads) => attention::fused_backward(call, heads, dy),
        Op::ChosenScores => one(experts::chosen_backward(call, dy)),
        Op::Dispatch => one(experts::dispatch_backward(call, dy)),
        Op::GroupedLinear => experts::grouped_linear_backward(call, dy, wanted),
        Op::Combine => experts::combine_backward(call, dy, wanted),
        Op::View
        | Op::Slice(_)
        | Op::Add
        | Op::Concat
        | Op::DropoutMask
        | Op::PoolIndices(_)
        | Op::Route { .. }
        | Op::CrossEntropy => Err(call.problem("has no backward computation".into())),
    }
}
