//! The root: first relaxation, rounds of cuts, and data for later fixing of columns.

mod cuts;

use crate::mip::domain::Domain;
use crate::mip::relaxation::Relaxed;
use crate::mip::worker::{RoundShared, Worker, reduced_cost_fixing};
use cuts::{CutEnd, cut_loop};
use remat_lp::{ModelError, Solution};

/// Results of the root for the search.
pub(crate) struct RootData {
    pub solution: Solution,
    /// Bound of the last relaxation, unrounded.
    pub lp_bound: f64,
    /// The bound rounded up to a possible objective.
    pub bound: f64,
    /// Objective before cuts.
    pub first_objective: f64,
    pub iterations: u64,
}

pub(crate) enum RootEnd {
    Open(RootData),
    Closed,
    Unbounded,
    Stopped,
}

impl RootData {
    /// Fixes columns by the root's reduced costs, for the whole tree.
    pub fn tighten(&self, shared: &mut RoundShared) {
        let mut domain = Domain::new(&shared.problem);
        domain.reset(&shared.problem, &shared.lower, &shared.upper);
        domain.set_cutoff(shared.cutoff);
        reduced_cost_fixing(
            &mut domain,
            &shared.problem,
            &self.solution,
            self.lp_bound,
            shared.cutoff,
        );
        if !domain.infeasible && domain.propagate(&shared.problem) {
            shared.lower.copy_from_slice(&domain.lower);
            shared.upper.copy_from_slice(&domain.upper);
        }
    }
}

/// Solves the root's relaxation and strengthens it.
pub(crate) fn solve(shared: &mut RoundShared, worker: &mut Worker) -> Result<RootEnd, ModelError> {
    worker
        .domain
        .reset(&shared.problem, &shared.lower, &shared.upper);
    worker.domain.enqueue_all(&shared.problem);
    let feasible = worker.propagate(shared);
    if let (true, Some(d)) = (feasible, &shared.debug) {
        let (l, u) = (&worker.domain.lower, &worker.domain.upper);
        d.check_bounds(&shared.problem, l, u, worker.cutoff, "propagation");
    }
    if !feasible {
        return Ok(RootEnd::Closed);
    }
    // Continuous columns get the finite bounds implied by rows: safe bounds and cuts use them, but
    // the linear program does not.
    shared.lower.copy_from_slice(&worker.domain.lower);
    shared.upper.copy_from_slice(&worker.domain.upper);
    worker.sync_bounds(shared)?;
    if shared.settings.heuristics && worker.best.is_none() {
        worker.early_solution(shared)?;
    }
    let before = worker.relax.iterations();
    let (mut solution, mut lp_bound) = match worker.relax.solve(worker.cutoff, &worker.domain)? {
        Relaxed::Solved(s, b) => (s, b),
        Relaxed::Infeasible | Relaxed::Cutoff => return Ok(RootEnd::Closed),
        Relaxed::Unbounded => return Ok(RootEnd::Unbounded),
        Relaxed::Failed => return Ok(RootEnd::Stopped),
    };
    let iterations = worker.relax.iterations() - before;
    shared.root_iterations = iterations;
    let first_objective = solution.objective;
    if shared.settings.cuts {
        match cut_loop(shared, worker, &mut solution, &mut lp_bound)? {
            CutEnd::Open => {}
            CutEnd::Closed => return Ok(RootEnd::Closed),
        }
    }
    let floor = worker.domain.floor();
    let bound = shared.problem.round_bound(lp_bound.max(floor));
    Ok(RootEnd::Open(RootData {
        bound,
        solution,
        lp_bound,
        first_objective,
        iterations,
    }))
}
