//! Cross entropy of softmax, with the logits' gradients in one pass.

use super::Call;
use crate::error::ExecError;
use crate::shim::{self, Draw};
use tch::{Kind, Tensor};

/// The axis of the classes: the last of a sequence `[batch, positions, classes]`, else axis 1.
pub(super) fn classes(logits: &Tensor) -> i64 {
    if logits.dim() == 3 { 2 } else { 1 }
}

/// Random targets: the same for the same seed and shape.
pub(super) fn targets(logits: &Tensor, seed: i64) -> Result<Tensor, ExecError> {
    let axis = classes(logits);
    let mut shape = logits.size();
    let count = std::mem::replace(&mut shape[axis as usize], 1);
    let options = (Kind::Int64, logits.device());
    shim::drawn(Draw::Below(count), &shape, options, seed)
}

/// Gradients of the mean cross entropies' sum, one tensor for each input; the loss itself stays
/// beside the registers.
pub fn cross_entropy(call: &mut Call<'_>) -> Result<Vec<Tensor>, ExecError> {
    let mut total = 0.0;
    let mut gradients = Vec::new();
    for k in 0..call.inputs.len() {
        let logits = call.input(k)?;
        let axis = classes(logits);
        let targets = targets(logits, call.seed + k as i64)?;
        let samples = targets.numel() as f64;
        let mut gradient = logits.f_softmax(axis, None)?;
        let likelihood = gradient.f_gather(axis, &targets, false)?;
        total -= likelihood
            .f_to_kind(Kind::Double)?
            .f_log()?
            .f_mean(None)?
            .f_double_value(&[])?;
        let minus = Tensor::f_full(targets.size(), -1.0, (gradient.kind(), gradient.device()))?;
        let _ = gradient.f_scatter_add_(axis, &targets, &minus)?;
        gradients.push(gradient.f_mul_scalar_(1.0 / samples)?);
    }
    *call.aside = vec![Tensor::from(total)];
    Ok(gradients)
}
