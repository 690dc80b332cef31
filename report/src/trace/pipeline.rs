//! Traces of pipelines.

use super::events::{Events, Slice, Track};
use crate::clock::Clock;
use crate::draw::pipeline::PipelinePicture;
use remat_instances::pipeline::timeline::{TimedPass, device_memory};
use serde_json::json;
use std::collections::BTreeMap;

/// The one process: viewers open a single process, and close several.
const PIPELINE: usize = 1;
/// Threads of a device: its passes, its sends forward, and its sends back.
const PASSES: usize = 1;
const FORWARD: usize = 2;
const BACK: usize = 3;
const THREADS: usize = 3;

/// The lane of a thread of a device.
fn track(device: usize, thread: usize) -> Track {
    Track {
        process: PIPELINE,
        thread: THREADS * device + thread,
    }
}

/// A pass or a send with its arrows.
struct Drawn {
    slice: Slice,
    ends: Vec<usize>,
    begins: Vec<usize>,
}

/// The trace of a pipeline: lanes for each device with its passes, the recomputations inside them,
/// and its sends; a counter of its memory; arrows follow each micro-batch from stage to stage.
pub fn of_pipeline(picture: &PipelinePicture<'_>) -> String {
    let replay = picture.replay;
    let clock = Clock::of(picture.unit, replay.timeline.makespan);
    let facts = [
        ("graph", json!(picture.title)),
        ("schedule", json!(picture.schedule.kind().to_string())),
        ("microbatches", json!(picture.schedule.microbatches())),
        ("cost", json!(replay.timeline.makespan)),
        ("cost_unit", json!(picture.unit.name)),
        ("peak_memory_bytes", json!(replay.peaks)),
    ];
    let mut events = Events::new(clock, &facts);
    let words = events.clock().words();
    let sends = Sends::of(picture);
    events.process(PIPELINE, &picture.title, &words);
    for device in 0..picture.schedule.devices() {
        events.lane(track(device, PASSES), &format!("device {device}"));
        for (thread, name) in [(FORWARD, "sends to the next stage"), (BACK, "sends back")] {
            let lane = track(device, thread);
            if sends.list.iter().any(|drawn| drawn.slice.track == lane) {
                events.lane(lane, &format!("device {device} {name}"));
            }
        }
    }
    let mut arrows = sends.arrows;
    for (device, passes) in replay.timeline.devices.iter().enumerate() {
        for pass in passes {
            let drawn = drawn(picture, device, pass, &mut arrows);
            write(&mut events, &drawn);
            let again = recomputed(picture, pass);
            if again > 0 {
                events.slice(&Slice {
                    track: drawn.slice.track,
                    name: "recomputation".into(),
                    category: "recomputation",
                    begin: pass.end - again,
                    end: pass.end,
                    args: json!({"cost": again}),
                });
            }
        }
        memory(&mut events, picture, device);
    }
    for drawn in &sends.list {
        write(&mut events, drawn);
    }
    events.finish()
}

fn write(events: &mut Events, drawn: &Drawn) {
    events.slice(&drawn.slice);
    let named = |list: &[usize]| -> Vec<(usize, &str)> {
        list.iter().map(|id| (*id, "micro-batch")).collect()
    };
    events.arrows(&drawn.slice, &named(&drawn.ends), &named(&drawn.begins));
}

/// Time of the recomputations in a pass, shown at its end.
fn recomputed(picture: &PipelinePicture<'_>, pass: &TimedPass) -> u64 {
    let length = (pass.end - pass.start) as f64;
    (picture.recomputed_share(pass) * length).round() as u64
}

fn drawn(
    picture: &PipelinePicture<'_>,
    device: usize,
    pass: &TimedPass,
    arrows: &mut Arrows,
) -> Drawn {
    let own = pass.pass;
    let way = match own.backward {
        true => "backward",
        false => "forward",
    };
    let key = (own.backward, own.stage, own.microbatch);
    Drawn {
        slice: Slice {
            track: track(device, PASSES),
            name: format!("{way} {}", own.microbatch),
            category: way,
            begin: pass.start,
            end: pass.end,
            args: json!({
                "stage": own.stage,
                "microbatch": own.microbatch,
                "cost": pass.end - pass.start,
                "recomputed": recomputed(picture, pass),
                "saved_bytes": picture.replay.profiles[own.stage].saved_bytes,
            }),
        },
        ends: arrows.into.remove(&key).unwrap_or_default(),
        begins: arrows.from.remove(&key).unwrap_or_default(),
    }
}

/// Numbers of the arrows that end and begin at each pass: direction, stage and micro-batch.
#[derive(Default)]
struct Arrows {
    into: BTreeMap<(bool, usize, u32), Vec<usize>>,
    from: BTreeMap<(bool, usize, u32), Vec<usize>>,
}

/// Sends between stages: the lane of a cut sends one micro-batch after the other.
struct Sends {
    list: Vec<Drawn>,
    arrows: Arrows,
}

impl Sends {
    fn of(picture: &PipelinePicture<'_>) -> Self {
        let mut sends = Sends {
            list: Vec::new(),
            arrows: Arrows::default(),
        };
        let mut free: BTreeMap<(bool, usize), u64> = BTreeMap::new();
        let mut next = 0;
        for pass in picture.replay.timeline.devices.iter().flatten() {
            let (stage, back) = (pass.pass.stage, pass.pass.backward);
            let target = match back {
                true => stage.checked_sub(1),
                false => Some(stage + 1).filter(|to| *to < picture.schedule.stages()),
            };
            let Some(target) = target else { continue };
            let times = &picture.replay.sends[stage.min(target)];
            let time = if back { times.backward } else { times.forward };
            let key = |stage| (back, stage, pass.pass.microbatch);
            let mut arrow = |from: &mut Vec<usize>, into: &mut Vec<usize>| {
                from.push(next);
                into.push(next);
                next += 1;
            };
            let from = sends.arrows.from.entry(key(stage)).or_default();
            let into = sends.arrows.into.entry(key(target)).or_default();
            if time == 0 {
                arrow(from, into);
                continue;
            }
            let lane = free.entry((back, stage)).or_insert(0);
            let begin = pass.end.max(*lane);
            *lane = begin + time;
            let (mut ends, mut begins) = (Vec::new(), Vec::new());
            arrow(from, &mut ends);
            arrow(&mut begins, into);
            let thread = if back { BACK } else { FORWARD };
            sends.list.push(Drawn {
                slice: Slice {
                    track: track(picture.schedule.device_of(stage), thread),
                    name: format!("send {}", pass.pass.microbatch),
                    category: "send",
                    begin,
                    end: *lane,
                    args: json!({
                        "stage": stage,
                        "to_stage": target,
                        "microbatch": pass.pass.microbatch,
                        "cost": time,
                    }),
                },
                ends,
                begins,
            });
        }
        sends
    }
}

/// Memory of a device: in all, and of micro-batches that wait.
fn memory(events: &mut Events, picture: &PipelinePicture<'_>, device: usize) {
    let replay = picture.replay;
    let fixed = picture.fixed_bytes[device];
    let spans = device_memory(&replay.timeline, device, &replay.profiles);
    let all = format!("device {device} memory");
    let waiting = format!("device {device} waiting micro-batches");
    for span in &spans {
        events.counter(PIPELINE, &all, span.start, fixed + span.bytes());
        events.counter(PIPELINE, &waiting, span.start, span.waiting_bytes);
    }
    let end = replay.timeline.makespan;
    events.counter(PIPELINE, &all, end, fixed);
    events.counter(PIPELINE, &waiting, end, 0);
}
