//! The root: first relaxation, rounds of cuts, and what is kept for fixing columns later.

use crate::domain::Domain;
use crate::relaxation::Relaxed;
use crate::worker::{Shared, Worker, reduced_cost_fixing};
use remat_lp::{ModelError, Solution};

/// What the root leaves to the search.
pub(crate) struct RootData {
    pub solution: Solution,
    /// Bound of the last relaxation, unrounded.
    pub lp_bound: f64,
    /// Rounded to a value the objective can take.
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
    /// Fixes what the root's reduced costs rule out, for the whole tree.
    pub fn tighten(&self, shared: &mut Shared) {
        let mut domain = Domain::new(&shared.problem);
        domain.reset(&shared.lower, &shared.upper);
        reduced_cost_fixing(&mut domain, &shared.problem, &self.solution, self.lp_bound, shared.cutoff);
        if !domain.infeasible && domain.propagate(&shared.problem) {
            let p = &shared.problem;
            for j in 0..p.num_cols() {
                if p.integer[j] {
                    shared.lower[j] = domain.lower[j];
                    shared.upper[j] = domain.upper[j];
                }
            }
        }
    }
}

/// Solves the root's relaxation and strengthens it.
pub(crate) fn solve(shared: &mut Shared, worker: &mut Worker) -> Result<RootEnd, ModelError> {
    worker.domain.reset(&shared.lower, &shared.upper);
    worker.domain.enqueue_all(&shared.problem);
    if !worker.propagate(shared) {
        return Ok(RootEnd::Closed);
    }
    for j in 0..shared.lower.len() {
        if shared.problem.integer[j] {
            shared.lower[j] = worker.domain.lower[j];
            shared.upper[j] = worker.domain.upper[j];
        }
    }
    worker.sync_bounds(shared)?;
    let before = worker.relax.iterations();
    let (solution, lp_bound) = match worker.relax.solve(worker.cutoff, &worker.domain)? {
        Relaxed::Solved(s, b) => (s, b),
        Relaxed::Infeasible | Relaxed::Cutoff(_) => return Ok(RootEnd::Closed),
        Relaxed::Unbounded => return Ok(RootEnd::Unbounded),
        Relaxed::Failed => return Ok(RootEnd::Stopped),
    };
    let iterations = worker.relax.iterations() - before;
    let first_objective = solution.objective;
    let bound = shared.problem.round_bound(lp_bound);
    Ok(RootEnd::Open(RootData {
        bound,
        solution,
        lp_bound,
        first_objective,
        iterations,
    }))
}
