//! Bounds and solutions of a program, shared while it is solved by all searches for better ones.

use super::Program;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The cost that stands for the absence of a solution.
const NONE: u64 = u64::MAX;

/// Best cost, best bound, counters, and the data exchanged by the relaxation and the search for
/// solutions.
///
/// The search for solutions reports costs ([`found`](Incumbents::found)) and may offer the columns
/// of its best solution to the restricted master. The relaxation publishes bounds and, if the
/// search listens, points to round. Every function may be called from any thread at any time; locks
/// are held only briefly.
#[derive(Debug)]
pub struct Incumbents<P: Program> {
    best: AtomicU64,
    bound: AtomicU64,
    nodes: AtomicU64,
    pivots: AtomicU64,
    /// Nodes and simplex iterations of earlier trees.
    earlier: [AtomicU64; 2],
    moves: AtomicU64,
    infeasible: AtomicBool,
    /// Columns of a solution that the restricted master has not taken yet.
    columns: Mutex<Option<Vec<P::Column>>>,
    listens: bool,
    /// The last published point, until it is taken.
    point: Mutex<Option<P::Point>>,
}

impl<P: Program> Default for Incumbents<P> {
    /// No solution, the bound 0, and no listener for points.
    fn default() -> Self {
        Incumbents {
            best: AtomicU64::new(NONE),
            bound: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            pivots: AtomicU64::new(0),
            earlier: [AtomicU64::new(0), AtomicU64::new(0)],
            moves: AtomicU64::new(0),
            infeasible: AtomicBool::new(false),
            columns: Mutex::new(None),
            listens: false,
            point: Mutex::new(None),
        }
    }
}

/// Locks a mutex, poisoned or not: no code panics between two writes, so the data behind a poisoned
/// lock is consistent.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Program> Incumbents<P> {
    /// Starts from a lower bound on the cost of every solution. `listens`: the relaxations publish
    /// their points.
    pub fn new(bound: u64, listens: bool) -> Self {
        Incumbents {
            bound: AtomicU64::new(bound),
            listens,
            ..Incumbents::default()
        }
    }

    /// Cost of the best solution known.
    pub fn best(&self) -> Option<u64> {
        Some(self.best.load(Ordering::Relaxed)).filter(|cost| *cost < NONE)
    }

    /// Best proven lower bound on the cost of every solution.
    pub fn bound(&self) -> u64 {
        self.bound.load(Ordering::Relaxed)
    }

    /// Nodes of all trees.
    pub fn nodes(&self) -> u64 {
        self.earlier[0].load(Ordering::Relaxed) + self.nodes.load(Ordering::Relaxed)
    }

    /// Simplex iterations.
    pub fn pivots(&self) -> u64 {
        self.earlier[1].load(Ordering::Relaxed) + self.pivots.load(Ordering::Relaxed)
    }

    /// Work of the search for solutions, in its own unit.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Returns whether the program is proven infeasible.
    pub fn is_infeasible(&self) -> bool {
        self.infeasible.load(Ordering::Relaxed)
    }

    /// Notes the cost of a solution.
    pub fn found(&self, cost: u64) {
        self.best.fetch_min(cost, Ordering::Relaxed);
    }

    /// Notes a proven lower bound. Closed nodes of a tree may have bounds above the best cost; the
    /// noted bound is cut off there.
    pub fn prove(&self, bound: u64) {
        let bound = bound.min(self.best.load(Ordering::Relaxed));
        self.bound.fetch_max(bound, Ordering::Relaxed);
    }

    /// Notes a proof that the program is infeasible.
    pub fn prove_infeasible(&self) {
        self.infeasible.store(true, Ordering::Relaxed);
    }

    /// Notes the progress of a tree: its bound, nodes and simplex iterations, as totals.
    pub fn note_tree(&self, bound: u64, nodes: u64, pivots: u64) {
        self.prove(bound);
        self.nodes.store(nodes, Ordering::Relaxed);
        self.pivots.store(pivots, Ordering::Relaxed);
    }

    /// Begins another tree: its nodes and iterations count beside those of the earlier ones.
    pub fn begin_tree(&self) {
        let counts = [&self.nodes, &self.pivots];
        for (sum, count) in self.earlier.iter().zip(counts) {
            sum.fetch_add(count.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Adds work of the search for solutions.
    pub fn add_moves(&self, moves: u64) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
    }

    /// Offers the columns of the best solution to the restricted master: with them it is feasible
    /// under any rows.
    pub fn offer(&self, columns: Vec<P::Column>) {
        *locked(&self.columns) = Some(columns);
    }

    /// Takes the columns that were offered last.
    pub(super) fn take_columns(&self) -> Option<Vec<P::Column>> {
        locked(&self.columns).take()
    }

    /// Publishes a relaxation: its bound, and its point if the point is a good guide or there is no
    /// solution yet.
    pub(super) fn publish(&self, bound: u64, settled: bool, point: &P::Point) {
        self.prove(bound);
        if self.listens && (settled || self.best().is_none()) {
            // An older point that was not taken is worth less than this one.
            *locked(&self.point) = Some(point.clone());
        }
    }

    /// Takes the last point that was published.
    pub fn take_point(&self) -> Option<P::Point> {
        locked(&self.point).take()
    }
}

/// A search for solutions that alternates with the tree.
pub trait PrimalHeuristic<P: Program> {
    /// Looks for solutions, near the points of solved nodes or elsewhere, and reports them to
    /// `incumbents`. Returns the work done, in moves.
    fn run(&self, visited: Vec<super::Visited<P>>, incumbents: &Incumbents<P>) -> u64;
}

/// The heuristic that never searches.
impl<P: Program> PrimalHeuristic<P> for () {
    fn run(&self, _: Vec<super::Visited<P>>, _: &Incumbents<P>) -> u64 {
        0
    }
}
