//! Time and memory of all intervals under a rule of recomputation.

use crate::intervals::Intervals;
use crate::layers::crossing;
use crate::path::{CutTime, IMPOSSIBLE};
use crate::pipeline::{Pipeline, PipelineError};
use crate::rules::StageRule;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::pipeline::stage::Stage;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// Stages at most this many times as long as the mean are measured: longer ones are never balanced,
/// and their graphs take long.
const MULTIPLE: u64 = 3;

/// Intervals measured when they are asked for.
pub(crate) struct Measured<'p, 's, 'a> {
    pipeline: &'p Pipeline<'s, 'a>,
    rule: StageRule,
    /// Names of the nodes whose outputs cross between layers.
    crossing: BTreeSet<&'s str>,
    /// Cost without recomputation above which an interval is left out.
    limit: u64,
    intervals: Intervals<'s, 'a>,
    /// Time and peak by stage kind and interval.
    known: RefCell<HashMap<Key, (u64, u64)>>,
}

/// Budget, speed, micro-batches in flight, and both points.
type Key = (u64, u32, u32, usize, usize);

impl<'p, 's, 'a> Measured<'p, 's, 'a> {
    pub fn new(
        pipeline: &'p Pipeline<'s, 'a>,
        rule: StageRule,
        borders: &[u32],
    ) -> Result<Self, PipelineError> {
        let intervals = pipeline.intervals()?;
        let whole = intervals.base_cost(0, intervals.points() - 1);
        Ok(Measured {
            pipeline,
            rule,
            crossing: crossing(pipeline.split, borders),
            limit: MULTIPLE * whole / pipeline.schedule.stages() as u64,
            intervals,
            known: RefCell::default(),
        })
    }

    /// Sends at each point.
    pub fn sends(&self) -> &[CutTime] {
        &self.intervals.sends
    }

    /// Time of a stage between two points, [`IMPOSSIBLE`] above the budget; or its memory in bytes.
    pub fn value(&self, stage: usize, i: usize, j: usize, by_memory: bool) -> u64 {
        if self.intervals.base_cost(i, j) > self.limit {
            return IMPOSSIBLE;
        }
        let device = self.pipeline.device_of(stage);
        let in_flight = self.pipeline.schedule.in_flight(stage);
        let key = (device.budget_bytes, device.speed, in_flight, i, j);
        let known = self.known.borrow().get(&key).copied();
        let (time, peak) = known.unwrap_or_else(|| {
            let found = self
                .measured(stage, i, j)
                .unwrap_or((IMPOSSIBLE, IMPOSSIBLE));
            self.known.borrow_mut().insert(key, found);
            found
        });
        match by_memory {
            true => peak,
            false if peak > device.budget_bytes => IMPOSSIBLE,
            false => time,
        }
    }

    fn measured(&self, stage: usize, i: usize, j: usize) -> Option<(u64, u64)> {
        let split = self.pipeline.split;
        let positions = &self.intervals.positions;
        let range = positions[i]..positions[j];
        let in_flight = self.pipeline.schedule.in_flight(stage);
        let device = self.pipeline.device_of(stage);
        let of = Stage::of(split, range);
        let graph: Instance = of
            .instance(self.intervals.fixed_bytes(i, j), in_flight, true)
            .ok()?;
        let crosses = |id: &NodeId| self.crossing.contains(graph.node(*id).name.as_str());
        let kept = graph.ids().filter(crosses);
        let kept: BTreeSet<NodeId> = kept.collect();
        let (_, replay) = self.rule.plan(&graph, &kept, device.budget_bytes)?;
        Some((device.time(replay.cost), replay.peak_bytes))
    }
}
