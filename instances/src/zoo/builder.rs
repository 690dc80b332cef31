//! Networks, described operator by operator.

use super::ZooError;
use super::op::{Activation, Convolution, Op, Operation, Pooling, Slice};
use super::op::{convolved, misfit, pooled};
use super::tensor::{Precision, elements};
use crate::instance::LARGEST_VALUE;

/// A tensor of a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tensor(pub(super) u32);

/// Where a tensor's memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Storage {
    /// Part of the input batch, which stays in memory.
    Batch,
    /// The output of an operation.
    Operation(usize),
}

/// A tensor's shape, size and place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Value {
    pub shape: Vec<u64>,
    pub elements: u64,
    /// Exact size, with what an operator keeps beside its output.
    pub bytes: u64,
    pub storage: Storage,
    /// The operation, or view, that made it; `None` for the input batch.
    pub producer: Option<usize>,
    /// Whether the loss depends on a parameter through it.
    pub needs_gradient: bool,
}

/// Size of an output.
pub(super) struct Layout {
    pub shape: Vec<u64>,
    pub element_bytes: u64,
    /// Kept beside the elements.
    pub extra_bytes: u64,
}

/// A forward network: operators in execution order, each named, on tensors of known shapes.
///
/// Methods that add an operator take its name and its inputs, check shapes and return the output. Views
/// ([`Network::view`], [`Network::slice`]) are no operators: they share their input's memory and cost nothing.
/// [`Network::training_instance`] derives the loss's and the backward pass's nodes.
///
/// # Panics
/// A [`Tensor`] or [`SharedParameter`] of another network may be out of range here.
///
/// # Errors
/// Every method fails with [`ZooError::Layer`], naming the layer, where its input does not fit, and with
/// [`ZooError::TooLarge`] where a size exceeds 2^53 - 1.
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
    pub(super) values: Vec<Value>,
    pub(super) operations: Vec<Operation>,
    pub(super) parameters: Vec<Parameter>,
    parameter_total: u64,
    /// Running statistics and the like, in bytes.
    pub(super) buffer_bytes: u64,
    /// The input batch, in bytes.
    pub(super) input_bytes: u64,
}

/// A parameter of a [`Network`].
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the operator that brought it in.
    pub name: String,
    /// Shape; a convolution's weight is `[out, in / groups, kernel..]`, transposed `[in, out / groups, kernel..]`.
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
            buffer_bytes: 0,
            input_bytes: 0,
        }
    }

    /// Shape of a tensor.
    pub fn shape(&self, x: Tensor) -> &[u64] {
        &self.value(x).shape
    }

    /// Number of parameters (elements), shared ones once.
    pub fn parameter_count(&self) -> u64 {
        self.parameter_total
    }

    /// Operators in execution order, views among them.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Parameters, in the order in which operators brought them in.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Element types.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The operator, or view, that makes a tensor, as an index into [`Network::operations`]; `None` for the input batch.
    pub fn producer(&self, x: Tensor) -> Option<usize> {
        self.value(x).producer
    }

    /// Whether the loss depends on a parameter through a tensor.
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

    pub(super) fn value(&self, x: Tensor) -> &Value {
        &self.values[x.0 as usize]
    }

    fn add_value(
        &mut self,
        layer: &str,
        layout: Layout,
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
        self.values.push(Value {
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
        let layout = Layout {
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
        layout: Layout,
        parameters: Vec<usize>,
    ) -> Result<Tensor, ZooError> {
        let storage = match inputs.first() {
            Some(input) if op.is_view() => self.value(*input).storage,
            _ => Storage::Operation(self.operations.len()),
        };
        let differentiable = !matches!(op, Op::DropoutMask | Op::PoolIndices(_));
        let needs_gradient = differentiable
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
        let layout = Layout {
            shape: shape.to_vec(),
            element_bytes,
            extra_bytes: 0,
        };
        let x = self.add_value(name, layout, Storage::Batch, None, false)?;
        // Each is below 2^53; a network has a handful of inputs.
        self.input_bytes = self.input_bytes.saturating_add(self.value(x).bytes);
        Ok(x)
    }

    /// Floating-point input of the network, first axis the batch; it stays in memory and has no gradient.
    pub fn input(&mut self, name: &str, shape: &[u64]) -> Result<Tensor, ZooError> {
        self.batch_tensor(name, shape, self.precision.activations.bytes())
    }

    /// Integer input of the network (64 bits each), such as token ids.
    pub fn integer_input(&mut self, name: &str, shape: &[u64]) -> Result<Tensor, ZooError> {
        self.batch_tensor(name, shape, 8)
    }

    /// Convolution over all spatial axes: `[batch, channels, ..]` to `[batch, out_channels, ..]`.
    pub fn conv(
        &mut self,
        name: &str,
        x: Tensor,
        convolution: Convolution,
    ) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        let out = convolved(name, &shape, &convolution)?;
        let mut weight = match convolution.transposed {
            false => vec![convolution.out_channels, shape[1] / convolution.groups],
            true => vec![shape[1], convolution.out_channels / convolution.groups],
        };
        weight.extend(shape[2..].iter().map(|_| convolution.kernel));
        let bias = [convolution.out_channels];
        let parameters = match convolution.bias {
            true => self.parameter_list(name, &[&weight, &bias])?,
            false => self.parameter_list(name, &[&weight])?,
        };
        self.push(name, Op::Convolution(convolution), &[x], out, parameters)
    }

    /// Affine map of the last axis.
    pub fn linear(
        &mut self,
        name: &str,
        x: Tensor,
        features: u64,
        bias: bool,
    ) -> Result<Tensor, ZooError> {
        let inner = self.last_axis(name, x)?;
        let weight = self.parameter(name, &[features, inner])?;
        self.linear_shared(name, x, features, weight, bias)
    }

    /// Affine map of the last axis with a shared weight, for example a tied embedding table.
    pub fn linear_shared(
        &mut self,
        name: &str,
        x: Tensor,
        features: u64,
        weight: SharedParameter,
        bias: bool,
    ) -> Result<Tensor, ZooError> {
        let inner = self.last_axis(name, x)?;
        if Some(self.parameters[weight.0].elements) != inner.checked_mul(features) {
            let problem = format!("the weight does not map {inner} to {features} features");
            return Err(misfit(name, self.shape(x), problem, "share one that does"));
        }
        let mut parameters = vec![weight.0];
        if bias {
            parameters.push(self.parameter(name, &[features])?.0);
        }
        let mut out = self.shape(x).to_vec();
        out.pop();
        out.push(features);
        self.push(name, Op::Linear { bias }, &[x], out, parameters)
    }

    fn last_axis(&self, name: &str, x: Tensor) -> Result<u64, ZooError> {
        match self.shape(x).last() {
            Some(d) => Ok(*d),
            None => Err(misfit(name, &[], "the input has no axis", "give it one")),
        }
    }

    /// Batch normalisation with scale and shift per channel (axis 1), and running statistics in fp32.
    pub fn batch_norm(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        let Some(&channels) = shape.get(1) else {
            return Err(misfit(name, &shape, "no channel axis", "give it one"));
        };
        let parameters = self.parameter_list(name, &[&[channels], &[channels]])?;
        self.buffer_bytes = self.buffer_bytes.saturating_add(2 * 4 * channels);
        self.push(name, Op::BatchNorm, &[x], shape, parameters)
    }

    /// Layer normalisation of the last axis with scale and shift.
    pub fn layer_norm(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let features = self.last_axis(name, x)?;
        let parameters = self.parameter_list(name, &[&[features], &[features]])?;
        self.push(
            name,
            Op::LayerNorm,
            &[x],
            self.shape(x).to_vec(),
            parameters,
        )
    }

    /// Root-mean-square normalisation of the last axis with scale.
    pub fn rms_norm(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let features = self.last_axis(name, x)?;
        let parameters = self.parameter_list(name, &[&[features]])?;
        self.push(name, Op::RmsNorm, &[x], self.shape(x).to_vec(), parameters)
    }

    /// Elementwise activation.
    pub fn activation(
        &mut self,
        name: &str,
        x: Tensor,
        function: Activation,
    ) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        self.push(name, Op::Activation(function), &[x], shape, vec![])
    }

    /// Rectified linear unit.
    pub fn relu(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        self.activation(name, x, Activation::Relu)
    }

    /// Softmax over the last axis.
    pub fn softmax(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        self.push(name, Op::Softmax, &[x], self.shape(x).to_vec(), vec![])
    }

    /// Max pooling.
    pub fn max_pool(
        &mut self,
        name: &str,
        x: Tensor,
        pooling: Pooling,
    ) -> Result<Tensor, ZooError> {
        let out = pooled(name, self.shape(x), &pooling)?;
        self.push(name, Op::MaxPool(pooling), &[x], out, vec![])
    }

    /// Positions of the maxima of a max pooling, 64 bits each, as a tensor of their own.
    pub fn pool_indices(
        &mut self,
        name: &str,
        x: Tensor,
        pooling: Pooling,
    ) -> Result<Tensor, ZooError> {
        let out = pooled(name, self.shape(x), &pooling)?;
        let layout = Layout {
            shape: out,
            element_bytes: 8,
            extra_bytes: 0,
        };
        self.push_sized(name, Op::PoolIndices(pooling), &[x], layout, vec![])
    }

    /// Scatters `x` to the positions `indices` in a tensor of the given spatial extents.
    pub fn unpool(
        &mut self,
        name: &str,
        x: Tensor,
        indices: Tensor,
        spatial: &[u64],
    ) -> Result<Tensor, ZooError> {
        self.same_shape(name, x, indices)?;
        let out = self.resized(name, x, spatial)?;
        self.push(name, Op::Unpool, &[x, indices], out, vec![])
    }

    fn resized(&self, name: &str, x: Tensor, spatial: &[u64]) -> Result<Vec<u64>, ZooError> {
        let shape = self.shape(x);
        if shape.len() != spatial.len() + 2 {
            let problem = format!("{} extents for the spatial axes", spatial.len());
            return Err(misfit(name, shape, problem, "give one for each of them"));
        }
        let mut out = shape[..2].to_vec();
        out.extend_from_slice(spatial);
        Ok(out)
    }

    /// Average pooling.
    pub fn average_pool(
        &mut self,
        name: &str,
        x: Tensor,
        pooling: Pooling,
    ) -> Result<Tensor, ZooError> {
        let out = pooled(name, self.shape(x), &pooling)?;
        self.push(name, Op::AveragePool(pooling), &[x], out, vec![])
    }

    /// Average pooling to a given extent along every spatial axis.
    pub fn adaptive_average_pool(
        &mut self,
        name: &str,
        x: Tensor,
        extent: u64,
    ) -> Result<Tensor, ZooError> {
        let shape = self.shape(x);
        if shape.len() < 3 || extent == 0 {
            let problem = "pooling needs spatial axes and an extent";
            return Err(misfit(name, shape, problem, "give both"));
        }
        let mut out = shape[..2].to_vec();
        out.resize(shape.len(), extent);
        self.push(name, Op::AdaptiveAveragePool, &[x], out, vec![])
    }

    /// Linear interpolation to the given spatial extents.
    pub fn upsample(&mut self, name: &str, x: Tensor, spatial: &[u64]) -> Result<Tensor, ZooError> {
        let out = self.resized(name, x, spatial)?;
        self.push(name, Op::Upsample, &[x], out, vec![])
    }

    fn same_shape(&self, name: &str, a: Tensor, b: Tensor) -> Result<(), ZooError> {
        if self.shape(a) == self.shape(b) {
            return Ok(());
        }
        let other = super::tensor::format_shape(self.shape(b));
        let problem = format!("the other input has another shape ({other})");
        Err(misfit(
            name,
            self.shape(a),
            problem,
            "choose an input size at which they agree, such as a multiple of the network's total stride",
        ))
    }

    /// Sum of two tensors of one shape.
    pub fn add(&mut self, name: &str, a: Tensor, b: Tensor) -> Result<Tensor, ZooError> {
        self.same_shape(name, a, b)?;
        self.push(name, Op::Add, &[a, b], self.shape(a).to_vec(), vec![])
    }

    /// Elementwise product of two tensors of one shape.
    pub fn multiply(&mut self, name: &str, a: Tensor, b: Tensor) -> Result<Tensor, ZooError> {
        self.same_shape(name, a, b)?;
        self.push(name, Op::Multiply, &[a, b], self.shape(a).to_vec(), vec![])
    }

    /// Concatenation along the channel axis (axis 1).
    pub fn concat(&mut self, name: &str, inputs: &[Tensor]) -> Result<Tensor, ZooError> {
        let Some(first) = inputs.first() else {
            return Err(misfit(name, &[], "nothing to concatenate", "give an input"));
        };
        let mut out = self.shape(*first).to_vec();
        if out.len() < 2 {
            return Err(misfit(name, &out, "no channel axis", "give it one"));
        }
        out[1] = 0;
        for x in inputs {
            let shape = self.shape(*x);
            if shape.len() != out.len() || shape[0] != out[0] || shape[2..] != out[2..] {
                let problem = format!(
                    "an input of shape {} differs in more than its channels",
                    super::tensor::format_shape(shape)
                );
                return Err(misfit(
                    name,
                    self.shape(*first),
                    problem,
                    "choose an input size at which they agree, such as a multiple of the network's total stride",
                ));
            }
            out[1] = out[1]
                .checked_add(shape[1])
                .ok_or_else(|| ZooError::TooLarge {
                    at: name.into(),
                    what: "number of channels",
                })?;
        }
        self.push(name, Op::Concat, inputs, out, vec![])
    }

    /// The same elements under another shape: no node, no memory.
    pub fn view(&mut self, name: &str, x: Tensor, shape: &[u64]) -> Result<Tensor, ZooError> {
        if elements(shape) != Some(self.value(x).elements) {
            let problem = format!(
                "a view as {} has another number of elements",
                super::tensor::format_shape(shape)
            );
            return Err(misfit(name, self.shape(x), problem, "keep the number"));
        }
        self.push(name, Op::View, &[x], shape.to_vec(), vec![])
    }

    /// A range along one axis: no node, no memory. Slices that cover a tensor together must not overlap.
    pub fn slice(&mut self, name: &str, x: Tensor, slice: Slice) -> Result<Tensor, ZooError> {
        let mut shape = self.shape(x).to_vec();
        let end = slice.start.checked_add(slice.length);
        let fits = shape
            .get(slice.axis)
            .zip(end)
            .is_some_and(|(d, end)| end <= *d);
        if !fits || slice.length == 0 {
            let problem = format!(
                "a slice of {} from {} along axis {} is not within its source",
                slice.length, slice.start, slice.axis
            );
            return Err(misfit(name, &shape, problem, "give a range that is"));
        }
        shape[slice.axis] = slice.length;
        self.push(name, Op::Slice(slice), &[x], shape, vec![])
    }

    /// Dropout: a mask of one byte an element, drawn from a seed so that it can be drawn again (node `name.mask`), and
    /// its product with `x` (node `name`).
    pub fn dropout(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        let mask_name = format!("{name}.mask");
        let layout = Layout {
            shape: shape.clone(),
            element_bytes: 1,
            extra_bytes: 0,
        };
        let mask = self.push_sized(&mask_name, Op::DropoutMask, &[], layout, vec![])?;
        self.push(name, Op::Dropout, &[x, mask], shape, vec![])
    }

    /// Cross entropy of softmax over one or several tensors of logits; always the last operator.
    ///
    /// As in the published profiles its node makes the logits' gradients in the same pass: its output has the size of
    /// the logits, and the backward pass reads it. Targets are not counted as memory.
    pub fn cross_entropy(&mut self, name: &str, logits: &[Tensor]) -> Result<Tensor, ZooError> {
        let mut count = 0u64;
        for x in logits {
            count = count.saturating_add(self.value(*x).elements);
        }
        let shape = match logits {
            [one] => self.shape(*one).to_vec(),
            _ => vec![count],
        };
        self.push(name, Op::CrossEntropy, logits, shape, vec![])
    }
}
