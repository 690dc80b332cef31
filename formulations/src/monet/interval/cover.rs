//! Cover cuts on memory rows: what does not fit together is not there together.
//!
//! At a moment, tensors are there or not, and so is a run with a certain workspace: a knapsack. Where budgets are a few large
//! tensors wide, the relaxation stores most of each; a *cover*, a set that does not fit, has one missing (Balas 1975).

use super::{Graph, Point, Row};

/// An element of a knapsack: its number, its bytes, how much of it is missing at the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub node: u32,
    pub bytes: i64,
    pub missing: f64,
}

/// A set of items of more than `room` bytes with as little missing as a greedy choice finds, and what is missing of it; no
/// item can be left out. `None` if all fit, or if more than `most` is missing.
pub(super) fn cover(items: &mut Vec<Item>, room: i64, most: f64) -> Option<(Vec<u32>, f64)> {
    if room < 0 {
        return Some((Vec::new(), 0.0));
    }
    items.retain(|i| i.bytes > 0 && i.missing < most);
    let rate = |i: &Item| i.missing.max(0.0) / i.bytes as f64;
    items.sort_by(|a, b| {
        let order = rate(a).total_cmp(&rate(b)).then(b.bytes.cmp(&a.bytes));
        order.then(a.node.cmp(&b.node))
    });
    let mut bytes = 0;
    let mut taken: Vec<Item> = Vec::new();
    for i in items.iter() {
        bytes += i.bytes;
        taken.push(*i);
        if bytes > room {
            break;
        }
    }
    if bytes <= room {
        return None;
    }
    // Leave out what the cover does without, the most missing first, small ones before large ones.
    taken.sort_by(|a, b| {
        let order = b.missing.total_cmp(&a.missing).then(a.bytes.cmp(&b.bytes));
        order.then(a.node.cmp(&b.node))
    });
    taken.retain(|i| {
        let spare = bytes - i.bytes > room;
        if spare {
            bytes -= i.bytes;
        }
        !spare
    });
    let missing: f64 = taken.iter().map(|i| i.missing.max(0.0)).sum();
    let mut nodes: Vec<u32> = taken.iter().map(|i| i.node).collect();
    nodes.sort_unstable();
    (missing < most).then_some((nodes, missing))
}

/// Violated covers of memory rows, by how much: at every event of forward nodes that is nearly full, with and without the
/// node's run, and at every backward node.
pub(super) fn separate(graph: &Graph, point: &Point, violation: f64) -> Vec<(f64, Row)> {
    let mut found = Vec::new();
    let mut items = Vec::new();
    for t in 0..graph.stages {
        let bytes = |i: usize| graph.bytes[i];
        let mut load: f64 = (0..graph.columns)
            .map(|i| bytes(i) as f64 * point.stored(t, i))
            .sum();
        let mut best: Option<(f64, Row)> = None;
        let mut note = |value: f64, row: Row| {
            if value > violation && best.as_ref().is_none_or(|b| value > b.0) {
                best = Some((value, row));
            }
        };
        for j in 0..graph.columns {
            let there = |i: usize| {
                if i < j {
                    point.stored(t + 1, i) + point.held(t, i)
                } else {
                    point.stored(t, i)
                }
            };
            let room = graph.room[t];
            if load > 0.7 * room as f64 {
                items.clear();
                items.extend((0..graph.columns).map(|i| Item {
                    node: i as u32,
                    bytes: bytes(i),
                    missing: 1.0 - there(i),
                }));
                if let Some((nodes, missing)) = cover(&mut items, room, 1.0 - violation) {
                    note(
                        1.0 - missing,
                        Row::cover(graph, t as u32, Some(j as u32), &nodes, None),
                    );
                }
            }
            let run = point.made(t, j);
            if run > violation {
                let own = bytes(j) + graph.passing_bytes(j as u32);
                let ways = || point.ways_with_values(j as u32, t as u32);
                let mut scratch: Vec<i64> = ways().map(|w| w.0.way(graph).workspace).collect();
                scratch.sort_unstable();
                scratch.dedup();
                for w in scratch {
                    let run: f64 = ways()
                        .filter(|(c, _)| c.way(graph).workspace >= w)
                        .map(|(_, x)| x)
                        .sum();
                    let passing = &graph.passing[j];
                    items.clear();
                    items.extend(
                        (0..graph.columns)
                            .filter(|&i| i != j && passing.binary_search(&(i as u32)).is_err())
                            .map(|i| Item {
                                node: i as u32,
                                bytes: bytes(i),
                                missing: 1.0 - there(i),
                            }),
                    );
                    let left = room - own - w;
                    if let Some((nodes, missing)) = cover(&mut items, left, run - violation) {
                        let row = Row::cover(graph, t as u32, Some(j as u32), &nodes, Some(w));
                        note(run - missing, row);
                    }
                }
            }
            let after = point.stored(t + 1, j) + point.held(t, j);
            load += bytes(j) as f64 * (after - point.stored(t, j));
        }
        if t > 0 {
            let choices = &graph.choices[t];
            let several = choices.len() > 1;
            for least in choices.iter().map(|c| c.workspace) {
                let with: f64 = choices
                    .iter()
                    .zip(&point.choices[t])
                    .filter(|(c, _)| c.workspace >= least)
                    .map(|(_, x)| x)
                    .sum();
                let with = if several { with } else { 1.0 };
                items.clear();
                items.extend((0..graph.columns).map(|i| Item {
                    node: i as u32,
                    bytes: bytes(i),
                    missing: 1.0 - point.stored(t + 1, i) - point.held(t, i),
                }));
                let room = graph.backward_room[t] - least;
                if let Some((nodes, missing)) = cover(&mut items, room, with - violation) {
                    note(
                        with - missing,
                        Row::cover(graph, t as u32, None, &nodes, Some(least)),
                    );
                }
            }
        }
        found.extend(best);
    }
    found
}
