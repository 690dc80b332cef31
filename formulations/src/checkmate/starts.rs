//! First schedules: baselines that fit.

use crate::anneal::Found;
use crate::baselines::{self, Patience};
use crate::solve::Watch;
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, Replay};

/// Nodes up to which all quick baselines take well under a second.
const ALL_QUICK_UP_TO: usize = 2_000;
/// Nodes up to which those take seconds that hold a bit for each tensor and stage.
const BITS_UP_TO: usize = 20_000;
/// Baselines that are quick and may fit: what a short time limit falls back to, and where some
/// annealing runs start.
const QUICK: [&str; 8] = [
    "gap-greedy",
    "ap-greedy",
    "dtr",
    "linearised-sqrt",
    "linearised-greedy",
    "chen-greedy",
    "pytorch-min-cut",
    "pytorch-budget",
];
/// The first of them, for large graphs, where annealing alone takes long to come down to the budget.
const FOR_LARGE: usize = 2;
/// Share of the time left that baselines get at most: the rest is the search's.
const TIME_SHARE: f64 = 0.3;

/// A schedule that fits, replayed.
pub(crate) struct Known {
    pub schedule: CheckmateSchedule,
    pub replay: Replay,
}

impl From<&Known> for Found {
    fn from(known: &Known) -> Found {
        Found {
            cost: known.replay.cost,
            retained: known.schedule.retained.to_bits(),
        }
    }
}

/// Given schedules and baselines that fit.
pub(super) fn known(
    instance: &Instance,
    budget_bytes: u64,
    starts: &[CheckmateSchedule],
    watch: &Watch<'_>,
) -> Vec<Known> {
    let starts = starts.iter().cloned();
    let given = starts.filter_map(|s| replayed(instance, budget_bytes, s));
    let mut known: Vec<Known> = given.collect();
    known.extend(fitting_baselines(instance, budget_bytes, watch));
    known
}

/// The schedules of quick baselines that fit.
pub(crate) fn fitting_baselines(
    instance: &Instance,
    budget_bytes: u64,
    watch: &Watch<'_>,
) -> Vec<Known> {
    // What takes long has its turn where nothing else fits.
    let (names, otherwise, share) = match instance.len() {
        0..=ALL_QUICK_UP_TO => (&QUICK[..], None, 1.0),
        n if n <= BITS_UP_TO => (&QUICK[..FOR_LARGE], Some("dtr"), TIME_SHARE),
        _ => (&QUICK[..FOR_LARGE], None, 1.0),
    };
    let run = |name: &&str, patience: Patience<'_>| {
        let baseline = baselines::by_name(name)?;
        let schedule = baseline.run_until(instance, budget_bytes, patience).ok()?;
        fitting(instance, budget_bytes, schedule)
    };
    watch.within(share, |patience| {
        let known = names.par_iter().filter_map(|name| run(name, patience));
        let known: Vec<Known> = known.collect();
        match otherwise {
            Some(name) if known.is_empty() => run(&name, patience).into_iter().collect(),
            _ => known,
        }
    })
}

/// A schedule, if it executes and fits.
pub(super) fn fitting(
    instance: &Instance,
    budget_bytes: u64,
    schedule: CheckmateSchedule,
) -> Option<Known> {
    let replay = simulate::checkmate(instance, &schedule).ok()?;
    let fits = replay.peak_bytes <= budget_bytes;
    fits.then_some(Known { schedule, replay })
}

/// A schedule with the cheapest computations for what it retains, if it executes and fits.
fn replayed(instance: &Instance, budget_bytes: u64, schedule: CheckmateSchedule) -> Option<Known> {
    // What shape it has is checked by a replay, before its rows are used.
    simulate::checkmate(instance, &schedule).ok()?;
    let schedule = CheckmateSchedule::cheapest(instance, schedule.retained);
    fitting(instance, budget_bytes, schedule)
}
