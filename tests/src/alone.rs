//! Branch, price and cut without other heuristics: the tree has to find every schedule itself.

use remat_formulations::checkmate::CheckmateGraph;
use remat_instances::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_solver::price::{Incumbents, PrimalHeuristic, Visited};

/// Keeps the cheapest of the rounded relaxations that fit without repair.
pub struct Alone<'a> {
    instance: &'a Instance,
    graph: &'a CheckmateGraph,
    budget_bytes: u64,
}

impl<'a> Alone<'a> {
    /// `graph` must be built from the instance under the budget.
    pub fn new(instance: &'a Instance, graph: &'a CheckmateGraph, budget_bytes: u64) -> Self {
        Alone {
            instance,
            graph,
            budget_bytes,
        }
    }
}

impl PrimalHeuristic<CheckmateGraph> for Alone<'_> {
    fn run(
        &self,
        visited: Vec<Visited<CheckmateGraph>>,
        incumbents: &Incumbents<CheckmateGraph>,
    ) -> u64 {
        for v in visited {
            let retained = v.point.rounded(self.graph, 0.5);
            let schedule = CheckmateSchedule::cheapest(self.instance, retained);
            let replay = simulate::checkmate(self.instance, &schedule)
                .expect("a completed schedule executes");
            if replay.peak_bytes <= self.budget_bytes {
                incumbents.found(replay.cost);
            }
        }
        0
    }
}
