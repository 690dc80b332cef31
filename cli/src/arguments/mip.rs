//! What may be written after `remat-bb mip` and `remat-bb check-certificate`.

use super::parse_setting;
use clap::Args;
use remat_formulations::options::{parse_duration, parse_gap};
use remat_instances::Budget;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const MIP_ABOUT: &str = "\
Solve a mixed-integer program by branch and bound: MPS (fixed or free format) or CPLEX LP, plain or gzipped.

Every solution is checked against the model as it was read before it is believed. Without a time limit, a checkpoint to \
go on from or --opportunistic, file, settings and seed alone decide the tree, on any number of threads. Ctrl-C (or \
SIGTERM) ends the search; the best solution so far is reported and written as usual.";

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

The object that --json prints has the fields status (optimal, feasible, infeasible, cutoff, unbounded, limit or \
interrupted; error where there is no result, with code, message, remedy and place), version, objective, bound, gap, seconds, nodes, lp_iterations, ticks, root_bound, found_by, recognised (the published program that it was solved as, with its number of nodes), pool (objectives), incumbents (seconds and objective of each solution as it came), end (what ended \
the search), model, rows, cols, nonzeros, integers, presolved (rows, columns), cuts, restarts, strong_branchings, unproven_bounds, spilled_nodes, certificate, checkpoint (whether each was written), exact (with --exact: objective and bound as fractions, or problem, the reason why it could not be settled), settings, threads, seed, permuted (the seed of --permute) and statistics (with --statistics: a list of component, name, calls, successes, found, kept, ticks, lp_iterations, bound_change and seconds). What is \
not known is null.

Exit codes: 0 optimal, unbounded or a solution found, 2 bad usage or input, 3 proven infeasible, 4 limit reached (or \
nothing better than the cutoff) without a solution, 5 out of memory.")]
pub struct MipArguments {
    /// Mixed-integer program: MPS, or CPLEX LP where the name ends in .lp; plain or gzipped
    pub file: PathBuf,
    /// Write the best solution here (column names and values)
    #[arg(short = 'o', long, value_name = "FILE.sol")]
    pub solution: Option<PathBuf>,
    /// Start from this solution (complete or not feasible is no error); may be given several times
    #[arg(long, value_name = "FILE.sol")]
    pub start: Vec<PathBuf>,
    /// Keep the best K solutions that were found; with --solution FILE.sol the others go to
    /// FILE.2.sol and so on
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pool: Option<u32>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// End after so many nodes
    #[arg(long, value_name = "N")]
    pub node_limit: Option<u64>,
    /// Relative gap between objective and bound that counts as optimal: a fraction or a percentage
    /// [default: 1e-7]
    #[arg(short, long, value_name = "GAP", value_parser = parse_gap)]
    pub gap: Option<f64>,
    /// Absolute gap that counts as optimal [default: 1e-9]
    #[arg(long, value_name = "GAP")]
    pub absolute_gap: Option<f64>,
    /// Worker threads; 0 for one per core [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: Option<u16>,
    /// Let threads take up nodes as they come: faster, but the tree is another one every time
    #[arg(long)]
    pub opportunistic: bool,
    /// Searches under different settings that start side by side, each with the same work; the best
    /// goes on (up to 64) [default: 1]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub race: Option<u8>,
    /// Seed of all random choices [default: 0]
    #[arg(long, value_name = "K")]
    pub seed: Option<u64>,
    /// Memory for open nodes (500MB, 4GiB); the least promising ones go to node files beyond it
    #[arg(long, value_name = "AMOUNT", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// Folder in which the run makes its own for node files [default: that for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub node_files: Option<PathBuf>,
    /// Write the state of the search here, now and then and at its end
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Time between two checkpoints
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub checkpoint_every: Duration,
    /// Go on from the state that --checkpoint wrote for the same file
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Write a proof of the result that check-certificate (or any VIPR 1.1 checker) accepts
    #[arg(long, value_name = "FILE.vipr")]
    pub certificate: Option<PathBuf>,
    /// Settle the result in rational numbers: the optimum of the file's decimals to the last digit, with
    /// gaps of 0 where none are given
    #[arg(long)]
    pub exact: bool,
    /// Leave Checkmate's, POET's, MONeT's and OLLA's programs to the general search as well, instead of
    /// solving them as what they are
    #[arg(long)]
    pub no_recognise: bool,
    /// Settings by name, as TOML; options on the command line come before it
    #[arg(long, value_name = "FILE.toml")]
    pub params: Option<PathBuf>,
    /// One setting by name, as in the file of --params; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// Search the program with its rows and columns in a random order, another one for each seed;
    /// answers are in the file's own
    #[arg(long, value_name = "SEED", conflicts_with = "certificate")]
    pub permute: Option<u64>,
    /// Count what each step of presolve, separator, heuristic and branching did: a table on standard
    /// error, and `statistics` of --json
    #[arg(long)]
    pub statistics: bool,
    /// Write bound and objective over time here
    #[arg(long, value_name = "FILE.csv")]
    pub curve: Option<PathBuf>,
    /// Write the tree here, for VBCTOOL
    #[arg(long, value_name = "FILE.vbc")]
    pub vbc: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// Log the rounds of cuts, the restricted programs and what each worker did, too
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// No log and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

pub(super) const CHECK_ABOUT: &str = "\
Check what `mip`, `solve`, `order` or `place` wrote with `--certificate`. The checker shares no code with the solver.

A certificate in VIPR 1.1 format is checked with rational numbers: every line must follow from those before it, the solution \
must be feasible, and the last line must show what the certificate claims. A proof of a bound on schedules (remat-proof/2, or /1) is \
checked in integers against the instance it is for: every row must hold at every stage schedule, and every leaf of the tree must \
reach the bound. A proof of a bound with copies names the link that it is for. Proofs of bounds on orders (remat-order-proof/1) and on placements (remat-place-bound/1) are checked against \
their graph or table.";

/// `remat-bb check-certificate`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb mip p0033.mps.gz --certificate p0033.vipr
  remat-bb check-certificate p0033.vipr p0033.mps.gz
  remat-bb solve zoo:unet --budget 60% --certificate unet.proof.gz
  remat-bb check-certificate unet.proof.gz zoo:unet

The object that --json prints has the fields verdict (accepted), version, claim, lower and upper (ends of the range of the \
optimum), constraints, derived, nodes, solutions and model_compared for a certificate of `mip`; verdict, version, claim (bound \
or infeasible), lower (the bound), bound_scope (stage-schedules, or stage-schedules-with-copies), formulation (checkmate or \
monet), evidence (tree, or with copies trips or envelope), link (that of copies: to_host_bytes_per_second, \
from_host_bytes_per_second, latency_ns, duplex, host_memory_bytes and offload_phase), instance, instance_sha256, made_for (the instance that the proof names; where it is another one, the proof \
holds for this one as well), budget_bytes, rows, nodes and leaves for a proof; verdict, version, claim (bound), lower, instance, instance_sha256, variant and evidence for a \
bound on orders or placements. What is not known is null.

Exit codes: 0 the certificate holds, 2 it does not, or a file cannot be read.")]
pub struct CheckArguments {
    /// Certificate (VIPR 1.0 or 1.1, remat-proof/1 or /2, remat-order-proof/1 or
    /// remat-place-bound/1), plain or gzipped
    pub certificate: PathBuf,
    /// What it is for. A model in MPS format, plain or gzipped; without it the constraints are
    /// those that the certificate states. For a proof of a bound: instance file, graph, or
    /// zoo:MODEL?parameter=value&...; table of lives
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
