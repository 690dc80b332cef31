//! Pooling, unpooling and upsampling over two or three spatial axes.

use super::{Call, compact};
use crate::error::ExecError;
use remat_instances::zoo::Pooling;
use tch::Tensor;

/// Window, stride, padding and dilation, one entry an axis.
fn window(p: &Pooling, rank: usize) -> [Vec<i64>; 4] {
    [p.kernel, p.stride, p.padding, 1].map(|value| vec![value as i64; rank - 2])
}

fn unknown(rank: usize) -> ExecError {
    ExecError::Mismatch(format!("pooling over a tensor of {rank} axes"))
}

/// Maxima and their positions.
pub fn max_pool(x: &Tensor, p: &Pooling) -> Result<(Tensor, Tensor), ExecError> {
    let [kernel, stride, padding, dilation] = window(p, x.dim());
    Ok(match x.dim() {
        4 => x.f_max_pool2d_with_indices(&kernel, &stride, &padding, &dilation, p.ceil)?,
        5 => x.f_max_pool3d_with_indices(&kernel, &stride, &padding, &dilation, p.ceil)?,
        rank => return Err(unknown(rank)),
    })
}

/// Gradient by the by-product's places if it was kept; otherwise the positions are found again in
/// the input.
pub fn max_pool_backward(call: &Call<'_>, p: &Pooling, dy: &Tensor) -> Result<Tensor, ExecError> {
    let (x, indices) = match call.compact {
        Some(_) => (shaped(call, dy)?, compact::positions(call, p)?),
        None => {
            let x = call.input(0)?;
            (x.shallow_clone(), max_pool(x, p)?.1)
        }
    };
    let [kernel, stride, padding, dilation] = window(p, x.dim());
    Ok(match x.dim() {
        4 => x.f_max_pool2d_with_indices_backward(
            dy, &kernel, &stride, &padding, &dilation, p.ceil, &indices,
        )?,
        5 => x.f_max_pool3d_with_indices_backward(
            dy, &kernel, &stride, &padding, &dilation, p.ceil, &indices,
        )?,
        rank => return Err(unknown(rank)),
    })
}

pub fn average(call: &Call<'_>, p: &Pooling) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    let [kernel, stride, padding, _] = window(p, x.dim());
    Ok(match x.dim() {
        4 => x.f_avg_pool2d(&kernel, &stride, &padding, p.ceil, true, None)?,
        5 => x.f_avg_pool3d(&kernel, &stride, &padding, p.ceil, true, None)?,
        rank => return Err(unknown(rank)),
    })
}

/// A tensor of an input's shape; its elements are never read.
fn shaped(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let one = Tensor::f_zeros([1], (dy.kind(), dy.device()))?;
    Ok(one.f_expand(call.input_shape(0), false)?)
}

pub fn average_backward(call: &Call<'_>, p: &Pooling, dy: &Tensor) -> Result<Tensor, ExecError> {
    let x = shaped(call, dy)?;
    let [kernel, stride, padding, _] = window(p, x.dim());
    Ok(match x.dim() {
        4 => x.f_avg_pool2d_backward(dy, &kernel, &stride, &padding, p.ceil, true, None)?,
        5 => x.f_avg_pool3d_backward(dy, &kernel, &stride, &padding, p.ceil, true, None)?,
        rank => return Err(unknown(rank)),
    })
}

pub fn adaptive(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    Ok(match x.dim() {
        4 => x.f_internal_adaptive_avg_pool2d(call.spatial())?,
        5 => x.f_internal_adaptive_avg_pool3d(call.spatial())?,
        rank => return Err(unknown(rank)),
    })
}

pub fn adaptive_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    if call.spatial().iter().all(|&size| size == 1) {
        // A mean gives every element the same share; libtorch's kernel adds in any order on a GPU.
        let mut share = dy.shallow_clone();
        for &size in &call.input_shape(0)[2..] {
            share = share.f_div_scalar(size)?;
        }
        return Ok(share.f_expand(call.input_shape(0), false)?.f_contiguous()?);
    }
    let x = shaped(call, dy)?;
    Ok(match x.dim() {
        4 => x.f_internal_adaptive_avg_pool2d_backward(dy)?,
        5 => x.f_internal_adaptive_avg_pool3d_backward(dy)?,
        rank => return Err(unknown(rank)),
    })
}

pub fn upsample(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    Ok(match x.dim() {
        4 => x.f_upsample_bilinear2d(call.spatial(), false, None, None)?,
        5 => x.f_upsample_trilinear3d(call.spatial(), false, None, None, None)?,
        rank => return Err(unknown(rank)),
    })
}

pub fn upsample_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let (out, x) = (call.spatial(), call.input_shape(0));
    Ok(match x.len() {
        4 => Tensor::f_upsample_bilinear2d_backward(dy, out, x, false, None, None)?,
        5 => Tensor::f_upsample_trilinear3d_backward(dy, out, x, false, None, None, None)?,
        rank => return Err(unknown(rank)),
    })
}

pub fn unpool(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let (x, positions) = (call.input(0)?, call.input(1)?);
    // `max_unpool2d` is not among libtorch's deterministic functions; where windows do not overlap
    // this is the same.
    let mut y = Tensor::f_zeros(call.shape(), (x.kind(), x.device()))?.f_flatten(2, -1)?;
    let _ = y.f_scatter_(2, &positions.f_flatten(2, -1)?, &x.f_flatten(2, -1)?)?;
    Ok(y.f_reshape(call.shape())?)
}

pub fn unpool_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let positions = call.input(1)?;
    let flat = positions.f_flatten(2, -1)?;
    let gathered = dy.f_flatten(2, -1)?.f_gather(2, &flat, false)?;
    Ok(gathered.f_reshape(positions.size())?)
}
