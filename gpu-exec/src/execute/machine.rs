//! Registers, and the computation of one statement.

use super::Computation;
use super::arena::{Arena, ArenaUse};
use super::copies::Copies;
use crate::error::ExecError;
use crate::kernels::{self, Call, Gradients, Wanted};
use crate::shim;
use crate::training::{Training, bytes_of};
use remat_instances::instance::NodeId;
use remat_instances::plan::Register;
use remat_instances::zoo::{Action, Activation, Op, Piece};
use std::collections::BTreeMap;
use tch::Tensor;

/// Content of a register.
pub(super) struct Held {
    pub node: NodeId,
    pub tensors: Vec<Tensor>,
}

/// Registers, and the state of each node.
pub(super) struct Machine<'a> {
    pub training: &'a mut Training,
    pub registers: BTreeMap<Register, Held>,
    /// The register with the newest output of each node.
    pub place: Vec<Option<Register>>,
    /// Number of runs of each node.
    pub runs: Vec<u32>,
    /// True for parameters whose gradient has a value.
    pub arrived: Vec<bool>,
    /// Index of the current statement.
    pub step: usize,
    /// Bytes that the device had reserved at most during the last computation.
    pub reserved: u64,
    /// Events on the GPU around each computation of an asynchronous step.
    pub marks: Vec<[shim::Mark; 2]>,
    /// True if the current node must keep the positions that its by-product is made from.
    pub keep_positions: bool,
    /// Positions of maxima that poolings kept for their by-products, by operation.
    positions: Vec<Option<Tensor>>,
    /// Nodes that the current node reads, by the implementation that runs.
    needs: Vec<NodeId>,
    /// The storage of all tensors, if the step runs from an arena.
    pub arena: Option<Arena>,
    /// Copies to the host and back, if the plan has host memory.
    pub copies: Option<Copies<'a>>,
}

impl<'a> Machine<'a> {
    /// A machine with empty registers.
    pub fn new(training: &'a mut Training) -> Self {
        let nodes = training.program.instance.len();
        Machine {
            registers: BTreeMap::new(),
            place: vec![None; nodes],
            runs: vec![0; nodes],
            arrived: vec![false; training.parameters.len()],
            step: 0,
            reserved: 0,
            marks: Vec::new(),
            keep_positions: false,
            positions: training.node_of.iter().map(|_| None).collect(),
            needs: Vec::new(),
            arena: None,
            copies: None,
            training,
        }
    }

    /// Ends copies, empties the registers, and moves permanent tensors out of the arena. Copies of
    /// a step that `failed` may be skipped.
    pub fn leave(&mut self, failed: bool) -> Result<Option<ArenaUse>, ExecError> {
        if let Some(copies) = &mut self.copies {
            copies.leave(failed);
        }
        self.registers.clear();
        self.positions.iter_mut().for_each(|left| *left = None);
        let arena = self.arena.take();
        arena.map(|arena| arena.leave(self.training)).transpose()
    }

    /// Computes a node, and measures time and memory.
    pub fn measured(
        &mut self,
        node: NodeId,
        register: Register,
        implementation: u16,
    ) -> Result<Computation, ExecError> {
        let device = self.training.device.clone();
        let left = match self.training.program.actions.get(node.index()) {
            Some(Action::ByProduct { operation }) => {
                self.positions[*operation].as_ref().map_or(0, bytes_of)
            }
            _ => 0,
        };
        self.synchronise()?;
        device.reset_peak()?;
        let before = device.memory()?.current;
        let mark = self.mark()?;
        let start = device.seconds();
        self.compute(node, register, implementation)?;
        self.synchronise()?;
        let seconds = device.seconds() - start;
        if let (Some(begin), Some(end)) = (mark, self.mark()?) {
            self.marks.push([begin, end]);
        }
        let memory = device.memory()?;
        self.reserved = memory.reserved;
        Ok(Computation {
            step: self.step,
            node,
            seconds,
            before: before.saturating_sub(left),
            peak: memory.peak,
            after: memory.current,
        })
    }

    /// An event on the GPU, for an asynchronous step.
    fn mark(&self) -> Result<Option<shim::Mark>, ExecError> {
        let gpu = self.training.device.gpu();
        let gpu = gpu.filter(|_| self.training.asynchronous);
        gpu.map(shim::Mark::now).transpose()
    }

    /// Ends an asynchronous step: waits for the GPU, and gives each computation its time between
    /// events. Returns the seconds from the first event to the last.
    pub fn timed(&mut self, computations: &mut [Computation]) -> Result<Option<f64>, ExecError> {
        let marks = std::mem::take(&mut self.marks);
        let (Some([first, _]), Some([_, last])) = (marks.first(), marks.last()) else {
            return Ok(None);
        };
        self.training.device.synchronise_computations()?;
        for (computation, [begin, end]) in computations.iter_mut().zip(&marks) {
            computation.seconds = begin.seconds_until(end)?;
        }
        first.seconds_until(last).map(Some)
    }

    /// Waits until all computations are done, but not for copies beside them. An asynchronous step
    /// waits for nothing.
    fn synchronise(&self) -> Result<(), ExecError> {
        let device = &self.training.device;
        if self.training.asynchronous {
            return Ok(());
        }
        match self.copies {
            Some(_) => device.synchronise_computations(),
            None => {
                device.synchronise();
                Ok(())
            }
        }
    }

    pub fn free(&mut self, register: Register) -> Result<(), ExecError> {
        if let Some(copies) = &self.copies {
            if copies.is_leaving(register) {
                return Err(self.misused(register, "is freed while it is copied"));
            }
            if copies.is_arriving(register) {
                return Err(self.misused(register, "is freed while it is fetched"));
            }
        }
        let Some(held) = self.registers.remove(&register) else {
            return Err(self.misused(register, "is freed and holds nothing"));
        };
        self.vacate(&held, register);
        drop(held);
        self.arena
            .as_mut()
            .map_or(Ok(()), |arena| arena.free(register))
    }

    /// Removes a register's tensor: later readers use another one of the node, if there is one.
    fn vacate(&mut self, held: &Held, register: Register) {
        let place = &mut self.place[held.node.index()];
        if *place == Some(register) {
            let mut others = self.registers.iter();
            let other = others.find(|(_, other)| other.node == held.node);
            *place = other.map(|(register, _)| *register);
        }
    }

    pub fn compute(
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
        let ways = &self.training.program.instance.node(node).implementations;
        self.needs = match ways.get(usize::from(implementation)) {
            Some(way) => way.needs.clone(),
            None => {
                return Err(self.unsupported(
                    node,
                    format!("implementation {implementation}: it has {}", ways.len()),
                ));
            }
        };
        self.offer(node, register, implementation, &action);
        let made = match (&action, self.registers.remove(&register)) {
            (_, None) => self.fresh(node, &action),
            (Action::Forward { operation }, Some(held)) => {
                self.vacate(&held, register);
                self.in_place(node, *operation, held)
            }
            (_, Some(_)) => Err(self.unsupported(node, "this in place".into())),
        };
        self.withdraw();
        let tensors = self.settle((node, implementation), register, &action, made?)?;
        self.runs[node.index()] += 1;
        self.registers.insert(register, Held { node, tensors });
        self.place[node.index()] = Some(register);
        match &mut self.arena {
            Some(arena) => {
                let name = &self.training.program.instance.node(node).name;
                arena.close(self.step, register, node, name)
            }
            None => Ok(()),
        }
    }

    /// Offers the places of a computation in the arena to its kernels.
    fn offer(&mut self, node: NodeId, register: Register, implementation: u16, action: &Action) {
        let Some(arena) = &mut self.arena else {
            return;
        };
        let training = &*self.training;
        let mut parameters = Vec::new();
        if let Action::Backward {
            operation,
            parameters: true,
            ..
        } = action
            && self.runs[node.index()] == 0
            && let Some(operator) = training.program.network.operations().get(*operation)
        {
            let new = operator.parameters.iter().filter(|p| !self.arrived[**p]);
            let slot = |p: usize| training.gradient_slots[p];
            parameters.extend(new.map(|p| (*p, &training.parameters[*p], slot(*p))));
        }
        let output = !self.registers.contains_key(&register);
        let known = training.slots.get(&(node, implementation));
        let slots = known.map_or(&[][..], Vec::as_slice);
        arena.offer(self.step, register, output.then_some(slots), &parameters);
    }

    fn withdraw(&self) {
        if let Some(arena) = &self.arena {
            arena.withdraw();
        }
    }

    /// Moves a computation's outputs to their places in the arena.
    fn settle(
        &mut self,
        (node, implementation): (NodeId, u16),
        register: Register,
        action: &Action,
        tensors: Vec<Tensor>,
    ) -> Result<Vec<Tensor>, ExecError> {
        let Some(arena) = &mut self.arena else {
            return Ok(tensors);
        };
        if let Action::Forward { operation } = action
            && let Some(left) = self.positions[*operation].take()
        {
            self.positions[*operation] = Some(arena.out(left)?);
        }
        let name = &self.training.program.instance.node(node).name;
        let slots = self.training.slots.entry((node, implementation));
        let slots = slots.or_default();
        arena.settle(register, name, tensors, slots)
    }

    /// Computes a node into an empty register.
    fn fresh(&mut self, node: NodeId, action: &Action) -> Result<Vec<Tensor>, ExecError> {
        match action {
            Action::Forward { operation } => self.forward(node, *operation),
            Action::ByProduct { operation } => {
                let positions = self.positions[*operation].take();
                self.call(node, *operation, Vec::new(), |call| {
                    call.positions = positions;
                    kernels::by_product(call)
                })
            }
            Action::Backward {
                operation,
                feeds,
                parameters,
                gradient,
            } => self.backward(node, *operation, feeds, *parameters, gradient),
            Action::Sum { tensor, summands } => Ok(vec![self.sum(
                node,
                summands,
                &self.shape(*tensor),
                true,
            )?]),
        }
    }

    fn forward(&mut self, node: NodeId, operation: usize) -> Result<Vec<Tensor>, ExecError> {
        let inputs = self.training.program.network.operations()[operation]
            .inputs
            .clone();
        let inputs = inputs.into_iter().map(|x| self.value(node, x).map(Some));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        self.call(node, operation, inputs, kernels::forward)
    }

    /// Computes a node in place; only operators on single elements can overwrite their input.
    fn in_place(
        &self,
        node: NodeId,
        operation: usize,
        mut held: Held,
    ) -> Result<Vec<Tensor>, ExecError> {
        let operator = &self.training.program.network.operations()[operation];
        let input = operator.inputs.first();
        if input.and_then(|x| self.training.holder(*x)) != Some(held.node) {
            return Err(self.unsupported(node, "this over a tensor that it does not read".into()));
        }
        let _ = match operator.op {
            Op::Activation(Activation::Relu) => held.tensors[0].f_relu_()?,
            Op::Activation(Activation::Relu6) => held.tensors[0].f_relu6_()?,
            _ => return Err(self.unsupported(node, "this in place".into())),
        };
        // The input may have had another shape.
        Ok(vec![
            held.tensors[0].f_reshape(self.shape(operator.output))?,
        ])
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
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for x in &operator.inputs {
            let holder = self.training.holder(*x);
            let there = holder.is_none_or(|n| self.needs.contains(&n));
            inputs.push(there.then(|| self.value(node, *x)).transpose()?);
        }
        // A gradient is added to its parameter's gradient once, however often the node runs.
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
        let mut made: Gradients = self.call(node, operation, inputs, |call| {
            kernels::backward(call, &dy, wanted)
        })?;
        if parameters {
            if let Some(arena) = &self.arena {
                for (p, gradient) in of.iter().zip(&made.parameters) {
                    if !self.arrived[*p] {
                        self.training.gradient_slots[*p] = Some(arena.slot(gradient));
                    }
                }
                arena.part_gradients(&of, &mut made)?;
            }
            for (p, gradient) in of.iter().zip(made.parameters) {
                match (&mut self.training.gradients[*p], &mut self.arena) {
                    (Some(sum), _) if self.arrived[*p] => drop(sum.f_add_(&gradient)?),
                    (place, Some(arena)) => *place = Some(arena.gradient(*p, gradient)?),
                    (place, None) => *place = Some(gradient),
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
        let mut aside = std::mem::take(&mut self.training.aside[operation]);
        let result = self.call_beside(node, operation, inputs, &mut aside, kernel);
        self.withdraw();
        self.training.aside[operation] = aside;
        if let Some(arena) = &mut self.arena {
            arena.set_aside(operation, &mut self.training.aside[operation])?;
        }
        let (made, positions) = result?;
        if self.keep_positions && positions.is_some() {
            self.positions[operation] = positions;
        }
        Ok(made)
    }

    /// Runs a kernel with the small tensors that stay beside the registers, and returns positions
    /// of maxima as well.
    fn call_beside<T>(
        &self,
        node: NodeId,
        operation: usize,
        inputs: Vec<Option<Tensor>>,
        aside: &mut Vec<Tensor>,
        kernel: impl FnOnce(&mut Call<'_>) -> Result<T, ExecError>,
    ) -> Result<(T, Option<Tensor>), ExecError> {
        let training = &*self.training;
        let own = self.read(training.node_of[operation], node)?;
        let compact = self.read(training.by_product_of[operation], node)?;
        let network = &training.program.network;
        let operator = &network.operations()[operation];
        let parameters = operator.parameters.iter();
        // Running statistics are updated once a step, however often the node is computed.
        let first = self.runs[node.index()] == 0;
        let mut call = Call {
            network,
            operation: operator,
            inputs,
            output: own.map(|held| held.tensors.as_slice()),
            compact: compact.and_then(|held| held.tensors.first()),
            positions: None,
            parameters: parameters.map(|p| &training.parameters[*p]).collect(),
            aside,
            running: training.running[operation].as_ref().filter(|_| first),
            place: training.device.place(),
            seed: training.seed + 16 * (operation as i64 + 1),
        };
        let made = kernel(&mut call)?;
        Ok((made, call.positions))
    }

    /// The register of a node, if the current implementation reads it.
    fn read(&self, node: Option<NodeId>, reader: NodeId) -> Result<Option<&Held>, ExecError> {
        let Some(node) = node.filter(|node| self.needs.contains(node)) else {
            return Ok(None);
        };
        self.held(reader, node).map(Some)
    }

    /// Value of the loss, which is kept beside the registers.
    pub fn loss(&self) -> f64 {
        let operations = self.training.program.network.operations().iter();
        let at = operations.zip(&self.training.aside);
        let of_loss = at.filter(|(operation, _)| operation.op == Op::CrossEntropy);
        of_loss
            .filter_map(|(_, aside)| aside.first())
            .map(|loss| loss.double_value(&[]))
            .sum()
    }

    pub(super) fn misused(&self, register: Register, problem: &'static str) -> ExecError {
        ExecError::Register {
            step: self.step,
            register,
            problem,
        }
    }

    pub(super) fn unsupported(&self, node: NodeId, problem: String) -> ExecError {
        ExecError::Unsupported {
            step: self.step,
            node: self.training.program.instance.node(node).name.clone(),
            problem: format!("the executor does not run {problem}"),
        }
    }
}
