//! The retention-edge form of Checkmate's program.
//!
//! `R[t,i]`: node `i` is recomputed in stage `t`. `S[t,i]`: tensor `i` is in memory when stage `t`
//! starts. For the readers `q1 < q2 < ..` of `i`, `E[t,i,q]`: `i` is still held in stage `t` when
//! the turn of `q` comes. With `E[t,i,q] >= R[t,q]`, `E[t,i,q_s] >= E[t,i,q_{s+1}]` and
//! `E[t,i,q_last] >= S[t+1,i]`, the memory while `k` runs in stage `t` is linear without the
//! published program's `FREE` and `U`:
//!
//! ```text
//! row (t,k):  sum_{i<k} m_i E[t,i, first reader of i at or after k]     (S[t+1,i] where no reader is left)
//!             + (m_k + workspace_k) R[t,k] + sum_{i>k} m_i S[t,i]  <=  capacity
//! ```
//!
//! **Same integer optima.** Take a schedule of the published program and remove its unused runs and
//! tensors ([`CheckmateGraph::cleaned`]): its cost and its memory do not rise. In the cleaned
//! schedule every retained tensor is read in its stage or retained further. So at every moment each
//! tensor in memory has a later reader in the stage or a place in the next. These are exactly the
//! tensors with `E = 1` at its least value (or `S = 1`, before their own turn). The row's left side
//! is therefore the memory `U` of the cleaned schedule, and the schedule is a point here.
//! Conversely, the `R` and `S` of an integer point of this form satisfy the published rows for `R`
//! and `S`. Its `E` are at least the least ones, so after cleaning the replayed memory is at most
//! the row's left side. The memory when a stage starts needs no row: it is part of the memory at
//! the end of the stage before.
//!
//! A known value has no column: `R[t,t] = 1`, tensors without a reader left are 0, and with
//! `R[t,q] = 1` the edges up to `q` are 1.

mod build;
mod cuts;
mod lazy;
mod memory;

pub use cuts::{memory_cut_row, path_cut_row, point_of, separate_memory_cuts};
pub use lazy::{LazyOutcome, LazySettings, solve_lazily};
pub use memory::MemoryRow;

use remat_formulations::checkmate::CheckmateGraph;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_lp::{Basis, ColId, Model, RowId, VarStatus};

/// Decisions that have columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Any tensor may be recomputed or dropped in any stage: the whole program.
    Full,
    /// No recomputation before the first backward node; gradients are kept until their last reader
    /// and never recomputed. Every published optimal schedule satisfies this restriction. For
    /// graphs with a loss.
    Rectangular,
}

/// A decision of the program: known, or a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Known to be 0.
    Zero,
    /// Known to be 1.
    One,
    /// To be decided.
    Column(ColId),
}

impl Entry {
    /// The value at a point.
    #[inline]
    pub fn value(self, x: &[f64]) -> f64 {
        match self {
            Entry::Zero => 0.0,
            Entry::One => 1.0,
            Entry::Column(c) => x[c.index()],
        }
    }
}

/// Decision of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `R[stage, node]`.
    Computed {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// `S[stage, node]`.
    Retained {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// `E[stage, node, reader]`.
    Held {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The reader whose turn it is.
        reader: u32,
    },
}

/// The form as a linear program without memory rows, and the index from decisions to columns.
#[derive(Clone, Debug)]
pub struct Compact {
    graph: CheckmateGraph,
    space: Space,
    model: Model,
    decisions: Vec<Decision>,
    /// `R[t,i]` and `S[t,i]`, `len x len`, by rows.
    computed: Vec<Entry>,
    retained: Vec<Entry>,
    /// `E[t,i,.]` of each (t,i) as (reader, value), readers ascending; only readers that may run in
    /// the stage.
    held: Vec<(u32, Entry)>,
    held_start: Vec<u32>,
}

impl Compact {
    /// Builds the form. Columns are continuous in `[0, 1]` and marked as integer; memory rows are
    /// left out.
    ///
    /// `Space::Rectangular` needs a graph with a loss; `Space::Full` is taken for others.
    pub fn new(graph: CheckmateGraph, space: Space) -> Compact {
        build::build(graph, space)
    }

    /// The graph.
    pub fn graph(&self) -> &CheckmateGraph {
        &self.graph
    }

    /// Decisions that have columns.
    pub fn space(&self) -> Space {
        self.space
    }

    /// The linear program without memory rows: minimise the total cost.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Decision of each column.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// `R[stage, node]`.
    ///
    /// # Panics
    /// If there is no such stage or node.
    #[inline]
    pub fn computed(&self, stage: usize, node: usize) -> Entry {
        self.computed[stage * self.graph.len() + node]
    }

    /// `S[stage, node]`; 0 after the last stage.
    ///
    /// # Panics
    /// If there is no such node.
    #[inline]
    pub fn retained(&self, stage: usize, node: usize) -> Entry {
        let n = self.graph.len();
        assert!(node < n);
        self.retained
            .get(stage * n + node)
            .copied()
            .unwrap_or(Entry::Zero)
    }

    /// `E[stage, node, .]` as (reader, value), readers ascending; only readers that may run in the
    /// stage.
    pub fn held(&self, stage: usize, node: usize) -> &[(u32, Entry)] {
        let at = stage * self.graph.len() + node;
        &self.held[self.held_start[at] as usize..self.held_start[at + 1] as usize]
    }

    /// Returns whether `node` is in memory when the turn of `k > node` comes in `stage`: `E` of the
    /// first reader at or after `k`, or `S` of the next stage.
    pub fn present(&self, stage: usize, node: usize, k: usize) -> Entry {
        let reader = self
            .held(stage, node)
            .iter()
            .find(|(q, _)| *q as usize >= k);
        reader.map_or_else(|| self.retained(stage + 1, node), |(_, e)| *e)
    }

    /// A basis of "keep everything": all recomputations are 0, all retentions 1. It is optimal
    /// without memory rows and dual feasible with them, for all costs.
    ///
    /// That point has many bases. In this one a retention is basic if a row requires it: `S[t,i]`
    /// in `S[t,i] + R[t,i] >= S[t+1,i]`, a retention edge in the row below it. The basis is
    /// triangular (a row's other column is a later one), and only columns without a cost are basic,
    /// so all duals are zero. A memory row can then trade `S` for `R` along a whole chain at once.
    /// If everything were nonbasic at its upper bound, the chain would enter link by link
    /// (`bench/results/remat_lp.txt`).
    pub fn keep_everything(&self) -> Basis {
        let mut cols: Vec<VarStatus> = self
            .decisions
            .iter()
            .map(|d| match d {
                Decision::Computed { .. } => VarStatus::AtLower,
                _ => VarStatus::AtUpper,
            })
            .collect();
        let mut rows = vec![VarStatus::Basic; self.model.num_rows()];
        for (r, status) in rows.iter_mut().enumerate() {
            let row = RowId(r as u32);
            let mut activity = 0.0;
            let mut asked = None;
            for (c, v) in self.model.row(row) {
                if !matches!(self.decisions[c.index()], Decision::Computed { .. }) {
                    activity += v;
                    if v > 0.0 {
                        asked = Some(c.index());
                    }
                }
            }
            let tight = activity == self.model.row_bounds(row).lower;
            if let Some(c) = asked.filter(|&c| tight && cols[c] != VarStatus::Basic) {
                cols[c] = VarStatus::Basic;
                *status = VarStatus::AtLower;
            }
        }
        Basis { cols, rows }
    }

    /// The point of a schedule, or `None` if the cleaned schedule is outside the space.
    ///
    /// The schedule must be one that executes. Retention edges take their least values.
    pub fn point(&self, schedule: &CheckmateSchedule) -> Option<Vec<f64>> {
        let n = self.graph.len();
        let clean = self.graph.cleaned(schedule);
        let mut x = vec![0.0; self.decisions.len()];
        let mut put = |entry: Entry, value: bool, keep: bool| match entry {
            Entry::Column(c) => {
                x[c.index()] = f64::from(u8::from(value));
                true
            }
            Entry::Zero => !value,
            // A schedule that leaves out a decision known to be 1 is outside, unless `keep` excuses
            // it.
            Entry::One => value || keep,
        };
        for t in 0..n {
            for i in 0..t {
                // Before the loss, the rectangular space shares `S[t,i]` with a later stage.
                let later = self.space == Space::Rectangular
                    && self.graph.first_backward.is_some_and(|f| t < f as usize);
                if !put(self.computed(t, i), clean.computed.get(t, i), false) {
                    return None;
                }
                if !later && !put(self.retained(t, i), clean.retained.get(t, i), false) {
                    return None;
                }
            }
        }
        let run = |m: &StageRuns, t: usize, i: usize| t < n && m.get(t, i);
        for (c, d) in self.decisions.iter().enumerate() {
            if let Decision::Held {
                stage,
                node,
                reader,
            } = *d
            {
                let (t, i) = (stage as usize, node as usize);
                let read = self.graph.users[i]
                    .iter()
                    .any(|&q| q >= reader && run(&clean.computed, t, q as usize));
                x[c] = f64::from(u8::from(read || run(&clean.retained, t + 1, i)));
            }
        }
        Some(x)
    }
}
