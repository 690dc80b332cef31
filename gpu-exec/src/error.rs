//! What can go wrong.

use remat_formulations::plan::Register;
use thiserror::Error;

/// A failure of the executor.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ExecError {
    /// libtorch refused, or ran out of memory.
    #[error("libtorch: {0}")]
    Torch(String),
    /// The device is not there.
    #[error("the device {device} cannot be used: {problem}")]
    Device {
        /// As the user wrote it.
        device: String,
        /// Why.
        problem: String,
    },
    /// A plan reads what is not there.
    #[error("step {step}: {node} reads the output of {missing}, which {problem}")]
    Missing {
        /// Index of the statement in the plan.
        step: usize,
        /// The node that is computed.
        node: String,
        /// The node whose output it reads.
        missing: String,
        /// What happened to it.
        problem: &'static str,
    },
    /// A statement about a register that does not hold what it should.
    #[error("step {step}: register {register} {problem}")]
    Register {
        /// Index of the statement in the plan.
        step: usize,
        /// The register.
        register: Register,
        /// What is wrong.
        problem: &'static str,
    },
    /// Something the executor does not run.
    #[error("step {step}: {node}: {problem}")]
    Unsupported {
        /// Index of the statement in the plan.
        step: usize,
        /// The node.
        node: String,
        /// What it does not run.
        problem: String,
    },
    /// An instance or plan that does not belong to the model.
    #[error("{0}")]
    Mismatch(String),
}

#[cfg(feature = "torch")]
impl From<tch::TchError> for ExecError {
    fn from(problem: tch::TchError) -> Self {
        let text = problem.to_string();
        ExecError::Torch(text.lines().next().unwrap_or("").to_string())
    }
}
