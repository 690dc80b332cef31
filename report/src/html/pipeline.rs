//! Pipelines on a page: passes of all devices, with a subject for each stage.

use super::document::Document;
use super::plan::PlanSource;
use crate::draw::pipeline::PipelinePicture;
use remat_instances::Instance;
use remat_instances::pipeline::timeline::device_memory;
use remat_instances::plan::Plan;
use remat_instances::simulate::{self, ReplayError};
use serde::Serialize;

/// A pipeline for a page.
pub struct PipelineSource<'a> {
    /// Schedule, devices, replay.
    pub picture: &'a PipelinePicture<'a>,
    /// For each stage its graph and its plan.
    pub stages: Vec<(&'a Instance, &'a Plan)>,
}

/// A pipeline's passes and memory.
#[derive(Serialize)]
pub(super) struct PipelineJson {
    schedule: String,
    microbatches: u32,
    makespan: u64,
    objective: u64,
    idle_share: f64,
    devices: Vec<DeviceJson>,
    /// Device of each stage.
    device_of: Vec<usize>,
    /// Shares of the passes of each stage that are recomputation: forward and backward.
    again: Vec<(f64, f64)>,
}

#[derive(Serialize)]
struct DeviceJson {
    budget_bytes: u64,
    fixed_bytes: u64,
    peak_bytes: u64,
    busy: u64,
    passes: Vec<PassJson>,
    /// Begin, end, bytes of waiting micro-batches, bytes of the pass that runs.
    memory: Vec<(u64, u64, u64, u64)>,
}

/// A pass: stage, micro-batch, 1 for backward, begin, end.
#[derive(Serialize)]
struct PassJson(usize, u32, u8, u64, u64);

impl Document {
    /// Adds a pipeline with a subject for each of its stages.
    ///
    /// # Errors
    /// [`ReplayError`] for a plan that cannot be executed.
    pub fn add_pipeline(&mut self, source: &PipelineSource<'_>) -> Result<(), ReplayError> {
        let picture = source.picture;
        let (schedule, replay) = (&picture.schedule, picture.replay);
        for (stage, (instance, plan)) in source.stages.iter().enumerate() {
            let own = simulate::plan(instance, plan)?;
            let device = schedule.device_of(stage);
            self.add(
                &format!("stage {stage}"),
                &PlanSource {
                    name: format!("stage {stage} on device {device}"),
                    instance,
                    plan,
                    replay: &own,
                    addresses: None,
                    budget_bytes: Some(picture.devices[device].budget_bytes),
                    bound: None,
                    prices: &[],
                    is_plain: false,
                },
            )?;
        }
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let again = replay.recomputed.iter().zip(&replay.profiles);
        self.pipeline = Some(PipelineJson {
            schedule: schedule.kind().to_string(),
            microbatches: schedule.microbatches(),
            makespan: replay.timeline.makespan,
            objective: replay.objective,
            idle_share: picture.idle_share(),
            devices: (0..schedule.devices())
                .map(|device| device_json(picture, device))
                .collect(),
            device_of: (0..schedule.stages())
                .map(|stage| schedule.device_of(stage))
                .collect(),
            again: again
                .map(|(again, all)| {
                    let forward = share(again.forward, all.forward);
                    (forward, share(again.backward, all.backward))
                })
                .collect(),
        });
        Ok(())
    }
}

fn device_json(picture: &PipelinePicture<'_>, device: usize) -> DeviceJson {
    let replay = picture.replay;
    let passes = replay.timeline.devices[device].iter();
    let spans = device_memory(&replay.timeline, device, &replay.profiles);
    DeviceJson {
        budget_bytes: picture.devices[device].budget_bytes,
        fixed_bytes: picture.fixed_bytes[device],
        peak_bytes: replay.peaks[device],
        busy: replay.timeline.busy(device),
        passes: passes
            .map(|timed| {
                let pass = timed.pass;
                let way = u8::from(pass.backward);
                PassJson(pass.stage, pass.microbatch, way, timed.start, timed.end)
            })
            .collect(),
        memory: spans
            .iter()
            .map(|s| (s.start, s.end, s.waiting_bytes, s.running_bytes))
            .collect(),
    }
}
