//! Operators with weights: convolutions, linear layers, embeddings, parameters added to a stream.

use super::{Call, Gradients, Wanted};
use crate::error::ExecError;
use crate::shim::{self, Geometry};
use remat_instances::zoo::Convolution;
use tch::{Kind, Tensor};

/// A convolution's hyper-parameters, one entry an axis.
struct Axes {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    none: Vec<i64>,
}

impl Axes {
    fn of(call: &Call<'_>, c: &Convolution) -> Self {
        let axes = call.shape().len() - 2;
        let every = |value: u64| vec![value as i64; axes];
        Axes {
            stride: every(c.stride),
            padding: (0..axes).map(|axis| c.padding_at(axis) as i64).collect(),
            dilation: every(c.dilation),
            none: every(0),
        }
    }
}

pub fn convolution(call: &Call<'_>, c: &Convolution) -> Result<Tensor, ExecError> {
    let axes = Axes::of(call, c);
    Ok(call.input(0)?.f_convolution(
        call.parameters[0],
        call.parameters.get(1).copied(),
        &axes.stride,
        &axes.padding,
        &axes.dilation,
        c.transposed,
        &axes.none,
        c.groups as i64,
    )?)
}

pub fn convolution_backward(
    call: &Call<'_>,
    c: &Convolution,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let axes = Axes::of(call, c);
    let geometry = Geometry {
        stride: &axes.stride,
        padding: &axes.padding,
        dilation: &axes.dilation,
        transposed: c.transposed,
        groups: c.groups as i64,
    };
    // The input's gradient alone needs only the input's shape: one number, expanded to that shape.
    let stand_in;
    let x = match call.input(0) {
        Ok(x) => x,
        Err(problem) if wanted.parameters => return Err(problem),
        Err(_) => {
            let one = Tensor::f_zeros([1], (dy.kind(), dy.device()))?;
            stand_in = one.f_expand(call.input_shape(0), false)?;
            &stand_in
        }
    };
    let [dx, dw, db] = shim::convolution_backward(
        dy,
        x,
        call.parameters[0],
        c.bias.then_some(c.out_channels as i64),
        &geometry,
        [wanted.input(0), wanted.parameters],
    )?;
    Ok(Gradients {
        inputs: dx.into_iter().collect(),
        parameters: dw.into_iter().chain(db).collect(),
    })
}

pub fn linear(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let bias = call.parameters.get(1).copied();
    Ok(call.input(0)?.f_linear(call.parameters[0], bias)?)
}

pub fn linear_backward(
    call: &Call<'_>,
    bias: bool,
    dy: &Tensor,
    wanted: Wanted<'_>,
) -> Result<Gradients, ExecError> {
    let mut made = Gradients::default();
    if wanted.parameters {
        let rows = |x: &Tensor| x.f_reshape([-1, x.size().last().copied().unwrap_or(1)]);
        let dy = rows(dy)?;
        made.parameters
            .push(dy.f_transpose(0, 1)?.f_matmul(&rows(call.input(0)?)?)?);
        if bias {
            made.parameters
                .push(dy.f_sum_dim_intlist([0i64].as_slice(), false, None)?);
        }
    }
    if wanted.input(0) {
        made.inputs.push(dy.f_matmul(call.parameters[0])?);
    }
    Ok(made)
}

pub fn embedding(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let features = call.shape().last().copied().unwrap_or(1);
    let table = call.parameters[0].f_reshape([-1, features])?;
    Ok(Tensor::f_embedding(
        &table,
        call.input(0)?,
        -1,
        false,
        false,
    )?)
}

pub fn embedding_backward(call: &Call<'_>, dy: &Tensor) -> Result<Gradients, ExecError> {
    let table = call.parameters[0];
    let features = call.shape().last().copied().unwrap_or(1);
    let rows = table.numel() as i64 / features.max(1);
    let ids = call.input(0)?;
    let gradient = Tensor::f_embedding_dense_backward(dy, ids, rows, -1, false)?;
    Ok(Gradients {
        inputs: vec![],
        parameters: vec![gradient.f_reshape(table.size())?],
    })
}

/// Row of an added parameter for each position. Each position has its own row or, if there are
/// fewer rows than positions (token types), each row serves one of as many runs of positions.
fn row_of_position(parameter: &Tensor, stream: &[i64]) -> Result<Tensor, ExecError> {
    let rows = parameter.size()[0];
    let positions = stream[stream.len() - parameter.dim()];
    let places = Tensor::f_arange(positions, (Kind::Int64, parameter.device()))?;
    Ok(match rows < positions {
        true => places
            .f_mul_scalar(rows)?
            .f_floor_divide_scalar(positions)?,
        false => places,
    })
}

pub fn add_parameter(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let (x, parameter) = (call.input(0)?, call.parameters[0]);
    let rows = row_of_position(parameter, &x.size())?;
    Ok(x.f_add(&parameter.f_index_select(0, &rows)?)?)
}

pub fn add_parameter_backward(call: &Call<'_>, dy: &Tensor) -> Result<Gradients, ExecError> {
    let parameter = call.parameters[0];
    let batch_axes = dy.dim() - parameter.dim();
    let axes: Vec<i64> = (0..batch_axes as i64).collect();
    let sum = match axes.is_empty() {
        true => dy.shallow_clone(),
        false => dy.f_sum_dim_intlist(axes.as_slice(), false, None)?,
    };
    let rows = row_of_position(parameter, &dy.size())?;
    let gradient = Tensor::f_zeros_like(parameter)?.f_index_add_(0, &rows, &sum)?;
    Ok(Gradients {
        inputs: vec![],
        parameters: vec![gradient],
    })
}

pub fn prepend(call: &Call<'_>) -> Result<Tensor, ExecError> {
    let x = call.input(0)?;
    let (batch, _, features) = x.size3()?;
    let first = call.parameters[0]
        .f_reshape([1, 1, features])?
        .f_expand([batch, 1, features], false)?;
    Ok(Tensor::f_cat(&[first, x.shallow_clone()], 1)?)
}

pub fn prepend_backward(dy: &Tensor) -> Result<Gradients, ExecError> {
    let first = dy.f_select(1, 0)?;
    let kind: Option<Kind> = None;
    Ok(Gradients {
        inputs: vec![],
        parameters: vec![first.f_sum_dim_intlist([0i64].as_slice(), false, kind)?],
    })
}
