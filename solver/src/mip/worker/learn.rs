//! Learning from closed nodes: rows from dual proofs, clauses from the implications before a
//! conflict.

use super::{RoundShared, Worker};
use crate::mip::branching::pseudocost::Observation;
use crate::mip::domain::clauses::{Clause, implication};
use crate::mip::relaxation::ExtraRow;
use crate::mip::relaxation::conflict;
use std::sync::Arc;

/// Limit on the clauses, and on the rows, that a worker learns in a round.
const LEARNED_PER_ROUND_LIMIT: usize = 20;

impl Worker {
    /// Propagates learned rows, alternating with the rows of the problem.
    pub(super) fn propagate_conflicts(&mut self, shared: &RoundShared) -> bool {
        if !shared.settings.conflicts || !shared.settings.propagation {
            return true;
        }
        let p = shared.problem.clone();
        for _ in 0..3 {
            let mut any = false;
            let own = std::mem::take(&mut self.report.learned);
            for row in shared.conflicts.iter().map(|c| &c.row).chain(&own) {
                if self.domain.propagate_extra(&p, &row.entries, row.upper) {
                    any = true;
                    self.report.used.push(row.tag);
                }
                if self.domain.infeasible {
                    break;
                }
            }
            self.report.learned = own;
            if self.domain.infeasible {
                return false;
            }
            if !any {
                return true;
            }
            if !self.domain.propagate(&p) {
                return false;
            }
        }
        true
    }

    /// Learns from the proof that closed the last relaxation.
    pub(crate) fn learn_conflict(&mut self, shared: &RoundShared) {
        let Some((y, with_objective)) = self.relax.proof.take() else {
            return;
        };
        let rows = shared.settings.conflicts && self.report.learned.len() < LEARNED_PER_ROUND_LIMIT;
        let clauses =
            shared.settings.clauses && self.report.clauses.len() < LEARNED_PER_ROUND_LIMIT;
        if !shared.settings.propagation || !(rows || clauses) {
            return;
        }
        if with_objective && !self.cutoff.is_finite() {
            return;
        }
        let p = shared.problem.clone();
        let global = (shared.lower.as_slice(), shared.upper.as_slice());
        let base = p.num_rows();
        let extra = self.relax.extra();
        let is_local = |i: usize| i >= base && self.local.contains(&extra[i - base].tag);
        let cutoff = with_objective.then_some(self.cutoff);
        let model = self.relax.model();
        self.domain.ticks += model.num_nonzeros() as u64;
        // The valid sign of a ray is unknown; the one that yields a contradiction is used.
        let (mut row, mut clause) = (None, None);
        for sign in [1.0, -1.0] {
            let y: Vec<f64> = y.iter().map(|v| sign * v).collect();
            let Some(proof) = conflict::row_of(model, &y, global, cutoff, is_local) else {
                continue;
            };
            if clauses && clause.is_none() {
                clause = implication::proof_positions(&self.domain, &proof.0, proof.1, global);
            }
            if rows && row.is_none() {
                row = conflict::learn(&p, proof, global, &self.domain);
            }
        }
        let has_clause = clause.is_some();
        if let Some(start) = clause {
            self.learn_clause(shared, start);
        }
        let Some((entries, upper)) = row else {
            return;
        };
        if !has_clause {
            let bounds = entries.iter().map(|e| (e.0, e.1 > 0.0)).collect();
            self.observe(Observation::Conflict(bounds));
        }
        if let Some(d) = &shared.debug {
            d.check_conflict(&entries, upper, self.cutoff);
        }
        let tag = self.fresh_id();
        self.report.learned.push(Arc::new(ExtraRow {
            tag,
            entries,
            lower: f64::NEG_INFINITY,
            upper,
        }));
    }

    /// Learns from propagation that made the present domain infeasible.
    pub(crate) fn learn_from_propagation(&mut self, shared: &RoundShared) {
        if !shared.settings.clauses
            || !shared.settings.propagation
            || !self.domain.infeasible
            || self.report.clauses.len() >= LEARNED_PER_ROUND_LIMIT
        {
            return;
        }
        if let Some(start) = implication::conflict_positions(&shared.problem, &self.domain) {
            self.learn_clause(shared, start);
        }
    }

    /// Learns a clause from positions on the trail that together are infeasible.
    fn learn_clause(&mut self, shared: &RoundShared, start: Vec<u32>) {
        let p = shared.problem.clone();
        let longest = 20 + p.num_cols() / 10;
        self.domain.ticks += 20 * start.len() as u64;
        let Some(literals) = implication::first_uip(&p, &self.domain, start, longest.min(200))
        else {
            return;
        };
        if let Some(d) = &shared.debug {
            d.check_clause(&literals, self.cutoff);
        }
        let bounds = literals.iter().map(|l| (l.col, !l.upper)).collect();
        self.observe(Observation::Conflict(bounds));
        let tag = self.fresh_id();
        let clause = Arc::new(Clause { tag, literals });
        self.domain.add_clause(clause.clone());
        self.report.clauses.push(clause);
    }

    /// Reports the clauses that implied bounds.
    pub(super) fn report_used_clauses(&mut self) {
        let c = &mut self.domain.clauses;
        let tags = (c.used.iter().zip(&c.clauses)).filter(|(used, _)| **used);
        self.report.used_clauses.extend(tags.map(|(_, c)| c.tag));
        c.used.fill(false);
    }
}
