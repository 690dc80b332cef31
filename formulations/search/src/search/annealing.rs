//! Annealing beside the root, and in turns with the tree.

use super::state::{SearchShared, locked};
use crate::Problem;
use crate::anneal::{
    self, Found, Generations, Landscape, Observer, POLISH_MOVES_PER_NODE, POLISH_RUNS,
    PolishSettings, PortfolioSettings,
};
use remat_instances::schedule::BitMatrix;
use remat_solver::price::{Incumbents, PrimalHeuristic, Visited};
use std::sync::atomic::{AtomicBool, Ordering};

/// Moves of an annealing run in the first round, for each node.
pub(super) const FIRST_MOVES_PER_NODE: u64 = 1 << 10;
/// Rounds of each renewal during the tree, with runs of the first length. While the gap is wide,
/// relaxations guide badly and renewals are the main annealing. Later they get as much work as
/// polishing.
const RENEWED_ROUNDS: u64 = 4;
/// Limit on the length of a run during the tree, in multiples of a first run.
const RENEWED_LENGTH_LIMIT: u64 = 16;
/// Least moves without success after which a generation may end, in runs of the first length.
const LEAST_OF_A_GENERATION: u64 = 128;
/// Length of runs as long as no schedule fits, in multiples of a first run: only long runs get
/// near.
const LENGTH_WITHOUT_SCHEDULE: u64 = 4;
/// Share from which on a retained tensor of a node's relaxation counts as retained.
const NODE_THRESHOLD: f64 = 0.5;

impl<P: Problem> SearchShared<'_, P> {
    /// Moves for each node: fewer if a move takes longer, because the tree needs the time more, and
    /// fewer for the quick work.
    pub fn moves_per_node(&self, checkmate: u64) -> u64 {
        let share = self.settings.run_share(self.problem.landscape().nodes());
        ((share * checkmate as f64) as u64 / P::Landscape::MOVE_WEIGHT).max(1)
    }

    /// Anneals at low temperatures from retained sets; returns the work in moves of Checkmate's
    /// annealing.
    pub fn polish(&self, starts: &[BitMatrix]) -> u64 {
        if starts.is_empty() {
            return 0;
        }
        let landscape = self.problem.landscape();
        let moves = self.moves_per_node(POLISH_MOVES_PER_NODE) * landscape.nodes() as u64;
        let stream = self.calls.fetch_add(1, Ordering::Relaxed);
        let settings = PolishSettings {
            moves,
            time: self.turn(),
            seek: self.incumbents.best().is_none(),
            seed: self.settings.seed,
            stream,
        };
        let found = anneal::polish(landscape, starts, &settings, &AnnealingBeside(self));
        let mut generations = locked(&self.generations);
        found.into_iter().for_each(|f| generations.admit(f));
        let spent = P::Landscape::MOVE_WEIGHT * moves * (starts.len() * POLISH_RUNS) as u64;
        self.turns.polishing.fetch_add(spent, Ordering::Relaxed);
        spent
    }

    /// A few more rounds of annealing, of the best schedules or of a younger generation. Returns
    /// the work in moves of Checkmate's annealing.
    fn renew(&self) -> u64 {
        let stream = self.calls.fetch_add(1, Ordering::Relaxed);
        let longer = match self.incumbents.best() {
            None => LENGTH_WITHOUT_SCHEDULE,
            Some(_) => 1,
        };
        let first = longer * self.moves_per_node(FIRST_MOVES_PER_NODE);
        // Runs are as long as in the rounds before, but fewer.
        let pace = self.turns.pace.load(Ordering::Relaxed);
        let pace = pace.clamp(first, RENEWED_LENGTH_LIMIT * first);
        let rounds = (RENEWED_ROUNDS * first / pace).max(1) as u32;
        let portfolio = PortfolioSettings {
            seed: self.settings.seed ^ (stream + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            moves_per_node: pace,
            rounds,
            idle_rounds: rounds,
            time_limit: self.turn(),
            round_share: 1.0,
            target: 0,
        };
        let mut generations = locked(&self.generations);
        let moves = self.anneal(&mut generations, &portfolio, &AnnealingBeside(self));
        let nodes = self.problem.landscape().nodes() as u64;
        generations.note(moves, LEAST_OF_A_GENERATION * first * nodes);
        let spent = P::Landscape::MOVE_WEIGHT * moves;
        self.turns.renewing.fetch_add(spent, Ordering::Relaxed);
        spent
    }

    /// Rounds of annealing; returns the moves.
    pub fn anneal(
        &self,
        generations: &mut Generations,
        portfolio: &PortfolioSettings,
        observer: &dyn Observer,
    ) -> u64 {
        let (landscape, start) = (self.problem.landscape(), self.problem.everything());
        let population = generations.at_work();
        let annealed = anneal::search(landscape, start, population, portfolio, observer);
        let pace = annealed.moves_per_node;
        self.turns.pace.store(pace, Ordering::Relaxed);
        annealed.moves
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.incumbents.add_moves(moves);
        if let Some(cost) = best {
            self.incumbents.found(cost);
        }
    }

    /// Offers the intervals of a schedule to the relaxation.
    pub fn offer(&self, found: &Found) {
        if let Some(program) = &self.program {
            self.incumbents.offer(self.problem.columns(program, found));
        }
    }

    /// Retained sets near the last relaxation, one after the other for each threshold.
    fn start(&self) -> Option<BitMatrix> {
        let mut starts = locked(&self.starts);
        if let (Some(program), Some(point)) = (&self.program, self.incumbents.take_point()) {
            let near = |t: &f64| self.problem.near(program, &point, *t);
            *starts = P::THRESHOLDS.iter().map(near).collect();
        }
        starts.pop()
    }
}

/// The annealing beside the tree.
struct AnnealingBeside<'s, 'p, P: Problem>(&'s SearchShared<'p, P>);

impl<P: Problem> Observer for AnnealingBeside<'_, '_, P> {
    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    fn is_far(&self) -> bool {
        self.0.is_very_far()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.0.report(moves, best);
    }

    fn found(&self, found: &Found) {
        self.0.keep(found);
    }
}

/// The annealing beside the root. With a time limit the two help each other, and it ends when the
/// root ends.
pub(super) struct BesideRoot<'s, 'p, P: Problem> {
    pub shared: &'s SearchShared<'p, P>,
    pub root_done: &'s AtomicBool,
}

impl<P: Problem> Observer for BesideRoot<'_, '_, P> {
    fn is_over(&self) -> bool {
        let shared = self.shared;
        // Without a time limit the work is fixed, so that the answer does not depend on the time at
        // which the bound arrives.
        let ended = || shared.is_closed() || self.root_done.load(Ordering::Relaxed);
        shared.is_stopped() || (shared.is_timed() && ended())
    }

    fn is_far(&self) -> bool {
        self.shared.is_very_far()
    }

    fn report(&self, moves: u64, best: Option<u64>) {
        self.shared.report(moves, best);
    }

    fn found(&self, found: &Found) {
        self.shared.keep(found);
        if self.shared.is_timed() {
            self.shared.offer(found);
        }
    }

    fn start(&self) -> Option<BitMatrix> {
        self.shared.start()
    }
}

impl<P: Problem> PrimalHeuristic<P::Program> for SearchShared<'_, P> {
    fn run(&self, visited: Vec<Visited<P::Program>>, _: &Incumbents<P::Program>) -> u64 {
        let Some(program) = &self.program else {
            return 0;
        };
        // While the gap is wide, relaxations guide badly; but an integral relaxation is a schedule.
        let is_far = self.is_far();
        let near = |v: Visited<P::Program>| self.problem.near(program, &v.point, NODE_THRESHOLD);
        let visited = visited.into_iter().filter(|v| v.integral || !is_far);
        let starts: Vec<BitMatrix> = visited.map(near).collect();
        let polished = self.polish(&starts);
        if is_far {
            return polished + self.renew();
        }
        let turns = &self.turns;
        let behind =
            turns.renewing.load(Ordering::Relaxed) <= turns.polishing.load(Ordering::Relaxed);
        polished + if behind { self.renew() } else { 0 }
    }
}
