//! Rounds of annealing runs side by side: some start afresh, the others from what two of the best
//! schedules make together.

use super::chain::{ChainSettings, Found, LAST_TEMPERATURE, SEEK_COLD, SEEK_FROM, SEEK_HOT};
use super::landscape::{Landscape, StretchSettings, Walk};
use super::long::LongRuns;
use super::observer::{Observer, Until};
use super::polish::{POLISH_RUNS, PolishSettings, polish};
use super::population::Population;
use rayon::prelude::*;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use std::time::{Duration, Instant};

/// Runs in a round: fixed, so that the answer does not depend on the number of threads. Where time
/// decides it anyway, there is one for each thread.
const LANES: usize = 8;
/// First temperatures of runs that start afresh, in mean node costs.
const FRESH_HOT: [f64; LANES] = [1.0, 0.3, 3.0, 0.5, 0.7, 0.2, 2.0, 0.4];
/// First temperatures of runs that start from two good schedules.
const CHILD_HOT: [f64; 3] = [0.03, 0.1, 0.3];
/// One in so many lanes seeks as long as nothing fits.
const SEEKERS_AT_FIRST: usize = 2;
/// One in so many seeks later, if it starts afresh.
const SEEKERS: usize = 4;
/// Moves for each node of a graph with a backward pass in which a run with a time limit may raise
/// the price. Of other graphs many short runs find more (docs/decisions/095).
const SEEK_MOVES_PER_NODE: u64 = 1 << 14;
/// Without a time limit: moves of the longest such run, in those of a run in the first round.
const LONGEST_RUN_FACTOR: u64 = 64;
/// Share of the time left that such a run gets.
const SEEK_SHARE: f64 = 0.45;
/// A rounded relaxation that costs this much more than what is known is too far from a good
/// schedule.
const HOPELESS: f64 = 1.25;
/// The same before anything is known, in costs of the start.
const HOPELESS_AT_FIRST: f64 = 2.0;
/// Moves of a run that polishes one, in those of a run in the first round.
const POLISHING_RUN_FACTOR: u64 = 2;
/// Rounds over stretches in a row, and bits by which their number is shifted in their seed.
const STRETCH_ROUNDS: u64 = 64;
const STRETCH_SEED_SHIFT: u32 = 40;

/// Settings of the search: seed, work and limits.
#[derive(Clone, Copy, Debug)]
pub struct PortfolioSettings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Moves of a run in the first round for each node of the graph. Rounds that find nothing
    /// better make the next one longer: by a quarter, or twofold as long as nothing fits.
    pub moves_per_node: u64,
    /// Rounds at most.
    pub rounds: u32,
    /// End after this many rounds in a row that found nothing better.
    pub idle_rounds: u32,
    /// End after this time. The answer is then as good as the machine is fast; without it, it
    /// depends on the seed and the number of rounds alone.
    pub time_limit: Option<Duration>,
    /// Share of that time that a round gets at most, once something fits.
    pub round_share: f64,
    /// A cost that cannot be beaten: the search ends when it is met.
    pub target: u64,
}

/// Outcome of rounds of annealing.
#[derive(Clone, Copy, Debug)]
pub struct Annealed {
    /// Moves that the runs of all rounds were given.
    pub moves: u64,
    /// Moves that the runs of the next round would get, for each node of the graph.
    pub moves_per_node: u64,
}

/// Anneals in rounds, from `start` (retained sets) and from the schedules of `population`, which
/// takes in what is found. Returns what the rounds came to.
///
/// A round runs `LANES` runs in the current rayon pool and ends when all have ended; what they
/// found is merged in lane order. Half of the runs start afresh, and one when the population is
/// full; the others from its [children](Population::child). Of those that start afresh some
/// [seek](ChainSettings::seek). `observer` is told of better schedules and asked before each round:
/// retained sets that it has, rounded from a relaxation, are polished instead. As long as that
/// finds nothing better, it takes turns with the rounds. Where time cuts the runs of a round short
/// and the best schedule is far from the bound, long runs follow. What is still the best after
/// another round is polished, too.
pub fn search<L: Landscape<Sets = BitMatrix>>(
    graph: &L,
    start: &BitMatrix,
    population: &mut Population,
    settings: &PortfolioSettings,
    observer: &dyn Observer,
) -> Annealed {
    let clock = Instant::now();
    let best = |population: &Population| population.best().map(|found| found.cost);
    let runs = Until {
        observer,
        deadline: settings
            .time_limit
            .and_then(|limit| clock.checked_add(limit)),
    };
    observer.report(0, best(population));
    let first_moves = settings.moves_per_node * graph.nodes() as u64;
    let mut round_moves = first_moves;
    let (mut rounds, mut idle_rounds, mut given) = (0, 0, 0);
    let mut polished = PolishSettings {
        moves: first_moves,
        time: None,
        seek: false,
        seed: settings.seed,
        stream: 0,
    };
    let mut polishing = true;
    let (mut told, mut settled) = (u64::MAX, None);
    let mut stretch_calls: u64 = 0;
    let mut long = LongRuns::new(&runs);
    while rounds < settings.rounds && !runs.is_over() {
        if let Some(found) = population.best().filter(|found| found.cost < told) {
            told = found.cost;
            observer.found(found);
        }
        let before = best(population);
        let guided_start = if polishing { observer.start() } else { None };
        if let Some(retained) = guided_start {
            polishing = false;
            let most = match before {
                Some(best) => HOPELESS * best as f64,
                None => HOPELESS_AT_FIRST * graph.walk(start).cost() as f64,
            };
            if graph.walk(&retained).cost() as f64 > most {
                continue;
            }
            polished.stream += 1;
            polished.moves = POLISHING_RUN_FACTOR * first_moves;
            polished.seek = population.is_empty();
            let found = polish(graph, &[retained], &polished, &runs);
            found.into_iter().for_each(|f| population.admit(f));
            polishing = best(population) != before;
            continue;
        }
        polishing = true;
        let seeking = population.is_empty();
        let left = settings
            .time_limit
            .map(|l| l.saturating_sub(clock.elapsed()));
        if let Some(from) = population.best() {
            stretch_calls += 1;
            let stretches = StretchSettings {
                seed: settings.seed ^ (stretch_calls << STRETCH_SEED_SHIFT),
                rounds: STRETCH_ROUNDS,
                time: left.map(|left| settings.stretch_time(left)),
                target: settings.target,
            };
            if let Some(found) = graph.stretched(from, &stretches, &runs) {
                population.admit(found);
                idle_rounds = 0;
                continue;
            }
        }
        let limits = settings.time_limit.zip(left);
        if let (Some((limit, left)), true) = (limits, !seeking && long.is_due(graph)) {
            let limits = [limit, left];
            let (found, moves) = long.run(graph, start, population, settings.seed, limits);
            given += moves;
            found.into_iter().for_each(|f| population.admit(f));
            long.note(best(population) != before);
            continue;
        }
        let round = Round {
            number: rounds as usize,
            // What fits first is worth more than eight that do not: fewer and longer runs, where
            // time cuts them.
            lanes: match settings.time_limit {
                Some(_) if seeking => rayon::current_num_threads(),
                _ => settings.lanes(),
            },
            every: match settings.time_limit {
                Some(_) if seeking => 1,
                None if seeking => SEEKERS_AT_FIRST,
                _ => SEEKERS,
            },
            moves: round_moves,
            time: left.map(|left| settings.lane_time(left, seeking)),
            seeking,
            settings,
        };
        let began = Instant::now();
        let run = |lane| round.run(lane, graph, start, population, &runs);
        let found: Vec<Option<Found>> = (0..round.lanes).into_par_iter().map(run).collect();
        // A run that seeks takes as long as another one with as many moves.
        let lane_time = left.map(|left| settings.lane_time(left, false));
        long.note_round(round.lanes, lane_time, began.elapsed());
        given += round.lanes as u64 * round_moves;
        found
            .into_iter()
            .flatten()
            .for_each(|f| population.admit(f));
        rounds += 1;
        // Runs end a unit or two above the bottom of their valley, where moves that save so little
        // are drawn too seldom.
        let unsettled = population
            .best()
            .filter(|found| Some(found.cost) == before && before != settled);
        if let Some(found) = unsettled {
            settled = before;
            polished.stream += 1;
            polished.moves = first_moves;
            polished.seek = false;
            given += POLISH_RUNS as u64 * first_moves;
            let found = polish(
                graph,
                std::slice::from_ref(&found.retained),
                &polished,
                &runs,
            );
            found.into_iter().for_each(|f| population.admit(f));
        }
        if best(population).is_some_and(|cost| cost <= settings.target) {
            break;
        }
        if best(population) != before {
            idle_rounds = 0;
        } else if seeking {
            round_moves *= 2;
            // Without a time limit it ends here.
            if settings.time_limit.is_none() && round_moves > LONGEST_RUN_FACTOR * first_moves {
                break;
            }
        } else {
            round_moves += round_moves / 4;
            idle_rounds += 1;
            if idle_rounds >= settings.idle_rounds {
                break;
            }
        }
    }
    Annealed {
        moves: given,
        moves_per_node: round_moves / (graph.nodes() as u64).max(1),
    }
}

impl PortfolioSettings {
    /// Time for a run, of what is left: the temperature of every run gets down within it, so that
    /// no round is in vain.
    fn lane_time(&self, left: Duration, seeking: bool) -> Duration {
        let waves = self.lanes().div_ceil(rayon::current_num_threads()) as f64;
        let limit = self.time_limit.unwrap_or(left);
        match seeking {
            // A slow rise of the price comes further than several fast ones.
            true => left.mul_f64(SEEK_SHARE),
            false => limit.mul_f64(self.round_share).min(left).div_f64(waves),
        }
    }

    /// Runs in a round.
    fn lanes(&self) -> usize {
        match self.time_limit {
            Some(_) => LANES.max(rayon::current_num_threads()),
            None => LANES,
        }
    }

    /// Time for rounds over stretches, of what is left.
    fn stretch_time(&self, left: Duration) -> Duration {
        let limit = self.time_limit.unwrap_or(left);
        limit.mul_f64(self.round_share).min(left)
    }
}

/// Data that the runs of a round have in common.
struct Round<'a> {
    number: usize,
    lanes: usize,
    /// One run in so many seeks, if it begins afresh.
    every: usize,
    moves: u64,
    time: Option<Duration>,
    /// True if nothing fits yet.
    seeking: bool,
    settings: &'a PortfolioSettings,
}

impl Round<'_> {
    /// One run: afresh, or from a child of the population.
    fn run<L: Landscape<Sets = BitMatrix>>(
        &self,
        lane: usize,
        graph: &L,
        start: &BitMatrix,
        population: &Population,
        observer: &dyn Observer,
    ) -> Option<Found> {
        let stream = self.number * self.settings.lanes() + lane;
        let mut random = Xoshiro256::new(self.settings.seed, stream as u64);
        // Alternately afresh, and from what is known.
        let child = match lane % 2 == 1 || (lane > 0 && population.is_full()) {
            true => population.child(&mut random),
            false => None,
        };
        let child_hot = CHILD_HOT[random.below(CHILD_HOT.len() as u32) as usize];
        let fresh_hot = FRESH_HOT[(lane + self.number) % LANES];
        let turn = (lane + self.number).is_multiple_of(self.every);
        let seeks = child.is_none() && turn;
        let (hot, cold) = match (seeks, &child) {
            (true, _) => (SEEK_HOT, SEEK_COLD),
            (false, Some(_)) => (child_hot, LAST_TEMPERATURE),
            (false, None) => (fresh_hot, LAST_TEMPERATURE),
        };
        let run = ChainSettings {
            // Where time ends a run that seeks, nothing else does before it has come far.
            moves: match self.time {
                Some(_) if self.seeking && seeks && graph.long_run_hot().is_none() => {
                    let least = SEEK_MOVES_PER_NODE * graph.nodes() as u64;
                    self.moves.max(least)
                }
                _ => self.moves,
            },
            hot,
            cold,
            target: self.settings.target,
            time: self.time,
            seek: seeks.then_some(SEEK_FROM),
        };
        graph.anneal(child.as_ref().unwrap_or(start), random, run, observer)
    }
}
