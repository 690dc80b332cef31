//! Schedule of the restricted programs in which the search looks for better solutions.

use super::TreeSearch;
use crate::mip::clock::StopOnDrop;
use crate::mip::heuristics::neighbourhood::{
    self, Around, NeighbourhoodFound, NeighbourhoodVerdict,
};
use crate::mip::outcome::SolveError;
use crate::mip::worker::WorkerReport;
use rayon::prelude::*;
use std::time::Instant;

/// Restricted programs solved in parallel.
const NEIGHBOURHOODS_TOGETHER: usize = 2;

/// Ticks of restricted programs, as a share of the ticks that the whole tree is expected to take:
/// around a good incumbent, and around a poor one or without any.
const TREE_SHARE: f64 = 0.05;
const POOR_TREE_SHARE: f64 = 0.2;

/// Nodes from which on the tree's size is estimated. Before, restricted programs around an
/// incumbent take this part of the root's ticks.
const ESTIMATE_NODES: u64 = 10;
const FIRST_PART: u64 = 6;

impl TreeSearch {
    pub(super) fn sub_mip_is_due(&self) -> bool {
        let s = &self.shared.settings;
        s.heuristics
            && s.sub_mips
            && self.info.nodes >= self.next_sub_mip
            && !self.queue.is_empty()
            && self.root.is_some()
            && !self.shared.stopped()
            && !self.shared.extensions.exclude_restricted()
    }

    /// The next neighbourhood, if the budget allows one.
    pub(super) fn next_neighbourhood(&mut self) -> Option<Around> {
        let root = self.root.clone()?;
        // Recent successes earn further turns; without an incumbent, neighbourhoods have priority.
        let main = self.ticks() - self.side_ticks;
        let bound = self.shared.lower_bound;
        // Far from the bound a better solution is likely. After many failures, the bound is to
        // blame.
        let early = self.sub_mip_turn < 12;
        let poor = (self.shared.incumbent.as_ref())
            .is_none_or(|i| early && i.objective - bound > 0.05 * i.objective.abs());
        let share = if poor {
            60
        } else {
            15 + 10 * self.sub_mip_luck.min(3)
        };
        if self.info.nodes < ESTIMATE_NODES
            && self.side_ticks > 0
            && self.shared.incumbent.is_some()
        {
            self.next_sub_mip = ESTIMATE_NODES;
            return None;
        }
        let worth = self.worthwhile_ticks(poor);
        if self.side_ticks > worth.min(main / 100 * share + self.root_ticks) {
            self.next_sub_mip = self.info.nodes + 50;
            return None;
        }
        let ticks = worth.min(match poor {
            true => (main / 5).max(self.root_ticks),
            false => (main / 10).max(self.root_ticks / 2),
        });
        // A restricted program manages its own budget for nested ones.
        let hard = self.shared.settings.hard_ticks();
        let left = hard.map_or(u64::MAX, |t| t.saturating_sub(self.ticks()));
        let turn = self.sub_mip_turn;
        self.sub_mip_turn += 1;
        // With a good incumbent the tree may end soon: some nodes are solved before each of the
        // first turns.
        self.next_sub_mip = if turn < 4 && poor || turn < 1 {
            self.info.nodes
        } else if turn < 6 {
            self.info.nodes + 10 * turn
        } else {
            self.info.nodes + 100 + self.info.nodes / 10
        };
        Some(Around {
            root,
            relaxed: self.relaxed.clone(),
            best: self.best.clone(),
            share: self.sub_mip_share,
            turn,
            ticks: ticks.min(left),
        })
    }

    /// Ticks of restricted programs that a better solution is worth: a tree that is about to end
    /// needs none.
    ///
    /// A node at depth `d` stands for `2^-d` of the tree (Knuth 1975).
    fn worthwhile_ticks(&self, poor: bool) -> u64 {
        if self.info.nodes < ESTIMATE_NODES && self.shared.incumbent.is_some() {
            return self.root_ticks / FIRST_PART;
        }
        let open = self.queue.iter().map(|n| 0.5f64.powi(n.depth as i32));
        let closed = (1.0 - open.sum::<f64>()).max(1e-9);
        let main = self.ticks() - self.side_ticks;
        let tree = main.saturating_sub(self.root_ticks) as f64 / closed;
        let share = if poor { POOR_TREE_SHARE } else { TREE_SHARE };
        (share * tree) as u64
    }

    /// Adapts the share of fixed columns, and the frequency of neighbourhoods.
    pub(super) fn learn_from(&mut self, verdict: NeighbourhoodVerdict) {
        // An exhausted neighbourhood calls for more freedom, an unfinished one for less.
        match verdict {
            NeighbourhoodVerdict::FarTooSmall if self.sub_mip_share > 0.45 => {
                // Repeats the turn at once, because it took almost no time.
                self.sub_mip_share -= 0.15;
                self.sub_mip_turn -= 1;
                self.next_sub_mip = self.info.nodes;
                return;
            }
            NeighbourhoodVerdict::TooSmall | NeighbourhoodVerdict::FarTooSmall => {
                self.sub_mip_share = (self.sub_mip_share - 0.1).max(0.3)
            }
            NeighbourhoodVerdict::TooLarge => {
                self.sub_mip_share = (self.sub_mip_share + 0.05).min(0.97)
            }
            NeighbourhoodVerdict::Right => {
                self.sub_mip_share = (self.sub_mip_share - 0.05).max(0.3)
            }
            NeighbourhoodVerdict::Better => {
                self.sub_mip_luck += 1;
                self.next_sub_mip = self.info.nodes;
                return;
            }
        }
        if self.sub_mip_turn.is_multiple_of(3) {
            self.sub_mip_luck = self.sub_mip_luck.saturating_sub(1);
        }
    }

    /// Runs the next neighbourhoods in parallel; they do not know each other's results.
    pub(super) fn run_sub_mips(&mut self) -> Result<(), SolveError> {
        let Some(first) = self.next_neighbourhood() else {
            return Ok(());
        };
        let mut batch = vec![first];
        while batch.len() < NEIGHBOURHOODS_TOGETHER {
            match self.next_neighbourhood() {
                Some(around) => batch.push(around),
                None => break,
            }
        }
        let shared = &self.shared;
        let run = |around: &Around| {
            let stop = StopOnDrop::new(&shared.stop);
            let begun = Instant::now();
            let found = neighbourhood::run(shared, around);
            if let Ok(found) = &found {
                found.count(shared, begun);
            }
            stop.call_off();
            found
        };
        let found: Vec<_> = match &self.pool {
            Some(pool) => pool.install(|| batch.par_iter().map(run).collect()),
            None => batch.iter().map(run).collect(),
        };
        let found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
        for (found, around) in found.into_iter().zip(&batch) {
            self.take_neighbourhood(found, around)?;
        }
        Ok(())
    }

    fn take_neighbourhood(
        &mut self,
        found: NeighbourhoodFound,
        around: &Around,
    ) -> Result<(), SolveError> {
        self.side_ticks += found.ticks;
        self.side_iterations += found.iterations;
        if self.shared.emits_events {
            tracing::debug!(
                name: "restricted",
                target: "remat_solver::mip",
                kind = found.name,
                verdict = ?found.verdict,
                ticks = found.ticks,
                ticks_limit = around.ticks,
                share = around.share,
                "restricted program"
            );
        }
        if let Some(x) = found.x {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &x, found.name)?;
            let report = std::mem::replace(&mut worker.report, WorkerReport::new());
            self.workers.insert(0, worker);
            self.merge(vec![report]);
        }
        self.learn_from(found.verdict);
        Ok(())
    }
}
