//! Knowledge about a program while it is solved, shared by everybody who searches for better
//! solutions or bounds.

use super::Program;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The cost of no solution.
const NONE: u64 = u64::MAX;

/// Best cost, best bound, counters, and what the relaxation and the search for solutions hand each
/// other.
///
/// The search for solutions reports costs ([`found`](Incumbents::found)) and may offer the columns
/// of its best solution to the restricted master; the relaxation publishes bounds and, to who
/// listens, points to round. Everything may be called from any thread at any time; nothing blocks
/// for long.
#[derive(Debug)]
pub struct Incumbents<P: Program> {
    best: AtomicU64,
    bound: AtomicU64,
    nodes: AtomicU64,
    pivots: AtomicU64,
    moves: AtomicU64,
    infeasible: AtomicBool,
    /// The columns of a solution that the restricted master has not taken yet.
    columns: Mutex<Option<Vec<P::Column>>>,
    listens: bool,
    /// The last point that nobody has taken yet.
    point: Mutex<Option<P::Point>>,
}

impl<P: Program> Default for Incumbents<P> {
    /// Nothing is known, and nobody listens to points.
    fn default() -> Self {
        Incumbents {
            best: AtomicU64::new(NONE),
            bound: AtomicU64::new(0),
            nodes: AtomicU64::new(0),
            pivots: AtomicU64::new(0),
            moves: AtomicU64::new(0),
            infeasible: AtomicBool::new(false),
            columns: Mutex::new(None),
            listens: false,
            point: Mutex::new(None),
        }
    }
}

/// Locks a mutex, poisoned or not: what another thread left behind a lock is whole, since nothing
/// panics between two writes.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Program> Incumbents<P> {
    /// A lower bound on the cost of every solution is known; `listens`: points of relaxations are
    /// wanted on the way.
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

    /// Nodes of the tree.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// Simplex iterations.
    pub fn pivots(&self) -> u64 {
        self.pivots.load(Ordering::Relaxed)
    }

    /// Work of the search for solutions, in its own unit.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Returns whether it is proven that there is no solution.
    pub fn is_infeasible(&self) -> bool {
        self.infeasible.load(Ordering::Relaxed)
    }

    /// Notes the cost of a solution.
    pub fn found(&self, cost: u64) {
        self.best.fetch_min(cost, Ordering::Relaxed);
    }

    /// Notes a proven lower bound. Nodes of a tree that are closed may have bounds above the best
    /// cost; no bound does.
    pub fn prove(&self, bound: u64) {
        let bound = bound.min(self.best.load(Ordering::Relaxed));
        self.bound.fetch_max(bound, Ordering::Relaxed);
    }

    /// Notes a proof that there is no solution.
    pub fn prove_infeasible(&self) {
        self.infeasible.store(true, Ordering::Relaxed);
    }

    /// Notes how far a tree is: its bound, nodes and simplex iterations, all from the beginning.
    pub fn note_tree(&self, bound: u64, nodes: u64, pivots: u64) {
        self.prove(bound);
        self.nodes.store(nodes, Ordering::Relaxed);
        self.pivots.store(pivots, Ordering::Relaxed);
    }

    /// Adds work of the search for solutions.
    pub fn add_moves(&self, moves: u64) {
        self.moves.fetch_add(moves, Ordering::Relaxed);
    }

    /// Offers the columns of the best solution to the restricted master: with them it has a point,
    /// whatever rows come.
    pub fn offer(&self, columns: Vec<P::Column>) {
        *locked(&self.columns) = Some(columns);
    }

    /// Takes the columns that were offered last.
    pub(super) fn take_columns(&self) -> Option<Vec<P::Column>> {
        locked(&self.columns).take()
    }

    /// Publishes a relaxation: its bound, and its point where that is a good guide or any is better
    /// than none.
    pub(super) fn publish(&self, bound: u64, settled: bool, point: &P::Point) {
        self.prove(bound);
        if self.listens && (settled || self.best().is_none()) {
            // A point that nobody took is worth less than this one.
            *locked(&self.point) = Some(point.clone());
        }
    }

    /// Takes the last point that was published.
    pub fn take_point(&self) -> Option<P::Point> {
        locked(&self.point).take()
    }
}

/// A search for solutions that goes by turns with the tree.
pub trait PrimalHeuristic<P: Program> {
    /// Looks for solutions, near the points of nodes that were solved, or elsewhere; reports them
    /// to `incumbents`. Returns the work done, in moves.
    fn run(&self, visited: Vec<super::Visited<P>>, incumbents: &Incumbents<P>) -> u64;
}

/// No search at all.
impl<P: Program> PrimalHeuristic<P> for () {
    fn run(&self, _: Vec<super::Visited<P>>, _: &Incumbents<P>) -> u64 {
        0
    }
}
