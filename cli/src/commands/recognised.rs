//! `remat-bb mip` on a program that is Checkmate's: solved as such, answered in the file's own variables.

use crate::arguments::MipArguments;
use crate::failure::note;
use crate::interrupt;
use remat_formulations::checkmate::{Recognised, recognise};
use remat_formulations::solve::{self, Outcome, Status};
use remat_lp::{Model, Sense};
use remat_solver::mip::{Info, Settings, Solution, SolveResult, SolveStatus, check_point};

/// How far the answer may be from the file's rows.
const TOLERANCE: f64 = 1e-6;

/// Solves the model as Checkmate's program, if it is that and nothing is asked that only the general search can give
/// (certificates, states to go on from, starts, pools, ticks). `None` leaves it to the general search, as does an answer that
/// fails the check against the model as it was read.
pub(super) fn solve(
    arguments: &MipArguments,
    model: &Model,
    settings: &Settings,
) -> Option<SolveResult> {
    let general = arguments.no_recognise
        || arguments.certificate.is_some()
        || arguments.checkpoint.is_some()
        || arguments.resume.is_some()
        || !settings.starts.is_empty()
        || settings.pool_size > 1
        || settings.limits.ticks.is_some();
    if general {
        return None;
    }
    let recognised = recognise(model)?;
    note(
        &format!(
            "recognised as Checkmate's program of {} nodes; --no-recognise leaves it to the general search",
            recognised.instance.len()
        ),
        arguments.quiet,
    );
    let limits = &settings.limits;
    let mut how = solve::Settings::new(recognised.budget_bytes);
    how.time_limit = limits.seconds.map(std::time::Duration::from_secs_f64);
    how.nodes = limits.nodes.unwrap_or(u64::MAX);
    // A program from a file is solved to its end unless a limit is set.
    how.iterations = u64::MAX;
    how.gap = settings.relative_gap;
    how.threads = settings.threads;
    how.seed = settings.seed;
    let flag = interrupt::flag();
    let outcome = solve::solve(&recognised.instance, &how, &flag, &|_| ()).ok()?;
    result(model, &recognised, &outcome, how.time_limit.is_some())
}

/// The outcome in the model's terms.
fn result(
    model: &Model,
    recognised: &Recognised,
    outcome: &Outcome,
    timed: bool,
) -> Option<SolveResult> {
    let solution = match &outcome.schedule {
        None => None,
        Some(schedule) => {
            let x = recognised.point(schedule);
            let objective = check_point(model, &x, TOLERANCE).ok()?;
            Some(Solution {
                objective,
                x,
                found_by: "checkmate",
            })
        }
    };
    let worst = match model.sense() {
        Sense::Minimise => f64::INFINITY,
        Sense::Maximise => f64::NEG_INFINITY,
    };
    let dual_bound = match outcome.status {
        Status::Infeasible => worst,
        _ => recognised.objective(outcome.bound),
    };
    Some(SolveResult {
        status: match outcome.status {
            Status::Optimal => SolveStatus::Optimal,
            Status::Infeasible => SolveStatus::Infeasible,
            Status::Interrupted => SolveStatus::Interrupted,
            Status::Feasible | Status::Limit if timed => SolveStatus::TimeLimit,
            Status::Feasible | Status::Limit => SolveStatus::NodeLimit,
        },
        pool: solution.iter().cloned().collect(),
        solution,
        certificate_problem: None,
        dual_bound,
        info: Info {
            nodes: outcome.nodes,
            lp_iterations: outcome.lp_iterations,
            seconds: outcome.seconds,
            root_bound: f64::NAN,
            ..Info::default()
        },
    })
}
