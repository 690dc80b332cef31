//! Conversion of a network to an instance: forward nodes, loss, and the backward pass by
//! reverse-mode differentiation.

use super::builder::{Network, Storage, Tensor};
use super::cost::{Kernel, KernelClass, total_nanoseconds};
use super::device::Device;
use super::memory::Optimizer;
use super::op::{Op, Operation, Slice};
use super::program::{Action, Look, Piece, Source, TrainingProgram};
use super::work::{BackwardNode, BackwardStyle};
use super::{ZooError, misfit};
use crate::instance::{
    CostUnit, Gradient, HostLink, Implementation, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};
use crate::number::LARGEST_VALUE;

/// Layout of a training graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrainingOptions {
    /// True if there are a loss and a backward pass; otherwise the graph is the forward pass.
    pub backward: bool,
    /// True if the gradients of the parameters and of the input of a convolution or linear layer
    /// are two nodes, as in the published profiles. The first has an empty output, so the
    /// activation can be freed before the input's gradient is computed.
    pub split_gradients: bool,
    /// True if gradients of a tensor with several users are summed in nodes of their own
    /// (`grad_add`). Otherwise the backward node of its producer reads all of them, as in the
    /// published profiles.
    pub explicit_sums: bool,
    /// True if a ReLU's gradient reads the ReLU's input (as in the published profiles) instead of
    /// its output.
    pub relu_reads_input: bool,
    /// Optimizer whose states are in memory during a step with a backward pass.
    pub optimizer: Optimizer,
    /// True if the optimizer keeps a copy of the parameters in fp32.
    pub master: bool,
}

impl Default for TrainingOptions {
    /// Backward pass with one node per operator, explicit sums, ReLU gradients from outputs, and no
    /// optimizer.
    fn default() -> Self {
        TrainingOptions {
            backward: true,
            split_gradients: false,
            explicit_sums: true,
            relu_reads_input: false,
            optimizer: Optimizer::None,
            master: false,
        }
    }
}

impl TrainingOptions {
    /// Bytes of optimizer states for each element of a parameter.
    fn state_bytes(&self) -> u64 {
        self.optimizer.state_bytes() + if self.master { 4 } else { 0 }
    }

    pub(super) fn style(&self) -> BackwardStyle {
        BackwardStyle {
            split: self.split_gradients,
            relu_reads_input: self.relu_reads_input,
        }
    }
}

/// Contributions to one tensor's gradient so far.
#[derive(Clone, Default)]
struct PendingGradient {
    /// Summands of the full gradient.
    full: Vec<Piece>,
    /// Gradients of parts, with their places and numbers of elements.
    parts: Vec<(Piece, Slice, u64)>,
    sums: usize,
}

struct Emitter<'a> {
    network: &'a Network,
    device: &'a Device,
    options: TrainingOptions,
    nodes: Vec<Node>,
    actions: Vec<Action>,
    /// Node of each operation; `None` for views.
    node_of: Vec<Option<NodeId>>,
    gradients: Vec<PendingGradient>,
    /// Parameters with a gradient already in memory.
    has_gradient: Vec<bool>,
    fixed_bytes: u64,
}

impl Network {
    /// The training graph as an instance, with costs in nanoseconds on a device.
    ///
    /// The nodes are the forward nodes in the order in which they were added, the loss, and then,
    /// in reverse, the backward nodes of every operator. `fixed_bytes` contains parameters, running
    /// statistics, the input batch, optimizer states, and the parameter gradients made so far. A
    /// forward node has its share of these as residents. There is no workspace.
    /// `docs/reference/zoo.md` lists the inputs of each backward node.
    ///
    /// # Errors
    /// [`ZooError::TooLarge`] if a size or cost exceeds the limit of an instance,
    /// [`ZooError::Layer`] if the last operator is not a loss although a backward pass is
    /// requested, [`ZooError::Structure`] for repeated names.
    pub fn training_instance(
        &self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<Instance, ZooError> {
        let (nodes, _) = self.training_nodes(device, options)?;
        finish(&self.name, device.host_link.clone(), nodes)
    }

    /// [`Network::training_instance`], with the action of each node.
    ///
    /// # Errors
    /// The errors of [`Network::training_instance`].
    pub fn training_program(
        self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<TrainingProgram, ZooError> {
        let (nodes, actions) = self.training_nodes(device, options)?;
        Ok(TrainingProgram {
            instance: finish(&self.name, device.host_link.clone(), nodes)?,
            network: self,
            actions,
        })
    }

    pub(super) fn training_nodes(
        &self,
        device: &Device,
        options: &TrainingOptions,
    ) -> Result<(Vec<Node>, Vec<Action>), ZooError> {
        let ends_in_loss = matches!(
            self.operations.last(),
            Some(Operation {
                op: Op::CrossEntropy,
                ..
            })
        );
        if options.backward && !ends_in_loss {
            return Err(misfit(
                &self.name,
                &[],
                "the last operator is no loss",
                "end the network with cross_entropy, or ask for the forward pass only",
            ));
        }
        let mut emitter = Emitter {
            network: self,
            device,
            options: *options,
            nodes: Vec::new(),
            actions: Vec::new(),
            node_of: Vec::with_capacity(self.operations.len()),
            gradients: vec![PendingGradient::default(); self.values.len()],
            has_gradient: vec![false; self.parameters.len()],
            fixed_bytes: self.bytes_before_gradients()?,
        };
        emitter.forward()?;
        if options.backward {
            emitter.backward()?;
        }
        let Emitter {
            mut nodes,
            actions,
            has_gradient,
            ..
        } = emitter;
        self.add_memory_of_parameters(&mut nodes, &actions, &has_gradient, options.state_bytes())?;
        Ok((nodes, actions))
    }
}

/// Adds the passing tensors and validates the instance, with costs in nanoseconds.
///
/// # Errors
/// [`ZooError::TooLarge`] if the sums exceed 64 bits, [`ZooError::Structure`] for repeated names.
pub(super) fn finish(
    name: &str,
    host_link: Option<HostLink>,
    mut nodes: Vec<Node>,
) -> Result<Instance, ZooError> {
    let sum = |of: fn(&Node) -> u64| nodes.iter().map(|node| of(node) as u128).sum::<u128>();
    let too_large = |what| {
        Err(ZooError::TooLarge {
            at: name.into(),
            what,
        })
    };
    // The limits of an instance; its own message would suggest a coarser unit.
    let largest = i64::MAX as u128;
    if sum(Node::cost) * nodes.len() as u128 > largest {
        return too_large("total cost, once for every node,");
    }
    if 2 * (sum(|node| node.output_bytes) + sum(|node| node.fixed_bytes)) > largest {
        return too_large("total size");
    }
    let passing = passing_in_plain_order(&nodes);
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    Ok(Instance::new(InstanceData {
        name: name.into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link,
        in_flight: 1,
        nodes,
    })?)
}

impl Emitter<'_> {
    fn forward(&mut self) -> Result<(), ZooError> {
        for (k, operation) in self.network.operations.iter().enumerate() {
            let is_loss = operation.op == Op::CrossEntropy;
            if operation.op.is_view() || (is_loss && !self.options.backward) {
                self.node_of.push(None);
                continue;
            }
            let needs = operation
                .inputs
                .iter()
                .filter_map(|x| self.holder(*x))
                .collect();
            let out = self.network.value(operation.output);
            let kernels = self.network.forward_kernels(operation);
            let node = Node {
                name: operation.name.clone().into(),
                op: operation.op.name(out.shape.len()).into(),
                shape: out.shape.clone(),
                kind: if is_loss {
                    NodeKind::Loss
                } else {
                    NodeKind::Forward
                },
                output_bytes: out.bytes,
                ..Node::default()
            };
            let action = Action::Forward { operation: k };
            let id = self.push(node, needs, &kernels, action)?;
            self.node_of.push(Some(id));
        }
        Ok(())
    }

    /// Node whose output holds a tensor; `None` for the input batch.
    fn holder(&self, x: Tensor) -> Option<NodeId> {
        match self.network.value(x).storage {
            Storage::Batch => None,
            Storage::Operation(k) => self.node_of[k],
        }
    }

    fn push(
        &mut self,
        mut node: Node,
        mut needs: Vec<NodeId>,
        kernels: &[Kernel],
        action: Action,
    ) -> Result<NodeId, ZooError> {
        needs.sort();
        needs.dedup();
        let dtype = self.network.precision.activations;
        let cost = total_nanoseconds(kernels, self.device, dtype)
            .filter(|ns| *ns <= LARGEST_VALUE)
            .ok_or_else(|| ZooError::TooLarge {
                at: node.name.as_str().into(),
                what: "cost in nanoseconds",
            })?;
        node.fixed_bytes = self.fixed_bytes;
        node.implementations = vec![Implementation::new(needs, cost, 0)];
        let id = u32::try_from(self.nodes.len()).map_err(|_| ZooError::TooLarge {
            at: node.name.as_str().into(),
            what: "number of nodes",
        })?;
        self.nodes.push(node);
        self.actions.push(action);
        Ok(NodeId(id))
    }

    fn backward(&mut self) -> Result<(), ZooError> {
        let style = self.options.style();
        let network = self.network;
        for (k, operation) in network.operations.iter().enumerate().rev() {
            if operation.op == Op::CrossEntropy {
                if let Some(loss) = self.node_of[k] {
                    for (slot, x) in operation.inputs.iter().enumerate() {
                        self.arrive(*x, Piece::of(loss, slot))?;
                    }
                }
                continue;
            }
            let gradient = self.gather(operation)?;
            if gradient.is_empty() {
                continue;
            }
            let plan = network.backward_plan(operation, style);
            for node in &plan.nodes {
                let id = self.push_backward(k, operation, node, &gradient)?;
                for (slot, input) in node.feeds.iter().enumerate() {
                    self.arrive(operation.inputs[*input], Piece::of(id, slot))?;
                }
            }
            let elements = network.value(operation.output).elements;
            for input in &plan.pass_through {
                let x = operation.inputs[*input];
                for piece in &gradient {
                    let piece = piece.clone();
                    match operation.op {
                        Op::Slice(place) => {
                            let pending = &mut self.gradients[x.0 as usize];
                            pending.parts.push((piece, place, elements));
                        }
                        _ => {
                            let look = network.look_at_gradient(operation, *input);
                            self.arrive(x, piece.then(look))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn push_backward(
        &mut self,
        k: usize,
        operation: &Operation,
        plan: &BackwardNode,
        gradient: &[Piece],
    ) -> Result<NodeId, ZooError> {
        let network = self.network;
        let mut needs = nodes_of(gradient);
        for input in &plan.reads_inputs {
            needs.extend(self.holder(operation.inputs[*input]));
        }
        if plan.reads_output {
            needs.extend(self.node_of[k]);
        }
        let too_large = |what| ZooError::TooLarge {
            at: operation.name.clone(),
            what,
        };
        if plan.parameters {
            for p in &operation.parameters {
                if !std::mem::replace(&mut self.has_gradient[*p], true) {
                    self.fixed_bytes = network.parameters[*p]
                        .elements
                        .checked_mul(network.precision.gradients.bytes())
                        .and_then(|bytes| bytes.checked_add(self.fixed_bytes))
                        .filter(|bytes| *bytes <= LARGEST_VALUE)
                        .ok_or_else(|| too_large("fixed memory"))?;
                }
            }
        }
        let mut elements = 0u64;
        for input in &plan.feeds {
            elements = elements.saturating_add(network.value(operation.inputs[*input]).elements);
        }
        let shape = match plan.feeds.as_slice() {
            [one] => network.value(operation.inputs[*one]).shape.clone(),
            [] => Vec::new(),
            _ => vec![elements],
        };
        let node = Node {
            name: format!("{}{}", operation.name, plan.suffix).into(),
            op: format!(
                "{}_backward",
                operation
                    .op
                    .name(network.value(operation.output).shape.len())
            )
            .into(),
            shape,
            kind: NodeKind::Backward {
                forward: self.node_of[k],
                gradient: plan.gradient,
            },
            output_bytes: elements
                .checked_mul(network.precision.activations.bytes())
                .ok_or_else(|| too_large("gradient"))?,
            ..Node::default()
        };
        let action = Action::Backward {
            operation: k,
            feeds: plan.feeds.clone(),
            parameters: plan.parameters,
            gradient: gradient.to_vec(),
        };
        self.push(node, needs, &plan.kernels, action)
    }

    /// Adds a summand to a tensor's gradient. With explicit sums, two summands are added at once,
    /// so that two never wait side by side.
    fn arrive(&mut self, x: Tensor, piece: Piece) -> Result<(), ZooError> {
        let pending = &mut self.gradients[x.0 as usize];
        pending.full.push(piece);
        if !self.options.explicit_sums || pending.full.len() < 2 {
            return Ok(());
        }
        pending.sums += 1;
        let suffix = match pending.sums {
            1 => ".grad_add".to_string(),
            sums => format!(".grad_add{sums}"),
        };
        let summands = std::mem::take(&mut pending.full);
        let bytes = self.gradient_bytes(x)?;
        let count = self.network.value(x).elements as u128;
        let kernel = Kernel {
            class: KernelClass::Elementwise,
            flops: count,
            bytes: 3 * bytes as u128,
        };
        let sum = self.push_glue(x, &suffix, "grad_add", summands, kernel)?;
        self.gradients[x.0 as usize].full = vec![Piece::of(sum, 0)];
        Ok(())
    }

    fn gradient_bytes(&self, x: Tensor) -> Result<u64, ZooError> {
        self.network
            .value(x)
            .elements
            .checked_mul(self.network.precision.activations.bytes())
            .ok_or_else(|| ZooError::TooLarge {
                at: self.network.name.clone(),
                what: "gradient",
            })
    }

    /// A node that adds or assembles gradients of a tensor, named after the tensor's operator.
    fn push_glue(
        &mut self,
        x: Tensor,
        suffix: &str,
        op: &str,
        summands: Vec<Piece>,
        kernel: Kernel,
    ) -> Result<NodeId, ZooError> {
        let network = self.network;
        let name = match network.value(x).producer {
            Some(k) => network.operations[k].name.as_str(),
            None => network.name.as_str(),
        };
        let node = Node {
            name: format!("{name}{suffix}").into(),
            op: op.into(),
            shape: network.value(x).shape.clone(),
            kind: NodeKind::Backward {
                forward: None,
                gradient: Gradient::All,
            },
            output_bytes: self.gradient_bytes(x)?,
            ..Node::default()
        };
        let needs = nodes_of(&summands);
        let action = Action::Sum {
            tensor: x,
            summands,
        };
        self.push(node, needs, &[kernel], action)
    }

    /// The complete gradient of an operator's output: its summands (one with explicit sums, empty
    /// if there is no gradient).
    fn gather(&mut self, operation: &Operation) -> Result<Vec<Piece>, ZooError> {
        let x = operation.output;
        let PendingGradient { full, parts, .. } = std::mem::take(&mut self.gradients[x.0 as usize]);
        if parts.is_empty() {
            return Ok(full);
        }
        let covered: u64 = parts.iter().map(|(_, _, elements)| *elements).sum();
        let whole = covered == self.network.value(x).elements;
        let parts = Piece {
            source: Source::Parts {
                shape: self.network.value(x).shape.clone(),
                parts: parts.into_iter().map(|(p, place, _)| (p, place)).collect(),
            },
            path: Vec::new(),
        };
        // Parts that one kernel wrote side by side form the whole, without a copy.
        let one_kernel = nodes_of(std::slice::from_ref(&parts)).len() == 1 && !parts.is_narrowed();
        let parts_only = full.is_empty() && one_kernel;
        let summands = [full, vec![parts]].concat();
        if whole && (parts_only || !self.options.explicit_sums) {
            return Ok(summands);
        }
        let bytes = self.gradient_bytes(x)? as u128;
        let kernel = Kernel {
            class: KernelClass::Copy,
            flops: 0,
            bytes: (1 + summands.len() as u128) * bytes,
        };
        let assembled = self.push_glue(x, ".grad_cat", "grad_concat", summands, kernel)?;
        Ok(vec![Piece::of(assembled, 0)])
    }
}

/// The distinct nodes of the pieces, ascending.
fn nodes_of(pieces: &[Piece]) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    pieces
        .iter()
        .for_each(|piece| piece.nodes(&mut |node| nodes.push(node)));
    nodes.sort();
    nodes.dedup();
    nodes
}

impl Network {
    /// The view that maps the gradient of an operator's output to the gradient of one of its
    /// inputs, if it passes through; `None` if both are equal.
    fn look_at_gradient(&self, operation: &Operation, input: usize) -> Option<Look> {
        let shape = |x: Tensor| &self.value(x).shape;
        let narrow = |start, length| {
            Some(Look::Narrow(Slice {
                axis: 1,
                start,
                length,
            }))
        };
        let x = operation.inputs[input];
        match operation.op {
            Op::View => Some(Look::Reshape(shape(x).clone())),
            Op::Concat => {
                let before = operation.inputs[..input].iter();
                narrow(before.map(|x| shape(*x)[1]).sum(), shape(x)[1])
            }
            Op::PrependParameter => narrow(1, shape(x)[1]),
            _ => None,
        }
    }
}
