//! Arguments of grids: of `sweep GRID.toml`, and of `merge`.

use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

pub(super) const MERGE_ABOUT: &str = "\
Merge the results of a grid into one table.

Every plan is replayed. A plan serves each easier job of its model (more memory, fewer micro-batches in flight, a link), and \
a bound holds for each harder one, so costs never rise with the budget. The table does not depend on the machines or the \
order in which jobs were solved. Without --partial every job must have a result.";

/// A part of a grid: `I/N`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some((
                index.trim().parse::<usize>().ok()?,
                count.trim().parse().ok()?,
            ))
        });
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard {
                index: index - 1,
                count,
            }),
            _ => Err("write I/N with I from 1 to N, for example 2/8".into()),
        }
    }
}

/// Options of `sweep` for a grid.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Grids")]
pub struct GridOptions {
    /// Folder of a grid's results; those that are there are kept
    #[arg(long, value_name = "FOLDER")]
    pub resume: Option<PathBuf>,
    /// Solve one part of a grid: I/N, with I from 1 to N
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Jobs of a grid at the same time [default: one per core]
    ///
    /// Each job has the threads of the grid file, one by default.
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
}

/// `remat-bb merge`
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb merge runs --csv runs.csv --svg pictures
  remat-bb merge runs --partial --json

`remat-bb schema merge` describes the object that --json prints.

Exit codes: 0 merged, 2 bad usage or input, 4 jobs have no result.")]
pub struct MergeArguments {
    /// Folder of `sweep GRID.toml --resume FOLDER`
    pub folder: PathBuf,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the times of the solves as CSV
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,
    /// Draw the frontiers of each model into this folder
    #[arg(long, value_name = "FOLDER")]
    pub svg: Option<PathBuf>,
    /// Merge although jobs have no result
    #[arg(long)]
    pub partial: bool,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
