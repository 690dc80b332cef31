//! What may be written after `remat-bb exec`, `remat-bb profile` and `remat-bb train-check`.

use super::{Options, PROGRAM};
use clap::Args;
use remat_formulations::options::{parse_duration, parse_gap};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const EXEC_ABOUT: &str = "\
Run a plan for real: one training step with libtorch on the CPU or a GPU, operator by operator, allocating and freeing as the \
plan says. Shows measured time and peak memory beside the predicted ones.

The instance is a model of the zoo or a profile of one (`remat-bb profile`); parameters and batch are random, from the seed. A plan \
that copies to the host runs over a link of the speeds that it records: threads on the CPU, the link itself on a GPU. A \
program built without libtorch says how to build it with.";

pub(super) const PROFILE_ABOUT: &str = "\
Measure every operator of a model on this machine: the result is an instance with measured costs and sizes, to solve.

Each operator runs alone, so that a model can be profiled whose training step does not fit.";

pub(super) const TRAIN_CHECK_ABOUT: &str = "\
The whole loop on this machine: profile a model, solve it for a budget, run the plan and the known heuristics' plans, and \
compare predicted with measured time and memory, and gradients with those of plain training.";

/// What seconds are.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// Time on the wall.
    Wall,
    /// Time of all processors on this program.
    Cpu,
}

/// How to run on a device.
#[derive(Args, Debug)]
pub struct DeviceArguments {
    /// Device: cpu, cuda or cuda:N
    #[arg(long, value_name = "D", default_value = "cpu")]
    pub device: String,
    /// Threads on the CPU; 0 leaves the number to libtorch
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// What seconds are: time on the wall, or (on the CPU) that of all processors together, which
    /// other programs on a busy machine change less
    #[arg(long, value_name = "C", value_enum, default_value_t = ClockChoice::Wall)]
    pub clock: ClockChoice,
    /// Seed of parameters and batch
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub seed: u64,
}

/// `remat-bb exec`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb exec 'zoo:resnet18?batch=8' plan.json --check
  remat-bb exec profile.json plan.json --device cuda --repeat 10 --svg memory.svg --json
  remat-bb exec profile.json placed.json --arena --check
  remat-bb exec profile.json copying.json --check --json

The object that --json prints has the fields instance, device, predicted (seconds, peak_memory_bytes), measured (seconds, the \
median; least_seconds; greatest_seconds; peak_memory_bytes; reserved_bytes), arena (null where it ran without one: arena_bytes, \
used_bytes, the largest end of what was in it; outside_bytes, allocated at most outside of it; beside_bytes, the part of these that \
stays the whole step), copies (null for a plan without any: host_peak_bytes and predicted_host_peak_bytes, what is on the host at \
most; host_arena_bytes, the storage for it; to_host_bytes and from_host_bytes; makespan_seconds, the whole step on the wall, and \
idle_seconds, the part of it in which computations waited for copies, with predicted_makespan_seconds and \
predicted_idle_seconds), loss, gradients (equal, largest relative \
difference; null without --check and where plain training does not fit the device), \
differences (what --check found) and computations, a list of node, seconds, predicted_bytes and peak_bytes.

Exit codes: 0 done, 2 bad usage or input, a plan that cannot be executed, or a check that failed.")]
pub struct ExecArguments {
    /// Profile of a model, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Where and how to run
    #[command(flatten)]
    pub on: DeviceArguments,
    /// Compare memory with what the plan claims, and loss and gradients with plain training; fail
    /// where they differ
    #[arg(long)]
    pub check: bool,
    /// Run from one storage, each tensor at the offset of the plan's addresses; a plan without any is
    /// placed first. Without this, plans with addresses run so, others do not
    #[arg(long, conflicts_with = "no_arena")]
    pub arena: bool,
    /// Let every tensor have memory of its own, addresses or not
    #[arg(long)]
    pub no_arena: bool,
    /// Part by which the measured peak may exceed the predicted one under --check: a fraction or a
    /// percentage
    #[arg(long, value_name = "PART", default_value = "1%", value_parser = parse_gap)]
    pub tolerance: f64,
    /// Run so often, after one run to warm up, and show the median time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub repeat: u16,
    /// Draw predicted and measured memory over time here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}

/// `remat-bb profile`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb profile zoo:resnet50 --batch 32 --device cuda --out resnet50.json
  remat-bb profile 'zoo:unet?size=256x256' --repeat 20 --out unet.json

On a GPU the link to pinned host memory is measured as well, and becomes the instance's host_link; on the CPU there is none.

The object that --json prints has the fields instance, device, link (null on the CPU: to_host_bytes_per_second, \
from_host_bytes_per_second, latency_ns, duplex, and points, a list of bytes, to_host_bytes_per_second, \
from_host_bytes_per_second and both_bytes_per_second) and nodes, a list of name, output_bytes, implementations (a list) \
and in_place (null where there is no such way); a way to compute a node has name, seconds (the median), interval, workspace_bytes \
and saved_bytes (what a backward node reads of the forward pass).")]
pub struct ProfileArguments {
    /// Model, zoo:MODEL?parameter=value&...
    pub model: String,
    /// Batch size, in place of the model's
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Where and how to run
    #[command(flatten)]
    pub on: DeviceArguments,
    /// Measured runs of each operator, after two to warm up
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub repeat: u16,
    /// Write the instance here
    #[arg(short, long, value_name = "INSTANCE.json")]
    pub out: PathBuf,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `remat-bb train-check`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb train-check 'zoo:resnet18?batch=8' --budget 60%
  remat-bb train-check zoo:unet --batch 4 --budget 8GiB --device cuda --json

Exit codes: 0 every plan that was predicted to fit ran with the same gradients as plain training, 2 otherwise or for bad \
usage, 3 proven infeasible, 4 no plan found in time.")]
pub struct TrainCheckArguments {
    /// Model, zoo:MODEL?parameter=value&...
    pub model: String,
    /// Batch size, in place of the model's
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Memory budget: bytes, an amount (6GiB), or a share of the peak without recomputation (60%)
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// The formulation
    #[command(flatten)]
    pub program: Options<PROGRAM>,
    /// Where and how to run
    #[command(flatten)]
    pub on: DeviceArguments,
    /// End the solve after this time
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Measured runs of each operator and each plan
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub repeat: u16,
    /// Print one JSON object on standard output instead of a table
    #[arg(long)]
    pub json: bool,
}
