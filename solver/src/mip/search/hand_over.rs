//! Passing on what searches of one program found: solutions, bounds, and the search itself.

use super::TreeSearch;
use crate::mip::race::Gone;
use crate::mip::settings::thread_pool;
use crate::mip::solver::Solver;
use crate::mip::worker::Incumbent;

impl TreeSearch {
    /// Takes over a solution that another search of the same model has found.
    pub fn adopt(&mut self, found: &Incumbent) {
        let mut found = found.clone();
        found.x = self.shared.postsolve.project(&found.original);
        if self.accept(found) {
            self.prune();
        }
    }

    /// Part of the tree that is open: every branching gives half of a node's part to each side.
    pub fn open_share(&self) -> f64 {
        let parts = self.queue.iter().map(|n| 0.5_f64.powf(f64::from(n.depth)));
        parts.sum()
    }

    /// Goes on for this solver, which the events are now told to, beyond what others have spent and
    /// proven.
    pub fn go_on_as(&mut self, solver: &Solver, others: Gone) {
        debug_assert!(
            self.control.observers.is_empty(),
            "solutions are told twice"
        );
        self.control = solver.control.clone();
        self.shared.settings.limits = solver.settings.limits.clone();
        self.shared.settings.threads = solver.settings.threads;
        self.shared.settings.opportunistic = solver.settings.opportunistic;
        self.shared.emits_events = solver.emits_events;
        self.pool = thread_pool(solver.settings.threads);
        self.ticks_before += others.ticks;
        self.side_iterations += others.iterations;
        self.info.nodes += others.nodes;
        self.next_sub_mip += others.nodes;
        self.proven_bound = self.proven_bound.max(others.bound);
        if let Some(best) = &mut self.shared.incumbent {
            best.tell(&self.shared.original, &self.control.observers);
        }
    }
}
