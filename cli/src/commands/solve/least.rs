//! The least budget: requested, or reported if no plan fits the given budget.

use crate::again;
use crate::failure::{Failure, note};
use crate::progress::Activity;
use remat_formulations::solve::{AnySolvable, LeastBudget, Solution};
use remat_instances::budget::{amount, format_bytes};
use remat_report::LeastBudgetJson;
use remat_search::{Listener, Settings, Status};

/// The word for the least budget.
pub(crate) const LEAST: &str = "least";

/// The least budget in bytes and its plan, if the budget on the command line is `least`.
pub(super) fn asked(
    text: &str,
    solvable: &AnySolvable,
    settings: &Settings,
    (listener, quiet): (&dyn Listener, bool),
) -> Result<Option<LeastBudget>, Failure> {
    if text.trim() != LEAST {
        return Ok(None);
    }
    searched(solvable, settings, (listener, quiet)).map(Some)
}

/// Searches the least budget with a plan, and notes it on standard error.
pub(crate) fn searched(
    solvable: &AnySolvable,
    settings: &Settings,
    (listener, quiet): (&dyn Listener, bool),
) -> Result<LeastBudget, Failure> {
    let activity = Activity::begin("searching the least budget", quiet);
    let known = LeastBudget::known(solvable, listener)?;
    let least = known.search(solvable, settings, listener)?;
    drop(activity);
    note(&format!("least budget: {}", words(&least)), quiet);
    Ok(least)
}

/// The least budget that is known without a search, for a solve that ended without a plan.
pub(super) fn of_failure(
    solution: &Solution,
    solvable: &AnySolvable,
    listener: &dyn Listener,
) -> Result<Option<LeastBudget>, Failure> {
    let wanted = solution.document().is_none()
        && solution.status != Status::Interrupted
        && !listener.is_interrupted();
    if !wanted {
        return Ok(None);
    }
    Ok(Some(LeastBudget::known(solvable, listener)?))
}

fn words(least: &LeastBudget) -> String {
    let known = match least.known_bytes() {
        Some(known) => format!("a plan is known for {}", format_bytes(known)),
        None => "no plan is known".into(),
    };
    let bound = format_bytes(least.bound_bytes);
    format!("{known}; no stage schedule in this order fits in less than {bound}")
}

/// Lines of the summary: the least budget, and the command that solves for it.
pub(super) fn lines(least: &LeastBudget) -> Vec<String> {
    let mut lines = vec![format!("least     {}", words(least))];
    if let Some(known) = least.known_bytes() {
        let command = |budget: &str| again::with("budget", 'b', budget);
        lines.extend(command(&amount(known)).map(|c| format!("next      {c}")));
        lines.extend(command(LEAST).map(|c| format!("or        {c}   (searches for less)")));
    }
    lines
}

/// The least budget as JSON.
pub(crate) fn json(least: &LeastBudget) -> LeastBudgetJson {
    LeastBudgetJson {
        known_bytes: least.known_bytes(),
        bound_bytes: least.bound_bytes,
        infeasible_bytes: least.infeasible_bytes(),
    }
}
