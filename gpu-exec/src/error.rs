//! Errors of the executor.

use remat_instances::name::Name;
use remat_instances::plan::{HostBuffer, Register};
use thiserror::Error;

/// A failure of the executor.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ExecError {
    /// The device has too little memory.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The plan copies tensors to the host, but was given no host memory.
    #[error("step {step} copies to the host: run the plan with host memory (run_with_host)")]
    Copies {
        /// Position of the statement.
        step: usize,
    },
    /// The plan gathers weights or scatters gradients.
    #[error("step {step} gathers a weight or scatters a gradient: plans run on one device only")]
    Sharded {
        /// Position of the statement.
        step: usize,
    },
    /// A copy to the host or back failed.
    #[error("step {step}: a copy between device and host failed: {problem}")]
    Copy {
        /// Index of the statement that waits for it.
        step: usize,
        /// Message of the link.
        problem: String,
    },
    /// A statement about a host buffer in the wrong state.
    #[error("step {step}: host buffer {buffer} {problem}")]
    Buffer {
        /// Index of the statement in the plan.
        step: usize,
        /// The buffer.
        buffer: HostBuffer,
        /// Problem, in words.
        problem: &'static str,
    },
    /// The host lacks memory or threads for the plan's copies.
    #[error("host: {0}")]
    Host(String),
    /// libtorch refused.
    #[error("libtorch: {0}")]
    Torch(String),
    /// The device does not exist.
    #[error("the device {device} cannot be used: {problem}")]
    Device {
        /// Name of the device as the user wrote it.
        device: String,
        /// Reason, in words.
        problem: String,
    },
    /// A plan reads an output that is not in memory.
    #[error("step {step}: {node} reads the output of {missing}, which {problem}")]
    Missing {
        /// Index of the statement in the plan.
        step: usize,
        /// The node that is computed.
        node: Name,
        /// The node whose output it reads.
        missing: Name,
        /// Reason why that output is not in memory.
        problem: &'static str,
    },
    /// A statement about a register with the wrong content.
    #[error("step {step}: register {register} {problem}")]
    Register {
        /// Index of the statement in the plan.
        step: usize,
        /// The register.
        register: Register,
        /// Problem, in words.
        problem: &'static str,
    },
    /// An operation that the executor does not support.
    #[error("step {step}: {node}: {problem}")]
    Unsupported {
        /// Index of the statement in the plan.
        step: usize,
        /// The node.
        node: Name,
        /// Problem, in words.
        problem: String,
    },
    /// An instance or plan that does not belong to the model.
    #[error("{0}")]
    Mismatch(String),
}

#[cfg(feature = "torch")]
impl ExecError {
    /// The error of a message of libtorch; a backtrace follows its first line.
    pub(crate) fn of_torch(text: &str) -> Self {
        let text = text.lines().next().unwrap_or("").to_string();
        let short = [
            "out of memory",
            "not enough memory",
            "can't allocate memory",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "CUDNN_STATUS_ALLOC_FAILED",
            "unable to find an engine",
            "cudaErrorMemoryAllocation",
        ];
        match short.iter().any(|words| text.contains(words)) {
            true => ExecError::OutOfMemory(text),
            false => ExecError::Torch(text),
        }
    }
}

#[cfg(feature = "torch")]
impl From<tch::TchError> for ExecError {
    fn from(problem: tch::TchError) -> Self {
        ExecError::of_torch(&problem.to_string())
    }
}

#[cfg(all(test, feature = "torch"))]
mod tests {
    use super::*;

    #[test]
    fn running_out_of_memory_is_told_apart() {
        let gpu = "CUDA out of memory. Tried to allocate 2.00 GiB.\nException raised from malloc";
        let cpu =
            "[enforce fail at alloc_cpu.cpp:127] data. DefaultCPUAllocator: not enough memory";
        let cublas = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`";
        let cudnn = "cuDNN error: CUDNN_STATUS_ALLOC_FAILED";
        let engine = "GET was unable to find an engine to execute this computation";
        let runtime = "CUDA error: cudaErrorMemoryAllocation";
        for text in [gpu, cpu, cublas, cudnn, engine, runtime] {
            let found = ExecError::of_torch(text);
            assert!(matches!(found, ExecError::OutOfMemory(_)), "{found}");
            assert!(!found.to_string().contains('\n'));
        }
        let other = ExecError::of_torch("The size of tensor a (2) must match");
        assert!(matches!(other, ExecError::Torch(_)), "{other}");
    }

    #[test]
    fn a_tensor_that_fits_nowhere_is_out_of_memory() {
        let options = (tch::Kind::Float, tch::Device::Cpu);
        let found = tch::Tensor::f_empty([1 << 50], options).map_err(ExecError::from);
        let found = found.expect_err("four pebibytes");
        assert!(matches!(found, ExecError::OutOfMemory(_)), "{found}");
    }
}
