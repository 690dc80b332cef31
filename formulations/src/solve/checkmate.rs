//! Checkmate's program as the search sees it.

use super::Settings;
use super::search::Problem;
use super::starts::{fitting, fitting_baselines};
use crate::anneal::{Found, Graph};
use crate::checkmate;
use crate::checkmate::interval::{Interval, IntervalPoint};
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_instances::simulate::{self, Replay, ReplayError};
use std::sync::Arc;
use std::time::Duration;

/// Nodes up to which relaxations are solved: a point has an entry for each tensor and stage.
const PROGRAM_UP_TO: usize = 5_000;

/// An instance and a budget.
pub(super) struct Checkmate<'a> {
    pub instance: &'a Instance,
    pub settings: &'a Settings,
    /// The schedule that keeps everything.
    pub everything: &'a CheckmateSchedule,
    pub graph: Graph,
}

impl Problem for Checkmate<'_> {
    type Landscape = Graph;
    type Program = checkmate::Graph;
    type Schedule = CheckmateSchedule;

    const THRESHOLDS: &'static [f64] = &[0.25, 0.5];

    fn landscape(&self) -> &Graph {
        &self.graph
    }

    fn program(&self) -> Option<Arc<checkmate::Graph>> {
        if self.instance.len() > PROGRAM_UP_TO {
            return None;
        }
        checkmate::Graph::new(self.instance, self.settings.budget_bytes)
            .ok()
            .map(Arc::new)
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything.retained
    }

    fn known(&self, left: Option<Duration>) -> Vec<Found> {
        let (instance, budget_bytes) = (self.instance, self.settings.budget_bytes);
        let mut known = fitting_baselines(instance, budget_bytes, left);
        let starts = self.settings.starts.iter().cloned();
        known.extend(starts.filter_map(|s| fitting(instance, budget_bytes, s)));
        known
    }

    fn near(&self, program: &checkmate::Graph, point: &IntervalPoint, threshold: f64) -> BitMatrix {
        point.rounded(program, threshold)
    }

    fn intervals(&self, program: &checkmate::Graph, found: &Found) -> Vec<Interval> {
        let schedule = CheckmateSchedule::cheapest(self.instance, found.retained.clone());
        Interval::of_schedule(program, &schedule)
    }

    fn finish(&self, found: Found) -> Result<(CheckmateSchedule, Replay), ReplayError> {
        let schedule = CheckmateSchedule::cheapest(self.instance, found.retained);
        let replay = simulate::checkmate(self.instance, &schedule)?;
        Ok((schedule, replay))
    }
}
