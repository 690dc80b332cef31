//! Arguments of `baselines`.

use super::memory::variant;
use super::{COPIES, Options, PROGRAM, PlansOption, WORKERS};
use clap::Args;
use remat_formulations::options::parse_duration;
use remat_instances::order::Variant;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const BASELINES_ABOUT: &str = "\
Compare the known heuristics at a budget: cost, overhead over computing everything once, peak memory, and whether it \
fits. Those that fit come first, the cheapest on top. All are made for, and judged as, schedules in stages: DTR's own \
trace at run time, say, may compute a node twice between two first computations.

With --svg or --csv the budget is also swept from the least that any of them needs to the peak without recomputation. \
The picture has one curve for each heuristic, and one for this program's own search.

With --offload those that copy tensors to the host come beside them, where the graph is a chain of blocks: pofo (the best of POFO's \
sequence, rotor's and that of offloading alone; Beaumont et al., NeurIPS 2021), offload-only, opportunist, autocapper, greedy and \
layer-fractions (torchtitan's planner). \
Each is a plan with every copy made at once, replayed: its cost is the makespan.

For a graph whose operators may run in another order (remat-order/1) it is the known rules for orders that are compared, for a \
table of lives the known ways to place buffers: what each needs, and how far that is above the proven bound.";

/// `remat-bb baselines`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb baselines zoo:unet --budget 60%
  remat-bb baselines 'zoo:resnet50?batch=184' --budget 6GiB --svg overhead.svg --points 20 --time-limit 5s
  remat-bb baselines 'zoo:resnet18?batch=16&device=v100' --budget 80% --offload pcie3
  remat-bb baselines lives.csv

The object that --json prints has the fields version, instance, instance_sha256, formulation, budget_bytes, \
plain_peak_bytes, base_cost, cost_unit, infeasible_because (proven: no stage schedule in the given order fits), settings \
(of this program's own search), threads, seed and strategies, a list of name, fits, cost (the makespan of a plan that copies), \
overhead_percent, peak_memory_bytes, offload (with --offload: makespan, compute_cost, idle, to_host_bytes, from_host_bytes and \
host_peak_bytes), plan (its file, with --plans) and not_applicable_because. For graphs and tables of lives it has version, kind (orders or placements), \
instance, instance_sha256, variant, bound (in bytes), budget_bytes, settings, threads, seed and strategies, a list of name, fits, \
peak_memory_bytes (of an order; the height of a placement), gap (to the bound) and not_applicable_because.

Exit codes: 0 a strategy fits, 2 bad usage or input, 3 proven infeasible, 4 none fits, and nothing is proven.")]
pub struct BaselinesArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...; graph (remat-order/1), or table of lives
    pub instance: PathBuf,
    /// Memory budget, as for `solve`; graphs and tables need none
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Edges that orders of a graph respect, as for `order`
    #[arg(long, value_name = "V", default_value = "sound+rng", value_parser = variant())]
    pub variant: Variant,
    /// Draw overhead against memory for all heuristics here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write all results of the sweep here
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Number of budgets in the sweep
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub points: u16,
    /// End this program's own search at each budget after this time; 0 leaves it out
    #[arg(short, long, visible_alias = "search", value_name = "TIME", default_value = "0.5s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Formulation, copies, threads and seed
    #[command(flatten)]
    pub options: Options<{ PROGRAM | COPIES | WORKERS }>,
    /// Folder for the plans of the strategies that fit the budget
    #[command(flatten)]
    pub plans: PlansOption,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
}
