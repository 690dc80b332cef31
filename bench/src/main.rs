//! `remat-bench`: comparisons too long for criterion.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand, ValueEnum};
use remat_bb::arguments::LibraryArguments;
use remat_bb::commands::library;
use remat_bb::others::Solver;
use remat_bench::{
    checkmate, mip, monet, netlib, offload, order, place, planted, reorder, sequences,
};
use remat_instances::order::Variant;
use remat_instances::plan::Semantics;
use remat_lp::Algorithm;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(version, about = "Benchmarks of remat-bb")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Solve every linear program of a directory here and in HiGHS (feature `highs`), alternating,
    /// one thread each
    Lp(Lp),
    /// Linear relaxations of rematerialization programs: the compact form with rounds of cuts, the
    /// interval form's columns and rows; with the feature `highs` the same sequence in HiGHS,
    /// alternating, one thread each
    RematLp(RematLp),
    /// Checkmate's comparisons: published runs, general graphs, overhead against budget,
    /// approximations, largest batches
    Checkmate(Checkmate),
    /// MONeT's comparisons: memory at a fixed overhead, ablations, published runs, root relaxations
    /// and sizes
    Monet(Monet),
    /// Solve every mixed-integer program of a directory here and in HiGHS (feature `highs`),
    /// alternating, same limits
    Mip(Mip),
    /// Orders of training graphs with least peak memory: the search beside the rules of frameworks
    Order(Order),
    /// Solves with and without a choice of the order of first computations, and how much of what
    /// orders are worth is found on small random graphs
    Reorder(Reorder),
    /// Place the buffers of every table of lives below a directory, and of generated ones, beside
    /// known ways and published runs; the table goes to standard output
    Place(Place),
    /// Plans with copies to the host: chains, graphs beside the best known strategy, small graphs
    /// beside the compact program in other solvers
    Offload(Offload),
    /// Models drawn around planted points in fractions, solved and judged without another solver;
    /// exit code 1 if an answer is wrong
    Planted(planted::Arguments),
    /// The benchmark library, as `remat-bb library`
    Library(LibraryArguments),
}

#[derive(clap::Args)]
struct Reorder {
    /// A directory of instances (.json, .json.gz)
    dir: Option<PathBuf>,
    /// Seconds for each solve of files and models, with and without a choice of the order
    #[arg(long, default_value_t = 30.0)]
    time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Random graphs, without a time limit
    #[arg(long, default_value_t = 40)]
    graphs: usize,
    /// Budgets of files and models, in percent of the peak without recomputation
    #[arg(long, value_delimiter = ',', default_value = "50,65,80")]
    budgets: Vec<f64>,
    /// Parts: some of random, files, zoo
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "random,files,zoo"
    )]
    parts: Vec<reorder::Part>,
    /// Only files and models whose names contain one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(clap::Args)]
struct Order {
    /// A directory of remat-order/1 graphs (.json.gz), under every variant
    dir: Option<PathBuf>,
    /// Seconds for each search
    #[arg(long, default_value_t = 10.0)]
    time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The least time of so many repeats counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Parts: all, or some of files, steps, layered
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "files,steps,layered"
    )]
    parts: Vec<order::Part>,
    /// Only graphs whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// Write the table to this file too
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write the rows as CSV to this file
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Draw the sound variants to this file (SVG)
    #[arg(long)]
    svg: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Place {
    /// The directory of tables of lives
    dir: PathBuf,
    /// Seconds for each solve
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Buffers of each of the generated lives; 0 for none
    #[arg(long, default_value_t = 0)]
    generated: usize,
    /// Draw the instances with published runs to this file (SVG)
    #[arg(long)]
    svg: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Offload {
    /// Instances (.json) for the part nodes as well; costs without a unit of time are nanoseconds
    dir: Option<PathBuf>,
    /// Parts: some of chains, nodes, compact
    #[arg(long, value_delimiter = ',', default_value = "chains,nodes,compact")]
    parts: Vec<offload::Part>,
    /// Slots of peaks, of chains
    #[arg(long, default_value_t = 500)]
    slots: u64,
    /// Labels that a stage keeps, of chains
    #[arg(long, default_value_t = 1000)]
    labels: usize,
    /// Bandwidths both ways in GB/s [default: 12,24,36 for chains, 12,25,50,170 for nodes]
    #[arg(long, value_delimiter = ',')]
    rates: Vec<f64>,
    /// Shares of memory: of chains from recomputing to saving all, of nodes from the largest
    /// working set to the peak without recomputation [default: 15 and 2 of them]
    #[arg(long, value_delimiter = ',')]
    shares: Vec<f64>,
    /// Seconds for each solve of nodes and compact, and of other solvers
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Programs of the part nodes: checkmate, monet (of instances with choices)
    #[arg(long, value_delimiter = ',', default_value = "checkmate")]
    programs: Vec<Semantics>,
    /// Python with packages highspy, pyscipopt, ortools, for the part compact
    #[arg(long, default_value = "python3")]
    python: String,
    /// Only networks whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// Draw overhead of chains over memory to this file (SVG)
    #[arg(long)]
    svg: Option<PathBuf>,
}

#[derive(clap::Args)]
struct RematLp {
    /// GRAPH BUDGET [--all] [--full] [--slack] [--rows ROWS] [--stage-rows ROWS]
    /// [--whole] [--cuts ROUNDS] [--per-round CUTS] [--record FILE] [--alone] [--warm] [--verbose]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    args: Vec<String>,
}

#[derive(clap::Args)]
struct Checkmate {
    /// The data: a directory with zoo/ and moccasin/. What is not there is left out, and said so
    dir: PathBuf,
    /// Seconds for each solve, here and in other solvers
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Worker threads here; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Parts: all, or some of runs, graphs, curves, batches
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "runs,graphs,curves,batches"
    )]
    parts: Vec<checkmate::Part>,
    /// Only instances whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// Budgets of each curve
    #[arg(long, default_value_t = 8)]
    points: usize,
    /// Python with packages highspy, pyscipopt, ortools, to solve the published program with HiGHS,
    /// SCIP, CP-SAT; `none` does without
    #[arg(long, default_value = "python3")]
    python: String,
    /// Write tables and pictures into this directory
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Monet {
    /// The benchmark collection (the directory with graphs/ and anchors.csv); models of our own zoo
    /// without it
    dir: Option<PathBuf>,
    /// The paper as text: its tables are printed beside ours
    #[arg(long)]
    paper: Option<PathBuf>,
    /// Seconds for each solve
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Worker threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Parts: all, or some of memory, ablation, runs, roots
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "memory,ablation,runs,roots"
    )]
    parts: Vec<monet::Part>,
    /// Only instances whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// Only published runs with these budgets in GiB (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    budgets: Vec<f64>,
    /// Budgets of each curve
    #[arg(long, default_value_t = 8)]
    points: usize,
    /// Solve the published program's relaxation where it has at most so many nonzeros
    #[arg(long, default_value_t = 3_000_000)]
    most_nonzeros: usize,
    /// Write tables and pictures into this directory
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
enum Method {
    Auto,
    Dual,
    Primal,
    Barrier,
}

#[derive(clap::Args)]
struct Lp {
    /// A directory of .mps and .lp files, plain or gzipped, or one file
    dir: PathBuf,
    /// A table (CSV) with the columns name and objective [default: DIR/reference.csv if it exists]
    #[arg(long)]
    reference: Option<PathBuf>,
    /// Write the table to this file too
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only files whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// The least time of so many repeats counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Presolve, here and in HiGHS
    #[arg(long, value_enum, default_value = "on")]
    presolve: Switch,
    /// Scaling here
    #[arg(long, value_enum, default_value = "on")]
    scaling: Switch,
    /// Simplex method here
    #[arg(long, value_enum, default_value = "auto")]
    algorithm: Method,
    /// Give up on a solve after so many seconds
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
}

#[derive(clap::Args)]
struct Mip {
    /// A directory of .mps and .lp files, plain or gzipped, or one file
    dir: PathBuf,
    /// A table (CSV) with the columns name and catalogue_optimum or objective [default:
    /// DIR/reference.csv if it exists]
    #[arg(long)]
    reference: Option<PathBuf>,
    /// Write the table to this file too
    #[arg(long)]
    out: Option<PathBuf>,
    /// Draw the performance profile here (SVG)
    #[arg(long)]
    profile: Option<PathBuf>,
    /// Only files whose name contains this (may be given several times)
    #[arg(long)]
    only: Vec<String>,
    /// Time limit of a solve in seconds
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Threads, here and there
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Relative gap that counts as optimal, here and there
    #[arg(long, default_value_t = 1e-4)]
    gap: f64,
    /// Our threads take up nodes as they come
    #[arg(long)]
    opportunistic: bool,
    /// Prune here by bounds that hold in spite of rounding only
    #[arg(long, value_enum, default_value = "on")]
    safe_bounds: Switch,
    /// Python with packages of solvers outside
    #[arg(long, default_value = "python3")]
    python: String,
    /// Solvers outside to run too (several separated by commas)
    #[arg(long, value_enum, value_delimiter = ',')]
    with: Vec<Solver>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Lp(args) => lp(args),
        Command::RematLp(args) => sequences::run(&args.args).map(|()| true),
        Command::Checkmate(args) => compare(args),
        Command::Monet(args) => compare_monet(args),
        Command::Mip(args) => mip(args),
        Command::Order(args) => orders(args),
        Command::Place(args) => places(args),
        Command::Offload(args) => offloads(args),
        Command::Reorder(args) => reorders(args),
        Command::Planted(args) => planted::run(&args, |line| println!("{line}")),
        Command::Library(args) => library::run(&args).map(|_| true).map_err(Into::into),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

fn compare(args: Checkmate) -> Result<bool, Box<dyn std::error::Error>> {
    let config = checkmate::Config {
        dir: args.dir,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        parts: args.parts,
        only: args.only,
        points: args.points.clamp(2, 100),
        python: (args.python != "none").then_some(args.python),
        out: args.out,
    };
    checkmate::run(&config)?;
    Ok(true)
}

fn compare_monet(args: Monet) -> Result<bool, Box<dyn std::error::Error>> {
    let config = monet::Config {
        dir: args.dir,
        paper: args.paper,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        parts: args.parts,
        only: args.only,
        budgets: args.budgets,
        points: args.points.clamp(2, 100),
        most_nonzeros: args.most_nonzeros,
        out: args.out,
    };
    monet::run(&config)?;
    Ok(true)
}

/// Returns true: nothing is judged.
fn reorders(args: Reorder) -> Result<bool, Box<dyn std::error::Error>> {
    let config = reorder::Config {
        dir: args.dir,
        seconds: args.time_limit,
        threads: args.threads,
        graphs: args.graphs,
        budgets: args.budgets,
        parts: args.parts,
        only: args.only,
    };
    reorder::run(&config, |line| println!("{}", line.trim_end()))?;
    Ok(true)
}

/// Returns whether every graph that is not random is proven.
fn orders(args: Order) -> Result<bool, Box<dyn std::error::Error>> {
    let config = order::Config {
        dir: args.dir,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        repeats: args.repeats,
        parts: args.parts,
        only: args.only,
    };
    let mut table = order::header();
    println!("{table}");
    let mut rows = Vec::new();
    order::run(&config, |row| {
        let line = row.line();
        println!("{line}");
        table.push('\n');
        table.push_str(&line);
        rows.push(row);
    })?;
    if let Some(out) = args.out {
        std::fs::write(&out, table + "\n")?;
    }
    if let Some(csv) = args.csv {
        std::fs::write(&csv, order::csv(&rows))?;
    }
    if let Some(svg) = args.svg {
        std::fs::write(&svg, order::picture(&rows, Variant::Sound)?)?;
    }
    // Random graphs may stay open.
    let is_random = |row: &order::Row| row.name.starts_with("layered");
    Ok(rows.iter().all(|row| row.is_proven() || is_random(row)))
}

/// Returns true: all was replayed.
fn offloads(args: Offload) -> Result<bool, Box<dyn std::error::Error>> {
    let or = |given: &[f64], default: &[f64]| match given.is_empty() {
        true => default.to_vec(),
        false => given.to_vec(),
    };
    if args.parts.contains(&offload::Part::Chains) {
        let config = offload::chains::Config {
            slots: args.slots,
            labels: args.labels,
            rates: or(&args.rates, &offload::chains::RATES),
            shares: or(&args.shares, &offload::chains::SHARES),
            only: args.only.clone(),
        };
        println!("{}", offload::chains::HEADER);
        let mut lines = Vec::new();
        offload::chains::run(&config, |line| {
            println!("{}", line.csv());
            lines.push(line);
        })?;
        if let Some(svg) = &args.svg {
            std::fs::write(svg, offload::draw(&lines)?)?;
        }
    }
    if args.parts.contains(&offload::Part::Nodes) {
        let config = offload::nodes::Config {
            dir: args.dir,
            seconds: args.time_limit.clamp(0.01, 1e6),
            threads: args.threads,
            rates: or(&args.rates, &offload::nodes::RATES),
            shares: or(&args.shares, &offload::nodes::SHARES),
            semantics: args.programs,
            only: args.only.clone(),
        };
        println!("{}", offload::nodes::HEADER);
        offload::nodes::run(&config, |line| println!("{}", line.csv()))?;
    }
    if args.parts.contains(&offload::Part::Compact) {
        let config = offload::compact::Config {
            seconds: args.time_limit.clamp(0.01, 1e6),
            threads: args.threads,
            python: args.python,
            only: args.only,
        };
        let others = offload::compact::others(&config);
        println!("{}", offload::compact::header(&others));
        offload::compact::run(&config, &others, |line| println!("{}", line.csv()))?;
    }
    Ok(true)
}

/// Returns true: every placement was checked.
fn places(args: Place) -> Result<bool, Box<dyn std::error::Error>> {
    println!("{}", place::header());
    let mut rows = Vec::new();
    let seconds = args.time_limit.clamp(0.01, 1e6);
    place::run(&args.dir, seconds, args.threads, args.generated, |row| {
        println!("{}", row.line());
        rows.push(row);
    })?;
    if let Some(svg) = args.svg {
        std::fs::write(&svg, place::picture(&rows)?)?;
    }
    Ok(true)
}

/// Returns whether every file agreed.
fn lp(args: Lp) -> Result<bool, Box<dyn std::error::Error>> {
    let beside = args.dir.join("reference.csv");
    let config = netlib::Config {
        reference: args
            .reference
            .or_else(|| beside.is_file().then_some(beside)),
        dir: args.dir,
        only: args.only,
        repeats: args.repeats,
        presolve: args.presolve == Switch::On,
        scaling: args.scaling == Switch::On,
        algorithm: match args.algorithm {
            Method::Auto => Algorithm::Auto,
            Method::Dual => Algorithm::Dual,
            Method::Primal => Algorithm::Primal,
            Method::Barrier => Algorithm::Barrier,
        },
        time_limit: Duration::from_secs_f64(args.time_limit.clamp(0.0, 1e6)),
    };
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let mut table = netlib::header();
    println!("{table}");
    let lines = netlib::run(&config, |line| {
        let text = netlib::render(line);
        println!("{text}");
        table.push('\n');
        table.push_str(&text);
    })?;
    let summary = netlib::summary(&lines);
    println!("{summary}");
    if let Some(out) = args.out {
        std::fs::write(&out, format!("{table}\n{summary}\n"))?;
    }
    Ok(lines.iter().all(netlib::Line::agrees))
}

/// Returns whether no answer was wrong.
fn mip(args: Mip) -> Result<bool, Box<dyn std::error::Error>> {
    let beside = args.dir.join("reference.csv");
    let config = mip::Config {
        reference: args
            .reference
            .or_else(|| beside.is_file().then_some(beside)),
        dir: args.dir,
        only: args.only,
        time_limit: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads.max(1),
        gap: args.gap,
        opportunistic: args.opportunistic,
        safe_bounds: args.safe_bounds == Switch::On,
        with: (args.with.iter())
            .map(|solver| solver.find(&args.python))
            .collect::<Result<_, _>>()?,
    };
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let mut table = mip::header(&config);
    println!("{table}");
    let lines = mip::run(&config, |line| {
        let text = mip::render(&config, line);
        println!("{text}");
        table.push('\n');
        table.push_str(&text);
    })?;
    let summary = mip::summary(&config, &lines);
    println!("{summary}");
    if let Some(out) = args.out {
        std::fs::write(&out, format!("{table}\n{summary}\n"))?;
    }
    if let Some(path) = args.profile {
        std::fs::write(&path, mip::profile_svg(&lines)?)?;
    }
    Ok(lines.iter().all(|l| l.complaint.is_none()))
}
