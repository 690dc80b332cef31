//! Checkmate's memory semantics: Jain et al., MLSys 2020, section 4.4 (U and FREE).

use super::{Meter, Replay, ReplayError};
use crate::instance::{Instance, NodeId};
use crate::schedule::{BitMatrix, CheckmateSchedule};

/// Replays a schedule of Checkmate's program.
///
/// A stage starts with its retained tensors. Its computations run in node order: memory for the
/// output (and workspace) is taken, the node runs at the cost of a first computation in its own
/// stage and of a recomputation in later ones, then every input that neither a later
/// computation of this stage reads nor the next stage retains is freed. A retained tensor that no
/// computation of the stage reads stays until the stage ends, and so does an output that nobody
/// reads (section 4.6: FREE on the diagonal is 0). A by-product is recomputed only in a stage that
/// recomputes its parent; its cost and memory count at its own turn. What is computed
/// [once](crate::instance::Node::once) is not recomputed. Fixed memory is [`Instance::static_bytes`]
/// throughout. Time is linear in the computations and their inputs, plus one bit operation for each
/// (stage, node).
///
/// # Errors
/// [`ReplayError`] names the first stage, node and tensor that make the schedule impossible to
/// execute.
pub fn checkmate(instance: &Instance, schedule: &CheckmateSchedule) -> Result<Replay, ReplayError> {
    let n = instance.len();
    shape("the computed matrix R", &schedule.computed, n)?;
    shape("the retained matrix S", &schedule.retained, n)?;
    let fixed = instance.static_bytes();
    let mut meter = Meter::new();
    let mut resident = vec![false; n];
    let mut reads_left = vec![0u32; n];
    for t in 0..n {
        check_stage(instance, schedule, t)?;
        let mut bytes = fixed;
        for i in schedule.retained.ones(t) {
            resident[i] = true;
            bytes += instance.node(NodeId::from(i)).output_bytes;
        }
        meter.sample(t, None, bytes);
        for k in schedule.computed.ones(t) {
            for need in instance.needs(NodeId::from(k)) {
                reads_left[need.index()] += 1;
            }
        }
        let kept = |i: usize| t + 1 < n && schedule.retained.get(t + 1, i);
        for k in schedule.computed.ones(t) {
            let id = NodeId::from(k);
            let node = instance.node(id);
            for need in node.needs() {
                if !resident[need.index()] {
                    return Err(ReplayError::MissingInput {
                        stage: t,
                        node: id,
                        node_name: node.name.clone(),
                        missing: *need,
                        missing_name: instance.node(*need).name.clone(),
                    });
                }
            }
            // Computing a tensor that is there already takes memory a second time, as U counts it.
            bytes += node.output_bytes;
            resident[k] = true;
            let again = k < t;
            meter.cost += node.run_cost(again);
            meter.computations += 1;
            meter.sample(t, Some(id), bytes + node.run_workspace_bytes(again));
            for need in node.needs() {
                let i = need.index();
                reads_left[i] -= 1;
                if reads_left[i] == 0 && !kept(i) {
                    resident[i] = false;
                    bytes -= instance.node(*need).output_bytes;
                }
            }
        }
        clear(&mut resident, schedule, t);
    }
    Ok(meter.finish(instance.base_cost()))
}

fn shape(what: &'static str, matrix: &BitMatrix, n: usize) -> Result<(), ReplayError> {
    if matrix.rows() == n && matrix.columns() == n {
        return Ok(());
    }
    Err(ReplayError::Shape {
        what,
        found_rows: matrix.rows(),
        found_columns: matrix.columns(),
        rows: n,
        columns: n,
    })
}

fn check_stage(
    instance: &Instance,
    schedule: &CheckmateSchedule,
    t: usize,
) -> Result<(), ReplayError> {
    let name = |i: usize| instance.node(NodeId::from(i)).name.clone();
    let run = |i: NodeId| schedule.computed.get(t, i.index());
    let early = |i: usize, verb: &'static str| ReplayError::TooEarly {
        stage: t,
        node: NodeId::from(i),
        node_name: name(i),
        verb,
    };
    if !schedule.computed.get(t, t) {
        return Err(ReplayError::NotComputed {
            stage: t,
            node: NodeId::from(t),
            node_name: name(t),
        });
    }
    if let Some(i) = schedule.computed.ones(t).find(|&i| i > t) {
        return Err(early(i, "computed"));
    }
    if let Some(i) = schedule.retained.ones(t).find(|&i| i >= t) {
        return Err(early(i, "retained"));
    }
    for k in schedule.computed.ones(t).filter(|&k| k < t) {
        let node = instance.node(NodeId::from(k));
        if !instance.may_recompute(NodeId::from(k)) {
            return Err(ReplayError::NeverAgain {
                stage: t,
                node: NodeId::from(k),
                node_name: node.name.clone(),
            });
        }
        if let Some(parent) = node.parent().filter(|parent| !run(*parent)) {
            return Err(ReplayError::ByProductAlone {
                stage: t,
                node: NodeId::from(k),
                node_name: node.name.clone(),
                parent,
                parent_name: name(parent.index()),
                how: "computed: it comes only with a run of its parent",
            });
        }
    }
    if t == 0 {
        return Ok(());
    }
    for w in 0..schedule.retained.words_per_row() {
        let there = schedule.retained.row(t - 1)[w] | schedule.computed.row(t - 1)[w];
        let ghosts = schedule.retained.row(t)[w] & !there;
        if ghosts != 0 {
            let i = w * 64 + ghosts.trailing_zeros() as usize;
            return Err(ReplayError::NotThere {
                stage: t,
                node: NodeId::from(i),
                node_name: name(i),
            });
        }
    }
    Ok(())
}

fn clear(resident: &mut [bool], schedule: &CheckmateSchedule, t: usize) {
    for i in schedule.retained.ones(t).chain(schedule.computed.ones(t)) {
        resident[i] = false;
    }
}
