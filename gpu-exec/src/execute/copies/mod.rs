//! Copies to the host and back, beside the computations of a step.
//!
//! | file | concept |
//! |---|---|
//! | `host.rs` | host buffers: one storage, and the link |
//! | `lane.rs` | a link on the CPU: threads that copy at the link's speed |
//! | `stream.rs` | the link of a GPU: pinned memory, streams and events |

mod host;
mod lane;
mod stream;
#[cfg(test)]
mod tests;

pub use host::HostMemory;
pub(crate) use stream::Streams;

use super::arena::Arena;
use super::machine::{Held, Machine};
use crate::error::ExecError;
use crate::shim;
use crate::training::bytes_of;
use remat_instances::instance::NodeId;
use remat_instances::plan::{HostBuffer, Register};
use std::collections::BTreeMap;
use std::time::Instant;
use tch::Tensor;

/// Bytes and times of a step's copies, as measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CopyUse {
    /// Bytes copied to the host.
    pub to_host_bytes: u64,
    /// Bytes copied from the host.
    pub from_host_bytes: u64,
    /// Largest sum of the tensors in host buffers at one time, in bytes.
    pub host_peak_bytes: u64,
    /// Size of the storage of host buffers: the plan's host peak, and loss to fragmentation.
    pub host_arena_bytes: u64,
    /// Wall-clock seconds in which computations waited for copies.
    pub idle_seconds: f64,
    /// Wall-clock seconds from the first statement to the end of the last.
    pub makespan_seconds: f64,
}

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    ToHost,
    FromHost,
}

/// A tensor and the place of its copy, of the same type, shape and layout.
pub(crate) struct Pair {
    pub to: Tensor,
    pub from: Tensor,
}

/// A copy that was started, by its number in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(usize);

/// A link that copies beside computations, on one lane for each direction or one for both, in the
/// order in which copies are started.
pub(crate) trait Carrier {
    /// Starts a copy. It begins once its lane is free, all earlier computations are done, and the
    /// copy `after` has ended.
    fn start(
        &mut self,
        direction: Direction,
        pairs: Vec<Pair>,
        after: Option<Ticket>,
    ) -> Result<Ticket, ExecError>;

    /// Lets computations continue once a copy has ended, and returns then. Returns the copy's error
    /// in words.
    fn wait(&mut self, ticket: Ticket) -> Result<(), String>;

    /// Chooses whether [`Carrier::wait`] on a GPU returns before the copy has ended. Later
    /// computations wait for it on the GPU in both cases.
    fn set_asynchronous(&mut self, _asynchronous: bool) {}

    /// Waits until all copies have ended, and forgets them. With `abandon`, copies that have not
    /// ended may be skipped.
    fn settle(&mut self, abandon: bool);
}

/// Content of a host buffer.
struct Stored {
    node: NodeId,
    from: Register,
    /// Views of the host's storage.
    tensors: Vec<Tensor>,
    bytes: u64,
    /// The copy to it.
    filling: Ticket,
    waited: bool,
    /// Dense copies of tensors with holes, kept until the copy to the host has ended.
    dense: Vec<Tensor>,
    offset: u64,
}

/// A copy into a register that has not been read since.
struct Arrival {
    buffer: HostBuffer,
    ticket: Ticket,
}

/// Copies of a step.
pub(super) struct Copies<'a> {
    host: &'a mut HostMemory,
    /// True if buffers are overwritten when they are released.
    checked: bool,
    stored: BTreeMap<HostBuffer, Stored>,
    arriving: BTreeMap<Register, Arrival>,
    bytes: u64,
    begun: Instant,
    done: CopyUse,
}

impl<'a> Copies<'a> {
    /// An empty record of copies into buffers of this host.
    pub fn new(host: &'a mut HostMemory, checked: bool) -> Self {
        Copies {
            done: CopyUse {
                host_arena_bytes: host.bytes(),
                ..CopyUse::default()
            },
            host,
            checked,
            stored: BTreeMap::new(),
            arriving: BTreeMap::new(),
            bytes: 0,
            begun: Instant::now(),
        }
    }

    /// Starts the step's clock.
    pub fn begin(&mut self, asynchronous: bool) {
        self.host.carrier().set_asynchronous(asynchronous);
        self.begun = Instant::now();
    }

    /// Returns whether a copy into a register has not been waited for.
    pub fn is_arriving(&self, register: Register) -> bool {
        self.arriving.contains_key(&register)
    }

    /// Returns whether a copy from a register has not been waited for.
    pub fn is_leaving(&self, register: Register) -> bool {
        let mut all = self.stored.values();
        all.any(|stored| stored.from == register && !stored.waited)
    }

    /// Ends the copies of a step.
    pub fn leave(&mut self, abandon: bool) {
        self.host.carrier().settle(abandon);
        self.arriving.clear();
        self.stored.clear();
    }

    /// Bytes and times up to here.
    pub fn done(&self) -> CopyUse {
        CopyUse {
            makespan_seconds: self.begun.elapsed().as_secs_f64(),
            ..self.done
        }
    }

    fn wait_for(&mut self, step: usize, ticket: Ticket) -> Result<(), ExecError> {
        let from = Instant::now();
        let waited = self.host.carrier().wait(ticket);
        self.done.idle_seconds += from.elapsed().as_secs_f64();
        waited.map_err(|problem| ExecError::Copy { step, problem })
    }

    fn offload(
        &mut self,
        step: usize,
        (register, held): (Register, &Held),
        buffer: HostBuffer,
    ) -> Result<(), ExecError> {
        if self.stored.contains_key(&buffer) {
            return Err(misused(step, buffer, "is taken already"));
        }
        let (offset, room) = self.host.place_of(step)?;
        let bytes: u64 = held.tensors.iter().map(bytes_of).sum();
        if bytes > room {
            return Err(ExecError::Mismatch(format!(
                "step {step}: {bytes} bytes go to {buffer}, the instance says {room}: profile the model, and solve its \
                 profile"
            )));
        }
        let (mut at, mut pairs, mut tensors) = (offset, Vec::new(), Vec::new());
        let mut dense = Vec::new();
        for tensor in &held.tensors {
            let mut from = tensor.shallow_clone();
            if !shim::is_dense(tensor) {
                from = tensor.f_contiguous()?;
                dense.push(from.shallow_clone());
            }
            let to = self.host.view(at, &from)?;
            at += bytes_of(tensor);
            tensors.push(to.shallow_clone());
            pairs.push(Pair { to, from });
        }
        let after = self.arriving.get(&register).map(|arrival| arrival.ticket);
        let carrier = self.host.carrier();
        let filling = carrier.start(Direction::ToHost, pairs, after)?;
        self.bytes += bytes;
        self.done.to_host_bytes += bytes;
        self.done.host_peak_bytes = self.done.host_peak_bytes.max(self.bytes);
        let stored = Stored {
            node: held.node,
            from: register,
            tensors,
            bytes,
            filling,
            waited: false,
            dense,
            offset,
        };
        self.stored.insert(buffer, stored);
        Ok(())
    }

    /// Lets computations continue once a buffer is filled.
    pub fn wait(&mut self, step: usize, buffer: HostBuffer) -> Result<(), ExecError> {
        let stored = self.stored.get_mut(&buffer);
        let stored = stored.ok_or_else(|| misused(step, buffer, "is waited for and not taken"))?;
        let ticket = stored.filling;
        self.wait_for(step, ticket)?;
        if let Some(stored) = self.stored.get_mut(&buffer) {
            stored.waited = true;
            stored.dense.clear();
        }
        Ok(())
    }

    /// Starts a copy of a buffer; returns the register's new content.
    fn prefetch(
        &mut self,
        step: usize,
        buffer: HostBuffer,
        register: Register,
        place: tch::Device,
        arena: Option<(&mut Arena, &str)>,
    ) -> Result<Held, ExecError> {
        let stored = self.stored.get(&buffer);
        let stored = stored.ok_or_else(|| misused(step, buffer, "is fetched and not taken"))?;
        let fresh = |like: &Tensor| {
            let options = (like.kind(), place);
            Ok::<_, ExecError>(Tensor::f_empty_strided(
                like.size(),
                like.stride(),
                options,
            )?)
        };
        let tensors = match arena {
            Some((arena, node)) => arena.receive(register, node, &stored.tensors)?,
            None => stored
                .tensors
                .iter()
                .map(fresh)
                .collect::<Result<Vec<_>, _>>()?,
        };
        let pairs = tensors.iter().zip(&stored.tensors).map(|(to, from)| Pair {
            to: to.shallow_clone(),
            from: from.shallow_clone(),
        });
        let (node, bytes, filling) = (stored.node, stored.bytes, stored.filling);
        let pairs = pairs.collect();
        let carrier = self.host.carrier();
        let ticket = carrier.start(Direction::FromHost, pairs, Some(filling))?;
        self.done.from_host_bytes += bytes;
        self.arriving.insert(register, Arrival { buffer, ticket });
        Ok(Held { node, tensors })
    }

    /// Waits for a copy into a register; returns whether there was one.
    fn arrive(&mut self, step: usize, register: Register) -> Result<bool, ExecError> {
        let Some(arrival) = self.arriving.remove(&register) else {
            return Ok(false);
        };
        self.wait_for(step, arrival.ticket)?;
        Ok(true)
    }

    /// Frees a buffer.
    pub fn release(&mut self, step: usize, buffer: HostBuffer) -> Result<(), ExecError> {
        let mut coming = self.arriving.values();
        if coming.any(|arrival| arrival.buffer == buffer) {
            return Err(misused(step, buffer, "is released while it is fetched"));
        }
        let Some(stored) = self.stored.remove(&buffer) else {
            return Err(misused(step, buffer, "is released and not taken"));
        };
        if !stored.waited {
            // The copy needs its place until the step ends.
            self.stored.insert(buffer, stored);
            return Err(misused(step, buffer, "is released before it is filled"));
        }
        self.bytes -= stored.bytes;
        match self.checked {
            true => self.host.poison(stored.offset, stored.bytes),
            false => Ok(()),
        }
    }
}

fn misused(step: usize, buffer: HostBuffer, problem: &'static str) -> ExecError {
    ExecError::Buffer {
        step,
        buffer,
        problem,
    }
}

impl<'a> Machine<'a> {
    /// The copies; an error if the plan was given no host memory.
    pub fn copies(&mut self) -> Result<&mut Copies<'a>, ExecError> {
        let step = self.step;
        self.copies.as_mut().ok_or(ExecError::Copies { step })
    }

    /// Starts a copy of a register to the host.
    pub fn offload(&mut self, register: Register, buffer: HostBuffer) -> Result<(), ExecError> {
        let Some(held) = self.registers.get(&register) else {
            return Err(self.misused(register, "is copied to the host and holds nothing"));
        };
        match &mut self.copies {
            Some(copies) => copies.offload(self.step, (register, held), buffer),
            None => Err(ExecError::Copies { step: self.step }),
        }
    }

    /// Starts a copy from the host into a register.
    pub fn prefetch(&mut self, buffer: HostBuffer, register: Register) -> Result<(), ExecError> {
        if self.registers.contains_key(&register) {
            return Err(self.misused(register, "is fetched into and holds another tensor"));
        }
        let Some(copies) = &mut self.copies else {
            return Err(ExecError::Copies { step: self.step });
        };
        let place = self.training.device.place();
        let node = copies.stored.get(&buffer).map(|stored| stored.node);
        let name = node.map(|node| &self.training.program.instance.node(node).name);
        let arena = self.arena.as_mut();
        let arena = arena.map(|arena| (arena, name.map_or("", |name| name.as_str())));
        let held = copies.prefetch(self.step, buffer, register, place, arena)?;
        self.place[held.node.index()] = Some(register);
        self.registers.insert(register, held);
        Ok(())
    }

    /// Waits for all copies into registers that a computation reads or overwrites.
    pub fn arrivals(
        &mut self,
        node: NodeId,
        register: Register,
        implementation: u16,
    ) -> Result<(), ExecError> {
        let Some(copies) = &mut self.copies else {
            return Ok(());
        };
        let instance = &self.training.program.instance;
        let Some(known) = instance.nodes().get(node.index()) else {
            return Ok(());
        };
        let way = known.implementations.get(usize::from(implementation));
        let needs = way.map_or(&[][..], |way| &way.needs);
        let read = needs.iter().filter_map(|need| self.place[need.index()]);
        for read in read.chain([register]) {
            if copies.arrive(self.step, read)?
                && let Some(arena) = &mut self.arena
            {
                arena.arrived(read);
            }
        }
        if copies.is_leaving(register) {
            return Err(self.misused(register, "is overwritten while it is copied"));
        }
        Ok(())
    }
}
