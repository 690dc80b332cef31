//! Pipelines: cuts of models into stages, beside published inputs.
//!
//! | module | comparison |
//! |---|---|
//! | [`piper`] | Piper's networks, beside its own plans |
//! | [`zoo`] | models of the zoo, beside known rules for cuts and recomputation |
//! | [`mist`] | Mist's inter-stage programs, as mixed-integer programs and by labels |

pub mod mist;
pub mod piper;
pub mod zoo;

use crate::netlib::BenchError;
use clap::{Args, Subcommand};
use remat_bb::failure::Failure;
use remat_bb::files::Files;
use std::path::{Path, PathBuf};

/// `remat-bench pipeline`
#[derive(Args, Debug)]
pub struct PipelineArguments {
    /// The comparison.
    #[command(subcommand)]
    pub command: PipelineCommand,
}

/// The subcommands of `remat-bench pipeline`.
#[derive(Subcommand, Debug)]
pub enum PipelineCommand {
    /// Plan Piper's networks under its restriction and with free recomputation, beside its plans
    Piper(piper::PiperArguments),
    /// Solve Mist's inter-stage programs, as mixed-integer programs and by labels
    Mist(mist::MistArguments),
    /// Plan models of the zoo, beside known rules for cuts and recomputation
    Zoo(zoo::ZooArguments),
}

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum PipelineBenchError {
    /// A file or folder cannot be read.
    #[error("{0}: {1}")]
    Open(PathBuf, std::io::Error),
    /// A file has other content.
    #[error("{0}: {1}")]
    Content(PathBuf, String),
    /// A program cannot be read or solved.
    #[error(transparent)]
    Program(#[from] BenchError),
    /// A table cannot be written.
    #[error(transparent)]
    Written(#[from] Failure),
}

/// Runs a comparison; returns whether every answer was right.
///
/// # Errors
/// [`PipelineBenchError`] of the first file that cannot be read or written.
pub fn run(arguments: &PipelineArguments) -> Result<bool, PipelineBenchError> {
    match &arguments.command {
        PipelineCommand::Piper(arguments) => piper::run(arguments),
        PipelineCommand::Mist(arguments) => mist::run(arguments),
        PipelineCommand::Zoo(arguments) => zoo::run(arguments),
    }
}

/// Files of a folder whose names begin and end like this, in order. If there are no such files, the
/// reason is printed.
fn files(folder: &Path, begin: &str, ends: &[&str]) -> Result<Vec<PathBuf>, PipelineBenchError> {
    if !folder.is_dir() {
        println!("skipped: {} is no folder", folder.display());
        return Ok(Vec::new());
    }
    let open = |e| PipelineBenchError::Open(folder.to_owned(), e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(open)? {
        let path = entry.map_err(open)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(begin) && ends.iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
    if found.is_empty() {
        let all = ends.join(" or ");
        println!("skipped: {} has no file {begin}*{all}", folder.display());
    }
    found.sort();
    Ok(found)
}

/// Prints the lines of a table, and writes them to a file.
struct Table<'a> {
    text: String,
    path: Option<&'a Path>,
    files: Files,
}

impl<'a> Table<'a> {
    /// Prints the header. The files of `--csv` and `--svg` must be writable.
    fn new(
        header: &str,
        path: Option<&'a Path>,
        svg: Option<&Path>,
    ) -> Result<Table<'a>, PipelineBenchError> {
        let files = Files::tried(false, &[], &[("--csv", path), ("--svg", svg)])?;
        println!("{header}");
        let text = format!("{header}\n");
        Ok(Table { text, path, files })
    }

    fn line(&mut self, line: &str) {
        println!("{line}");
        self.text += line;
        self.text.push('\n');
    }

    fn write(self) -> Result<(), PipelineBenchError> {
        if let Some(path) = self.path {
            self.files.write(path, &self.text)?;
        }
        Ok(())
    }
}

/// `100 (value - bound) / value`, in per cent.
fn gap_percent(value: f64, bound: f64) -> f64 {
    match value == bound {
        true => 0.0,
        false => 100.0 * (value - bound) / value.abs().max(1e-10),
    }
}
