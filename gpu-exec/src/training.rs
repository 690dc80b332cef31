//! A network set up for training on a device: parameters, batch, and the tensors that stay outside
//! of a plan's registers.

use crate::device::Device;
use crate::error::ExecError;
use crate::kernels::sizes;
use crate::shim::{self, Draw};
use remat_instances::instance::NodeId;
use remat_instances::zoo::{
    Action, DType, Network, Op, Operation, Tensor as Value, TrainingProgram,
};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// A tensor that a computation makes in an arena: its size, and its turn among all requests for
/// memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub bytes: u64,
    pub turn: Option<u32>,
}

/// A network with random parameters and a random batch, the same for the same seed.
pub struct Training {
    pub(crate) program: TrainingProgram,
    pub(crate) device: Device,
    pub(crate) parameters: Vec<Tensor>,
    pub(crate) batch: BTreeMap<Value, Tensor>,
    /// Statistics and similar tensors of each operation: small, kept from the forward to the
    /// backward pass.
    pub(crate) aside: Vec<Vec<Tensor>>,
    /// Running mean and variance of each batch normalisation, by operation.
    pub(crate) running: Vec<Option<[Tensor; 2]>>,
    /// Gradients of the parameters; before they are made, reserved memory of their size.
    pub(crate) gradients: Vec<Option<Tensor>>,
    /// Node that computes each operation; `None` for views.
    pub(crate) node_of: Vec<Option<NodeId>>,
    /// Node of each operation's by-product, if it has one.
    pub(crate) by_product_of: Vec<Option<NodeId>>,
    /// Outputs of nodes by implementation, as far as they were made in an arena; gradients of
    /// parameters likewise.
    pub(crate) slots: BTreeMap<(NodeId, u16), Vec<Slot>>,
    pub(crate) gradient_slots: Vec<Option<Slot>>,
    pub(crate) seed: i64,
    /// True if steps do not wait for each computation.
    pub(crate) asynchronous: bool,
}

impl Training {
    /// Makes parameters and batch.
    ///
    /// # Errors
    /// [`ExecError::Torch`] if memory runs out, [`ExecError::Mismatch`] for mixed element types and
    /// for a graph without a backward pass.
    pub fn new(program: TrainingProgram, device: &Device, seed: u64) -> Result<Self, ExecError> {
        let network = &program.network;
        let precision = network.precision();
        let of_activations = kind(precision.activations);
        if [precision.parameters, precision.gradients].map(kind) != [of_activations; 2] {
            return Err(ExecError::Mismatch(format!(
                "activations are {}, parameters {} and their gradients {}: the executor runs one element type (dtype, \
                 param_dtype and grad_dtype of the model)",
                precision.activations, precision.parameters, precision.gradients
            )));
        }
        let rounds = precision.activations == DType::Tf32;
        shim::set_tf32(rounds)?;
        if program.instance.loss().is_none() {
            return Err(ExecError::Mismatch(
                "the graph has no loss and no backward pass; the executor runs training steps"
                    .into(),
            ));
        }
        let mut node_of = vec![None; network.operations().len()];
        let mut by_product_of = node_of.clone();
        for (node, action) in program.instance.ids().zip(&program.actions) {
            match action {
                Action::Forward { operation } => node_of[*operation] = Some(node),
                Action::ByProduct { operation } => by_product_of[*operation] = Some(node),
                _ => {}
            }
        }
        // Operations have consecutive seeds from here, signed as libtorch's are. The factor (2^64
        // divided by the golden ratio) keeps the operations' seeds of neighbouring seeds apart.
        let seed = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as i64;
        let _no_graph = tch::no_grad_guard();
        // Operations use the seeds above; parameters and batch use the seeds below.
        let mut below = seed;
        let mut next = || {
            below = below.wrapping_sub(1);
            below
        };
        let parameters = parameters(network, device, &mut next)?;
        let batch = batch(network, device, &mut next)?;
        Ok(Training {
            aside: node_of.iter().map(|_| Vec::new()).collect(),
            running: running(network, &parameters)?,
            gradients: parameters.iter().map(|_| None).collect(),
            slots: BTreeMap::new(),
            gradient_slots: parameters.iter().map(|_| None).collect(),
            device: device.clone(),
            asynchronous: false,
            program,
            parameters,
            batch,
            node_of,
            by_product_of,
            seed,
        })
    }

    /// The graph, with its nodes' computations.
    pub fn program(&self) -> &TrainingProgram {
        &self.program
    }

    /// Device on which it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Chooses whether steps on a GPU start each computation without waiting for the one before, as
    /// training does. Times are then those between events on the GPU. Results and memory are the
    /// same. On the CPU computations are always waited for.
    pub fn set_asynchronous(&mut self, asynchronous: bool) {
        self.asynchronous = asynchronous;
    }

    /// Gradients of the parameters made by the last step, in the network's order.
    pub fn gradients(&self) -> &[Option<Tensor>] {
        &self.gradients
    }

    /// Running mean and variance of the batch normalisations, in the network's order. Each step
    /// updates them once, however often it computes a node.
    pub fn running_statistics(&self) -> Vec<&Tensor> {
        self.running.iter().flatten().flatten().collect()
    }

    /// Bytes of parameters, batch, gradients and statistics.
    pub(crate) fn bytes(&self) -> u64 {
        self.tensors().map(bytes_of).sum()
    }

    /// Parameters, batch, gradients and statistics.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let tensors = self.parameters.iter().chain(self.batch.values());
        let tensors = tensors.chain(self.aside.iter().flatten());
        let tensors = tensors.chain(self.running.iter().flatten().flatten());
        tensors.chain(self.gradients.iter().flatten())
    }

    /// The same, for replacement.
    pub(crate) fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let tensors = self.parameters.iter_mut().chain(self.batch.values_mut());
        let tensors = tensors.chain(self.aside.iter_mut().flatten());
        let tensors = tensors.chain(self.running.iter_mut().flatten().flatten());
        tensors.chain(self.gradients.iter_mut().flatten())
    }

    /// The node whose output holds a tensor; `None` for the batch.
    pub(crate) fn holder(&self, mut x: Value) -> Option<NodeId> {
        while let Some(k) = self.program.network.producer(x) {
            let operation = &self.program.network.operations()[k];
            if !operation.op.is_view() {
                return self.node_of[k];
            }
            x = operation.inputs[0];
        }
        None
    }
}

/// Bytes of a tensor's elements.
pub(crate) fn bytes_of(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
}

/// Element type in libtorch.
pub fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Fp32 | DType::Tf32 => Kind::Float,
        DType::Fp16 => Kind::Half,
        DType::Bf16 => Kind::BFloat16,
    }
}

/// Weights are normal with variance 1 / fan-in, scales one, biases and shifts zero.
fn parameters(
    network: &Network,
    device: &Device,
    next_seed: &mut impl FnMut() -> i64,
) -> Result<Vec<Tensor>, ExecError> {
    let options = (kind(network.precision().parameters), device.place());
    let mut role = vec![0; network.parameters().len()];
    let mut scale = vec![false; role.len()];
    // Axes in front of the fan-in axes: two for a matrix for each expert.
    let mut outer = vec![1; role.len()];
    for operation in network.operations() {
        for (k, p) in operation.parameters.iter().enumerate() {
            role[*p] = k;
            scale[*p] =
                k == 0 && matches!(operation.op, Op::BatchNorm | Op::LayerNorm | Op::RmsNorm);
            if operation.op == Op::GroupedLinear {
                outer[*p] = 2;
            }
        }
    }
    let make = |(p, parameter): (usize, &remat_instances::zoo::Parameter)| {
        let shape = sizes(&parameter.shape);
        if scale[p] {
            return Ok(Tensor::f_ones(shape, options)?);
        }
        if role[p] > 0 {
            return Ok(Tensor::f_zeros(shape, options)?);
        }
        let fan_in: i64 = shape.iter().skip(outer[p]).product();
        let deviation = 1.0 / (fan_in.max(1) as f64).sqrt();
        let mut drawn = shim::drawn(Draw::Normal, &shape, options, next_seed())?;
        Ok(drawn.f_mul_scalar_(deviation)?)
    };
    network.parameters().iter().enumerate().map(make).collect()
}

/// Mean zero and variance one for each batch normalisation.
fn running(
    network: &Network,
    parameters: &[Tensor],
) -> Result<Vec<Option<[Tensor; 2]>>, ExecError> {
    let of = |operation: &Operation| {
        let scale = &parameters[*operation.parameters.first()?];
        let normalises = operation.op == Op::BatchNorm;
        normalises.then(|| Ok([scale.f_zeros_like()?, scale.f_ones_like()?]))
    };
    network
        .operations()
        .iter()
        .map(|operation| of(operation).transpose())
        .collect()
}

/// Normal floating-point inputs; ids are uniform over the rows of the table they look up.
fn batch(
    network: &Network,
    device: &Device,
    next_seed: &mut impl FnMut() -> i64,
) -> Result<BTreeMap<Value, Tensor>, ExecError> {
    let mut tensors = BTreeMap::new();
    for x in network.batch() {
        let shape = sizes(network.shape(x));
        let lookup = network
            .operations()
            .iter()
            .find(|operation| operation.op == Op::Embedding && operation.inputs[0] == x);
        let tensor = match lookup {
            Some(operation) => {
                let features = network.shape(operation.output).last().copied().unwrap_or(1);
                let table = network.parameters()[operation.parameters[0]].elements;
                let rows = (table / features.max(1)).max(1) as i64;
                let options = (Kind::Int64, device.place());
                shim::drawn(Draw::Below(rows), &shape, options, next_seed())?
            }
            None => {
                let kind = kind(network.precision().activations);
                shim::drawn(Draw::Normal, &shape, (kind, device.place()), next_seed())?
            }
        };
        tensors.insert(x, tensor);
    }
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::zoo::{self, ModelSpec};

    #[test]
    fn a_network_in_tf32_rounds_and_others_do_not() {
        let device = Device::open("cpu", true).expect("the CPU");
        for (dtype, rounds) in [("tf32", true), ("fp32", false), ("bf16", false)] {
            let text = format!("zoo:vgg16?batch=1&size=32x32&classes=10&hidden=16&dtype={dtype}");
            let spec: ModelSpec = text.parse().expect("a model");
            let program = zoo::program(&spec).expect("a graph").expect("operators");
            Training::new(program, &device, 0).unwrap_or_else(|e| panic!("{dtype}: {e}"));
            assert_eq!(shim::tf32(), rounds, "{dtype}");
        }
    }
}
