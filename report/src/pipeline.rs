//! Pipelines as JSON.

use crate::results::OriginJson;
use remat_instances::Instance;
use remat_instances::pipeline::arrangement::{Device, PipelineReplay};
use remat_instances::pipeline::schedule::Schedule;
use remat_instances::pipeline::split::Split;
use remat_pipeline::PipelineSolution;
use schemars::JsonSchema;
use serde::Serialize;

/// A stage of a pipeline.
#[derive(Serialize, JsonSchema)]
pub struct StageJson {
    /// Device, from 0.
    device: usize,
    /// First forward node of the stage.
    begin: String,
    /// Micro-batches in flight.
    in_flight: u32,
    /// Cost of its forward pass for one micro-batch.
    forward: u64,
    /// Cost of its backward pass, recomputations included.
    backward: u64,
    /// Cost of the recomputations in both passes.
    recomputed: u64,
    /// Bytes that each waiting micro-batch holds.
    saved_bytes: u64,
    /// Bytes that one micro-batch sends to the next stage; null behind the last one.
    sent_bytes: Option<u64>,
    /// Bytes of gradients that one micro-batch sends back; null before the first one.
    sent_back_bytes: Option<u64>,
}

/// A device of a pipeline.
#[derive(Serialize, JsonSchema)]
pub struct DeviceJson {
    /// Memory in bytes.
    budget_bytes: u64,
    /// Speed; 1 for the device of the graph's costs.
    speed: f64,
    /// Largest memory in the replay of all events, in bytes.
    peak_memory_bytes: u64,
}

/// Stages of a replayed pipeline.
pub fn stages(
    split: &Split<'_>,
    schedule: &Schedule,
    cuts: &[u32],
    replay: &PipelineReplay,
) -> Vec<StageJson> {
    let crossing = |at: Option<&u32>| split.crossing(*at?);
    let list = replay.profiles.iter().enumerate();
    list.map(|(stage, profile)| {
        let before = stage.checked_sub(1).and_then(|k| cuts.get(k));
        let begin = before.map_or(0, |at| *at as usize);
        StageJson {
            device: schedule.device_of(stage),
            begin: split.instance().nodes()[begin].name.to_string(),
            in_flight: schedule.in_flight(stage),
            forward: profile.forward,
            backward: profile.backward,
            recomputed: replay.recomputed[stage].both(),
            saved_bytes: profile.saved_bytes,
            sent_bytes: crossing(cuts.get(stage)).map(|c| c.forward_bytes),
            sent_back_bytes: crossing(before).map(|c| c.backward_bytes),
        }
    })
    .collect()
}

/// Devices of a replayed pipeline.
pub fn devices(devices: &[Device], replay: &PipelineReplay) -> Vec<DeviceJson> {
    let pairs = devices.iter().zip(&replay.peaks);
    pairs
        .map(|(device, &peak_memory_bytes)| DeviceJson {
            budget_bytes: device.budget_bytes,
            speed: f64::from(device.speed) / f64::from(Device::PLAIN_SPEED),
            peak_memory_bytes,
        })
        .collect()
}

/// The object of `remat-bb pipeline --json`. Unknown values are null.
#[derive(Serialize, JsonSchema)]
pub struct PipelineJson<'a> {
    /// `optimal` (within the gap), `feasible`, `infeasible` (proven), `limit` (no pipeline in time)
    /// or `interrupted`.
    status: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Order of passes: `gpipe`, `1f1b` or `interleaved:V`.
    schedule: String,
    /// Micro-batches.
    microbatches: u32,
    /// Time by the formula, `sum T + (n - 1) max T` and sends; null without a pipeline.
    objective: Option<u64>,
    /// Time of the replay of all events; null without a pipeline.
    makespan: Option<u64>,
    /// Proven lower bound on the objective of every pipeline of `bound_scope`; null if `status` is
    /// `infeasible`.
    bound: Option<u64>,
    /// `(objective - bound) / objective`; null without a pipeline.
    gap: Option<f64>,
    /// Pipelines that the bound covers, in words.
    bound_scope: String,
    /// Reason why no pipeline fits, if that is proven.
    infeasible_because: Option<&'a str>,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Largest memory of any device in bytes; null without a pipeline.
    peak_memory_bytes: Option<u64>,
    /// Largest budget of any device in bytes.
    budget_bytes: u64,
    /// Devices; empty without a pipeline.
    devices: Vec<DeviceJson>,
    /// Stages; empty without a pipeline.
    stages: Vec<StageJson>,
    /// Wall-clock time in seconds.
    seconds: f64,
    /// Solves of single stages.
    solves: usize,
    /// Nodes of all search trees.
    nodes: u64,
    /// Simplex iterations.
    lp_iterations: u64,
}

impl<'a> PipelineJson<'a> {
    /// The object of an answer.
    pub fn of(split: &Split<'a>, solution: &'a PipelineSolution) -> Self {
        let instance: &'a Instance = split.instance();
        let best = solution.best.as_ref();
        let is_infeasible = solution.infeasible_because.is_some();
        let budgets = solution.devices.iter().map(|device| device.budget_bytes);
        PipelineJson {
            status: solution.status.as_str(),
            origin: OriginJson::of(instance),
            schedule: solution.schedule.kind().to_string(),
            microbatches: solution.schedule.microbatches(),
            objective: solution.objective(),
            makespan: best.map(|best| best.replay.timeline.makespan),
            bound: (!is_infeasible).then_some(solution.bound),
            gap: solution.gap(),
            bound_scope: solution.scope(),
            infeasible_because: solution.infeasible_because.as_deref(),
            cost_unit: &instance.cost_unit().name,
            peak_memory_bytes: best.and_then(|best| best.replay.peaks.iter().copied().max()),
            budget_bytes: budgets.max().unwrap_or(0),
            devices: best.map_or(Vec::new(), |best| devices(&solution.devices, &best.replay)),
            stages: best.map_or(Vec::new(), |best| {
                stages(split, &solution.schedule, &best.cuts, &best.replay)
            }),
            seconds: solution.elapsed.as_secs_f64(),
            solves: solution.solves,
            nodes: solution.nodes,
            lp_iterations: solution.lp_iterations,
        }
    }
}
