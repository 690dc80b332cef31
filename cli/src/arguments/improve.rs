//! Arguments of `improve`.

use super::{Options, WORKERS};
use clap::Args;
use remat_formulations::options::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const IMPROVE_ABOUT: &str = "\
Put the steps of a plan in a better order, and leave out recomputations that this order makes unnecessary.

The other computations stay. The result has less peak memory at the same cost, or costs less within its budget. A plan \
above its budget may come to fit. The simulator judges every step, and the result is never worse than the given plan.";

/// `remat-bb improve`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb improve zoo:googlenet plan.json --out better.json
  remat-bb improve zoo:googlenet plan.json --budget 100% --time-limit 10s --json

`remat-bb schema improve` describes the object that --json prints.

Exit codes: 0 a plan (within the budget, if there is one), 2 bad usage or input, 4 the improved plan is above the budget.")]
pub struct ImproveArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Memory budget, in place of the one in the file
    ///
    /// Without a budget the peak is lowered first, then the cost.
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write the plan, as remat-plan/1 JSON
    #[arg(short, long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
