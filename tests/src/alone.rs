//! Branch, price and cut on its own: the tree has to find every schedule itself.

use remat_formulations::checkmate::Graph;
use remat_formulations::interval::{Exchange, Visited};
use remat_instances::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use std::cell::Cell;

/// Keeps the cheapest of the rounded relaxations that fit as they are.
pub struct Alone<'a> {
    instance: &'a Instance,
    graph: &'a Graph,
    budget_bytes: u64,
    best: Cell<Option<u64>>,
}

impl<'a> Alone<'a> {
    /// As long as nothing is known. `graph` is that of the instance under the budget.
    pub fn new(instance: &'a Instance, graph: &'a Graph, budget_bytes: u64) -> Self {
        Alone {
            instance,
            graph,
            budget_bytes,
            best: Cell::new(None),
        }
    }
}

impl Exchange<Graph> for Alone<'_> {
    fn best(&self) -> Option<u64> {
        self.best.get()
    }

    fn visit(&self, visited: Vec<Visited<Graph>>) -> u64 {
        for v in visited {
            let retained = v.point.rounded(self.graph, 0.5);
            let schedule = CheckmateSchedule::cheapest(self.instance, retained);
            let replay = simulate::checkmate(self.instance, &schedule)
                .expect("a completed schedule executes");
            if replay.peak_bytes <= self.budget_bytes
                && self.best.get().is_none_or(|best| replay.cost < best)
            {
                self.best.set(Some(replay.cost));
            }
        }
        0
    }

    fn progress(&self, _: u64, _: u64, _: u64) {}
}
