//! Solutions near points, for programs that need no search of their own for them.

use super::{Incumbents, PrimalHeuristic, Program, Visited};
use std::sync::{Mutex, PoisonError};

/// A program that rounds points and can check solutions. A solution is a list of columns; a column
/// chosen several times is listed as often.
pub trait Rounding: Program {
    /// Candidates near a point, or the point itself if it is integral. They may be infeasible.
    fn round(&self, point: &Self::Point) -> Vec<Vec<Self::Column>>;
    /// The cost of a candidate, from the instance alone; `None` if it is infeasible.
    fn cost_if_feasible(&self, candidate: &[Self::Column]) -> Option<u64>;
}

/// Keeps the best solution among the rounded points.
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

    /// Takes a candidate if it is feasible and better than those before.
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
    /// Rounds every point. Its time is too short to count.
    fn run(&self, visited: Vec<Visited<P>>, incumbents: &Incumbents<P>) -> u64 {
        for candidate in visited.iter().flat_map(|v| self.program.round(&v.point)) {
            self.offer(candidate, incumbents);
        }
        0
    }
}
