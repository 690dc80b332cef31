//! What the commands on libtorch share: a device, a network on it, and plans run several times.

use crate::arguments::DeviceArguments;
use crate::failure::Failure;
use remat_formulations::Instance;
use remat_formulations::plan::Plan;
use remat_formulations::schedule::CheckmateSchedule;
use remat_formulations::simulate;
use remat_formulations::zoo::{ModelSpec, TrainingProgram, ZooError};
use remat_gpu_exec::{Device, ExecError, Run, Training, run};

/// Opens the device and puts a network on it.
///
/// # Errors
/// [`Failure::Exec`].
pub fn training(program: TrainingProgram, on: &DeviceArguments) -> Result<Training, Failure> {
    remat_gpu_exec::set_threads(on.threads);
    let device = Device::open(&on.device, true)?;
    Ok(Training::new(program, &device, on.seed)?)
}

/// A model's specification, with another batch where one is given.
///
/// # Errors
/// [`Failure::Zoo`].
pub fn model(text: &str, batch: Option<u64>) -> Result<TrainingProgram, Failure> {
    let fail = |problem: ZooError| Failure::Zoo {
        source_text: text.into(),
        problem: Box::new(problem),
    };
    let mut spec: ModelSpec = text.parse().map_err(fail)?;
    if let Some(batch) = batch {
        spec = spec.with("batch", &batch.to_string()).map_err(fail)?;
    }
    match remat_formulations::zoo::program(&spec).map_err(fail)? {
        Some(program) => Ok(program),
        None => Err(Failure::Usage {
            problem: format!("{text} is a bare graph without operators"),
            remedy: "name a network; `remat-bb zoo list` shows them".into(),
        }),
    }
}

/// The plan without recomputation.
///
/// # Errors
/// [`Failure::Replay`], which no valid instance leads to.
pub fn plain(instance: &Instance) -> Result<Plan, Failure> {
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    Plan::from_checkmate(instance, &schedule)
        .map_err(|e| crate::source::replay_failure(instance.name(), e))
}

/// A plan that was run several times.
pub struct Measured {
    /// The run of median time.
    pub run: Run,
    /// Greatest peak of all runs in bytes.
    pub peak_bytes: u64,
}

/// Runs a plan once to warm up, then `repeat` times.
///
/// # Errors
/// [`ExecError`].
pub fn measured(training: &mut Training, plan: &Plan, repeat: u16) -> Result<Measured, ExecError> {
    run(training, plan)?;
    let runs = (0..repeat.max(1)).map(|_| run(training, plan));
    let mut runs = runs.collect::<Result<Vec<_>, _>>()?;
    let peak_bytes = runs.iter().map(|run| run.memory.peak).max().unwrap_or(0);
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(Measured {
        run: runs.swap_remove(runs.len() / 2),
        peak_bytes,
    })
}

/// Cost and peak of a plan as predicted: seconds (where the cost is a time) and bytes.
///
/// # Errors
/// [`Failure::Replay`].
pub fn predicted(instance: &Instance, plan: &Plan) -> Result<(Option<f64>, u64), Failure> {
    let replay = simulate::plan(instance, plan)
        .map_err(|e| crate::source::replay_failure(instance.name(), e))?;
    Ok((seconds(instance, replay.cost), replay.peak_bytes))
}

/// A cost in seconds, where it is a time.
pub fn seconds(instance: &Instance, cost: u64) -> Option<f64> {
    let each = instance.cost_unit().nanoseconds?;
    Some(cost as f64 * each * 1e-9)
}

/// How far a measured number is from the predicted one, in percent.
pub fn off(measured: f64, predicted: f64) -> String {
    format!("{:+.2}%", (measured / predicted - 1.0) * 100.0)
}
