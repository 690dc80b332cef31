//! Rounds of annealing runs side by side: some start afresh, some from the best schedules found so far.

use super::chain::{ChainSettings, Found, SEEK_FROM};
use super::landscape::{End, Landscape, Walk};
use super::polish::{POLISH_MOVES_PER_NODE, polish};
use super::random::Random;
use super::watch::Watch;
use crate::schedule::BitMatrix;
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Runs in a round: fixed, so that the answer does not depend on the number of threads.
pub const LANES: usize = 8;
/// Schedules that later rounds start from.
const ELITE: usize = 4;
/// First temperatures of runs that start afresh, in mean node costs.
const FRESH_HOT: [f64; LANES] = [1.0, 0.3, 3.0, 0.5, 0.7, 0.2, 2.0, 0.4];
/// First temperatures of runs that start from a good schedule.
const ELITE_HOT: [f64; LANES / 2] = [0.1, 0.05, 0.2, 0.02];
/// First temperatures of runs from a fresh start that seek what fits, and of those that go on from where others ended.
const SEEK_HOT: [f64; 2] = [0.3, 0.1];
/// What those that go on pay for excess at first, in prices of absence: enough to stay near, not enough to stay.
const SEEK_ON: f64 = 3.0;
/// Moves for each node of the graph in which a run with a time limit may raise the price.
const SEEK_MOVES_PER_NODE: u64 = 1 << 14;
/// Share of the time left that such a run gets.
const SEEK_SHARE: f64 = 0.45;
/// Last temperature while nothing fits.
const SEEK_COLD: f64 = 0.05;
/// A rounded relaxation that costs this much more than what is known is too far from a good schedule.
const HOPELESS: f64 = 1.25;
/// The same before anything is known, in costs of the start.
const HOPELESS_AT_FIRST: f64 = 2.0;
/// Last temperature of every run.
const COLD: f64 = 0.001;

/// What goes on beside a search.
pub trait Guide {
    /// Is told of the best schedule so far, between rounds.
    fn found(&self, _: &Found) {}
    /// Retained sets to polish.
    fn start(&self) -> Option<BitMatrix> {
        None
    }
}

/// Nothing.
impl Guide for () {}

/// When to end.
#[derive(Clone, Copy, Debug)]
pub struct PortfolioSettings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Moves of a run in the first round for each node of the graph; each round doubles it.
    pub moves_per_node: u64,
    /// Rounds at most.
    pub rounds: u32,
    /// End after this many rounds in a row that found nothing better.
    pub idle_rounds: u32,
    /// End after this time. The answer is then as good as the machine is fast; without it, it depends on the seed and
    /// the number of rounds alone.
    pub time_limit: Option<Duration>,
    /// A cost that cannot be beaten: the search ends when it is met.
    pub target: u64,
}

/// What the search did.
#[derive(Clone, Debug)]
pub struct PortfolioOutcome {
    /// The best schedule that fits, if any was found.
    pub best: Option<Found>,
    /// Rounds that were finished.
    pub rounds: u32,
}

/// Anneals in rounds, from `start` (retained sets) and from `known` schedules that fit.
///
/// A round runs `LANES` runs in the current rayon pool and ends when all have ended; what they found is merged in lane
/// order. `guide` is told of better schedules and asked before each round: retained sets that it has, rounded from a
/// relaxation, are polished instead. As long as that finds nothing better, it takes turns with the rounds.
/// `stop` is asked often; `watch` shows moves and best cost meanwhile.
pub fn search<L: Landscape>(
    graph: &L,
    start: &BitMatrix,
    known: Vec<Found>,
    settings: &PortfolioSettings,
    guide: &dyn Guide,
    stop: &(dyn Fn() -> bool + Sync),
    watch: &Watch,
) -> PortfolioOutcome {
    let clock = Instant::now();
    let over_time = || {
        settings
            .time_limit
            .is_some_and(|limit| clock.elapsed() >= limit)
    };
    let mut elite: Vec<Found> = Vec::new();
    known.into_iter().for_each(|found| admit(&mut elite, found));
    let mut outcome = PortfolioOutcome {
        best: elite.first().cloned(),
        rounds: 0,
    };
    watch.report(0, outcome.best.as_ref().map(|b| b.cost));
    let mut round_moves = settings.moves_per_node * graph.nodes() as u64;
    let mut idle_rounds = 0;
    let mut slow_rounds = 0;
    let mut guided = 0;
    let mut polishing = true;
    let mut told = u64::MAX;
    // As long as nothing fits: where runs ended that came near, by their excess.
    let mut near: Vec<(f64, BitMatrix)> = Vec::new();
    while outcome.rounds < settings.rounds && !stop() && !over_time() {
        let seeking = L::SEEKS && elite.is_empty();
        // What fits first is worth more than eight that do not: fewer and longer runs, where time cuts them.
        let lanes = match settings.time_limit {
            Some(_) if seeking => rayon::current_num_threads().min(LANES),
            _ => LANES,
        };
        let time = settings.time_limit.map(|limit| {
            let left = limit.saturating_sub(clock.elapsed());
            match seeking {
                // A slow rise of the price comes further than several fast ones.
                true => left.mul_f64(SEEK_SHARE),
                false => lane_time(left, slow_rounds),
            }
        });
        let begin = Instant::now();
        let halt = || stop() || over_time();
        if let Some(best) = outcome.best.as_ref().filter(|b| b.cost < told) {
            told = best.cost;
            guide.found(best);
        }
        let guided_start = if polishing { guide.start() } else { None };
        if let Some(retained) = guided_start {
            polishing = false;
            let most = match &outcome.best {
                Some(best) => HOPELESS * best.cost as f64,
                None => HOPELESS_AT_FIRST * graph.walk(start).cost() as f64,
            };
            if graph.walk(&retained).cost() as f64 > most {
                continue;
            }
            let (moves, seed) = (POLISH_MOVES_PER_NODE * graph.nodes() as u64, settings.seed);
            guided += 1;
            for found in polish(graph, &[retained], moves, seed, guided, &halt, watch) {
                if outcome.best.as_ref().is_none_or(|b| found.cost < b.cost) {
                    outcome.best = Some(found.clone());
                    polishing = true;
                }
                admit(&mut elite, found);
            }
            continue;
        }
        polishing = true;
        let ends: Vec<End> = (0..lanes)
            .into_par_iter()
            .map(|lane| {
                let number = outcome.rounds as usize * LANES + lane;
                let random = Random::new(settings.seed, number as u64);
                let known = elite.get(lane / 2 % ELITE.min(elite.len()).max(1));
                let on = near.get(lane / 2 % near.len().max(1));
                // Alternately from where others ended, and afresh.
                let odd = if seeking { number / LANES + lane } else { lane } % 2 == 1;
                let fresh_hot = FRESH_HOT[(lane + outcome.rounds as usize) % LANES];
                let (start, hot, cold, seek) = match (known, on) {
                    (Some(found), _) if odd => (&found.retained, ELITE_HOT[lane / 2], COLD, None),
                    (None, Some((_, on))) if odd => (on, SEEK_HOT[1], SEEK_COLD, Some(SEEK_ON)),
                    (None, _) if seeking && (odd || lanes < LANES || lane % 4 == 0) => {
                        (start, SEEK_HOT[0], SEEK_COLD, Some(SEEK_FROM))
                    }
                    _ => (start, fresh_hot, COLD, None),
                };
                let run = ChainSettings {
                    // Where time ends a run that seeks, nothing else does before it has come far.
                    moves: match time {
                        Some(_) if seek.is_some() => {
                            round_moves.max(SEEK_MOVES_PER_NODE * graph.nodes() as u64)
                        }
                        _ => round_moves,
                    },
                    hot,
                    cold,
                    target: settings.target,
                    time,
                    seek,
                };
                graph.attempt(start, random, run, &halt, watch)
            })
            .collect();
        // A lane that needed all its time was cut short of its moves.
        slow_rounds += usize::from(!seeking && time.is_some_and(|time| begin.elapsed() >= time));
        idle_rounds += u32::from(!seeking);
        for end in ends {
            let found = match end {
                End::Fits(found) => found,
                End::Near(excess, retained) => {
                    let at = near.partition_point(|e| e.0 <= excess);
                    near.insert(at, (excess, retained));
                    near.truncate(ELITE);
                    continue;
                }
                End::Nothing => continue,
            };
            if outcome.best.as_ref().is_none_or(|b| found.cost < b.cost) {
                outcome.best = Some(found.clone());
                idle_rounds = 0;
            }
            admit(&mut elite, found);
        }
        outcome.rounds += 1;
        round_moves *= 2;
        if outcome
            .best
            .as_ref()
            .is_some_and(|b| b.cost <= settings.target)
            || idle_rounds >= settings.idle_rounds
        {
            break;
        }
    }
    outcome
}

/// Time for each run of a round, given what is left for all rounds and how many rounds were cut short by time so far.
///
/// The temperature of every run gets down within it, so that no round is in vain: large graphs get a few rounds that
/// time cuts short, small ones many that end after their moves.
fn lane_time(left: Duration, slow_rounds: usize) -> Duration {
    let shares = [0.1, 0.25, 0.45];
    let share = shares.get(slow_rounds).copied().unwrap_or(0.97);
    let waves = LANES.div_ceil(rayon::current_num_threads());
    left.mul_f64(share / waves as f64)
}

/// Puts a schedule among the best few of different cost.
fn admit(elite: &mut Vec<Found>, found: Found) {
    let at = elite.partition_point(|e| e.cost < found.cost);
    if elite.get(at).is_none_or(|e| e.cost > found.cost) {
        elite.insert(at, found);
        elite.truncate(ELITE);
    }
}
