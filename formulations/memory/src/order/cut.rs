//! Memory that every order needs when one operator runs: a minimum cut.
//!
//! When `v` runs, all its predecessors have run and none of its successors has. A minimum cut gives
//! the least memory of such sets. With the bytes that `v` takes, it bounds every order.

use super::bits;
use super::reach::Around;
use super::side::SideRun;
use super::valley::{Least, Valley};

/// A cut at an operator.
pub(super) struct NodeCut {
    /// Bytes that every order needs when the operator runs.
    pub bytes: u64,
    /// The cut.
    pub least: Least,
}

/// The cut at an operator that has not run, over the orders from the executed set of `run` to
/// `goal`. The run is at the same set afterwards.
pub(super) fn node_cut(
    run: &mut SideRun<'_>,
    valley: &mut Valley,
    around: Around<'_>,
    goal: &[u64],
    v: u32,
) -> NodeCut {
    let side = run.side;
    let Around { ahead, behind } = around;
    let mut ran = Vec::new();
    let mut free = Vec::new();
    for &u in &side.topological {
        if run.done[u as usize] || u == v {
            continue;
        }
        if bits::has(ahead, u) {
            run.run(u);
            ran.push(u);
        } else if !bits::has(behind, u) && bits::has(goal, u) {
            free.push(u);
        }
    }
    let least = valley.least(run, &free, side.makes.row(v));
    for u in ran.iter().rev() {
        run.undo(*u);
    }
    NodeCut {
        bytes: least.bytes + side.workspace[v as usize],
        least,
    }
}
