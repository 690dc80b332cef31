//! First schedules: baselines that fit.

use crate::instance::Instance;
use crate::schedule::CheckmateSchedule;
use crate::{anneal, baselines, simulate};
use rayon::prelude::*;
use std::time::Duration;

/// Nodes up to which a few baselines take seconds at most.
const BASELINES_UP_TO: usize = 20_000;
/// Nodes up to which all quick baselines take well under a second.
const ALL_QUICK_UP_TO: usize = 2_000;
/// Baselines that are quick and may fit: what a short time limit falls back to, and where some annealing runs start. The
/// first three serve large graphs, where annealing alone takes long to come down to the budget.
const QUICK: [&str; 7] = [
    "dtr",
    "linearised-sqrt",
    "linearised-greedy",
    "chen-greedy",
    "ap-greedy",
    "pytorch-min-cut",
    "pytorch-budget",
];

/// Nodes up to which the backward construction takes seconds at most.
const CONSTRUCT_UP_TO: usize = 3_000;
/// Prices of overflow that it is tried with, in prices of absence. Which is best differs: 0.3 and 1 on general graphs with
/// some room, up to 10 on tight ones.
const CONSTRUCT_PRICES: [f64; 4] = [0.3, 1.0, 3.0, 10.0];
/// Its beam, ways to go on from a state, and descents.
const BEAM: usize = 8;
const VARIANTS: usize = 3;
const RESTARTS: usize = 40;

/// Schedules that are constructed from the end, where that leads to any.
pub(super) fn constructed(
    instance: &Instance,
    budget_bytes: u64,
    graph: &anneal::Graph,
    seed: u64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<anneal::Found> {
    if instance.len() > CONSTRUCT_UP_TO {
        return Vec::new();
    }
    CONSTRUCT_PRICES
        .par_iter()
        .filter_map(|&price| {
            let settings = anneal::BackwardSettings {
                beam: BEAM,
                variants: VARIANTS,
                price,
                restarts: RESTARTS,
                seed,
            };
            let found = anneal::construct(graph, &settings, None, stop).ok()?;
            let schedule = CheckmateSchedule::cheapest(instance, found);
            fitting(instance, budget_bytes, schedule)
        })
        .collect()
}

/// The schedules of quick baselines that fit.
pub(super) fn fitting_baselines(
    instance: &Instance,
    budget_bytes: u64,
    time: Option<Duration>,
) -> Vec<anneal::Found> {
    if instance.len() > BASELINES_UP_TO {
        return Vec::new();
    }
    // On long graphs the greedy search takes time quadratic in the length: some 15 s for 10,000 nodes.
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
        retained: schedule.retained,
    })
}
