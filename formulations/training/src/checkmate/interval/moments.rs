//! Rows of the program of all plans in the order of the graph: memory is counted at moments.
//!
//! Moment `t` is when node `t` has just been computed for the first time. A plan has `S_t` in
//! memory then, and computes `R_t` between moments `t - 1` and `t`. The plan of a column is: a
//! tensor of `R_t` begins in stage `t`; it stays as long as it is in memory at moments and is not
//! computed anew. So a column that begins before stage `t` and is there at moment `t` was there all
//! the time. With that meaning of being there at an event, the rows of the form are:
//!
//! ```text
//! memory (t,t)   as in the form of stage schedules
//! around (t,k)   sum of m_i whole_i(t) - sum over J of m_j whole_j(t)
//!                + (m_k + workspace + sum over J of m_j) start_k(t)  <=  capacity
//! input (t,u,j)  crossing of the start of t by j + starts of j in t - starts of u in t  >=  0
//! parent (t,u)   starts of u's parent in stages up to t - starts of u in stage t  >=  0
//! ```
//!
//! `J` are inputs of `k`: if `k` is computed in the stage, they are in memory with it, whether whole
//! or not. Needs and path cuts hold word for word: they speak of starts, of crossings of
//! stages and of moments alone. Covers hold at moments; around a recomputation, nothing but its
//! inputs is certain to be there. Path memory cuts charge what is there whole in all stages of the
//! window. `docs/theory/every-plan.md` has the proofs (Theorem 1).

use super::{CheckmateGraph, IntervalPoint, Row, event};
use crate::life::{Atom, Term, Which};
use std::fmt::Write;

/// Memory around the recomputation of a node, whatever the order within the stage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Around {
    /// Gauge by which it is measured: index into [`CheckmateGraph::gauges`], 0 for exact sizes.
    pub gauge: u32,
    /// The stage.
    pub stage: u32,
    /// The node that is recomputed.
    pub node: u32,
    /// `J`: inputs that count with the recomputation, ascending; the others count while whole.
    pub with: Vec<u32>,
}

impl Around {
    /// Passes its terms to `note`; of single tensors only those of `of`, if it is given.
    pub(super) fn terms(
        &self,
        graph: &CheckmateGraph,
        of: Option<u32>,
        mut note: impl FnMut(Term),
    ) {
        let gauge = &graph.gauges[self.gauge as usize];
        // All turns before the last of a stage are alike.
        let moment = event(graph.len(), self.stage, 0);
        let atom = Atom::Bytes {
            moment,
            gauge: self.gauge,
        };
        note(Term {
            atom,
            coefficient: 1,
        });
        graph.waiting_term(self.gauge).map(&mut note);
        let is_named = |k: u32| of.is_none_or(|of| of == k);
        let bytes = |k: &u32| gauge.bytes[*k as usize] as i64;
        for j in self.with.iter().filter(|j| is_named(**j)) {
            note(Term::at(*j, moment, -bytes(j)));
        }
        if is_named(self.node) {
            let inputs: i64 = self.with.iter().map(bytes).sum();
            let own = gauge.working_again[self.node as usize] as i64 + inputs;
            note(Term::start(
                self.node,
                self.stage,
                self.stage,
                Which::All,
                own,
            ));
        }
    }

    /// Writes it for a proof.
    pub(super) fn write(&self, graph: &CheckmateGraph, text: &mut String) {
        let unit = graph.gauges[self.gauge as usize].unit;
        // Writing to a string cannot fail.
        let _ = write!(text, "around {} {} {unit}", self.stage, self.node);
        crate::life::proof::write_list(self.with.iter(), text);
    }
}

impl IntervalPoint {
    /// Recomputations around which the memory, measured by a gauge, exceeds `limit_bytes`, worst
    /// first, at most `per_stage` in a stage, without `known` rows.
    pub(super) fn violated_around(
        &self,
        graph: &CheckmateGraph,
        gauge: u32,
        limit_bytes: f64,
        per_stage: usize,
        known: impl Fn(&Row) -> bool,
    ) -> Vec<Row> {
        if !graph.has_moments() {
            return Vec::new();
        }
        let measure = &graph.gauges[gauge as usize];
        let tensors = self.by_tensor(graph);
        let mut whole = vec![0.0; graph.len() + 1];
        for &(c, x) in &self.intervals {
            let end = c.end + u32::from(c.reader == c.end);
            if c.start + 1 < end {
                let held = measure.bytes[c.node as usize] as f64 * x;
                whole[c.start as usize + 1] += held;
                whole[end as usize] -= held;
            }
        }
        for t in 1..whole.len() {
            whole[t] += whole[t - 1];
        }
        let beside = self.waiting_bytes(graph, gauge);
        let mut found: Vec<(f64, Around)> = Vec::new();
        for (node, stage, made) in self.recomputations() {
            let mut load = beside + whole[stage as usize];
            load += measure.working_again[node as usize] as f64 * made;
            let mut with = Vec::new();
            for &j in &graph.needs[node as usize] {
                let there = self.intervals[tensors[j as usize].clone()].iter();
                let there = there.filter(|(d, _)| d.covers(graph, stage, node));
                let more = made - there.map(|d| d.1).sum::<f64>();
                if more > 0.0 {
                    load += measure.bytes[j as usize] as f64 * more;
                    with.push(j);
                }
            }
            if load > limit_bytes {
                let row = Around {
                    gauge,
                    stage,
                    node,
                    with,
                };
                found.push((load, row));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut of_stage = vec![0; graph.len()];
        let mut rows = Vec::new();
        for (_, around) in found {
            let stage = around.stage as usize;
            let row = Row::Around(around);
            if of_stage[stage] < per_stage && !known(&row) {
                of_stage[stage] += 1;
                rows.push(row);
            }
        }
        rows
    }
}
