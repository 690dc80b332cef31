//! Arguments of `pipeline`.

use super::{Options, WORKERS};
use clap::Args;
use remat_formulations::options::{parse_duration, parse_gap, parse_latency};
use remat_instances::instance::HostLink;
use remat_instances::pipeline::schedule::{LARGEST_COUNT, ScheduleKind};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const PIPELINE_ABOUT: &str = "\
Find where to cut a model into pipeline stages, and what each stage recomputes.

Each device of a pipeline holds another number of micro-batches, so each stage has a plan of its own, and the cuts decide \
what it holds. The objective is the published one: the time of one micro-batch through all stages, and for each further \
one the time of the slowest stage. The bound covers all cuts at the offered positions and all stage schedules of every \
stage. The replay runs forward and backward passes of all micro-batches event by event.

Positions are places of the forward pass at which few bytes cross; --cut-before names others. Backward nodes belong to the \
stage of their forward node. A device holds the parameters, gradients and optimizer states of its own nodes if the graph \
names them (`resident`), and otherwise the fixed memory of the whole graph.";

/// `remat-bb pipeline`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb pipeline 'zoo:llama?optimizer=adamw' -s 4 -m 16 --budget 60GiB --time-limit 1m
  remat-bb pipeline graph.json -s 8 -m 32 --schedule gpipe --budget 40GiB --link 50GB/s
  remat-bb pipeline zoo:gpt2 -s 2 -m 8 --budget 6GiB,8GiB --speed 1,1.5 --json
  remat-bb pipeline 'zoo:llama?layers=4' -s 2 -m 8 --budget 3GiB --out pipeline.json
  remat-bb verify 'zoo:llama?layers=4' pipeline.json
  remat-bb show 'zoo:llama?layers=4' pipeline.json --svg-schedule passes.svg

`remat-bb schema pipeline` describes the object that --json prints.

Exit codes: 0 a pipeline was found, 2 bad usage or input, 3 proven: no pipeline fits, 4 limit reached without a pipeline.")]
pub struct PipelineArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// Number of devices
    #[arg(short, long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST_COUNT)))]
    pub stages: u32,
    /// Number of micro-batches; the graph is of one
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST_COUNT)))]
    pub microbatches: u32,
    /// Order of passes: gpipe, 1f1b, or interleaved:V with V stages on each device
    #[arg(long, value_name = "ORDER", default_value = "1f1b")]
    pub schedule: ScheduleKind,
    /// Memory of each device, or of all: bytes, an amount (40GiB), or a share (60%)
    ///
    /// A share is of the largest peak of a device without recomputation, with cuts that balance
    /// time.
    #[arg(short, long, value_name = "B[,B2..]")]
    pub budget: String,
    /// Speed of each device; 1 is the device of the graph's costs
    #[arg(long, value_name = "X[,X2..]")]
    pub speed: Option<String>,
    /// Link between neighbouring devices: a speed such as 50GB/s, or one each way
    ///
    /// Sends run beside computation. Without a link they take no time.
    #[arg(long, value_name = "L")]
    pub link: Option<HostLink>,
    /// Latency of each send: nanoseconds, or with a unit (10us)
    #[arg(long, value_name = "TIME", value_parser = parse_latency, requires = "link")]
    pub link_latency: Option<u64>,
    /// Cut before these forward nodes alone
    #[arg(long, value_name = "NODE,..", value_delimiter = ',')]
    pub cut_before: Vec<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    ///
    /// Without a limit the work is fixed.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Gap at which the answer counts as optimal: 0.001 or 0.1%
    #[arg(short, long, value_name = "GAP", default_value = "0.1%", value_parser = parse_gap)]
    pub gap: f64,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write cuts and plans, as remat-pipeline/1 JSON
    #[arg(short, long, value_name = "PLAN.json")]
    pub out: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// A pipeline in `baselines` and `sweep`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Pipelines")]
pub struct PipelineShape {
    /// Number of devices of a pipeline; for `sweep` a list with commas
    #[arg(
        long,
        value_name = "S",
        value_delimiter = ',',
        requires = "microbatches",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST_COUNT))
    )]
    stages: Vec<u32>,
    /// Number of micro-batches; for `sweep` a list with commas
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        requires = "stages",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(LARGEST_COUNT))
    )]
    microbatches: Vec<u32>,
    /// Order of passes: gpipe, 1f1b, or interleaved:V
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "1f1b",
        requires = "stages"
    )]
    pub schedule: ScheduleKind,
    /// Speed of each device, as for `pipeline`
    #[arg(long, value_name = "X[,X2..]", requires = "stages")]
    pub speed: Option<String>,
    /// Link between neighbouring devices, as for `pipeline`; with --shards, between all devices
    #[arg(long, value_name = "L", conflicts_with = "offload")]
    pub link: Option<HostLink>,
}

impl PipelineShape {
    /// Returns whether a pipeline is asked for.
    pub fn is_asked(&self) -> bool {
        !self.stages.is_empty()
    }

    /// Numbers of devices.
    pub fn stages(&self) -> &[u32] {
        &self.stages
    }

    /// Numbers of micro-batches.
    pub fn microbatches(&self) -> &[u32] {
        &self.microbatches
    }
}
