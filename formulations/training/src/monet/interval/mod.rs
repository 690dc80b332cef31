//! The interval form of MONeT's program: one column for each stretch of stages over which a tensor
//! is stored.
//!
//! A column is an interval of a forward tensor `i`. It starts in the stage `a` in which `i` is
//! computed, by one of its ways (algorithm, in place or not: [`StartWay`]). It ends in the last
//! stage `e` at whose start `i` is still stored. `e = a` if it is never stored, and then it may be
//! *held* for the backward node of stage `a`. Every way to run a backward node has a column too.
//! Every quantity of the published program is a sum of columns:
//!
//! ```text
//! R[t,i]                   intervals of i that start in t
//! S[t,i]                   intervals of i with a < t <= e
//! P[t,i] + S[t+1,i] >= 1   intervals stored at t + 1 or held in t
//! F, IP                    the way of the start
//! Z[t,i,p] is not needed: (16) to (18) charge tensors that are held instead
//! ```
//!
//! So rows are linear forms in *atoms*: a start, being stored at the start of a stage, being held,
//! or a choice. A column's price is a sum of prices of atoms. The best interval from each start is
//! a suffix minimum. The cheapest life of a tensor is a shortest path with two states a stage
//! (`arcs`). These lives, and the cheapest choice of each stage, give the Lagrangian bound in
//! integers ([`crate::life`]). Module `rows` has all rows ([`Row`]) and the reason why every
//! schedule satisfies them. `docs/theory/monet.md` maps them to the published rows (1) to (18).

mod arcs;
mod branch;
mod cover;
mod cuts;
mod derivation;
mod either;
mod graph;
mod point;
mod program;
mod proof;
mod round;
mod rows;
mod windows;

pub use branch::{Branch, Quantity};
pub use cover::Moment;
pub use cuts::separate_cuts;
pub use derivation::Derivation;
pub use graph::{Choice, MonetGraph, StartWay};
pub use point::Point;
pub use program::{RootError, root_bound};
pub use proof::tree_proof;
pub use rows::{PathCut, Row, RowKind};

use crate::life::Stretch;
use remat_instances::schedule::MonetSchedule;

/// A stretch of stages over which a forward tensor is stored, from its computation on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// The tensor.
    pub node: u32,
    /// The stage in which it is computed.
    pub start: u32,
    /// The last stage at whose start it is stored; `start` if it is never stored.
    pub end: u32,
    /// Way of its computation: index into [`MonetGraph::starts`].
    pub way: u16,
    /// Held for the backward node of `start` without being stored; only where `end == start`.
    pub held: bool,
}

impl Interval {
    /// The way of its start.
    pub fn way<'a>(&self, graph: &'a MonetGraph) -> &'a StartWay {
        &graph.starts(self.node, self.start)[usize::from(self.way)]
    }

    /// The intervals of a schedule that executes, by tensor and start. Storage beyond any use
    /// ([`MonetGraph::last_stored`]) is left out. Dominated ways are replaced by ways that dominate
    /// them.
    pub fn of_schedule(graph: &MonetGraph, schedule: &MonetSchedule) -> Vec<Interval> {
        let mut out = Vec::new();
        for i in 0..graph.columns {
            let node = i as u32;
            let last = graph.last_stored(node) as usize;
            if !graph.is_of_use(node) {
                continue;
            }
            for t in 0..graph.stages.min(last.max(1)) {
                if !schedule.computed.get(t, i) {
                    continue;
                }
                let mut end = t;
                // A second computation while it is stored splits the stretch.
                while end < last
                    && schedule.retained.get(end + 1, i)
                    && (end == t || !schedule.computed.get(end, i))
                {
                    end += 1;
                }
                let reads = &chosen(graph, schedule, t).reads;
                let way = way_of(graph, schedule, t, node);
                out.push(Interval {
                    node,
                    start: t as u32,
                    end: end as u32,
                    way,
                    held: end == t && reads.contains(&node),
                });
            }
        }
        out
    }
}

impl Stretch for Interval {
    type Graph = MonetGraph;

    fn place(&self) -> [u32; 3] {
        [self.node, self.start, self.end]
    }

    /// Returns whether it is held for the backward node of a stage without being stored.
    fn is_at(&self, _: &MonetGraph, stage: u32) -> bool {
        self.held && self.start == stage
    }

    fn bytes(&self, graph: &MonetGraph, _: u32) -> i64 {
        graph.bytes[self.node as usize]
    }

    fn workspace(&self, graph: &MonetGraph) -> i64 {
        self.way(graph).workspace
    }

    fn is_in_place(&self, graph: &MonetGraph) -> bool {
        self.way(graph).in_place
    }
}

/// The undominated choice that stands for a schedule's backward node of a stage.
fn chosen<'a>(graph: &'a MonetGraph, schedule: &MonetSchedule, t: usize) -> &'a Choice {
    &graph.choices[t][graph.choice_of(t, schedule.backward_choice[t])]
}

fn way_of(graph: &MonetGraph, schedule: &MonetSchedule, t: usize, node: u32) -> u16 {
    let i = node as usize;
    graph.way_of(
        node,
        t as u32,
        schedule.forward_choice.get(t, i),
        schedule.in_place.get(t, i),
    )
}
