//! Accelerator presets.

use super::tensor::DType;
use crate::instance::HostLink;
use std::str::FromStr;

/// Speed of matrix products in one element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixRate {
    /// Peak in the vendor's data sheet (dense), in floating-point operations per second.
    pub peak_flops: u64,
    /// Share of the peak reached by a well-shaped convolution, in thousandths.
    pub reached_permille: u64,
}

/// Properties of a device for the cost model.
#[derive(Clone, PartialEq, Debug)]
pub struct Device {
    /// The name for users.
    pub name: &'static str,
    /// Description in words.
    pub description: &'static str,
    /// Matrix products in fp32.
    pub fp32: MatrixRate,
    /// Matrix products in tf32; equal to `fp32` if the device has no such units.
    pub tf32: MatrixRate,
    /// Matrix products in fp16.
    pub fp16: MatrixRate,
    /// Matrix products in bf16; equal to `fp32` if the device has no such units (the data still
    /// takes 2 bytes).
    pub bf16: MatrixRate,
    /// Peak of all kernels except matrix products, in floating-point operations per second.
    pub vector_flops: u64,
    /// Memory bandwidth in the data sheet, in bytes per second.
    pub bandwidth: u64,
    /// Fixed time of one kernel, in nanoseconds.
    pub overhead_ns: u64,
    /// Memory size in bytes.
    pub memory_bytes: u64,
    /// Link to host memory; `None` for the host itself.
    pub host_link: Option<HostLink>,
}

const fn rate(gigaflops: u64, reached_permille: u64) -> MatrixRate {
    MatrixRate {
        peak_flops: gigaflops * 1_000_000_000,
        reached_permille,
    }
}

const fn link(gigabytes_per_second: u64) -> Option<HostLink> {
    let speed = gigabytes_per_second * 1_000_000_000;
    Some(HostLink::new(speed, speed))
}

const GIB: u64 = 1 << 30;
const GB: u64 = 1_000_000_000;

/// Names of the presets, in the order of listings for users.
pub const DEVICE_NAMES: [&str; 6] = ["p100", "v100", "a100", "h100", "h200", "cpu"];

impl Device {
    /// NVIDIA Tesla P100 SXM2, 16 GB. Its shares are fitted to the profiles published with MONeT
    /// (see [`super::KernelClass`]).
    pub fn p100() -> Self {
        Device {
            name: "p100",
            description: "NVIDIA P100 SXM2, 16 GB",
            fp32: rate(10_600, 720),
            tf32: rate(10_600, 720),
            fp16: rate(21_200, 650),
            bf16: rate(10_600, 720),
            vector_flops: 10_600 * GB,
            bandwidth: 732 * GB,
            overhead_ns: 8_000,
            memory_bytes: 16 * GIB,
            host_link: link(12),
        }
    }

    /// NVIDIA Tesla V100 SXM2, 16 GB.
    pub fn v100() -> Self {
        Device {
            name: "v100",
            description: "NVIDIA V100 SXM2, 16 GB",
            fp32: rate(15_700, 720),
            tf32: rate(15_700, 720),
            fp16: rate(125_000, 500),
            bf16: rate(15_700, 720),
            vector_flops: 15_700 * GB,
            bandwidth: 900 * GB,
            overhead_ns: 6_000,
            memory_bytes: 16 * GIB,
            host_link: link(12),
        }
    }

    /// NVIDIA A100 SXM, 80 GB.
    pub fn a100() -> Self {
        Device {
            name: "a100",
            description: "NVIDIA A100 SXM, 80 GB",
            fp32: rate(19_500, 720),
            tf32: rate(156_000, 500),
            fp16: rate(312_000, 500),
            bf16: rate(312_000, 500),
            vector_flops: 19_500 * GB,
            bandwidth: 2_039 * GB,
            overhead_ns: 5_000,
            memory_bytes: 80 * GIB,
            host_link: link(25),
        }
    }

    /// NVIDIA H100 SXM, 80 GB.
    pub fn h100() -> Self {
        Device {
            name: "h100",
            description: "NVIDIA H100 SXM, 80 GB",
            fp32: rate(66_900, 700),
            tf32: rate(494_700, 450),
            fp16: rate(989_400, 450),
            bf16: rate(989_400, 450),
            vector_flops: 66_900 * GB,
            bandwidth: 3_350 * GB,
            overhead_ns: 4_000,
            memory_bytes: 80 * GIB,
            host_link: link(50),
        }
    }

    /// NVIDIA H200 SXM, 141 GB: an H100 with more and faster memory.
    pub fn h200() -> Self {
        Device {
            name: "h200",
            description: "NVIDIA H200 SXM, 141 GB",
            bandwidth: 4_800 * GB,
            memory_bytes: 141 * GIB,
            ..Device::h100()
        }
    }

    /// A server processor with 32 cores and AVX-512; half precision is computed in fp32.
    pub fn cpu() -> Self {
        Device {
            name: "cpu",
            description: "server CPU, 32 cores, 256 GiB",
            fp32: rate(2_500, 600),
            tf32: rate(2_500, 600),
            fp16: rate(2_500, 600),
            bf16: rate(2_500, 600),
            vector_flops: 2_500 * GB,
            bandwidth: 200 * GB,
            overhead_ns: 2_000,
            memory_bytes: 256 * GIB,
            host_link: None,
        }
    }

    /// Speed of matrix products in an element type.
    pub fn matrix_rate(&self, dtype: DType) -> MatrixRate {
        match dtype {
            DType::Fp32 => self.fp32,
            DType::Tf32 => self.tf32,
            DType::Fp16 => self.fp16,
            DType::Bf16 => self.bf16,
        }
    }
}

impl FromStr for Device {
    type Err = ();

    /// Returns the preset with a name: `p100`, `v100`, `a100`, `h100`, `h200` or `cpu`.
    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "p100" => Device::p100(),
            "v100" => Device::v100(),
            "a100" => Device::a100(),
            "h100" => Device::h100(),
            "h200" => Device::h200(),
            "cpu" => Device::cpu(),
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_preset() {
        for name in DEVICE_NAMES {
            let device: Device = name.parse().unwrap();
            assert_eq!(device.name, name);
            assert_eq!(device.host_link.is_none(), name == "cpu");
        }
        assert!("tpu".parse::<Device>().is_err());
    }
}
