//! Snapshots of plans of a training step.

use super::first_fit::first_fit;
use super::{Block, DeviceMemory, Frame, Snapshot};
use crate::clock::Clock;
use crate::pieces::{Class, Piece, Pieces};
use crate::spans::{Lane, Spans};
use remat_instances::Instance;
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, PlanAddresses};
use remat_instances::simulate::{Replay, ReplayError};
use std::collections::BTreeMap;

/// The snapshot of a plan: every tensor, workspace and part of fixed memory is a block. Device 0 is
/// the device; device 1 is the memory of the host, if the plan copies to it.
///
/// `addresses` are those of the plan; without them, each piece of memory takes the lowest free
/// address with enough room when it begins.
///
/// # Errors
/// The [`ReplayError`] of a plan that cannot be executed.
pub fn of_plan(
    instance: &Instance,
    plan: &Plan,
    replay: &Replay,
    addresses: Option<&PlanAddresses>,
) -> Result<Vec<u8>, ReplayError> {
    let spans = Spans::of(instance, plan, replay);
    let pieces = Pieces::of(instance, plan, replay, &spans, addresses)?;
    let clock = Clock::of(instance.cost_unit(), replay.makespan);
    let of = Stacks {
        instance,
        spans: &spans,
        by_statement: (spans.list.iter().enumerate())
            .filter(|(_, span)| span.lane != Lane::Wait)
            .map(|(k, span)| (span.statement, k))
            .collect(),
    };
    let moments = spans.moments.iter().map(|moment| moment.begin);
    let times = moments.chain([replay.makespan]);
    let offsets = match &pieces.offsets {
        Some(offsets) => offsets.clone(),
        None => first_fit(&pieces.lives),
    };
    let block = |piece: &Piece| Block {
        begin: piece.begin,
        end: (!piece.stays).then_some(piece.end),
        offset: offsets[piece.life] + piece.within,
        bytes: piece.bytes,
        category: piece.class.name(),
        frames: of.frames(piece),
    };
    let mut devices = vec![DeviceMemory {
        blocks: pieces.list.iter().map(block).collect(),
        times: times.map(|time| clock.microseconds(time)).collect(),
    }];
    devices.extend(of.host(plan, &clock));
    let addresses = match addresses {
        Some(_) => "of the plan",
        None => "first fit, in the order of the plan",
    };
    let mut settings = vec![
        ("graph", instance.name().to_string()),
        ("addresses", addresses.into()),
        ("peak_memory_bytes", replay.peak_bytes.to_string()),
        ("time", clock.words()),
    ];
    if devices.len() > 1 {
        settings.push(("device_1", "host memory".into()));
    }
    Ok(Snapshot { devices, settings }.write())
}

/// Stacks of allocations.
struct Stacks<'a> {
    instance: &'a Instance,
    spans: &'a Spans,
    /// The span of each statement that has one.
    by_statement: BTreeMap<usize, usize>,
}

impl Stacks<'_> {
    fn frames(&self, piece: &Piece) -> Vec<Frame> {
        let graph = self.instance.name().to_string();
        let Some(id) = piece.node else {
            let name = piece.part.as_deref().unwrap_or(piece.class.name());
            return vec![
                Frame::new(piece.class.name(), name, piece.statement),
                Frame::new("step", graph, 0),
            ];
        };
        let mut frames = Vec::new();
        match piece.class {
            Class::Workspace => {
                let name = format!("workspace of {}", self.operator(id));
                frames.push(Frame::new(name, self.name(id), piece.statement));
            }
            Class::Fixed => {
                let name = format!("fixed memory from {}", self.operator(id));
                frames.push(Frame::new(name, self.name(id), piece.statement));
            }
            _ => frames.push(Frame::new(
                self.operator(id),
                self.name(id),
                piece.statement,
            )),
        }
        self.cause(piece, &mut frames);
        self.around(id, &mut frames);
        frames
    }

    /// The reader for which a tensor came back.
    fn cause(&self, piece: &Piece, frames: &mut Vec<Frame>) {
        let verb = match piece.class {
            Class::Recomputed => "recomputed for",
            Class::Returned => "copied back for",
            Class::Gathered => "gathered for",
            _ => return,
        };
        let span = self.by_statement.get(&piece.statement);
        let span = span.map(|span| &self.spans.list[*span]);
        if let Some(reader) = span.and_then(|span| span.reader) {
            let reader = &self.spans.list[reader];
            let name = format!("{verb} {}", self.operator(reader.node));
            frames.push(Frame::new(name, self.name(reader.node), reader.statement));
        }
    }

    /// Modules around a node, its pass, and the graph.
    fn around(&self, id: NodeId, frames: &mut Vec<Frame>) {
        let node = self.instance.node(id);
        let mut module: &str = &node.module;
        while !module.is_empty() {
            frames.push(Frame::new("module", module, 0));
            module = module.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        let pass = match node.is_backward() {
            true => "backward",
            false => "forward",
        };
        frames.push(Frame::new(pass, self.instance.name().to_string(), 0));
    }

    fn name(&self, id: NodeId) -> String {
        self.instance.node(id).name.to_string()
    }

    fn operator(&self, id: NodeId) -> String {
        match &self.instance.node(id).op {
            op if op.is_empty() => "node".into(),
            op => op.to_string(),
        }
    }

    /// Memory of the host: a block for each tensor that is copied there.
    fn host(&self, plan: &Plan, clock: &Clock) -> Option<DeviceMemory> {
        use remat_instances::plan::Step;
        let mut blocks: Vec<Block> = Vec::new();
        let mut lives: Vec<(usize, usize, u64)> = Vec::new();
        let mut open = BTreeMap::new();
        for (at, step) in plan.steps.iter().enumerate() {
            match *step {
                Step::Offload { buffer, .. } => {
                    let span = &self.spans.list[*self.by_statement.get(&at)?];
                    let mut frames = vec![Frame::new("copy to the host", self.name(span.node), at)];
                    self.around(span.node, &mut frames);
                    open.insert(buffer, blocks.len());
                    lives.push((at, plan.steps.len(), span.bytes));
                    blocks.push(Block {
                        begin: at,
                        end: None,
                        offset: 0,
                        bytes: span.bytes,
                        category: "copied to the host",
                        frames,
                    });
                }
                Step::Release { buffer } => {
                    if let Some(k) = open.remove(&buffer) {
                        (blocks[k].end, lives[k].1) = (Some(at), at);
                    }
                }
                _ => {}
            }
        }
        let offsets = first_fit(&lives);
        for (block, offset) in blocks.iter_mut().zip(offsets) {
            block.offset = offset;
        }
        let times = self.spans.statements.iter().map(|statement| statement.end);
        let times = times.map(|time| clock.microseconds(time)).collect();
        (!blocks.is_empty()).then_some(DeviceMemory { blocks, times })
    }
}
