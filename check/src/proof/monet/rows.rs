//! Rows of MONeT's program as linear forms. `valid` states why they hold.

use super::forms::{Atom, Form};
use super::graph::{Graph, Way};
use super::paths::{Paths, choice};
use super::{Cover, MonetQuantity, MonetRow, StartKind, Turn};

/// The form of a row that holds.
pub fn form(graph: &Graph, row: &MonetRow) -> Form {
    match row {
        // A tensor that is read was computed in the stage, or is stored beyond it: it is there
        // afterwards.
        MonetRow::Need { stage, node } => {
            let mut form = Form::at_least(0);
            form.there(*node, None, *stage, 1);
            let choices = graph.choices[*stage as usize].iter().enumerate();
            let reading = choices.filter(|c| c.1.reads.contains(node));
            let ways: Vec<usize> = reading.map(|c| c.0).collect();
            form.require(graph, *stage, &ways, 1);
            form
        }
        // An input is stored when the stage begins, or computed in it.
        MonetRow::Input { stage, node, input } => {
            let mut form = Form::at_least(0);
            form.stored(*input, *stage, 1);
            form.starts(*input, *stage..stage + 1, 1);
            form.starts(*node, *stage..stage + 1, -1);
            form
        }
        MonetRow::Parent { stage, node, kind } => parent(graph, (*stage, *node), *kind),
        // An overwritten tensor is neither stored for the next stage nor read by the backward node.
        MonetRow::Overwritten { stage, node } => {
            let mut form = Form::at_least(-1);
            gone(graph, *stage, *node, &mut form);
            form
        }
        // And it was there before: stored, or computed in the stage. If the node is not computed in
        // place, the form counts the tensor before, less the tensor behind.
        MonetRow::Ended { stage, node } => {
            let mut form = Form::at_least(0);
            gone(graph, *stage, *node, &mut form);
            if let Some(over) = graph.over[*node as usize] {
                form.stored(over, *stage, 1);
                form.starts(over, *stage..stage + 1, 1);
            }
            form
        }
        MonetRow::Memory { stage, node, unit } => {
            let mut form = Form::at_least(graph.room[*stage as usize]);
            there(graph, *stage, Some(*node), |_| false, &mut form);
            form.rounded(*unit).negated()
        }
        MonetRow::Run {
            stage,
            node,
            by_run,
            unit,
        } => run(graph, (*stage, *node), by_run, *unit),
        MonetRow::Backward { stage, unit } => backward(graph, *stage, *unit),
        MonetRow::Path(paths) => {
            let mut form = Form::at_least(0);
            for &i in &paths.stored {
                form.stored(i, paths.from, 1);
            }
            form.starts(paths.source, paths.from..paths.reader + 1, 1);
            require(graph, paths, 1, &mut form);
            form
        }
        MonetRow::PathMemory {
            paths,
            since,
            staying,
            unit,
        } => path_memory(graph, paths, *since, staying, *unit),
        MonetRow::Either {
            paths,
            room,
            more,
            staying,
            beside,
        } => either(graph, paths, (*room, *more), staying, beside),
        MonetRow::Cover(own) => cover(graph, own),
        MonetRow::PathCover {
            paths,
            since,
            due,
            most,
            weights,
        } => path_cover(graph, paths, (*since, *due, *most), weights),
        MonetRow::Branch(branch) => {
            let mut form = Form::at_least(i64::from(branch.count));
            counted(graph, &branch.quantity, &mut form);
            match branch.at_least {
                true => form,
                false => form.negated(),
            }
        }
    }
}

/// If a by-product is computed, so is its parent.
fn parent(graph: &Graph, (stage, node): (u32, u32), kind: StartKind) -> Form {
    let mut form = Form::at_least(0);
    let parent = graph.parent[node as usize].unwrap_or(node);
    let counts = |in_place: bool| match kind {
        StartKind::All => true,
        StartKind::Plain => !in_place,
        StartKind::InPlace => in_place,
    };
    for (i, sign) in [(parent, 1), (node, -1)] {
        form.ways(graph, i, stage, |w| counts(w.in_place), sign);
    }
    form
}

/// The contents of memory while a node runs.
///
/// If the node runs, its run charges the whole passing list, and the storage of these tensors
/// charges no bytes. If it does not run, the row is weaker than the one without a run.
fn run(graph: &Graph, (stage, node): (u32, u32), by_run: &[u32], unit: u64) -> Form {
    let mut form = Form::at_least(graph.room[stage as usize]);
    let charged = |i: u32| by_run.binary_search(&i).is_ok();
    there(graph, stage, Some(node), charged, &mut form);
    let own: i64 = by_run.iter().map(|&i| graph.bytes[i as usize]).sum();
    for (way, start) in graph.ways(node, stage).iter().enumerate() {
        let atom = Atom::Way { node, stage, way };
        form.add(atom, own + start.workspace);
    }
    form.rounded(unit).negated()
}

/// The contents of memory while the backward node of a stage runs.
fn backward(graph: &Graph, stage: u32, unit: u64) -> Form {
    let mut form = Form::at_least(graph.backward_room[stage as usize]);
    there(graph, stage, None, |_| false, &mut form);
    match graph.choices[stage as usize].as_slice() {
        [only] => form.right -= i128::from(only.workspace),
        several => {
            for (way, choice) in several.iter().enumerate() {
                form.require(graph, stage, &[way], -choice.workspace);
            }
        }
    }
    form.rounded(unit).negated()
}

/// The tensors that stay in a window, and the source of its paths.
///
/// If the source has to be computed from `since` on, it has a turn at which its need is charged
/// beside the tensors that stay. Otherwise these tensors fit at its turn in the last stage.
fn path_memory(graph: &Graph, paths: &Paths, since: u32, staying: &[u32], unit: u64) -> Form {
    let mut form = Form::at_least(largest_room(graph, paths, since));
    let need = graph.need_again(paths.source).max(0);
    for &k in staying {
        form.stays(k, since, upto(paths, k), graph.bytes[k as usize]);
    }
    not_due(paths, since, -need, &mut form);
    require(graph, paths, -need, &mut form);
    form.rounded(unit).negated()
}

/// The source of some paths, or the tensors stored of them, beside the tensors that stay.
fn either(
    graph: &Graph,
    paths: &Paths,
    (room, more): (i64, i64),
    staying: &[u32],
    beside: &[(u32, i64)],
) -> Form {
    let need = graph.need_again(paths.source);
    let mut form = Form::at_least(room);
    for &(k, part) in beside {
        form.stored(k, paths.from, part);
        form.right += i128::from(part);
    }
    for &k in staying {
        form.stays(k, paths.from, upto(paths, k), graph.bytes[k as usize]);
    }
    for &i in &paths.stored {
        form.stored(i, paths.from, graph.bytes[i as usize] + more - need);
    }
    for stage in paths.from..=paths.reader {
        let less = (graph.room[stage as usize] - room).clamp(0, need);
        form.starts(paths.source, stage..stage + 1, -less);
    }
    require(graph, paths, -need, &mut form);
    form.negated()
}

/// The weights of tensors at a turn, and of the run there.
fn cover(graph: &Graph, cover: &Cover) -> Form {
    let mut form = Form::at_least(-i64::from(cover.most));
    let turn = match cover.at {
        Turn::Forward { node } | Turn::Run { node, .. } => Some(node),
        Turn::Backward { .. } => None,
    };
    for &(i, weight) in &cover.weights {
        form.there(i, turn, cover.stage, -i64::from(weight));
    }
    match cover.at {
        Turn::Forward { .. } => {}
        Turn::Run {
            node,
            scratch,
            weight,
        } => {
            let counts = |way: &Way| way.workspace >= scratch;
            form.ways(graph, node, cover.stage, counts, -i64::from(weight));
        }
        Turn::Backward { scratch, weight } => {
            let choices = graph.choices[cover.stage as usize].iter().enumerate();
            let large = choices.filter(|c| c.1.workspace >= scratch);
            let ways: Vec<usize> = large.map(|c| c.0).collect();
            form.require(graph, cover.stage, &ways, i64::from(weight));
        }
    }
    form
}

/// The weights of tensors that stay in a window, and of its source.
fn path_cover(
    graph: &Graph,
    paths: &Paths,
    (since, due, most): (u32, u32, u32),
    weights: &[(u32, u32)],
) -> Form {
    let mut form = Form::at_least(-i64::from(most));
    for &(k, weight) in weights {
        form.stays(k, since, upto(paths, k), -i64::from(weight));
    }
    not_due(paths, since, i64::from(due), &mut form);
    require(graph, paths, i64::from(due), &mut form);
    form
}

/// Subtracts a run in place and the overwritten tensor behind it. In stage 0, a tensor that the
/// loss reads is charged as held though it may be overwritten.
fn gone(graph: &Graph, stage: u32, node: u32, form: &mut Form) {
    form.ways(graph, node, stage, |w| w.in_place, -1);
    let Some(over) = graph.over[node as usize] else {
        return;
    };
    form.stored(over, stage + 1, -1);
    if stage > 0 {
        form.add(Atom::Held { node: over, stage }, -1);
    }
}

/// Adds the bytes of tensors that are there at a turn. The storage of `is_charged` tensors is left
/// out: it is charged elsewhere.
fn there(
    graph: &Graph,
    stage: u32,
    turn: Option<u32>,
    is_charged: impl Fn(u32) -> bool,
    form: &mut Form,
) {
    for tensor in 0..graph.columns as u32 {
        let bytes = graph.bytes[tensor as usize];
        let is_over = turn.is_none_or(|turn| tensor < turn);
        if bytes == 0 {
            continue;
        }
        if is_over {
            let node = tensor;
            form.add(Atom::Held { node, stage }, bytes);
        }
        if !is_charged(tensor) {
            form.stored(tensor, stage + u32::from(is_over), bytes);
        }
    }
}

/// The stage until whose beginning a tensor stays, so that it is there at the source's turns in
/// all stages of the window.
fn upto(paths: &Paths, tensor: u32) -> u32 {
    paths.reader + u32::from(tensor < paths.source)
}

/// The largest room of a stage of a window from one on.
pub(super) fn largest_room(graph: &Graph, paths: &Paths, since: u32) -> i64 {
    let rooms = paths.stages_from(since).map(|t| graph.room[t]);
    rooms.max().unwrap_or(0)
}

/// Adds the cases in which the source need not be computed from stage `since` on: a tensor of the
/// paths is stored, or the source was computed before in the window.
fn not_due(paths: &Paths, since: u32, weight: i64, form: &mut Form) {
    for &i in &paths.stored {
        form.stored(i, paths.from, weight);
    }
    form.starts(paths.source, paths.from..since, weight);
}

/// Raises the right side if a choice of the paths is made; they are known to be choices.
fn require(graph: &Graph, paths: &Paths, weight: i64, form: &mut Form) {
    let ways = paths.choices(graph).unwrap_or_default();
    form.require(graph, paths.reader, &ways, weight);
}

/// Adds a quantity.
fn counted(graph: &Graph, quantity: &MonetQuantity, form: &mut Form) {
    match quantity {
        MonetQuantity::Starts { first, last, nodes } => {
            for &node in nodes {
                form.starts(node, *first..last + 1, 1);
            }
        }
        MonetQuantity::Stored { stage, nodes } => {
            for &node in nodes {
                form.stored(node, *stage, 1);
            }
        }
        MonetQuantity::Choices(list) => {
            for &(stage, implementation) in list {
                // Known to be one.
                if let Ok(way) = choice(graph, stage, implementation) {
                    form.add(Atom::Choice { stage, way }, 1);
                }
            }
        }
        MonetQuantity::Scratch { stage, node, bytes } => {
            form.ways(graph, *node, *stage, |w| w.workspace >= *bytes, 1);
        }
        MonetQuantity::InPlace { stage, node } => {
            form.ways(graph, *node, *stage, |w| w.in_place, 1);
        }
    }
}
