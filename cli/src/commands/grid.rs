//! `remat-bb sweep` of a grid.

use crate::again;
use crate::arguments::{DEFAULT_BUDGETS, GridOptions, SweepArguments};
use crate::failure::{Exit, Failure, note};
use crate::files::Files;
use crate::interrupt;
use crate::progress::Activity;
use crate::visible::shown;
use remat_formulations::options::SolveOptions;
use remat_grid::{Folder, Grid, GridError, Survey, Tally, Work};
use remat_report::{counted, results};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two lines of progress where there is no terminal.
const SILENCE: Duration = Duration::from_secs(10);

/// Ending of grid files.
const ENDING: &str = "toml";

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        Failure::Usage {
            problem: error.to_string(),
            remedy: error.remedy,
        }
    }
}

/// Returns whether a source is a grid.
pub fn is_grid(source: &Path) -> bool {
    source.extension().is_some_and(|ending| ending == ENDING)
}

/// Checks that options of grids are not given for one instance.
///
/// # Errors
/// [`Failure::Usage`] names the option.
pub fn check_absent(options: &GridOptions) -> Result<(), Failure> {
    let given = [
        ("--resume", options.resume.is_some()),
        ("--shard", options.shard.is_some()),
        ("--workers", options.workers.is_some()),
    ];
    match given.iter().find(|given| given.1) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage {
            problem: format!("{name} is an option of grids, and this is one instance"),
            remedy: format!("name a grid (GRID.toml), or leave out {name}"),
        }),
    }
}

/// Solves the jobs of a grid that have no result.
///
/// # Errors
/// [`Failure`] for a bad grid, and results that cannot be written.
pub fn run(arguments: &SweepArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    check_foreign(arguments)?;
    let Some(path) = &arguments.grid.resume else {
        return Err(Failure::Usage {
            problem: "a grid needs a folder for its results".into(),
            remedy: "add --resume FOLDER; the folder is made if necessary".into(),
        });
    };
    let files = Files::tried(arguments.json, &[&arguments.instance], &[])?;
    let grid = Grid::read(&arguments.instance)?;
    interrupt::catch(
        "ending with the results so far; once more to end at once",
        arguments.quiet,
    );
    let shard = arguments.grid.shard;
    let chains: Vec<usize> = match shard {
        None => (0..grid.chains()).collect(),
        Some(shard) => grid.shard(shard.index, shard.count).collect(),
    };
    let sources = grid.sources()?;
    // Every instance is built once before the first solve.
    Survey::of(&grid, &sources).jobs(chains.iter().copied())?;
    let folder = Folder::with(path, &grid, sources)?;
    if folder.had_another {
        let text = format!(
            "{} had the results of another grid; those that both have are kept",
            shown(path)
        );
        note(&text, arguments.quiet);
    }
    let jobs = chains
        .iter()
        .map(|chain| grid.chain_jobs(*chain).len())
        .sum();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = arguments.grid.workers.map_or(cores, usize::from);
    let activity = Activity::begin("grid", arguments.quiet);
    let last = Mutex::new(Instant::now());
    let look = |tally: Tally| {
        activity.say(progress(tally, jobs));
        let Ok(mut last) = last.lock() else { return };
        if !arguments.quiet && !activity.is_shown() && last.elapsed() >= SILENCE {
            *last = Instant::now();
            note(&progress(tally, jobs), false);
        }
    };
    let interrupted = interrupt::flag();
    let work = Work::of(&grid, &folder).workers(workers);
    let tally = work
        .listener(&*interrupted, &look)
        .run(chains.iter().copied());
    drop(activity);
    let tally = tally?;
    let missing = jobs - tally.done() - tally.failed;
    files.print(&match arguments.json {
        true => results::json(&GridJson {
            version: results::VERSION,
            grid: arguments.instance.display().to_string(),
            folder: path.display().to_string(),
            jobs: grid.jobs(),
            shard: shard.map(|shard| format!("{}/{}", shard.index + 1, shard.count)),
            shard_jobs: jobs,
            kept: tally.kept,
            solved: tally.solved,
            settled: tally.settled,
            failed: tally.failed,
            replaced: tally.replaced,
            missing,
            seconds: begun.elapsed().as_secs_f64(),
        }),
        false => summary(arguments, (path, &grid), jobs, tally),
    })?;
    if missing > 0 {
        let command = again::command().unwrap_or_else(|| "the same command".into());
        let text = format!(
            "{} without a result; go on with: {command}",
            counted(missing as u64, "job")
        );
        note(&text, arguments.quiet);
    }
    Ok(match missing + tally.failed {
        0 => Exit::Done,
        _ => Exit::NoPlan,
    })
}

fn progress(tally: Tally, jobs: usize) -> String {
    let done = tally.done() + tally.failed;
    let percent = done * 100 / jobs.max(1);
    match tally.failed {
        0 => format!("{done} of {jobs} jobs ({percent}%)"),
        failed => format!("{done} of {jobs} jobs ({percent}%), {failed} failed"),
    }
}

fn summary(
    arguments: &SweepArguments,
    (folder, grid): (&Path, &Grid),
    jobs: usize,
    tally: Tally,
) -> String {
    let chains = counted(grid.chains() as u64, "chain");
    let mut text = format!(
        "{}: {} in {chains}",
        shown(&arguments.instance),
        counted(grid.jobs() as u64, "job")
    );
    if let Some(shard) = arguments.grid.shard {
        text += &format!("; shard {}/{} has {jobs}", shard.index + 1, shard.count);
    }
    text += &format!(
        "\nkept {}, solved {}, settled by neighbours {}, failed {}, missing {}\n",
        tally.kept,
        tally.solved,
        tally.settled,
        tally.failed,
        jobs - tally.done() - tally.failed
    );
    if tally.replaced > 0 {
        text += &format!(
            "replaced {}\n",
            counted(tally.replaced as u64, "wrong result file")
        );
    }
    if tally.failed > 0 {
        text += "the table has the reasons of failed jobs; a further run tries them again\n";
    }
    text + &format!(
        "\nremat-bb merge {} merges the results.\n",
        again::quoted(&folder.display().to_string())
    )
}

/// Checks that options of one instance are not given: a grid has its own.
fn check_foreign(arguments: &SweepArguments) -> Result<(), Failure> {
    let options = SolveOptions {
        threads: 0,
        ..arguments.options.0.clone()
    };
    let in_file = "write it into the grid file";
    let in_merge = "leave it out; `remat-bb merge` has it";
    let given = [
        ("--budgets", arguments.budgets != DEFAULT_BUDGETS, in_file),
        (
            "options of a solve",
            options != SolveOptions::default(),
            "write them into [settings] of the grid file",
        ),
        (
            "--threads",
            arguments.options.threads != 0,
            "write threads into [settings], or give --workers",
        ),
        (
            "--shards",
            arguments.shards.shards.is_some(),
            "write shards=N into the models of the grid file",
        ),
        ("--stages", arguments.pipeline.is_asked(), in_file),
        ("--link", arguments.pipeline.link.is_some(), in_file),
        ("--csv", arguments.csv.is_some(), in_merge),
        ("--svg", arguments.svg.is_some(), in_merge),
        (
            "--plans",
            arguments.plans.plans.is_some(),
            "leave it out; the result files have the plans",
        ),
    ];
    match given.iter().find(|given| given.1) {
        None => Ok(()),
        Some((name, _, remedy)) => Err(Failure::Usage {
            problem: format!("{name} beside a grid"),
            remedy: (*remedy).into(),
        }),
    }
}

/// The object of `remat-bb sweep GRID.toml --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct GridJson {
    /// Version of this program.
    version: &'static str,
    /// The grid file.
    grid: String,
    /// Folder of the results.
    folder: String,
    /// Number of jobs of the grid.
    jobs: usize,
    /// The part that was solved, `I/N`; null for the whole grid.
    shard: Option<String>,
    /// Number of jobs of this part.
    shard_jobs: usize,
    /// Results that were there.
    kept: usize,
    /// Jobs that were solved.
    solved: usize,
    /// Jobs that were settled by the results of their neighbours.
    settled: usize,
    /// Jobs that failed.
    failed: usize,
    /// Result files that were incomplete or wrong, and were replaced.
    replaced: usize,
    /// Jobs without a result: the run was interrupted.
    missing: usize,
    /// Time in seconds.
    seconds: f64,
}
