//! Element types and shapes.

use crate::number::LARGEST_VALUE;
use std::fmt;
use std::str::FromStr;

/// Element type of parameters, activations or gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DType {
    /// IEEE single precision, 4 bytes, computed without matrix units.
    Fp32,
    /// Single precision in memory (4 bytes), matrix products rounded to 19 bits on the matrix units
    /// of A100 and later.
    Tf32,
    /// IEEE half precision, 2 bytes.
    Fp16,
    /// bfloat16, 2 bytes.
    Bf16,
}

impl DType {
    /// All element types, in the order of listings for users.
    pub const ALL: [DType; 4] = [DType::Fp32, DType::Tf32, DType::Fp16, DType::Bf16];

    /// Bytes of one element.
    pub fn bytes(self) -> u64 {
        match self {
            DType::Fp32 | DType::Tf32 => 4,
            DType::Fp16 | DType::Bf16 => 2,
        }
    }

    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            DType::Fp32 => "fp32",
            DType::Tf32 => "tf32",
            DType::Fp16 => "fp16",
            DType::Bf16 => "bf16",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or(())
    }
}

/// Element types of a training run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Precision {
    /// Activations, their gradients and floating-point inputs; also the element type of matrix
    /// products.
    pub activations: DType,
    /// Parameters.
    pub parameters: DType,
    /// Gradients of parameters.
    pub gradients: DType,
}

impl Precision {
    /// One element type for all tensors.
    pub fn uniform(dtype: DType) -> Self {
        Precision {
            activations: dtype,
            parameters: dtype,
            gradients: dtype,
        }
    }
}

/// Number of elements of a shape, or `None` above the limit of an instance (2^53 - 1).
pub(super) fn elements(shape: &[u64]) -> Option<u64> {
    shape
        .iter()
        .try_fold(1u64, |product, d| product.checked_mul(*d))
        .filter(|count| *count <= LARGEST_VALUE)
}

/// A shape as text, for example `32x64x112x112`.
pub(super) fn format_shape(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    dims.join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_overflow_are_refused() {
        assert_eq!(elements(&[32, 64, 112, 112]), Some(25_690_112));
        assert_eq!(elements(&[]), Some(1));
        assert_eq!(elements(&[1 << 32, 1 << 32]), None);
        assert_eq!(elements(&[1 << 27, 1 << 26]), None);
        assert_eq!(elements(&[1 << 26, 1 << 26]), Some(1 << 52));
    }

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        assert!("fp64".parse::<DType>().is_err());
    }
}
