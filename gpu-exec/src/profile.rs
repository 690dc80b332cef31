//! Measured costs and sizes: an instance of this machine.
//!
//! Every node runs alone, on inputs of the right shapes, so that a model that does not fit as a
//! whole can be profiled. These runs give all sizes. Times come from whole training steps if one
//! fits. There the inputs are not in the caches by chance, and a short disturbance affects one run
//! of a node, not all of them.

use crate::error::ExecError;
use crate::execute::{self, Computation, Taken, Way};
use crate::training::Training;
use remat_instances::Instance;
use remat_instances::instance::{CostUnit, Implementation, InPlace, InstanceData, Node};
use remat_instances::plan::Plan;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;

/// Settings of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct ProfileSettings {
    /// Runs of each node before measuring.
    pub warmup: usize,
    /// Measured runs of each node, at least 1.
    pub repeats: usize,
    /// True if times come from whole training steps, where the device has the memory.
    pub whole_steps: bool,
}

impl Default for ProfileSettings {
    /// 2 runs to warm up, 9 measured, in whole training steps.
    fn default() -> Self {
        ProfileSettings {
            warmup: 2,
            repeats: 9,
            whole_steps: true,
        }
    }
}

/// Seconds of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median of the measured runs.
    pub median: f64,
    /// Confidence interval of the median, from order statistics: 95%, or less if there are few
    /// runs.
    pub interval: [f64; 2],
}

impl Timing {
    fn scaled(self, factor: f64) -> Self {
        Timing {
            median: self.median * factor,
            interval: self.interval.map(|end| end * factor),
        }
    }

    /// The timing of measured seconds; zero without any.
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        if n == 0 {
            return Timing {
                median: 0.0,
                interval: [0.0; 2],
            };
        }
        // Ranks n/2 -+ 0.98 sqrt(n), counted from 1, bracket the median with 95% (normal
        // approximation of the binomial).
        let reach = 0.98 * (n as f64).sqrt();
        let low = (n as f64 / 2.0 - reach).floor().max(1.0) as usize - 1;
        let high = ((n as f64 / 2.0 + reach + 1.0).ceil() as usize).min(n) - 1;
        Timing {
            median: seconds[n / 2],
            interval: [seconds[low], seconds[high]],
        }
    }
}

/// Result of the measurement.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The graph with measured costs in nanoseconds and measured sizes. Implementations that are
    /// the same in libtorch become one, named `libtorch`.
    pub instance: Instance,
    /// Seconds of each node, by each of its implementations, then in place if the node offers that.
    pub timings: Vec<Vec<Timing>>,
}

/// Memory and time of one way to compute a node.
#[derive(Clone, Copy)]
struct Measure {
    way: Way,
    timing: Timing,
    output_bytes: u64,
    /// Peak beyond the memory before and the output.
    workspace_bytes: i64,
}

impl Measure {
    fn of(taken: &Taken, warmup: usize) -> Self {
        let measured = &taken.runs[warmup..];
        let seconds = measured.iter().map(|run| run.seconds).collect();
        // In the first run gradients of the parameters may still be missing.
        let last: &Computation = &measured[measured.len() - 1];
        let output_bytes = last.after.saturating_sub(last.before);
        Measure {
            way: taken.way,
            timing: Timing::of(seconds),
            output_bytes,
            workspace_bytes: last.peak.saturating_sub(last.before + output_bytes) as i64,
        }
    }

    /// Nanoseconds, at least one.
    fn cost(&self) -> u64 {
        (self.timing.median * 1e9).round().max(1.0) as u64
    }
}

/// Measures every node in every way that libtorch distinguishes.
///
/// An output is the memory that stays allocated after a node; a workspace is the additional memory
/// while it runs. Parameter gradients and statistics outside of registers count as fixed memory.
/// Running statistics are updated in every run.
///
/// # Errors
/// [`ExecError`] if memory runs out for a single node, or libtorch refuses.
pub fn profile(training: &mut Training, settings: &ProfileSettings) -> Result<Profile, ExecError> {
    let repeats = settings.repeats.max(1);
    let mut measures: Vec<Vec<Measure>> = Vec::new();
    execute::isolated(training, settings.warmup + repeats, |ways| {
        let each = ways.iter().map(|taken| Measure::of(taken, settings.warmup));
        measures.push(each.collect());
    })?;
    // Memory that libraries keep (the workspace of cuBLAS) is not counted, here and in the
    // executor.
    let fixed = training.bytes();
    let modelled = &training.program.instance;
    let mut data = modelled.data().clone();
    data.cost_unit = CostUnit::nanoseconds();
    // Fixed memory beyond the model's count is added to every node.
    let beyond = fixed as i128 - i128::from(modelled.static_bytes());
    for (node, measures) in data.nodes.iter_mut().zip(&measures) {
        node.fixed_bytes = (i128::from(node.fixed_bytes) + beyond).max(0) as u64;
        record(node, measures);
    }
    let measured = |data: InstanceData| {
        Instance::new(data)
            .map_err(|problem| ExecError::Mismatch(format!("the measured instance: {problem}")))
    };
    let instance = measured(data)?;
    let alone = measures
        .iter()
        .map(|ways| ways.iter().map(|way| way.timing).collect());
    let mut timings: Vec<Vec<Timing>> = alone.collect();
    let steps = match settings.whole_steps {
        true => in_whole_steps(training, &instance, settings)?,
        false => None,
    };
    let Some(steps) = steps else {
        return Ok(Profile { instance, timings });
    };
    let mut data = instance.data().clone();
    for ((node, in_step), ways) in data.nodes.iter_mut().zip(steps).zip(&mut timings) {
        let factor = in_step.median / ways[0].median.max(1e-9);
        scale(node, factor);
        ways.iter_mut().for_each(|way| *way = way.scaled(factor));
        ways[0] = in_step;
    }
    let instance = measured(data)?;
    Ok(Profile { instance, timings })
}

/// Seconds of each node in training steps without recomputation; `None` if the device has too
/// little memory.
fn in_whole_steps(
    training: &mut Training,
    instance: &Instance,
    settings: &ProfileSettings,
) -> Result<Option<Vec<Timing>>, ExecError> {
    let mismatch = |problem| ExecError::Mismatch(format!("the measured instance: {problem}"));
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    let plan = Plan::from_checkmate(instance, &schedule).map_err(mismatch)?;
    let peak = simulate::plan(instance, &plan)
        .map_err(mismatch)?
        .peak_bytes;
    let free = training.device().free_bytes().unwrap_or(u64::MAX);
    // Parameters and gradients are allocated already.
    if peak.saturating_sub(training.bytes()) > free {
        return Ok(None);
    }
    let mut seconds = vec![Vec::new(); instance.len()];
    for step in 0..settings.warmup + settings.repeats.max(1) {
        let taken = match execute::run(training, &plan) {
            Ok(run) => run,
            Err(ExecError::OutOfMemory(_)) => {
                training.device().empty_cache()?;
                return Ok(None);
            }
            Err(problem) => return Err(problem),
        };
        for computation in taken
            .computations
            .iter()
            .filter(|_| step >= settings.warmup)
        {
            seconds[computation.node.index()].push(computation.seconds);
        }
    }
    Ok(Some(seconds.into_iter().map(Timing::of).collect()))
}

/// Multiplies the costs of all ways to compute a node.
fn scale(node: &mut Node, factor: f64) {
    let scaled = |cost: u64| (cost as f64 * factor).round().max(1.0) as u64;
    let plain = node.cost();
    if let Some(option) = &mut node.in_place {
        let over = plain.saturating_add_signed(option.cost_delta);
        option.cost_delta = scaled(over) as i64 - scaled(plain) as i64;
    }
    for implementation in &mut node.implementations {
        implementation.cost = scaled(implementation.cost);
        implementation.recompute_cost = scaled(implementation.recompute_cost);
    }
}

/// Writes a node's measurements into it.
fn record(node: &mut Node, measures: &[Measure]) {
    let plain = measures[0];
    node.output_bytes = plain.output_bytes;
    let all = std::mem::take(&mut node.implementations);
    let same_reads = |k: usize| all.iter().filter(|i| i.needs == all[k].needs).count() > 1;
    let mut in_place = None;
    for measure in measures {
        match measure.way {
            Way::Implementation(k) => {
                let k = usize::from(k);
                let mut implementation = Implementation::new(
                    all[k].needs.clone(),
                    measure.cost(),
                    measure.workspace_bytes,
                );
                implementation.name = match same_reads(k) {
                    true => "libtorch".into(),
                    false => all[k].name.clone(),
                };
                node.implementations.push(implementation);
            }
            // While it runs, input and output are charged; it needs no more memory.
            Way::InPlace => {
                in_place = node.in_place.take().map(|option| InPlace {
                    on: option.on,
                    cost_delta: measure.cost() as i64 - plain.cost() as i64,
                    workspace_bytes: measure.workspace_bytes + measure.output_bytes as i64
                        - plain.output_bytes as i64,
                });
            }
        }
    }
    node.in_place = in_place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_bracket_the_median() {
        let timing = Timing::of((1..=25).map(f64::from).rev().collect());
        assert_eq!(timing.median, 13.0);
        // Ranks 7 and 19 of 25: P(Binomial(25, 1/2) in 7..19) = 0.986; one further in it is 0.957.
        assert!(timing.interval[0] >= 6.0 && timing.interval[0] < 13.0);
        assert!(timing.interval[1] <= 20.0 && timing.interval[1] > 13.0);
        let one = Timing::of(vec![2.0]);
        assert_eq!((one.median, one.interval), (2.0, [2.0, 2.0]));
    }
}
