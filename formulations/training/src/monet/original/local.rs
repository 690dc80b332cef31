//! Tensors that row (17) takes to be in local memory while a node is recomputed: the two upper
//! bounds of the paper (appendix B).
//!
//! The content of local memory around node `j` of stage `t` depends on which later nodes the stage
//! recomputes, which would make the row quadratic. Both bounds are constant lists:
//!
//! - [`LocalBound::Plain`]: tensors that any later forward node reads, as if all of them were
//!   recomputed. These are the `local` lists of the benchmark, which the published runs used.
//! - [`LocalBound::Tight`]: tensors that forward nodes up to `k(t)` read, the last forward node
//!   that backward nodes from `b(t)` on read. Nodes behind it need no recomputation and are fixed
//!   to 0. This costs no optimum, since leaving out a useless run only lowers left sides. So a
//!   schedule of the plain program, without its useless computations, is a schedule of this
//!   program, and the optimum can only be lower. The opposite does not hold. If a skip connection
//!   passes over `j` and ends behind `k(t)`, only the plain bound charges its tensor. A plan that
//!   frees tensors after their last use does not charge it either.

use super::MonetParts;
use remat_instances::instance::{Instance, NodeId};

/// An upper bound on local memory in row (17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalBound {
    /// All later forward nodes count as recomputed: the published program.
    #[default]
    Plain,
    /// Only forward nodes that later backward nodes can use count as recomputed.
    Tight,
}

/// Data of an instance for the tighter bound.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    /// For each stage, one more than the last useful forward node (`k(t) + 1`).
    end: Vec<usize>,
    /// For each forward node, the forward nodes that read it, ascending.
    readers: Vec<Vec<usize>>,
}

impl Horizon {
    pub fn new(instance: &Instance, loss: usize) -> Horizon {
        let nodes = instance.nodes();
        let mut end = vec![loss + 1; nodes.len() - loss];
        let mut last = 0;
        for t in (1..end.len()).rev() {
            let ways = nodes[loss + t].implementations.iter();
            let reads = ways.flat_map(|w| &w.needs).map(|u| u.index());
            last = reads
                .filter(|&u| u <= loss)
                .fold(last, |last, u| last.max(u + 1));
            end[t] = last;
        }
        let mut readers = vec![Vec::new(); loss + 1];
        for (v, node) in nodes.iter().enumerate().take(loss + 1) {
            for u in node.implementations.iter().flat_map(|w| &w.needs) {
                readers[u.index()].push(v);
            }
        }
        Horizon { end, readers }
    }
}

impl MonetParts {
    /// Returns whether the local bound lets forward node `i` run in stage `t`.
    pub fn may_run(&self, t: usize, i: usize) -> bool {
        let horizon = self.horizon.as_ref();
        let until = self.instance.last_monet_stage_again(NodeId::from(i));
        let again = t <= until as usize;
        again && horizon.is_none_or(|h| i < h.end[t])
    }

    /// Tensors that are assumed to be there while node `j` runs in stage `t`, its output aside;
    /// ascending.
    pub fn passing(&self, t: usize, j: usize) -> impl Iterator<Item = usize> {
        let horizon = self.horizon.as_ref().filter(|_| j <= self.loss);
        let list = self.node(j).passing.iter().map(|u| u.index());
        list.filter(move |&u| {
            let Some(h) = horizon else { return true };
            let readers = &h.readers[u];
            // A given list may hold tensors for other reasons than a reader.
            let next = readers.get(readers.partition_point(|&v| v < j));
            next.is_none_or(|&v| v < h.end[t])
        })
    }

    /// Bytes of [`MonetParts::passing`].
    pub fn passing_bytes(&self, t: usize, j: usize) -> i64 {
        self.passing(t, j).map(|u| self.bytes(u)).sum()
    }
}
