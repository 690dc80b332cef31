//! Runs a plan, statement by statement, and measures it.

use crate::device::Memory;
use crate::error::ExecError;
use crate::kernels::{self, Call, Gradients, Wanted, sizes};
use crate::training::Training;
use remat_formulations::instance::NodeId;
use remat_formulations::plan::{Plan, Register, Semantics, Step};
use remat_formulations::zoo::{
    Action, Activation, Look, Op, Piece, Slice, Source, Tensor as Value,
};
use std::time::Instant;
use tch::{Kind, Tensor};

/// What one training step took.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The loss.
    pub loss: f64,
    /// Seconds of all computations.
    pub seconds: f64,
    /// Memory of this training: the greatest of all computations, and what is left at the end. What the device has
    /// reserved at most counts everything there.
    pub memory: Memory,
    /// The computations, in order.
    pub computations: Vec<Computation>,
}

/// What one computation took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Index of the statement in the plan.
    pub step: usize,
    /// What was computed.
    pub node: NodeId,
    /// Seconds, until the device was done.
    pub seconds: f64,
    /// Bytes allocated before it.
    pub before: u64,
    /// Bytes allocated at most while it ran.
    pub peak: u64,
    /// Bytes allocated after it.
    pub after: u64,
}

/// Runs one training step as the plan says. Parameters stay as they are; [`Training::gradients`] has the gradients.
///
/// In a plan of Checkmate's semantics memory for all parameter gradients is reserved throughout, as the program counts it; in
/// one of MONeT's it is taken when a gradient is made.
///
/// # Errors
/// [`ExecError::Missing`] and [`ExecError::Register`] name the statement that reads what was never computed, or was
/// freed; [`ExecError::Unsupported`] for implementations that the executor does not have; [`ExecError::Torch`].
pub fn run(training: &mut Training, plan: &Plan) -> Result<Run, ExecError> {
    let _no_graph = tch::no_grad_guard();
    let nodes = training.program.instance.len();
    for (gradient, parameter) in training.gradients.iter_mut().zip(&training.parameters) {
        *gradient = None;
        if plan.semantics == Semantics::Checkmate {
            *gradient = Some(parameter.f_empty_like()?);
        }
    }
    // What the caller holds beside this training is not the plan's.
    let foreign = (training.device.memory()?.current).saturating_sub(training.bytes());
    let registers = plan.steps.iter().map(|step| register(step).0 as usize + 1);
    let mut machine = Machine {
        registers: (0..registers.max().unwrap_or(0)).map(|_| None).collect(),
        place: vec![None; nodes],
        runs: vec![0; nodes],
        arrived: vec![false; training.parameters.len()],
        training,
        step: 0,
        reserved: 0,
    };
    let mut run = Run::default();
    for (k, step) in plan.steps.iter().enumerate() {
        machine.step = k;
        match *step {
            Step::Allocate { .. } => {}
            Step::Deallocate { register } => machine.free(register)?,
            Step::Compute {
                node,
                register,
                implementation,
            } => {
                let mut computation = machine.measured(node, register, implementation)?;
                for bytes in [
                    &mut computation.before,
                    &mut computation.peak,
                    &mut computation.after,
                ] {
                    *bytes = bytes.saturating_sub(foreign);
                }
                run.seconds += computation.seconds;
                run.memory.peak = run.memory.peak.max(computation.peak);
                run.memory.reserved = run.memory.reserved.max(machine.reserved);
                run.computations.push(computation);
            }
        }
    }
    let memory = machine.training.device.memory()?;
    run.memory.current = memory.current.saturating_sub(foreign);
    run.loss = machine.loss();
    Ok(run)
}

fn register(step: &Step) -> Register {
    match step {
        Step::Allocate { register, .. }
        | Step::Compute { register, .. }
        | Step::Deallocate { register } => *register,
    }
}

/// A range of a tensor, without a copy.
fn narrowed(tensor: &Tensor, at: &Slice) -> Result<Tensor, ExecError> {
    Ok(tensor.f_narrow(at.axis as i64, at.start as i64, at.length as i64)?)
}

/// What a register holds.
struct Held {
    node: NodeId,
    tensors: Vec<Tensor>,
}

struct Machine<'a> {
    training: &'a mut Training,
    registers: Vec<Option<Held>>,
    /// The register with the newest output of each node.
    place: Vec<Option<Register>>,
    /// How often each node ran.
    runs: Vec<u32>,
    /// Parameters whose gradient is more than reserved memory.
    arrived: Vec<bool>,
    /// The statement at hand.
    step: usize,
    /// What the device had reserved at most during the last computation.
    reserved: u64,
}

impl Machine<'_> {
    fn measured(
        &mut self,
        node: NodeId,
        register: Register,
        implementation: u16,
    ) -> Result<Computation, ExecError> {
        let device = self.training.device.clone();
        device.reset_peak()?;
        let before = device.memory()?.current;
        device.synchronise();
        let start = Instant::now();
        self.compute(node, register, implementation)?;
        device.synchronise();
        let seconds = start.elapsed().as_secs_f64();
        let memory = device.memory()?;
        self.reserved = memory.reserved;
        Ok(Computation {
            step: self.step,
            node,
            seconds,
            before,
            peak: memory.peak,
            after: memory.current,
        })
    }

    fn free(&mut self, register: Register) -> Result<(), ExecError> {
        let Some(held) = self.registers[register.0 as usize].take() else {
            return Err(self.misused(register, "is freed and holds nothing"));
        };
        let place = &mut self.place[held.node.index()];
        if *place == Some(register) {
            *place = None;
        }
        Ok(())
    }

    fn compute(
        &mut self,
        node: NodeId,
        register: Register,
        implementation: u16,
    ) -> Result<(), ExecError> {
        let Some(action) = self.training.program.actions.get(node.index()).cloned() else {
            return Err(ExecError::Mismatch(format!(
                "step {}: the model has no node {}",
                self.step,
                node.index()
            )));
        };
        if implementation != 0 {
            return Err(self.unsupported(node, format!("implementation {implementation}")));
        }
        let tensors = match (&action, self.registers[register.0 as usize].take()) {
            (_, None) => match action {
                Action::Forward { operation } => self.forward(node, operation)?,
                Action::Backward {
                    operation,
                    feeds,
                    parameters,
                    gradient,
                } => self.backward(node, operation, &feeds, parameters, &gradient)?,
                Action::Sum { tensor, summands } => {
                    vec![self.sum(node, &summands, &self.shape(tensor), true)?]
                }
            },
            (Action::Forward { operation }, Some(held)) => {
                self.place[held.node.index()] = None;
                self.in_place(node, *operation, held)?
            }
            (_, Some(_)) => return Err(self.unsupported(node, "in place".into())),
        };
        self.runs[node.index()] += 1;
        self.registers[register.0 as usize] = Some(Held { node, tensors });
        self.place[node.index()] = Some(register);
        Ok(())
    }

    fn forward(&mut self, node: NodeId, operation: usize) -> Result<Vec<Tensor>, ExecError> {
        let inputs = self.training.program.network.operations()[operation]
            .inputs
            .clone();
        let inputs = inputs.into_iter().map(|x| self.value(node, x).map(Some));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        self.call(node, operation, inputs, kernels::forward)
    }

    /// Only what changes each element by itself can overwrite its input.
    fn in_place(
        &self,
        node: NodeId,
        operation: usize,
        mut held: Held,
    ) -> Result<Vec<Tensor>, ExecError> {
        let _ = match self.training.program.network.operations()[operation].op {
            Op::Activation(Activation::Relu) => held.tensors[0].f_relu_()?,
            Op::Activation(Activation::Relu6) => held.tensors[0].f_relu6_()?,
            _ => return Err(self.unsupported(node, "in place".into())),
        };
        Ok(held.tensors)
    }

    fn backward(
        &mut self,
        node: NodeId,
        operation: usize,
        feeds: &[usize],
        parameters: bool,
        gradient: &[Piece],
    ) -> Result<Vec<Tensor>, ExecError> {
        let program = &self.training.program;
        let Some(operator) = program.network.operations().get(operation) else {
            return Err(self.unsupported(node, "an operation that the model lacks".into()));
        };
        let dy = self.sum(node, gradient, &self.shape(operator.output), false)?;
        let needs = program.instance.needs(node);
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for x in &operator.inputs {
            let there = self.training.holder(*x).is_none_or(|n| needs.contains(&n));
            inputs.push(there.then(|| self.value(node, *x)).transpose()?);
        }
        // A gradient is added to its parameter's once, however often the node runs.
        let parameters = parameters && self.runs[node.index()] == 0;
        let of = operator.parameters.clone();
        for p in of.iter().filter(|_| parameters) {
            if !self.arrived[*p] {
                self.training.gradients[*p] = None;
            }
        }
        let wanted = Wanted {
            inputs: feeds,
            parameters,
        };
        let made: Gradients = self.call(node, operation, inputs, |call| {
            kernels::backward(call, &dy, wanted)
        })?;
        if parameters {
            for (p, gradient) in of.iter().zip(made.parameters) {
                match &mut self.training.gradients[*p] {
                    Some(sum) if self.arrived[*p] => drop(sum.f_add_(&gradient)?),
                    place => *place = Some(gradient),
                }
                self.arrived[*p] = true;
            }
        }
        Ok(made.inputs)
    }

    /// Runs a kernel on an operation.
    fn call<T>(
        &mut self,
        node: NodeId,
        operation: usize,
        inputs: Vec<Option<Tensor>>,
        kernel: impl FnOnce(&mut Call<'_>) -> Result<T, ExecError>,
    ) -> Result<T, ExecError> {
        let training = &mut *self.training;
        let network = &training.program.network;
        let operator = &network.operations()[operation];
        let own = training.node_of[operation]
            .filter(|own| training.program.instance.needs(node).contains(own))
            .and_then(|own| self.place[own.index()])
            .and_then(|register| self.registers[register.0 as usize].as_ref());
        let parameters = operator.parameters.iter();
        let mut aside = std::mem::take(&mut training.aside[operation]);
        let result = kernel(&mut Call {
            network,
            operation: operator,
            inputs,
            output: own.map(|held| held.tensors.as_slice()),
            parameters: parameters.map(|p| &training.parameters[*p]).collect(),
            aside: &mut aside,
            first: self.runs[node.index()] == 0,
            place: training.device.place(),
            seed: training.seed + 16 * (operation as i64 + 1),
        });
        training.aside[operation] = aside;
        result
    }

    /// A tensor of the network: of the batch, of a register, or a view of one.
    fn value(&self, reader: NodeId, x: Value) -> Result<Tensor, ExecError> {
        let network = &self.training.program.network;
        let Some(k) = network.producer(x) else {
            let tensor = self.training.batch.get(&x).map(Tensor::shallow_clone);
            return tensor.ok_or_else(|| ExecError::Mismatch("a tensor of another network".into()));
        };
        let operation = &network.operations()[k];
        match operation.op {
            Op::View => Ok(self
                .value(reader, operation.inputs[0])?
                .f_reshape(self.shape(x))?),
            Op::Slice(at) => narrowed(&self.value(reader, operation.inputs[0])?, &at),
            _ => match self.training.node_of[k] {
                Some(node) => self.output(reader, node, 0),
                None => Err(self.unsupported(reader, "an operation without a node".into())),
            },
        }
    }

    fn output(&self, reader: NodeId, node: NodeId, slot: usize) -> Result<Tensor, ExecError> {
        let missing = |problem| {
            let name = |id: NodeId| self.training.program.instance.node(id).name.clone();
            ExecError::Missing {
                step: self.step,
                node: name(reader),
                missing: name(node),
                problem,
            }
        };
        let Some(register) = self.place[node.index()] else {
            return Err(missing(match self.runs[node.index()] {
                0 => "was not computed",
                _ => "was freed or overwritten",
            }));
        };
        let held = self.registers[register.0 as usize].as_ref();
        let tensor = held.and_then(|held| held.tensors.get(slot));
        tensor
            .map(Tensor::shallow_clone)
            .ok_or_else(|| missing("has no such part"))
    }

    /// The sum of gradients of a tensor of the given shape; `owned` where the result may not be another's memory.
    fn sum(
        &self,
        reader: NodeId,
        pieces: &[Piece],
        shape: &[i64],
        owned: bool,
    ) -> Result<Tensor, ExecError> {
        let Some((first, rest)) = pieces.split_first() else {
            return Err(self.unsupported(reader, "a gradient that nothing makes".into()));
        };
        let first = self.piece(reader, first)?.f_reshape(shape)?;
        let Some((second, rest)) = rest.split_first() else {
            return Ok(if owned { first.f_detach_copy()? } else { first });
        };
        let mut sum = first.f_add(&self.piece(reader, second)?.f_reshape(shape)?)?;
        for piece in rest {
            let _ = sum.f_add_(&self.piece(reader, piece)?.f_reshape(shape)?)?;
        }
        Ok(sum)
    }

    fn piece(&self, reader: NodeId, piece: &Piece) -> Result<Tensor, ExecError> {
        let mut tensor = match &piece.source {
            Source::Node { node, slot } => self.output(reader, *node, *slot)?,
            Source::Parts { shape, parts } => self.assembled(reader, shape, parts)?,
        };
        for look in &piece.path {
            tensor = match look {
                Look::Reshape(shape) => tensor.f_reshape(sizes(shape))?,
                Look::Narrow(at) => narrowed(&tensor, at)?,
            };
        }
        Ok(tensor)
    }

    /// Parts at their places, zero elsewhere.
    fn assembled(
        &self,
        reader: NodeId,
        shape: &[u64],
        parts: &[(Piece, Slice)],
    ) -> Result<Tensor, ExecError> {
        let mut whole: Option<Tensor> = None;
        for (part, at) in parts {
            let part = self.piece(reader, part)?;
            let whole = match &mut whole {
                Some(whole) => whole,
                none => {
                    let options = (part.kind(), part.device());
                    none.insert(Tensor::f_zeros(sizes(shape), options)?)
                }
            };
            let mut place = narrowed(whole, at)?;
            let part = part.f_reshape(place.size())?;
            let _ = place.f_add_(&part)?;
        }
        whole.ok_or_else(|| self.unsupported(reader, "a gradient without parts".into()))
    }

    fn shape(&self, x: Value) -> Vec<i64> {
        sizes(self.training.program.network.shape(x))
    }

    /// What the loss left beside the registers.
    fn loss(&self) -> f64 {
        let operations = self.training.program.network.operations().iter();
        let at = operations.zip(&self.training.aside);
        let of_loss = at.filter(|(operation, _)| operation.op == Op::CrossEntropy);
        of_loss
            .filter_map(|(_, aside)| aside.first())
            .map(|loss| loss.double_value(&[]))
            .sum()
    }

    fn misused(&self, register: Register, problem: &'static str) -> ExecError {
        ExecError::Register {
            step: self.step,
            register,
            problem,
        }
    }

    fn unsupported(&self, node: NodeId, problem: String) -> ExecError {
        ExecError::Unsupported {
            step: self.step,
            node: self.training.program.instance.node(node).name.clone(),
            problem: format!("the executor does not run {problem}"),
        }
    }
}

/// Shape and element type of a tensor that stands for a node's output.
struct Mould {
    shape: Vec<i64>,
    kind: Kind,
}

impl Mould {
    fn of(tensor: &Tensor) -> Self {
        Mould {
            shape: tensor.size(),
            kind: tensor.kind(),
        }
    }

    /// A tensor of that shape: normal numbers, zeros for positions, all true for masks.
    fn cast(&self, place: tch::Device) -> Result<Tensor, ExecError> {
        let options = (self.kind, place);
        Ok(match self.kind {
            Kind::Float | Kind::Half | Kind::BFloat16 | Kind::Double => {
                Tensor::f_randn(&self.shape, options)?
            }
            Kind::Bool => Tensor::f_ones(&self.shape, options)?,
            _ => Tensor::f_zeros(&self.shape, options)?,
        })
    }
}

/// Runs every node `times` times, alone, on inputs of the right shapes, and hands over what each of its runs took.
///
/// # Errors
/// As [`run`].
pub(crate) fn isolated(
    training: &mut Training,
    times: usize,
    mut taken: impl FnMut(&[Computation]),
) -> Result<(), ExecError> {
    let _no_graph = tch::no_grad_guard();
    let nodes = training.program.instance.len();
    let place = training.device.place();
    for (gradient, parameter) in training.gradients.iter_mut().zip(&training.parameters) {
        *gradient = Some(parameter.f_empty_like()?);
    }
    let mut moulds: Vec<Vec<Mould>> = Vec::with_capacity(nodes);
    for node in training.program.instance.ids() {
        let needs = training.program.instance.needs(node).to_vec();
        let mut machine = Machine {
            registers: (0..=needs.len()).map(|_| None).collect(),
            place: vec![None; nodes],
            runs: vec![0; nodes],
            arrived: vec![false; training.parameters.len()],
            training: &mut *training,
            step: node.index(),
            reserved: 0,
        };
        for (k, need) in needs.iter().enumerate() {
            let tensors = moulds[need.index()].iter().map(|mould| mould.cast(place));
            machine.registers[k] = Some(Held {
                node: *need,
                tensors: tensors.collect::<Result<_, _>>()?,
            });
            machine.place[need.index()] = Some(Register(k as u32));
        }
        let own = Register(needs.len() as u32);
        let mut runs = Vec::with_capacity(times);
        for _ in 0..times {
            machine.registers[needs.len()] = None;
            machine.runs[node.index()] = 0;
            machine.arrived.fill(false);
            runs.push(machine.measured(node, own, 0)?);
        }
        let made = machine.registers[needs.len()].iter();
        moulds.push(made.flat_map(|held| &held.tensors).map(Mould::of).collect());
        taken(&runs);
    }
    Ok(())
}
