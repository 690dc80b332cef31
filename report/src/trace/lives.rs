//! Traces of orders, memory plans and tables of lives.

use super::events::{Events, Slice, Track};
use crate::clock::Clock;
use remat_instances::order::{LifeOf, OrderGraph, OrderReplay};
use remat_instances::place::{Lives, Placement};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// The one process: viewers open a single process, and close several.
const STEP: usize = 1;
/// Thread of the operators; lanes of lives follow.
const OPERATORS: usize = 1;
/// Most lanes of lives, so that the memory below them is near; the largest lives take them.
const LANES: usize = 32;

/// A life to draw: begin, end, bytes, name and address.
struct Life {
    begin: u64,
    end: u64,
    bytes: u64,
    name: String,
    offset: Option<u64>,
}

/// The trace of an order: a slice of a microsecond for each operator, memory step by step, and the
/// lives of the largest tensors, with their addresses if there are any.
pub fn of_order(graph: &OrderGraph, replay: &OrderReplay, placement: Option<&Placement>) -> String {
    let facts = [
        ("graph", json!(graph.name())),
        ("peak_memory_bytes", json!(replay.peak_bytes)),
        ("peak_step", json!(replay.peak_step)),
    ];
    let mut events = Events::new(Clock::of_steps(), &facts);
    let words = events.clock().words();
    events.process(STEP, &format!("order of {}", graph.name()), &words);
    let track = Track {
        process: STEP,
        thread: OPERATORS,
    };
    events.lane(track, "operators");
    for (k, step) in replay.steps.iter().enumerate() {
        let operator = &graph.operators()[step.operator.index()];
        let name = match operator.name.is_empty() {
            true => operator.kind.to_string(),
            false => operator.name.to_string(),
        };
        let time = k as u64;
        events.slice(&Slice {
            track,
            name,
            category: "operator",
            begin: time,
            end: time + 1,
            args: json!({
                "step": k,
                "operator": operator.kind,
                "workspace_bytes": operator.workspace_bytes,
                "memory_bytes": step.during_bytes,
            }),
        });
        events.counter(STEP, "memory", time, step.during_bytes);
    }
    if let Some(last) = replay.steps.last() {
        events.counter(STEP, "memory", replay.steps.len() as u64, last.after_bytes);
    }
    let offsets = placement.map(Placement::offsets);
    let life = |(k, life): (usize, &remat_instances::order::Life)| {
        let name = match life.of {
            LifeOf::Workspace(operator) => {
                format!("workspace of {}", graph.operators()[operator.index()].name)
            }
            LifeOf::Storage(tensor) => {
                let own = &graph.tensors()[tensor.index()].name;
                let maker = replay.steps[life.begin].operator;
                match own.is_empty() {
                    true => graph.operators()[maker.index()].name.to_string(),
                    false => own.to_string(),
                }
            }
        };
        Life {
            begin: life.begin as u64,
            end: life.end as u64,
            bytes: life.bytes,
            name,
            offset: offsets.map(|list| list[k]),
        }
    };
    lanes(
        &mut events,
        replay.lives.iter().enumerate().map(life).collect(),
    );
    events.finish()
}

/// The trace of a table of lives: a microsecond for each moment, memory over time, and the lives,
/// with their addresses if there are any.
pub fn of_lives(name: &str, lives: &Lives, placement: Option<&Placement>) -> String {
    let load = lives.load();
    let facts = [
        ("graph", json!(name)),
        ("peak_memory_bytes", json!(load.bytes)),
    ];
    let mut events = Events::new(Clock::of_steps(), &facts);
    events.process(STEP, name, "1 us stands for 1 moment");
    for (time, bytes) in lives.profile() {
        events.counter(STEP, "memory", time, bytes);
    }
    let life = |(k, buffer): (usize, &remat_instances::place::Buffer)| Life {
        begin: buffer.lower,
        end: buffer.upper,
        bytes: buffer.size,
        name: buffer.id.to_string(),
        offset: placement.map(|placed| placed.offsets()[k]),
    };
    lanes(
        &mut events,
        lives.buffers().iter().enumerate().map(life).collect(),
    );
    events.finish()
}

/// Lives on as few lanes as possible, as far as there are lanes.
fn lanes(events: &mut Events, mut lives: Vec<Life>) {
    lives.sort_by_key(|life| (life.begin, Reverse(life.bytes)));
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&k| (Reverse(lives[k].bytes), k));
    // Lives of each lane by begin; large ones choose first.
    let mut taken: Vec<Vec<usize>> = Vec::new();
    for k in order {
        let free = |lane: &Vec<usize>| {
            let apart = |&other: &usize| {
                lives[other].end <= lives[k].begin || lives[k].end <= lives[other].begin
            };
            lane.iter().all(apart)
        };
        match taken.iter().position(free) {
            Some(lane) => taken[lane].push(k),
            None if taken.len() < LANES => taken.push(vec![k]),
            None => {}
        }
    }
    for (lane, mut list) in taken.into_iter().enumerate() {
        let track = Track {
            process: STEP,
            thread: OPERATORS + 1 + lane,
        };
        events.lane(track, &format!("lives {}", lane + 1));
        list.sort_by_key(|&k| lives[k].begin);
        for k in list {
            let life = &lives[k];
            let mut args = json!({"bytes": life.bytes});
            if let Some(offset) = life.offset {
                args["offset_bytes"] = Value::from(offset);
            }
            events.slice(&Slice {
                track,
                name: life.name.clone(),
                category: "life",
                begin: life.begin,
                end: life.end,
                args,
            });
        }
    }
}
