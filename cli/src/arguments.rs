//! What may be written on the command line.

mod compare;
mod exec;
mod export;
mod groups;
mod improve;
mod lp;
mod memory;
mod mip;
mod options;
mod overview;
mod show;
mod values;

pub use compare::BaselinesArguments;
pub use exec::{
    ClockChoice, DeviceArguments, ExecArguments, ProfileArguments, TrainCheckArguments,
};
pub use export::{ExportArguments, ExportSteps, ExportedProgram};
pub use groups::PlansOption;
pub use improve::ImproveArguments;
pub use lp::{LpArguments, LpMethod, Switch};
pub use memory::{GraphOptions, OrderArguments, PlaceArguments, PlanMemoryArguments};
pub use mip::{CheckArguments, MipArguments};
pub use options::{ALL, COPIES, LINK, Options, PROGRAM, SEARCH, WORKERS};
pub use show::ShowArguments;
pub use values::{parse_overhead, parse_setting};

use crate::version::FULL_VERSION;
use clap::{Args, Parser, Subcommand};
use remat_formulations::options::parse_duration;
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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const LONG_ABOUT: &str = "\
Rematerialization plans for training neural networks in less memory.

A training step keeps activations until the backward pass needs them. With less memory than that, some are dropped and \
computed again. remat-bb finds which, and when, at the least cost: it reads a training graph with costs and sizes, \
takes a memory budget, and writes an executable plan with a proven bound on how much better any other stage schedule \
could be: nodes come in the order of the instance, and between two first computations every node runs at most once. A \
plan outside of that may be cheaper, and may fit where no stage schedule does.

INSTANCE is everywhere a JSON file (remat-instance/1 or a NetworkX node-link graph, plain or gzipped), or a model of \
the built-in zoo such as zoo:resnet50?batch=184&device=v100 (quote it: & means something to a shell).";

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

The result is a schedule that was replayed (its cost and peak memory are what the replay found, not what the search \
believes), a lower bound on the cost of every stage schedule (nodes in the order of the instance, between two first \
computations each at most once), and the gap between the two. Without a time limit the work is \
fixed: instance, budget and seed alone decide the answer, on any number of threads. Ctrl-C ends the search; the best \
plan so far is reported and written as usual.";

const VERIFY_ABOUT: &str = "\
Replay a plan (remat-plan/1) or a schedule (remat-schedule/1) and check what it claims; so with orders (remat-order-plan/1), \
orders with addresses (remat-memory-plan/1) and placements (a table with a column `offset`) for a graph or a table of lives.

The replay executes every statement: it allocates, computes and frees, and knows nothing of how the plan was found. \
The cost, peak memory and budget that the file records must agree with it; where they do not, the exit code is 2 and \
the message says what differs.";

const ZOO_ABOUT: &str = "\
Training graphs of well-known networks, built from shapes and a roofline model of the device: no framework and no GPU \
is needed.";

const SWEEP_ABOUT: &str = "\
Find the frontier of time against memory: the least cost for each of a range of budgets, with proven lower bounds \
on stage schedules in the given order.

Budgets help each other: a plan for less memory fits into more, and a bound for more memory holds for less. The known \
heuristics are run at every budget for comparison. With --offload plans may copy tensors to the host, and time is the makespan.";

const MAX_BATCH_ABOUT: &str = "\
Find the largest batch that can be trained within a memory budget when recomputation may cost at most so many further \
forward passes (Checkmate's question; 1.0x is the paper's).

Every batch size is built anew, with its own costs and sizes, and solved with the cost cap until a plan is found or no \
stage schedule is proven to exist; a search over batch sizes does the rest. The known heuristics answer the same question beside it. \
With --offload plans may copy tensors to the host, and what is bounded is the makespan.";

const EXPLAIN_ABOUT: &str = "\
Explain a plan in words: which tensors are dropped and computed again, after which node they go, for which node they come \
back, what that costs, how much memory is free meanwhile, and whether the budget forced it; and which leave for the host, when, \
how long computations wait for them, and how busy the link is.";

const EXPORT_ABOUT: &str = "\
Write the integer program of an instance under a budget as an MPS or LP file, for any solver to be compared with.

checkmate-original is the program as published (R, S, U and FREE in frontier-advancing stages), checkmate-unpartitioned \
the paper's comparison without them, checkmate-interval the form with a column for every stretch of time that a tensor may spend \
in memory, monet-original MONeT's program as published. Columns are named by what they decide: R_3_1 is 1 where node 1 \
is computed in stage 3.";

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Find a plan of least cost within a memory budget
    #[command(long_about = SOLVE_ABOUT)]
    Solve(SolveArguments),
    /// Replay a plan or schedule and check what it claims
    #[command(long_about = VERIFY_ABOUT)]
    Verify(VerifyArguments),
    /// Put the steps of a plan in a better order
    #[command(long_about = improve::IMPROVE_ABOUT)]
    Improve(ImproveArguments),
    /// Compare the known heuristics at a budget, or over a sweep of budgets
    #[command(long_about = compare::BASELINES_ABOUT)]
    Baselines(BaselinesArguments),
    /// Find the frontier of time against memory over a range of budgets
    #[command(long_about = SWEEP_ABOUT)]
    Sweep(SweepArguments),
    /// Find the largest batch of a model within a budget and a bounded cost
    #[command(long_about = MAX_BATCH_ABOUT)]
    MaxBatch(MaxBatchArguments),
    /// Describe an instance or a plan, in words and pictures
    #[command(long_about = show::SHOW_ABOUT)]
    Show(ShowArguments),
    /// Explain in words what a plan recomputes, when, and what it saves
    #[command(long_about = EXPLAIN_ABOUT)]
    Explain(ExplainArguments),
    /// Find the order of a graph's operators with the least peak memory, proven
    #[command(long_about = memory::ORDER_ABOUT)]
    Order(OrderArguments),
    /// Find addresses for buffers with given lives, proven
    #[command(long_about = memory::PLACE_ABOUT)]
    Place(PlaceArguments),
    /// Find the order of a graph and an address for everything that it takes, proven
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
    /// Write the integer program of an instance under a budget as an MPS or LP file
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
    /// Check the proof of a result of `mip` in rational numbers
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
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb solve 'zoo:resnet50?batch=184' --budget 6GiB --time-limit 1m --out plan.json
  remat-bb solve graph.json.gz --budget 60% --json
  remat-bb solve graph.json --budget 5000000000 --gap 1% --seed 7 --quiet
  remat-bb solve zoo:googlenet --budget 60% --reorder --time-limit 1m --out plan.json
  remat-bb solve zoo:resnet18 --budget 80% --time-limit 5s --addresses --out placed.json
  remat-bb solve 'zoo:resnet18?batch=16&device=v100' --budget 70% --offload pcie3 --time-limit 10s
  remat-bb solve zoo:unet --budget 70% --offload pcie4 --time-limit 10s --certificate unet.proof.gz

The object that --json prints has the fields status (optimal, feasible, infeasible, limit or interrupted), objective, \
bound, gap, bound_scope (stage-schedules: nodes in the order of the instance, between two first computations each at \
most once; stage-schedules-in-this-order: the same in the order found; stage-schedules-with-copies: with --offload; \
stage-schedules-with-continuous-copies: with --release continuous; \
all-plans), certified_bound (what the proof of --certificate shows), offload (with --offload, where objective is the makespan: makespan, compute_cost, idle, to_host_bytes, \
from_host_bytes, host_peak_bytes and without_copies, the cost of the best plan without), reorder (with --reorder: order, given \
or found, given_objective, any_order_bound and orders), seconds, nodes, lp_iterations, moves, \
peak_memory_bytes, budget_bytes, base_cost, overhead_percent, cost_unit, instance, instance_sha256, formulation, layers \
(runs of equal layers: layers, forward_nodes and backward_nodes of one), version, \
settings, threads, seed, infeasible_because, and with --addresses plan_peak_bytes (of the plan, which may be below the schedule's), \
arena_bytes, arena_bound_bytes (no arena for the plan is below), alignment_bytes and fragmentation (of the arena over the plan's peak, a \
fraction). What is not known is null. Errors have status (error), code, message, \
remedy and place.

Exit codes: 0 solved or a plan found, 2 bad usage or input, 3 proven: no stage schedule fits, 4 limit reached without a \
plan.")]
pub struct SolveArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Memory budget, everything included: bytes, an amount (6GiB, 5.5GB), or a share of the peak
    /// without recomputation (60%)
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// What is asked of the plan, and how far the search goes
    #[command(flatten)]
    pub options: Options<ALL>,
    /// Write the instance in the order found here, as remat-instance/1 JSON: schedules and proofs
    /// are of that one
    #[arg(long, value_name = "INSTANCE.json", requires = "reorder")]
    pub reordered_out: Option<PathBuf>,
    /// Start from this plan or schedule of the instance, too; may be given more than once
    #[arg(long = "start", value_name = "PLAN.json")]
    pub starts: Vec<PathBuf>,
    /// Write the plan here, as remat-plan/1 JSON
    #[arg(short, long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Write the schedule (the matrices R and S) here, as remat-schedule/1 JSON
    #[arg(long, value_name = "SCHEDULE.json")]
    pub schedule_out: Option<PathBuf>,
    /// Draw cost and bound over time here
    #[arg(long, value_name = "FILE")]
    pub progress_svg: Option<PathBuf>,
    /// Write a proof of the bound here, which check-certificate accepts (with --offload: of
    /// Checkmate's program)
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// `remat-bb sweep`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb sweep zoo:vgg16 --budgets 40%..100%:20 --csv vgg16.csv --svg vgg16.svg
  remat-bb sweep graph.json --budgets 5GiB,6GiB,8GiB --time-limit 1m --json --plans plans
  remat-bb sweep 'zoo:resnet18?batch=16&device=v100' --budgets 60%..100%:5 --time-limit 5s --offload pcie3

The object that --json prints has the fields version, instance, instance_sha256, formulation, layers (as of solve), \
base_cost, cost_unit, plain_peak_bytes, settings, threads, seed and points, a list of budget_bytes, status, objective, overhead_percent, peak_memory_bytes, bound, bound_scope, gap, seconds, offload (with --offload, where objective is \
the makespan: makespan, compute_cost, idle, to_host_bytes, from_host_bytes and host_peak_bytes), plan (its file, \
with --plans), infeasible_because and baselines (name, cost, peak_memory_bytes and, with --offload, offload of those that fit).

Exit codes: 0 a plan for at least one budget, 2 bad usage or input, 3 proven: no stage schedule fits any of the \
budgets, 4 no plan.")]
pub struct SweepArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Budgets: FROM..TO:COUNT (evenly spaced, both ends included) or a list with commas; each as
    /// for `solve`
    #[arg(short, long, value_name = "BUDGETS", default_value = "40%..100%:20")]
    pub budgets: String,
    /// Formulation, copies, and how far the search goes
    #[command(flatten)]
    pub options: Options<{ SEARCH | PROGRAM | COPIES }>,
    /// Leave out the known heuristics
    #[arg(long)]
    pub no_baselines: bool,
    /// Write all results here, one line for each budget and strategy
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Draw the frontier, its lower bound and the heuristics here
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
}

/// `remat-bb max-batch`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb max-batch zoo:unet --budget 16GiB
  remat-bb max-batch 'zoo:mobilenet_v2?device=v100' --budget 16GiB --overhead 0.5x --time-limit 1m --json
  remat-bb max-batch 'zoo:resnet18?device=v100' --budget 1GiB --overhead 0.1x --offload pcie4 --most 64

The object that --json prints has the fields version, model, budget_bytes, overhead, settings, threads, seed and strategies, a \
list of name, batch, cost (with --offload the makespan), overhead_percent, peak_memory_bytes, offload (with --offload: makespan, \
compute_cost, idle, to_host_bytes, from_host_bytes and host_peak_bytes), exact (no larger batch can be trained by this strategy), \
proven_too_large, plan (its file, with --plans) and asked (batch and answer, in order). What is not known is null.

Exit codes: 0 a batch was found, 2 bad usage or input, 3 proven: no stage schedule fits even one sample, 4 nothing found in time.")]
pub struct MaxBatchArguments {
    /// Model, zoo:MODEL?parameter=value&...; its batch size is where the search starts
    pub model: String,
    /// Memory budget: bytes or an amount (16GiB)
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// What recomputation, and waiting for copies, may cost, in forward passes: 1.0x is one further
    /// forward pass
    #[arg(long, value_name = "X", default_value = "1.0x", value_parser = parse_overhead)]
    pub overhead: f64,
    /// Largest batch to be considered
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub most: u64,
    /// End the solve of each batch size after this time, undecided
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Threads, seed and copies
    #[command(flatten)]
    pub options: Options<{ WORKERS | COPIES }>,
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

The object that --json prints has the fields version, instance, instance_sha256, semantics, cost, compute_cost, \
idle, makespan, base_cost, overhead_percent, cost_unit, peak_memory_bytes, peak_at, to_host_bytes, from_host_bytes, host_peak_bytes, \
plain_peak_bytes, budget_bytes, kept (node and bytes), slower (node, implementation, cost), \
saved_cost, to_host_busy and from_host_busy (times in which the link copies), recomputed, a list of node, times, cost, bytes and \
absences (freed_after, made_for, cost, computations, fullest_bytes, fullest_at, could_have_stayed), and departures, a list of \
node, bytes, begin, end, idle (time that computations wait for the copy) and returns (begin, end, idle, made_for, freed_after, \
computations, fullest_bytes, fullest_at, could_have_stayed).")]
pub struct ExplainArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Budget to judge by, in place of the one that the file records
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Tell of every tensor, not only of the dearest
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

With --offload the clock runs over that link: what the file records of its makespan was over another one, and is not judged.

The object that --json prints has the fields verified, version, instance, instance_sha256, file, kind, semantics, cost, \
compute_cost, idle, makespan (both together, the cost of the step), base_cost, overhead_percent, cost_unit, peak_memory_bytes, \
peak_at, to_host_bytes, from_host_bytes, host_peak_bytes, host_memory_bytes (the limit of the link), computations, budget_bytes, \
stage_schedule, no_stage_schedule_because, stage_schedule_in_own_order (of its own first computations), \
stage_schedule_with_copies (apart from what it copies to the host), recorded_objective, recorded_peak_bytes, \
recorded_budget_bytes, differences, and of a plan with addresses \
arena_bytes, arena_bound_bytes, alignment_bytes and fragmentation; for orders, memory plans \
and placements verified, version, instance, instance_sha256, file, kind, variant, peak_memory_bytes, height_bytes, recorded_bound_bytes \
and budget_bytes. What is not known is null.")]
pub struct VerifyArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...; graph, or table of lives
    pub instance: PathBuf,
    /// Plan, schedule, order or placement, plain or gzipped; which of them is seen from its content
    pub plan: PathBuf,
    /// Budget to check against, in place of the one that the file records
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Link to replay the plan with, in place of the one that it records
    #[command(flatten)]
    pub link: Options<LINK>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}

/// `remat-bb zoo`
#[derive(Args, Debug)]
pub struct ZooArguments {
    /// What to do.
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
    /// Device whose speed the costs are for
    #[arg(long, value_name = "D")]
    pub device: Option<String>,
    /// Any parameter of the model; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// Write the instance here
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
  remat-bb man ~/.local/share/man/man1 && man remat-bb-solve")]
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
    /// The command, or `error` for the object that is printed where there is no result
    pub command: String,
}
