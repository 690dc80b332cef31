//! Parallel rounds: lanes of nodes are sent to workers, and the reports are merged in order.

use super::TreeSearch;
use crate::mip::clock::StopOnDrop;
use crate::mip::domain::clauses;
use crate::mip::outcome::SolveError;
use crate::mip::relaxation::conflict;
use crate::mip::tree::TreeNode;
use crate::mip::worker::{Incumbent, Worker, WorkerReport};
use rayon::prelude::*;

/// Limit on the nodes of one plunge.
pub(super) const PLUNGE: u64 = 100;

/// Ticks of a lane in a round, in plunges of mean length: lanes then end at about the same time,
/// even if plunges differ.
const PLUNGES_PER_LANE: u64 = 2;

/// Limit on the nodes of a lane. Several are needed because most plunges are shorter than the mean.
const NODES_PER_LANE_LIMIT: usize = 4;

impl TreeSearch {
    /// The lanes of the next round, the best node first in each: one lane while the tree is small,
    /// then more.
    pub(super) fn next_round(&mut self) -> Vec<Vec<TreeNode>> {
        self.prune();
        let open = self.queue.len();
        let width = (open / 8).clamp(1, self.shared.settings.round_width);
        self.shared.lower_bound = self.queue.lowest_bound().unwrap_or(self.shared.cutoff);
        let count = (open / 2).clamp(width, width * NODES_PER_LANE_LIMIT);
        let mut lanes: Vec<Vec<TreeNode>> = vec![Vec::new(); width];
        for k in 0..count {
            let Some(node) = self.queue.pop() else { break };
            lanes[k % width].push(node);
        }
        lanes.retain(|lane| !lane.is_empty());
        lanes
    }

    /// Sends every lane to its own worker. Reports are merged in order, so the number of threads
    /// does not matter.
    pub(super) fn solve_round(&mut self, round: Vec<Vec<TreeNode>>) -> Result<(), SolveError> {
        while self.workers.len() < round.len() {
            self.workers
                .push(Worker::new(&self.shared, self.workers.len() as u64)?);
        }
        // The root alone first: its fixings may justify a restart.
        let most = if self.may_restart { 1 } else { PLUNGE };
        let limit = self.shared.settings.limits.nodes.map_or(most, |n| {
            most.min((n.saturating_sub(self.info.nodes) / round.len() as u64).max(1))
        });
        if let [lane] = &round[..] {
            self.begin_alone(lane.len() as u64);
        }
        let shared = &self.shared;
        let before: Vec<u64> = self.workers.iter().map(|w| w.ticks()).collect();
        let lanes = round.len();
        let allowance = match self.plunge_ticks {
            0 => u64::MAX,
            mean => mean * PLUNGES_PER_LANE,
        };
        let plunge = |(worker, nodes): (&mut Worker, Vec<TreeNode>)| {
            // After a panic, the other workers stop without finishing their work.
            let stop = StopOnDrop::new(&shared.stop);
            let report = worker.run(shared, nodes, limit, allowance);
            stop.call_off();
            report
        };
        let jobs = self.workers.iter_mut().zip(round);
        let reports: Vec<Result<WorkerReport, remat_lp::ModelError>> = match &self.pool {
            Some(pool) if lanes > 1 => {
                let jobs: Vec<_> = jobs.collect();
                pool.install(|| jobs.into_par_iter().map(plunge).collect())
            }
            _ => jobs.map(plunge).collect(),
        };
        self.end_alone();
        let reports = reports.into_iter().collect::<Result<Vec<_>, _>>()?;
        let spent: Vec<u64> = (self.workers.iter().zip(&before))
            .map(|(w, b)| w.ticks() - b)
            .take(lanes)
            .collect();
        let total: u64 = spent.iter().sum();
        let plunges: u64 = reports.iter().map(|r| r.plunges).sum();
        if !self.may_restart && self.info.nodes > 0 {
            let mean = total / plunges.max(1);
            self.plunge_ticks = match self.plunge_ticks {
                0 => mean,
                before => (3 * before + mean) / 4,
            };
        }
        self.merge(reports);
        Ok(())
    }

    /// Lets the only worker, which runs on this thread and took `taken` nodes, report solutions at
    /// once, and gives it the idle threads.
    pub(super) fn begin_alone(&mut self, taken: u64) {
        self.shared.audience.clone_from(&self.control.observers);
        self.shared.audience.extend(self.events_at_once(taken));
        self.shared.idle.clone_from(&self.pool);
    }

    /// Lets solutions be reported when workers' reports are merged.
    pub(super) fn end_alone(&mut self) {
        self.shared.audience.clear();
        self.shared.idle = None;
    }

    pub(super) fn merge(&mut self, reports: Vec<WorkerReport>) {
        let mut improved = None;
        let (mut learned, mut used) = (Vec::new(), Vec::new());
        let (mut new_clauses, mut used_clauses) = (Vec::new(), Vec::new());
        for mut r in reports {
            self.show_nodes(&mut r.events);
            learned.extend(r.learned);
            used.extend(r.used);
            new_clauses.extend(r.clauses);
            used_clauses.extend(r.used_clauses);
            self.info.nodes += r.nodes;
            self.info.strong_branchings += r.strong;
            self.info.refused += r.refused;
            self.left_bound = self.left_bound.min(r.left_bound);
            for o in r.observations {
                self.shared.pseudo.observe(&o);
            }
            self.shared.rows.extend(r.rows);
            if let Some((lower, upper)) = r.root_bounds {
                for j in 0..lower.len() {
                    self.shared.lower[j] = self.shared.lower[j].max(lower[j]);
                    self.shared.upper[j] = self.shared.upper[j].min(upper[j]);
                }
            }
            for s in r.solutions {
                let news = (!s.is_told).then_some(s.found_by);
                if self.accept(s) {
                    improved = Some(news);
                }
            }
            for s in r.others {
                self.keep(s);
            }
            if let Some(x) = r.relaxed {
                self.relaxed = x;
            }
            for n in r.open {
                self.queue.push(n);
            }
        }
        self.proven_bound = self.bound();
        conflict::merge(&mut self.shared.conflicts, learned, used);
        clauses::merge(&mut self.shared.clauses, new_clauses, used_clauses);
        if let Some(news) = improved {
            self.prune();
            if self.shared.settings.reduced_cost_fixing
                && let Some(root) = &self.root
            {
                root.tighten(&mut self.shared);
            }
            self.report(news);
        }
    }

    /// Drops open nodes at which the gaps are met; their bounds count in the final bound.
    pub(super) fn prune(&mut self) {
        let least = self.queue.prune(self.shared.limit());
        if least < self.shared.cutoff {
            self.left_bound = self.left_bound.min(least);
        }
    }

    /// Adds a solution to the best ones, if it is good enough and new.
    fn keep(&mut self, s: Incumbent) {
        let place = self.best.partition_point(|b| b.objective <= s.objective);
        // A few more than requested: neighbourhoods lie between good solutions.
        let size = self.shared.settings.pool_size.max(5);
        if place >= size || self.best.iter().any(|b| b.original == s.original) {
            return;
        }
        self.best.insert(place, s);
        self.best.truncate(size);
    }

    pub(super) fn accept(&mut self, mut s: Incumbent) -> bool {
        if self
            .shared
            .incumbent
            .as_ref()
            .is_some_and(|i| i.objective <= s.objective)
        {
            return false;
        }
        self.shared.cutoff = self.shared.cutoff.min(self.shared.cutoff_for(s.objective));
        s.tell(&self.shared.original, &self.control.observers);
        self.keep(s.clone());
        self.shared.incumbent = Some(s);
        true
    }
}
