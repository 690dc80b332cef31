//! Checkpoints and segments (Chen et al., 2016): which nodes end a segment, and the schedule that follows.
//!
//! A set of checkpoints cuts the forward pass, in execution order, into segments; each segment ends at its checkpoint,
//! the last one at the loss. Memory semantics of the schedule:
//! - a checkpoint is held from its computation until its last read, by a backward node or by a recomputation;
//! - any other forward tensor is held during the forward pass until its last forward reader, no longer;
//! - the last segment is held as it is: it would be recomputed at once;
//! - any other segment is entered in the stage of the first backward node that reads one of its tensors: there all its
//!   tensors that the backward pass still reads are recomputed, once, and held until their last read there; tensors on
//!   the way are freed as soon as the recomputation has read them;
//! - gradients are held from their computation to their last read.
//!
//! On graphs where an edge jumps over a checkpoint, what a recomputation reads from other segments is recomputed for it
//! there and then (min-R, Checkmate section 5.1.1).

use super::best;
use super::retention::{hold, hold_gradients, tighten};
use super::training::TrainingGraph;
use crate::instance::NodeId;
use crate::schedule::{BitMatrix, CheckmateSchedule};

/// Every `k`-th of the candidates, with `k` the square root of their number, rounded down.
///
/// Minimises `n / k + k` for a chain of `n` tensors of one size (Chen et al., section 4.1). The node before the loss
/// is left out: it ends the last segment.
pub fn square_root(graph: &TrainingGraph<'_>, candidates: &[NodeId]) -> Vec<NodeId> {
    let length = candidates.len().isqrt().max(1);
    let mut checkpoints: Vec<NodeId> = candidates
        .iter()
        .copied()
        .skip(length - 1)
        .step_by(length)
        .collect();
    drop_end(graph, &mut checkpoints);
    checkpoints
}

/// Ends a segment at the first candidate at which the segment has more than `segment_bytes` (Chen et al., algorithm 3,
/// with `b = segment_bytes`). The node before the loss is left out: it ends the last segment.
pub fn greedy(graph: &TrainingGraph<'_>, candidates: &[NodeId], segment_bytes: u64) -> Vec<NodeId> {
    let mut checkpoints = Vec::new();
    let mut bytes = 0;
    let mut rest = candidates;
    for &v in graph.activations() {
        bytes += graph.instance().node(v).output_bytes;
        if rest.first() == Some(&v) {
            rest = &rest[1..];
            if bytes > segment_bytes {
                checkpoints.push(v);
                bytes = 0;
            }
        }
    }
    drop_end(graph, &mut checkpoints);
    checkpoints
}

fn drop_end(graph: &TrainingGraph<'_>, checkpoints: &mut Vec<NodeId>) {
    if checkpoints.last() == graph.activations().last() {
        checkpoints.pop();
    }
}

/// The best schedule of [`greedy`] over its parameter: the cheapest within the budget, or the one with the least peak.
///
/// Segment sizes are the total activation memory over 1, 2, .. segments, in steps of at most a sixteenth of the number,
/// and 0 (every candidate is a checkpoint): some 80 different ones for 1,000 activations.
pub fn best_greedy(
    graph: &TrainingGraph<'_>,
    candidates: &[NodeId],
    budget_bytes: u64,
) -> CheckmateSchedule {
    let instance = graph.instance();
    let total: u64 = graph
        .activations()
        .iter()
        .map(|&v| instance.node(v).output_bytes)
        .sum();
    let mut tried: Vec<Vec<NodeId>> = Vec::new();
    let mut segments = 1u64;
    loop {
        let last = segments > graph.activations().len() as u64;
        let segment_bytes = if last { 0 } else { total / segments };
        let checkpoints = greedy(graph, candidates, segment_bytes);
        if !tried.contains(&checkpoints) {
            tried.push(checkpoints);
        }
        if last {
            break;
        }
        segments += (segments / 16).max(1);
    }
    let schedules = tried.iter().map(|checkpoints| schedule(graph, checkpoints));
    best(instance, budget_bytes, schedules)
        .unwrap_or_else(|| CheckmateSchedule::checkpoint_all(instance))
}

/// The schedule for a set of checkpoints, ascending; see the module for its memory semantics.
pub fn schedule(graph: &TrainingGraph<'_>, checkpoints: &[NodeId]) -> CheckmateSchedule {
    let instance = graph.instance();
    let (n, start) = (instance.len(), graph.backward_start());
    let Some(last_checkpoint) = checkpoints.last() else {
        return CheckmateSchedule::checkpoint_all(instance);
    };
    // Segment of each forward node, or none for checkpoints and the last segment.
    let mut segment = vec![None; start];
    let mut current = 0;
    for (i, of_node) in segment.iter_mut().enumerate().take(last_checkpoint.index()) {
        if checkpoints[current].index() == i {
            current += 1;
        } else {
            *of_node = Some(current);
        }
    }
    let mut entered_in: Vec<Option<usize>> = vec![None; checkpoints.len()];
    for t in start..n {
        for need in instance.needs(NodeId::from(t)) {
            if let Some(&Some(s)) = segment.get(need.index()) {
                entered_in[s].get_or_insert(t);
            }
        }
    }
    let mut retained = BitMatrix::new(n, n);
    for (i, of_node) in segment.iter().enumerate() {
        let id = NodeId::from(i);
        let Some(s) = *of_node else {
            hold(&mut retained, i, i + 1..=n - 1);
            continue;
        };
        if let Some(last) = graph.last_forward_user(id) {
            hold(&mut retained, i, i + 1..=last);
        }
        if let (Some(entry), Some(last)) = (entered_in[s], graph.backward_users(id).last()) {
            hold(&mut retained, i, entry + 1..=last.index());
        }
    }
    hold_gradients(graph, &mut retained);
    tighten(instance, retained)
}
