//! Arguments of `show`.

use super::{Options, PROGRAM};
use clap::Args;
use std::path::PathBuf;

pub(super) const SHOW_ABOUT: &str = "\
Describe an instance or a plan, in words and pictures.

Without a plan, the plan that recomputes nothing is shown. The text names the largest tensors, the moment of the peak \
and what is in memory then, and which nodes are computed again how often; of a plan that copies to the host also when what \
goes and comes. --svg-memory draws the lanes of the link under the memory.

Graphs whose operators may run in another order, orders and memory plans for them, tables of lives and placements are \
shown as well: memory step by step, and what is in memory at the peak.";

/// `remat-bb show`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb show zoo:resnet50
  remat-bb show zoo:resnet50 plan.json --svg-schedule schedule.svg --svg-memory memory.svg
  remat-bb show zoo:resnet50 plan.json --statements | less
  remat-bb show zoo:resnet18 placed.json --svg-addresses addresses.svg
  remat-bb show lives.csv

Percentages, also of a budget, are over the step without recomputation: each node once, under checkmate by its first \
implementation, under monet in its cheapest way.

The object that --json prints has the fields version, instance, instance_sha256, semantics, nodes, backward_nodes, fixed_bytes, cost, compute_cost, \
idle, makespan, base_cost, overhead_percent, cost_unit, peak_memory_bytes, peak_at, to_host_bytes, from_host_bytes, host_peak_bytes, \
plain_peak_bytes, budget_bytes, statements (their number), \
tensors (node, operator, shape, bytes), at_peak (the tensors in memory at the peak, the largest first), recomputed \
(node, times, cost), copies (node, bytes, to_host, begin, end, idle: the time that computations wait for it), and of a plan with addresses arena_bytes, arena_bound_bytes, alignment_bytes and fragmentation. For \
orders and placements it has version, kind, instance, instance_sha256, variant, operators, buffers, peak_memory_bytes, peak_at, \
base_memory_bytes, program_peak_bytes, recorded_bound_bytes, load_bytes, height_bytes, at_peak and step_bytes.")]
pub struct ShowArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...; graph, or table of lives
    pub instance: PathBuf,
    /// Plan or schedule file; order, memory plan or placement
    pub plan: Option<PathBuf>,
    /// The formulation
    #[command(flatten)]
    pub program: Options<PROGRAM>,
    /// Budget to draw and compare with, in place of the one that the plan records
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Draw the picture that suits here: addresses over time where there are any, else memory
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw what is computed and kept in which stage here
    #[arg(long, value_name = "FILE")]
    pub svg_schedule: Option<PathBuf>,
    /// Draw memory over time here
    #[arg(long, value_name = "FILE")]
    pub svg_memory: Option<PathBuf>,
    /// Draw addresses over time here, of a plan that has them
    #[arg(long, value_name = "FILE", requires = "plan")]
    pub svg_addresses: Option<PathBuf>,
    /// Print the plan's statements instead of the description
    #[arg(long, conflicts_with = "json")]
    pub statements: bool,
    /// Print one JSON object on standard output instead of the description
    #[arg(long)]
    pub json: bool,
}
