//! Arguments of `remat-bench export`.

use clap::{Args, ValueEnum};
use remat_bb::arguments::{COPIES, Options};
use std::path::PathBuf;

/// The integer programs that can be written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompactProgram {
    /// The retention-edge form of Checkmate's program, all memory rows included
    Checkmate,
    /// Checkmate's stages with copies to host memory: shares of copies in slots of time
    CheckmateOffload,
}

/// The help of `remat-bench export`.
pub const EXPORT_ABOUT: &str = "\
Write a compact program of an instance under a budget as an MPS or LP file, for other solvers.

checkmate is the retention-edge form of Checkmate's program, with the same optima and a tighter relaxation. checkmate-offload \
is the form with copies to host memory. Published programs are written by `remat-bb export`.";

/// `remat-bench export`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bench export zoo:chain?n=12 --budget 50% --formulation checkmate edges.mps.gz
  remat-bench export zoo:chain?n=6 --budget 80% --formulation checkmate-offload --offload pcie4 copies.lp

checkmate-offload needs a link, --offload. By default memory does not count while the device waits for copies, so that no plan is faster than \
the program's optimum; with --pauses N it counts, and memory changes at most N times between two runs.

The object that --json prints has the fields of `remat-bb export`.

Exit codes: 0 written, 2 bad usage or input, 3 infeasible: some node does not fit the budget, so nothing does. The program \
checkmate-offload is written all the same, where it can be stated.")]
pub struct ExportArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    pub instance: PathBuf,
    /// File to write: MPS (.mps) or CPLEX LP (.lp), gzipped where .gz follows
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Memory budget: bytes, an amount (6GiB) or a share of the peak without recomputation (60%)
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// Integer program to write
    #[arg(short, long, value_enum, value_name = "F")]
    pub formulation: CompactProgram,
    /// Pauses before each run of checkmate-offload in which memory counts [default: one in which it
    /// does not]
    #[arg(long, value_name = "N", requires = "offload", value_parser = clap::value_parser!(u32).range(0..=8))]
    pub pauses: Option<u32>,
    /// The link of checkmate-offload
    #[command(flatten)]
    pub offload: Options<COPIES>,
    /// Size that one unit of memory in the program stands for, such as 1KiB [default, and the most:
    /// a power of two near a thousandth of the budget]; not for checkmate, which chooses its own
    #[arg(long, value_name = "SIZE")]
    pub unit: Option<String>,
    /// Print one JSON object on standard output instead of a line
    #[arg(long)]
    pub json: bool,
}
