//! A pipeline to be solved.

use crate::devices::Devices;
use crate::intervals::Intervals;
use crate::path::Outer;
use remat_formulations::SolveError;
use remat_instances::instance::{HostLink, StructureError};
use remat_instances::pipeline::arrangement::{Arrangement, Device, NoTime, PipelineReplayError};
use remat_instances::pipeline::schedule::{CountError, Schedule};
use remat_instances::pipeline::split::Split;
use remat_instances::plan::Plan;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::ReplayError;
use std::time::Duration;

/// Positions at most, besides both ends.
const POSITION_LIMIT: usize = 200;
/// Settings of a pipeline's solve.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineSettings {
    /// End after this time with the best pipeline so far. Without a limit the work is fixed.
    pub time_limit: Option<Duration>,
    /// Relative gap at which the answer counts as optimal.
    pub gap: f64,
    /// Inner problems solved side by side; 0 for one per core.
    pub threads: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for PipelineSettings {
    fn default() -> Self {
        PipelineSettings {
            time_limit: None,
            gap: 1e-3,
            threads: 0,
            seed: 0,
        }
    }
}

/// Reason why a pipeline cannot be solved.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// Fewer places for cuts than stages need.
    #[error(
        "{stages} stages need {} cuts, and the graph can be cut at {positions} positions",
        stages - 1
    )]
    FewPositions {
        /// Stages of the schedule.
        stages: usize,
        /// Positions.
        positions: usize,
    },
    /// Counts that the schedule does not allow.
    #[error(transparent)]
    Count(#[from] CountError),
    /// A position where no cut can be.
    #[error("the graph cannot be cut before node {0:?}")]
    NoPosition(String),
    /// Another number of devices than the schedule has.
    #[error("{given} devices for a schedule on {devices}")]
    Devices {
        /// Devices given.
        given: usize,
        /// Devices of the schedule.
        devices: usize,
    },
    /// Sends have no time.
    #[error(transparent)]
    NoTime(#[from] NoTime),
    /// A stage is beyond the sizes of an instance.
    #[error("{0:?}")]
    Structure(#[from] StructureError),
    /// An inner problem failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A plan cannot be executed: a defect.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A pipeline cannot be executed: a defect.
    #[error(transparent)]
    Pipeline(#[from] PipelineReplayError),
    /// A stage of the best cuts has no plan: a defect.
    #[error("stage {0} of the best cuts has no plan")]
    Unplanned(usize),
    /// A pipeline exceeds a budget: a defect.
    #[error("device {device} needs {peak_bytes} bytes, above its budget of {budget_bytes}")]
    OverBudget {
        /// The device.
        device: usize,
        /// Its peak in bytes.
        peak_bytes: u64,
        /// Its budget in bytes.
        budget_bytes: u64,
    },
}

/// A pipeline to be solved.
#[derive(Clone, Debug)]
pub struct Pipeline<'s, 'a> {
    pub(crate) split: &'s Split<'a>,
    pub(crate) schedule: Schedule,
    pub(crate) devices: Vec<Device>,
    pub(crate) link: Option<HostLink>,
    pub(crate) positions: Vec<u32>,
}

impl<'s, 'a> Pipeline<'s, 'a> {
    /// A pipeline of a graph under a schedule. It may be cut at [narrow](Split::narrow) positions.
    /// Budgets that are shares are of the largest peak of a device without recomputation, with cuts
    /// that balance time.
    ///
    /// # Errors
    /// [`PipelineError`] for too few positions, or another number of devices.
    pub fn new(
        split: &'s Split<'a>,
        schedule: Schedule,
        devices: &Devices,
    ) -> Result<Self, PipelineError> {
        if devices.len() != schedule.devices() {
            return Err(PipelineError::Devices {
                given: devices.len(),
                devices: schedule.devices(),
            });
        }
        let mut pipeline = Pipeline {
            split,
            schedule,
            devices: devices.at(0),
            link: None,
            positions: split.narrow(POSITION_LIMIT),
        };
        pipeline.check()?;
        if devices.has_shares() {
            let peak = pipeline.plain_peak()?;
            pipeline.devices = devices.at(peak);
        }
        Ok(pipeline)
    }

    /// The same with a link between devices.
    #[must_use]
    pub fn link(mut self, link: Option<HostLink>) -> Self {
        self.link = link;
        self
    }

    /// The same with cuts before these forward nodes alone.
    ///
    /// # Errors
    /// [`PipelineError`] for a node before which no cut can be, and for too few.
    pub fn cut_before(mut self, names: &[String]) -> Result<Self, PipelineError> {
        let position = |name: &String| {
            let at = self.split.position_before(name);
            let at = at.filter(|&at| self.split.crossing(at).is_some());
            at.ok_or_else(|| PipelineError::NoPosition(name.clone()))
        };
        let mut positions = names
            .iter()
            .map(position)
            .collect::<Result<Vec<u32>, _>>()?;
        positions.sort_unstable();
        positions.dedup();
        self.positions = positions;
        self.check()?;
        Ok(self)
    }

    /// The same with cuts at these positions alone, each of which a cut can have.
    pub(crate) fn cut_at(&self, positions: Vec<u32>) -> Self {
        Pipeline {
            positions,
            ..self.clone()
        }
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device of a stage.
    pub(crate) fn device_of(&self, stage: usize) -> Device {
        self.devices[self.schedule.device_of(stage)]
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Positions at which the graph may be cut.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    fn check(&self) -> Result<(), PipelineError> {
        let (stages, positions) = (self.schedule.stages(), self.positions.len());
        match positions + 1 < stages {
            true => Err(PipelineError::FewPositions { stages, positions }),
            false => Ok(()),
        }
    }

    /// Intervals between all positions.
    pub(crate) fn intervals(&self) -> Result<Intervals<'s, 'a>, PipelineError> {
        let count = self.schedule.microbatches();
        let link = self.link.as_ref();
        Ok(Intervals::new(self.split, &self.positions, count, link)?)
    }

    /// Cuts that balance time without recomputation.
    pub fn balanced(&self) -> Result<Vec<u32>, PipelineError> {
        let intervals = self.intervals()?;
        let outer = Outer {
            stages: self.schedule.stages(),
            points: &intervals.sends,
            steps: u64::from(self.schedule.microbatches()),
            time: |stage: usize, i: usize, j: usize| {
                self.device_of(stage).time(intervals.base_cost(i, j))
            },
        };
        let cuts = outer.best().map(|cuts| cuts.at).unwrap_or_default();
        Ok(cuts.iter().map(|&p| intervals.positions[p]).collect())
    }

    /// Largest peak of a device in bytes without recomputation, with balanced cuts.
    fn plain_peak(&self) -> Result<u64, PipelineError> {
        let cuts = self.balanced()?;
        let arrangement = Arrangement::new(self.split, self.schedule, cuts);
        let mut graphs = Vec::new();
        for stage in 0..self.schedule.stages() {
            let graph = arrangement.instance(stage, false)?;
            let all = CheckmateSchedule::checkpoint_all(&graph);
            let plan = Plan::from_checkmate(&graph, &all)?;
            graphs.push((graph, plan));
        }
        let pairs: Vec<_> = graphs.iter().map(|(graph, plan)| (graph, plan)).collect();
        let replay = arrangement.replay(&self.devices, None, &pairs)?;
        Ok(replay.peaks.into_iter().max().unwrap_or(0))
    }
}
