//! A mixture of experts: routes of tokens, rows in the order of the experts, products by expert.
//!
//! Routes are the experts of each position, 64 bits each; their order is found again by a stable
//! sort, which gives the same each time.

use super::{Call, Gradients, Wanted};
use crate::error::ExecError;
use tch::{Kind, Tensor};

/// The choices in the order of the experts; equal experts keep the order of their positions.
fn order(routes: &Tensor) -> Result<Tensor, ExecError> {
    Ok(routes.f_flatten(0, -1)?.f_argsort_stable(true, 0, false)?)
}

/// The row of each choice: the inverse of [`order`].
fn places(routes: &Tensor) -> Result<Tensor, ExecError> {
    Ok(order(routes)?.f_argsort_stable(true, 0, false)?)
}

/// Number of choices a position.
fn choices(routes: &Tensor) -> i64 {
    routes.size().last().copied().unwrap_or(1).max(1)
}

/// Rows as `[positions, choices, features]`.
fn by_position(rows: &Tensor, routes: &Tensor) -> Result<Tensor, ExecError> {
    let (_, features) = rows.size2()?;
    let rows = rows.f_index_select(0, &places(routes)?)?;
    Ok(rows.f_reshape([-1, choices(routes), features])?)
}

/// The way back from [`by_position`].
fn by_expert(x: &Tensor, routes: &Tensor) -> Result<Tensor, ExecError> {
    Ok(x.f_flatten(0, 1)?.f_index_select(0, &order(routes)?)?)
}

/// The sum over the choices of each position, in the shape of the stream.
fn summed(x: &Tensor, shape: &[i64]) -> Result<Tensor, ExecError> {
    let kind: Option<Kind> = None;
    let sum = x.f_sum_dim_intlist([1i64].as_slice(), false, kind)?;
    Ok(sum.f_reshape(shape)?)
}

pub fn route(call: &Call<'_>, top_k: u64) -> Result<Tensor, ExecError> {
    let (_, experts) = call.input(0)?.f_topk(top_k as i64, -1, true, true)?;
    Ok(experts)
}

pub fn chosen(call: &Call<'_>) -> Result<Tensor, ExecError> {
    Ok(call.input(0)?.f_gather(-1, call.input(1)?, false)?)
}

pub fn chosen_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    let mut dx = Tensor::f_zeros(call.input_shape(0), (dy.kind(), dy.device()))?;
    Ok(dx.f_scatter_(-1, call.input(1)?, dy)?)
}

pub fn dispatch(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let (x, routes) = (call.input(0)?, call.input(1)?);
    let positions = order(routes)?.f_floor_divide_scalar(choices(routes))?;
    Ok(x.f_flatten(0, 1)?.f_index_select(0, &positions)?)
}

pub fn dispatch_backward(call: &Call<'_>, dy: &Tensor) -> Result<Tensor, ExecError> {
    summed(&by_position(dy, call.input(1)?)?, &call.input_shape(0))
}

/// Rows of each expert, one run after the other.
fn runs(call: &Call<'_>, x: &Tensor) -> Result<Vec<Tensor>, ExecError> {
    let experts = call.parameters[0].size()[0];
    let none: Option<&Tensor> = None;
    let counts = call.input(1)?.f_flatten(0, -1)?.f_bincount(none, experts)?;
    let counts = Vec::<i64>::try_from(counts)?;
    let mut begin = 0;
    let run = |count: i64| {
        let run = x.f_narrow(0, begin, count)?;
        begin += count;
        Ok(run)
    };
    counts.into_iter().map(run).collect()
}

pub fn grouped_linear(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let runs = runs(call, call.input(0)?)?;
    let of = |(e, run): (i64, &Tensor)| {
        let matrix = call.parameters[0].f_select(0, e)?;
        Ok(run.f_matmul(&matrix.f_transpose(0, 1)?)?)
    };
    let rows = (0..)
        .zip(&runs)
        .map(of)
        .collect::<Result<Vec<_>, ExecError>>()?;
    Ok(Tensor::f_cat(&rows, 0)?)
}

pub fn grouped_linear_backward(
    call: &Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let mut made = Gradients::default();
    let dy = runs(call, dy)?;
    if wanted.parameters {
        let x = runs(call, call.input(0)?)?;
        let of = |(dy, x): (&Tensor, &Tensor)| Ok(dy.f_transpose(0, 1)?.f_matmul(x)?);
        let matrices = dy.iter().zip(&x).map(of);
        let matrices = matrices.collect::<Result<Vec<_>, ExecError>>()?;
        made.parameters.push(Tensor::f_stack(&matrices, 0)?);
    }
    if wanted.input(0) {
        let of = |(e, dy): (i64, &Tensor)| Ok(dy.f_matmul(&call.parameters[0].f_select(0, e)?)?);
        let rows = (0..)
            .zip(&dy)
            .map(of)
            .collect::<Result<Vec<_>, ExecError>>()?;
        made.inputs.push(Tensor::f_cat(&rows, 0)?);
    }
    Ok(made)
}

pub fn combine(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let (weights, routes) = (call.input(1)?, call.input(2)?);
    let rows = by_position(call.input(0)?, routes)?;
    let weights = weights.f_reshape([-1, choices(routes), 1])?;
    summed(&rows.f_mul(&weights)?, &call.shape())
}

pub fn combine_backward(
    call: &Call<'_>,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let routes = call.input(2)?;
    let dy = dy.f_flatten(0, 1)?.f_unsqueeze(1)?;
    let mut made = Gradients::default();
    for k in wanted.inputs {
        made.inputs.push(match k {
            0 => {
                let weights = call.input(1)?.f_reshape([-1, choices(routes), 1])?;
                by_expert(&dy.f_mul(&weights)?, routes)?
            }
            _ => {
                let products = by_position(call.input(0)?, routes)?.f_mul(&dy)?;
                let kind: Option<Kind> = None;
                products
                    .f_sum_dim_intlist([-1i64].as_slice(), false, kind)?
                    .f_reshape(routes.size())?
            }
        });
    }
    Ok(made)
}
