//! Work of the general search on four disjoint sets, and two builds' work compared.
//!
//! Work is counted in ticks, so a busy machine does not matter. Sets: files of a folder, the same
//! files in other orders of rows and columns, the same files with another unit of the objective,
//! and programs drawn from the classes that users send.

mod classes;
mod compare;

use crate::csv::{cell, number};
use crate::metamorphic::variant::Variant;
use crate::netlib;
use crate::random::SplitMix64;
use clap::{Args, Subcommand, ValueEnum};
use rayon::prelude::*;
use remat_lp::Model;
use remat_solver::mip::{Settings, SolveStatus, Solver, check_point};
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Columns of the table of runs.
const COLUMNS: [&str; 9] = [
    "set",
    "name",
    "seed",
    "status",
    "objective",
    "bound",
    "ticks",
    "pivots",
    "nodes",
];

/// `remat-bench mip-report`
#[derive(Args)]
pub struct MipReportArguments {
    #[command(subcommand)]
    command: MipReportCommand,
}

#[derive(Subcommand)]
enum MipReportCommand {
    /// Solve the programs of all sets with this build, and write a table of their work
    Run(RunArguments),
    /// Compare the tables of two builds
    ///
    /// Prints for each set the ratio of the shifted geometric means of ticks, and the p-value of a
    /// sign test over its programs. Programs that neither build ends are left out of both.
    Compare {
        /// The table of the build before
        before: PathBuf,
        /// The table of the build after
        after: PathBuf,
    },
}

/// A set of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Set {
    /// The files of the folder
    Files,
    /// The files, rows and columns in another order
    Permuted,
    /// The files, the objective in another unit
    Scaled,
    /// Programs of eight classes
    Classes,
}

impl Set {
    fn name(self) -> &'static str {
        match self {
            Set::Files => "files",
            Set::Permuted => "permuted",
            Set::Scaled => "scaled",
            Set::Classes => "classes",
        }
    }
}

/// `remat-bench mip-report run`
#[derive(Args)]
struct RunArguments {
    /// Folders of .mps and .lp files, plain or gzipped, or single files
    paths: Vec<PathBuf>,
    /// The table (CSV)
    #[arg(long)]
    out: PathBuf,
    /// Sets (several separated by commas)
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "files,permuted,scaled,classes"
    )]
    sets: Vec<Set>,
    /// Only files and classes whose names contain one of these (separated by commas)
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Limit on the ticks of a solve; 400 million are about a second of a core
    #[arg(long, default_value_t = 1_600_000_000)]
    ticks: u64,
    /// Orders of each file, and programs of each class
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Relative gap that counts as optimal
    #[arg(long, default_value_t = 1e-6)]
    gap: f64,
    /// A setting of the search, as NAME=VALUE (may be given several times)
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Programs solved at a time, each on one thread; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// A program to solve.
struct Task {
    set: Set,
    name: String,
    seed: u64,
    source: Source,
}

/// The way to its model.
enum Source {
    File(PathBuf),
    Class(classes::Class),
}

/// Runs the command. Returns whether no answer is wrong.
///
/// # Errors
/// Files that cannot be read or written, tables with other columns.
pub fn run(arguments: &MipReportArguments) -> Result<bool, Box<dyn Error>> {
    match &arguments.command {
        MipReportCommand::Run(run) => solve_all(run),
        MipReportCommand::Compare { before, after } => {
            print!("{}", compare::tables(before, after)?);
            Ok(true)
        }
    }
}

fn solve_all(arguments: &RunArguments) -> Result<bool, Box<dyn Error>> {
    let settings = settings(arguments)?;
    let tasks = tasks(arguments)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads)
        .build()?;
    let lines: Vec<Result<String, String>> = pool.install(|| {
        let solved = tasks.par_iter().map(|task| {
            let line = solve(task, &settings);
            eprintln!(
                "{}",
                line.as_ref().map_or_else(|e| e.clone(), |l| l.clone())
            );
            line
        });
        solved.collect()
    });
    let mut text = COLUMNS.join(",") + "\n";
    let mut clean = true;
    for line in lines {
        match line {
            Ok(line) => text += &(line + "\n"),
            Err(_) => clean = false,
        }
    }
    std::fs::write(&arguments.out, text)
        .map_err(|e| format!("{}: {e}", arguments.out.display()))?;
    Ok(clean)
}

/// The settings of all runs: the defaults, one thread, and those that are named.
fn settings(arguments: &RunArguments) -> Result<Settings, Box<dyn Error>> {
    let mut table = toml::Table::new();
    for text in &arguments.set {
        let line: toml::Table = toml::from_str(text).map_err(|e| format!("--set {text:?}: {e}"))?;
        table.extend(line);
    }
    let mut settings: Settings = table.try_into().map_err(|e| format!("--set: {e}"))?;
    settings.relative_gap = arguments.gap;
    settings.limits.ticks = Some(arguments.ticks);
    settings.threads = 1;
    Ok(settings)
}

fn tasks(arguments: &RunArguments) -> Result<Vec<Task>, Box<dyn Error>> {
    let wanted = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|o| name.contains(o.as_str()))
    };
    let seeds = arguments.seed..arguments.seed + arguments.seeds;
    let mut tasks = Vec::new();
    for &set in &arguments.sets {
        if set == Set::Classes {
            for class in classes::CLASSES.into_iter().filter(|c| wanted(c.0)) {
                tasks.extend(seeds.clone().map(|seed| Task {
                    set,
                    name: class.0.into(),
                    seed,
                    source: Source::Class(class),
                }));
            }
            continue;
        }
        for folder in &arguments.paths {
            for path in netlib::files(folder)? {
                let name = netlib::stem(&path);
                if !wanted(&name) {
                    continue;
                }
                let seeds = match set {
                    Set::Permuted => seeds.clone(),
                    Set::Scaled => 0..SCALES.len() as u64,
                    _ => 0..1,
                };
                tasks.extend(seeds.map(|seed| Task {
                    set,
                    name: name.clone(),
                    seed,
                    source: Source::File(path.clone()),
                }));
            }
        }
    }
    Ok(tasks)
}

/// Units of the objective in the set of scaled files.
const SCALES: [f64; 3] = [1e-6, 1e3, 1e6];

fn model(task: &Task) -> Result<Model, Box<dyn Error>> {
    Ok(match (&task.source, task.set) {
        (Source::Class((_, draw)), _) => draw(&mut SplitMix64(task.seed))?,
        (Source::File(path), Set::Permuted) => netlib::read(path)?.permuted(task.seed).0,
        (Source::File(path), Set::Scaled) => {
            let (model, unit) = (netlib::read(path)?, SCALES[task.seed as usize]);
            // A model without costs has no unit.
            Variant::Objective(unit).of(&model, None).unwrap_or(model)
        }
        (Source::File(path), _) => netlib::read(path)?,
    })
}

/// Solves a program, checks its solution, and returns its line of the table; the error names the
/// program.
fn solve(task: &Task, settings: &Settings) -> Result<String, String> {
    let place = format!("{},{},{}", task.set.name(), cell(&task.name), task.seed);
    let wrong = |e: &dyn std::fmt::Display| format!("{place}: {e}");
    let model = Arc::new(model(task).map_err(|e| wrong(&e))?);
    let mut settings = settings.clone();
    // An absolute gap has a unit.
    if task.set == Set::Scaled {
        settings.absolute_gap *= SCALES[task.seed as usize].min(1.0);
    }
    let solver = Solver::new(model.clone(), settings);
    let result = solver.run().map_err(|e| wrong(&e))?;
    if let Some(s) = &result.solution {
        check_point(&model, &s.x, 1e-6).map_err(|e| wrong(&e))?;
    }
    let status = match result.status {
        SolveStatus::Optimal => "optimal",
        SolveStatus::Infeasible => "infeasible",
        SolveStatus::Unbounded => "unbounded",
        _ => "limit",
    };
    let mut line = place.clone();
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        ",{status},{},{},{},{},{}",
        number(result.solution.map(|s| s.objective)),
        number(result.dual_bound.is_finite().then_some(result.dual_bound)),
        result.info.ticks,
        result.info.lp_iterations,
        result.info.nodes
    );
    Ok(line)
}
