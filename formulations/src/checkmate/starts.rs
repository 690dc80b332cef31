//! First schedules: baselines that fit.

use crate::{anneal, baselines};
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use std::time::Duration;

/// Nodes up to which a few baselines take seconds at most.
const BASELINES_UP_TO: usize = 20_000;
/// Nodes up to which all quick baselines take well under a second.
const ALL_QUICK_UP_TO: usize = 2_000;
/// Baselines that are quick and may fit: what a short time limit falls back to, and where some
/// annealing runs start. The first three serve large graphs, where annealing alone takes long to
/// come down to the budget.
const QUICK: [&str; 7] = [
    "dtr",
    "linearised-sqrt",
    "linearised-greedy",
    "chen-greedy",
    "ap-greedy",
    "pytorch-min-cut",
    "pytorch-budget",
];

/// The schedules of quick baselines that fit.
pub(super) fn fitting_baselines(
    instance: &Instance,
    budget_bytes: u64,
    time: Option<Duration>,
) -> Vec<anneal::Found> {
    if instance.len() > BASELINES_UP_TO {
        return Vec::new();
    }
    // On long graphs the greedy search takes time quadratic in the length: some 15 s for 10,000
    // nodes.
    let patient = time.is_none_or(|time| time.as_secs_f64() > instance.len() as f64 / 200.0);
    let names = match instance.len() {
        0..=ALL_QUICK_UP_TO => &QUICK[..],
        _ if patient => &QUICK[..3],
        _ => &QUICK[..2],
    };
    names
        .par_iter()
        .filter_map(|name| {
            let schedule = baselines::by_name(name)?.run(instance, budget_bytes).ok()?;
            fitting(instance, budget_bytes, schedule)
        })
        .collect()
}

/// A schedule, if it executes and fits.
pub(super) fn fitting(
    instance: &Instance,
    budget_bytes: u64,
    schedule: CheckmateSchedule,
) -> Option<anneal::Found> {
    // What shape it has is checked by a replay, before its rows are used.
    simulate::checkmate(instance, &schedule).ok()?;
    let schedule = CheckmateSchedule::cheapest(instance, schedule.retained);
    let replay = simulate::checkmate(instance, &schedule).ok()?;
    let fits = replay.peak_bytes <= budget_bytes;
    fits.then_some(anneal::Found {
        cost: replay.cost,
        retained: schedule.retained.to_bits(),
    })
}
