//! Arguments of `baselines`.

use super::memory::variant;
use super::{COPIES, Options, PROGRAM, PipelineShape, PlansOption, ShardsOption, WORKERS};
use clap::Args;
use remat_formulations::options::parse_duration;
use remat_instances::order::Variant;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const BASELINES_ABOUT: &str = "\
Compare the known heuristics at a budget: cost, overhead over no recomputation, peak memory, and whether it fits. \
Heuristics that fit come first, by cost.

All are judged as schedules in stages. DTR decides at run time, and its own trace may compute a node twice between two \
first computations.

--svg draws a bar of overhead for each of the best strategies at the budget. --csv adds a sweep over budgets, from the least \
budget of a heuristic to the peak without recomputation.

--offload adds strategies that copy tensors to the host, for a graph that is a chain of blocks. They are pofo (the best of \
POFO's sequence, rotor's and offloading alone; Beaumont et al., NeurIPS 2021), offload-only, opportunist, autocapper, greedy \
and layer-fractions (torchtitan's planner). Each is replayed as a plan with every copy made at once, and its cost is the \
makespan.

A graph whose operators may run in another order (remat-order/1) has the known rules for orders in their place. A table of \
lives has the known ways to place buffers. The table shows the bytes of each, and the distance to the proven bound.";

/// `remat-bb baselines`
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb baselines zoo:unet --budget 60%
  remat-bb baselines 'zoo:resnet50?batch=184' --budget 6GiB --svg overhead.svg --points 20 --time-limit 5s
  remat-bb baselines 'zoo:resnet18?batch=16&device=v100' --budget 80% --offload pcie3
  remat-bb baselines lives.csv

`remat-bb schema baselines` describes the object that --json prints.

Exit codes: 0 a strategy fits, 2 bad usage or input, 3 proven infeasible, 4 no strategy fits, without a \
proof.")]
pub struct BaselinesArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., graph or table of lives
    pub instance: PathBuf,
    /// Memory budget, as for `solve`; optional for graphs and tables
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Edges that orders of a graph respect, as for `order`
    #[arg(
        long,
        value_name = "V",
        default_value = "sound+rng",
        value_parser = variant(),
        hide_short_help = true
    )]
    pub variant: Variant,
    /// Draw a bar of overhead for each of the best strategies
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the results of a sweep over budgets as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Number of budgets in the sweep
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub points: u16,
    /// Time of this program's own search at each budget; 0 leaves it out
    #[arg(short, long, visible_alias = "search", value_name = "TIME", default_value = "0.5s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Formulation, copies, threads and seed
    #[command(flatten)]
    pub options: Options<{ PROGRAM | COPIES | WORKERS }>,
    /// Weights sharded over devices
    #[command(flatten)]
    pub shards: ShardsOption,
    /// A pipeline in place of one device
    #[command(flatten)]
    pub pipeline: PipelineShape,
    /// Folder for the plans of the strategies that fit the budget
    #[command(flatten)]
    pub plans: PlansOption,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
}
