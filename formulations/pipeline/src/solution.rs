//! The answer of a pipeline.

use remat_instances::instance::{HostLink, Instance};
use remat_instances::pipeline::arrangement::{Device, PipelineReplay};
use remat_instances::pipeline::document::PipelineDocument;
use remat_instances::pipeline::schedule::Schedule;
use remat_instances::plan::PlanDocument;
use remat_search::{Status, relative_gap};
use std::time::Duration;

/// A stage with its plan.
#[derive(Clone, Debug)]
pub struct StagePlan {
    /// The graph of the stage.
    pub instance: Instance,
    /// Its plan.
    pub document: PlanDocument,
    /// A lower bound on the cost of its plans at these cuts.
    pub bound: u64,
}

/// Cuts and plans with their replay.
#[derive(Clone, Debug)]
pub struct Arranged {
    /// Positions of the cuts.
    pub cuts: Vec<u32>,
    /// The stages.
    pub stages: Vec<StagePlan>,
    /// The replay of all plans in the schedule.
    pub replay: PipelineReplay,
}

/// The answer of a pipeline: the best cuts and plans found, and a bound.
#[derive(Clone, Debug)]
pub struct PipelineSolution {
    /// The schedule.
    pub schedule: Schedule,
    /// The devices.
    pub devices: Vec<Device>,
    /// The link between devices.
    pub link: Option<HostLink>,
    /// Number of positions at which the graph may be cut.
    pub positions: usize,
    /// The best cuts and plans, if any were found.
    pub best: Option<Arranged>,
    /// A lower bound on the objective of all cuts at these positions, with stage schedules.
    pub bound: u64,
    /// The status.
    pub status: Status,
    /// Reason why no pipeline fits, if that is proven.
    pub infeasible_because: Option<String>,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Inner problems that were solved.
    pub solves: usize,
    /// Nodes of all search trees.
    pub nodes: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
}

impl PipelineSolution {
    /// The published objective of the best pipeline, in units of cost.
    pub fn objective(&self) -> Option<u64> {
        self.best.as_ref().map(|best| best.replay.objective)
    }

    /// Relative gap between objective and bound.
    pub fn gap(&self) -> Option<f64> {
        Some(relative_gap(self.objective()?, self.bound))
    }

    /// The set of pipelines that the bound covers, in words.
    pub fn scope(&self) -> String {
        format!(
            "cuts at {} positions, and in every stage plans in the graph's order that run an \
             operator at most once between two first runs",
            self.positions
        )
    }

    /// The document of the best pipeline.
    pub fn document(&self) -> Option<PipelineDocument> {
        let best = self.best.as_ref()?;
        Some(PipelineDocument {
            schedule: self.schedule,
            devices: self.devices.clone(),
            link: self.link.clone(),
            cuts: best.cuts.clone(),
            plans: best.stages.iter().map(|s| s.document.clone()).collect(),
            objective: best.replay.objective,
            makespan: best.replay.timeline.makespan,
        })
    }
}
