//! Search for the symmetry of the problem, after the root if there is a tree to search.

use super::TreeSearch;
use crate::mip::statistics::Component;
use crate::mip::symmetry::Symmetry;
use std::sync::Arc;
use std::time::Instant;

/// Ticks for the search of generators: a constant, and a divisor of the root's ticks.
const TICKS: u64 = 1_000_000;
const ROOT_SHARE: u64 = 10;

impl TreeSearch {
    /// Returns whether there is a tree, and no extension or debug solution breaks the problem's
    /// symmetry.
    pub(super) fn symmetry_is_due(&self) -> bool {
        let s = &self.shared;
        let e = &s.extensions;
        s.settings.symmetry
            && s.settings.nesting == 0
            && !self.symmetry_done
            && !self.may_restart
            && self.root_done
            && self.queue.len() > 1
            && s.debug.is_none()
            && e.branching.is_empty()
            && e.separators.is_empty()
            && e.propagators.is_empty()
    }

    pub(super) fn find_symmetry(&mut self) {
        self.symmetry_done = true;
        let begun = Instant::now();
        let limit = TICKS + self.root_ticks / ROOT_SHARE;
        let (symmetry, ticks) = Symmetry::find(&self.shared.problem, limit);
        self.workers[0].domain.ticks += ticks;
        if let Some(statistics) = &self.shared.statistics {
            statistics.call(Component::Presolve, "symmetry", begun, |tally| {
                tally.ticks += ticks;
                if let Some(s) = &symmetry {
                    tally.successes += 1;
                    tally.found += s.generators as u64;
                    tally.kept += s.orbits as u64;
                }
            });
        }
        if self.shared.emits_events {
            tracing::debug!(
                name: "symmetry",
                target: "remat_solver::mip",
                generators = symmetry.as_ref().map_or(0, |s| s.generators),
                orbits = symmetry.as_ref().map_or(0, |s| s.orbits),
                ticks,
                "symmetry"
            );
        }
        self.shared.symmetry = symmetry.map(Arc::new);
    }
}
