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

use super::{
    ALL_PLANS, BoundProof, Outcome, PLANS_IN_THIS_ORDER, Problem, STAGE_SCHEDULES, Settings,
    SolveError, Watch, WiderBound, ticker,
};
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
    let bounded = ticker::ticking(
        || shared.tick(),
        &shared.stop,
        || {
            let (root, pool) = phases::root_and_annealing(&shared)?;
            let bounded = root.map(|root| pool.install(|| phases::tree(root, &shared)));
            Ok::<_, SolveError>(bounded)
        },
    )
    .map_err(SolveError::Thread)??;
    let incumbents = &shared.incumbents;
    let (wider, proof) = bounded.map_or((None, None), |b| (b.wider, b.proof));
    let proof = proof.and_then(|(program, tree)| problem.proof(&program, &tree));
    let proven = proof.as_ref().filter(|_| problem.is_bound_proven());
    let proven = proven.and_then(BoundProof::bound).unwrap_or(u64::MAX);
    let scope = |program| problem.scope(program);
    let widest = shared.program.as_deref().map_or(STAGE_SCHEDULES, scope);
    let mut outcome = Outcome {
        bound_scope: wider.as_ref().map_or(widest, |w| scope(&w.0)),
        wider: wider.map(|(_, bound)| WiderBound {
            bound,
            scope: widest,
        }),
        lp_iterations: incumbents.pivots(),
        nodes: incumbents.nodes(),
        moves: incumbents.moves(),
        proof,
        ..Outcome::new(incumbents.bound().min(proven))
    };
    if incumbents.is_infeasible() {
        let budget = format_bytes(budget_bytes);
        outcome.infeasible_because = Some(match outcome.bound_scope {
            ALL_PLANS => format!(
                "no plan fits, every one needs more than {budget}: their relaxation has no point within it"
            ),
            PLANS_IN_THIS_ORDER => format!(
                "no plan in this order fits, every one needs more than {budget}: their relaxation has no point within it; a plan in another order may need less"
            ),
            _ => format!(
                "no stage schedule in this order fits, every one needs more than {budget}: their relaxation has no point within it; a plan that is none may need less"
            ),
        });
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
