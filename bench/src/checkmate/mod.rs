//! Checkmate's comparisons (Jain et al., MLSys 2020, section 5), and published runs beside ours.
//!
//! | part | content |
//! |---|---|
//! | [`runs`] | the published Gurobi runs (12 threads, up to 24 hours), ours, and other solvers on the published program |
//! | [`graphs`] | the general graphs of the Moccasin study, and other solvers on Checkmate's program of them |
//! | [`curves`] | overhead against budget for all strategies (Figure 4), and how far each is from the best (approximation ratios) |
//! | [`batches`] | the largest batch of each strategy (Figure 6) |
//!
//! Text goes to standard output as it is made; with an output directory, tables and pictures also
//! go there. Every cost of ours is one of a schedule that was replayed.

pub mod batches;
pub mod curves;
pub mod graphs;
pub(crate) mod interval_chart;
pub mod others;
pub mod runs;

use remat_formulations::checkmate::CheckmateFormulation;
use remat_instances::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_search::{Outcome, Settings, Solvable};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckmatePart {
    /// Published runs.
    Runs,
    /// General graphs.
    Graphs,
    /// Overhead against budget, and approximation ratios.
    Curves,
    /// Largest batches.
    Batches,
}

impl clap::ValueEnum for CheckmatePart {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            CheckmatePart::Runs,
            CheckmatePart::Graphs,
            CheckmatePart::Curves,
            CheckmatePart::Batches,
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(match self {
            CheckmatePart::Runs => "runs",
            CheckmatePart::Graphs => "graphs",
            CheckmatePart::Curves => "curves",
            CheckmatePart::Batches => "batches",
        }))
    }
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct CheckmateConfig {
    /// Directory with the data, `zoo` and `moccasin` in it.
    pub dir: PathBuf,
    /// Seconds for each solve.
    pub seconds: f64,
    /// Worker threads here; 0 for one per core.
    pub threads: usize,
    /// Parts to run, in the order of [`CheckmatePart`].
    pub parts: Vec<CheckmatePart>,
    /// Only instances whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Budgets of each curve.
    pub points: usize,
    /// Python with the packages of [`others`], or `None` to do without.
    pub python: Option<String>,
    /// Where tables and pictures go.
    pub out: Option<PathBuf>,
}

/// Why a comparison failed, as a message.
pub type Failure = Box<dyn Error>;

/// Runs the parts.
///
/// # Errors
/// Unreadable data, files that cannot be written, or a defect of the solver.
pub fn run(config: &CheckmateConfig) -> Result<(), Failure> {
    if let Some(out) = &config.out {
        std::fs::create_dir_all(out)?;
    }
    let has = |part| config.parts.contains(&part);
    if has(CheckmatePart::Runs) {
        runs::run(config)?;
    }
    if has(CheckmatePart::Graphs) {
        graphs::run(config)?;
    }
    if has(CheckmatePart::Curves) {
        curves::run(config)?;
    }
    if has(CheckmatePart::Batches) {
        batches::run(config)?;
    }
    Ok(())
}

impl CheckmateConfig {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// Prints a text, and writes it to a file of the output directory.
    fn publish(&self, file: &str, text: &str) -> Result<(), Failure> {
        println!("{text}");
        self.save(file, text)
    }

    fn save(&self, file: &str, text: &str) -> Result<(), Failure> {
        if let Some(out) = &self.out {
            std::fs::write(out.join(file), text)?;
        }
        Ok(())
    }

    /// A folder of the data. If it is missing, prints so and returns `None`.
    fn data(&self, folder: &str) -> Option<PathBuf> {
        let path = self.dir.join(folder);
        if path.is_dir() {
            return Some(path);
        }
        println!("left out: {} is not there", path.display());
        None
    }

    fn settings(&self) -> Settings {
        Settings {
            time_limit: Some(Duration::from_secs_f64(self.seconds)),
            threads: self.threads,
            ..Settings::default().without_overtime()
        }
    }

    fn solve(
        &self,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Result<Outcome<CheckmateSchedule>, Failure> {
        let program = CheckmateFormulation::new(instance.clone());
        Ok(program.solve(budget_bytes, &[], &self.settings(), &())?)
    }
}

/// The name of a file without its ending.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A number that may be unknown.
pub(crate) fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".into(), |v| v.to_string())
}

/// A gap as a percentage.
pub(crate) fn percent(gap: Option<f64>) -> String {
    gap.map_or_else(|| "-".into(), |g| format!("{:.2}%", g * 100.0))
}
