//! One storage for a whole plan: every tensor is a view at the offset of the plan's addresses.

use super::parts::{Part, Taken, places};
use crate::error::ExecError;
use crate::kernels::Gradients;
use crate::shim;
use crate::training::{Slot, Training, bytes_of};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{Plan, PlanAddresses, Register};
use remat_instances::simulate::{PieceOf, PlanLives};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Bytes of an arena that a training step used, and bytes outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaUse {
    /// Size of the storage that was allocated: the plan's arena.
    pub arena_bytes: u64,
    /// Largest end of a tensor in it.
    pub used_bytes: u64,
    /// Parameters, batch, gradients and statistics that did not fit into the plan's fixed memory,
    /// at the end of the step. They are separate tensors.
    pub beside_bytes: u64,
    /// Allocated at most outside of the arena: the bytes beside it, and scratch of kernels beyond
    /// the plan's workspaces.
    pub outside_bytes: u64,
}

/// Fixed memory, with its free range: parts are taken from either end.
struct Fixed {
    statement: usize,
    low: u64,
    high: u64,
}

/// Addresses that are multiples of this number of bytes suit every kernel on the CPU.
const LINE: u64 = 64;

/// The storage, and the owners of its parts.
pub(super) struct Arena {
    storage: Tensor,
    base: usize,
    bytes: u64,
    on_cpu: bool,
    /// Parts by statement.
    tensors: BTreeMap<usize, Part>,
    workspaces: BTreeMap<usize, Part>,
    fixed: Vec<Fixed>,
    /// Parts of the registers that are allocated.
    registers: BTreeMap<Register, Taken>,
    /// Size of each node's output in the plan's instance.
    output_bytes: Vec<u64>,
    /// Places of parameter gradients.
    gradients: Vec<Option<Part>>,
    /// Places of statistics and similar small tensors, by operation and number.
    aside: BTreeMap<(usize, usize), Part>,
    /// Largest end of a used part.
    high: u64,
    checks: Option<Checks>,
}

/// Checksums of contents that must not change: of registers, and of parameters and batch.
#[derive(Default)]
struct Checks {
    registers: BTreeMap<Register, u64>,
    steady: Vec<(Part, u64)>,
}

/// Refuses checked runs on a GPU, whose memory the host cannot read.
fn check_place(checked: bool, place: tch::Device) -> Result<(), ExecError> {
    match checked && place != tch::Device::Cpu {
        true => Err(ExecError::Device {
            device: format!("{place:?}"),
            problem: "a checked arena is read by the host: run it on the CPU, or unchecked".into(),
        }),
        false => Ok(()),
    }
}

impl Arena {
    /// Allocates the storage, and moves parameters, batch and statistics into the plan's fixed
    /// memory as far as they fit. With `checked`, freed parts are overwritten, and parts in use are
    /// checked after each computation.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] for addresses that are not the plan's, [`ExecError::Torch`].
    pub fn new(
        training: &mut Training,
        instance: &Instance,
        plan: &Plan,
        addresses: &PlanAddresses,
        checked: bool,
    ) -> Result<Self, ExecError> {
        check_place(checked, training.device.place())?;
        let wrong = |e: String| ExecError::Mismatch(format!("addresses: {e}"));
        let replayed = addresses.replay(instance, plan);
        replayed.map_err(|e| wrong(e.to_string()))?;
        let lives = PlanLives::of(instance, plan).map_err(|e| wrong(e.to_string()))?;
        let end = lives.lives().iter().map(|life| life.end()).max();
        let place = training.device.place();
        let bytes = addresses.arena_bytes;
        let storage = Tensor::f_empty([bytes.max(1) as i64], (Kind::Uint8, place))?;
        let mut arena = Arena {
            base: storage.data_ptr() as usize,
            bytes,
            on_cpu: place == tch::Device::Cpu,
            tensors: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            fixed: Vec::new(),
            registers: BTreeMap::new(),
            output_bytes: instance.nodes().iter().map(|n| n.output_bytes).collect(),
            gradients: training.parameters.iter().map(|_| None).collect(),
            aside: BTreeMap::new(),
            high: 0,
            checks: checked.then(Checks::default),
            storage,
        };
        for (piece, life) in addresses.pieces.iter().zip(lives.lives()) {
            let part = Part {
                offset: piece.offset_bytes,
                bytes: piece.bytes,
            };
            match piece.of {
                PieceOf::Tensor(at) => drop(arena.tensors.insert(at, part)),
                PieceOf::Workspace(at) => drop(arena.workspaces.insert(at, part)),
                // Fixed memory that ends before the step does cannot hold gradients.
                PieceOf::Fixed(_) if Some(life.end()) != end => {}
                PieceOf::Fixed(statement) => arena.fixed.push(Fixed {
                    statement,
                    low: part.offset,
                    high: part.offset + part.bytes,
                }),
            }
        }
        if arena.on_cpu {
            shim::arena_begin(&arena.storage)?;
        }
        arena.furnish(training, plan.semantics)?;
        Ok(arena)
    }

    /// Moves permanent tensors into fixed memory. Small tensors of an earlier step are made anew.
    fn furnish(&mut self, training: &mut Training, semantics: Semantics) -> Result<(), ExecError> {
        training.aside.iter_mut().for_each(Vec::clear);
        let parameters = training.parameters.iter_mut();
        let tensors = parameters.chain(training.batch.values_mut());
        let mut steady = Vec::new();
        for tensor in tensors {
            if let Some(part) = self.reserve(0, tensor) {
                *tensor = self.view(part, tensor, "a parameter or the batch")?;
                steady.push(part);
            }
        }
        for tensor in training.running.iter_mut().flatten().flatten() {
            if let Some(part) = self.reserve(0, tensor) {
                *tensor = self.view(part, tensor, "running statistics")?;
            }
        }
        if !semantics.fixed_memory_follows_frontier() {
            for (p, parameter) in training.parameters.iter().enumerate() {
                self.gradients[p] = self.reserve(0, parameter);
                training.gradients[p] = Some(match self.gradients[p] {
                    Some(part) => shim::view_like(&self.storage, part.offset, parameter)?,
                    None => parameter.f_empty_like()?,
                });
            }
        }
        if let Some(checks) = &mut self.checks {
            let sum = |part: Part| shim::checksum(&self.storage, part.offset, part.bytes);
            checks.steady = steady.into_iter().map(|part| (part, sum(part))).collect();
        }
        Ok(())
    }

    /// A part of the fixed memory that a statement adds, or of the fixed memory from the beginning;
    /// `None` without room. Odd sizes are at the far end, so that they do not break the alignment
    /// of others.
    fn reserve(&mut self, statement: usize, like: &Tensor) -> Option<Part> {
        let bytes = bytes_of(like);
        let element = like.kind().elt_size_in_bytes().max(1) as u64;
        let own = self.fixed.iter().position(|f| f.statement == statement);
        let order = own.into_iter().chain(0..self.fixed.len().min(1));
        for k in order {
            let fixed = &mut self.fixed[k];
            let offset = match bytes % LINE {
                0 => fixed.low.next_multiple_of(LINE),
                _ => fixed.high.saturating_sub(bytes) / element * element,
            };
            if offset < fixed.low || offset + bytes > fixed.high {
                continue;
            }
            match bytes % LINE {
                0 => fixed.low = offset + bytes,
                _ => fixed.high = offset,
            }
            return Some(Part { offset, bytes });
        }
        None
    }

    /// A view at a part, with a tensor's content.
    fn view(&mut self, part: Part, tensor: &Tensor, what: &str) -> Result<Tensor, ExecError> {
        let (found, element) = (bytes_of(tensor), tensor.kind().elt_size_in_bytes() as u64);
        if found > part.bytes {
            return Err(ExecError::Mismatch(format!(
                "{what}: {found} bytes are made, the plan's addresses have room for {}",
                part.bytes
            )));
        }
        if !part.offset.is_multiple_of(element.max(1)) {
            return Err(ExecError::Mismatch(format!(
                "{what}: the offset {} is no multiple of the {element} bytes of an element; place the plan with \
                 --alignment 64",
                part.offset
            )));
        }
        let mut view = shim::view_like(&self.storage, part.offset, tensor)?;
        if view.data_ptr() != tensor.data_ptr() || !shim::is_dense(tensor) {
            match self.meets(tensor, &[part]) {
                true => view.f_copy_(&tensor.f_detach_copy()?)?,
                false => view.f_copy_(tensor)?,
            }
        }
        self.high = self.high.max(part.offset + found);
        Ok(view)
    }

    /// Returns whether a tensor's memory is in the arena.
    fn holds(&self, tensor: &Tensor) -> bool {
        let at = tensor.data_ptr() as usize;
        (self.base..self.base + self.bytes as usize).contains(&at)
    }

    /// Returns whether a tensor's memory overlaps one of these parts, or may overlap it.
    fn meets(&self, tensor: &Tensor, parts: &[Part]) -> bool {
        if !self.holds(tensor) || !shim::is_dense(tensor) {
            return self.holds(tensor);
        }
        let begin = (tensor.data_ptr() as usize - self.base) as u64;
        let end = begin + bytes_of(tensor);
        let shares = |part: &Part| begin < part.offset + part.bytes && part.offset < end;
        parts.iter().any(shares)
    }

    /// Gives a register the part that its allocating statement has for a node.
    pub fn allocate(&mut self, register: Register, statement: usize, node: NodeId) {
        let nothing = Part {
            offset: 0,
            bytes: 0,
        };
        let whole = self.tensors.get(&statement).copied().unwrap_or(nothing);
        let bytes = self.taken_bytes(whole, node);
        self.registers.insert(register, Taken { whole, bytes });
    }

    /// Bytes of a part that a node's output uses.
    fn taken_bytes(&self, whole: Part, node: NodeId) -> u64 {
        self.output_bytes[node.index()].min(whole.bytes)
    }

    /// Places in a register's part for tensors that are copied back into it.
    pub fn receive(
        &mut self,
        register: Register,
        node: &str,
        like: &[Tensor],
    ) -> Result<Vec<Tensor>, ExecError> {
        let whole = self.registers.get(&register).copied();
        let (mut at, room) = whole.map_or((0, 0), |taken| (taken.whole.offset, taken.bytes));
        let end = at + room;
        let mut views = Vec::with_capacity(like.len());
        for tensor in like {
            let (bytes, element) = (bytes_of(tensor), tensor.kind().elt_size_in_bytes() as u64);
            if at + bytes > end || !at.is_multiple_of(element.max(1)) {
                return Err(ExecError::Mismatch(format!(
                    "{node} is fetched to offset {at} with {bytes} bytes, the plan's addresses have {room} up to {end}"
                )));
            }
            views.push(shim::view_like(&self.storage, at, tensor)?);
            at += bytes;
        }
        self.high = self.high.max(at);
        Ok(views)
    }

    /// Records a register's content after its copy has arrived: from here on it must not change.
    pub fn arrived(&mut self, register: Register) {
        if let (Some(checks), Some(taken)) = (&mut self.checks, self.registers.get(&register)) {
            let part = taken.held();
            let sum = shim::checksum(&self.storage, part.offset, part.bytes);
            checks.registers.insert(register, sum);
        }
    }

    /// Frees a register; with checks its part is overwritten.
    pub fn free(&mut self, register: Register) -> Result<(), ExecError> {
        let taken = self.registers.remove(&register);
        let Some(checks) = &mut self.checks else {
            return Ok(());
        };
        checks.registers.remove(&register);
        taken.map_or(Ok(()), |taken| self.poison(taken.held()))
    }

    /// Fills a part with ones: readers get NaN.
    fn poison(&self, part: Part) -> Result<(), ExecError> {
        let mut bytes = self
            .storage
            .f_narrow(0, part.offset as i64, part.bytes as i64)?;
        let _ = bytes.f_fill_(255)?;
        Ok(())
    }

    /// Offers the places of a computation's outputs, gradients and workspace to its kernels.
    /// `slots` are its outputs in order, as far as they are known; `None` if it overwrites its
    /// register's content.
    pub fn offer(
        &mut self,
        statement: usize,
        register: Register,
        slots: Option<&[Slot]>,
        parameters: &[(usize, &Tensor, Option<Slot>)],
    ) {
        for &(p, parameter, _) in parameters {
            if self.gradients[p].is_none() {
                self.gradients[p] = self.reserve(statement, parameter);
            }
        }
        if !self.on_cpu {
            return;
        }
        let place = |part: Part, slot: Option<&Slot>| {
            let turn = slot.and_then(|slot| slot.turn);
            [
                part.offset as i64,
                part.bytes as i64,
                turn.map_or(-1, i64::from),
            ]
        };
        let mut all: Vec<[i64; 3]> = Vec::new();
        if let (Some(taken), Some(slots)) = (self.registers.get(&register), slots) {
            let known = slots.iter().map(Some).chain(std::iter::repeat(None));
            let outputs = places(taken.whole, slots).into_iter().zip(known);
            all.extend(outputs.map(|(part, slot)| place(part, slot)));
        }
        let gradients = parameters.iter();
        all.extend(
            gradients.filter_map(|(p, _, slot)| Some(place(self.gradients[*p]?, slot.as_ref()))),
        );
        let workspace = self.workspaces.get(&statement);
        let scratch = workspace.map_or([0, 0], |w| [w.offset as i64, w.bytes as i64]);
        shim::arena_offer(&all, scratch);
    }

    /// The size of a new tensor, and the turn at which its memory was requested.
    pub fn slot(&self, tensor: &Tensor) -> Slot {
        Slot {
            bytes: bytes_of(tensor),
            turn: self.on_cpu.then(|| shim::arena_turn(tensor)).flatten(),
        }
    }

    /// Withdraws all offers.
    pub fn withdraw(&self) {
        if self.on_cpu {
            shim::arena_withdraw();
        }
    }

    /// The tensor itself if it is outside of the arena, or a copy outside.
    pub fn out(&self, tensor: Tensor) -> Result<Tensor, ExecError> {
        match self.holds(&tensor) {
            true => Ok(tensor.f_detach_copy()?),
            false => Ok(tensor),
        }
    }

    /// Copies gradients and outputs that are in a place of another parameter's gradient, so that
    /// every gradient can move to its place.
    pub fn part_gradients(&self, of: &[usize], made: &mut Gradients) -> Result<(), ExecError> {
        let at = |tensor: &Tensor| (tensor.data_ptr() as usize).wrapping_sub(self.base) as u64;
        let places: Vec<Part> = of.iter().filter_map(|p| self.gradients[*p]).collect();
        for (p, gradient) in of.iter().zip(&mut made.parameters) {
            let own = self.gradients[*p].is_some_and(|part| part.offset == at(gradient));
            if !own && self.meets(gradient, &places) {
                *gradient = gradient.f_detach_copy()?;
            }
        }
        for output in &mut made.inputs {
            if self.meets(output, &places) {
                *output = output.f_detach_copy()?;
            }
        }
        Ok(())
    }

    /// Moves a gradient to its place, if it has one.
    pub fn gradient(&mut self, p: usize, gradient: Tensor) -> Result<Tensor, ExecError> {
        match self.gradients[p] {
            Some(part) => self.view(part, &gradient, "a gradient"),
            None => self.out(gradient),
        }
    }

    /// Moves an operation's tensors beside the registers into fixed memory, if there is room.
    pub fn set_aside(&mut self, operation: usize, tensors: &mut [Tensor]) -> Result<(), ExecError> {
        for (k, tensor) in tensors.iter_mut().enumerate() {
            // A GPU's arena has no place for tensors that its kernels leave on the CPU.
            if self.on_cpu != (tensor.device() == tch::Device::Cpu) {
                continue;
            }
            let known = self.aside.get(&(operation, k)).copied();
            let part = known.or_else(|| self.reserve(0, tensor));
            let whole = std::mem::replace(tensor, Tensor::new());
            *tensor = match part {
                Some(part) => {
                    self.aside.insert((operation, k), part);
                    self.view(part, &whole, "statistics")?
                }
                None => self.out(whole)?,
            };
        }
        Ok(())
    }

    /// Moves a computation's outputs to the places of its register, and records their `slots`.
    pub fn settle(
        &mut self,
        register: Register,
        node: &str,
        outputs: Vec<Tensor>,
        slots: &mut Vec<Slot>,
    ) -> Result<Vec<Tensor>, ExecError> {
        if outputs.is_empty() {
            return Ok(outputs);
        }
        let Some(&Taken { whole, .. }) = self.registers.get(&register) else {
            let problem = format!("{node} is computed into {register}, which has no address");
            return Err(ExecError::Mismatch(problem));
        };
        *slots = outputs.iter().map(|tensor| self.slot(tensor)).collect();
        let places = places(whole, slots);
        let made: u64 = slots.iter().map(|slot| slot.bytes).sum();
        if made > whole.bytes || places.len() != outputs.len() {
            return Err(ExecError::Mismatch(format!(
                "{node} makes {made} bytes, the plan's addresses have room for {}: profile the model, and place its plan",
                whole.bytes
            )));
        }
        // Places of equal size may have been given out in another order.
        let mut free: Vec<Part> = places.clone();
        let mut parts: Vec<Option<Part>> = Vec::with_capacity(outputs.len());
        for tensor in &outputs {
            let at = (tensor.data_ptr() as usize).wrapping_sub(self.base) as u64;
            let same = |p: &Part| p.offset == at && p.bytes == bytes_of(tensor);
            let found = free
                .iter()
                .position(same)
                .filter(|_| shim::is_dense(tensor));
            parts.push(found.map(|k| free.remove(k)));
        }
        // A tensor in another's place is copied outside first.
        let mut waiting = Vec::with_capacity(outputs.len());
        for (tensor, part) in outputs.into_iter().zip(&parts) {
            waiting.push(match part {
                None if self.meets(&tensor, &places) => tensor.f_detach_copy()?,
                _ => tensor,
            });
        }
        let mut settled = Vec::with_capacity(waiting.len());
        for (tensor, part) in waiting.iter().zip(parts) {
            let fits = |p: &Part| p.bytes == bytes_of(tensor);
            let part = part.or_else(|| free.iter().position(fits).map(|k| free.remove(k)));
            let Some(part) = part else {
                let problem = format!("{node}: an output has no place");
                return Err(ExecError::Mismatch(problem));
            };
            settled.push(self.view(part, tensor, node)?);
        }
        Ok(settled)
    }

    /// Ends a computation: its register has the size of the node's output. Kernels must have freed
    /// all their memory, and with checks no other content may have changed.
    pub fn close(
        &mut self,
        statement: usize,
        register: Register,
        node: NodeId,
        name: &str,
    ) -> Result<(), ExecError> {
        let mut rest = None;
        if let Some(&Taken { whole, .. }) = self.registers.get(&register) {
            let bytes = self.taken_bytes(whole, node);
            let taken = Taken { whole, bytes };
            rest = Some(taken.rest());
            self.registers.insert(register, taken);
        }
        if self.on_cpu {
            let left = shim::arena_left();
            if left > 0 {
                let problem = format!("{name}: {left} pieces of memory were left in the arena");
                return Err(ExecError::Mismatch(problem));
            }
            self.high = self.high.max(shim::arena_high());
        }
        let Some(mut checks) = self.checks.take() else {
            return Ok(());
        };
        if let Some(workspace) = self.workspaces.get(&statement) {
            self.poison(*workspace)?;
        }
        if let Some(rest) = rest {
            self.poison(rest)?;
        }
        for (other, taken) in &self.registers {
            let part = taken.held();
            let sum = shim::checksum(&self.storage, part.offset, part.bytes);
            let before = checks.registers.get(other).copied();
            if *other == register {
                checks.registers.insert(*other, sum);
            } else if before.is_some_and(|before| before != sum) {
                return Err(ExecError::Mismatch(format!(
                    "step {statement}: {name} changed what {other} holds"
                )));
            }
        }
        self.checks = Some(checks);
        Ok(())
    }

    /// Moves permanent tensors out of the arena. A tensor that cannot be moved is dropped.
    pub fn leave(&self, training: &mut Training) -> Result<ArenaUse, ExecError> {
        self.withdraw();
        let sum = |part: Part| shim::checksum(&self.storage, part.offset, part.bytes);
        let changed = |checks: &Checks| checks.steady.iter().any(|(p, before)| sum(*p) != *before);
        let changed = self.checks.as_ref().is_some_and(changed);
        let within: u64 = training
            .tensors()
            .filter(|tensor| self.holds(tensor))
            .map(bytes_of)
            .sum();
        let beside_bytes = training.bytes().saturating_sub(within);
        let mut result = Ok(());
        for tensor in training.tensors_mut() {
            if self.holds(tensor) {
                let whole = std::mem::replace(tensor, Tensor::new());
                match whole.f_detach_copy() {
                    Ok(copy) => *tensor = copy,
                    Err(problem) => result = Err(problem),
                }
            }
        }
        result?;
        if changed {
            let problem = "the step changed a parameter or the batch";
            return Err(ExecError::Mismatch(problem.into()));
        }
        Ok(ArenaUse {
            arena_bytes: self.bytes,
            used_bytes: self.high,
            beside_bytes,
            outside_bytes: 0,
        })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if self.on_cpu {
            shim::arena_withdraw();
            shim::arena_end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_arenas_are_on_the_cpu() {
        assert!(check_place(true, tch::Device::Cpu).is_ok());
        assert!(check_place(false, tch::Device::Cuda(0)).is_ok());
        let problem = check_place(true, tch::Device::Cuda(0)).unwrap_err();
        assert!(
            problem
                .to_string()
                .contains("run it on the CPU, or unchecked")
        );
    }
}
