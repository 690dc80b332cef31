//! Networks: tensors, parameters, and a growing list of operators.

use super::ZooError;
use super::op::{Op, Operation};
use super::tensor::{Precision, elements};
use crate::number::LARGEST_VALUE;

/// A tensor of a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tensor(pub(super) u32);

/// Place of a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Storage {
    /// Part of the input batch, which stays in memory.
    Batch,
    /// The output of an operation.
    Operation(usize),
}

/// A tensor's shape, size and place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TensorLayout {
    pub shape: Vec<u64>,
    pub elements: u64,
    /// Exact size, including data that an operator keeps beside its output.
    pub bytes: u64,
    pub storage: Storage,
    /// The operation, or view, that made it; `None` for the input batch.
    pub producer: Option<usize>,
    /// True if the tensor depends on a parameter, so that the loss has a gradient through it.
    pub needs_gradient: bool,
}

/// Size of an output.
pub(super) struct OutputSize {
    pub shape: Vec<u64>,
    pub element_bytes: u64,
    /// Bytes kept in addition to the elements.
    pub extra_bytes: u64,
}

/// A forward network: named operators in execution order, on tensors of known shapes.
///
/// Methods that add an operator take its name and its inputs, check shapes and return the output.
/// Views ([`Network::view`], [`Network::slice`]) are not operators: they share their input's memory
/// and have no cost. [`Network::training_instance`] derives the nodes of the loss and of the
/// backward pass.
///
/// # Panics
/// A [`Tensor`] or [`SharedParameter`] of another network may be out of range here.
///
/// # Errors
/// Every method fails with [`ZooError::Layer`], naming the layer, if its input does not fit, and
/// with [`ZooError::TooLarge`] if a size exceeds 2^53 - 1.
///
/// # Example
/// ```
/// use remat_instances::zoo::{Activation, Convolution, DType, Device, Network, Precision, TrainingOptions};
/// let mut net = Network::new("tiny", Precision::uniform(DType::Fp32));
/// let images = net.input("images", &[8, 3, 32, 32])?;
/// let x = net.conv("conv", images, Convolution::new(16, 3).padding(1))?;
/// let x = net.activation("relu", x, Activation::Relu)?;
/// let x = net.adaptive_average_pool("pool", x, 1)?;
/// let x = net.view("flatten", x, &[8, 16])?;
/// let x = net.linear("fc", x, 10, true)?;
/// net.cross_entropy("loss", &[x])?;
/// assert_eq!(net.parameter_count(), 16 * 3 * 9 + 16 + 16 * 10 + 10);
/// let instance = net.training_instance(&Device::v100(), &TrainingOptions::default())?;
/// assert_eq!(instance.len(), 4 + 1 + 4); // the view is no node
/// # Ok::<(), remat_instances::zoo::ZooError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    pub(super) name: String,
    pub(super) precision: Precision,
    pub(super) values: Vec<TensorLayout>,
    pub(super) operations: Vec<Operation>,
    pub(super) parameters: Vec<Parameter>,
    parameter_total: u64,
    /// The input batch, in bytes.
    pub(super) input_bytes: u64,
}

/// A parameter of a [`Network`].
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the operator that introduced it.
    pub name: String,
    /// Shape; a convolution's weight is `[out, in / groups, kernel..]`, transposed
    /// `[in, out / groups, kernel..]`.
    pub shape: Vec<u64>,
    /// Number of elements.
    pub elements: u64,
}

/// A parameter that several operators share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedParameter(pub(super) usize);

impl Network {
    /// A network without operators.
    pub fn new(name: impl Into<String>, precision: Precision) -> Self {
        Network {
            name: name.into(),
            precision,
            values: Vec::new(),
            operations: Vec::new(),
            parameters: Vec::new(),
            parameter_total: 0,
            input_bytes: 0,
        }
    }

    /// Shape of a tensor.
    pub fn shape(&self, x: Tensor) -> &[u64] {
        &self.value(x).shape
    }

    /// Number of parameters (elements); shared ones count once.
    pub fn parameter_count(&self) -> u64 {
        self.parameter_total
    }

    /// Operators in execution order, including views.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Parameters, in the order of the operators that introduced them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Element types.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The operator or view that makes a tensor, as an index into [`Network::operations`]; `None`
    /// for the input batch.
    pub fn producer(&self, x: Tensor) -> Option<usize> {
        self.value(x).producer
    }

    /// Returns whether the loss depends on a parameter through a tensor.
    pub fn needs_gradient(&self, x: Tensor) -> bool {
        self.value(x).needs_gradient
    }

    /// The tensors of the input batch.
    pub fn batch(&self) -> impl Iterator<Item = Tensor> + use<'_> {
        let tensors = (0..).map(Tensor).zip(&self.values);
        tensors
            .filter(|(_, value)| value.producer.is_none())
            .map(|(x, _)| x)
    }

    pub(super) fn value(&self, x: Tensor) -> &TensorLayout {
        &self.values[x.0 as usize]
    }

    fn add_value(
        &mut self,
        layer: &str,
        layout: OutputSize,
        storage: Storage,
        producer: Option<usize>,
        needs_gradient: bool,
    ) -> Result<Tensor, ZooError> {
        let too_large = || ZooError::TooLarge {
            at: layer.into(),
            what: "output",
        };
        let count = elements(&layout.shape).ok_or_else(too_large)?;
        let bytes = count
            .checked_mul(layout.element_bytes)
            .and_then(|bytes| bytes.checked_add(layout.extra_bytes))
            .filter(|bytes| *bytes <= LARGEST_VALUE)
            .ok_or_else(too_large)?;
        let id = u32::try_from(self.values.len()).map_err(|_| ZooError::TooLarge {
            at: layer.into(),
            what: "number of tensors",
        })?;
        self.values.push(TensorLayout {
            shape: layout.shape,
            elements: count,
            bytes,
            storage,
            producer,
            needs_gradient,
        });
        Ok(Tensor(id))
    }

    pub(super) fn push(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[Tensor],
        shape: Vec<u64>,
        parameters: Vec<usize>,
    ) -> Result<Tensor, ZooError> {
        let layout = OutputSize {
            shape,
            element_bytes: self.precision.activations.bytes(),
            extra_bytes: 0,
        };
        self.push_sized(name, op, inputs, layout, parameters)
    }

    pub(super) fn push_sized(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[Tensor],
        layout: OutputSize,
        parameters: Vec<usize>,
    ) -> Result<Tensor, ZooError> {
        let storage = match inputs.first() {
            Some(input) if op.is_view() => self.value(*input).storage,
            _ => Storage::Operation(self.operations.len()),
        };
        let needs_gradient = !op.is_constant()
            && (!parameters.is_empty() || inputs.iter().any(|x| self.value(*x).needs_gradient));
        let output = self.add_value(
            name,
            layout,
            storage,
            Some(self.operations.len()),
            needs_gradient,
        )?;
        self.operations.push(Operation {
            name: name.into(),
            op,
            inputs: inputs.to_vec(),
            output,
            parameters,
        });
        Ok(output)
    }

    /// A parameter that several operators share, such as tied embeddings.
    pub fn parameter(&mut self, name: &str, shape: &[u64]) -> Result<SharedParameter, ZooError> {
        let too_large = || ZooError::TooLarge {
            at: name.into(),
            what: "number of parameters",
        };
        let count = elements(shape).ok_or_else(too_large)?;
        self.parameter_total = self
            .parameter_total
            .checked_add(count)
            .filter(|total| *total <= LARGEST_VALUE / 8)
            .ok_or_else(too_large)?;
        self.parameters.push(Parameter {
            name: name.into(),
            shape: shape.to_vec(),
            elements: count,
        });
        Ok(SharedParameter(self.parameters.len() - 1))
    }

    pub(super) fn parameter_list(
        &mut self,
        name: &str,
        shapes: &[&[u64]],
    ) -> Result<Vec<usize>, ZooError> {
        shapes
            .iter()
            .map(|shape| self.parameter(name, shape).map(|p| p.0))
            .collect()
    }

    fn batch_tensor(
        &mut self,
        name: &str,
        shape: &[u64],
        element_bytes: u64,
    ) -> Result<Tensor, ZooError> {
        let layout = OutputSize {
            shape: shape.to_vec(),
            element_bytes,
            extra_bytes: 0,
        };
        let x = self.add_value(name, layout, Storage::Batch, None, false)?;
        // Each size is below 2^53, and a network has few inputs.
        self.input_bytes = self.input_bytes.saturating_add(self.value(x).bytes);
        Ok(x)
    }

    /// Floating-point input of the network, first axis the batch; it stays in memory and has no
    /// gradient.
    pub fn input(&mut self, name: &str, shape: &[u64]) -> Result<Tensor, ZooError> {
        self.batch_tensor(name, shape, self.precision.activations.bytes())
    }

    /// Integer input of the network (64 bits each), such as token ids.
    pub fn integer_input(&mut self, name: &str, shape: &[u64]) -> Result<Tensor, ZooError> {
        self.batch_tensor(name, shape, 8)
    }
}
