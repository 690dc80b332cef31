//! Reports of a search in progress: to observers, and as events.

use super::TreeSearch;
use crate::mip::clock::StopReason;
use crate::mip::control::{NodeChange, NodeEvent, Observer, Progress};
use crate::mip::outcome::Solution;
use std::sync::Arc;
use std::time::Instant;
use tracing::Level;

/// Longest silence between two progress events, in seconds.
const SILENCE_SECONDS: f64 = 5.0;

impl Progress {
    /// Distance of the incumbent from the bound, relative to the incumbent.
    pub fn gap(&self) -> Option<f64> {
        let objective = self.objective.filter(|_| self.dual_bound.is_finite())?;
        Some((objective - self.dual_bound).abs() / objective.abs().max(1e-10))
    }
}

impl TreeSearch {
    /// Progress for observers and events.
    pub fn progress(&self) -> Progress {
        Progress {
            seconds: self.seconds(),
            nodes: self.info.nodes,
            open: self.open_nodes(),
            lp_iterations: self.iterations(),
            dual_bound: self.bound() / self.unit,
            objective: (self.shared.incumbent.as_ref()).map(|i| i.objective / self.unit),
        }
    }

    /// Reports progress to the observers, and emits an event after a long silence.
    pub(super) fn report_if_due(&mut self) {
        let p = self.progress();
        for o in &self.control.observers {
            if !o.progress(&p) {
                self.shared.stop.raise(StopReason::Interrupt);
            }
        }
        if self.seconds() > self.last_report + SILENCE_SECONDS {
            self.report(None);
        }
    }

    /// Reports changes of nodes to the observers that watch them.
    pub(super) fn show_nodes(&self, events: &mut [NodeEvent]) {
        if events.is_empty() {
            return;
        }
        for event in events.iter_mut() {
            if let NodeChange::Created { bound, .. } = &mut event.change {
                *bound /= self.unit;
            }
        }
        for o in self.control.observers.iter().filter(|o| o.watches_nodes()) {
            o.nodes(events);
        }
    }

    /// Emits a progress event; `found_by` is the finder of a new incumbent.
    pub(super) fn report(&mut self, found_by: Option<&str>) {
        let wanted = || tracing::enabled!(target: "remat_solver::mip", Level::INFO);
        if !self.shared.emits_events || !wanted() {
            return;
        }
        let p = self.progress();
        self.last_report = p.seconds;
        emit(&p, Some(p.lp_iterations), found_by);
    }

    /// An observer that emits events for solutions at the time of their discovery, unless the
    /// search emits no events.
    pub(super) fn events_at_once(&self, taken: u64) -> Option<Arc<dyn Observer>> {
        if !self.shared.emits_events {
            return None;
        }
        let progress = self.progress();
        Some(Arc::new(EventsAtOnce {
            start: self.start,
            sign: self.unit.signum(),
            before: Progress {
                open: progress.open + taken,
                // The taken nodes are missing among the open nodes, so the bound of those may be
                // better.
                dual_bound: self.proven_bound / self.unit,
                ..progress
            },
        }))
    }

    /// Emits a warning of a file that could not be written or read.
    pub(super) fn report_file(&self, problem: &str, consequence: &str) {
        if self.shared.emits_events {
            tracing::warn!(
                name: "file problem",
                target: "remat_solver::mip",
                problem,
                consequence,
                "file problem"
            );
        }
    }

    /// Emits the last progress event, and an event for each worker.
    pub(super) fn report_end(&mut self) {
        if !self.shared.emits_events {
            return;
        }
        self.report(None);
        for (slot, w) in self.workers.iter().enumerate() {
            tracing::debug!(
                name: "worker",
                target: "remat_solver::mip",
                slot,
                lp_iterations = w.relax.iterations(),
                node_iterations = w.node_iterations,
                node_solves = w.node_solves,
                strong_iterations = w.strong_iterations,
                dive_iterations = w.dive_iterations,
                "worker"
            );
        }
    }
}

/// Emits events for the solutions of a working worker.
struct EventsAtOnce {
    start: Instant,
    /// 1 to minimise, -1 to maximise.
    sign: f64,
    /// Progress at the start of its work.
    before: Progress,
}

impl Observer for EventsAtOnce {
    fn incumbent(&self, solution: &Solution) {
        let proven = self.sign * self.before.dual_bound;
        let now = Progress {
            seconds: self.start.elapsed().as_secs_f64(),
            // A solution may be better than the proven bound within tolerances.
            dual_bound: self.sign * proven.min(self.sign * solution.objective),
            objective: Some(solution.objective),
            ..self.before
        };
        emit(&now, None, Some(solution.found_by));
    }
}

fn emit(p: &Progress, lp_iterations: Option<u64>, found_by: Option<&str>) {
    tracing::info!(
        name: "progress",
        target: "remat_solver::mip",
        seconds = p.seconds,
        nodes = p.nodes,
        open = p.open,
        lp_iterations,
        bound = p.dual_bound,
        objective = p.objective,
        gap = p.gap(),
        found_by,
        "progress"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_relative_to_the_solution() {
        let gap = |objective, dual_bound| {
            let progress = Progress {
                seconds: 0.0,
                nodes: 0,
                open: 0,
                lp_iterations: 0,
                dual_bound,
                objective,
            };
            progress.gap()
        };
        assert_eq!(gap(Some(100.0), 99.0), Some(0.01));
        assert_eq!(gap(Some(0.0), 0.0), Some(0.0));
        assert_eq!(gap(None, 3.0), None);
        assert_eq!(gap(Some(1.0), f64::NEG_INFINITY), None);
    }
}
