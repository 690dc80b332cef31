//! Schedules from their retained and stored tensors.
//!
//! The sets of a schedule are a matrix of bits, stages by tensors, for the tensors retained when
//! each stage starts. The first stage starts with no tensors, so its row marks the tensors that go
//! to secondary storage when they are first held.

use super::PoetInstance;
use remat_instances::instance::NodeId;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, PoetSchedule};
use remat_instances::simulate::{self, Replay, ReplayError};

/// The schedule of given sets with the cheapest computations, and with page-ins in place of
/// computations of stored tensors. Only tensors that are paged in are paged out.
pub(super) fn of_sets(instance: &PoetInstance, sets: &BitMatrix) -> PoetSchedule {
    let graph = instance.graph();
    let n = graph.len();
    let mut retained = sets.clone();
    for t in 0..n {
        retained.clear_from(t, t);
    }
    // The first stage that starts with each tensor.
    let first: Vec<Option<usize>> = (0..n)
        .map(|i| (i + 1..n).find(|t| retained.get(*t, i)))
        .collect();
    let mut computed = BitMatrix::new(n, n);
    let mut paged_in = BitMatrix::new(n, n);
    let mut paged_out = vec![None; n];
    for t in 0..n {
        let is_next = |i: usize| t + 1 < n && retained.get(t + 1, i);
        let is_stored = |i: usize| {
            sets.get(0, i) && instance.pages()[i].is_some() && first[i].is_some_and(|p| p < t)
        };
        computed.set(t, t, true);
        for k in (0..=t).rev() {
            if is_next(k) && !retained.get(t, k) && !is_stored(k) {
                computed.set(t, k, true);
            }
            if computed.get(t, k) {
                for need in graph.node(NodeId::from(k)).needs() {
                    if !retained.get(t, need.index()) {
                        computed.set(t, need.index(), true);
                    }
                }
            }
        }
        for i in 0..t {
            if is_next(i) && !retained.get(t, i) && !computed.get(t, i) {
                paged_in.set(t, i, true);
                paged_out[i] = first[i].map(|p| p as u32);
            }
        }
    }
    PoetSchedule {
        schedule: CheckmateSchedule {
            computed: computed.into(),
            retained: retained.into(),
        },
        paged_out,
        paged_in,
    }
}

/// The sets of a schedule.
pub(super) fn sets(schedule: &PoetSchedule) -> BitMatrix {
    let mut sets = schedule.schedule.retained.to_bits();
    for (i, out) in schedule.paged_out.iter().enumerate() {
        sets.set(0, i, out.is_some());
    }
    sets
}

/// Replays a schedule.
///
/// # Errors
/// [`ReplayError`] for a schedule that cannot be executed.
pub(super) fn replay(
    instance: &PoetInstance,
    schedule: &PoetSchedule,
) -> Result<Replay, ReplayError> {
    simulate::poet(instance.graph(), instance.terms(), schedule)
}
