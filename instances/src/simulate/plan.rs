//! Replays a plan, register by register.

use super::copies::Copies;
use super::in_flight::Boundary;
use super::{Meter, Replay, ReplayError, StepFault};
use crate::Semantics;
use crate::instance::{Implementation, Instance, Node, NodeId, NodeKind};
use crate::name::Name;
use crate::plain::Plain;
use crate::statement::{HostBuffer, Plan, Register, Step};
use std::collections::BTreeMap;

/// Replays a plan statement by statement.
///
/// Memory is the size of the allocated registers plus fixed memory; it is sampled at every
/// computation, with that node's workspace. The [`Semantics`] of the plan determine fixed memory,
/// implementations, negative workspaces and by-products. A by-product always runs after a run of
/// its parent, and a recomputation has its own cost and workspace.
///
/// While a node runs in place, both tensors are charged and its in-place workspace is added, as in
/// MONeT's program (ICLR 2021, section 4; constraint 17 of the written-out form). The workspace is
/// negative by the size of the input if that is released. Afterwards the register has the size of
/// the new tensor.
///
/// Copies run on the instance's link, on one lane for each direction (one for both if its duplex is
/// half), in the order of their statements. A copy to the host starts once its lane is free and the
/// computations have reached its statement; a copy back also waits for the end of the copy to the
/// host. A computation starts when its inputs have arrived in the newest register of each.
/// Gathers of weights and scatters of gradients run on the same lanes: a gather on the lane from
/// the host, a scatter on the lane to it, which the freeing of its register and the end wait for. The
/// order of statements alone determines when memory is allocated and freed; memory is also sampled
/// at every copy statement. The makespan is the clock of computations after the last statement.
///
/// # Errors
/// [`ReplayError::Step`] names the first statement that cannot be executed,
/// [`ReplayError::NeverComputed`] a node that never runs. [`ReplayError::NeverFreed`] names a
/// register that is still allocated at the end although some node reads its tensor; outputs (nodes
/// without readers) may stay. [`ReplayError::NeverReleased`] names a host buffer that is still in
/// use.
pub fn plan(instance: &Instance, plan: &Plan) -> Result<Replay, ReplayError> {
    let mut machine = Machine::new(instance, plan.semantics);
    for (at, step) in plan.steps.iter().enumerate() {
        machine.statement = at;
        machine.execute(*step).map_err(|fault| ReplayError::Step {
            step: at,
            fault: Box::new(fault),
        })?;
        machine.boundary.note(machine.bytes);
    }
    machine.finish()
}

/// An allocated register.
struct Slot {
    /// Node for which it was allocated, or, after a computation in place, the node with its output
    /// there.
    node: NodeId,
    filled: bool,
}

/// The latest run of a node.
#[derive(Clone, Copy)]
struct LatestRun {
    /// Number of computations before it.
    serial: usize,
    recomputed: bool,
    in_place: bool,
}

struct Machine<'a> {
    instance: &'a Instance,
    semantics: Semantics,
    meter: Meter,
    boundary: Boundary,
    /// Position of the current statement.
    statement: usize,
    slots: BTreeMap<Register, Slot>,
    /// Total size of all allocated registers.
    bytes: u64,
    fixed_bytes: u64,
    /// Registers that hold each node's output, the newest last.
    holders: Vec<Vec<Register>>,
    copies: Copies<'a>,
    last_run: Vec<Option<LatestRun>>,
    /// The first node to have run that ends each node.
    ended_by: Vec<Option<NodeId>>,
    /// Number of nodes computed at least once.
    advanced: usize,
    /// The last node, in the order of the instance, computed so far.
    newest: Option<NodeId>,
}

impl<'a> Machine<'a> {
    fn new(instance: &'a Instance, semantics: Semantics) -> Self {
        Machine {
            instance,
            semantics,
            meter: Meter::new(),
            boundary: Boundary::of(instance),
            statement: 0,
            slots: BTreeMap::new(),
            bytes: 0,
            fixed_bytes: match semantics.fixed_memory_follows_frontier() {
                true => 0,
                false => instance.static_bytes(),
            },
            holders: vec![Vec::new(); instance.len()],
            copies: Copies::new(instance),
            last_run: vec![None; instance.len()],
            ended_by: vec![None; instance.len()],
            advanced: 0,
            newest: None,
        }
    }

    fn name(&self, id: NodeId) -> Name {
        self.instance.node(id).name.clone()
    }

    fn execute(&mut self, step: Step) -> Result<(), StepFault> {
        match step {
            Step::Allocate { register, node } => self.allocate(register, node),
            Step::Compute {
                node,
                register,
                implementation,
            } => self.compute(node, register, implementation),
            Step::Deallocate { register } => self.deallocate(register),
            Step::Offload { register, buffer } => self.offload(register, buffer),
            Step::Wait { buffer } => self.copies.wait(buffer).map(|()| self.glance()),
            Step::Prefetch { buffer, register } => self.prefetch(buffer, register),
            Step::Release { buffer } => self.copies.release(buffer),
            Step::Gather { register, node } => self.gather(register, node),
            Step::Scatter { register, node } => self.scatter(register, node),
        }
    }

    /// Updates the peak with the memory in use between two computations.
    fn glance(&mut self) {
        let bytes = self.fixed_bytes + self.bytes;
        self.meter.glance(self.advanced, None, bytes);
        self.copies.glance(self.statement, bytes);
    }

    fn offload(&mut self, register: Register, buffer: HostBuffer) -> Result<(), StepFault> {
        let slot = self.slots.get(&register);
        let slot = slot.ok_or(StepFault::NotAllocated { register })?;
        if !slot.filled {
            return Err(StepFault::NothingToCopy {
                register,
                node_name: self.name(slot.node),
            });
        }
        self.copies.offload(slot.node, register, buffer)?;
        self.glance();
        Ok(())
    }

    fn prefetch(&mut self, buffer: HostBuffer, register: Register) -> Result<(), StepFault> {
        let node = self.copies.held(buffer)?;
        let slot = self.slots.get_mut(&register);
        let slot = slot.ok_or(StepFault::NotAllocated { register })?;
        if slot.filled || slot.node != node {
            let name = &self.instance.node(slot.node).name;
            let verb = if slot.filled {
                "holds"
            } else {
                "was allocated for"
            };
            return Err(StepFault::CannotFetchInto {
                buffer,
                register,
                problem: format!("{verb} {name}"),
            });
        }
        slot.filled = true;
        self.holders[node.index()].push(register);
        self.copies.prefetch(buffer, register)?;
        self.glance();
        Ok(())
    }

    fn gather(&mut self, register: Register, id: NodeId) -> Result<(), StepFault> {
        self.known(id)?;
        let node_name = self.name(id);
        if !self.instance.node(id).is_gathered() {
            return Err(StepFault::NotGathered { node_name });
        }
        let slot = self.slots.get_mut(&register);
        let slot = slot.ok_or(StepFault::NotAllocated { register })?;
        if slot.filled || slot.node != id {
            let name = &self.instance.node(slot.node).name;
            let verb = match slot.filled {
                true => "holds",
                false => "was allocated for",
            };
            return Err(StepFault::CannotGatherInto {
                node_name,
                register,
                problem: format!("{verb} {name}"),
            });
        }
        slot.filled = true;
        self.holders[id.index()].push(register);
        self.copies.gather(id, register)?;
        self.glance();
        Ok(())
    }

    fn scatter(&mut self, register: Register, id: NodeId) -> Result<(), StepFault> {
        self.known(id)?;
        let node_name = self.name(id);
        if !self.instance.node(id).is_scattered() {
            return Err(StepFault::NotScattered { node_name });
        }
        let slot = self.slots.get(&register);
        let slot = slot.ok_or(StepFault::NotAllocated { register })?;
        if !slot.filled || slot.node != id {
            return Err(StepFault::NothingToScatter {
                node_name,
                register,
            });
        }
        self.copies.scatter(id, register)?;
        self.glance();
        Ok(())
    }

    /// Removes a register from the holders of a node.
    fn forget(&mut self, node: NodeId, register: Register) {
        self.holders[node.index()].retain(|other| *other != register);
    }

    fn known(&self, node: NodeId) -> Result<(), StepFault> {
        if node.index() < self.instance.len() {
            return Ok(());
        }
        Err(StepFault::UnknownNode {
            node,
            nodes: self.instance.len(),
        })
    }

    fn allocate(&mut self, register: Register, node: NodeId) -> Result<(), StepFault> {
        self.known(node)?;
        if let Some(slot) = self.slots.get(&register) {
            return Err(StepFault::AllocatedTwice {
                register,
                node_name: self.name(slot.node),
            });
        }
        let filled = false;
        self.slots.insert(register, Slot { node, filled });
        self.bytes += self.instance.node(node).output_bytes;
        Ok(())
    }

    fn deallocate(&mut self, register: Register) -> Result<(), StepFault> {
        let slot = self
            .slots
            .remove(&register)
            .ok_or(StepFault::NotAllocated { register })?;
        if !slot.filled {
            return Err(StepFault::NeverFilled {
                register,
                node_name: self.name(slot.node),
            });
        }
        self.copies.free(register)?;
        if self.instance.node(slot.node).is_scattered() {
            // Freeing the register may wait.
            self.glance();
        }
        self.forget(slot.node, register);
        self.bytes -= self.instance.node(slot.node).output_bytes;
        Ok(())
    }

    fn compute(
        &mut self,
        id: NodeId,
        register: Register,
        implementation: u16,
    ) -> Result<(), StepFault> {
        self.known(id)?;
        let node = self.instance.node(id);
        if node.is_gathered() {
            let node_name = node.name.clone();
            return Err(StepFault::NotComputed { node_name });
        }
        let chosen = self.implementation(node, implementation)?;
        let over = self.overwritten(id, register)?;
        if let Some(missing) = chosen
            .needs
            .iter()
            .find(|need| self.holders[need.index()].is_empty())
        {
            return Err(StepFault::MissingInput {
                node_name: node.name.clone(),
                missing: *missing,
                missing_name: self.name(*missing),
            });
        }
        let run = self.run(id, over.is_some())?;
        if self.copies.any() {
            let newest = |need: &NodeId| self.holders[need.index()].last().copied();
            let overwritten = over.map(|_| register);
            let read = chosen.needs.iter().filter_map(newest).chain(overwritten);
            let idle = self.copies.idle();
            self.copies.read(read);
            if self.copies.idle() > idle {
                let bytes = self.fixed_bytes + self.bytes;
                self.copies.glance(self.statement, bytes);
            }
            if over.is_some() {
                self.copies.overwrite(register)?;
            }
        }
        for ended in self.instance.ended_by(id) {
            self.ended_by[ended.index()].get_or_insert(id);
        }
        let first = self.last_run[id.index()].replace(run).is_none();
        if first {
            self.boundary.first(id.index());
        }
        let is_newest = self.newest.is_none_or(|newest| newest < id);
        if is_newest && self.semantics.fixed_memory_follows_frontier() {
            self.newest = Some(id);
            self.fixed_bytes = node.fixed_bytes;
        }
        if over.is_some() {
            self.bytes += node.output_bytes;
        }
        let (cost, workspace) = self.charge(node, chosen, run);
        let held = (self.fixed_bytes + self.bytes) as i64;
        self.meter.cost += cost;
        self.meter.idle = self.copies.idle();
        self.copies.compute(cost);
        self.meter.computations += 1;
        let bytes = held.saturating_add(workspace).max(0) as u64;
        self.meter.sample(self.advanced, Some(id), bytes);
        if let Some(gone) = over {
            self.bytes -= self.instance.node(gone).output_bytes;
            self.forget(gone, register);
        }
        let (node, filled) = (id, true);
        self.slots.insert(register, Slot { node, filled });
        self.holders[id.index()].push(register);
        self.advanced += usize::from(first);
        Ok(())
    }

    fn implementation(
        &self,
        node: &'a Node,
        implementation: u16,
    ) -> Result<&'a Implementation, StepFault> {
        let offered = node.offered(self.semantics);
        offered
            .get(usize::from(implementation))
            .ok_or_else(|| StepFault::UnknownImplementation {
                node_name: node.name.clone(),
                implementation,
                implementations: offered.len(),
            })
    }

    /// The tensor that a computation into `register` overwrites.
    fn overwritten(&self, id: NodeId, register: Register) -> Result<Option<NodeId>, StepFault> {
        let slot = self
            .slots
            .get(&register)
            .ok_or(StepFault::NotAllocated { register })?;
        if !slot.filled && slot.node == id {
            return Ok(None);
        }
        if !slot.filled {
            return Err(StepFault::WrongRegister {
                register,
                node_name: self.name(id),
                other_name: self.name(slot.node),
            });
        }
        let node = self.instance.node(id);
        let may = self.semantics.overwrites_in_place()
            && !matches!(node.kind, NodeKind::ByProduct { .. })
            && node.in_place.as_ref().is_some_and(|p| p.on == slot.node);
        if !may {
            return Err(StepFault::CannotOverwrite {
                register,
                node_name: self.name(id),
                held_name: self.name(slot.node),
            });
        }
        Ok(Some(slot.node))
    }

    /// The mode of the next run of a node.
    fn run(&self, id: NodeId, in_place: bool) -> Result<LatestRun, StepFault> {
        let serial = self.meter.computations;
        let before = self.last_run[id.index()];
        let node = self.instance.node(id);
        if before.is_some() && !self.instance.may_recompute(id) {
            return Err(StepFault::NeverAgain {
                node_name: node.name.clone(),
            });
        }
        if let Some(end) = self.ended_by[id.index()] {
            return Err(StepFault::Ended {
                node_name: node.name.clone(),
                end_name: self.name(end),
            });
        }
        let own = LatestRun {
            serial,
            recomputed: before.is_some(),
            in_place,
        };
        let Some(parent) = node.parent() else {
            return Ok(own);
        };
        match self.last_run[parent.index()] {
            Some(its) if before.is_none_or(|mine| mine.serial < its.serial) => {
                Ok(match self.semantics.by_products_follow_parents() {
                    true => LatestRun {
                        serial,
                        recomputed: its.recomputed,
                        in_place: its.in_place && node.in_place.is_some(),
                    },
                    false => own,
                })
            }
            _ => Err(StepFault::ParentDidNotRun {
                node_name: node.name.clone(),
                parent_name: self.name(parent),
            }),
        }
    }

    /// Cost and workspace in bytes of a run.
    fn charge(&self, node: &Node, chosen: &Implementation, run: LatestRun) -> (u64, i64) {
        let cost = chosen.run_cost(run.recomputed);
        let workspace = chosen.run_workspace_bytes(run.recomputed);
        match &node.in_place {
            Some(option) if run.in_place => (
                cost.saturating_add_signed(option.cost_delta),
                option.workspace_bytes,
            ),
            _ if self.semantics.has_negative_workspaces() => (cost, workspace),
            _ => (cost, workspace.max(0)),
        }
    }

    fn finish(mut self) -> Result<Replay, ReplayError> {
        let instance = self.instance;
        for id in instance.ids() {
            let node = instance.node(id);
            let optional = self.semantics.by_products_are_optional()
                && matches!(node.kind, NodeKind::ByProduct { .. });
            if self.last_run[id.index()].is_none() && !optional && !node.is_gathered() {
                return Err(ReplayError::NeverComputed {
                    node: id,
                    node_name: node.name.clone(),
                });
            }
        }
        let mut is_read = vec![false; instance.len()];
        let ways = instance.nodes().iter().flat_map(|v| &v.implementations);
        for need in ways.flat_map(|way| &way.needs) {
            is_read[need.index()] = true;
        }
        for (register, slot) in &self.slots {
            if is_read[slot.node.index()] || !slot.filled {
                return Err(ReplayError::NeverFreed {
                    register: *register,
                    node: slot.node,
                    node_name: self.name(slot.node),
                });
            }
        }
        self.copies.settle();
        self.meter.idle = self.copies.idle();
        let transfers = self.copies.finish()?;
        let plain = Plain::of(instance, self.semantics);
        let mut replay = self.meter.finish(plain.cost(), &self.boundary);
        replay.transfers = transfers;
        for moment in &mut replay.transfers.moments {
            moment.bytes = moment.bytes.saturating_add(replay.waiting_bytes);
        }
        Ok(replay)
    }
}
