//! The search: the same for every formulation.
//!
//! First the root relaxation is solved in one thread while the others anneal. Then all threads
//! search the tree. The retained sets of its relaxations are rounded and annealed at low
//! temperatures, which finds better schedules than annealing alone. With a time limit the first
//! phase ends when the root is solved or the limit is reached. Without one it does a fixed amount
//! of work, so that the answer depends only on instance, budget and settings.
//!
//! | file | concept |
//! |---|---|
//! | `phases` | the root beside the annealing, then the tree |
//! | `annealing` | annealing beside the root and during the tree |
//! | `state` | shared state of both phases, the time, and the ends |

mod annealing;
mod phases;
mod state;

use super::{BoundProof, Outcome, Problem, Settings, SolveError, Watch, ticker};
use remat_instances::budget::format_bytes;
use state::SearchShared;
use std::sync::PoisonError;

/// Solves an instance if keeping everything does not fit. `bound` is a lower bound on the cost of
/// every schedule.
pub(super) fn run<P: Problem>(
    problem: &P,
    budget_bytes: u64,
    bound: u64,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Outcome<P::Schedule>, SolveError> {
    let shared = SearchShared::new(problem, settings, watch, bound);
    let tree = ticker::ticking(
        || shared.tick(),
        &shared.stop,
        || {
            let (root, pool) = phases::root_and_annealing(&shared)?;
            let tree = root.and_then(|root| pool.install(|| phases::tree(root, &shared)));
            Ok::<_, SolveError>(tree)
        },
    )
    .map_err(SolveError::Thread)??;
    let incumbents = &shared.incumbents;
    let proof = (shared.program.as_ref().zip(tree))
        .and_then(|(program, tree)| problem.proof(program, &tree));
    let proven = proof.as_ref().filter(|_| problem.is_bound_proven());
    let proven = proven.and_then(BoundProof::bound).unwrap_or(u64::MAX);
    let mut outcome = Outcome {
        lp_iterations: incumbents.pivots(),
        nodes: incumbents.nodes(),
        moves: incumbents.moves(),
        proof,
        ..Outcome::new(incumbents.bound().min(proven))
    };
    if incumbents.is_infeasible() {
        outcome.infeasible_because = Some(format!(
            "no stage schedule in this order fits, every one needs more than {}: their relaxation has no point within it; a plan that is none may need less",
            format_bytes(budget_bytes)
        ));
    }
    let generations = shared
        .generations
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = generations.best() {
        let (schedule, replay) = problem.judge(found.clone())?;
        if replay.peak_bytes > budget_bytes {
            return Err(SolveError::OverBudget {
                peak_bytes: replay.peak_bytes,
                budget_bytes,
            });
        }
        outcome.take(schedule, replay);
    }
    Ok(outcome)
}
