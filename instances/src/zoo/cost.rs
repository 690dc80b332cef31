//! The roofline cost model: the time of a kernel.
//!
//! A kernel of class c that executes F floating-point operations and moves M bytes takes
//!
//! ```text
//! max( F / (peak x share(c)),  M / (bandwidth x share'(c)) )  +  overhead      nanoseconds, rounded up
//! ```
//!
//! (Williams, Waterman, Patterson, "Roofline", CACM 2009). The peak is the matrix rate of the
//! element type for convolutions and matrix products, and the vector rate for all other kernels.
//! The shares are fitted to the P100 profiles published with MONeT (VGG-16, ResNet-50, U-Net,
//! GoogLeNet; fp32; some 1,100 measured operators). They are used for every device; for other
//! devices they are an extrapolation. A node may run several kernels; its cost is their sum.
//! Traffic counts every operand once per pass: the forward pass of a batch norm reads its input
//! twice (statistics, then normalisation), and its backward pass reads input and gradient twice.

use super::device::Device;
use super::tensor::DType;

/// Kind of a kernel, which determines its speed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelClass {
    /// A convolution's output.
    Convolution,
    /// A convolution's input gradient.
    ConvolutionInputGradient,
    /// A convolution's weight gradient: slower, because it reduces over the batch.
    ConvolutionWeightGradient,
    /// A depthwise convolution or one of its gradients, without a matrix product.
    Depthwise,
    /// A matrix product, batched or not.
    MatrixProduct,
    /// Fused attention (FlashAttention), forward or backward.
    FusedAttention,
    /// Reads and writes every element once: activations, sums, dropout.
    Elementwise,
    /// Batch, layer or root-mean-square normalisation, forward or backward.
    Normalisation,
    /// Reductions over rows or windows: softmax, loss, average pooling, bias gradients, upsampling.
    Reduction,
    /// Max pooling, forward.
    MaxPool,
    /// Max pooling, backward: finds each maximum again and scatters (very slow in the published
    /// profiles).
    MaxPoolGradient,
    /// Copies: concatenation and similar operators.
    Copy,
    /// Gathers and scatters rows: embeddings, rows of experts.
    Gather,
}

impl KernelClass {
    /// Share of the compute peak in thousandths; for matrix classes, relative to the rate that the
    /// device reaches.
    pub fn compute_permille(self) -> u64 {
        match self {
            KernelClass::Convolution => 1000,
            KernelClass::ConvolutionInputGradient => 930,
            KernelClass::ConvolutionWeightGradient => 830,
            KernelClass::MatrixProduct => 900,
            KernelClass::FusedAttention => 700,
            KernelClass::Depthwise => 250,
            _ => 500,
        }
    }

    /// Share of the bandwidth in thousandths.
    pub fn bandwidth_permille(self) -> u64 {
        match self {
            KernelClass::Normalisation => 550,
            KernelClass::Reduction => 600,
            KernelClass::MaxPool => 400,
            KernelClass::MaxPoolGradient => 125,
            KernelClass::Copy => 450,
            KernelClass::Gather => 350,
            KernelClass::Depthwise => 400,
            _ => 720,
        }
    }

    /// Returns whether the matrix rate applies.
    pub fn is_matrix(self) -> bool {
        matches!(
            self,
            KernelClass::Convolution
                | KernelClass::ConvolutionInputGradient
                | KernelClass::ConvolutionWeightGradient
                | KernelClass::MatrixProduct
                | KernelClass::FusedAttention
        )
    }
}

/// One kernel: its class and its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Class.
    pub class: KernelClass,
    /// Floating-point operations; a multiply-add counts as two.
    pub flops: u128,
    /// Bytes read and written.
    pub bytes: u128,
}

impl Kernel {
    /// Time on a device in nanoseconds, rounded up; `None` if it exceeds 64 bits.
    pub fn nanoseconds(&self, device: &Device, dtype: DType) -> Option<u64> {
        let class = self.class;
        let (peak, reached) = if class.is_matrix() {
            let rate = device.matrix_rate(dtype);
            (rate.peak_flops, rate.reached_permille)
        } else {
            (device.vector_flops, 1000)
        };
        // Work times 10^15 over the rate, so that integers are exact: 10^9 ns/s, and 1000 twice for
        // permille.
        let compute = self
            .flops
            .checked_mul(1_000_000_000_000_000)?
            .div_ceil(peak as u128 * reached as u128 * class.compute_permille() as u128);
        let traffic = self
            .bytes
            .checked_mul(1_000_000_000_000)?
            .div_ceil(device.bandwidth as u128 * class.bandwidth_permille() as u128);
        let total = compute.max(traffic) + device.overhead_ns as u128;
        u64::try_from(total).ok()
    }
}

/// Time of several kernels one after another, in nanoseconds; `None` if it exceeds 64 bits.
pub(super) fn total_nanoseconds(kernels: &[Kernel], device: &Device, dtype: DType) -> Option<u64> {
    kernels.iter().try_fold(0u64, |sum, kernel| {
        sum.checked_add(kernel.nanoseconds(device, dtype)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(class: KernelClass, flops: u128, bytes: u128) -> Kernel {
        Kernel {
            class,
            flops,
            bytes,
        }
    }

    /// 1 TFLOP at 15.7 TFLOP/s x 0.72 takes 88.464260 ms; 9 GB at
    /// 900 GB/s x 0.72 take 13.888889 ms.
    #[test]
    fn the_slower_of_compute_and_traffic_counts() {
        let v100 = Device::v100();
        let compute = kernel(KernelClass::Convolution, 1_000_000_000_000, 9_000_000_000);
        assert_eq!(
            compute.nanoseconds(&v100, DType::Fp32),
            Some(88_464_261 + 6_000)
        );
        let traffic = kernel(KernelClass::Elementwise, 1_000, 9_000_000_000);
        assert_eq!(
            traffic.nanoseconds(&v100, DType::Fp32),
            Some(13_888_889 + 6_000)
        );
        // Half precision runs on the tensor cores: 125 TFLOP/s x 0.5. Now memory traffic is the
        // bottleneck.
        let half = kernel(KernelClass::Convolution, 1_000_000_000_000, 0);
        assert_eq!(
            half.nanoseconds(&v100, DType::Fp16),
            Some(16_000_000 + 6_000)
        );
    }

    #[test]
    fn no_overflow() {
        let huge = kernel(KernelClass::Elementwise, u128::MAX, 0);
        assert_eq!(huge.nanoseconds(&Device::cpu(), DType::Fp32), None);
        let large = kernel(KernelClass::Elementwise, 0, 1 << 80);
        assert_eq!(large.nanoseconds(&Device::cpu(), DType::Fp32), None);
        let none = kernel(KernelClass::Elementwise, 0, 0);
        assert_eq!(none.nanoseconds(&Device::cpu(), DType::Fp32), Some(2_000));
    }
}
