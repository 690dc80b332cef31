//! The complete state of a search, saved and restored.
//!
//! It contains all data that decides the next steps, except the factorisations and pricing weights
//! of the linear programs. A resumed search has the same tree to finish, but may choose other
//! equally good vertices than an uninterrupted one.

use super::TreeSearch;
use crate::mip::branching::pseudocost::PseudoCosts;
use crate::mip::clock::Stop;
use crate::mip::domain::clauses::Learned;
use crate::mip::outcome::{Info, SolveError, SolveStatus};
use crate::mip::presolve::Postsolve;
use crate::mip::problem::Problem;
use crate::mip::relaxation::ExtraRow;
use crate::mip::relaxation::conflict::Conflict;
use crate::mip::root::RootData;
use crate::mip::solver::Solver;
use crate::mip::state::file;
use crate::mip::state::packed::{PackedBasis, PackedNodes};
use crate::mip::worker::{Incumbent, Worker, WorkerCounters};
use remat_lp::Solution;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

#[derive(Serialize, Deserialize)]
struct SavedRoot {
    objective: f64,
    x: Vec<f64>,
    row_activity: Vec<f64>,
    y: Vec<f64>,
    reduced_costs: Vec<f64>,
    basis: PackedBasis,
    lp_bound: f64,
    bound: f64,
    first_objective: f64,
    iterations: u64,
}

#[derive(Serialize, Deserialize)]
struct SavedSearch {
    problem: Arc<Problem>,
    postsolve: Postsolve,
    rows: Vec<Arc<ExtraRow>>,
    conflicts: Vec<Conflict>,
    clauses: Vec<Learned>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    pseudo: PseudoCosts,
    incumbent: Option<Incumbent>,
    best: Vec<Incumbent>,
    cutoff: f64,
    base_cutoff: f64,
    lower_bound: f64,
    root_iterations: u64,
    root: Option<SavedRoot>,
    root_done: bool,
    proven_bound: f64,
    /// Nodes in memory, then the nodes of every node file.
    nodes: Vec<PackedNodes>,
    picks: u64,
    left_bound: f64,
    info: Info,
    ticks: u64,
    side_ticks: u64,
    iterations: u64,
    next_sub_mip: u64,
    sub_mip_turn: u64,
    may_restart: bool,
    restarts: u32,
    first_root: Option<f64>,
    seconds: f64,
    workers: Vec<WorkerCounters>,
}

impl SavedRoot {
    fn new(data: &RootData) -> SavedRoot {
        let s = &data.solution;
        SavedRoot {
            objective: s.objective,
            x: s.x.clone(),
            row_activity: s.row_activity.clone(),
            y: s.y.clone(),
            reduced_costs: s.reduced_costs.clone(),
            basis: PackedBasis::new(&s.basis, &[]),
            lp_bound: data.lp_bound,
            bound: data.bound,
            first_objective: data.first_objective,
            iterations: data.iterations,
        }
    }

    fn data(self) -> RootData {
        RootData {
            solution: Solution {
                objective: self.objective,
                x: self.x,
                row_activity: self.row_activity,
                y: self.y,
                reduced_costs: self.reduced_costs,
                basis: self.basis.unpack(),
            },
            lp_bound: self.lp_bound,
            bound: self.bound,
            first_objective: self.first_objective,
            iterations: self.iterations,
        }
    }
}

impl TreeSearch {
    pub(super) fn checkpoint_is_due(&self) -> bool {
        let c = self.control.checkpoint.as_ref();
        c.is_some_and(|c| self.seconds() >= self.last_checkpoint + c.seconds)
    }

    /// Writes the state file, if one is requested. Call only between rounds, when no worker has a
    /// node. On failure the search continues, and the next due write tries again.
    pub fn write_checkpoint(&mut self) {
        let Some(path) = self.control.checkpoint.as_ref().map(|c| c.path.clone()) else {
            return;
        };
        let written = self.write_state(&path);
        self.last_checkpoint = self.seconds();
        let problem = written.err().map(|e| e.to_string());
        if let (Some(problem), None) = (&problem, &self.file_problems.checkpoint) {
            self.report_file(problem, "the search goes on, and tries it again later");
        }
        self.file_problems.checkpoint = problem;
    }

    fn write_state(&self, path: &Path) -> Result<(), SolveError> {
        let s = &self.shared;
        let mut info = self.info;
        info.unproven_bounds += self.workers.iter().map(|w| w.relax.unproven).sum::<u64>();
        // Before the root is done, the queue contains only a placeholder for it.
        let mut nodes = Vec::new();
        if self.root_done {
            nodes.push(PackedNodes::new(self.queue.iter()));
            if let Some(files) = &self.files {
                nodes.extend(files.all()?);
            }
        }
        let state = SavedSearch {
            problem: s.problem.clone(),
            postsolve: (*s.postsolve).clone(),
            rows: s.rows.clone(),
            conflicts: s.conflicts.clone(),
            clauses: s.clauses.clone(),
            lower: s.lower.clone(),
            upper: s.upper.clone(),
            pseudo: s.pseudo.clone(),
            incumbent: s.incumbent.clone(),
            best: self.best.clone(),
            cutoff: s.cutoff,
            base_cutoff: self.base_cutoff,
            lower_bound: s.lower_bound,
            root_iterations: s.root_iterations,
            root: self.root.as_deref().map(SavedRoot::new),
            root_done: self.root_done,
            proven_bound: self.bound(),
            nodes,
            picks: self.queue.picks(),
            left_bound: self.left_bound,
            info,
            ticks: self.ticks() - self.side_ticks,
            side_ticks: self.side_ticks,
            iterations: self.iterations(),
            next_sub_mip: self.next_sub_mip,
            sub_mip_turn: self.sub_mip_turn,
            may_restart: self.may_restart,
            restarts: self.restarts,
            first_root: self.first_root,
            seconds: self.seconds_before + self.seconds(),
            workers: (self.away.iter().map(|w| w.counters))
                .chain(self.workers.iter().map(|w| w.counters()))
                .collect(),
        };
        file::write(path, &s.original, &state)
    }

    /// Resumes a search from a state file.
    pub fn resume(
        solver: &Solver,
        path: &Path,
        stop: Stop,
        start: Instant,
    ) -> Result<TreeSearch, SolveError> {
        let state: SavedSearch = file::read(path, &solver.model)?;
        let nonsense = || SolveError::file(path, "the nodes make no sense");
        let problem = Arc::unwrap_or_clone(state.problem);
        let mut search =
            TreeSearch::new(solver, problem, state.postsolve, stop, start, state.info)?;
        let s = &mut search.shared;
        s.rows = state.rows;
        s.conflicts = state.conflicts;
        s.clauses = state.clauses;
        s.lower = state.lower;
        s.upper = state.upper;
        s.pseudo = state.pseudo;
        s.incumbent = state.incumbent;
        s.cutoff = s.cutoff.min(state.cutoff);
        s.lower_bound = state.lower_bound;
        s.root_iterations = state.root_iterations;
        search.best = state.best;
        search.base_cutoff = search.base_cutoff.min(state.base_cutoff);
        search.root = state.root.map(|r| Arc::new(r.data()));
        search.root_done = state.root_done;
        search.root_is_ahead = !state.root_done;
        search.proven_bound = state.proven_bound;
        for packed in state.nodes {
            for node in packed.unpack().ok_or_else(nonsense)? {
                search.queue.push(node);
            }
            search.balance_memory();
        }
        search.queue.set_picks(state.picks);
        search.left_bound = state.left_bound;
        search.ticks_before = state.ticks;
        search.side_ticks = state.side_ticks;
        search.side_iterations = state.iterations;
        search.next_sub_mip = state.next_sub_mip;
        search.sub_mip_turn = state.sub_mip_turn;
        search.may_restart = state.may_restart;
        search.restarts = state.restarts;
        search.first_root = state.first_root;
        search.seconds_before = state.seconds;
        search.status = SolveStatus::Optimal;
        while search.workers.len() < state.workers.len() {
            let slot = search.workers.len() as u64;
            search.workers.push(Worker::new(&search.shared, slot)?);
        }
        for (w, c) in search.workers.iter_mut().zip(state.workers) {
            w.set_counters(c);
        }
        Ok(search)
    }
}
