//! Work before the tree: starts, the root, and programs whose relaxation is unbounded.

use super::TreeSearch;
use crate::mip::control::{Control, NodeChange, NodeEvent};
use crate::mip::outcome::{SolveError, SolveResult, SolveStatus};
use crate::mip::problem::Problem;
use crate::mip::root::{self, RootEnd};
use crate::mip::solver::Solver;
use crate::mip::tree::TreeNode;
use crate::mip::worker::WorkerReport;
use std::sync::Arc;

/// Distances from the origin within which a first integer point is searched if the relaxation is
/// unbounded, and the nodes of each search.
const BOXES: [f64; 3] = [10.0, 1e3, 1e5];
const BOX_NODES: u64 = 2_000;

/// Ticks of all these searches: a constant, and a factor on the root's ticks. A search over
/// integers without bounds may not end; without a point, the program is infeasible or unbounded.
const POINT_TICKS: u64 = 20_000_000;
const POINT_TICKS_PER_ROOT_TICK: u64 = 100;

impl TreeSearch {
    pub(super) fn use_starts(&mut self) -> Result<(), SolveError> {
        let starts = std::mem::take(&mut self.shared.settings.starts);
        let mut worker = self.workers.remove(0);
        worker.begin(&self.shared);
        for x in &starts {
            if x.len() == self.shared.original.num_cols() {
                worker.start(&self.shared, x)?;
            }
        }
        let report = std::mem::replace(&mut worker.report, WorkerReport::new());
        self.workers.insert(0, worker);
        self.merge(vec![report]);
        Ok(())
    }

    /// Relaxation, cuts and first heuristics. Returns whether there is a tree to search.
    pub(super) fn solve_root(&mut self) -> Result<bool, SolveError> {
        let mut worker = self.workers.remove(0);
        worker.begin(&self.shared);
        self.begin_alone(0);
        let end = root::solve(&mut self.shared, &mut worker)?;
        self.end_alone();
        let report = std::mem::replace(&mut worker.report, WorkerReport::new());
        self.workers.insert(0, worker);
        // True if a run resumed from a state must repeat the root.
        let again = match end {
            RootEnd::Stopped => self.shared.stopped(),
            RootEnd::Unbounded => true,
            RootEnd::Open(_) | RootEnd::Closed => false,
        };
        let end = match end {
            RootEnd::Open(data) => {
                self.shared.lower_bound = data.bound;
                self.shared.root_iterations = data.iterations;
                let first = *self.first_root.get_or_insert(data.first_objective);
                self.info.root_lp = first / self.unit;
                self.info.root_bound = data.bound / self.unit;
                self.info.cuts = self.shared.rows.len() as u64;
                let node = TreeNode {
                    id: 0,
                    depth: 0,
                    bound: data.bound,
                    estimate: data.bound,
                    path: None,
                    basis: None,
                    branched: None,
                };
                self.root = Some(Arc::new(data));
                if self.shared.watches_nodes {
                    let change = NodeChange::Created {
                        parent: None,
                        depth: 0,
                        bound: node.bound,
                    };
                    self.show_nodes(&mut [NodeEvent { id: 0, change }]);
                }
                self.queue.push(node);
                true
            }
            RootEnd::Closed => false,
            RootEnd::Stopped => {
                // Only the knowledge from before a restart is left. A run resumed from here starts
                // over.
                self.queue.push(TreeNode {
                    id: 0,
                    depth: 0,
                    bound: self.shared.lower_bound,
                    estimate: self.shared.lower_bound,
                    path: None,
                    basis: None,
                    branched: None,
                });
                true
            }
            RootEnd::Unbounded => {
                self.find_any_point()?;
                false
            }
        };
        self.root_done = !again;
        self.root_is_ahead = false;
        self.root_ticks = self.workers[0].ticks();
        self.merge(vec![report]);
        Ok(end)
    }

    /// Looks for a feasible point of a program with an unbounded relaxation. With rational data the
    /// program is unbounded exactly if it has one (Meyer 1974).
    pub(super) fn find_any_point(&mut self) -> Result<(), SolveError> {
        let mut p = (*self.shared.problem).clone();
        p.cost.fill(0.0);
        p.offset = 0.0;
        let before = self.ticks();
        let end = before + POINT_TICKS + POINT_TICKS_PER_ROOT_TICK * self.workers[0].ticks();
        // With unbounded integers, a tree may be infinite although a point exists: near the origin
        // it is finite.
        for radius in BOXES {
            let mut near = p.clone();
            for j in (0..near.cost.len()).filter(|&j| p.integer[j]) {
                let centre = p.lower[j].max(0.0).min(p.upper[j]);
                near.lower[j] = p.lower[j].max(centre - radius);
                near.upper[j] = p.upper[j].min(centre + radius);
            }
            // A box that contains the whole program would only repeat its solution.
            if near.lower == p.lower && near.upper == p.upper {
                break;
            }
            let result = self.solve_for_any_point(&near, BOX_NODES, end)?;
            if result.status == SolveStatus::Optimal {
                return self.note_any_point(result);
            }
        }
        let result = self.solve_for_any_point(&p, u64::MAX, end)?;
        self.note_any_point(result)
    }

    /// Solves a program without an objective, within limits on nodes and on the ticks of this
    /// search.
    fn solve_for_any_point(
        &mut self,
        p: &Problem,
        nodes: u64,
        last_tick: u64,
    ) -> Result<SolveResult, SolveError> {
        let mut settings = self.shared.settings.clone();
        settings.cutoff = None;
        let own = &mut settings.limits;
        let left = own.nodes.map(|n| n.saturating_sub(self.info.nodes));
        own.nodes = Some(left.unwrap_or(u64::MAX).min(nodes));
        let last = own.ticks.unwrap_or(u64::MAX).min(last_tick);
        own.ticks = Some(last.saturating_sub(self.ticks()));
        let solver = Solver {
            model: Arc::new(p.to_model()?),
            settings,
            extensions: self.shared.extensions.clone(),
            control: Control {
                node_files: self.control.node_files.as_ref().map(|f| f.join("point")),
                ..Control::default()
            },
            emits_events: false,
        };
        let result = solver.run_inside(&self.shared.stop)?;
        self.info.nodes += result.info.nodes;
        self.side_ticks += result.info.ticks;
        self.side_iterations += result.info.lp_iterations;
        Ok(result)
    }

    fn note_any_point(&mut self, result: SolveResult) -> Result<(), SolveError> {
        let limits = &self.shared.settings.limits;
        let is_spent = limits.nodes.is_some_and(|n| self.info.nodes >= n)
            || limits.ticks.is_some_and(|t| self.ticks() >= t);
        self.status = match result.status {
            SolveStatus::Optimal => SolveStatus::Unbounded,
            SolveStatus::NodeLimit | SolveStatus::TickLimit if !is_spent => {
                SolveStatus::InfeasibleOrUnbounded
            }
            // Unresolved leaves may contain a point.
            SolveStatus::Unresolved => SolveStatus::InfeasibleOrUnbounded,
            other => other,
        };
        self.left_bound = f64::NEG_INFINITY;
        if self.status == SolveStatus::Infeasible {
            self.left_bound = f64::INFINITY;
        }
        if let Some(s) = result.solution {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &s.x, "feasibility")?;
            let report = std::mem::replace(&mut worker.report, WorkerReport::new());
            self.workers.insert(0, worker);
            self.merge(vec![report]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::mip::clock::{Stop, StopReason};
    use crate::mip::{Settings, SolveStatus, Solver};
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn a_search_inside_another_ends_for_the_same_reason() {
        // max x, x - 1.25 y = 0.5, both integer and free: the relaxation is unbounded.
        let mut b = ModelBuilder::new(Sense::Maximise);
        let cols = [1.0, 0.0].map(|cost| b.add_col(cost, ..));
        cols.iter().for_each(|&c| b.set_integer(c, true));
        b.add_row(0.5..=0.5, [(cols[0], 1.0), (cols[1], -1.25)]);
        let settings = Settings {
            presolve: false,
            ..Settings::default()
        };
        let solver = Solver::new(b.build().unwrap(), settings);
        for (reason, status) in [
            (StopReason::TimeLimit, SolveStatus::TimeLimit),
            (StopReason::Interrupt, SolveStatus::Interrupted),
        ] {
            let stop = Stop::default();
            stop.raise(reason);
            assert_eq!(solver.run_inside(&stop).unwrap().status, status);
        }
    }
}
