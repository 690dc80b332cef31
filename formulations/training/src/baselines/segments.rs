//! Checkpoints and segments (Chen et al., 2016): the choice of nodes that end a segment, and the
//! resulting schedule.
//!
//! A set of checkpoints cuts the forward pass, in execution order, into segments; each segment ends
//! at its checkpoint, the last one at the loss. Memory semantics of the schedule:
//! - a checkpoint is held from its computation until its last read, by a backward node or by a
//!   recomputation;
//! - any other forward tensor is held during the forward pass until its last forward reader, no
//!   longer;
//! - the last segment is held unchanged: it would be recomputed at once;
//! - any other segment is entered in the stage of the first backward node that reads one of its
//!   tensors. All its tensors that the backward pass still reads are recomputed there, once, and
//!   held until their last read there. Tensors on the way are freed as soon as the recomputation
//!   has read them;
//! - gradients are held from their computation to their last read.
//!
//! On graphs where an edge jumps over a checkpoint, tensors of other segments that a recomputation
//! reads are recomputed for it there and then (min-R, Checkmate section 5.1.1).

use super::retention::hold_gradients;
use super::training::TrainingGraph;
use super::{NotApplicable, best};
use remat_instances::instance::NodeId;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_search::Patience;

/// Every `k`-th of the candidates, with `k` the square root of their number, rounded down.
///
/// Minimises `n / k + k` for a chain of `n` tensors of one size (Chen et al., section 4.1). The
/// node before the loss is left out: it ends the last segment.
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

/// Ends a segment at the first candidate at which the segment has more than `segment_bytes` (Chen
/// et al., algorithm 3, with `b = segment_bytes`). The node before the loss is left out: it ends
/// the last segment.
pub fn greedy(graph: &TrainingGraph<'_>, candidates: &[NodeId], segment_bytes: u64) -> Vec<NodeId> {
    cut(graph, candidates, segment_bytes).0
}

/// [`greedy`], and the largest size of an open segment at a candidate. For every `segment_bytes`
/// from there up to the given one the checkpoints are the same, below they differ.
fn cut(graph: &TrainingGraph<'_>, candidates: &[NodeId], segment_bytes: u64) -> (Vec<NodeId>, u64) {
    let mut checkpoints = Vec::new();
    let mut bytes = 0;
    let mut largest_open = 0;
    let mut rest = candidates;
    for &v in graph.activations() {
        bytes += graph.instance().node(v).output_bytes;
        if rest.first() == Some(&v) {
            rest = &rest[1..];
            if bytes > segment_bytes {
                checkpoints.push(v);
                bytes = 0;
            } else {
                largest_open = largest_open.max(bytes);
            }
        }
    }
    drop_end(graph, &mut checkpoints);
    (checkpoints, largest_open)
}

fn drop_end(graph: &TrainingGraph<'_>, checkpoints: &mut Vec<NodeId>) {
    if checkpoints.last() == graph.activations().last() {
        checkpoints.pop();
    }
}

/// Up to this many activations, the search over the segment size tries every size that makes a
/// difference.
const EXHAUSTIVE_UP_TO: usize = 128;

/// Every set of checkpoints that [`greedy`] makes, from no checkpoint to all candidates. Above
/// [`EXHAUSTIVE_UP_TO`] activations the segment size falls in steps of at least one in 128 (up to
/// 500 activations, some hundreds of sets), and coarser ones for longer graphs.
fn all_cuts(graph: &TrainingGraph<'_>, candidates: &[NodeId]) -> Vec<Vec<NodeId>> {
    let length = graph.activations().len();
    let exhaustive = length <= EXHAUSTIVE_UP_TO;
    // A schedule takes time linear in the length, so long graphs get fewer.
    let step = (128 * 500 / length.max(1) as u64).clamp(4, 128);
    let mut found: Vec<Vec<NodeId>> = Vec::new();
    let mut segment_bytes = u64::MAX;
    loop {
        let (checkpoints, largest_open) = cut(graph, candidates, segment_bytes);
        if found.last() != Some(&checkpoints) {
            found.push(checkpoints);
        }
        if largest_open == 0 {
            return found;
        }
        segment_bytes = largest_open - 1;
        if !exhaustive {
            segment_bytes -= segment_bytes / step;
        }
    }
}

/// The best schedule of [`greedy`] over its parameter: the cheapest within the budget, or the one
/// with the least peak.
///
/// # Errors
/// [`NotApplicable::OutOfTime`] before the first schedule.
pub fn best_greedy(
    graph: &TrainingGraph<'_>,
    candidates: &[NodeId],
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let instance = graph.instance();
    let cuts = all_cuts(graph, candidates);
    let cuts = cuts.iter().take_while(|_| !patience.is_over());
    let schedules = cuts.map(|checkpoints| schedule(graph, checkpoints));
    best(instance, budget_bytes, schedules).ok_or(NotApplicable::OutOfTime)
}

/// The schedule for a set of checkpoints, ascending; see the module for its memory semantics.
pub fn schedule(graph: &TrainingGraph<'_>, checkpoints: &[NodeId]) -> CheckmateSchedule {
    let instance = graph.instance();
    let (n, start) = (instance.len(), graph.backward_start());
    let Some(last_checkpoint) = checkpoints.last() else {
        return CheckmateSchedule::checkpoint_all(instance);
    };
    // Segment of each forward node; `None` for checkpoints and the last segment.
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
    let mut retained = StageRuns::new(n, n);
    for (i, of_node) in segment.iter().enumerate() {
        let id = NodeId::from(i);
        let Some(s) = *of_node else {
            retained.fill(i, i + 1, n - 1);
            continue;
        };
        if let Some(last) = graph.last_forward_user(id) {
            retained.fill(i, i + 1, last);
        }
        if let (Some(entry), Some(last)) = (entered_in[s], graph.backward_users(id).last()) {
            retained.fill(i, entry + 1, last.index());
        }
    }
    hold_gradients(graph, &mut retained);
    CheckmateSchedule::tightest(instance, retained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{any_chain, residual};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_search_tries_every_set_of_checkpoints(
            instance in any_chain(),
            picks in prop::collection::vec(any::<bool>(), 24),
        ) {
            let graph = TrainingGraph::new(&instance).unwrap();
            let candidates: Vec<NodeId> =
                graph.activations().iter().copied().filter(|v| picks[v.index()]).collect();
            let total = graph.activations().iter().map(|&v| instance.node(v).output_bytes).sum();
            let mut expected: Vec<Vec<NodeId>> =
                (0..=total).rev().map(|b| greedy(&graph, &candidates, b)).collect();
            expected.dedup();
            prop_assert_eq!(all_cuts(&graph, &candidates), expected);
        }
    }

    #[test]
    fn the_search_of_a_large_graph_stays_small_and_keeps_its_ends() {
        let instance = residual(500);
        let graph = TrainingGraph::new(&instance).unwrap();
        let cuts = all_cuts(&graph, graph.activations());
        assert!(cuts.len() < 1000, "{}", cuts.len());
        assert!(cuts[0].is_empty());
        assert_eq!(cuts[cuts.len() - 1].len(), graph.activations().len() - 1);
    }
}
