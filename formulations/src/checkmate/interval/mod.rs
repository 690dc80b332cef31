//! The interval form of Checkmate's program: one column for each stretch of time that a tensor
//! spends in memory.
//!
//! An *event* `(t,k)` is node `k`'s turn in stage `t`. A column is an interval of tensor `i`: it
//! starts when `i` is first computed, or when it is recomputed in some stage `a` (which costs the
//! node's recomputation `c_i`), and it ends at the event that reads it last. In a schedule without
//! useless retention ([`CheckmateGraph::cleaned`]) every tensor's time in memory is such a set of
//! intervals, no two of one tensor in the same stage, so the form has the integer optima of the
//! whole program. Rows:
//!
//! ```text
//! need (i,b)      intervals of i that cover event (b,b)                                         >=  1
//! input (t,u,j)   intervals of j that cover (t,u)  -  intervals of u that start in stage t      >=  0      lazily
//! parent (t,u)    starts of u's parent in stage t  -  starts of u in stage t                    >=  0      lazily
//! memory (t,k)    sum m_i over intervals that cover (t,k)  +  workspace of a start there        <=  capacity - constants, lazily
//! rounded (t,k)   the same with sizes and capacity rounded (`Gauge`)                                         lazily
//! cover (t,k)     sum w_i over intervals that cover (t,k)  +  w over recomputations of k in t   <=  W           lazily
//! path cuts       intervals crossing the start of a, of tensors of the path,
//!                 + intervals of j that start in [a, b]                                         >=  1      lazily
//! path memory     sum over J of m_k (covers (b,j) - starts behind (a,j), up to (b,j))
//!                 - need_j (intervals of path tensors crossing the start of a)                  <=  capacity - need_j - g, lazily
//! ```
//!
//! The last is stronger than in the compact form: what is read last in stage `b` itself behind the
//! turn of `j` counts as staying. Every dual is a price on an event, a stage boundary or a start,
//! so the best interval of a tensor is found in one sweep over its stages and readers (`sweep`),
//! over *all* intervals, those whose rows are not in the program yet too. The cheapest set of
//! disjoint intervals of each tensor gives the Lagrangian bound (`bound`), in integers and safe
//! before convergence.
//!
//! What a tree branches on is linear in the intervals as well (`branch`), and one more row of the
//! same kind. Relaxations, root and tree are those of every interval form
//! ([`remat_solver::price`]), to which `program` makes this one known.

mod bound;
mod branch;
mod byte_prices;
mod covers;
mod point;
mod price;
mod program;
mod proof;
mod sweep;

pub use bound::lagrangian_bound;
pub use branch::{Branch, Quantity};
pub use covers::EventCover;
pub use point::IntervalPoint;
pub use program::{RootError, root_bound, root_bound_recorded};
pub use proof::tree_proof;
pub(super) use proof::{too_small, trivial};

use super::CheckmateGraph;
use super::path_cuts::{PathCut, PathMemoryCut};
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
                let mut end = start;
                while end + 1 < n && clean.retained.get(end + 1, i) {
                    end += 1;
                }
                // Cleaned: in the last stage it is there somebody reads it, unless nobody ever
                // does.
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
    pub fn is_recomputed(&self) -> bool {
        self.start > self.node
    }

    /// The first event at which its memory is charged to it. A first computation's own event is
    /// not: it happens in every schedule.
    pub(crate) fn first_event(&self, len: usize) -> u32 {
        event(len, self.start, self.node) + u32::from(!self.is_recomputed())
    }

    /// The event that reads it last.
    pub(crate) fn last_event(&self, len: usize) -> u32 {
        event(len, self.end, self.reader)
    }

    /// Returns whether it is in memory at an event.
    pub fn covers(&self, len: usize, stage: u32, node: u32) -> bool {
        let e = event(len, stage, node);
        self.first_event(len) <= e && e <= self.last_event(len)
    }

    /// Returns whether it is in memory when a stage starts.
    pub fn crosses(&self, stage: u32) -> bool {
        self.start < stage && stage <= self.end
    }
}

/// A row of the form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// `node` is there when the node of stage `reader` reads it for the first time.
    Need {
        /// The tensor.
        node: u32,
        /// Its reader, which is also the stage.
        reader: u32,
    },
    /// `input` is there when `node` is recomputed in `stage`.
    Input {
        /// The stage.
        stage: u32,
        /// The node that is recomputed.
        node: u32,
        /// Its input.
        input: u32,
    },
    /// The parent of a by-product is recomputed where that is.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
    },
    /// Memory at an event.
    Memory {
        /// The stage.
        stage: u32,
        /// The node whose turn it is.
        node: u32,
        /// Gauge by which it is measured: index into [`CheckmateGraph::gauges`], 0 for sizes as
        /// they are.
        gauge: u32,
    },
    /// Cover of an event: what fits there, as integers see it.
    Cover(EventCover),
    /// A path cut.
    Path(PathCut),
    /// A path memory cut, with companions.
    PathMemory(PathMemoryCut),
    /// A branching: not a row of every schedule, but of those below one node of the tree.
    Branch(Branch),
}

/// The window of start stages of tensor `k` behind event `(a,j)`, up to event `(b,j)`.
fn starts_between(k: u32, j: u32, a: u32, b: u32) -> std::ops::RangeInclusive<u32> {
    if k < j {
        a + 1..=b
    } else {
        a..=b.saturating_sub(1)
    }
}

impl Row {
    /// Coefficient of an interval: a count, or bytes for memory rows.
    pub fn coefficient(&self, graph: &CheckmateGraph, c: &Interval) -> i64 {
        let n = graph.len();
        let bytes = |k: u32| graph.bytes[k as usize] as i64;
        let starts_in = |stage: u32| c.is_recomputed() && c.start == stage;
        match self {
            Row::Need { node, reader } => {
                i64::from(c.node == *node && c.covers(n, *reader, *reader))
            }
            Row::Input { stage, node, input } => {
                let covers = c.node == *input && c.covers(n, *stage, *node);
                let starts = c.node == *node && starts_in(*stage);
                i64::from(covers) - i64::from(starts)
            }
            Row::Parent { stage, node } => {
                let with = graph.parent[*node as usize] == Some(c.node) && starts_in(*stage);
                let starts = c.node == *node && starts_in(*stage);
                i64::from(with) - i64::from(starts)
            }
            Row::Memory { stage, node, gauge } => {
                let gauge = &graph.gauges[*gauge as usize];
                let starts = c.node == *node && starts_in(*stage);
                match (starts, c.covers(n, *stage, *node)) {
                    (true, _) => gauge.working_again[c.node as usize] as i64,
                    (_, true) => gauge.bytes[c.node as usize] as i64,
                    _ => 0,
                }
            }
            Row::Cover(at) => at.coefficient(n, c),
            Row::Path(cut) => {
                let held = c.crosses(cut.from) && cut.path.contains(&c.node);
                let made = c.node == cut.source()
                    && c.is_recomputed()
                    && (cut.from..=cut.reader).contains(&c.start);
                i64::from(held) + i64::from(made)
            }
            Row::PathMemory(cut) => {
                let (a, b, j) = (cut.path.from, cut.path.reader, cut.path.source());
                let mut value = 0;
                if cut.staying.binary_search(&c.node).is_ok() {
                    let kept = i64::from(c.covers(n, b, j));
                    let made = i64::from(starts_between(c.node, j, a, b).contains(&c.start));
                    value += bytes(c.node) * (kept - made);
                }
                let beside = cut
                    .companions
                    .iter()
                    .filter(|g| g.1 == c.node && c.covers(n, g.0, j));
                value += bytes(c.node) * beside.count() as i64;
                if c.crosses(a) && cut.path.path.contains(&c.node) {
                    value -= graph.need_bytes(j as usize) as i64;
                }
                value
            }
            Row::Branch(branch) => branch.sign() * i64::from(branch.quantity.counts(graph, c)),
        }
    }

    /// The right side: at least this for counts, at most this (in bytes) for memory.
    pub fn right_side(&self, graph: &CheckmateGraph) -> i64 {
        let capacity = graph.capacity as i64;
        match self {
            Row::Need { .. } | Row::Path(_) => 1,
            Row::Input { .. } | Row::Parent { .. } => 0,
            Row::Cover(at) => -i64::from(at.cover.most),
            Row::Memory { stage, node, gauge } => {
                let gauge = &graph.gauges[*gauge as usize];
                let own = match stage == node {
                    true => gauge.working[*node as usize],
                    false => 0,
                };
                gauge.capacity as i64 - own as i64
            }
            Row::PathMemory(cut) => {
                let beside: i64 = cut
                    .companions
                    .iter()
                    .map(|g| graph.bytes[g.1 as usize] as i64)
                    .sum();
                let need = graph.need_bytes(cut.path.source() as usize) + cut.other_bytes;
                capacity - need as i64 + beside
            }
            Row::Branch(branch) => branch.right_side(),
        }
    }

    /// Returns whether it is a memory row: at most, in bytes.
    pub fn is_memory(&self) -> bool {
        matches!(self, Row::Memory { .. } | Row::PathMemory(_))
    }
}
