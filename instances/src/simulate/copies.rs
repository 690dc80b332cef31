//! Copies of a plan: the clock of computations, the lanes of the link, and the host buffers.

use super::{ReplayError, StepFault};
use crate::instance::{CopyTimes, Duplex, Instance, NodeId};
use crate::statement::{HostBuffer, Register};
use std::collections::BTreeMap;

/// Copies in a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Bytes copied to the host.
    pub to_host_bytes: u64,
    /// Bytes copied from the host.
    pub from_host_bytes: u64,
    /// Bytes of gathers.
    pub gathered_bytes: u64,
    /// Bytes of scatters.
    pub scattered_bytes: u64,
    /// Largest sum of all host buffers in use at one time, in bytes.
    pub host_peak_bytes: u64,
    /// The copies, in the order of their statements.
    pub spans: Vec<CopySpan>,
    /// Memory of the device between computations, in order: at each statement about a copy, and
    /// while a computation waits for its inputs.
    pub moments: Vec<CopyMoment>,
}

impl Transfers {
    /// Time that the lane to or from the host is busy, in the instance's cost unit.
    pub fn busy(&self, to_host: bool) -> u64 {
        let lane = self.spans.iter().filter(|span| span.to_host == to_host);
        lane.map(|span| span.end - span.begin)
            .fold(0, u64::saturating_add)
    }
}

/// Memory of the device at a statement about a copy, or while a computation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyMoment {
    /// Position of the statement in the plan.
    pub statement: usize,
    /// Number of computations before it.
    pub after: usize,
    /// Bytes in use, fixed memory included.
    pub bytes: u64,
    /// Time at its end, in the instance's cost unit.
    pub clock: u64,
}

/// One copy, gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySpan {
    /// The node whose output is copied.
    pub node: NodeId,
    /// The host buffer; `None` for a gather or a scatter.
    pub buffer: Option<HostBuffer>,
    /// Direction: true for a scatter, false for a gather.
    pub to_host: bool,
    /// Number of computations before its statement.
    pub after: usize,
    /// Time at which it starts, in the instance's cost unit.
    pub begin: u64,
    /// Time at which it ends.
    pub end: u64,
    /// Number of computations before the one that reads the copied tensor; for a copy to the host,
    /// before the statement that waits for it.
    pub awaited: usize,
    /// Time that computations wait for its end.
    pub idle: u64,
}

/// Contents of a host buffer.
struct Held {
    node: NodeId,
    bytes: u64,
    /// Position of the copy into it.
    span: usize,
    /// Source register of the copy.
    from: Register,
    /// End of the copy into it.
    filled: u64,
    waited: bool,
}

/// Contents of a register that came from the host, or was gathered, and has not been read.
struct Arrival {
    buffer: Option<HostBuffer>,
    node: NodeId,
    /// Position of the copy back.
    span: usize,
    end: u64,
}

/// Clock, lanes and buffers of a replay.
pub(super) struct Copies<'a> {
    instance: &'a Instance,
    times: Result<CopyTimes, StepFault>,
    /// Time reached by the computations.
    clock: u64,
    cost: u64,
    computations: usize,
    /// Times from which the lanes are free: to and from the host.
    free: [u64; 2],
    half: bool,
    buffers: BTreeMap<HostBuffer, Held>,
    arriving: BTreeMap<Register, Arrival>,
    /// Registers with a scatter that may still run, and its position.
    scattering: BTreeMap<Register, usize>,
    is_scattered: Vec<bool>,
    host_bytes: u64,
    done: Transfers,
}

impl<'a> Copies<'a> {
    pub fn new(instance: &'a Instance) -> Self {
        let link = instance.host_link();
        let times = link.ok_or(StepFault::NoLink).and_then(|link| {
            let unit = instance.cost_unit();
            link.times(unit).ok_or_else(|| StepFault::NoTime {
                unit: unit.name.clone(),
            })
        });
        Copies {
            instance,
            times,
            clock: 0,
            cost: 0,
            computations: 0,
            free: [0; 2],
            half: link.is_some_and(|link| link.duplex == Duplex::Half),
            buffers: BTreeMap::new(),
            arriving: BTreeMap::new(),
            scattering: BTreeMap::new(),
            is_scattered: vec![false; instance.len()],
            host_bytes: 0,
            done: Transfers::default(),
        }
    }

    /// Returns whether there were any copies.
    pub fn any(&self) -> bool {
        !self.done.spans.is_empty()
    }

    /// Time that computations have waited.
    pub fn idle(&self) -> u64 {
        self.clock - self.cost
    }

    /// Advances the clock by a computation.
    pub fn compute(&mut self, cost: u64) {
        self.clock = self.clock.saturating_add(cost);
        self.cost += cost;
        self.computations += 1;
    }

    /// Records the memory in use at a statement.
    pub fn glance(&mut self, statement: usize, bytes: u64) {
        self.done.moments.push(CopyMoment {
            statement,
            after: self.computations,
            bytes,
            clock: self.clock,
        });
    }

    /// Makes computations wait for a copy.
    fn hold(&mut self, span: usize) {
        let copy = &mut self.done.spans[span];
        copy.awaited = self.computations;
        copy.idle = copy.end.saturating_sub(self.clock);
        self.clock = self.clock.max(copy.end);
    }

    /// Puts a copy on its lane, not before the time `from`; returns its end.
    fn run(
        &mut self,
        node: NodeId,
        buffer: Option<HostBuffer>,
        to_host: bool,
        from: u64,
    ) -> Result<u64, StepFault> {
        let times = self.times.as_ref().map_err(StepFault::clone)?;
        let own = self.instance.node(node);
        let bytes = match (buffer, to_host) {
            (Some(_), _) => own.output_bytes,
            (None, true) => own.scatter_bytes.unwrap_or(0),
            (None, false) => own.gather_bytes.unwrap_or(0),
        };
        let (lane, time, direction) = match to_host {
            true => (0, times.to_host(bytes), "to"),
            false => (usize::from(!self.half), times.from_host(bytes), "from"),
        };
        let time = time.ok_or(StepFault::NoBandwidth { direction })?;
        let begin = self.free[lane].max(self.clock).max(from);
        let end = begin.saturating_add(time);
        self.free[lane] = end;
        let done = &mut self.done;
        *match (buffer, to_host) {
            (Some(_), true) => &mut done.to_host_bytes,
            (Some(_), false) => &mut done.from_host_bytes,
            (None, true) => &mut done.scattered_bytes,
            (None, false) => &mut done.gathered_bytes,
        } += bytes;
        self.done.spans.push(CopySpan {
            node,
            buffer,
            to_host,
            after: self.computations,
            begin,
            end,
            awaited: self.computations,
            idle: 0,
        });
        Ok(end)
    }

    pub fn offload(
        &mut self,
        node: NodeId,
        register: Register,
        buffer: HostBuffer,
    ) -> Result<(), StepFault> {
        let name = |node| self.instance.node(node).name.clone();
        if !self.instance.may_offload(node) {
            return Err(StepFault::Stays {
                node_name: name(node),
            });
        }
        if let Some(held) = self.buffers.get(&buffer) {
            return Err(StepFault::TakenTwice {
                buffer,
                node_name: name(held.node),
            });
        }
        let there = self
            .arriving
            .get(&register)
            .map_or(0, |arrival| arrival.end);
        let span = self.done.spans.len();
        let filled = self.run(node, Some(buffer), true, there)?;
        let bytes = self.instance.node(node).output_bytes;
        self.host_bytes += bytes;
        self.done.host_peak_bytes = self.done.host_peak_bytes.max(self.host_bytes);
        self.buffers.insert(
            buffer,
            Held {
                node,
                bytes,
                span,
                from: register,
                filled,
                waited: false,
            },
        );
        Ok(())
    }

    pub fn wait(&mut self, buffer: HostBuffer) -> Result<(), StepFault> {
        let held = self.buffers.get_mut(&buffer);
        let held = held.ok_or(StepFault::NotTaken { buffer })?;
        if !std::mem::replace(&mut held.waited, true) {
            let span = held.span;
            self.hold(span);
        }
        Ok(())
    }

    /// The node with its output in a buffer.
    pub fn held(&self, buffer: HostBuffer) -> Result<NodeId, StepFault> {
        let held = self.buffers.get(&buffer);
        held.map(|held| held.node)
            .ok_or(StepFault::NotTaken { buffer })
    }

    pub fn prefetch(&mut self, buffer: HostBuffer, register: Register) -> Result<(), StepFault> {
        let held = self.buffers.get(&buffer);
        let held = held.ok_or(StepFault::NotTaken { buffer })?;
        let (node, filled) = (held.node, held.filled);
        let span = self.done.spans.len();
        let end = self.run(node, Some(buffer), false, filled)?;
        let buffer = Some(buffer);
        let arrival = Arrival {
            buffer,
            node,
            span,
            end,
        };
        self.arriving.insert(register, arrival);
        Ok(())
    }

    /// Puts a gather on the lane from the host.
    pub fn gather(&mut self, node: NodeId, register: Register) -> Result<(), StepFault> {
        let span = self.done.spans.len();
        let end = self.run(node, None, false, 0)?;
        let arrival = Arrival {
            buffer: None,
            node,
            span,
            end,
        };
        self.arriving.insert(register, arrival);
        Ok(())
    }

    /// Puts a scatter on the lane to the host.
    pub fn scatter(&mut self, node: NodeId, register: Register) -> Result<(), StepFault> {
        if std::mem::replace(&mut self.is_scattered[node.index()], true) {
            let node_name = self.instance.node(node).name.clone();
            return Err(StepFault::ScatteredTwice { node_name });
        }
        self.scattering.insert(register, self.done.spans.len());
        self.run(node, None, true, 0).map(|_| ())
    }

    pub fn release(&mut self, buffer: HostBuffer) -> Result<(), StepFault> {
        let held = self.buffers.get(&buffer);
        let held = held.ok_or(StepFault::NotTaken { buffer })?;
        if !held.waited {
            return Err(StepFault::StillFilling { buffer });
        }
        let mut coming = self.arriving.iter();
        if let Some((register, _)) = coming.find(|(_, arrival)| arrival.buffer == Some(buffer)) {
            return Err(StepFault::StillComing {
                buffer,
                register: *register,
            });
        }
        self.host_bytes -= held.bytes;
        self.buffers.remove(&buffer);
        Ok(())
    }

    /// Waits for the inputs of a computation.
    pub fn read(&mut self, registers: impl Iterator<Item = Register>) {
        for register in registers {
            if let Some(arrival) = self.arriving.remove(&register) {
                self.hold(arrival.span);
            }
        }
    }

    /// Checks that a register may be freed, and waits for a scatter from it.
    pub fn free(&mut self, register: Register) -> Result<(), StepFault> {
        if let Some(arrival) = self.arriving.get(&register) {
            return Err(match arrival.buffer {
                Some(buffer) => StepFault::NeverRead { register, buffer },
                None => StepFault::GatheredInVain {
                    register,
                    node_name: self.instance.node(arrival.node).name.clone(),
                },
            });
        }
        self.left(register, "freed")?;
        if let Some(span) = self.scattering.remove(&register) {
            self.hold(span);
        }
        Ok(())
    }

    /// Waits for all scatters at the end of the plan.
    pub fn settle(&mut self) {
        for span in std::mem::take(&mut self.scattering).into_values() {
            self.hold(span);
        }
    }

    /// Checks that a register may be overwritten.
    pub fn overwrite(&self, register: Register) -> Result<(), StepFault> {
        self.left(register, "overwritten")
    }

    fn left(&self, register: Register, verb: &'static str) -> Result<(), StepFault> {
        let mut leaving = self.buffers.iter();
        match leaving.find(|(_, held)| held.from == register && !held.waited) {
            Some((buffer, _)) => Err(StepFault::StillLeaving {
                register,
                buffer: *buffer,
                verb,
            }),
            None => Ok(()),
        }
    }

    /// The copies, after the end of the plan.
    pub fn finish(self) -> Result<Transfers, ReplayError> {
        let scattered = self.instance.ids().zip(&self.is_scattered);
        let mut missing = scattered.filter(|(_, is_scattered)| !**is_scattered);
        if let Some((node, _)) = missing.find(|(id, _)| self.instance.node(*id).is_scattered()) {
            return Err(ReplayError::NeverScattered {
                node,
                node_name: self.instance.node(node).name.clone(),
            });
        }
        match self.buffers.first_key_value() {
            Some((buffer, held)) => Err(ReplayError::NeverReleased {
                buffer: *buffer,
                node: held.node,
                node_name: self.instance.node(held.node).name.clone(),
            }),
            None => Ok(self.done),
        }
    }
}
