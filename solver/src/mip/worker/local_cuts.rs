//! Cuts at nodes of the tree, from the bounds valid there: rows of the node's subtree, passed to
//! its children.

use super::{RoundShared, Worker};
use crate::mip::cuts::{self, Context, CutPool, SeparationEffort};
use crate::mip::relaxation::ExtraRow;
use remat_lp::{ModelError, Solution, VarStatus};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Limit on the cuts of a node.
const CUTS_PER_NODE_LIMIT: usize = 20;

/// Shares of gaps that some work has closed, and its ticks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Yield {
    pub share: f64,
    pub ticks: u64,
}

impl Yield {
    /// Counts a bound that rose from `before` to `after`.
    pub fn rise(&mut self, before: f64, after: f64, cutoff: f64) {
        let gap = match cutoff.is_finite() {
            true => cutoff - before,
            false => 0.1 * before.abs().max(1.0),
        };
        if gap > 0.0 {
            self.share += ((after - before) / gap).clamp(0.0, 1.0);
        }
    }

    fn per_tick(&self) -> f64 {
        self.share / self.ticks.max(1) as f64
    }
}

/// Cuts found by separation at nodes, and their yield beside the yield of branching.
#[derive(Default)]
pub(super) struct LocalCuts {
    /// Cuts of the present node.
    pub rows: Vec<Arc<ExtraRow>>,
    pub tries: u64,
    pub cuts: Yield,
    pub branching: Yield,
}

/// Yield of branching per tick that cuts must exceed, as a factor: their rows make all relaxations
/// below dearer.
const PRICE: f64 = 2.0;

/// Rounds of cuts that are tried before their yield counts.
const FREE_ROUNDS: u64 = 8;

impl LocalCuts {
    /// Returns whether a node at this depth is worth a round: every fourth level, but rarely if
    /// branching closes gaps at a lower price.
    pub fn due(&self, shared: &RoundShared, depth: u32, processed: u64) -> bool {
        let s = &shared.settings;
        let promising = self.tries < FREE_ROUNDS
            || self.cuts.per_tick() >= PRICE * self.branching.per_tick()
            || processed.is_multiple_of(64);
        s.cuts && s.local_cuts && depth % 4 == 1 && s.nesting == 0 && promising
    }

    /// Notes the outcome of a round.
    pub fn judge(&mut self, before: f64, after: f64, cutoff: f64) {
        self.tries += 1;
        self.cuts.rise(before, after, cutoff);
    }
}

impl Worker {
    /// Runs a round of separation with the bounds of the present node. Returns whether it added
    /// rows.
    pub(super) fn separate_locally(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let base = p.num_rows();
        if s.basis.rows.len() != self.relax.model().num_rows() {
            return Ok(false);
        }
        // Rows of the nodes above stay, so their number is limited.
        if self.local.len() >= 50 + base / 4 {
            return Ok(false);
        }
        let nonzeros = self.relax.model().num_nonzeros();
        let mut sources = cuts::gomory::sources(&p, s, nonzeros);
        sources.truncate(CUTS_PER_NODE_LIMIT);
        let tableau = self.relax.tableau(&sources);
        let context = Context::new(
            &p,
            self.relax.model(),
            s,
            (&self.domain.lower, &self.domain.upper),
            shared.tables(),
            tableau,
            SeparationEffort::Brief,
        );
        let mut found = cuts::separate(&context, &mut CutPool::default(), None);
        found.truncate(CUTS_PER_NODE_LIMIT);
        self.domain.ticks += 20 * nonzeros as u64 + context.spent.get();
        if let Some(d) = &shared.debug {
            for c in &found {
                d.check_local_cut(&self.domain, self.relax.extra(), &c.entries, c.rhs);
            }
        }
        let mut rows = Vec::with_capacity(found.len());
        for c in found {
            rows.push(Arc::new(ExtraRow {
                tag: self.fresh_id(),
                entries: c.entries,
                lower: f64::NEG_INFINITY,
                upper: c.rhs,
            }));
        }
        self.relax.add_rows(&rows)?;
        self.local.extend(rows.iter().map(|r| r.tag));
        let any = !rows.is_empty();
        self.local_cuts.rows.extend(rows);
        Ok(any)
    }

    /// Drops cuts of the present node that do not bind at its solution.
    pub(super) fn drop_slack_cuts(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
    ) -> Result<(), ModelError> {
        if self.local_cuts.rows.is_empty() {
            return Ok(());
        }
        let base = shared.problem.num_rows();
        let own: Vec<u64> = self.local_cuts.rows.iter().map(|r| r.tag).collect();
        let mut gone: Vec<u64> = Vec::new();
        for (k, r) in self.relax.extra().iter().enumerate() {
            let basic = s.basis.rows.get(base + k) == Some(&VarStatus::Basic);
            if basic && own.contains(&r.tag) {
                gone.push(r.tag);
            }
        }
        if gone.is_empty() {
            return Ok(());
        }
        self.relax.retain_rows(|_, r| !gone.contains(&r.tag))?;
        self.local.retain(|t| !gone.contains(t));
        self.local_cuts.rows.retain(|r| !gone.contains(&r.tag));
        Ok(())
    }
}
