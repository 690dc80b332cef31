//! Snapshots of pipelines.

use super::first_fit::first_fit;
use super::{Block, DeviceMemory, Frame, Snapshot};
use crate::clock::Clock;
use crate::draw::pipeline::PipelinePicture;
use remat_instances::pipeline::timeline::device_memory;
use std::collections::BTreeMap;

/// The snapshot of a pipeline: for each device its fixed memory, the largest memory of the pass that
/// runs, and the saved bytes of each micro-batch that waits between its passes. Blocks take the
/// lowest free address with enough room.
pub fn of_pipeline(picture: &PipelinePicture<'_>) -> Vec<u8> {
    let clock = Clock::of(picture.unit, picture.replay.timeline.makespan);
    let count = picture.schedule.devices();
    let peak = picture.replay.peaks.iter().max().copied().unwrap_or(0);
    let settings = vec![
        ("graph", picture.title.clone()),
        ("addresses", "first fit, in order of time".into()),
        ("peak_memory_bytes", peak.to_string()),
        ("time", clock.words()),
    ];
    Snapshot {
        devices: (0..count)
            .map(|device| memory(picture, device, &clock))
            .collect(),
        settings,
    }
    .write()
}

fn memory(picture: &PipelinePicture<'_>, device: usize, clock: &Clock) -> DeviceMemory {
    let replay = picture.replay;
    let spans = device_memory(&replay.timeline, device, &replay.profiles);
    let last = spans.len();
    // Begin, end and bytes of each block, its category and its names.
    let mut lives = vec![(0, last, picture.fixed_bytes[device])];
    let mut words = vec![("fixed memory", String::from("fixed memory"))];
    let mut waiting: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for (moment, span) in spans.iter().enumerate() {
        let Some(pass) = span.pass else { continue };
        let key = (pass.stage, pass.microbatch);
        let (way, category) = match pass.backward {
            true => ("backward", "backward passes"),
            false => ("forward", "forward passes"),
        };
        let name = |what: &str| {
            format!(
                "{what}, micro-batch {}, stage {}",
                pass.microbatch, pass.stage
            )
        };
        if let Some(saved) = waiting.remove(&key) {
            lives[saved].1 = moment;
        }
        lives.push((moment, moment + 1, span.running_bytes));
        words.push((category, name(way)));
        if !pass.backward {
            waiting.insert(key, lives.len());
            lives.push((moment + 1, last, replay.profiles[pass.stage].saved_bytes));
            words.push(("waiting micro-batches", name("saved for backward")));
        }
    }
    let offsets = first_fit(&lives);
    let stays = |k: usize| k == 0;
    let blocks = lives.iter().zip(words).zip(offsets).enumerate();
    let block =
        |(k, ((life, (category, name)), offset)): (usize, ((&(usize, usize, u64), _), u64))| {
            let &(begin, end, bytes) = life;
            let name: String = name;
            Block {
                begin,
                end: (!stays(k)).then_some(end),
                offset,
                bytes,
                category,
                frames: vec![
                    Frame::new(name, format!("device {device}"), 0),
                    Frame::new(
                        picture.schedule.kind().to_string(),
                        picture.title.clone(),
                        0,
                    ),
                ],
            }
        };
    // The last stage runs a backward pass right behind its forward pass: no micro-batch waits.
    let lasts = |block: &Block| block.end.is_none_or(|end| end > block.begin);
    let blocks = blocks
        .map(block)
        .filter(|block| block.bytes > 0 && lasts(block));
    let blocks = blocks.collect();
    let times = spans.iter().map(|span| span.start);
    let times = times.chain([replay.timeline.makespan]);
    DeviceMemory {
        blocks,
        times: times.map(|time| clock.microseconds(time)).collect(),
    }
}
