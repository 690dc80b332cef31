//! Retained sets of one order carried over to another one.

use super::moves::NodeOrder;
use remat_instances::Semantics;
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::schedule::BitMatrix;
use std::collections::BTreeMap;

/// Retained sets of one order in the numbering of another order, as a start for annealing.
///
/// Stages move with their nodes. A stage whose node moved elsewhere holds the same tensors as the
/// next stage whose node stayed. A tensor whose node moved forward is held from there on, if it was
/// held at all after it was computed.
pub(super) fn carried(
    retained: &BitMatrix,
    semantics: Semantics,
    old: &NodeOrder,
    new: &NodeOrder,
) -> BitMatrix {
    match semantics.has_stage_for_each_node() {
        true => of_stages(retained, old, new),
        false => of_passes(retained, old, new),
    }
}

fn of_stages(retained: &BitMatrix, old: &NodeOrder, new: &NodeOrder) -> BitMatrix {
    let n = new.nodes.len();
    let stayed = staying(old, new);
    let mut out = BitMatrix::new(n, n);
    let columns: Vec<usize> = new.nodes.iter().map(|id| old.position(*id)).collect();
    let mut next: Option<usize> = None;
    for k in (0..n).rev() {
        let own = columns[k];
        if stayed[own] {
            next = Some(own);
        }
        let row = next.unwrap_or(own);
        for (j, column) in columns[..k].iter().enumerate() {
            if retained.get(row, *column) {
                out.set(k, j, true);
            }
        }
    }
    for (j, column) in columns.iter().enumerate() {
        let held = (column + 1..n).take_while(|row| retained.get(*row, *column));
        let last = held.filter(|row| stayed[*row]).last();
        if let Some(last) = last {
            let last = new.position(old.nodes[last]);
            (j + 1..=last).for_each(|row| out.set(row, j, true));
        }
    }
    out
}

/// MONeT's sets: a row for each backward node, and columns up to the loss.
fn of_passes(retained: &BitMatrix, old: &NodeOrder, new: &NodeOrder) -> BitMatrix {
    let (rows, columns) = (retained.rows(), retained.columns());
    let mut out = BitMatrix::new(rows, columns);
    let from = |k: usize| old.position(new.nodes[k]);
    let node_of = |row: usize| columns - 1 + row;
    for row in 0..rows {
        let source = match node_of(row) {
            k if row > 0 && k < new.nodes.len() => (from(k) + 1).saturating_sub(columns),
            _ => row,
        };
        for j in 0..columns {
            if retained.get(source, from(j)) {
                out.set(row, j, true);
            }
        }
    }
    out
}

/// The sets that a plan holds at the start of each stage of Checkmate's program. The numbering of
/// both is the plan's order of first computations.
pub(super) fn sets_of_plan(plan: &Plan, nodes: usize) -> BitMatrix {
    let mut sets = BitMatrix::new(nodes, nodes);
    let mut since: BTreeMap<Register, (usize, usize)> = BTreeMap::new();
    let mut stage = 0;
    for step in &plan.steps {
        match *step {
            Step::Allocate { .. }
            | Step::Offload { .. }
            | Step::Wait { .. }
            | Step::Prefetch { .. }
            | Step::Release { .. }
            | Step::Gather { .. }
            | Step::Scatter { .. } => {}
            Step::Compute { node, register, .. } => {
                since.insert(register, (node.index(), stage));
                stage += usize::from(node.index() == stage);
            }
            Step::Deallocate { register } => {
                let Some((node, first)) = since.remove(&register) else {
                    continue;
                };
                // A value computed and freed within one stage is not held at the start of any
                // stage.
                let last = stage.min(nodes - 1);
                (first + 1..=last).for_each(|row| sets.set(row, node, row > node));
            }
        }
    }
    sets
}

/// For each position of the old order, true if its node stayed. The nodes that stayed are a longest
/// common subsequence of both orders.
fn staying(old: &NodeOrder, new: &NodeOrder) -> Vec<bool> {
    let n = new.nodes.len();
    let at = |id: &NodeId| old.position(*id);
    // Patience sorting: the last position of the best chain of each length, and its predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; n];
    for place in new.nodes.iter().map(at) {
        let length = ends.partition_point(|end| *end < place);
        before[place] = length.checked_sub(1).map(|l| ends[l]);
        match ends.get_mut(length) {
            Some(end) => *end = place,
            None => ends.push(place),
        }
    }
    let mut stayed = vec![false; n];
    let mut next = ends.last().copied();
    while let Some(place) = next {
        stayed[place] = true;
        next = before[place];
    }
    stayed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(nodes: &[u32]) -> NodeOrder {
        NodeOrder::new(nodes.iter().copied().map(NodeId).collect())
    }

    #[test]
    fn the_same_order_keeps_the_sets() {
        let given = order(&[0, 1, 2, 3]);
        let mut sets = BitMatrix::new(4, 4);
        for (row, column) in [(1, 0), (2, 0), (3, 0), (2, 1), (3, 2)] {
            sets.set(row, column, true);
        }
        assert_eq!(carried(&sets, Semantics::Checkmate, &given, &given), sets);
    }

    #[test]
    fn a_node_that_goes_forward_is_held_from_there_on() {
        let (given, moved) = (order(&[0, 1, 2, 3]), order(&[2, 0, 1, 3]));
        let mut sets = BitMatrix::new(4, 4);
        for (row, column) in [(1, 0), (2, 0), (2, 1), (3, 2), (3, 1)] {
            sets.set(row, column, true);
        }
        let carried = carried(&sets, Semantics::Checkmate, &given, &moved);
        // Node 2 is made first, and held for node 3.
        assert!((1..4).all(|row| carried.get(row, 0)));
        // Node 0 is held for node 1, not beyond, as row 3 does not hold it.
        assert!(carried.get(2, 1) && !carried.get(3, 1) && carried.get(3, 2));
    }
}
