//! Arguments of `show`.

use super::{Options, PROGRAM};
use clap::Args;
use std::path::PathBuf;

pub(super) const SHOW_ABOUT: &str = "\
Describe an instance or a plan, in words and pictures.

Without a plan, the step without recomputation is shown. The text names the largest tensors, the moment of the peak, the \
tensors in memory then, and recomputed nodes. For a plan that copies to the host it also lists the copies, and --svg-memory \
draws the lanes of the link under the memory.

Graphs whose operators may run in another order, their orders and memory plans, tables of lives and placements are shown as \
well: memory step by step, and the buffers in memory at the peak.

For a pipeline that `remat-bb pipeline` wrote, --svg-schedule draws the passes of all devices over time, and --svg-memory the \
memory of each device, with the saved bytes of waiting micro-batches as a band of their own.

--trace writes trace events for Perfetto (ui.perfetto.dev) or chrome://tracing. --snapshot writes a memory snapshot for \
PyTorch's viewer (pytorch.org/memory_viz, or python -m torch.cuda._memory_viz trace_plot). --csv writes memory over time.";

/// `remat-bb show`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb show zoo:resnet50
  remat-bb show zoo:resnet50 plan.json --svg-schedule schedule.svg --svg-memory memory.svg
  remat-bb show zoo:resnet50 plan.json --statements | less
  remat-bb show zoo:resnet18 placed.json --svg-addresses addresses.svg
  remat-bb show lives.csv
  remat-bb show zoo:gpt2 pipeline.json --svg-schedule passes.svg
  remat-bb show zoo:resnet50 plan.json --trace step.json --snapshot memory.pickle --csv memory.csv

Percentages, also of a budget, refer to the step without recomputation. It runs each node once, under checkmate by its first \
implementation, under monet in its cheapest way.

`remat-bb schema show` describes the object that --json prints.")]
pub struct ShowArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., graph or table of lives
    pub instance: PathBuf,
    /// Plan, pipeline, schedule, order, memory plan or placement
    pub plan: Option<PathBuf>,
    /// The formulation
    #[command(flatten)]
    pub program: Options<PROGRAM>,
    /// Budget to draw and compare with, in place of the one in the plan
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Draw addresses over time if there are any, else memory; of a pipeline, passes over time
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw the computed and kept nodes of each stage; of a pipeline, passes over time
    #[arg(long, value_name = "FILE")]
    pub svg_schedule: Option<PathBuf>,
    /// Draw memory over time; of a pipeline, of each device
    #[arg(long, value_name = "FILE")]
    pub svg_memory: Option<PathBuf>,
    /// Draw addresses over time, for a plan that has them
    #[arg(long, value_name = "FILE", requires = "plan")]
    pub svg_addresses: Option<PathBuf>,
    /// Write trace events for Perfetto: lanes of work, memory, and arrows to the readers
    #[arg(long, value_name = "FILE", help_heading = "For viewers")]
    pub trace: Option<PathBuf>,
    /// Write a memory snapshot for PyTorch's memory_viz: a block for each tensor
    #[arg(long, value_name = "FILE", help_heading = "For viewers")]
    pub snapshot: Option<PathBuf>,
    /// Write memory over time, a row for each statement, step or pass
    #[arg(long, value_name = "FILE", help_heading = "For viewers")]
    pub csv: Option<PathBuf>,
    /// Print the statements of the plan instead of the description
    #[arg(long, conflicts_with = "json")]
    pub statements: bool,
    /// Print one JSON object on standard output instead of the description
    #[arg(long)]
    pub json: bool,
}
