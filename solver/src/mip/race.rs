//! A race of settings: searches of one program side by side for equal work, the better half of which
//! goes on, until one is left.
//!
//! The racing ramp-up of Shinano, Achterberg, Berthold, Heinz and Koch ("ParaSCIP", 2012), with
//! work in place of seconds: who wins does not depend on the number of threads or the moment.

use crate::mip::clock::{Stop, StopOnDrop};
use crate::mip::control::Control;
use crate::mip::outcome::{SolveError, SolveStatus};
use crate::mip::search::TreeSearch;
use crate::mip::settings::{NodeSelection, Settings, thread_pool};
use crate::mip::solver::Solver;
use rayon::prelude::*;
use std::time::Instant;

/// Separation rounds at the root of those that get along with few.
const FEW_CUT_ROUNDS: usize = 5;

/// Steps in which distances from the best solution are compared: those in the same one are equal.
const STEPS_OF_GAP: f64 = 100.0;

struct Racer {
    solver: Solver,
    search: TreeSearch,
}

/// Settings of the entrant of this number; 0 is the user's own. Nothing is switched on.
fn settings_of(number: usize, own: &Settings, entrants: usize) -> Settings {
    let mut s = own.clone();
    s.seed = s.seed.wrapping_add(number as u64);
    match number % 4 {
        1 => s.node_selection = NodeSelection::BestBound,
        2 => {
            s.cut_rounds = s.cut_rounds.min(FEW_CUT_ROUNDS);
            s.local_cuts = false;
        }
        3 => {
            s.reliability *= 2;
            s.restarts = false;
        }
        _ => {}
    }
    s.race = 1;
    s.threads = 1;
    s.opportunistic = false;
    let entrants = entrants as u64;
    s.limits.nodes = own.limits.nodes.map(|n| n / entrants);
    s.limits.memory_bytes = own.limits.memory_bytes.map(|b| b / entrants);
    s
}

/// Searches as one of those does that start under several settings, of which `first` is one that
/// has not begun.
pub(crate) fn run(
    own: &Solver,
    first: TreeSearch,
    stop: &Stop,
    start: Instant,
) -> Result<TreeSearch, SolveError> {
    let entrants = own.settings.race;
    let problem = first.shared.problem.clone();
    let postsolve = first.shared.postsolve.clone();
    let may_restart = first.may_restart;
    let info = first.info;
    drop(first);
    let mut racers = (0..entrants)
        .map(|k| {
            let solver = Solver {
                model: own.model.clone(),
                settings: settings_of(k, &own.settings, entrants),
                extensions: own.extensions.clone(),
                control: Control {
                    statistics: own.control.statistics.clone(),
                    ..Control::default()
                },
                emits_events: false,
            };
            let (problem, postsolve) = ((*problem).clone(), (*postsolve).clone());
            let mut search =
                TreeSearch::new(&solver, problem, postsolve, stop.clone(), start, info)?;
            search.may_restart = may_restart && solver.settings.restarts;
            Ok(Racer { solver, search })
        })
        .collect::<Result<Vec<_>, SolveError>>()?;
    let pool = thread_pool(own.settings.threads);
    let mut ticks = own.settings.race_ticks;
    let mut gone = Gone::default();
    while racers.len() > 1 {
        let limit = own
            .settings
            .limits
            .ticks
            .map_or(u64::MAX, |t| t / entrants as u64);
        let limit = ticks.min(limit);
        let go = |racer: Racer| {
            let stop_others = StopOnDrop::new(stop);
            let racer = racer.go(limit, stop, start);
            stop_others.call_off();
            racer
        };
        let ended: Vec<_> = match &pool {
            Some(pool) => pool.install(|| racers.into_par_iter().map(go).collect()),
            None => racers.into_iter().map(go).collect(),
        };
        racers = ended.into_iter().collect::<Result<_, _>>()?;
        let is_over = racers.iter().any(Racer::has_finished) || stop.is_raised();
        let left = if is_over { 1 } else { racers.len() / 2 };
        keep_best(&mut racers, left, &mut gone);
        ticks = ticks.saturating_mul(2);
    }
    let winner = racers.swap_remove(0);
    let finished = winner.has_finished();
    let Racer { solver, mut search } = winner;
    let settings = Settings {
        limits: own.settings.limits.clone(),
        threads: own.settings.threads,
        opportunistic: own.settings.opportunistic,
        ..solver.settings
    };
    let solver = Solver {
        settings,
        control: own.control.clone(),
        emits_events: own.emits_events,
        ..solver
    };
    search.go_on_as(&solver, gone);
    if finished {
        return Ok(search);
    }
    search.status = SolveStatus::Optimal;
    solver.advance(search, stop, start)
}

impl Racer {
    /// Searches until it has spent these ticks.
    fn go(mut self, ticks: u64, stop: &Stop, start: Instant) -> Result<Racer, SolveError> {
        self.solver.settings.limits.ticks = Some(ticks);
        self.search.shared.settings.limits.ticks = Some(ticks);
        self.search.status = SolveStatus::Optimal;
        self.search = self.solver.advance(self.search, stop, start)?;
        Ok(self)
    }

    /// Returns whether nothing is left to search, or more of it leads nowhere.
    fn has_finished(&self) -> bool {
        !matches!(
            self.search.status,
            SolveStatus::TickLimit | SolveStatus::NodeLimit | SolveStatus::MemoryLimit
        )
    }
}

/// Work and findings of those that are out of the race.
pub(crate) struct Gone {
    pub ticks: u64,
    pub iterations: u64,
    pub nodes: u64,
    /// Best bound that one of them has proven.
    pub bound: f64,
}

impl Default for Gone {
    fn default() -> Self {
        Gone {
            ticks: 0,
            iterations: 0,
            nodes: 0,
            bound: f64::NEG_INFINITY,
        }
    }
}

/// Leaves the best: those that have finished, then those nearest to the best solution of all, then
/// those with the smaller part of their tree to go. All that stay know that solution.
fn keep_best(racers: &mut Vec<Racer>, left: usize, gone: &mut Gone) {
    let solutions = racers
        .iter()
        .filter_map(|r| r.search.shared.incumbent.as_ref());
    let best = solutions
        .min_by(|a, b| a.objective.total_cmp(&b.objective))
        .cloned();
    if let Some(best) = &best {
        for r in racers.iter_mut() {
            r.search.adopt(best);
        }
    }
    let value = best.map_or(f64::INFINITY, |s| s.objective);
    let gaps: Vec<f64> = (racers.iter())
        .map(|r| (value - r.search.bound()).max(0.0))
        .collect();
    let widest = gaps.iter().copied().fold(0.0, f64::max);
    let places = racers.drain(..).zip(gaps).map(|(r, gap)| {
        let step = match widest.is_finite() && widest > 0.0 {
            true => (gap / widest * STEPS_OF_GAP).round(),
            // Without a solution the bounds alone tell them apart.
            false => -r.search.bound(),
        };
        (!r.has_finished(), step, r.search.open_share(), r)
    });
    let mut places: Vec<_> = places.collect();
    places.sort_by(|a, b| {
        (a.0.cmp(&b.0))
            .then(a.1.total_cmp(&b.1))
            .then(a.2.total_cmp(&b.2))
    });
    for (_, _, _, r) in places.drain(left..) {
        gone.ticks += r.search.ticks();
        gone.iterations += r.search.iterations();
        gone.nodes += r.search.info.nodes;
        gone.bound = gone.bound.max(r.search.bound());
    }
    racers.extend(places.into_iter().map(|p| p.3));
}
