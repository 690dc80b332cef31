//! First schedules: baselines that fit.

use crate::anneal::{CheckmateLandscape, seek};
use crate::baselines;
use crate::waiting::budgets_beside_others;
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_instances::simulate::{self, Replay};
use remat_search::anneal::{Found, Observer};
use remat_search::{Patience, Watch};
use std::time::Duration;

/// Nodes up to which all quick baselines take well under a second.
const ALL_QUICK_UP_TO: usize = 2_000;
/// Nodes up to which baselines that hold a bit for each tensor and stage take seconds.
const BITS_UP_TO: usize = 20_000;
/// Quick baselines that may fit: the fallback of short time limits, and the start of some annealing
/// runs.
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
/// Number of them, the first ones, that run on large graphs, where annealing alone takes long to
/// get down to the budget.
const FOR_LARGE: usize = 2;
/// Nodes up to which the leanest sets are a start of a search: each of their stages computes all
/// forward nodes again, so a move takes long on larger graphs.
const LEAN_NODE_LIMIT: usize = 512;
/// Nodes from which on annealing from the full sets takes long to get down to the budget.
const SOUGHT_FROM: usize = 1_500;
/// Limit on the time of such a search, for each node of a smaller graph: the relaxation may show
/// meanwhile that nothing fits.
const SEEK_TIME_PER_NODE: Duration = Duration::from_millis(20);
/// Cost of a schedule from such a search, as a multiple of computing every node once, up to which it
/// is used: from more expensive ones annealing takes longer than from all tensors.
const SOUGHT_COST: f64 = 4.0;
/// Cost of a known schedule, as a multiple of computing every node once, up to which no search from
/// a schedule that does not fit is started.
const DECENT: f64 = 1.25;
/// Share of the remaining time that baselines get at most: the rest is for the search.
const TIME_SHARE: f64 = 0.3;
/// The same for a search from a schedule that does not fit, and its seed.
const SEEK_SHARE: f64 = 0.5;
const SEED: u64 = 0;

/// A schedule that fits, replayed.
pub(crate) struct KnownSchedule {
    pub schedule: CheckmateSchedule,
    pub replay: Replay,
}

impl From<&KnownSchedule> for Found {
    fn from(known: &KnownSchedule) -> Found {
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
) -> Vec<KnownSchedule> {
    let starts = starts.iter().cloned();
    let given = starts.filter_map(|s| replayed(instance, budget_bytes, s));
    let mut known: Vec<KnownSchedule> = given.collect();
    known.extend(fitting_baselines(instance, budget_bytes, watch));
    known
}

/// The schedules of quick baselines that fit. If no baseline fits, or on large graphs if no baseline
/// fits at a decent cost, the results of a search from the one with the least peak are added. On
/// smaller graphs the search also starts from the leanest sets and from all tensors.
pub(crate) fn fitting_baselines(
    instance: &Instance,
    budget_bytes: u64,
    watch: &Watch<'_>,
) -> Vec<KnownSchedule> {
    let n = instance.len();
    let (names, share) = match n {
        0..=ALL_QUICK_UP_TO => (&QUICK[..], 1.0),
        n if n <= BITS_UP_TO => (&QUICK[..FOR_LARGE], TIME_SHARE),
        _ => (&QUICK[..FOR_LARGE], 1.0),
    };
    let run = |name: &str, own_bytes: u64, patience: Patience<'_>| {
        let baseline = baselines::by_name(name)?;
        let schedule = baseline.run_until(instance, own_bytes, patience).ok()?;
        let schedule = match instance.in_flight() {
            1 => schedule,
            _ => schedule_of(instance, schedule.retained),
        };
        let replay = simulate::checkmate(instance, &schedule).ok()?;
        Some(KnownSchedule { schedule, replay })
    };
    let tried: Vec<KnownSchedule> = watch.within(share, |patience| {
        let budgets = budgets_beside_others(instance, budget_bytes);
        let all = budgets
            .iter()
            .flat_map(|own| names.iter().map(move |name| (*own, *name)));
        let all: Vec<(u64, &str)> = all.collect();
        let tried = all
            .par_iter()
            .filter_map(|(own, name)| run(name, *own, patience));
        tried.collect()
    });
    let fits = |known: &KnownSchedule| known.replay.peak_bytes <= budget_bytes;
    let (mut known, others): (Vec<_>, Vec<_>) = tried.into_iter().partition(fits);
    let decent = DECENT * instance.base_cost() as f64;
    let is_large = n >= SOUGHT_FROM && known.iter().all(|k| k.replay.cost as f64 > decent);
    if is_large || known.is_empty() {
        let nearest = others.iter().min_by_key(|k| k.replay.peak_bytes);
        let nearest = nearest.map(|known| known.schedule.retained.clone());
        let mut starts: Vec<StageRuns> = nearest.into_iter().collect();
        if n < SOUGHT_FROM {
            let lean = (n <= LEAN_NODE_LIMIT).then(|| leanest_sets(instance));
            // If they fit, the budget is not near the least one.
            let is_tight = |sets: &StageRuns| {
                let schedule = schedule_of(instance, sets.clone());
                fitting(instance, budget_bytes, schedule).is_none()
            };
            starts.extend(lean.filter(is_tight));
            starts.push(CheckmateSchedule::checkpoint_all(instance).retained);
        }
        let (sought, evicted) = watch.within(SEEK_SHARE, |patience| {
            // On smaller graphs it is among the quick ones.
            let has_turn = n > ALL_QUICK_UP_TO && n <= BITS_UP_TO;
            let evicted = || {
                let found = has_turn
                    .then(|| run("dtr", budget_bytes, patience))
                    .flatten();
                found.filter(fits)
            };
            let sought = || sought(instance, budget_bytes, &starts, watch, patience);
            rayon::join(sought, evicted)
        });
        let most = SOUGHT_COST * instance.base_cost() as f64;
        let is_used = |known: &KnownSchedule| is_large || known.replay.cost as f64 <= most;
        known.extend(sought.into_iter().filter(is_used).chain(evicted));
    }
    known
}

/// Sets that hold only gradients, from their computation to their last use. Each stage computes the
/// forward nodes that it needs again, so their peak is near the largest working set.
fn leanest_sets(instance: &Instance) -> StageRuns {
    let mut retained = StageRuns::new(instance.len(), instance.len());
    for id in instance.ids().filter(|id| instance.node(*id).is_backward()) {
        if let Some(last) = instance.users(id).last() {
            retained.fill(id.index(), id.index() + 1, last.index());
        }
    }
    retained
}

/// A schedule that fits, found from sets that nearly do.
fn sought(
    instance: &Instance,
    budget_bytes: u64,
    starts: &[StageRuns],
    watch: &Watch<'_>,
    patience: Patience<'_>,
) -> Option<KnownSchedule> {
    let graph = CheckmateLandscape::new(instance, budget_bytes);
    let time = watch.left().map(|left| {
        let share = left.mul_f64(SEEK_SHARE);
        match instance.len() < SOUGHT_FROM {
            true => share.min(SEEK_TIME_PER_NODE * instance.len() as u32),
            false => share,
        }
    });
    let found = seek(&graph, starts, SEED, time, &Waiter(patience))?;
    let schedule = schedule_of(instance, found.retained);
    fitting(instance, budget_bytes, schedule)
}

/// An observer with a time limit.
struct Waiter<'a>(Patience<'a>);

impl Observer for Waiter<'_> {
    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}

/// The schedule of retained sets. If others wait, it retains no tensor without use: a tensor that is
/// held to the end of the stage of the wait would count for them.
pub(super) fn schedule_of(
    instance: &Instance,
    retained: impl Into<StageRuns>,
) -> CheckmateSchedule {
    match instance.in_flight() {
        1 => CheckmateSchedule::cheapest(instance, retained),
        _ => CheckmateSchedule::tightest(instance, retained),
    }
}

/// A schedule, if it executes and fits.
pub(super) fn fitting(
    instance: &Instance,
    budget_bytes: u64,
    schedule: CheckmateSchedule,
) -> Option<KnownSchedule> {
    let replay = simulate::checkmate(instance, &schedule).ok()?;
    let fits = replay.peak_bytes <= budget_bytes;
    fits.then_some(KnownSchedule { schedule, replay })
}

/// A schedule with the cheapest computations for its retained sets, if it executes and fits.
fn replayed(
    instance: &Instance,
    budget_bytes: u64,
    schedule: CheckmateSchedule,
) -> Option<KnownSchedule> {
    // The replay checks the shape of the schedule before its rows are used.
    simulate::checkmate(instance, &schedule).ok()?;
    let schedule = schedule_of(instance, schedule.retained);
    fitting(instance, budget_bytes, schedule)
}
