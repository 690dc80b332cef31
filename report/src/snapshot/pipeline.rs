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
    let block = |begin, end, bytes, category, name: String| Block {
        begin,
        end,
        offset: 0,
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
    };
    let fixed = picture.fixed_bytes[device];
    let mut blocks = vec![block(0, None, fixed, "fixed memory", "fixed memory".into())];
    let mut waiting: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for (moment, span) in spans.iter().enumerate() {
        let Some(pass) = span.pass else { continue };
        let (stage, microbatch) = (pass.stage, pass.microbatch);
        let name = |what: &str| format!("{what}, micro-batch {microbatch}, stage {stage}");
        let (way, category) = match pass.backward {
            true => ("backward", "backward passes"),
            false => ("forward", "forward passes"),
        };
        if let Some(saved) = waiting.remove(&(stage, microbatch)) {
            blocks[saved].end = Some(moment);
        }
        let end = Some(moment + 1);
        blocks.push(block(moment, end, span.running_bytes, category, name(way)));
        if !pass.backward {
            waiting.insert((stage, microbatch), blocks.len());
            let bytes = replay.profiles[stage].saved_bytes;
            let name = name("saved for backward");
            let category = "waiting micro-batches";
            blocks.push(block(moment + 1, Some(last), bytes, category, name));
        }
    }
    // The last stage runs a backward pass right behind its forward pass: no micro-batch waits.
    let lasts = |block: &Block| block.end.is_none_or(|end| end > block.begin);
    blocks.retain(|block| block.bytes > 0 && lasts(block));
    let lives = blocks
        .iter()
        .map(|b| (b.begin, b.end.unwrap_or(last), b.bytes));
    let offsets = first_fit(&lives.collect::<Vec<_>>());
    for (block, offset) in blocks.iter_mut().zip(offsets) {
        block.offset = offset;
    }
    let times = spans.iter().map(|span| span.start);
    let times = times.chain([replay.timeline.makespan]);
    DeviceMemory {
        blocks,
        times: times.map(|time| clock.microseconds(time)).collect(),
    }
}
