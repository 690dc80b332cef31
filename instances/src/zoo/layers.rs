//! Operators of a network, each with its shape inference.

use super::ZooError;
use super::builder::{Network, OutputSize, SharedParameter, Tensor};
use super::op::{Activation, Convolution, Op, Pooling, Slice};
use super::op::{convolved, misfit, pooled};
use super::tensor::elements;

impl Network {
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
        weight.extend((2..shape.len()).map(|axis| convolution.kernel_at(axis - 2)));
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

    /// Batch normalisation with scale and shift per channel (axis 1), and running statistics in
    /// fp32.
    pub fn batch_norm(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        let Some(&channels) = shape.get(1) else {
            return Err(misfit(name, &shape, "no channel axis", "give it one"));
        };
        let parameters = self.parameter_list(name, &[&[channels], &[channels]])?;
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
        let layout = OutputSize {
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

    pub(super) fn same_shape(&self, name: &str, a: Tensor, b: Tensor) -> Result<(), ZooError> {
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

    /// The one entry along an axis, repeated to another extent: a key that all heads share.
    pub fn expand(
        &mut self,
        name: &str,
        x: Tensor,
        axis: usize,
        extent: u64,
    ) -> Result<Tensor, ZooError> {
        let mut shape = self.shape(x).to_vec();
        if shape.get(axis) != Some(&1) || extent == 0 {
            let problem = format!("there is not one entry along axis {axis} to repeat");
            return Err(misfit(name, &shape, problem, "give an axis of extent 1"));
        }
        shape[axis] = extent;
        self.push(name, Op::Expand, &[x], shape, vec![])
    }

    /// The same elements under another shape, without a node or memory.
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

    /// A range along one axis, without a node or memory. Slices that together cover a tensor must
    /// not overlap.
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

    /// Dropout: a mask of one byte per element (node `name.mask`), drawn from a seed so that it can
    /// be recomputed, and its product with `x` (node `name`).
    pub fn dropout(&mut self, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
        let shape = self.shape(x).to_vec();
        let mask_name = format!("{name}.mask");
        let layout = OutputSize {
            shape: shape.clone(),
            element_bytes: 1,
            extra_bytes: 0,
        };
        let mask = self.push_sized(&mask_name, Op::DropoutMask, &[], layout, vec![])?;
        self.push(name, Op::Dropout, &[x, mask], shape, vec![])
    }

    /// Cross entropy of softmax over one or several tensors of logits; always the last operator.
    ///
    /// As in the published profiles, its node computes the logits' gradients in the same pass: its
    /// output has the size of the logits, and the backward pass reads it. Targets do not count as
    /// memory.
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
