//! Several solves that share one set of limits and one interrupt.

use super::ProgramSettings;
use remat_solver::mip::Info;
use std::time::Instant;

/// Limits that several solves share, and their use so far.
pub(super) struct SharedLimits {
    settings: ProgramSettings,
    clock: Instant,
    used: Info,
}

impl SharedLimits {
    /// Shared limits by the settings, whose several objectives or points are cleared.
    pub fn new(settings: &ProgramSettings) -> Self {
        let mut settings = settings.clone();
        settings.objectives.clear();
        settings.best_points = None;
        settings.model.mip.limits.interrupt.get_or_insert_default();
        SharedLimits {
            settings,
            clock: Instant::now(),
            used: Info::default(),
        }
    }

    /// Settings of the next solve, with the rest of the limits.
    pub fn next(&self) -> ProgramSettings {
        let mut next = self.settings.clone();
        let limits = &mut next.model.mip.limits;
        let seconds = self.clock.elapsed().as_secs_f64();
        limits.seconds = limits.seconds.map(|s| (s - seconds).max(0.0));
        limits.nodes = limits.nodes.map(|n| n.saturating_sub(self.used.nodes));
        limits.ticks = limits.ticks.map(|t| t.saturating_sub(self.used.ticks));
        let iterations = &mut next.model.linear.iterations;
        *iterations = iterations.map(|n| n.saturating_sub(self.used.lp_iterations));
        next
    }

    /// Counts a solve and returns the counters of all solves so far.
    pub fn count(&mut self, info: &Info) -> Info {
        self.used = Info {
            nodes: self.used.nodes + info.nodes,
            lp_iterations: self.used.lp_iterations + info.lp_iterations,
            ticks: self.used.ticks + info.ticks,
            cuts: self.used.cuts + info.cuts,
            strong_branchings: self.used.strong_branchings + info.strong_branchings,
            refused: self.used.refused + info.refused,
            spilled_nodes: self.used.spilled_nodes + info.spilled_nodes,
            restarts: self.used.restarts + info.restarts,
            unproven_bounds: self.used.unproven_bounds + info.unproven_bounds,
            seconds: self.clock.elapsed().as_secs_f64(),
            ..*info
        };
        self.used
    }
}
