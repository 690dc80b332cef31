//! Solutions near points, for programs that need no search of their own for them.

use super::{Incumbents, PrimalHeuristic, Program, Visited};
use std::sync::{Mutex, PoisonError};

/// A program that knows the solutions near a point, and can tell a solution from what is none. A
/// solution is a list of columns; one that is chosen several times stands there as often.
pub trait Rounding: Program {
    /// Candidates near a point, the point itself where it is integral. They need not be solutions.
    fn round(&self, point: &Self::Point) -> Vec<Vec<Self::Column>>;
    /// The cost of a candidate, from the instance alone; `None` if it is no solution.
    fn cost_if_feasible(&self, candidate: &[Self::Column]) -> Option<u64>;
}

/// Keeps the best solution among those that points are rounded to.
pub(super) struct Rounded<'a, P: Rounding> {
    program: &'a P,
    best: Mutex<Option<(u64, Vec<P::Column>)>>,
}

impl<'a, P: Rounding> Rounded<'a, P> {
    pub fn new(program: &'a P) -> Self {
        Rounded {
            program,
            best: Mutex::new(None),
        }
    }

    /// Takes a candidate if it is a solution, and better than those before.
    pub fn offer(&self, candidate: Vec<P::Column>, incumbents: &Incumbents<P>) {
        let Some(cost) = self.program.cost_if_feasible(&candidate) else {
            return;
        };
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            incumbents.found(cost);
            incumbents.offer(candidate.clone());
            *best = Some((cost, candidate));
        }
    }

    /// The best solution, with its cost.
    pub fn into_best(self) -> Option<(u64, Vec<P::Column>)> {
        self.best
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Rounding> PrimalHeuristic<P> for Rounded<'_, P> {
    /// Rounds every point. That takes no time worth counting.
    fn run(&self, visited: Vec<Visited<P>>, incumbents: &Incumbents<P>) -> u64 {
        for candidate in visited.iter().flat_map(|v| self.program.round(&v.point)) {
            self.offer(candidate, incumbents);
        }
        0
    }
}
