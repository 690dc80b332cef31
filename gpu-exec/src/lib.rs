//! Executes a rematerialization plan on a real device.
//!
//! A `Training` holds a network of the zoo with random parameters and a random batch. `run` takes a
//! plan (`remat-plan/1`) through one training step, operator by operator with explicit forward and
//! backward calls to libtorch, and measures time and memory of each. `profile` turns such
//! measurements into an instance to solve. `compare` compares gradients of two plans.
//!
//! Everything that runs needs the feature `torch` and libtorch (`scripts/setup-torch.sh`). Without
//! it the crate has only its errors and [`program_of`], and builds without a download.
//!
//! | module | concept |
//! |---|---|
//! | `device` | devices, and the memory of tensors there |
//! | `model` | from an instance back to its network |
//! | `training` | parameters, batch, gradients |
//! | `kernels` | forward and backward of every operator |
//! | `execute` | the plan's statements |
//! | `profile` | measured costs and sizes as an instance |
//! | `link` | speeds of the link to host memory |
//! | `compare` | gradients side by side |
//! | `shim` | C++ functions that `tch` lacks |
#![deny(missing_docs)]

#[cfg(feature = "torch")]
mod compare;
#[cfg(feature = "torch")]
mod device;
mod error;
#[cfg(feature = "torch")]
mod execute;
#[cfg(feature = "torch")]
mod kernels;
#[cfg(feature = "torch")]
mod link;
mod model;
#[cfg(feature = "torch")]
mod profile;
#[cfg(feature = "torch")]
mod shim;
#[cfg(feature = "torch")]
mod training;

pub use error::ExecError;
pub use model::program_of;
/// A tensor of libtorch.
#[cfg(feature = "torch")]
pub use tch::Tensor;
#[cfg(feature = "torch")]
pub use {
    compare::{Comparison, compare, gradients},
    device::{Clock, Device, Memory},
    execute::{ArenaUse, Computation, CopyUse, HostMemory, Run, run, run_in_arena, run_with_host},
    link::{LinkPoint, LinkProfile, measure_link},
    profile::{Profile, ProfileSettings, Timing, profile},
    training::Training,
};

/// Threads that an operator on the CPU may use; 0 leaves the number to libtorch.
#[cfg(feature = "torch")]
pub fn set_threads(threads: u16) {
    if threads > 0 {
        tch::set_num_threads(i32::from(threads));
    }
}
