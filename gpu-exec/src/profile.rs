//! Measured costs and sizes: an instance of the machine at hand.
//!
//! Every node runs alone, on inputs of the right shapes, so that a model can be profiled that does not fit as a whole.

use crate::error::ExecError;
use crate::execute::{self, Computation};
use crate::training::Training;
use remat_formulations::Instance;
use remat_formulations::instance::CostUnit;

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct ProfileSettings {
    /// Runs of each node before measuring.
    pub warmup: usize,
    /// Measured runs of each node, at least 1.
    pub repeats: usize,
}

impl Default for ProfileSettings {
    /// 2 runs to warm up, 9 measured.
    fn default() -> Self {
        ProfileSettings {
            warmup: 2,
            repeats: 9,
        }
    }
}

/// Seconds of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median of the measured runs.
    pub median: f64,
    /// Confidence interval of the median, from order statistics: 95%, or as much as few runs give.
    pub interval: [f64; 2],
}

impl Timing {
    /// From the measured seconds, at least one.
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        // Ranks n/2 -+ 0.98 sqrt(n), counted from 1, bracket the median with 95% (normal approximation of the binomial).
        let reach = 0.98 * (n as f64).sqrt();
        let low = (n as f64 / 2.0 - reach).floor().max(1.0) as usize - 1;
        let high = ((n as f64 / 2.0 + reach + 1.0).ceil() as usize).min(n) - 1;
        Timing {
            median: seconds[n / 2],
            interval: [seconds[low], seconds[high]],
        }
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The graph with measured costs in nanoseconds and measured sizes.
    pub instance: Instance,
    /// Seconds of each node.
    pub timings: Vec<Timing>,
}

/// Measures every node.
///
/// Outputs are what stays allocated after a node, workspaces what it takes beyond that while it runs; parameter gradients and
/// statistics that stay beside the registers count as fixed memory.
///
/// # Errors
/// [`ExecError`]: memory runs out for a single node, or libtorch refuses.
pub fn profile(training: &mut Training, settings: &ProfileSettings) -> Result<Profile, ExecError> {
    let repeats = settings.repeats.max(1);
    let mut timings = Vec::new();
    let mut sizes = Vec::new();
    execute::isolated(training, settings.warmup + repeats, |runs| {
        let measured = &runs[settings.warmup..];
        timings.push(Timing::of(measured.iter().map(|run| run.seconds).collect()));
        // The first measured run may still find gradients of the parameters unmade.
        let last: &Computation = &measured[repeats - 1];
        let output = last.after.saturating_sub(last.before);
        sizes.push((output, last.peak.saturating_sub(last.before + output)));
    })?;
    let fixed = training.device().memory()?.current;
    let modelled = &training.program.instance;
    let mut data = modelled.data().clone();
    data.cost_unit = CostUnit::nanoseconds();
    // What is fixed beyond the model's count stays all the time.
    let beyond = fixed as i128 - i128::from(modelled.static_bytes());
    for ((node, timing), (output, workspace)) in data.nodes.iter_mut().zip(&timings).zip(sizes) {
        let cost = (timing.median * 1e9).round().max(1.0) as u64;
        node.output_bytes = output;
        node.fixed_bytes = (i128::from(node.fixed_bytes) + beyond).max(0) as u64;
        for implementation in &mut node.implementations {
            implementation.cost = cost;
            implementation.recompute_cost = cost;
            implementation.workspace_bytes = workspace as i64;
            implementation.recompute_workspace_bytes = workspace as i64;
        }
    }
    let instance = Instance::new(data)
        .map_err(|problem| ExecError::Mismatch(format!("the measured instance: {problem}")))?;
    Ok(Profile { instance, timings })
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
