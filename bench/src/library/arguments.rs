//! Arguments of `remat-bench library`.

use crate::library::catalogue::Size;
use crate::others::Solver;
use clap::{Args, Subcommand};
use remat_formulations::options::{parse_duration, parse_gap};
use std::path::PathBuf;
use std::time::Duration;

/// The help of `remat-bench library`.
pub const LIBRARY_ABOUT: &str = "\
The benchmark library: rematerialization programs as a family of mixed-integer programs.

Every program is made by a command from layer tables of published networks, the same to the byte on every machine. An index \
has the hash of each, its size, the value of its relaxation, the best value and bound known, and who proves them. Solvers run \
side by side, each as a process of its own with the same limits; every solution is read back and checked by the model, and \
answers that contradict each other are named.";

/// `remat-bench library`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bench library export --family olla-place --size small --out programs
  remat-bench library run programs --solvers remat-bb,remat-bb-general --time-limit 10s --out results.csv
  remat-bench library table results.csv --svg profile.svg

Exit codes: 0 done (a wrong answer of a solver is a result), 2 bad usage or input, or a program that is not what the index says.")]
pub struct LibraryArguments {
    /// The task.
    #[command(subcommand)]
    pub command: LibraryCommand,
}

/// The subcommands of `remat-bench library`.
#[derive(Subcommand, Debug)]
pub enum LibraryCommand {
    /// Write programs as gzipped MPS files, and check their hashes
    Export(LibraryExportArguments),
    /// Run solvers side by side, and write a line for each run
    Run(LibraryRunArguments),
    /// Run all solvers on the library, and write its tables, index, page and picture
    RunAll(LibraryRunAllArguments),
    /// Make tables and a performance profile of runs
    Table(LibraryTableArguments),
    /// Measure every program, and put values and bounds of runs into the index
    Index(LibraryIndexArguments),
}

/// Programs of the library.
#[derive(Args, Clone, Debug, Default)]
pub struct LibraryChoice {
    /// Only programs of this family
    #[arg(long, value_name = "F")]
    pub family: Option<String>,
    /// Only programs of this size class
    #[arg(long, value_enum, value_name = "S")]
    pub size: Option<Size>,
    /// Only programs whose name contains this; may be given several times
    #[arg(long, value_name = "PART")]
    pub only: Vec<String>,
}

/// `remat-bench library export`
#[derive(Args, Debug)]
pub struct LibraryExportArguments {
    /// Programs to write
    #[command(flatten)]
    pub choice: LibraryChoice,
    /// Folder for the files
    #[arg(long, value_name = "DIR", required_unless_present = "miplib")]
    pub out: Option<PathBuf>,
    /// Folder for ten programs in the form in which MIPLIB takes them, each with its solution
    #[arg(long, value_name = "DIR")]
    pub miplib: Option<PathBuf>,
    /// Folder with the solutions of those ten
    #[arg(long, value_name = "DIR", default_value = "bench/library/solutions")]
    pub solutions: PathBuf,
}

/// `remat-bench library run`
#[derive(Args, Debug)]
pub struct LibraryRunArguments {
    /// Folder of programs (.mps, .lp, plain or gzipped), one such file, or `all` for the library
    pub programs: PathBuf,
    /// Programs to run on
    #[command(flatten)]
    pub choice: LibraryChoice,
    /// Solvers, by turns on each program; those that are not here are named and left out
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "remat-bb,remat-bb-general,highs,scip,cbc,cp-sat,ripsolve"
    )]
    pub solvers: Vec<Solver>,
    /// Python with packages highspy, pyscipopt, pulp, ortools, ripsolve
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: String,
    /// Time limit of a run
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Threads of every solver
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Relative gap that counts as optimal: a fraction or a percentage
    #[arg(short, long, value_name = "GAP", default_value = "1e-6", value_parser = parse_gap)]
    pub gap: f64,
    /// Runs of each solver on each program, with seeds from 0 on
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Table of runs to write, after every run
    #[arg(short, long, value_name = "RESULTS.csv")]
    pub out: PathBuf,
    /// Leave out the runs that the table has already
    #[arg(long)]
    pub resume: bool,
    /// Folder that keeps the best solution of every program
    #[arg(long, value_name = "DIR")]
    pub solutions: Option<PathBuf>,
    /// Values known beforehand: MIPLIB's .solu, or a table with columns name and best
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
}

/// `remat-bench library run-all`
#[derive(Args, Debug)]
pub struct LibraryRunAllArguments {
    /// Programs to run on
    #[command(flatten)]
    pub choice: LibraryChoice,
    /// Solvers of small and medium programs; large programs are for remat-bb alone
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "remat-bb,remat-bb-general,highs,scip,cbc,cp-sat,ripsolve"
    )]
    pub solvers: Vec<Solver>,
    /// Python with packages highspy, pyscipopt, pulp, ortools, ripsolve
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: String,
    /// Time limit of a run
    #[arg(short, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Threads of every solver
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Runs of each solver on each program, with seeds from 0 on
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Checkout whose tables, index, page and picture are written
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub checkout: PathBuf,
    /// Run although the checkout has changes or remat-bb is of another commit; the page says so
    #[arg(long)]
    pub uncommitted: bool,
    /// Leave out the runs that the tables have already
    #[arg(long)]
    pub resume: bool,
    /// Folder for the programs as files
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// Folder that keeps the best solution of every program
    #[arg(long, value_name = "DIR")]
    pub solutions: Option<PathBuf>,
}

/// `remat-bench library table`
#[derive(Args, Debug)]
pub struct LibraryTableArguments {
    /// Table of runs
    pub results: PathBuf,
    /// Index to show [default: the one of this version]
    #[arg(long, value_name = "INDEX.csv")]
    pub index: Option<PathBuf>,
    /// Page whose generated part is replaced, in place of standard output
    #[arg(long, value_name = "PAGE.md")]
    pub page: Option<PathBuf>,
    /// Values known beforehand: MIPLIB's .solu, or a table with columns name and best
    #[arg(long, value_name = "FILE")]
    pub known: Option<PathBuf>,
    /// Draw the performance profile here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// `remat-bench library index`
#[derive(Args, Debug)]
pub struct LibraryIndexArguments {
    /// Tables of runs whose values and bounds go into the index
    pub results: Vec<PathBuf>,
    /// Index to update [default: the one of this version]
    #[arg(long, value_name = "INDEX.csv")]
    pub index: Option<PathBuf>,
    /// Time limit of each relaxation that is not known yet
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    pub relaxation_limit: Duration,
    /// Index to write
    #[arg(short, long, value_name = "INDEX.csv")]
    pub out: PathBuf,
}
