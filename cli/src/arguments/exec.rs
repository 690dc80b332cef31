//! Arguments of `exec`, `profile` and `train-check`.

use super::{Options, PROGRAM};
use clap::Args;
use remat_formulations::options::{parse_duration, parse_gap};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const EXEC_ABOUT: &str = "\
Run a plan: one training step with libtorch on the CPU or a GPU. Operators run, allocate and free as the plan says, and the \
result has measured and predicted time and peak memory.

The instance is a model of the zoo or a profile of one (`remat-bb profile`). Parameters and batch are random, from the seed. \
A plan that copies to the host runs over a link of the recorded speeds: threads on the CPU, the link itself on a GPU. A \
program without libtorch explains how to build one with it.";

pub(super) const PROFILE_ABOUT: &str = "\
Measure every operator of a model on this machine. The result is an instance with measured costs and sizes, to solve.

Each operator runs alone, so a model can be profiled even if its training step does not fit.";

pub(super) const TRAIN_CHECK_ABOUT: &str = "\
Profile a model, solve it for a budget, run the plans and compare.

The plans are the solved one and the plans of the known heuristics. The command compares predicted with measured time and \
memory, and gradients with the gradients of plain training.";

/// The clock of measured times.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// Wall time.
    Wall,
    /// Time of all processors for this program.
    Cpu,
}

/// Device, threads, clock and seed of a run.
#[derive(Args, Debug)]
pub struct DeviceArguments {
    /// Device: cpu, cuda or cuda:N
    #[arg(long, value_name = "D", default_value = "cpu")]
    pub device: String,
    /// Threads on the CPU; 0 for libtorch's choice
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// Clock of measured times
    ///
    /// On the CPU, the time of all processors together depends less on other programs of a busy
    /// machine.
    #[arg(long, value_name = "C", value_enum, default_value_t = ClockChoice::Wall)]
    pub clock: ClockChoice,
    /// Seed of parameters and batch
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub seed: u64,
}

impl DeviceArguments {
    /// Returns whether the device is a GPU.
    pub fn is_gpu(&self) -> bool {
        self.device.starts_with("cuda")
    }
}

/// `remat-bb exec`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb exec 'zoo:resnet18?batch=8' plan.json --check
  remat-bb exec profile.json plan.json --device cuda --repeat 10 --svg memory.svg --json
  remat-bb exec profile.json placed.json --arena --check
  remat-bb exec profile.json copying.json --check --json

`remat-bb schema exec` describes the object that --json prints.

Exit codes: 0 done, 2 bad usage or input, a plan that cannot be executed, or a check that failed.")]
pub struct ExecArguments {
    /// Profile of a model, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Plan or schedule file
    pub plan: PathBuf,
    /// Device, threads, clock and seed
    #[command(flatten)]
    pub on: DeviceArguments,
    /// Compare memory with the plan, and loss and gradients with plain training
    ///
    /// A difference is an error.
    #[arg(long)]
    pub check: bool,
    /// Run from one storage, each tensor at its offset
    ///
    /// A plan without addresses is placed first. By default only plans with addresses run from one
    /// storage.
    #[arg(long, conflicts_with = "no_arena")]
    pub arena: bool,
    /// Give every tensor its own memory, even if the plan has addresses
    #[arg(long)]
    pub no_arena: bool,
    /// Share by which --check allows the measured peak to exceed the prediction
    ///
    /// The share is a fraction or a percentage.
    #[arg(long, value_name = "PART", default_value = "1%", value_parser = parse_gap)]
    pub tolerance: f64,
    /// Number of measured runs, after one run to warm up
    ///
    /// The result has the median time.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub repeat: u16,
    /// Start operators on a GPU without waiting for each, as training does
    ///
    /// Times are then those between events on the GPU. Results and memory are the same.
    #[arg(long)]
    pub asynchronous: bool,
    /// Draw predicted and measured memory over time
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

On a GPU the link to pinned host memory is measured as well, and becomes the instance's host_link. On the CPU there is no \
link.

`remat-bb schema profile` describes the object that --json prints.")]
pub struct ProfileArguments {
    /// Model, zoo:MODEL?parameter=value&...
    pub model: String,
    /// Batch size, in place of the model's
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Device, threads, clock and seed
    #[command(flatten)]
    pub on: DeviceArguments,
    /// Measured runs of each operator, after two to warm up
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub repeat: u16,
    /// Write the instance to this file
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

`remat-bb schema train-check` describes the object that --json prints.

Exit codes: 0 every plan that was predicted to fit ran with the same gradients as plain training, 2 otherwise or for bad \
usage, 3 proven infeasible, 4 no plan found in time.")]
pub struct TrainCheckArguments {
    /// Model, zoo:MODEL?parameter=value&...
    pub model: String,
    /// Batch size, in place of the model's
    #[arg(long, value_name = "N")]
    pub batch: Option<u64>,
    /// Memory budget: bytes, an amount (6GiB), or a share (60%)
    ///
    /// A share is of the peak without recomputation.
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// The formulation
    #[command(flatten)]
    pub program: Options<PROGRAM>,
    /// Device, threads, clock and seed
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
