//! The interval form of Checkmate's program: one column for each stretch of time that a tensor
//! spends in memory.
//!
//! An *event* `(t,k)` is node `k`'s turn in stage `t`. A column is an interval of tensor `i`. It
//! starts when `i` is first computed, or when `i` is recomputed in some stage `a` at the node's
//! recomputation cost `c_i`. It ends at the event that reads it last. In a schedule without useless
//! retention ([`CheckmateGraph::cleaned`]) every tensor's time in memory is such a set of
//! intervals, no two of one tensor in the same stage. So the form has the integer optima of the
//! whole program. Rows:
//!
//! ```text
//! need (i,b)     intervals of i that cover event (b,b)  >=  1
//! input (t,u,j)  intervals of j that cover (t,u) - intervals of u that start in stage t  >=  0
//! parent (t,u)   starts of u's parent in stage t - starts of u in stage t  >=  0
//! memory (t,k)   sum m_i over intervals that cover (t,k) + workspace of a start there
//!                <=  capacity - constants
//! rounded (t,k)  the same with sizes and capacity rounded (`Gauge`)
//! cover (t,k)    sum w_i over intervals that cover (t,k) + w over recomputations of k in t  <=  W
//! path cuts      intervals crossing the start of a, of tensors of the path,
//!                + intervals of j that start in [a, b]  >=  1
//! path memory    sum over J of m_k (covers (b,j) - starts behind (a,j), up to (b,j))
//!                - need_j (intervals of path tensors crossing the start of a)
//!                <=  capacity - need_j - g
//! ```
//!
//! With `k` micro-batches in flight, rows of memory, rounded or not, and path memory cuts have
//! `(k - 1) m_i` more for each interval that covers the wait ([`Waiting`](crate::waiting::Waiting)).
//!
//! A class of plans ([`ClassRules`](remat_instances::ClassRules)) has further rows (`class`). The
//! program of all plans in the order of the graph has other rows within a stage (`moments`).
//!
//! All rows except needs are added lazily. The last one is stronger than in the compact form: a
//! tensor that is read last in stage `b` itself, behind the turn of `j`, counts as staying. Rows
//! are linear forms in atoms (`rows`): starts, being there at an event, crossing the start of a
//! stage. So one sweep over its stages and readers finds the best interval of a tensor (`arcs`, and
//! the automaton of [`life`](crate::life)). The sweep covers *all* intervals, including those whose
//! rows are not in the program yet. The cheapest set of disjoint intervals of each tensor gives the
//! Lagrangian bound, in integers and safe before convergence.
//!
//! Quantities for branching are linear in the intervals as well (`branch`), so a branching is one
//! more row of the same kind. Relaxations, root and tree are common to all interval forms
//! ([`remat_solver::price`]); `program` connects this form to them.

mod arcs;
mod branch;
mod class;
mod covers;
mod moments;
mod point;
mod program;
mod proof;
mod rows;
mod written;

pub(crate) use branch::open_quantities;
pub use branch::{Branch, Quantity};
pub use class::ClassRow;
pub use covers::EventCover;
pub use moments::Around;
pub use point::IntervalPoint;
pub(crate) use point::{by_tensor, kept};
pub(crate) use program::{ROUNDED_LIMIT, ROUNDED_VIOLATION};
pub use program::{RootError, root_bound};
pub use proof::tree_proof;
pub use rows::Row;
pub use written::written;

use super::CheckmateGraph;
use crate::life::Stretch;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};

/// A stretch of time that a tensor spends in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// The tensor.
    pub node: u32,
    /// The stage in which it is computed; `node` itself for the first computation.
    pub start: u32,
    /// The stage in which it is read last.
    pub end: u32,
    /// The node that reads it last, `node < reader <= end`.
    pub reader: u32,
}

/// The number of an event: node `node`'s turn in stage `stage`.
#[inline]
pub(crate) fn event(len: usize, stage: u32, node: u32) -> u32 {
    stage * len as u32 + node
}

impl Interval {
    /// The intervals of a schedule that executes, after cleaning, by tensor and start.
    pub fn of_schedule(graph: &CheckmateGraph, schedule: &CheckmateSchedule) -> Vec<Interval> {
        let n = graph.len();
        let clean = graph.cleaned(schedule);
        let mut out = Vec::new();
        for i in 0..n {
            let runs = clean.computed.runs(i).iter();
            for start in runs.flat_map(|[first, last]| *first as usize..=*last as usize) {
                let held = clean.retained.runs(i);
                let at = held.binary_search_by_key(&(start as u32 + 1), |run| run[0]);
                let end = at.map_or(start, |at| held[at][1] as usize);
                // In a clean schedule, a tensor with readers is read in the last stage in which it
                // is there.
                let readers = graph.users[i].iter().rev();
                let reader = readers
                    .copied()
                    .find(|&q| q as usize <= end && clean.computed.get(end, q as usize));
                if let Some(reader) = reader {
                    out.push(Interval {
                        node: i as u32,
                        start: start as u32,
                        end: end as u32,
                        reader,
                    });
                }
            }
        }
        out
    }

    /// The sets that intervals retain, in a graph of `n` nodes.
    pub fn retained(list: &[Interval], n: usize) -> StageRuns {
        let mut retained = StageRuns::new(n, n);
        for c in list {
            let [first, last] = [c.start + 1, c.end].map(|stage| stage as usize);
            retained.fill(c.node as usize, first, last);
        }
        retained
    }

    /// Returns whether it begins with a recomputation rather than the first computation.
    #[inline]
    pub fn is_recomputed(&self) -> bool {
        self.start > self.node
    }

    /// The first event at which its memory is charged to it. A first computation's own event is not
    /// charged: it happens in every schedule. With moments, a recomputation is charged from the end
    /// of its stage on.
    #[inline]
    pub(crate) fn first_event(&self, graph: &CheckmateGraph) -> u32 {
        let turn = match graph.has_moments() {
            true => self.start,
            false => self.node,
        };
        event(graph.len(), self.start, turn) + u32::from(!self.is_recomputed())
    }

    /// The event that reads it last. With moments, a reader within the stage has no event; the last
    /// one is before the stage.
    #[inline]
    pub(crate) fn last_event(&self, graph: &CheckmateGraph) -> u32 {
        match graph.has_moments() && self.reader < self.end {
            true => event(graph.len(), self.end, 0) - 1,
            false => event(graph.len(), self.end, self.reader),
        }
    }

    /// Returns whether it is in memory at an event. With moments, it is there at the turn of a
    /// recomputation if it is there throughout the stage.
    #[inline]
    pub fn covers(&self, graph: &CheckmateGraph, stage: u32, node: u32) -> bool {
        let e = event(graph.len(), stage, node);
        (self.first_event(graph)..=self.last_event(graph)).contains(&e)
    }
}

impl Stretch for Interval {
    type Graph = CheckmateGraph;

    #[inline]
    fn place(&self) -> [u32; 3] {
        [self.node, self.start, self.end]
    }

    #[inline]
    fn is_at(&self, graph: &CheckmateGraph, moment: u32) -> bool {
        (self.first_event(graph)..=self.last_event(graph)).contains(&moment)
    }

    #[inline]
    fn bytes(&self, graph: &CheckmateGraph, gauge: u32) -> i64 {
        graph.sizes_of(gauge)[self.node as usize] as i64
    }

    fn workspace(&self, graph: &CheckmateGraph) -> i64 {
        graph.workspace_again[self.node as usize] as i64
    }
}
