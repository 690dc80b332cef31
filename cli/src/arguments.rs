//! Arguments of the command line.

mod compare;
mod exec;
mod export;
mod fits;
mod grid;
mod groups;
mod improve;
mod lp;
mod memory;
mod mip;
mod options;
mod overview;
mod pipeline;
mod report;
mod show;
mod values;

pub use compare::BaselinesArguments;
pub use exec::{
    ClockChoice, DeviceArguments, ExecArguments, ProfileArguments, TrainCheckArguments,
};
pub use export::{ExportArguments, ExportSteps, ExportedProgram};
pub use fits::FitsArguments;
pub use grid::{GridOptions, MergeArguments};
pub use groups::{PlansOption, ShardsOption};
pub use improve::ImproveArguments;
pub use lp::{LpArguments, LpMethod, Switch};
pub use memory::{GraphOptions, OrderArguments, PlaceArguments, PlanMemoryArguments};
pub use mip::{CheckArguments, MipArguments};
pub use options::{ALL, COPIES, LINK, ORDER, Options, PROGRAM, SEARCH, WORKERS};
pub use pipeline::{PipelineArguments, PipelineShape};
pub use report::ReportArguments;
pub use show::ShowArguments;
pub use values::{parse_overhead, parse_setting};

use crate::version::FULL_VERSION;
use clap::{Args, Parser, Subcommand};
use remat_formulations::options::parse_duration;
use remat_instances::instance::HostLink;
use std::path::PathBuf;
use std::time::Duration;

/// The command line.
#[derive(Parser, Debug)]
#[command(
    name = "remat-bb",
    version = FULL_VERSION,
    about,
    long_about = LONG_ABOUT,
    help_template = overview::TEMPLATE,
    after_help = overview::tasks(),
    after_long_help = format!("{}\n\n{EXAMPLES}", overview::tasks())
)]
pub struct Arguments {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Rematerialization plans for training neural networks in less memory.

A training step keeps activations until the backward pass needs them. With less memory, some are dropped and computed \
again. remat-bb finds the cheapest choice: it reads a training graph with costs and sizes, takes a memory budget, and \
writes an executable plan. A proven bound shows how much cheaper another stage schedule could be.

A stage schedule computes nodes in the order of the instance; between two first computations every node runs at most \
once. A plan outside this class may be cheaper, and may fit where no stage schedule fits.

INSTANCE is a JSON file (remat-instance/1 or a NetworkX node-link graph, plain or gzipped), or a model of the built-in \
zoo such as zoo:resnet50?batch=184&device=v100. Quote it: & means something to a shell.";

const EXAMPLES: &str = "\
Examples:
  remat-bb zoo list
  remat-bb solve zoo:resnet50 --budget 60% --time-limit 30s --out plan.json
  remat-bb verify zoo:resnet50 plan.json
  remat-bb show zoo:resnet50 plan.json --svg-memory memory.svg
  remat-bb baselines zoo:unet --budget 8GiB --svg overhead.svg

Exit codes: 0 solved or a plan found, 2 bad usage or input, 3 proven: no stage schedule fits, 4 limit reached \
without a plan, 5 out of memory.";

const SOLVE_ABOUT: &str = "\
Find a plan of least cost within a memory budget.

The result has a replayed schedule, a lower bound on the cost of every stage schedule, and the gap between the two. The \
replay measures cost and peak memory. A stage schedule computes nodes in the order of the instance; between two first \
computations every node runs at most once.

Without a time limit the work is fixed: the answer depends on instance, budget and seed alone, on any number of \
threads. Ctrl-C ends the search; the best plan so far is reported and written as usual.";

const VERIFY_ABOUT: &str = "\
Replay a plan or a schedule, and compare it with the values in its file.

The replay executes every statement: it allocates, computes and frees, and shares no code with the search. It must \
confirm the cost, peak memory and budget in the file. Otherwise the message names each difference, and the exit code is 2.

An instance has plans (remat-plan/1) and schedules (remat-schedule/1). A graph has orders (remat-order-plan/1) and orders \
with addresses (remat-memory-plan/1), a table of lives has placements (a table with a column `offset`).";

const ZOO_ABOUT: &str = "\
Training graphs of well-known networks, built from shapes and a roofline model of the device. They need neither a \
framework nor a GPU.";

const SWEEP_ABOUT: &str = "\
Find the frontier of time against memory over a range of budgets.

Every budget gets a plan of least cost, and a proven lower bound on stage schedules in the given order. A plan for less \
memory fits a larger budget, and a bound for more memory holds for a smaller one. The known heuristics run at every \
budget for comparison. With --offload plans may copy tensors to the host, and costs are makespans.

A grid file has several models, batches, devices, budgets, links and seeds. Each of its jobs leaves a result file in the \
folder of --resume, so any number of processes can share a grid, and a run after an interrupt goes on. `remat-bb merge` \
makes the table. docs/guides/a-thousand-solves.md is the guide.";

const MAX_BATCH_ABOUT: &str = "\
Find the largest batch of a model within a memory budget and a bounded cost.

The bound limits recomputation to a number of further forward passes (Checkmate's question; the paper has 1.0x). Every \
batch size is built anew, with its own costs and sizes. Its solve ends with a plan within the bound, with a proof that no \
stage schedule exists, or after the time limit. The known heuristics answer the same question. With --offload plans may \
copy tensors to the host, and the makespan is bounded.";

const EXPLAIN_ABOUT: &str = "\
Explain the recomputations and copies of a plan in words.

For each tensor that is dropped and computed again, the text names the nodes before and after, the cost, the free memory in \
between, and whether the budget forced the drop. For each copy to the host it names the times and how long computations \
wait, and it shows how busy the link is.";

const EXPORT_ABOUT: &str = "\
Write the integer program of an instance as an MPS or LP file, for any solver to be compared with.

checkmate-original is the published program: R, S, U and FREE in frontier-advancing stages. checkmate-unpartitioned is \
the paper's comparison without these stages. checkmate-interval has a column for every stretch of time that a tensor may \
spend in memory. monet-original is MONeT's published program. The names of columns show their decisions: R_3_1 is 1 if \
node 1 is computed in stage 3.";

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Find a plan of least cost within a memory budget
    #[command(long_about = SOLVE_ABOUT)]
    Solve(SolveArguments),
    /// Replay a plan or schedule, and compare it with its file
    #[command(long_about = VERIFY_ABOUT)]
    Verify(VerifyArguments),
    /// Put the steps of a plan in a better order
    #[command(long_about = improve::IMPROVE_ABOUT)]
    Improve(ImproveArguments),
    /// Compare the known heuristics at a budget, or over a range of budgets
    #[command(long_about = compare::BASELINES_ABOUT)]
    Baselines(BaselinesArguments),
    /// Tell whether a training step fits into an amount of memory
    #[command(long_about = fits::FITS_ABOUT)]
    Fits(FitsArguments),
    /// Find the frontier of time against memory over a range of budgets
    #[command(long_about = SWEEP_ABOUT)]
    Sweep(SweepArguments),
    /// Merge the results of a grid into one table
    #[command(long_about = grid::MERGE_ABOUT)]
    Merge(MergeArguments),
    /// Find where to cut a model into pipeline stages, and what each recomputes
    #[command(long_about = pipeline::PIPELINE_ABOUT)]
    Pipeline(Box<PipelineArguments>),
    /// Find the largest batch of a model within a budget and a bounded cost
    #[command(long_about = MAX_BATCH_ABOUT)]
    MaxBatch(MaxBatchArguments),
    /// Describe an instance or a plan, in words and pictures
    #[command(long_about = show::SHOW_ABOUT)]
    Show(ShowArguments),
    /// Write plans as one HTML file to look at, without a network
    #[command(long_about = report::REPORT_ABOUT)]
    Report(ReportArguments),
    /// Explain the recomputations and copies of a plan in words
    #[command(long_about = EXPLAIN_ABOUT)]
    Explain(ExplainArguments),
    /// Find the order of a graph's operators with the least peak memory
    #[command(long_about = memory::ORDER_ABOUT)]
    Order(OrderArguments),
    /// Find addresses for buffers with given lives, as low as possible
    #[command(long_about = memory::PLACE_ABOUT)]
    Place(PlaceArguments),
    /// Find the order of a graph and addresses for its memory: the least arena
    #[command(long_about = memory::PLAN_MEMORY_ABOUT)]
    PlanMemory(PlanMemoryArguments),
    /// Run a plan with libtorch, and measure its time and memory
    #[command(long_about = exec::EXEC_ABOUT)]
    Exec(ExecArguments),
    /// Measure the operators of a model on this machine: an instance to solve
    #[command(long_about = exec::PROFILE_ABOUT)]
    Profile(ProfileArguments),
    /// Profile, solve, run and compare
    #[command(long_about = exec::TRAIN_CHECK_ABOUT)]
    TrainCheck(TrainCheckArguments),
    /// Write the integer program of an instance as an MPS or LP file
    #[command(long_about = EXPORT_ABOUT)]
    Export(ExportArguments),
    /// List the built-in models, or write one as an instance file
    #[command(long_about = ZOO_ABOUT)]
    Zoo(ZooArguments),
    /// Solve a linear program from an MPS or LP file
    #[command(long_about = lp::LP_ABOUT)]
    Lp(LpArguments),
    /// Solve a mixed-integer program from an MPS or LP file
    #[command(long_about = mip::MIP_ABOUT)]
    Mip(Box<MipArguments>),
    /// Check a proof that `--certificate` wrote
    #[command(long_about = mip::CHECK_ABOUT)]
    CheckCertificate(CheckArguments),
    /// Write completions for a shell to standard output
    Completions(CompletionsArguments),
    /// Write manual pages to a folder
    Man(ManArguments),
    /// Write the JSON schema of the object that a command prints with `--json`
    Schema(SchemaArguments),
}

/// `remat-bb solve`
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb solve 'zoo:resnet50?batch=184' --budget 6GiB --time-limit 1m --out plan.json
  remat-bb solve graph.json.gz --budget 60% --json
  remat-bb solve graph.json --budget 5000000000 --gap 1% --seed 7 --quiet
  remat-bb solve zoo:googlenet --budget 60% --reorder --time-limit 1m --out plan.json
  remat-bb solve zoo:resnet18 --budget 80% --time-limit 5s --addresses --out placed.json
  remat-bb solve 'zoo:resnet18?batch=16&device=v100' --budget 70% --offload pcie3 --time-limit 10s
  remat-bb solve zoo:unet --budget 70% --offload pcie4 --time-limit 10s --certificate unet.proof.gz

`remat-bb schema solve` describes the object that --json prints, `remat-bb schema error` the object in its place for an \
error.

Exit codes: 0 solved or a plan found, 2 bad usage or input, 3 proven: no stage schedule fits, 4 limit reached without a \
plan.")]
pub struct SolveArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Memory budget: bytes, an amount (6GiB, 5.5GB), a share (60%), or least
    ///
    /// The budget includes fixed memory: parameters, input and parameter gradients. A share is of
    /// the peak without recomputation. With `least` the least budget is searched first.
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// Limits of the search, formulation, copies, order and addresses
    #[command(flatten)]
    pub options: Options<ALL>,
    /// Weights sharded over devices
    #[command(flatten)]
    pub shards: ShardsOption,
    /// Link between these devices: a speed such as 50GB/s, or one speed each way
    ///
    /// Default: the network's interconnect, 50 GB/s each way.
    #[arg(
        long,
        value_name = "LINK",
        requires = "shards",
        conflicts_with = "offload"
    )]
    pub link: Option<HostLink>,
    /// Write the instance in the order found, as remat-instance/1 JSON
    ///
    /// The schedule and the proof then refer to this instance.
    #[arg(
        long,
        value_name = "INSTANCE.json",
        requires = "reorder",
        hide_short_help = true
    )]
    pub reordered_out: Option<PathBuf>,
    /// Also start from this plan or schedule; may be given more than once
    ///
    /// A start above the budget is left out.
    #[arg(long = "start", value_name = "PLAN.json")]
    pub starts: Vec<PathBuf>,
    /// Write the plan, as remat-plan/1 JSON
    #[arg(short, long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Write the schedule (the matrices R and S), as remat-schedule/1 JSON
    #[arg(long, value_name = "SCHEDULE.json", hide_short_help = true)]
    pub schedule_out: Option<PathBuf>,
    /// Draw cost and bound over time
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub progress_svg: Option<PathBuf>,
    /// Write a proof of the bound, for check-certificate
    ///
    /// With --offload only bounds under Checkmate's semantics have a proof.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// Budgets of a sweep that names none.
pub const DEFAULT_BUDGETS: &str = "40%..100%:20";

/// `remat-bb sweep`
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb sweep zoo:vgg16 --budgets 40%..100%:20 --csv vgg16.csv --svg vgg16.svg
  remat-bb sweep graph.json --budgets 5GiB,6GiB,8GiB --time-limit 1m --json --plans plans
  remat-bb sweep 'zoo:resnet18?batch=16&device=v100' --budgets 60%..100%:5 --time-limit 5s --offload pcie3
  remat-bb sweep grid.toml --resume runs
  remat-bb sweep grid.toml --resume runs --shard 2/8

`remat-bb schema sweep` describes the object that --json prints.

Exit codes: 0 a plan for at least one budget, 2 bad usage or input, 3 proven: no stage schedule fits any of the \
budgets, 4 no plan.")]
pub struct SweepArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., or a grid of instances: GRID.toml
    pub instance: PathBuf,
    /// Budgets: FROM..TO:COUNT, or a list with commas
    ///
    /// Budgets of a range are evenly spaced, both ends included. Each is written as for `solve`; the
    /// first may be `least`, which is searched before.
    #[arg(short, long, value_name = "BUDGETS", default_value = DEFAULT_BUDGETS)]
    pub budgets: String,
    /// Limits of the search, formulation and copies
    #[command(flatten)]
    pub options: Options<{ SEARCH | PROGRAM | COPIES | ORDER }>,
    /// Weights sharded over devices
    #[command(flatten)]
    pub shards: ShardsOption,
    /// A pipeline in place of one device
    #[command(flatten)]
    pub pipeline: PipelineShape,
    /// Leave out the known heuristics
    #[arg(long)]
    pub no_baselines: bool,
    /// Write all results as CSV, one line for each budget and strategy
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw the frontier, its lower bound and the heuristics
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Folder for the plans
    #[command(flatten)]
    pub plans: PlansOption,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
    /// A grid in place of one instance
    #[command(flatten)]
    pub grid: GridOptions,
}

/// `remat-bb max-batch`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb max-batch zoo:unet --budget 16GiB
  remat-bb max-batch 'zoo:mobilenet_v2?device=v100' --budget 16GiB --overhead 0.5x --time-limit 1m --json
  remat-bb max-batch 'zoo:resnet18?device=v100' --budget 1GiB --overhead 0.1x --offload pcie4 --most 64

`remat-bb schema max-batch` describes the object that --json prints.

Exit codes: 0 a batch was found, 2 bad usage or input, 3 proven: no stage schedule fits even one sample, 4 no batch found in \
time.")]
pub struct MaxBatchArguments {
    /// Model, zoo:MODEL?parameter=value&...
    ///
    /// The search starts with its batch size.
    pub model: String,
    /// Memory budget: bytes or an amount (16GiB)
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// Largest cost of recomputation and of waiting, in forward passes
    ///
    /// 1.0x is one further forward pass. Waiting for copies counts as well.
    #[arg(long, value_name = "X", default_value = "1.0x", value_parser = parse_overhead)]
    pub overhead: f64,
    /// Largest batch to try
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub most: u64,
    /// End the solve of each batch size after this time, undecided
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Threads, seed and copies
    #[command(flatten)]
    pub options: Options<{ WORKERS | COPIES | ORDER }>,
    /// Leave out the known heuristics
    #[arg(long)]
    pub no_baselines: bool,
    /// Folder for the plan of each strategy's largest batch
    #[command(flatten)]
    pub plans: PlansOption,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// `remat-bb explain`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb explain zoo:vgg16 plan.json
  remat-bb explain graph.json schedule.json --budget 6GiB --all --json

`remat-bb schema explain` describes the object that --json prints.")]
pub struct ExplainArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Budget to judge by, in place of the one in the file
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Describe every tensor, not only the most expensive ones
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object on standard output instead of words
    #[arg(long)]
    pub json: bool,
}

/// `remat-bb verify`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb verify zoo:vgg16 plan.json
  remat-bb verify graph.json schedule.json --budget 5GiB --json
  remat-bb verify zoo:vgg16 plan.json --offload pcie4 --host-memory 8GiB

With --offload the replay uses this link. It does not judge a makespan that the file records for another link.

`remat-bb schema verify` describes the object that --json prints.")]
pub struct VerifyArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., graph or table of lives
    pub instance: PathBuf,
    /// Plan, schedule, order or placement, plain or gzipped
    ///
    /// The content of the file shows its kind.
    pub plan: PathBuf,
    /// Budget to check, in place of the one in the file
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Link of the replay, in place of the recorded one
    #[command(flatten)]
    pub link: Options<LINK>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}

/// `remat-bb zoo`
#[derive(Args, Debug)]
pub struct ZooArguments {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ZooCommand,
}

/// The subcommands of `remat-bb zoo`.
#[derive(Subcommand, Debug)]
pub enum ZooCommand {
    /// List the models, or the parameters of one model
    List(ZooListArguments),
    /// Write a model as an instance file (remat-instance/1)
    Export(ZooExportArguments),
}

/// `remat-bb zoo list`
#[derive(Args, Debug)]
pub struct ZooListArguments {
    /// Show the parameters of this model
    pub model: Option<String>,
}

/// `remat-bb zoo export`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb zoo export resnet50 --batch 184 --device v100 --out resnet50.json
  remat-bb zoo export unet --set size=416x608 --set dtype=fp16 --out unet.json")]
pub struct ZooExportArguments {
    /// Model, with or without parameters: resnet50, or resnet50?batch=184
    pub model: String,
    /// Batch size
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Device whose speed determines the costs
    #[arg(long, value_name = "D")]
    pub device: Option<String>,
    /// Any parameter of the model; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// Write the instance to this file
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
}

/// `remat-bb completions`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example, for bash:
  remat-bb completions bash > ~/.local/share/bash-completion/completions/remat-bb")]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `remat-bb man`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  remat-bb man ~/.local/share/man/man1")]
pub struct ManArguments {
    /// Folder for the pages: remat-bb.1 and one for each subcommand
    pub folder: PathBuf,
}

/// `remat-bb schema`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Example:
  remat-bb schema solve > solve.schema.json")]
pub struct SchemaArguments {
    /// The command, or `error` for the object that replaces a result
    pub command: String,
}
