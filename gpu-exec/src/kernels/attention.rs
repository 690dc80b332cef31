//! Attention, in one operator or in its products, and rotary positions.

use super::{Call, Gradients, Wanted};
use crate::error::ExecError;
use crate::shim;
use remat_instances::zoo::Heads;
use tch::{Kind, Tensor};

/// `[batch, positions, heads x d]` as `[batch, heads, positions, d]`; key and value heads are
/// repeated to `repeated` times.
fn split(x: &Tensor, heads: u64, repeated: u64) -> Result<Tensor, ExecError> {
    let (batch, positions, features) = x.size3()?;
    let heads = heads as i64;
    let x = x
        .f_reshape([batch, positions, heads, features / heads.max(1)])?
        .f_transpose(1, 2)?;
    Ok(match repeated {
        1 => x,
        _ => x.f_repeat_interleave_self_int(repeated as i64, 1, None)?,
    })
}

/// The way back from [`split`]; gradients of repeated heads are added up.
fn join(x: &Tensor, repeated: u64) -> Result<Tensor, ExecError> {
    let (batch, heads, positions, d) = x.size4()?;
    let repeated = repeated as i64;
    let x = match repeated {
        1 => x.shallow_clone(),
        _ => {
            let kind: Option<Kind> = None;
            x.f_reshape([batch, heads / repeated, repeated, positions, d])?
                .f_sum_dim_intlist([2i64].as_slice(), false, kind)?
        }
    };
    Ok(x.f_transpose(1, 2)?
        .f_reshape([batch, positions, heads / repeated * d])?)
}

fn repeats(heads: &Heads) -> u64 {
    heads.query / heads.key_value.max(1)
}

/// 1 / sqrt(d).
fn scale(query: &Tensor) -> f64 {
    let d = query.size().last().copied().unwrap_or(1);
    1.0 / (d as f64).sqrt()
}

pub fn scores(call: &Call<'_>, heads: &Heads) -> Result<Tensor, ExecError> {
    let query = split(call.input(0)?, heads.query, 1)?;
    let key = split(call.input(1)?, heads.key_value, repeats(heads))?;
    let mut scores = query.f_matmul(&key.f_transpose(-2, -1)?)?;
    let _ = scores.f_mul_scalar_(scale(&query))?;
    if heads.causal {
        let (_, _, positions, keys) = scores.size4()?;
        let hidden = Tensor::f_ones([positions, keys], (Kind::Bool, scores.device()))?.f_triu(1)?;
        let _ = scores.f_masked_fill_(&hidden, f64::NEG_INFINITY)?;
    }
    Ok(scores)
}

pub fn scores_backward(
    call: &Call<'_>,
    heads: &Heads,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let head = call.input_shape(0)[2] / heads.query.max(1) as i64;
    let scale = 1.0 / (head as f64).sqrt();
    let mut made = Gradients::default();
    for k in wanted.inputs {
        let mut gradient = match k {
            0 => {
                let key = split(call.input(1)?, heads.key_value, repeats(heads))?;
                join(&dy.f_matmul(&key)?, 1)?
            }
            _ => {
                let query = split(call.input(0)?, heads.query, 1)?;
                join(&dy.f_transpose(-2, -1)?.f_matmul(&query)?, repeats(heads))?
            }
        };
        made.inputs.push(gradient.f_mul_scalar_(scale)?);
    }
    Ok(made)
}

pub fn context(call: &Call<'_>, heads: &Heads) -> Result<Tensor, ExecError> {
    let value = split(call.input(1)?, heads.key_value, repeats(heads))?;
    join(&call.input(0)?.f_matmul(&value)?, 1)
}

pub fn context_backward(
    call: &Call<'_>,
    heads: &Heads,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let dy = split(dy, heads.query, 1)?;
    let mut made = Gradients::default();
    for k in wanted.inputs {
        made.inputs.push(match k {
            0 => {
                let value = split(call.input(1)?, heads.key_value, repeats(heads))?;
                dy.f_matmul(&value.f_transpose(-2, -1)?)?
            }
            _ => {
                let weights = call.input(0)?.f_transpose(-2, -1)?;
                join(&weights.f_matmul(&dy)?, repeats(heads))?
            }
        });
    }
    Ok(made)
}

/// Features of a head of queries and keys, and of values.
fn head_features(call: &Call<'_>, heads: &Heads) -> Result<[i64; 2], ExecError> {
    let of = |k: usize, heads: u64| call.input_shape(k)[2] / heads.max(1) as i64;
    let [query, value] = [of(0, heads.query), of(2, heads.key_value)];
    match value <= query {
        true => Ok([query, value]),
        false => Err(call.problem(format!(
            "fused attention takes values of at most {query} features a head, not {value}"
        ))),
    }
}

/// Zeros behind the features of each head, up to `features`: libtorch's fused attention takes one
/// number of features.
fn padded(x: &Tensor, features: i64) -> Result<Tensor, ExecError> {
    match features - x.size().last().copied().unwrap_or(features) {
        0 => Ok(x.shallow_clone()),
        more => Ok(x.f_constant_pad_nd([0, more])?),
    }
}

/// Queries, keys and padded values by heads.
fn by_heads(call: &Call<'_>, heads: &Heads) -> Result<[Tensor; 3], ExecError> {
    let [features, _] = head_features(call, heads)?;
    let value = split(call.input(2)?, heads.key_value, repeats(heads))?;
    Ok([
        split(call.input(0)?, heads.query, 1)?,
        split(call.input(1)?, heads.key_value, repeats(heads))?,
        padded(&value, features)?,
    ])
}

/// Output and log-sum-exp.
pub fn fused(call: &Call<'_>, heads: &Heads) -> Result<Vec<Tensor>, ExecError> {
    let [q, k, v] = by_heads(call, heads)?;
    let mut output: Vec<Tensor> = match q.device() {
        tch::Device::Cuda(_) => {
            let made = shim::attention([&q, &k, &v], heads.causal)?;
            made.into_iter().flatten().collect()
        }
        _ => {
            let none: Option<&Tensor> = None;
            let (y, lse) = Tensor::f_internal_scaled_dot_product_flash_attention_for_cpu(
                &q,
                &k,
                &v,
                0.0,
                heads.causal,
                none,
                None,
            )?;
            vec![y, lse]
        }
    };
    let [_, features] = head_features(call, heads)?;
    output[0] = join(&output[0].f_narrow(3, 0, features)?, 1)?;
    Ok(output)
}

pub fn fused_backward(call: &Call<'_>, heads: &Heads, dy: &Tensor) -> Result<Gradients, ExecError> {
    let [q, k, v] = by_heads(call, heads)?;
    let [features, own] = head_features(call, heads)?;
    let (dy, y) = (
        padded(&split(dy, heads.query, 1)?, features)?,
        padded(&split(call.saved(0)?, heads.query, 1)?, features)?,
    );
    let lse = call.saved(1)?;
    let gradients = match q.device() {
        tch::Device::Cuda(_) => {
            shim::attention_backward(&dy, [&q, &k, &v], [&y, lse], heads.causal)?
        }
        _ => {
            let none: Option<&Tensor> = None;
            let (dq, dk, dv) =
                Tensor::f_internal_scaled_dot_product_flash_attention_for_cpu_backward(
                    &dy,
                    &q,
                    &k,
                    &v,
                    &y,
                    lse,
                    0.0,
                    heads.causal,
                    none,
                    None,
                )?;
            [Some(dq), Some(dk), Some(dv)]
        }
    };
    let repeated = [1, repeats(heads), repeats(heads)];
    let joined = gradients
        .iter()
        .flatten()
        .zip(repeated)
        .zip([features, features, own])
        .map(|((gradient, repeated), own)| join(&gradient.f_narrow(3, 0, own)?, repeated));
    Ok(Gradients {
        inputs: joined.collect::<Result<_, _>>()?,
        parameters: vec![],
    })
}

/// Turns pairs of features by an angle that grows with the position (Su et al., RoFormer, 2021, eq.
/// 34), or back.
pub fn rotary(x: &Tensor, back: bool) -> Result<Tensor, ExecError> {
    let (batch, positions, features) = x.size3()?;
    let options = (Kind::Float, x.device());
    let half = features / 2;
    let exponent = Tensor::f_arange(half, options)?.f_mul_scalar(-2.0 / features.max(1) as f64)?;
    let frequency = exponent.f_mul_scalar(10_000f64.ln())?.f_exp()?;
    let angle = Tensor::f_arange(positions, options)?.f_outer(&frequency)?;
    let (cos, mut sin) = (
        angle.f_cos()?.f_to_kind(x.kind())?,
        angle.f_sin()?.f_to_kind(x.kind())?,
    );
    if back {
        sin = sin.f_neg()?;
    }
    let pairs = x.f_reshape([batch, positions, half, 2])?;
    let (a, b) = (pairs.f_select(3, 0)?, pairs.f_select(3, 1)?);
    let turned = Tensor::f_empty([batch, positions, half, 2], (x.kind(), x.device()))?;
    let first = a.f_mul(&cos)?.f_sub_(&b.f_mul(&sin)?)?;
    turned.f_select(3, 0)?.f_copy_(&first)?;
    let second = a.f_mul(&sin)?.f_add_(&b.f_mul(&cos)?)?;
    turned.f_select(3, 1)?.f_copy_(&second)?;
    Ok(turned.f_reshape([batch, positions, features])?)
}
