//! Moments of a plan's replay: computations, statements about copies, and waits for copies.

use super::classes::Class;
use super::document::{CopiesJson, MomentsJson};
use crate::spans::Lane;
use remat_instances::Instance;
use remat_instances::instance::NodeId;
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::simulate::{CopySpan, Replay};
use std::collections::BTreeMap;

/// Kind of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Compute,
    /// A computation waits for a copy of an input.
    Stall,
    Offload,
    Wait,
    Prefetch,
    Gather,
    Scatter,
    /// The freeing of a register waits for a scatter.
    Free,
}

/// Moments in order of time, and the history of each tensor over them.
pub struct Moments {
    pub json: MomentsJson,
    /// For each moment of [`PlanLives`](remat_instances::simulate::PlanLives): the position of its
    /// first moment here, a stall included, and of the moment itself.
    pub places: Vec<(usize, usize)>,
    /// For each statement that allocates a register: changes of the content's class, in order.
    pub changes: BTreeMap<usize, Vec<Change>>,
    /// The first moment of the backward pass.
    pub backward: usize,
}

/// A new class of a tensor from a moment on, and the node whose output it is.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub from: usize,
    pub class: Class,
    pub node: NodeId,
}

struct Walk<'a> {
    instance: &'a Instance,
    replay: &'a Replay,
    out: Moments,
    clock: u64,
    /// Computations and copy moments so far.
    runs: usize,
    seen: usize,
    /// The statement that allocated each register.
    owner: BTreeMap<Register, usize>,
    /// Contents of host buffers.
    buffers: BTreeMap<HostBuffer, (Register, NodeId)>,
    holds: BTreeMap<Register, NodeId>,
    /// Registers on their way from the host.
    arriving: BTreeMap<Register, NodeId>,
    computed: Vec<bool>,
    /// The latest moment that made each node's output, if no node has read it since.
    unread: Vec<Option<usize>>,
}

impl Moments {
    /// The moments of a plan whose replay is known.
    pub fn of(instance: &Instance, plan: &Plan, replay: &Replay) -> Self {
        let mut walk = Walk {
            instance,
            replay,
            out: Moments {
                json: MomentsJson::default(),
                places: Vec::new(),
                changes: BTreeMap::new(),
                backward: usize::MAX,
            },
            clock: 0,
            runs: 0,
            seen: 0,
            owner: BTreeMap::new(),
            buffers: BTreeMap::new(),
            holds: BTreeMap::new(),
            arriving: BTreeMap::new(),
            computed: vec![false; instance.len()],
            unread: vec![None; instance.len()],
        };
        for (at, step) in plan.steps.iter().enumerate() {
            walk.step(at, *step);
        }
        let end = walk.out.json.kind.len();
        walk.out.places.push((end, end));
        walk.out
    }

    /// The moments of computations, in their order.
    pub fn runs(&self) -> Vec<usize> {
        let is_run = |kind: &u8| *kind == Kind::Compute as u8;
        let kinds = self.json.kind.iter().enumerate();
        kinds.filter(|(_, k)| is_run(k)).map(|(at, _)| at).collect()
    }

    /// The copies of the replay.
    pub fn copies(&self, instance: &Instance, replay: &Replay) -> CopiesJson {
        let runs = self.runs();
        let mut out = CopiesJson::default();
        for span in &replay.transfers.spans {
            let lane = Lane::of_copy(span);
            let kind = match lane {
                Lane::ToHost => 0,
                Lane::FromHost => 1,
                Lane::Gather => 2,
                _ => 3,
            };
            let CopySpan { begin, end, .. } = *span;
            out.node.push(span.node.0);
            out.kind.push(kind);
            out.begin.push(begin);
            out.end.push(end);
            out.idle.push(span.idle);
            out.bytes.push(lane.bytes(instance.node(span.node)));
            let reader = runs.get(span.awaited).map_or(-1, |at| *at as i64);
            out.reader.push(reader);
        }
        out
    }
}

impl Walk<'_> {
    fn push(&mut self, kind: Kind, node: NodeId, (end, bytes): (u64, u64), way: u16) -> usize {
        let json = &mut self.out.json;
        let at = json.kind.len();
        json.kind.push(kind as u8);
        json.node.push(node.0);
        json.begin.push(self.clock);
        json.end.push(end);
        json.bytes.push(bytes);
        json.way.push(way);
        json.reader.push(-1);
        self.clock = end;
        at
    }

    /// The moment of a statement about a copy, if the replay has one; its memory is without the
    /// other micro-batches.
    fn copy(&mut self, kind: Kind, node: NodeId, at: usize) -> Option<usize> {
        let moment = self.replay.transfers.moments.get(self.seen);
        let moment = *moment.filter(|moment| moment.statement == at)?;
        self.seen += 1;
        let level = (moment.clock, moment.bytes + self.replay.waiting_bytes);
        Some(self.push(kind, node, level, 0))
    }

    /// As [`Walk::copy`], for a moment that [`PlanLives`](remat_instances::simulate::PlanLives)
    /// has as well.
    fn placed(&mut self, kind: Kind, node: NodeId, at: usize) -> usize {
        let next = self.out.json.kind.len();
        self.out.places.push((next, next));
        self.copy(kind, node, at).unwrap_or(next)
    }

    fn change(&mut self, register: Register, from: usize, class: Class, node: NodeId) {
        if let Some(owner) = self.owner.get(&register) {
            let list = self.out.changes.entry(*owner).or_default();
            list.push(Change { from, class, node });
        }
    }

    fn step(&mut self, at: usize, step: Step) {
        match step {
            Step::Allocate { register, .. } => {
                self.owner.insert(register, at);
            }
            Step::Compute {
                node,
                register,
                implementation,
            } => self.compute(at, node, register, implementation),
            Step::Deallocate { register } => {
                let node = self.holds.remove(&register);
                let scattered = node.filter(|n| self.instance.node(*n).is_scattered());
                if let Some(node) = scattered {
                    self.placed(Kind::Free, node, at);
                }
                self.owner.remove(&register);
            }
            Step::Offload { register, buffer } => {
                let node = self.holds.get(&register).copied().unwrap_or_default();
                let moment = self.placed(Kind::Offload, node, at);
                self.buffers.insert(buffer, (register, node));
                self.change(register, moment, Class::Copying, node);
            }
            Step::Wait { buffer } => {
                let Some((register, node)) = self.buffers.get(&buffer).copied() else {
                    return;
                };
                let moment = self.placed(Kind::Wait, node, at);
                if self.holds.get(&register) == Some(&node) {
                    self.change(register, moment + 1, Class::Kept, node);
                }
            }
            Step::Prefetch { buffer, register } => {
                let Some((_, node)) = self.buffers.get(&buffer).copied() else {
                    return;
                };
                self.fetch(Kind::Prefetch, node, register, at);
            }
            Step::Gather { register, node } => self.fetch(Kind::Gather, node, register, at),
            Step::Scatter { register, node } => {
                let moment = self.placed(Kind::Scatter, node, at);
                self.change(register, moment, Class::Copying, node);
            }
            Step::Release { buffer } => {
                self.buffers.remove(&buffer);
            }
        }
    }

    fn fetch(&mut self, kind: Kind, node: NodeId, register: Register, at: usize) {
        let moment = self.placed(kind, node, at);
        self.change(register, moment, Class::Copying, node);
        self.holds.insert(register, node);
        self.arriving.insert(register, node);
        self.unread[node.index()] = Some(moment);
    }

    fn compute(&mut self, at: usize, node: NodeId, register: Register, way: u16) {
        let instance = self.instance;
        let first = self.out.json.kind.len();
        self.copy(Kind::Stall, node, at);
        let own = self.out.json.kind.len();
        self.out.places.push((first, own));
        let Some(point) = self.replay.timeline.get(self.runs) else {
            return;
        };
        self.runs += 1;
        let moment = self.push(Kind::Compute, node, (point.clock, point.bytes), way);
        let known = instance.node(node);
        if known.is_backward() {
            self.out.backward = self.out.backward.min(moment);
        }
        let needs = &known.implementations[usize::from(way)].needs;
        for need in needs {
            if let Some(made) = self.unread[need.index()].take() {
                self.out.json.reader[made] = moment as i64;
            }
        }
        let arrived = self.arriving.iter().filter(|(_, n)| needs.contains(n));
        let arrived: Vec<(Register, NodeId)> = arrived.map(|(r, n)| (*r, *n)).collect();
        for (register, node) in arrived {
            self.arriving.remove(&register);
            self.change(register, moment, Class::Fetched, node);
        }
        let again = std::mem::replace(&mut self.computed[node.index()], true);
        let class = match (again, known.is_backward()) {
            (true, _) => Class::Again,
            (false, true) => Class::Gradient,
            (false, false) => Class::Kept,
        };
        self.change(register, moment, class, node);
        self.holds.insert(register, node);
        self.unread[node.index()] = Some(moment);
    }
}
