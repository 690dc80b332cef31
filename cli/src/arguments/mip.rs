//! Arguments of `mip` and `check-certificate`.

use super::parse_setting;
use clap::Args;
use remat_formulations::options::{parse_duration, parse_gap};
use remat_instances::Budget;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const MIP_ABOUT: &str = "\
Solve a mixed-integer program by branch and bound.

The file is MPS (fixed or free format) or CPLEX LP, plain or gzipped. Every solution is checked against the original model. \
File, settings and seed alone decide the tree, on any number of threads, without a time limit, --resume or --opportunistic. \
Ctrl-C (or SIGTERM) ends the search; the best solution so far is reported and written as usual.";

/// `remat-bb mip`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb mip lseu.mps.gz --solution lseu.sol
  remat-bb mip plan.lp --time-limit 10m --gap 1% --threads 2 --json
  remat-bb mip large.mps --checkpoint large.state --time-limit 1h
  remat-bb mip large.mps --resume large.state --checkpoint large.state
  remat-bb mip p0033.mps.gz --exact --certificate p0033.vipr
  remat-bb mip p0033.mps.gz --statistics --permute 3 --curve p0033.csv --vbc p0033.vbc
  remat-bb mip p0033.mps.gz --set cuts=false --set limits.ticks=1000000

`remat-bb schema mip` describes the object that --json prints, `remat-bb schema error` the object in its place for an error.

Exit codes: 0 optimal, unbounded or a solution found, 2 bad usage or input, 3 proven infeasible, 4 limit reached without \
a solution, or no solution better than the cutoff, 5 out of memory.")]
pub struct MipArguments {
    /// Mixed-integer program: MPS, or CPLEX LP (.lp), plain or gzipped
    pub file: PathBuf,
    /// Write the best solution: column names and values
    #[arg(short = 'o', long, value_name = "FILE.sol")]
    pub solution: Option<PathBuf>,
    /// Start from this solution; may be given several times
    ///
    /// The solution may be incomplete or infeasible.
    #[arg(long, value_name = "FILE.sol")]
    pub start: Vec<PathBuf>,
    /// Keep the best K solutions
    ///
    /// With --solution FILE.sol the others go to FILE.2.sol and so on.
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        hide_short_help = true
    )]
    pub pool: Option<u32>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// End after this number of nodes
    #[arg(long, value_name = "N")]
    pub node_limit: Option<u64>,
    /// Relative gap that counts as optimal: 1e-4 or 0.01% [default: 1e-7]
    ///
    /// The gap is the distance of objective and bound, divided by the objective.
    #[arg(short, long, value_name = "GAP", value_parser = parse_gap)]
    pub gap: Option<f64>,
    /// Absolute gap that counts as optimal [default: 1e-9]
    #[arg(long, value_name = "GAP", hide_short_help = true)]
    pub absolute_gap: Option<f64>,
    /// Worker threads; 0 for one per core [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: Option<u16>,
    /// Let threads take nodes as they come: faster, but not deterministic
    ///
    /// Every run has another tree.
    #[arg(long, hide_short_help = true)]
    pub opportunistic: bool,
    /// Seed of all random choices [default: 0]
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,
    /// Memory for open nodes: 500MB, 4GiB
    ///
    /// Beyond it the least promising nodes go to node files.
    #[arg(long, value_name = "AMOUNT", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Folder for node files [default: the folder for temporary files]
    ///
    /// The run makes its own folder in it.
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    pub node_files: Option<PathBuf>,
    /// Write the state of the search, now and then and at its end
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Time between two checkpoints
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = parse_duration,
        hide_short_help = true
    )]
    pub checkpoint_every: Duration,
    /// Continue from a state that --checkpoint wrote for the same file
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write a proof of the result for check-certificate
    ///
    /// Any checker of VIPR 1.1 can check it.
    #[arg(long, value_name = "FILE.vipr")]
    pub certificate: Option<PathBuf>,
    /// Settle the result in rational numbers
    ///
    /// The answer is the optimum of the file's decimals to the last digit. Gaps are 0 by default.
    #[arg(long)]
    pub exact: bool,
    /// Use the general search also for published programs
    ///
    /// By default, Checkmate's, POET's, MONeT's and OLLA's programs are recognised and solved by
    /// their own methods.
    #[arg(long, hide_short_help = true)]
    pub no_recognise: bool,
    /// Read settings by name, as TOML
    ///
    /// Options on the command line override the file.
    #[arg(long, value_name = "FILE.toml")]
    pub params: Option<PathBuf>,
    /// Set one setting by name; may be given several times
    ///
    /// Names and values are as in the file of --params.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// Search with rows and columns in a random order
    ///
    /// Each seed has another order. Answers are in the order of the file.
    #[arg(
        long,
        value_name = "SEED",
        conflicts_with = "certificate",
        hide_short_help = true
    )]
    pub permute: Option<u64>,
    /// Count the work of each component
    ///
    /// Components are steps of presolve, separators, heuristics and branchings. The counts are a
    /// table on standard error, and `statistics` of --json.
    #[arg(long)]
    pub statistics: bool,
    /// Write bound and objective over time as CSV
    #[arg(long, value_name = "FILE.csv", hide_short_help = true)]
    pub curve: Option<PathBuf>,
    /// Write the tree for VBCTOOL
    #[arg(long, value_name = "FILE.vbc", hide_short_help = true)]
    pub vbc: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// Also log rounds of cuts, restricted programs and workers
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// No log and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

pub(super) const CHECK_ABOUT: &str = "\
Check a proof that `mip`, `solve`, `order` or `place` wrote with `--certificate`. The checker shares no code with the solver.

A certificate in VIPR 1.1 format is checked in rational numbers. Every line must follow from the lines before it, the solution \
must be feasible, and the last line must show the claim. A proof of a bound on schedules (remat-proof/2, or /1) is checked in \
integers against its instance. Every row must hold at every stage schedule, and every leaf of the tree must reach the bound. A \
proof with copies names its link. Proofs of bounds on orders (remat-order-proof/1) and on placements (remat-place-bound/1) are \
checked against their graph or table.";

/// `remat-bb check-certificate`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb mip p0033.mps.gz --certificate p0033.vipr
  remat-bb check-certificate p0033.vipr p0033.mps.gz
  remat-bb solve zoo:unet --budget 60% --certificate unet.proof.gz
  remat-bb check-certificate unet.proof.gz zoo:unet

`remat-bb schema check-certificate` describes the object that --json prints.

Exit codes: 0 the certificate is accepted, 2 it is refused, or a file cannot be read.")]
pub struct CheckArguments {
    /// Certificate or proof, plain or gzipped
    ///
    /// Its format is VIPR 1.0 or 1.1, remat-proof/1 or /2, remat-order-proof/1 or
    /// remat-place-bound/1.
    pub certificate: PathBuf,
    /// Model, instance, graph or table of lives of the proof
    ///
    /// A certificate of `mip` is compared with a model in MPS format, plain or gzipped. Without a
    /// model, the constraints in the certificate are taken. A proof of a bound needs its instance
    /// file, zoo:MODEL?parameter=value&..., graph or table of lives.
    pub model: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}

/// An amount of memory.
fn parse_bytes(text: &str) -> Result<u64, String> {
    match text.parse::<Budget>() {
        Ok(Budget::Bytes(bytes)) => Ok(bytes),
        _ => Err("write bytes or an amount with a unit, for example 500MB or 4GiB".into()),
    }
}
