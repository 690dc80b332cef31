//! Normalisations. Their statistics are small and stay outside of registers; a recomputation makes
//! the same ones again.

use super::{Call, Gradients, Wanted};
use crate::error::ExecError;
use crate::shim;
use tch::{Kind, Tensor};

const EPSILON: f64 = 1e-5;
/// Weight of a batch in the running statistics.
const MOMENTUM: f64 = 0.1;

/// Unwraps a tensor that a call should have returned.
fn left(tensor: Option<Tensor>) -> Result<Tensor, ExecError> {
    tensor.ok_or_else(|| ExecError::Torch("a normalisation left out a result".into()))
}

pub fn batch_norm(call: &mut Call<'_>) -> Result<Tensor, ExecError> {
    let (scale, shift) = (call.parameters[0], call.parameters[1]);
    // libtorch updates these tensors in place.
    let [running_mean, running_variance] = match call.running {
        Some([mean, variance]) => [Some(mean), Some(variance)],
        None => [None; 2],
    };
    let (y, mean, invstd) = call.input(0)?.f_native_batch_norm(
        Some(scale),
        Some(shift),
        running_mean,
        running_variance,
        true,
        MOMENTUM,
        EPSILON,
    )?;
    *call.aside = vec![mean, invstd];
    Ok(y)
}

pub fn batch_norm_backward(
    call: &Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let [dx, dw, db] = shim::batch_norm_backward(
        dy,
        call.input(0)?,
        call.parameters[0],
        [call.aside(0)?, call.aside(1)?],
        EPSILON,
        wanted.input(0),
    )?;
    Ok(Gradients {
        inputs: dx.into_iter().collect(),
        parameters: vec![left(dw)?, left(db)?],
    })
}

pub fn layer_norm(call: &mut Call<'_>) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    let features = x.size().last().copied().unwrap_or(1);
    let (scale, shift) = (call.parameters[0], call.parameters[1]);
    let (y, mean, rstd) = x.f_native_layer_norm([features], Some(scale), Some(shift), EPSILON)?;
    *call.aside = vec![mean, rstd];
    Ok(y)
}

pub fn layer_norm_backward(
    call: &Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let x = call.input(0)?;
    let [dx, dw, db] = shim::layer_norm_backward(
        dy,
        x,
        x.size().last().copied().unwrap_or(1),
        [call.aside(0)?, call.aside(1)?],
        [call.parameters[0], call.parameters[1]],
        wanted.input(0),
    )?;
    Ok(Gradients {
        inputs: dx.into_iter().collect(),
        parameters: vec![left(dw)?, left(db)?],
    })
}

/// 1 / sqrt(mean of squares) of each row.
fn inverse_root(x: &Tensor) -> Result<Tensor, ExecError> {
    let kind: Option<Kind> = None;
    let mut square = x.f_square()?.f_mean_dim([-1i64].as_slice(), true, kind)?;
    Ok(square.f_add_scalar_(EPSILON)?.f_rsqrt_()?)
}

pub fn rms_norm(call: &mut Call<'_>) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    let inverse = inverse_root(x)?;
    let y = x.f_mul(&inverse)?.f_mul_(call.parameters[0])?;
    *call.aside = vec![inverse];
    Ok(y)
}

/// With r the inverse root, g = dy * scale: dx = r (g - x r^2 mean(g x)), dscale = sum(dy x r).
pub fn rms_norm_backward(
    call: &Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let kind: Option<Kind> = None;
    let (x, inverse) = (call.input(0)?, call.aside(0)?);
    let rows: Vec<i64> = (0..x.dim() as i64 - 1).collect();
    let scale = dy
        .f_mul(x)?
        .f_mul_(inverse)?
        .f_sum_dim_intlist(rows.as_slice(), false, kind)?;
    let mut inputs = Vec::new();
    if wanted.input(0) {
        let mut g = dy.f_mul(call.parameters[0])?;
        let mean = g.f_mul(x)?.f_mean_dim([-1i64].as_slice(), true, kind)?;
        let factor = inverse.f_square()?.f_mul_(&mean)?;
        inputs.push(g.f_sub_(&x.f_mul(&factor)?)?.f_mul_(inverse)?);
    }
    Ok(Gradients {
        inputs,
        parameters: vec![scale],
    })
}
