//! Rounds of annealing runs side by side: some start afresh, the others from children of two of the
//! best schedules.

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

/// Runs in a round: fixed, so that the answer does not depend on the number of threads. With a time
/// limit, it depends on the time anyway, and there is a run for each thread.
const LANES: usize = 8;
/// First temperatures of runs that start afresh, in mean node costs.
const FRESH_HOT: [f64; LANES] = [1.0, 0.3, 3.0, 0.5, 0.7, 0.2, 2.0, 0.4];
/// First temperatures of runs that start from two good schedules.
const CHILD_HOT: [f64; 3] = [0.03, 0.1, 0.3];
/// One in so many lanes seeks as long as no schedule fits.
const SEEKERS_AT_FIRST: usize = 2;
/// One in so many seeks later, if it starts afresh.
const SEEKERS: usize = 4;
/// Moves for each node of a graph with a backward pass in which a run with a time limit may raise
/// the price. On other graphs many short runs find more (docs/inside/decisions/095).
const SEEK_MOVES_PER_NODE: u64 = 1 << 14;
/// Without a time limit: longest run that seeks, in multiples of a run in the first round.
const LONGEST_RUN_FACTOR: u64 = 64;
/// Share of the time left that a run that seeks gets.
const SEEK_SHARE: f64 = 0.45;
/// Factor on the best cost above which a rounded relaxation is too far from a good schedule.
const HOPELESS: f64 = 1.25;
/// The same before the first schedule, in costs of the start.
const HOPELESS_AT_FIRST: f64 = 2.0;
/// Moves of a run that polishes a rounded relaxation, in multiples of a run in the first round.
const POLISHING_RUN_FACTOR: u64 = 2;
/// Rounds over stretches in a row, and bits by which their number is shifted in their seed.
const STRETCH_ROUNDS: u64 = 64;
const STRETCH_SEED_SHIFT: u32 = 40;

/// Settings of the search: seed, work and limits.
#[derive(Clone, Copy, Debug)]
pub struct PortfolioSettings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Moves of a run in the first round for each node of the graph. Rounds without a better
    /// schedule make the next one longer: by a quarter, or twofold as long as no schedule fits.
    pub moves_per_node: u64,
    /// Limit on the rounds.
    pub rounds: u32,
    /// End after this many rounds in a row without a better schedule.
    pub idle_rounds: u32,
    /// End after this time. The answer then depends on the speed of the machine. Without it, it
    /// depends only on the seed and the number of rounds.
    pub time_limit: Option<Duration>,
    /// Limit on the share of that time that a round gets, once a schedule fits.
    pub round_share: f64,
    /// A cost that cannot be beaten: the search ends when it reaches this cost.
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
/// admits the results. Returns counters.
///
/// A round runs `LANES` runs in the current rayon pool and ends when all have ended; the results
/// are merged in lane order. Half of the runs start afresh, and one when the population is full;
/// the others from its [children](Population::child). Some of the fresh runs
/// [seek](ChainSettings::seek). `observer` receives better schedules and is asked before each
/// round: if it has retained sets, rounded from a relaxation, they are polished instead. While
/// these bring no better schedule, they take turns with the rounds. If time cuts the runs of a
/// round short and the best schedule is far from the bound, long runs follow. A schedule that is
/// still the best after another round is polished, too.
pub fn search<L: Landscape<Sets = BitMatrix>>(
    graph: &L,
    start: &BitMatrix,
    population: &mut Population,
    settings: &PortfolioSettings,
    observer: &dyn Observer,
) -> Annealed {
    let clock = Instant::now();
    let deadline = settings.time_limit.and_then(|l| clock.checked_add(l));
    let runs = Until { observer, deadline };
    observer.report(0, best(population));
    let mut rounds = Rounds::new(graph, start, settings, clock, &runs);
    let mut told = u64::MAX;
    while rounds.count < settings.rounds && !runs.is_over() {
        if let Some(found) = population.best().filter(|found| found.cost < told) {
            told = found.cost;
            observer.found(found);
        }
        if rounds.polish_guided(population) {
            continue;
        }
        let left = rounds.time_left();
        if rounds.stretch(population, left) || rounds.run_long(population, left) {
            continue;
        }
        let before = best(population);
        let seeking = population.is_empty();
        rounds.round(population, left);
        rounds.polish_settled(population, before);
        if rounds.is_last(population, before, seeking) {
            break;
        }
    }
    Annealed {
        moves: rounds.given,
        moves_per_node: rounds.moves / (graph.nodes() as u64).max(1),
    }
}

fn best(population: &Population) -> Option<u64> {
    population.best().map(|found| found.cost)
}

/// State of the rounds, and inputs of the next one.
struct Rounds<'a, L> {
    graph: &'a L,
    start: &'a BitMatrix,
    settings: &'a PortfolioSettings,
    clock: Instant,
    runs: &'a Until<'a>,
    /// Number of rounds.
    count: u32,
    /// Rounds in a row without a better schedule.
    idle: u32,
    /// Moves of a run in the first round, and in the next one.
    first_moves: u64,
    moves: u64,
    /// Moves that all runs were given.
    given: u64,
    polish: PolishSettings,
    /// False after retained sets of the observer that brought no better schedule: a round comes
    /// first.
    may_guide: bool,
    /// Cost of the schedule that was polished last because it stayed the best.
    settled: Option<u64>,
    stretch_calls: u64,
    long: LongRuns<'a>,
}

impl<'a, L: Landscape<Sets = BitMatrix>> Rounds<'a, L> {
    fn new(
        graph: &'a L,
        start: &'a BitMatrix,
        settings: &'a PortfolioSettings,
        clock: Instant,
        runs: &'a Until<'a>,
    ) -> Self {
        let first_moves = settings.moves_per_node * graph.nodes() as u64;
        Rounds {
            graph,
            start,
            settings,
            clock,
            runs,
            count: 0,
            idle: 0,
            first_moves,
            moves: first_moves,
            given: 0,
            polish: PolishSettings {
                moves: first_moves,
                time: None,
                seek: false,
                seed: settings.seed,
                stream: 0,
            },
            may_guide: true,
            settled: None,
            stretch_calls: 0,
            long: LongRuns::new(runs),
        }
    }

    fn time_left(&self) -> Option<Duration> {
        let limit = self.settings.time_limit;
        limit.map(|limit| limit.saturating_sub(self.clock.elapsed()))
    }

    /// Polishes retained sets of the observer; returns whether it had any.
    fn polish_guided(&mut self, population: &mut Population) -> bool {
        let guided = match self.may_guide {
            true => self.runs.observer.start(),
            false => None,
        };
        self.may_guide = guided.is_none();
        let Some(retained) = guided else {
            return false;
        };
        let before = best(population);
        let most = match before {
            Some(best) => HOPELESS * best as f64,
            None => HOPELESS_AT_FIRST * self.graph.walk(self.start).cost() as f64,
        };
        if self.graph.walk(&retained).cost() as f64 > most {
            return true;
        }
        self.polish.stream += 1;
        self.polish.moves = POLISHING_RUN_FACTOR * self.first_moves;
        self.polish.seek = population.is_empty();
        let found = polish(self.graph, &[retained], &self.polish, self.runs);
        found.into_iter().for_each(|f| population.admit(f));
        self.may_guide = best(population) != before;
        true
    }

    /// Anneals stretches of the best schedule; returns whether that found a better one.
    fn stretch(&mut self, population: &mut Population, left: Option<Duration>) -> bool {
        let Some(from) = population.best() else {
            return false;
        };
        let settings = self.settings;
        self.stretch_calls += 1;
        let stretches = StretchSettings {
            seed: settings.seed ^ (self.stretch_calls << STRETCH_SEED_SHIFT),
            rounds: STRETCH_ROUNDS,
            time: left.map(|left| settings.stretch_time(left)),
            target: settings.target,
        };
        let Some(found) = self.graph.stretched(from, &stretches, self.runs) else {
            return false;
        };
        population.admit(found);
        self.idle = 0;
        true
    }

    /// Makes a long run if one is due; returns whether one was.
    fn run_long(&mut self, population: &mut Population, left: Option<Duration>) -> bool {
        let limits = self.settings.time_limit.zip(left);
        let Some((limit, left)) = limits.filter(|_| !population.is_empty()) else {
            return false;
        };
        if !self.long.is_due(self.graph) {
            return false;
        }
        let (before, seed) = (best(population), self.settings.seed);
        let (graph, start) = (self.graph, self.start);
        let (found, moves) = (self.long).run(graph, start, population, seed, [limit, left]);
        self.given += moves;
        found.into_iter().for_each(|f| population.admit(f));
        self.long.note(best(population) != before);
        true
    }

    /// One round of runs side by side.
    fn round(&mut self, population: &mut Population, left: Option<Duration>) {
        let (settings, seeking) = (self.settings, population.is_empty());
        let round = Round {
            number: self.count as usize,
            // The first schedule that fits is worth more than eight that do not. So there are fewer
            // and longer runs if time cuts them.
            lanes: match settings.time_limit {
                Some(_) if seeking => rayon::current_num_threads(),
                _ => settings.lanes(),
            },
            every: match settings.time_limit {
                Some(_) if seeking => 1,
                None if seeking => SEEKERS_AT_FIRST,
                _ => SEEKERS,
            },
            moves: self.moves,
            time: left.map(|left| settings.lane_time(left, seeking)),
            seeking,
            settings,
        };
        let began = Instant::now();
        let run = |lane| round.run(lane, self.graph, self.start, population, self.runs);
        let found: Vec<Option<Found>> = (0..round.lanes).into_par_iter().map(run).collect();
        // A run that seeks takes as long as another one with as many moves.
        let lane_time = left.map(|left| settings.lane_time(left, false));
        (self.long).note_round(round.lanes, lane_time, began.elapsed());
        self.given += round.lanes as u64 * self.moves;
        let found = found.into_iter().flatten();
        found.for_each(|f| population.admit(f));
        self.count += 1;
    }

    /// Polishes the best schedule, if it is still the one from before the round.
    ///
    /// Runs end a unit or two above the bottom of their valley, because moves that save so little
    /// are drawn too seldom.
    fn polish_settled(&mut self, population: &mut Population, before: Option<u64>) {
        let is_new = before != self.settled;
        let best = population.best();
        let Some(found) = best.filter(|found| Some(found.cost) == before && is_new) else {
            return;
        };
        self.settled = before;
        self.polish.stream += 1;
        self.polish.moves = self.first_moves;
        self.polish.seek = false;
        self.given += POLISH_RUNS as u64 * self.first_moves;
        let from = std::slice::from_ref(&found.retained);
        let found = polish(self.graph, from, &self.polish, self.runs);
        found.into_iter().for_each(|f| population.admit(f));
    }

    /// Sets the moves of the next round; returns true if no round follows.
    fn is_last(&mut self, population: &Population, before: Option<u64>, seeking: bool) -> bool {
        let (settings, after) = (self.settings, best(population));
        if after.is_some_and(|cost| cost <= settings.target) {
            return true;
        }
        if after != before {
            self.idle = 0;
            return false;
        }
        if seeking {
            self.moves *= 2;
            // Without a time limit it ends here.
            let longest = LONGEST_RUN_FACTOR * self.first_moves;
            return settings.time_limit.is_none() && self.moves > longest;
        }
        self.moves += self.moves / 4;
        self.idle += 1;
        self.idle >= settings.idle_rounds
    }
}

impl PortfolioSettings {
    /// Time for a run, out of the time left. Within it the temperature of every run falls to its
    /// end, so that no round is in vain.
    fn lane_time(&self, left: Duration, seeking: bool) -> Duration {
        let waves = self.lanes().div_ceil(rayon::current_num_threads()) as f64;
        let limit = self.time_limit.unwrap_or(left);
        match seeking {
            // A slow rise of the price gets further than several fast ones.
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

    /// Time for rounds over stretches, out of the time left.
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
    /// True if no schedule fits yet.
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
        // Alternately afresh, and from known schedules.
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
            // If time ends a run that seeks, its moves must not end it before the price has risen
            // far.
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
