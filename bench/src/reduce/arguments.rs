//! Arguments of `remat-bench reduce`.

use crate::reduce::INSTANCE_STEPS;
use crate::reduce::MODEL_STEPS;
use clap::{Args, ValueEnum};
use remat_formulations::options::parse_duration;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The help of `remat-bench reduce`.
pub const REDUCE_ABOUT: &str = "\
Shrink a file that makes a command fail, while it keeps failing in the same way: a delta debugger for models, instances and \
settings.

FILE is a model (MPS or LP: rows and columns go, columns are fixed, entries, costs, integrality, sides and bounds dropped, numbers \
rounded), an instance (nodes, edges, implementations and marks go, numbers are rounded) or any text (lines go). Settings of \
--params go back to their defaults. COMMAND is any program; {} stands for the file that it is tried on, {params} for the settings.

Every try is a run of COMMAND. Blocks of halving sizes are tried first, then every single step until none is left that it would \
still fail after. The smallest file so far is at --out at any time; FILE is never written to. The result is the same on any number \
of --jobs.";

/// Kinds of files that are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReduceKind {
    /// Linear or mixed-integer program, MPS or LP
    Model,
    /// Rematerialization instance
    Instance,
    /// Any text, line by line
    Lines,
}

/// `remat-bench reduce`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bench reduce fails.lp --out small.lp --keep-text optimal -- remat-bb mip {} --quiet
  remat-bench reduce fails.mps --out small.mps --keep-exit 0 --try-limit 10s --jobs 2 -- sh -c 'remat-bb lp {} --json | grep -q optimal'
  remat-bench reduce graph.json --out small.json --keep-text infeasible --tries 100 -- remat-bb solve {} --budget 1 --quiet --json

The object that --json prints has the fields status (minimal: no single step is left; limit or interrupted: the smallest so \
far), version, file, kind (model, instance or lines), out, params_out, keeps (exits, texts, without_texts and timeout: what counts as \
failing), before and after (rows, cols, nonzeros, integers, nodes, edges, lines and settings), tries, kept (tries that found \
something smaller), steps (name, tries and kept of each), try_limit_seconds, seconds, jobs and confirmed (COMMAND failed on \
the result once more). What is not known is null.

Exit codes: 0 the smallest file is written, 2 bad usage or input; COMMAND does not fail on FILE, or cannot be run.")]
pub struct ReduceArguments {
    /// File that COMMAND fails on: model (.mps, .lp), instance (.json or zoo:MODEL) or text, plain
    /// or gzipped
    pub file: PathBuf,
    /// Write the smallest file here, whenever there is a smaller one; its name decides the format
    /// of a model
    #[arg(short, long, value_name = "SMALL")]
    pub out: PathBuf,
    /// Kind of FILE [default: by its name or content]
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<ReduceKind>,
    /// Settings, each of which goes back to its default where that leaves the failure: TOML, or one
    /// setting a line
    #[arg(long, value_name = "SETTINGS", requires = "params_out")]
    pub params: Option<PathBuf>,
    /// Write the settings that are left here
    #[arg(long, value_name = "SETTINGS", requires = "params")]
    pub params_out: Option<PathBuf>,
    /// Exit code that counts as failing; may be given several times [default: the exit code on
    /// FILE, unless a text is given]
    #[arg(long, value_name = "N")]
    pub keep_exit: Vec<i32>,
    /// Text that must be in standard output or standard error; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub keep_text: Vec<String>,
    /// Text that must not be in the output; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub without_text: Vec<String>,
    /// A try that exceeds --try-limit counts as failing; without this it does not
    #[arg(long, requires = "try_limit")]
    pub keep_timeout: bool,
    /// End each try after this time [default: ten times FILE's own time, and two seconds]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub try_limit: Option<Duration>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// End after this many tries
    #[arg(long, value_name = "N")]
    pub tries: Option<u64>,
    /// Tries side by side
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// Steps to take, with commas: settings; rows, columns, fixings, entries, objective, integers,
    /// sides, bounds, numbers; nodes, edges, choices, marks; lines [default: all]
    #[arg(long, value_name = "STEP", value_delimiter = ',', value_parser = parse_step)]
    pub steps: Option<Vec<String>>,
    /// Fix columns at the values of this solution before other values are tried
    #[arg(long, value_name = "FILE.sol")]
    pub near: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
    /// Command to run, behind `--`; {} is the file to try ({} is appended if it is missing)
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The name of a step.
fn parse_step(text: &str) -> Result<String, String> {
    let names = (["settings", "lines"].into_iter())
        .chain(MODEL_STEPS)
        .chain(INSTANCE_STEPS);
    match names.into_iter().any(|name| name == text) {
        true => Ok(text.into()),
        false => Err(format!(
            "there is no such step: settings, lines, of a model {}, of an instance {}",
            MODEL_STEPS.join(", "),
            INSTANCE_STEPS.join(", ")
        )),
    }
}
