//! Training graphs of well-known networks, built from shapes and a roofline cost model.
//!
//! ```
//! use remat_instances::zoo;
//! let instance = zoo::build(&"resnet50?batch=184&device=p100".parse()?)?;
//! assert_eq!(instance.node(0.into()).name, "conv1");
//! assert_eq!(instance.node(0.into()).shape, [184, 64, 112, 112]);
//! # Ok::<(), zoo::ZooError>(())
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `spec` | a model and its parameters as text; parsing, listing |
//! | `models` | the networks |
//! | `builder`, `layers`, `sequence`, `experts`, `op` | a forward network with shape inference |
//! | `work` | kernels of each operator, forward and backward, and the inputs of its backward pass |
//! | `training` | the training graph: loss, reverse-mode differentiation |
//! | `sharding` | weights that are gathered and gradients that are scattered between devices |
//! | `memory` | fixed memory: parameters, gradients, optimizer states, running statistics |
//! | `implementations` | algorithms, in-place operators and masks for MONeT's program |
//! | `cost`, `device` | the time of a kernel |
//! | `random` | random numbers for drawn graphs |
//! | `passing` | tensors alive around each node of any graph (MONeT's `local`) |
//!
//! `docs/reference/zoo.md` describes which costs and sizes are counted.

mod builder;
mod cost;
mod device;
mod error;
mod experts;
mod implementations;
mod layers;
mod memory;
mod models;
mod op;
mod program;
mod random;
mod sequence;
mod sharding;
mod spec;
mod tensor;
mod training;
mod work;

#[cfg(test)]
mod tests;

pub use builder::{Network, Parameter, SharedParameter, Tensor};
pub use cost::{Kernel, KernelClass};
pub use device::{DEVICE_NAMES, Device, MatrixRate};
pub use error::ZooError;
pub use memory::Optimizer;
pub use op::{Activation, Convolution, Heads, Op, Operation, Pooling, Slice};
pub use program::{Action, Look, Piece, Source, TrainingProgram};
pub use spec::{ModelInfo, ModelSpec, ParameterInfo, ParameterKind};
pub use tensor::{DType, Precision};
pub use training::TrainingOptions;

use crate::instance::Instance;
use models::ModelBuild;
use op::misfit;

/// All models with their parameters and defaults.
pub fn list() -> Vec<ModelInfo> {
    models::MODELS
        .iter()
        .map(|model| ModelInfo {
            name: model.name,
            description: model.description,
            parameters: model.parameters(),
        })
        .collect()
}

/// The training graph of a model, with costs in nanoseconds.
///
/// # Errors
/// [`ZooError`]: a layer that does not fit its input (an image that shrinks below one pixel),
/// contradictory parameters, or sizes beyond 2^53 - 1.
pub fn build(spec: &ModelSpec) -> Result<Instance, ZooError> {
    match spec.definition().builder {
        ModelBuild::Network(network) => {
            let (network, device, options) = (network(spec)?, spec.device(), spec.options());
            match (spec.has_implementations(), spec.sharding()?) {
                (_, Some(sharding)) => {
                    sharding::training_instance(&network, &device, &options, &sharding)
                }
                (true, None) => network.training_instance_with_choices(&device, &options),
                (false, None) => network.training_instance(&device, &options),
            }
        }
        ModelBuild::Graph(graph) => graph(spec),
    }
}

/// The training graph of a model, with the action of each node; `None` for a model that is only a
/// graph (`chain`, `random_layered`).
///
/// # Errors
/// The errors of [`build`].
pub fn program(spec: &ModelSpec) -> Result<Option<TrainingProgram>, ZooError> {
    let Some(network) = network(spec)? else {
        return Ok(None);
    };
    if spec.sharding()?.is_some() {
        return Err(spec.conflict(
            "a program runs on one device, and shards is above 1",
            "leave out shards",
        ));
    }
    let (device, options) = (spec.device(), spec.options());
    match spec.has_implementations() {
        true => network.training_program_with_choices(&device, &options),
        false => network.training_program(&device, &options),
    }
    .map(Some)
}

/// The forward network of a model, for its parameter count and multiply-adds; `None` for a model
/// that is only a graph (`chain`, `random_layered`).
///
/// # Errors
/// The errors of [`build`].
pub fn network(spec: &ModelSpec) -> Result<Option<Network>, ZooError> {
    match spec.definition().builder {
        ModelBuild::Network(network) => network(spec).map(Some),
        ModelBuild::Graph(_) => Ok(None),
    }
}
