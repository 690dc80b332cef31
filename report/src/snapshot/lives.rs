//! Snapshots of orders, memory plans and tables of lives.

use super::first_fit::first_fit;
use super::{Block, DeviceMemory, Frame, Snapshot};
use crate::clock::Clock;
use remat_instances::order::{LifeOf, OrderGraph, OrderReplay};
use remat_instances::place::{Lives, Placement};

/// The snapshot of an order: every tensor and workspace is a block, and so is resident memory. A
/// step takes a microsecond.
///
/// `placement` has the addresses of the replay's lives; without it, each takes the lowest free
/// address with enough room when it begins.
pub fn of_order(
    graph: &OrderGraph,
    replay: &OrderReplay,
    placement: Option<&Placement>,
) -> Vec<u8> {
    let resident = graph.base_bytes();
    let lives: Vec<_> = replay
        .lives
        .iter()
        .map(|l| (l.begin, l.end, l.bytes))
        .collect();
    let offsets = offsets(&lives, placement);
    let last = replay.steps.len();
    let mut blocks = Vec::with_capacity(lives.len() + 1);
    if resident > 0 {
        blocks.push(Block {
            begin: 0,
            end: None,
            offset: 0,
            bytes: resident,
            category: "resident memory",
            frames: vec![Frame::new("resident memory", graph.name(), 0)],
        });
    }
    for (life, offset) in replay.lives.iter().zip(offsets) {
        let step = replay.steps[life.begin].operator;
        let operator = &graph.operators()[step.index()];
        let kind = match operator.kind.is_empty() {
            true => "operator".into(),
            false => operator.kind.to_string(),
        };
        let (category, stays, top) = match life.of {
            LifeOf::Workspace(_) => ("workspace", false, format!("workspace of {kind}")),
            LifeOf::Storage(tensor) => {
                let tensor = &graph.tensors()[tensor.index()];
                let stays = tensor.result && life.end == last;
                let name = match tensor.name.is_empty() {
                    true => kind,
                    false => format!("{kind}: {}", tensor.name),
                };
                ("tensors", stays, name)
            }
        };
        blocks.push(Block {
            begin: life.begin,
            end: (!stays).then_some(life.end),
            offset: resident + offset,
            bytes: life.bytes,
            category,
            frames: vec![
                Frame::new(top, operator.name.to_string(), life.begin),
                Frame::new("order", graph.name(), 0),
            ],
        });
    }
    let settings = vec![
        ("graph", graph.name().to_string()),
        ("addresses", rule(placement)),
        ("peak_memory_bytes", replay.peak_bytes.to_string()),
        ("time", Clock::of_steps().words()),
    ];
    one_device(blocks, 0..=last as u64, settings)
}

/// The snapshot of a table of lives: every buffer is a block, a moment takes a microsecond. Gaps
/// release what they leave free.
///
/// `placement` has the addresses of the buffers; without it, each takes the lowest free address
/// with enough room when it begins.
pub fn of_lives(name: &str, lives: &Lives, placement: Option<&Placement>) -> Vec<u8> {
    let spans: Vec<_> = lives
        .buffers()
        .iter()
        .map(|b| (b.lower as usize, b.upper as usize, b.size))
        .collect();
    let offsets = offsets(&spans, placement);
    // Events are sorted by moments, which may be far apart.
    let pieces = lives.buffers().iter().flat_map(|buffer| buffer.pieces());
    let mut moments: Vec<u64> = pieces
        .flat_map(|piece| [piece.lower, piece.upper])
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let index = |moment: u64| moments.partition_point(|other| *other < moment);
    let mut blocks = Vec::new();
    for (buffer, offset) in lives.buffers().iter().zip(offsets) {
        for piece in buffer.pieces() {
            blocks.push(Block {
                begin: index(piece.lower),
                end: Some(index(piece.upper)),
                offset: offset + piece.start,
                bytes: piece.end - piece.start,
                category: "buffers",
                frames: vec![
                    Frame::new("buffer", buffer.id.to_string(), 0),
                    Frame::new("lives", name, 0),
                ],
            });
        }
    }
    let settings = vec![
        ("graph", name.to_string()),
        ("addresses", rule(placement)),
        ("peak_memory_bytes", lives.load().bytes.to_string()),
        ("time", "1 us stands for 1 moment".into()),
    ];
    one_device(blocks, moments, settings)
}

fn offsets(lives: &[(usize, usize, u64)], placement: Option<&Placement>) -> Vec<u64> {
    placement.map_or_else(|| first_fit(lives), |placed| placed.offsets().to_vec())
}

fn rule(placement: Option<&Placement>) -> String {
    match placement {
        Some(_) => "of the plan".into(),
        None => "first fit, in order of time".into(),
    }
}

fn one_device(
    blocks: Vec<Block>,
    times: impl IntoIterator<Item = u64>,
    settings: Vec<(&'static str, String)>,
) -> Vec<u8> {
    let times = times.into_iter().collect();
    let devices = vec![DeviceMemory { blocks, times }];
    Snapshot { devices, settings }.write()
}
