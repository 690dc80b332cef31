//! Stages of a pipeline at given cuts.

use super::fixed::FixedMemory;
use super::profile::{ProfileError, StageProfile};
use super::schedule::Schedule;
use super::split::Split;
use super::stage::Stage;
use super::timeline::{PassTimes, SendTimes, Timeline, device_peak, formula, timeline};
use crate::instance::{CostUnit, HostLink, Instance, NodeId, StructureError};
use crate::plan::Plan;
use std::ops::Range;

/// A device of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Memory in bytes.
    pub budget_bytes: u64,
    /// Speed in thousandths of the device for which the graph states costs.
    pub speed: u32,
}

impl Device {
    /// Speed of the device for which the graph states costs.
    pub const PLAIN_SPEED: u32 = 1000;

    /// Time of a cost on this device, rounded up, in units of cost.
    pub fn time(&self, cost: u64) -> u64 {
        let scaled = u128::from(cost) * u128::from(Self::PLAIN_SPEED);
        u64::try_from(scaled.div_ceil(u128::from(self.speed))).unwrap_or(u64::MAX)
    }
}

/// Time of a send of so many bytes over a link between devices, in units of cost, rounded up; 0
/// without a link or without bytes. The speed to the host is the speed to the next stage.
///
/// # Errors
/// The unit of cost, if it is not a time.
pub fn send_times(
    link: Option<&HostLink>,
    unit: &CostUnit,
    crossing: super::split::Crossing,
) -> Result<SendTimes, NoTime> {
    let Some(link) = link else {
        return Ok(SendTimes::default());
    };
    let times = link.times(unit).ok_or_else(|| NoTime(unit.clone()))?;
    let beyond = u64::MAX >> 8;
    let time = |bytes: u64, of: &dyn Fn(u64) -> Option<u64>| match bytes {
        0 => 0,
        _ => of(bytes).unwrap_or(beyond),
    };
    Ok(SendTimes {
        forward: time(crossing.forward_bytes, &|bytes| times.to_host(bytes)),
        backward: time(crossing.backward_bytes, &|bytes| times.from_host(bytes)),
    })
}

/// A unit of cost that is no time, so that sends cannot be compared with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("costs are in {}, not in a unit of time, so sends over a link have no cost", .0.name)]
pub struct NoTime(pub CostUnit);

/// A graph cut into stages, with the schedule that runs them.
#[derive(Clone, Debug)]
pub struct Arrangement<'s, 'a> {
    split: &'s Split<'a>,
    schedule: Schedule,
    cuts: Vec<u32>,
    fixed: FixedMemory,
}

/// Times and peaks of a pipeline, replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineReplay {
    /// Profile of each stage.
    pub profiles: Vec<StageProfile>,
    /// Cost of the recomputations in the passes of each stage for one micro-batch: the cost above
    /// one run of each node by its first implementation.
    pub recomputed: Vec<PassTimes>,
    /// Time of both passes of each stage for one micro-batch, in units of cost.
    pub times: Vec<u64>,
    /// Times of the sends over each cut.
    pub sends: Vec<SendTimes>,
    /// The published objective, in units of cost.
    pub objective: u64,
    /// The schedule, event by event.
    pub timeline: Timeline,
    /// Largest memory of each device in bytes.
    pub peaks: Vec<u64>,
}

/// Reason why a pipeline cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineReplayError {
    /// A plan of a stage cannot be executed.
    #[error("stage {stage}: {problem}")]
    Stage {
        /// The stage, from 0.
        stage: usize,
        /// The problem.
        problem: ProfileError,
    },
    /// Sends have no time.
    #[error(transparent)]
    NoTime(#[from] NoTime),
}

impl<'s, 'a> Arrangement<'s, 'a> {
    /// A graph with cuts at these positions, ascending: one fewer than the schedule has stages.
    ///
    /// # Panics
    /// If the number of cuts is another.
    pub fn new(split: &'s Split<'a>, schedule: Schedule, cuts: Vec<u32>) -> Self {
        assert_eq!(cuts.len() + 1, schedule.stages(), "one cut between stages");
        Arrangement {
            fixed: FixedMemory::of(split, schedule.microbatches()),
            split,
            schedule,
            cuts,
        }
    }

    /// Positions of the cuts.
    pub fn cuts(&self) -> &[u32] {
        &self.cuts
    }

    /// Positions of a stage.
    pub fn range(&self, stage: usize) -> Range<u32> {
        let begin = stage.checked_sub(1).map_or(0, |before| self.cuts[before]);
        begin..self.cuts.get(stage).copied().unwrap_or(self.split.end())
    }

    /// Fixed memory of a device in bytes.
    pub fn fixed_bytes(&self, device: usize) -> u64 {
        let ranges = self.schedule.stages_of(device).map(|s| self.range(s));
        let ranges: Vec<Range<u32>> = ranges.collect();
        self.fixed.bytes(&ranges)
    }

    /// The graph of a stage, with the fixed memory and the micro-batches in flight of its device.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn instance(&self, stage: usize, names: bool) -> Result<Instance, StructureError> {
        let device = self.schedule.device_of(stage);
        let fixed = self.fixed_bytes(device);
        let in_flight = self.schedule.in_flight_on(device);
        Stage::of(self.split, self.range(stage)).instance(fixed, in_flight, names)
    }

    /// Replays a plan of each stage, and the schedule on all devices.
    ///
    /// # Errors
    /// [`PipelineReplayError`] for a plan that cannot be executed, and for a link without times.
    pub fn replay(
        &self,
        devices: &[Device],
        link: Option<&HostLink>,
        stages: &[(&Instance, &Plan)],
    ) -> Result<PipelineReplay, PipelineReplayError> {
        let mut profiles = Vec::with_capacity(stages.len());
        for (stage, (instance, plan)) in stages.iter().enumerate() {
            let found = StageProfile::of(instance, plan);
            profiles.push(found.map_err(|problem| PipelineReplayError::Stage { stage, problem })?);
        }
        let unit = self.split.instance().cost_unit();
        let sends = self.cuts.iter().map(|&at| {
            let crossing = self.split.crossing(at).unwrap_or_default();
            send_times(link, unit, crossing)
        });
        let sends: Vec<SendTimes> = sends.collect::<Result<_, _>>()?;
        let pairs = stages.iter().zip(&profiles);
        let recomputed = pairs.map(|((instance, _), own)| {
            let once = own_times(instance);
            PassTimes {
                forward: own.forward.saturating_sub(once.forward),
                backward: own.backward.saturating_sub(once.backward),
            }
        });
        let recomputed = recomputed.collect();
        let device = |stage: usize| &devices[self.schedule.device_of(stage)];
        let passes = profiles.iter().enumerate().map(|(stage, own)| PassTimes {
            forward: device(stage).time(own.forward),
            backward: device(stage).time(own.backward),
        });
        let passes: Vec<PassTimes> = passes.collect();
        let times = profiles.iter().enumerate();
        let times: Vec<u64> = times.map(|(s, own)| device(s).time(own.cost())).collect();
        let peak = |device| {
            let fixed = self.fixed_bytes(device);
            device_peak(&self.schedule, device, fixed, &profiles)
        };
        Ok(PipelineReplay {
            objective: formula(&self.schedule, &times, &sends),
            timeline: timeline(&self.schedule, &passes, &sends),
            peaks: (0..self.schedule.devices()).map(peak).collect(),
            profiles,
            recomputed,
            times,
            sends,
        })
    }
}

/// Cost of the passes of a stage without recomputation.
fn own_times(stage: &Instance) -> PassTimes {
    let start = stage.backward_start().map_or(stage.len(), NodeId::index);
    let nodes = stage.ids().take(start);
    let made = nodes.filter(|id| stage.is_made(*id));
    let forward = made.map(|id| stage.node(id).cost()).sum();
    PassTimes {
        forward,
        backward: stage.base_cost() - forward,
    }
}
