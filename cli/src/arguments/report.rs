//! Arguments of `report`.

use clap::Args;
use remat_formulations::options::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const REPORT_ABOUT: &str = "\
Write plans as one HTML file to look at in any browser, without a network.

The page shows memory over time by class of tensor with the budget and the step that binds, the steps with recomputations, \
copies and their causes, the frontier of several plans with proven bounds, the difference of two plans, and for each step the \
tensors in memory with the cost of dropping them, and the price of memory. Plans with addresses have a map of them, pipelines the passes of all devices.

The step without recomputation is added for comparison. The replay has the last word on all figures.";

/// `remat-bb report`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb report zoo:resnet50 plan.json --html report.html
  remat-bb sweep zoo:resnet50 --budgets 40%..60%:5 --plans plans --json > sweep.json
  remat-bb report zoo:resnet50 plans/*.json --log sweep.json --html frontier.html
  remat-bb report zoo:gpt2 pipeline.json --html pipeline.html
  remat-bb report lives.csv --html lives.html

`remat-bb schema report` describes the object that --json prints.")]
pub struct ReportArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., graph or table of lives
    pub instance: PathBuf,
    /// Plans or schedules of the instance, a pipeline, orders, memory plans or a placement
    pub plans: Vec<PathBuf>,
    /// Write the page here
    #[arg(long, value_name = "FILE")]
    pub html: PathBuf,
    /// Budget to draw, in place of those in the plans
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Also show the findings of a search; may be given more than once
    ///
    /// The object that solve or sweep printed with --json has bounds and heuristics. The log that solve or mip
    /// wrote on standard error has the best plan and the bound over time.
    #[arg(long = "log", value_name = "FILE")]
    pub logs: Vec<PathBuf>,
    /// Time for prices of memory, for all plans together: seconds, or with a unit; 0 leaves prices out [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}
