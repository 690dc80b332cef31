//! Activations, dropout, concatenation, expansion.

use super::{Call, compact};
use crate::error::ExecError;
use crate::shim::{self, Draw};
use remat_instances::zoo::Activation;
use tch::{Kind, Tensor};

/// Share of elements that dropout keeps.
const KEPT: f64 = 0.9;

pub fn activation(call: &Call<'_>, f: Activation) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    Ok(match f {
        Activation::Relu => x.f_relu()?,
        Activation::Relu6 => x.f_relu6()?,
        Activation::Gelu => x.f_gelu("none")?,
        Activation::Silu => x.f_silu()?,
        Activation::Tanh => x.f_tanh()?,
    })
}

/// Gradient by input, output or mask, whichever is in memory: for a ReLU all give the same.
pub fn activation_backward(
    call: &Call<'_>,
    f: Activation,
    dy: &Tensor,
) -> Result<Tensor, ExecError> {
    if call.compact.is_some() {
        return compact::mask_backward(call, dy);
    }
    let either = || call.saved(0).or_else(|_| call.input(0));
    Ok(match f {
        Activation::Relu => either()?.f_threshold_backward(dy, 0)?,
        Activation::Relu6 => either()?.f_hardtanh_backward(dy, 0, 6)?,
        Activation::Gelu => call.input(0)?.f_gelu_backward(dy, "none")?,
        Activation::Silu => call.input(0)?.f_silu_backward(dy)?,
        Activation::Tanh => Tensor::f_tanh_backward(dy, call.saved(0)?)?,
    })
}

pub fn concat(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let inputs = (0..call.inputs.len()).map(|k| call.input(k));
    Ok(Tensor::f_cat(&inputs.collect::<Result<Vec<_>, _>>()?, 1)?)
}

/// The one entry along an axis, repeated.
pub fn expand(call: &Call<'_>) -> Result<Tensor, ExecError> {
    Ok(call
        .input(0)?
        .f_expand(call.shape(), false)?
        .f_contiguous()?)
}

pub fn expand_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let (one, all) = (call.input_shape(0), call.shape());
    let axes = (0..).zip(one.iter().zip(&all));
    let axes: Vec<i64> = axes.filter(|(_, (a, b))| a != b).map(|(k, _)| k).collect();
    if axes.is_empty() {
        return Ok(dy.f_detach_copy()?);
    }
    let kind: Option<Kind> = None;
    Ok(dy.f_sum_dim_intlist(axes.as_slice(), true, kind)?)
}

pub fn dropout_mask(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let options = (Kind::Bool, call.place);
    shim::drawn(Draw::Share(KEPT), &call.shape(), options, call.seed)
}

/// Elements under the mask, scaled so that their mean does not change.
pub fn dropout(x: &Tensor, mask: &Tensor) -> Result<Tensor, ExecError> {
    Ok(x.f_mul(mask)?.f_mul_scalar_(1.0 / KEPT)?)
}
