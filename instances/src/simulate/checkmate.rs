//! Checkmate's memory semantics: Jain et al., MLSys 2020, section 4.4 (U and FREE).

use super::in_flight::Boundary;
use super::{Meter, Replay, ReplayError};
use crate::instance::{Instance, NodeId};
use crate::schedule::{Changes, CheckmateSchedule, RowLists, StageRuns};

/// Replays a schedule of Checkmate's program.
///
/// A stage starts with its retained tensors. Its computations run in node order. First, memory for
/// the output and workspace is allocated. The node runs at the cost of a first computation in its
/// own stage and of a recomputation in later ones. Then every input is freed that no later
/// computation of this stage reads and the next stage does not retain.
///
/// A retained tensor that no computation of the stage reads stays until the stage ends, and so does
/// an output without a reader (section 4.6: FREE on the diagonal is 0). A by-product is recomputed
/// only in a stage that recomputes its parent; its cost and memory count when it runs. A node that
/// is computed [once](crate::instance::Node::once) is not recomputed. Fixed memory is always
/// [`Instance::static_bytes`]. Time is linear in the computations, their inputs and the runs of the
/// retained sets.
///
/// # Errors
/// [`ReplayError`] names the first stage, node and tensor at which the schedule cannot be executed.
pub fn checkmate(instance: &Instance, schedule: &CheckmateSchedule) -> Result<Replay, ReplayError> {
    let beside = ExtraTerms {
        comes: &|_, _| false,
        freed: &|_, _| 0,
        cost: 0,
    };
    replay_with(instance, schedule, &beside)
}

/// Additional terms of a program that extends Checkmate's.
pub(super) struct ExtraTerms<'a> {
    /// Returns whether a tensor arrives from outside memory in a stage, for the next stage.
    pub comes: &'a dyn Fn(usize, u32) -> bool,
    /// Additional bytes that an input frees after its last reader in a stage.
    pub freed: &'a dyn Fn(NodeId, NodeId) -> u64,
    /// Cost in addition to computations.
    pub cost: u64,
}

/// Replays a schedule of a program with terms in addition to Checkmate's.
pub(super) fn replay_with(
    instance: &Instance,
    schedule: &CheckmateSchedule,
    beside: &ExtraTerms<'_>,
) -> Result<Replay, ReplayError> {
    let n = instance.len();
    shape("the computed matrix R", &schedule.computed, n)?;
    shape("the retained matrix S", &schedule.retained, n)?;
    let fixed = instance.static_bytes();
    let size = |i: u32| instance.node(NodeId(i)).output_bytes;
    let computed = schedule.computed.by_row();
    let retained = schedule.retained.changes();
    let mut meter = Meter::new();
    let mut boundary = Boundary::of(instance);
    let mut resident = vec![false; n];
    // True for each tensor retained into the next stage.
    let mut kept = vec![false; n];
    let mut retained_bytes = 0;
    let mut reads_left = vec![0u32; n];
    for t in 0..n {
        check_stage(instance, &computed, &retained, beside.comes, t)?;
        let mut bytes = fixed + retained_bytes;
        meter.sample(t, None, bytes);
        boundary.note(retained_bytes);
        for &k in computed.row(t) {
            for need in instance.needs(NodeId(k)) {
                reads_left[need.index()] += 1;
            }
        }
        let (begins, ends) = (retained.begins(t + 1), retained.ends(t + 1));
        begins.iter().for_each(|&i| kept[i as usize] = true);
        ends.iter().for_each(|&i| kept[i as usize] = false);
        for &k in computed.row(t) {
            let id = NodeId(k);
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
            if id.index() == t {
                boundary.first(t);
            }
            // Computing a tensor that is already in memory takes memory a second time, as in U.
            bytes += node.output_bytes;
            resident[id.index()] = true;
            let again = id.index() < t;
            meter.cost += node.run_cost(again);
            meter.computations += 1;
            meter.sample(t, Some(id), bytes + node.run_workspace_bytes(again));
            for need in node.needs() {
                let i = need.index();
                reads_left[i] -= 1;
                if reads_left[i] == 0 && !kept[i] {
                    resident[i] = false;
                    // With repeated frees, more bytes may be freed than are in use.
                    let freed = (beside.freed)(*need, id);
                    bytes = bytes.saturating_sub(instance.node(*need).output_bytes + freed);
                }
            }
            boundary.note(bytes.saturating_sub(fixed));
        }
        // Residents at the start of the next stage: only these tensors can have changed.
        for &k in computed.row(t) {
            resident[k as usize] = kept[k as usize];
            for need in instance.needs(NodeId(k)) {
                resident[need.index()] = kept[need.index()];
            }
        }
        for &i in ends {
            resident[i as usize] = false;
            retained_bytes -= size(i);
        }
        for &i in begins {
            resident[i as usize] = true;
            retained_bytes += size(i);
        }
    }
    meter.cost += beside.cost;
    Ok(meter.finish(instance.base_cost(), &boundary))
}

fn shape(what: &'static str, matrix: &StageRuns, n: usize) -> Result<(), ReplayError> {
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

/// Checks a stage, given that the stages before it are valid.
fn check_stage(
    instance: &Instance,
    computed: &RowLists,
    retained: &Changes,
    comes: &dyn Fn(usize, u32) -> bool,
    t: usize,
) -> Result<(), ReplayError> {
    let name = |i: NodeId| instance.node(i).name.clone();
    let runs = |i: NodeId, stage: usize| computed.row(stage).binary_search(&i.0).is_ok();
    let early = |i: u32, verb: &'static str| ReplayError::TooEarly {
        stage: t,
        node: NodeId(i),
        node_name: name(NodeId(i)),
        verb,
    };
    let own = NodeId::from(t);
    if !runs(own, t) {
        return Err(ReplayError::NotComputed {
            stage: t,
            node: own,
            node_name: name(own),
        });
    }
    if let Some(i) = computed.row(t).iter().find(|i| **i > own.0) {
        return Err(early(*i, "computed"));
    }
    if let Some(i) = retained.begins(t).iter().find(|i| **i >= own.0) {
        return Err(early(*i, "retained"));
    }
    for k in computed.row(t).iter().map(|k| NodeId(*k)) {
        if k == own {
            continue;
        }
        let node = instance.node(k);
        if !instance.may_recompute_in(k, own) {
            return Err(ReplayError::never_again(instance, t, k));
        }
        if let Some(parent) = node.parent().filter(|parent| !runs(*parent, t)) {
            return Err(ReplayError::ByProductAlone {
                stage: t,
                node: k,
                node_name: node.name.clone(),
                parent,
                parent_name: name(parent),
                how: "computed: it comes only with a run of its parent",
            });
        }
    }
    // No tensor is retained into stage 0, as checked above.
    let is_there = |i: &&u32| t > 0 && (runs(NodeId(**i), t - 1) || comes(t - 1, **i));
    if let Some(ghost) = retained.begins(t).iter().find(|i| !is_there(i)) {
        return Err(ReplayError::NotThere {
            stage: t,
            node: NodeId(*ghost),
            node_name: name(NodeId(*ghost)),
        });
    }
    Ok(())
}
