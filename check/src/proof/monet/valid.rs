//! Validity of the rows of MONeT's program at every schedule. `rows` gives their linear forms.
//!
//! A schedule here is in normal form. Its ways to compute a node are all in place or all not, and
//! it takes no way and no choice that another one dominates. It computes and stores no tensor
//! beyond its last use. Some cheapest schedule that fits is in normal form. The exchanges that lead
//! to it keep three facts: tensors that every implementation reads are there, overwritten tensors
//! are gone, and memory is within the room.
//!
//! `S` is the set of tensors stored when a stage begins, `R` the set of nodes computed in it. A
//! tensor is *held* if the backward node of the stage reads it and the next stage does not store
//! it; then it is computed in the stage. So a tensor is not both stored for the next stage and
//! held.

use super::graph::Graph;
use super::paths::{Paths, choice};
use super::rows::largest_room;
use super::{Cover, MonetQuantity, MonetRow, StartKind, Turn};
use crate::proof::knapsack::{check_weight, fits_more};

/// Checks that a row holds at every schedule that fits. A branching must count existing items.
///
/// # Errors
/// A description of the fault.
pub fn check(graph: &Graph, row: &MonetRow) -> Result<(), String> {
    match row {
        MonetRow::Need { stage, node } => {
            check_turn(graph, *stage, *node)?;
            ensure(graph.is_read(*node, *stage), || {
                format!("nothing that stage {stage} may choose reads node {node}")
            })
        }
        MonetRow::Input { stage, node, input } => {
            check_turn(graph, *stage, *node)?;
            ensure(graph.needs[*node as usize].contains(input), || {
                format!("node {node} may be computed without node {input}")
            })
        }
        MonetRow::Parent { stage, node, kind } => {
            check_turn(graph, *stage, *node)?;
            let parent = graph.parent[*node as usize];
            let parent = parent.ok_or_else(|| format!("node {node} is no by-product"))?;
            let has_option = |i: u32| graph.has_option[i as usize];
            let both = has_option(*node) && has_option(parent);
            ensure(*kind == StartKind::All || both, || {
                format!("node {node} need not be in place where its parent is")
            })
        }
        MonetRow::Overwritten { stage, node } => check_overwritten(graph, *stage, *node),
        MonetRow::Ended { stage, node } => {
            check_overwritten(graph, *stage, *node)?;
            ensure(*stage > 0, || "nothing is there before stage 0".into())
        }
        MonetRow::Memory { stage, node, unit } => {
            check_turn(graph, *stage, *node)?;
            check_unit(*unit)
        }
        MonetRow::Run {
            stage,
            node,
            by_run,
            unit,
        } => {
            check_turn(graph, *stage, *node)?;
            check_unit(*unit)?;
            check_ascending(by_run)?;
            let other = by_run.iter().find(|u| !graph.charges(*node, **u));
            ensure(other.is_none(), || {
                format!("node {node} does not charge all of {by_run:?} while it runs")
            })
        }
        MonetRow::Backward { stage, unit } => {
            check_backward(graph, *stage)?;
            check_unit(*unit)
        }
        MonetRow::Path(paths) => paths.check(graph),
        MonetRow::PathMemory {
            paths,
            since,
            staying,
            unit,
        } => {
            check_unit(*unit)?;
            check_window(graph, paths, *since)?;
            check_staying(graph, paths, staying)
        }
        MonetRow::Either {
            paths,
            room,
            more,
            staying,
            beside,
        } => {
            check_window(graph, paths, paths.from)?;
            check_staying(graph, paths, staying)?;
            check_either(graph, paths, *room, *more, staying, beside)
        }
        MonetRow::Cover(cover) => check_cover(graph, cover),
        MonetRow::PathCover {
            paths,
            since,
            due,
            most,
            weights,
        } => {
            check_window(graph, paths, *since)?;
            let staying: Vec<u32> = weights.iter().map(|w| w.0).collect();
            check_staying(graph, paths, &staying)?;
            check_weight(*most)?;
            let room = i128::from(largest_room(graph, paths, *since));
            let need = i128::from(graph.need_again(paths.source).max(0));
            check_weights(graph, weights, room, *most)?;
            check_weights_beside(graph, weights, room - need, *most, *due)
        }
        MonetRow::Branch(branch) => check_counted(graph, &branch.quantity),
    }
}

fn ensure(holds: bool, problem: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

fn check_turn(graph: &Graph, stage: u32, node: u32) -> Result<(), String> {
    let is_turn = (stage as usize) < graph.stages && (node as usize) < graph.columns;
    ensure(is_turn, || {
        format!("node {node} has no turn in stage {stage}")
    })
}

fn check_backward(graph: &Graph, stage: u32) -> Result<(), String> {
    let is_stage = stage > 0 && (stage as usize) < graph.stages;
    ensure(is_stage, || format!("stage {stage} has no backward node"))
}

fn check_unit(unit: u64) -> Result<(), String> {
    ensure(i64::try_from(unit).is_ok(), || {
        format!("sizes cannot be rounded by {unit}")
    })
}

fn check_ascending(nodes: &[u32]) -> Result<(), String> {
    ensure(nodes.is_sorted_by(|a, b| a < b), || {
        format!("{nodes:?} are not in ascending order")
    })
}

fn check_overwritten(graph: &Graph, stage: u32, node: u32) -> Result<(), String> {
    check_turn(graph, stage, node)?;
    ensure(graph.over[node as usize].is_some(), || {
        format!("node {node} overwrites nothing that it reads")
    })
}

fn check_window(graph: &Graph, paths: &Paths, since: u32) -> Result<(), String> {
    paths.check(graph)?;
    ensure((paths.from..=paths.reader).contains(&since), || {
        format!("stage {since} is not one of the window")
    })
}

/// Checks that tensors may stay while the source of some paths is computed: the source must not
/// charge them itself.
fn check_staying(graph: &Graph, paths: &Paths, staying: &[u32]) -> Result<(), String> {
    check_ascending(staying)?;
    let source = paths.source;
    let may_stay = |k: &u32| (*k as usize) < graph.columns && !graph.charges(source, *k);
    let other = staying.iter().find(|k| !may_stay(k));
    ensure(other.is_none(), || {
        format!("{staying:?} do not all stay beside node {source} and what it charges")
    })
}

/// Checks a right side and a surcharge. Two cases must fit: the tensors that stay beside the
/// source; and, when the window begins, the tensors that stay, stored tensors of the paths, and
/// `beside`.
///
/// Let `h` tensors of the paths be stored. If `h` is 0 and a choice is made, the source is computed
/// in some stage. With the tensors that stay it takes no more than the room of that stage. The row
/// takes off the excess of that room over `room`, but at most the need. If it takes off the need,
/// the tensors that stay take no more than `room` by themselves. Without a choice they do not
/// either, because `room` is the room of a stage. If `h` is at least 1, all these tensors are there
/// when the window begins, in `begin` bytes. The row adds `h` times `more - need`, and the need.
fn check_either(
    graph: &Graph,
    paths: &Paths,
    room: i64,
    more: i64,
    staying: &[u32],
    beside: &[(u32, i64)],
) -> Result<(), String> {
    let need = graph.need_again(paths.source);
    ensure(need > 0, || {
        format!("node {} needs nothing to be computed", paths.source)
    })?;
    let mut rooms = paths.stages_from(paths.from).map(|t| graph.room[t]);
    ensure(rooms.any(|r| r == room), || {
        format!("no stage of the window has room for {room} bytes")
    })?;
    let mut all: Vec<u32> = beside.iter().map(|b| b.0).collect();
    check_ascending(&all)?;
    let is_part = |b: &(u32, i64)| {
        let bytes = graph.bytes.get(b.0 as usize);
        bytes.is_some_and(|bytes| (0..=*bytes).contains(&b.1))
    };
    ensure(beside.iter().all(is_part), || {
        format!("{beside:?} are not parts of tensors")
    })?;
    all.extend(staying.iter().chain(&paths.stored));
    all.sort_unstable();
    ensure(all.is_sorted_by(|a, b| a < b), || {
        "a tensor is charged twice when the window begins".into()
    })?;
    let parts: i64 = beside.iter().map(|b| b.1).sum();
    let begin = room_at_beginning(graph, paths.from, |k| all.binary_search(&k).is_ok());
    let most = match paths.stored.len() {
        0 | 1 => i64::MAX,
        _ => need,
    };
    let most = most.min(room - begin + parts);
    ensure((-i64::MAX / 4..=most).contains(&more), || {
        format!("{more} bytes are charged beside what is stored of the paths, at most {most} hold")
    })
}

/// Bytes for tensors that are stored when a stage begins: at its first turn, or while the backward
/// node before runs, with its workspace and its reads. `counts` selects the tensors that have to be
/// in these bytes if they are stored.
fn room_at_beginning(graph: &Graph, stage: u32, counts: impl Fn(u32) -> bool) -> i64 {
    let first = graph.room[stage as usize];
    if stage < 2 {
        return first;
    }
    let before = stage as usize - 1;
    let taken = graph.choices[before].iter().map(|c| {
        let others = c.reads.iter().filter(|u| !counts(**u));
        c.workspace + others.map(|&u| graph.bytes[u as usize]).sum::<i64>()
    });
    first.min(graph.backward_room[before] - taken.min().unwrap_or(0))
}

/// Checks that tensors that fit weigh at most so much.
fn check_weights(
    graph: &Graph,
    weights: &[(u32, u32)],
    room: i128,
    most: u32,
) -> Result<(), String> {
    check_weights_beside(graph, weights, room, most, 0)
}

/// Checks that the tensors that fit beside an item of weight `weight` weigh with it at most so
/// much.
fn check_weights_beside(
    graph: &Graph,
    weights: &[(u32, u32)],
    room: i128,
    most: u32,
    weight: u32,
) -> Result<(), String> {
    let items = weights.iter();
    let items = items.map(|&(k, weight)| (graph.bytes[k as usize] as u64, weight));
    // Without room, this case never happens.
    let room = u64::try_from(room).ok();
    let is_lighter = match most.checked_sub(weight) {
        Some(left) => !fits_more(items, room, left),
        None => room.is_none(),
    };
    ensure(is_lighter, || {
        format!("tensors that weigh more than {most} fit")
    })
}

/// Checks a cover. The tensors that every choice of the stage reads are there from their turns on,
/// and take room beside the weighted tensors.
fn check_cover(graph: &Graph, cover: &Cover) -> Result<(), String> {
    let Cover {
        stage,
        at,
        most,
        weights,
    } = cover;
    check_weight(*most)?;
    let turn = match at {
        Turn::Forward { node } | Turn::Run { node, .. } => {
            check_turn(graph, *stage, *node)?;
            Some(*node)
        }
        Turn::Backward { .. } => {
            check_backward(graph, *stage)?;
            None
        }
    };
    let tensors: Vec<u32> = weights.iter().map(|w| w.0).collect();
    check_ascending(&tensors)?;
    let is_fixed = |i: u32| turn.is_none_or(|turn| i < turn) && graph.is_always_read(i, *stage);
    let is_free = |i: &u32| (*i as usize) < graph.columns && !is_fixed(*i);
    ensure(tensors.iter().all(is_free), || {
        format!("{tensors:?} are not all free to be there or not")
    })?;
    let fixed = (0..graph.columns as u32).filter(|i| is_fixed(*i));
    let bytes = |i: u32| i128::from(graph.bytes[i as usize]);
    let all_fixed: i128 = fixed.clone().map(bytes).sum();
    match *at {
        Turn::Forward { .. } => {
            let room = i128::from(graph.room[*stage as usize]);
            check_weights(graph, weights, room - all_fixed, *most)
        }
        Turn::Run {
            node,
            scratch,
            weight,
        } => {
            ensure(!tensors.iter().any(|i| graph.charges(node, *i)), || {
                format!("node {node} charges some of {tensors:?} itself")
            })?;
            let room = i128::from(graph.room[*stage as usize]);
            check_weights(graph, weights, room - all_fixed, *most)?;
            if weight == 0 {
                return Ok(());
            }
            let beside: i128 = fixed.filter(|i| !graph.charges(node, *i)).map(bytes).sum();
            let own = i128::from(graph.run_bytes(node)) + i128::from(scratch);
            check_weights_beside(graph, weights, room - beside - own, *most, weight)
        }
        Turn::Backward { scratch, weight } => {
            let room = i128::from(graph.backward_room[*stage as usize]) - all_fixed;
            let choices = graph.choices[*stage as usize].iter();
            let least = choices.map(|c| c.workspace).min().unwrap_or(0);
            check_weights(graph, weights, room - i128::from(least), *most)?;
            check_weights_beside(graph, weights, room - i128::from(scratch), *most, weight)
        }
    }
}

/// Checks that the items that a quantity counts exist.
fn check_counted(graph: &Graph, quantity: &MonetQuantity) -> Result<(), String> {
    let check_nodes = |nodes: &[u32]| {
        check_ascending(nodes)?;
        let is_node = |i: &u32| (*i as usize) < graph.columns;
        ensure(nodes.iter().all(is_node), || {
            "a node is counted that is not there".into()
        })
    };
    let check_stage = |stage: u32, end: usize| {
        ensure((stage as usize) < end, || {
            format!("there is no stage {stage}")
        })
    };
    match quantity {
        MonetQuantity::Starts { first, last, nodes } => {
            check_stage(*first, *last as usize + 1)?;
            check_stage(*last, graph.stages)?;
            check_nodes(nodes)
        }
        // The tensors that the last backward node reads may be stored beyond it.
        MonetQuantity::Stored { stage, nodes } => {
            check_stage(*stage, graph.stages + 1)?;
            check_nodes(nodes)
        }
        MonetQuantity::Choices(list) => {
            let mut all = list.iter();
            all.try_for_each(|&(stage, way)| choice(graph, stage, way).map(drop))
        }
        MonetQuantity::Scratch { stage, node, .. } | MonetQuantity::InPlace { stage, node } => {
            check_turn(graph, *stage, *node)
        }
    }
}
