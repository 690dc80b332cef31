//! Arguments of `improve`, and what `solve` has for the choice of an order.

use super::{Options, WORKERS};
use clap::Args;
use remat_formulations::options::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const IMPROVE_ABOUT: &str = "\
Put the steps of a plan in a better order, and leave out recomputations that it then has room for.

The computations stay the same ones, apart from those that go: less peak memory at the same cost, a plan above its budget \
that comes to fit, or a cheaper plan within it. The simulator judges every step, and the plan that is written is never worse \
than the one that was read.";

/// `remat-bb improve`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb improve zoo:googlenet plan.json --out better.json
  remat-bb improve zoo:googlenet plan.json --budget 100% --time-limit 10s --json

The object that --json prints has the fields version, instance, instance_sha256, semantics, objective, objective_before, \
base_cost, overhead_percent, cost_unit, peak_memory_bytes, peak_before_bytes, budget_bytes, fits (within the budget), dropped \
(recomputations that went), stage_schedule, stage_schedule_in_own_order, seconds, threads and seed. What is not known is null.

Exit codes: 0 a plan (within the budget, if there is one), 2 bad usage or input, 4 the plan that was found is above the budget.")]
pub struct ImproveArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Memory that the plan may use, in place of the budget that the file records; where it records
    /// none the peak comes first, then the cost
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write the plan here, as remat-plan/1 JSON
    #[arg(short, long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
