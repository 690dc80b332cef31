//! `remat-bench`: comparisons too long for criterion.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand, ValueEnum};
use remat_bench::{mip, netlib};
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
    /// Solve every linear program of a directory here and in HiGHS (feature `highs`), alternating, one thread each
    Lp(Lp),
    /// Solve every mixed-integer program of a directory here and in HiGHS (feature `highs`), alternating, same limits
    Mip(Mip),
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
    /// A table (CSV) with the columns name and catalogue_optimum or objective [default: DIR/reference.csv if it exists]
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
}

fn main() -> ExitCode {
    let agreed = match Cli::parse().command {
        Command::Lp(args) => lp(args),
        Command::Mip(args) => mip(args),
    };
    match agreed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

/// Whether every file agreed.
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

/// Whether no answer was wrong.
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
    };
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let mut table = mip::header();
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
        std::fs::write(&path, mip::profile_svg(&lines))?;
    }
    Ok(lines.iter().all(|l| l.complaint.is_none()))
}
