//! Comparison of two lists of gradients of a training step.

use crate::error::ExecError;
use crate::training::Training;
use tch::{Kind, Tensor};

/// Difference between two lists of gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// True if every bit is the same.
    pub equal: bool,
    /// The greatest difference of one parameter's gradients: the maximum norm of the difference,
    /// divided by the reference's norm (or 1e-30, if that is larger).
    pub largest: f64,
}

/// A copy of the gradients that the last step made, in the memory of the CPU.
///
/// # Errors
/// [`ExecError::Torch`]; [`ExecError::Mismatch`] for a parameter without a gradient.
pub fn gradients(training: &Training) -> Result<Vec<Tensor>, ExecError> {
    let copy = |(gradient, parameter): (&Option<Tensor>, _)| match gradient {
        Some(gradient) => Ok(gradient.f_to_device(tch::Device::Cpu)?.f_detach_copy()?),
        None => {
            let parameter: &remat_instances::zoo::Parameter = parameter;
            Err(ExecError::Mismatch(format!(
                "{} got no gradient",
                parameter.name
            )))
        }
    };
    let parameters = training.program.network.parameters();
    training
        .gradients
        .iter()
        .zip(parameters)
        .map(copy)
        .collect()
}

/// Compares gradients with a reference, parameter by parameter.
///
/// # Errors
/// [`ExecError::Mismatch`] for lists of different lengths or shapes.
pub fn compare(found: &[Tensor], reference: &[Tensor]) -> Result<Comparison, ExecError> {
    let same_shapes = found
        .iter()
        .zip(reference)
        .all(|(a, b)| a.size() == b.size());
    if found.len() != reference.len() || !same_shapes {
        return Err(ExecError::Mismatch("gradients of other parameters".into()));
    }
    let mut result = Comparison {
        equal: true,
        largest: 0.0,
    };
    for (found, reference) in found.iter().zip(reference) {
        if found.f_equal(reference)? {
            continue;
        }
        let norm = |x: &Tensor| -> Result<f64, ExecError> {
            let x = x.f_to_kind(Kind::Double)?;
            Ok(x.f_abs()?.f_max()?.f_double_value(&[])?)
        };
        let difference = norm(&found.f_sub(reference)?)?;
        result.equal = false;
        // A NaN must not be lost in the maximum.
        let relative = difference / norm(reference)?.max(1e-30);
        if relative.is_nan() || relative > result.largest {
            result.largest = relative;
        }
    }
    Ok(result)
}
