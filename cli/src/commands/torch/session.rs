//! Common parts of the commands on libtorch: a device, a network on it, and plans run several
//! times.

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
/// [`Failure::Replay`], which no valid instance leads to.
pub fn plain(instance: &Instance, semantics: Semantics) -> Result<Plan, Failure> {
    let plain = instance.without_recomputation(semantics);
    let plan = plain.and_then(|plain| plain.plan(instance));
    plan.map_err(|e| crate::source::replay_failure(instance.name(), e))
}

/// A plan to run: from one arena where it has addresses, with host memory where it copies.
pub struct Runnable<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its addresses, and the instance whose sizes they are for.
    pub addresses: Option<(&'a Instance, &'a PlanAddresses)>,
    /// Its host memory, and the instance whose sizes and link it is for.
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

/// A plan that was run several times.
pub struct Measured {
    /// The run of median time; of median makespan where the plan copies.
    pub run: Run,
    /// Least and greatest time of all runs, in seconds.
    pub range: [f64; 2],
    /// Greatest peak of all runs in bytes.
    pub peak_bytes: u64,
    /// Gradients that the first run left.
    pub gradients: Vec<Tensor>,
}

/// Runs every plan once to warm up, then `repeat` times in turns: what disturbs the machine for a
/// while disturbs all of them. On a device that caches memory each turn starts with an empty cache
/// and one more run that is not counted. `None` for a plan for which the memory of the device does
/// not suffice.
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
            if training.device().caches() && several {
                training.device().empty_cache()?;
                plan.run(training)?;
            }
            runs.push(plan.run(training)?);
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

/// Deviation of a measured number from the predicted one, in percent.
pub fn off(measured: f64, predicted: f64) -> String {
    format!("{:+.2}%", (measured / predicted - 1.0) * 100.0)
}
