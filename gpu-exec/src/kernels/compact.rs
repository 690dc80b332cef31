//! Compact encodings for the backward pass: a bit for each element of a ReLU, a byte for each
//! maximum of a max pooling.
//!
//! Both are packed and unpacked in pieces, so that the scratch memory stays small compared with the
//! tensors.

use super::Call;
use crate::error::ExecError;
use remat_instances::zoo::{Activation, Pooling};
use tch::{Kind, Tensor};

/// Elements packed at a time, a multiple of 8: the scratch memory is some bytes for each of them.
const PIECE: i64 = 1 << 20;
/// Bits of a byte.
const BITS: i64 = 8;

/// The values of the bits of a byte, lowest first.
fn weights(place: tch::Device) -> Result<Tensor, ExecError> {
    Ok(Tensor::f_from_slice(&[1u8, 2, 4, 8, 16, 32, 64, 128])?.f_to_device(place)?)
}

/// Start and length of each piece of a list.
fn pieces(elements: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..elements)
        .step_by(PIECE as usize)
        .map(move |start| (start, PIECE.min(elements - start)))
}

/// One bit for each element of a ReLU's output: true if the gradient passes. Shape
/// `[ceil(elements / 8)]`, bytes.
pub fn mask(y: &Tensor, f: Activation) -> Result<Tensor, ExecError> {
    let y = y.f_reshape([-1])?;
    let elements = y.numel() as i64;
    let packed = Tensor::f_empty([(elements + BITS - 1) / BITS], (Kind::Uint8, y.device()))?;
    let weights = weights(y.device())?;
    for (start, length) in pieces(elements) {
        let y = y.f_narrow(0, start, length)?;
        let mut passes = y.f_gt(0)?;
        if f == Activation::Relu6 {
            passes = passes.f_logical_and_(&y.f_lt(6)?)?;
        }
        if length % BITS != 0 {
            passes = passes.f_constant_pad_nd([0, BITS - length % BITS])?;
        }
        let bits = passes.f_view([-1, BITS])?.f_mul(&weights)?;
        let bytes = (length + BITS - 1) / BITS;
        packed
            .f_narrow(0, start / BITS, bytes)?
            .f_copy_(&bits.f_sum_dim_intlist([1i64].as_slice(), false, Kind::Uint8)?)?;
    }
    Ok(packed)
}

/// The gradient where the mask has a bit, zero elsewhere.
pub fn mask_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let packed = call.compact()?;
    let out = Tensor::f_empty(dy.size(), (dy.kind(), dy.device()))?;
    let flat = out.f_view([-1])?;
    let dy = dy.f_reshape([-1])?;
    let weights = weights(dy.device())?;
    for (start, length) in pieces(dy.numel() as i64) {
        let bytes = packed.f_narrow(0, start / BITS, (length + BITS - 1) / BITS)?;
        let hidden = bytes
            .f_unsqueeze(1)?
            .f_bitwise_and_tensor(&weights)?
            .f_eq(0)?
            .f_view([-1])?
            .f_narrow(0, 0, length)?;
        let mut place = flat.f_narrow(0, start, length)?;
        place.f_copy_(&dy.f_narrow(0, start, length)?)?;
        let _ = place.f_masked_fill_(&hidden, 0)?;
    }
    Ok(out)
}

/// Extents of the pooled axes, first to last.
struct Axes {
    input: Vec<i64>,
    output: Vec<i64>,
}

impl Axes {
    fn of(call: &Call<'_>) -> Self {
        Axes {
            input: call.input_shape(0).split_off(2),
            output: call.spatial(),
        }
    }

    /// Starts of the windows along an axis, shaped so that they stretch over the output; negative
    /// within the padding.
    fn starts(&self, axis: usize, p: &Pooling, place: tch::Device) -> Result<Tensor, ExecError> {
        let mut shape = vec![1; self.output.len()];
        shape[axis] = self.output[axis];
        Ok(Tensor::f_arange(self.output[axis], (Kind::Int64, place))?
            .f_mul_scalar_(p.stride as i64)?
            .f_sub_scalar_(p.padding as i64)?
            .f_view(shape.as_slice())?)
    }
}

/// The samples of a batch by which positions are packed and unpacked.
fn samples(positions: &Tensor) -> impl Iterator<Item = (i64, i64)> {
    let batch = positions.size().first().copied().unwrap_or(0);
    let each = positions.numel() as i64 / batch.max(1);
    let at_once = (PIECE / each.max(1)).max(1);
    (0..batch)
        .step_by(at_once as usize)
        .map(move |start| (start, at_once.min(batch - start)))
}

/// Positions of maxima in the input's planes, as [`super::pool::max_pool`] finds them, as positions
/// in their windows: a byte each.
pub fn places(call: &mut Call<'_>, p: &Pooling) -> Result<Tensor, ExecError> {
    let Some(positions) = call.positions.take() else {
        return Err(call.problem("its pooling has not run just before".into()));
    };
    let (axes, device) = (Axes::of(call), positions.device());
    let packed = Tensor::f_empty(positions.size(), (Kind::Uint8, device))?;
    for (start, length) in samples(&positions) {
        let mut rest = positions.f_narrow(0, start, length)?.f_detach_copy()?;
        let mut place = Tensor::f_zeros([1], (Kind::Int64, device))?;
        let mut weight = 1;
        for axis in (0..axes.input.len()).rev() {
            let along = rest.f_remainder(axes.input[axis])?;
            let within = along.f_sub(&axes.starts(axis, p, device)?)?;
            place = within.f_mul_scalar(weight)?.f_add_(&place)?;
            rest = rest.f_floor_divide_scalar_(axes.input[axis])?;
            weight *= p.kernel as i64;
        }
        packed.f_narrow(0, start, length)?.f_copy_(&place)?;
    }
    Ok(packed)
}

/// The way back from [`places`].
pub fn positions(call: &Call<'_>, p: &Pooling) -> Result<Tensor, ExecError> {
    let packed = call.compact()?;
    let (axes, device) = (Axes::of(call), packed.device());
    let positions = Tensor::f_empty(packed.size(), (Kind::Int64, device))?;
    for (start, length) in samples(packed) {
        let mut rest = packed.f_narrow(0, start, length)?.f_to_kind(Kind::Int64)?;
        let mut position = Tensor::f_zeros([1], (Kind::Int64, device))?;
        let mut weight = 1;
        for axis in (0..axes.input.len()).rev() {
            let within = rest.f_remainder(p.kernel as i64)?;
            // A place outside of the input, which no pooling makes, must not lead outside of its
            // memory.
            let along = within
                .f_add(&axes.starts(axis, p, device)?)?
                .f_clamp_(0, axes.input[axis] - 1)?;
            position = along.f_mul_scalar(weight)?.f_add_(&position)?;
            rest = rest.f_floor_divide_scalar_(p.kernel as i64)?;
            weight *= axes.input[axis];
        }
        positions.f_narrow(0, start, length)?.f_copy_(&position)?;
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::{self, Draw};

    /// Lengths around the end of a byte and of a piece; the mask must agree with
    /// `threshold_backward`.
    #[test]
    fn masks_have_a_bit_an_element() {
        let cpu = (Kind::Float, tch::Device::Cpu);
        for elements in [1, 7, 8, 9, 1000, PIECE + 5] {
            for f in [Activation::Relu, Activation::Relu6] {
                let y = shim::drawn(Draw::Normal, &[elements], cpu, 3).unwrap() * 8;
                let y = match f {
                    Activation::Relu6 => y.relu6(),
                    _ => y.relu(),
                };
                let packed = mask(&y, f).unwrap();
                assert_eq!(packed.size(), [(elements + 7) / 8]);
                for k in [0, elements / 2, elements - 1] {
                    let byte = packed.int64_value(&[k / 8]);
                    let value = y.double_value(&[k]);
                    let passes = value > 0.0 && (f == Activation::Relu || value < 6.0);
                    assert_eq!(byte >> (k % 8) & 1 == 1, passes, "{elements}, {k}");
                }
                let bits: i64 = (0..8)
                    .map(|b| {
                        let bit = packed.bitwise_right_shift_tensor_scalar(b);
                        bit.bitwise_and(1).sum(Kind::Int64).int64_value(&[])
                    })
                    .sum();
                let passing = match f {
                    Activation::Relu6 => y.gt(0).logical_and(&y.lt(6)),
                    _ => y.gt(0),
                };
                assert_eq!(bits, passing.sum(Kind::Int64).int64_value(&[]));
            }
        }
    }
}
