//! Work of a replayed plan over time: spans on lanes, each with its cause, and memory between them.

use remat_instances::Instance;
use remat_instances::instance::{Node, NodeId};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::simulate::{CopySpan, Replay};
use std::collections::BTreeMap;

/// A lane: spans of one lane never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// First computations.
    Computation,
    /// Further computations of a node.
    Recomputation,
    /// Computations that wait for the end of a copy, gather or scatter.
    Wait,
    /// Copies to the host.
    ToHost,
    /// Copies from the host.
    FromHost,
    /// Gathers of weights.
    Gather,
    /// Scatters of gradients.
    Scatter,
}

impl Lane {
    /// All lanes, from the top.
    pub const ALL: [Lane; 7] = [
        Lane::Computation,
        Lane::Recomputation,
        Lane::Wait,
        Lane::ToHost,
        Lane::FromHost,
        Lane::Gather,
        Lane::Scatter,
    ];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Computation => "computation",
            Lane::Recomputation => "recomputation",
            Lane::Wait => "waiting for copies",
            Lane::ToHost => "copies to the host",
            Lane::FromHost => "copies from the host",
            Lane::Gather => "gathers",
            Lane::Scatter => "scatters",
        }
    }

    /// Returns whether its spans are computations.
    pub fn computes(self) -> bool {
        matches!(self, Lane::Computation | Lane::Recomputation)
    }

    /// Bytes of a node that a span of this lane makes or moves.
    pub(crate) fn bytes(self, node: &Node) -> u64 {
        match self {
            Lane::Gather => node.gather_bytes.unwrap_or(0),
            Lane::Scatter => node.scatter_bytes.unwrap_or(0),
            _ => node.output_bytes,
        }
    }

    /// The lane of a copy, gather or scatter.
    pub(crate) fn of_copy(copy: &CopySpan) -> Self {
        match (copy.buffer, copy.to_host) {
            (Some(_), true) => Lane::ToHost,
            (Some(_), false) => Lane::FromHost,
            (None, true) => Lane::Scatter,
            (None, false) => Lane::Gather,
        }
    }
}

/// A computation, a copy, or a wait. Times are in the instance's cost unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its lane.
    pub lane: Lane,
    /// The node that is computed, copied or waited for.
    pub node: NodeId,
    /// Position of the statement in the plan.
    pub statement: usize,
    /// Index into the node's implementations; 0 for copies.
    pub implementation: u16,
    /// Begin.
    pub begin: u64,
    /// End.
    pub end: u64,
    /// Bytes of the output, or bytes that are copied.
    pub bytes: u64,
    /// Time that computations wait for the end of this copy.
    pub idle: u64,
    /// Earlier span to which this one goes back: the first computation of a recomputed node, the
    /// copy to the host of a copy back, the computation of a tensor that leaves the device.
    pub origin: Option<usize>,
    /// The first span that uses the result: a computation, or the first copy back of a copy to the
    /// host.
    pub reader: Option<usize>,
}

/// Memory from a time on, until the next level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Time, in the instance's cost unit.
    pub begin: u64,
    /// Bytes in use.
    pub bytes: u64,
}

/// A moment at which memory counts: a computation, or a statement about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Position of the statement in the plan.
    pub statement: usize,
    /// Time at its begin.
    pub begin: u64,
    /// Time at its end.
    pub end: u64,
}

/// A replayed plan over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// The spans in the order of their statements; a wait precedes its computation.
    pub list: Vec<Span>,
    /// Memory of the device, fixed memory included; the largest level is the peak of the replay.
    pub memory: Vec<Level>,
    /// Memory of the host for copies; empty without copies.
    pub host: Vec<Level>,
    /// The moments, counted as in [`PlanLives`](remat_instances::simulate::PlanLives).
    pub moments: Vec<Moment>,
    /// Times and memory of each statement.
    pub statements: Vec<StatementMemory>,
}

/// Times and memory of a statement. Times are in the instance's cost unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementMemory {
    /// Time of the computations before the statement; of a computation, its begin.
    pub begin: u64,
    /// Time of the computations after it.
    pub end: u64,
    /// Memory of the device: while the statement runs, or after an allocation or a release.
    pub memory_bytes: u64,
    /// Memory of the host after the statement.
    pub host_bytes: u64,
}

impl Spans {
    /// The spans of a plan of an instance; `replay` is its replay on that instance.
    pub fn of(instance: &Instance, plan: &Plan, replay: &Replay) -> Self {
        let mut walk = Walk::new(instance, plan, replay);
        for (at, step) in plan.steps.iter().enumerate() {
            let begin = walk.clock;
            let levels = walk.spans.memory.len();
            walk.waits(at);
            walk.step(at, *step);
            let own = &walk.spans.memory[levels..];
            let memory_bytes = own.iter().map(|level| level.bytes).max();
            let computes = matches!(step, Step::Compute { .. });
            let last = own.last().filter(|_| computes);
            walk.spans.statements.push(StatementMemory {
                begin: last.map_or(begin, |level| level.begin),
                end: walk.clock,
                memory_bytes: memory_bytes.unwrap_or(walk.resting_bytes()),
                host_bytes: walk.host_bytes(),
            });
        }
        walk.finish()
    }

    /// Spans of a lane with their positions.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = (usize, &Span)> {
        let all = self.list.iter().enumerate();
        all.filter(move |(_, span)| span.lane == lane)
    }

    /// Pairs of spans of which the second needs the first: a recomputation or copy back and the
    /// first computation or copy to the host, and each of those and its first reader.
    pub fn arrows(&self) -> Vec<(usize, usize)> {
        let mut arrows = Vec::new();
        for (k, span) in self.list.iter().enumerate() {
            if matches!(span.lane, Lane::Computation | Lane::Wait) {
                continue;
            }
            arrows.extend(span.origin.map(|origin| (origin, k)));
            // The copy back has this arrow as its origin.
            if span.lane != Lane::ToHost {
                arrows.extend(span.reader.map(|reader| (k, reader)));
            }
        }
        arrows
    }
}

/// State of a walk through the statements.
struct Walk<'a> {
    instance: &'a Instance,
    plan: &'a Plan,
    replay: &'a Replay,
    spans: Spans,
    clock: u64,
    runs: usize,
    copies: usize,
    glances: usize,
    /// Newest span of each register, and the node in it.
    holds: BTreeMap<Register, (NodeId, usize)>,
    /// Registers that hold each node's output, the newest last.
    holders: Vec<Vec<Register>>,
    /// First computation, or first gather, of each node.
    first: Vec<Option<usize>>,
    buffers: BTreeMap<HostBuffer, (u64, usize)>,
    open: BTreeMap<Register, u64>,
    newest: Option<NodeId>,
}

impl<'a> Walk<'a> {
    fn new(instance: &'a Instance, plan: &'a Plan, replay: &'a Replay) -> Self {
        Walk {
            instance,
            plan,
            replay,
            spans: Spans::default(),
            clock: 0,
            runs: 0,
            copies: 0,
            glances: 0,
            holds: BTreeMap::new(),
            holders: vec![Vec::new(); instance.len()],
            first: vec![None; instance.len()],
            buffers: BTreeMap::new(),
            open: BTreeMap::new(),
            newest: None,
        }
    }

    /// Memory at a statement about a copy, and while computations wait at a statement.
    fn waits(&mut self, at: usize) {
        let moments = &self.replay.transfers.moments;
        while let Some(moment) = moments.get(self.glances)
            && moment.statement == at
        {
            self.glances += 1;
            self.level(moment.bytes);
            let computes = matches!(self.plan.steps[at], Step::Compute { .. });
            if moment.clock > self.clock {
                self.wait(at, moment.clock);
            }
            if !computes {
                self.moment(at, self.clock, moment.clock);
            }
            self.clock = moment.clock;
        }
    }

    fn level(&mut self, bytes: u64) {
        let begin = self.clock;
        self.spans.memory.push(Level { begin, bytes });
    }

    fn moment(&mut self, statement: usize, begin: u64, end: u64) {
        self.spans.moments.push(Moment {
            statement,
            begin,
            end,
        });
    }

    /// A wait until a time, for the copy that ends then.
    fn wait(&mut self, statement: usize, until: u64) {
        let copies = self.spans.list.iter().enumerate();
        let mut awaited = copies.filter(|(_, span)| span.idle > 0 && span.end == until);
        let Some((copy, span)) = awaited.next_back() else {
            return;
        };
        let wait = Span {
            lane: Lane::Wait,
            statement,
            begin: self.clock,
            end: until,
            idle: 0,
            origin: Some(copy),
            reader: None,
            ..*span
        };
        self.spans.list.push(wait);
    }

    fn step(&mut self, at: usize, step: Step) {
        match step {
            Step::Allocate { register, node } => {
                let bytes = self.instance.node(node).output_bytes;
                self.open.insert(register, bytes);
            }
            Step::Compute {
                node,
                register,
                implementation,
            } => self.compute(at, node, register, implementation),
            Step::Deallocate { register } => {
                self.open.remove(&register);
                if let Some((node, _)) = self.holds.remove(&register) {
                    self.holders[node.index()].retain(|other| *other != register);
                }
            }
            Step::Offload { register, buffer } => {
                let from = self.holds.get(&register).map(|(_, span)| *span);
                if let Some(span) = self.copy(at, from) {
                    let bytes = self.spans.list[span].bytes;
                    self.buffers.insert(buffer, (bytes, span));
                    self.host();
                }
            }
            Step::Wait { .. } => {}
            Step::Prefetch { buffer, register } => {
                let from = self.buffers.get(&buffer).map(|(_, span)| *span);
                if let Some(span) = self.copy(at, from) {
                    from.map(|from| self.spans.list[from].reader.get_or_insert(span));
                    self.fill(register, self.spans.list[span].node, span);
                }
            }
            Step::Release { buffer } => {
                self.buffers.remove(&buffer);
                self.host();
            }
            Step::Gather { register, node } => {
                let first = self.first[node.index()];
                if let Some(span) = self.copy(at, first) {
                    self.first[node.index()].get_or_insert(span);
                    self.fill(register, node, span);
                }
            }
            Step::Scatter { register, .. } => {
                let from = self.holds.get(&register).map(|(_, span)| *span);
                self.copy(at, from);
            }
        }
    }

    fn host_bytes(&self) -> u64 {
        self.buffers.values().map(|(bytes, _)| bytes).sum()
    }

    /// Memory between two statements: fixed memory, registers, and waiting micro-batches.
    fn resting_bytes(&self) -> u64 {
        let follows = self.plan.semantics.fixed_memory_follows_frontier();
        let fixed = match (follows, self.newest) {
            (false, _) => self.instance.static_bytes(),
            (true, newest) => newest.map_or(0, |newest| self.instance.node(newest).fixed_bytes),
        };
        fixed + self.open.values().sum::<u64>() + self.replay.waiting_bytes
    }

    fn host(&mut self) {
        let bytes = self.host_bytes();
        let begin = self.clock;
        self.spans.host.push(Level { begin, bytes });
    }

    fn fill(&mut self, register: Register, node: NodeId, span: usize) {
        if let Some((gone, _)) = self.holds.insert(register, (node, span)) {
            self.holders[gone.index()].retain(|other| *other != register);
        }
        self.holders[node.index()].push(register);
    }

    /// The next copy, gather or scatter.
    fn copy(&mut self, statement: usize, origin: Option<usize>) -> Option<usize> {
        let copy = self.replay.transfers.spans.get(self.copies)?;
        self.copies += 1;
        let node = self.instance.node(copy.node);
        let lane = Lane::of_copy(copy);
        let bytes = lane.bytes(node);
        self.spans.list.push(Span {
            lane,
            node: copy.node,
            statement,
            implementation: 0,
            begin: copy.begin,
            end: copy.end,
            bytes,
            idle: copy.idle,
            origin,
            reader: None,
        });
        Some(self.spans.list.len() - 1)
    }

    fn compute(&mut self, statement: usize, id: NodeId, register: Register, implementation: u16) {
        let Some(point) = self.replay.timeline.get(self.runs) else {
            return;
        };
        let before = self.runs.checked_sub(1);
        let before = before.map_or(0, |before| self.replay.timeline[before].cost);
        self.runs += 1;
        let own = self.spans.list.len();
        let node = self.instance.node(id);
        let needs = &node.implementations[usize::from(implementation)].needs;
        let newest = |need: &NodeId| self.holders[need.index()].last();
        let overwritten = self.holds.contains_key(&register).then_some(&register);
        let read: Vec<Register> = needs
            .iter()
            .filter_map(newest)
            .chain(overwritten)
            .copied()
            .collect();
        for register in read {
            if let Some((_, span)) = self.holds.get(&register) {
                self.spans.list[*span].reader.get_or_insert(own);
            }
        }
        let origin = self.first[id.index()];
        self.first[id.index()].get_or_insert(own);
        self.newest = self.newest.max(Some(id));
        let begin = point.clock - (point.cost - before);
        self.clock = begin;
        self.level(point.bytes);
        self.moment(statement, begin, point.clock);
        self.clock = point.clock;
        self.spans.list.push(Span {
            lane: match origin {
                None => Lane::Computation,
                Some(_) => Lane::Recomputation,
            },
            node: id,
            statement,
            implementation,
            begin,
            end: point.clock,
            bytes: node.output_bytes,
            idle: 0,
            origin,
            reader: None,
        });
        self.open.insert(register, node.output_bytes);
        self.fill(register, id, own);
    }

    /// Adds the memory after the step: fixed memory, results, and waiting micro-batches.
    fn finish(mut self) -> Spans {
        if self.replay.makespan > self.clock {
            self.wait(
                self.plan.steps.len().saturating_sub(1),
                self.replay.makespan,
            );
        }
        self.clock = self.replay.makespan;
        self.level(self.resting_bytes());
        if !self.spans.host.is_empty() {
            self.host();
        }
        self.spans
    }
}
