//! Shared code of the commands on libtorch: devices, networks, and repeated runs of plans.

use crate::arguments::{ClockChoice, DeviceArguments};
use crate::failure::Failure;
use remat_gpu_exec::{
    Clock, Device, ExecError, HostMemory, Run, Tensor, Training, gradients, run, run_in_arena,
    run_with_host,
};
use remat_instances::plan::{Plan, PlanAddresses};
use remat_instances::zoo::{ModelSpec, TrainingProgram, ZooError};
use remat_instances::{Instance, Semantics, simulate};

/// Opens the device and puts a network on it.
///
/// # Errors
/// [`Failure::Exec`].
pub fn training(program: TrainingProgram, on: &DeviceArguments) -> Result<Training, Failure> {
    remat_gpu_exec::set_threads(on.threads);
    let clock = match on.clock {
        ClockChoice::Wall => Clock::Wall,
        ClockChoice::Cpu => Clock::Cpu,
    };
    let device = Device::open(&on.device, true)?.with_clock(clock)?;
    Ok(Training::new(program, &device, on.seed)?)
}

/// A model's training program, with another batch if one is given.
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
    match remat_instances::zoo::program(&spec).map_err(fail)? {
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
/// [`Failure::Replay`], never for a valid instance.
pub fn plain(instance: &Instance, semantics: Semantics) -> Result<Plan, Failure> {
    let plain = instance.without_recomputation(semantics);
    let plan = plain.and_then(|plain| plain.plan(instance));
    plan.map_err(|e| crate::source::replay_failure(instance.name(), e))
}

/// A plan to run: from one arena if it has addresses, with host memory if it copies.
pub struct Runnable<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its addresses, and the instance of their sizes.
    pub addresses: Option<(&'a Instance, &'a PlanAddresses)>,
    /// Its host memory, and the instance of its sizes and link.
    pub host: Option<(&'a Instance, HostMemory)>,
}

impl<'a> From<&'a Plan> for Runnable<'a> {
    fn from(plan: &'a Plan) -> Self {
        Runnable {
            plan,
            addresses: None,
            host: None,
        }
    }
}

impl Runnable<'_> {
    fn run(&mut self, training: &mut Training) -> Result<Run, ExecError> {
        match (self.addresses, &mut self.host) {
            (addresses, Some((instance, host))) => {
                let of = addresses.map(|(_, of)| of);
                run_with_host(training, instance, self.plan, of, host, false)
            }
            (Some((instance, of)), None) => run_in_arena(training, instance, self.plan, of, false),
            (None, None) => run(training, self.plan),
        }
    }
}

/// Repeated runs of a plan.
pub struct Measured {
    /// The run of median time; for a plan that copies, of median makespan.
    pub run: Run,
    /// Least and greatest time of all runs, in seconds.
    pub range: [f64; 2],
    /// Greatest peak of all runs in bytes.
    pub peak_bytes: u64,
    /// Gradients after the first run.
    pub gradients: Vec<Tensor>,
}

/// Runs every plan once to warm up, then `repeat` times in turns, so that a temporary load of the
/// machine affects all plans. On a device that caches memory each turn starts with an empty cache
/// and a further run that is not counted. `None` for a plan that needs more memory than the device
/// has.
///
/// # Errors
/// [`ExecError`].
pub fn measured(
    training: &mut Training,
    plans: &mut [Runnable<'_>],
    repeat: u16,
) -> Result<Vec<Option<Measured>>, ExecError> {
    let mut found: Vec<Option<(Vec<Run>, Vec<Tensor>)>> = Vec::new();
    for plan in plans.iter_mut() {
        training.device().empty_cache()?;
        found.push(match plan.run(training) {
            Ok(_) => Some((Vec::new(), gradients(training)?)),
            Err(ExecError::OutOfMemory(_)) => None,
            Err(problem) => return Err(problem),
        });
    }
    for _ in 0..repeat.max(1) {
        let several = plans.len() > 1;
        for (plan, found) in plans.iter_mut().zip(&mut found) {
            let Some((runs, _)) = found else { continue };
            let mut turn = || {
                if training.device().caches() && several {
                    training.device().empty_cache()?;
                    plan.run(training)?;
                }
                plan.run(training)
            };
            match turn() {
                Ok(run) => runs.push(run),
                // Fragmentation: other plans go on.
                Err(ExecError::OutOfMemory(_)) => *found = None,
                Err(problem) => return Err(problem),
            }
        }
    }
    let measured = |(mut runs, gradients): (Vec<Run>, Vec<Tensor>)| {
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let ends = [runs.first(), runs.last()].map(|run| run.map_or(f64::NAN, |run| run.seconds));
        let makespan = |run: &Run| run.copies.map_or(run.seconds, |of| of.makespan_seconds);
        runs.sort_by(|a, b| makespan(a).total_cmp(&makespan(b)));
        Measured {
            range: ends,
            peak_bytes: runs.iter().map(|run| run.memory.peak).max().unwrap_or(0),
            run: runs.swap_remove(runs.len() / 2),
            gradients,
        }
    };
    Ok(found.into_iter().map(|found| found.map(measured)).collect())
}

/// Predicted cost and peak of a plan: seconds (`None` if the cost is no time) and bytes.
///
/// # Errors
/// [`Failure::Replay`].
pub fn predicted(instance: &Instance, plan: &Plan) -> Result<(Option<f64>, u64), Failure> {
    let replay = simulate::plan(instance, plan)
        .map_err(|e| crate::source::replay_failure(instance.name(), e))?;
    Ok((seconds(instance, replay.cost), replay.peak_bytes))
}

/// A cost in seconds; `None` if it is no time.
pub fn seconds(instance: &Instance, cost: u64) -> Option<f64> {
    let each = instance.cost_unit().nanoseconds?;
    Some(cost as f64 * each * 1e-9)
}

/// Deviation of a measured number from the prediction, in percent.
pub fn off(measured: f64, predicted: f64) -> String {
    format!("{:+.2}%", (measured / predicted - 1.0) * 100.0)
}
