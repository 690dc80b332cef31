//! Arguments of `remat-bench`.

use crate::export::arguments::{EXPORT_ABOUT, ExportArguments};
use crate::fetch::arguments::{FETCH_ABOUT, FetchArguments};
use crate::figures::FiguresArguments;
use crate::library::arguments::{LIBRARY_ABOUT, LibraryArguments};
use crate::others::Solver;
use crate::reduce::arguments::{REDUCE_ABOUT, ReduceArguments};
use crate::{
    checkmate, metamorphic, mip_report, monet, offload, order, pipeline, planted, reorder,
};
use clap::{Parser, Subcommand, ValueEnum};
use remat_bb::version::FULL_VERSION;
use remat_instances::Semantics;
use std::path::PathBuf;

const LONG_ABOUT: &str = "\
Benchmarks of remat-bb, and tools for those who develop solvers.

Commands that compare run remat-bb beside other solvers that this machine has, with the same limits, and print a table. \
docs/inside/bench.md says what each command is for.";

/// The command line.
#[derive(Parser)]
#[command(name = "remat-bench", version = FULL_VERSION, about = "Benchmarks of remat-bb, and tools for those who develop solvers", long_about = LONG_ABOUT)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Solve the linear programs of a folder, here and in HiGHS
    ///
    /// The feature `highs` builds HiGHS in. Both take turns, on one thread each. Exit code 1 if an
    /// answer differs.
    Lp(Lp),
    /// Solve the mixed-integer programs of a folder, here and in other solvers
    ///
    /// HiGHS (feature `highs`) and solvers that are installed take turns with this one, with the
    /// same limits. Exit code 1 if an answer is wrong.
    Mip(Mip),
    /// Count the work of the general search on four sets of programs, and compare two builds
    MipReport(mip_report::MipReportArguments),
    /// Solve the mixed-integer programs of folders, and the same programs in other units
    ///
    /// The objective times 1e-6, 1e3 and 1e6, and bounds that only stand for infinity. Exit code 1
    /// if an answer differs, or if a change of units costs more than half as much work again in the
    /// mean.
    Metamorphic(metamorphic::Arguments),
    /// Compare with Checkmate's published runs, and on general graphs
    ///
    /// Published runs, general graphs, overhead against budget, approximations, largest batches.
    Checkmate(Checkmate),
    /// Compare with MONeT's published runs and ablations
    ///
    /// Memory at a fixed overhead, ablations, published runs, root relaxations and sizes.
    Monet(Monet),
    /// Find orders of least memory, beside the rules of frameworks
    Order(Order),
    /// Measure the gain of a free order of first computations
    ///
    /// Solves files and models with and without a choice of the order. On small random graphs the
    /// best plan over all orders is known, and so is the share of the gain that is found.
    Reorder(Reorder),
    /// Place buffers, beside known ways and published runs
    ///
    /// Takes every table of lives below a folder, and generated ones. The table goes to standard
    /// output.
    Place(PlaceArguments),
    /// Plan copies to the host, beside known strategies and other solvers
    ///
    /// Chains, graphs beside the best known strategy, small graphs beside the compact program in
    /// other solvers.
    Offload(Offload),
    /// Cut published models into pipeline stages, beside published plans and optima
    ///
    /// Piper's networks and Mist's programs. Exit code 1 if an answer is wrong.
    Pipeline(pipeline::PipelineArguments),
    /// Solve models drawn around known points, and judge the answers in fractions
    ///
    /// No other solver is needed. Exit code 1 if an answer is wrong.
    Planted(planted::Arguments),
    /// Write the programs of the benchmark library, run solvers on them, make tables
    #[command(long_about = LIBRARY_ABOUT)]
    Library(LibraryArguments),
    /// Download data of others, and check their hashes
    #[command(long_about = FETCH_ABOUT)]
    Fetch(FetchArguments),
    /// Draw the pictures and tables of the pages from the recorded results
    Figures(FiguresArguments),
    /// Write a compact program of an instance as an MPS or LP file
    #[command(long_about = EXPORT_ABOUT)]
    Export(ExportArguments),
    /// Shrink a file that makes a command fail, while it keeps failing: a delta debugger
    #[command(long_about = REDUCE_ABOUT)]
    Reduce(Box<ReduceArguments>),
}

/// `remat-bench reorder`
#[derive(clap::Args)]
pub struct Reorder {
    /// A directory of instances (.json, .json.gz)
    pub dir: Option<PathBuf>,
    /// Seconds for each solve of files and models, with and without a choice of the order
    #[arg(long, default_value_t = 30.0)]
    pub time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Random graphs, without a time limit
    #[arg(long, default_value_t = 40)]
    pub graphs: usize,
    /// Budgets of files and models, in percent of the peak without recomputation
    #[arg(long, value_delimiter = ',', default_value = "50,65,80")]
    pub budgets: Vec<f64>,
    /// Parts: some of random, files, zoo
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "random,files,zoo"
    )]
    pub parts: Vec<reorder::ReorderPart>,
    /// Only files and models whose names contain one of these
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
}

/// `remat-bench order`
#[derive(clap::Args)]
pub struct Order {
    /// A directory of remat-order/1 graphs (.json.gz), under every variant
    pub dir: Option<PathBuf>,
    /// Seconds for each search
    #[arg(long, default_value_t = 10.0)]
    pub time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Repeats; the least time counts
    #[arg(long, default_value_t = 3)]
    pub repeats: usize,
    /// Parts: all, or some of files, steps, layered
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "files,steps,layered"
    )]
    pub parts: Vec<order::OrderPart>,
    /// Only graphs whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Write the table to this file too
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Write the rows as CSV to this file
    #[arg(long)]
    pub csv: Option<PathBuf>,
    /// Draw the sound variants to this file (SVG)
    #[arg(long)]
    pub svg: Option<PathBuf>,
}

/// `remat-bench place`
#[derive(clap::Args)]
pub struct PlaceArguments {
    /// The directory of tables of lives
    pub dir: PathBuf,
    /// Seconds for each solve
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Buffers of each of the generated lives; 0 leaves them out
    #[arg(long, default_value_t = 0)]
    pub generated: usize,
    /// Draw the instances with published runs to this file (SVG)
    #[arg(long)]
    pub svg: Option<PathBuf>,
}

/// `remat-bench offload`
#[derive(clap::Args)]
pub struct Offload {
    /// Instances (.json) for the part nodes as well; costs without a unit of time are nanoseconds
    pub dir: Option<PathBuf>,
    /// Parts: some of chains, nodes, compact
    #[arg(long, value_delimiter = ',', default_value = "chains,nodes,compact")]
    pub parts: Vec<offload::OffloadPart>,
    /// Slots of peaks, of chains
    #[arg(long, default_value_t = 500)]
    pub slots: u64,
    /// Labels that a stage keeps, of chains
    #[arg(long, default_value_t = 1000)]
    pub labels: usize,
    /// Bandwidths both ways in GB/s [default: 12,24,36 for chains, 12,25,50,170 for nodes]
    #[arg(long, value_delimiter = ',')]
    pub rates: Vec<f64>,
    /// Shares of memory: of chains from recomputing to saving all, of nodes from the largest
    /// working set to the peak without recomputation [default: 15 and 2 of them]
    #[arg(long, value_delimiter = ',')]
    pub shares: Vec<f64>,
    /// Seconds for each solve of nodes and compact, and of other solvers
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Programs of the part nodes: checkmate, monet (of instances with choices)
    #[arg(long, value_delimiter = ',', default_value = "checkmate")]
    pub programs: Vec<Semantics>,
    /// Python with packages highspy, pyscipopt, ortools, for the part compact
    #[arg(long, default_value = "python3")]
    pub python: String,
    /// Only networks whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Draw overhead of chains over memory to this file (SVG)
    #[arg(long)]
    pub svg: Option<PathBuf>,
}

/// `remat-bench checkmate`
#[derive(clap::Args)]
pub struct Checkmate {
    /// The data: a directory with zoo/ and moccasin/. A missing folder is reported and left out
    pub dir: PathBuf,
    /// Seconds for each solve, here and in other solvers
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
    /// Worker threads here; 0 for one per core
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Parts: all, or some of runs, graphs, curves, batches
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "runs,graphs,curves,batches"
    )]
    pub parts: Vec<checkmate::CheckmatePart>,
    /// Only instances whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Budgets of each curve
    #[arg(long, default_value_t = 8)]
    pub points: usize,
    /// Python with packages highspy, pyscipopt, ortools, to solve the published program with HiGHS,
    /// SCIP, CP-SAT; `none` does without
    #[arg(long, default_value = "python3")]
    pub python: String,
    /// Write tables and pictures into this directory
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// `remat-bench monet`
#[derive(clap::Args)]
pub struct Monet {
    /// The benchmark collection (the directory with graphs/ and anchors.csv); models of our own zoo
    /// without it
    pub dir: Option<PathBuf>,
    /// The paper as text: its tables are printed beside ours
    #[arg(long)]
    pub paper: Option<PathBuf>,
    /// Seconds for each solve
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Parts: all, or some of memory, ablation, runs, roots
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "memory,ablation,runs,roots"
    )]
    pub parts: Vec<monet::MonetPart>,
    /// Only instances whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Only published runs with these budgets in GiB (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub budgets: Vec<f64>,
    /// Budgets of each curve
    #[arg(long, default_value_t = 8)]
    pub points: usize,
    /// Solve the published program's relaxation if it has at most this many nonzeros
    #[arg(long, default_value_t = 3_000_000)]
    pub most_nonzeros: usize,
    /// Write tables and pictures into this directory
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// A part that is on or off.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Switch {
    /// On
    On,
    /// Off
    Off,
}

/// Methods for linear programs.
#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// The method that suits the program
    Auto,
    /// Dual simplex
    Dual,
    /// Primal simplex
    Primal,
    /// Barrier, then crossover
    Barrier,
}

/// `remat-bench lp`
#[derive(clap::Args)]
pub struct Lp {
    /// A directory of .mps and .lp files, plain or gzipped, or one file
    pub dir: PathBuf,
    /// A table (CSV) with the columns name and objective [default: DIR/reference.csv if it exists]
    #[arg(long)]
    pub reference: Option<PathBuf>,
    /// Write the table to this file too
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Only files whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Repeats; the least time counts
    #[arg(long, default_value_t = 3)]
    pub repeats: usize,
    /// Presolve, here and in HiGHS
    #[arg(long, value_enum, default_value = "on")]
    pub presolve: Switch,
    /// Scaling here
    #[arg(long, value_enum, default_value = "on")]
    pub scaling: Switch,
    /// Simplex method here
    #[arg(long, value_enum, default_value = "auto")]
    pub algorithm: Method,
    /// Time limit of a solve in seconds
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
}

/// `remat-bench mip`
#[derive(clap::Args)]
pub struct Mip {
    /// A directory of .mps and .lp files, plain or gzipped, or one file
    pub dir: PathBuf,
    /// A table (CSV) with the columns name and catalogue_optimum or objective [default:
    /// DIR/reference.csv if it exists]
    #[arg(long)]
    pub reference: Option<PathBuf>,
    /// Write the table to this file too
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Draw the performance profile here (SVG)
    #[arg(long)]
    pub profile: Option<PathBuf>,
    /// Only files whose name contains this (may be given several times)
    #[arg(long)]
    pub only: Vec<String>,
    /// Time limit of a solve in seconds
    #[arg(long, default_value_t = 60.0)]
    pub time_limit: f64,
    /// Threads, here and there
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Relative gap that counts as optimal, here and there
    #[arg(long, default_value_t = 1e-4)]
    pub gap: f64,
    /// Our threads take up nodes as they come
    #[arg(long)]
    pub opportunistic: bool,
    /// Prune here by bounds that hold in spite of rounding only
    #[arg(long, value_enum, default_value = "on")]
    pub safe_bounds: Switch,
    /// Python with packages of solvers outside
    #[arg(long, default_value = "python3")]
    pub python: String,
    /// Solvers outside to run too (several separated by commas)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub with: Vec<Solver>,
}
