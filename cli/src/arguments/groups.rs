//! Options that several commands share, each with one name, one type and one default.

use super::{parse_duration, parse_gap};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rayon::ThreadPool;
use remat_instances::Semantics;
use remat_search::{Settings, SolveError};
use remat_solver::threads::pool;
use std::path::PathBuf;
use std::time::Duration;

/// The formulation.
#[derive(Args, Clone, Copy, Debug)]
pub struct FormulationOption {
    /// Integer program whose semantics hold [default: monet where the instance offers choices that
    /// only it knows, else checkmate]
    #[arg(short, long, value_name = "F", value_parser = semantics())]
    pub formulation: Option<Semantics>,
}

fn semantics() -> impl TypedValueParser<Value = Semantics> {
    let checkmate =
        "One implementation of each node, recomputed in any stage (Jain et al., MLSys 2020)";
    let monet =
        "Implementations, masks and in-place operators are chosen too (Shah et al., ICLR 2021)";
    PossibleValuesParser::new([
        PossibleValue::new(Semantics::Checkmate.as_str()).help(checkmate),
        PossibleValue::new(Semantics::Monet.as_str()).help(monet),
    ])
    .try_map(|name| name.parse::<Semantics>())
}

/// Worker threads and the seed.
#[derive(Args, Clone, Copy, Debug)]
pub struct WorkerOptions {
    /// Worker threads; 0 for one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// Seed of all random choices
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub seed: u64,
}

impl WorkerOptions {
    /// Settings of a solve with these.
    pub fn settings(&self) -> Settings {
        Settings {
            threads: usize::from(self.threads),
            seed: self.seed,
            ..Settings::default()
        }
    }

    /// Threads for work beside a solve.
    ///
    /// # Errors
    /// [`SolveError::Threads`] where they cannot be started.
    pub fn pool(&self) -> Result<ThreadPool, SolveError> {
        let threads = usize::from(self.threads);
        pool(threads).map_err(|source| SolveError::Threads { threads, source })
    }
}

/// The folder for plans.
#[derive(Args, Clone, Debug)]
pub struct PlansOption {
    /// Write each plan that was found into this folder, as remat-plan/1 JSON, under names that tell
    /// strategy and budget (or batch); it is made where it is missing
    #[arg(long, value_name = "FOLDER")]
    pub plans: Option<PathBuf>,
}

/// How far a solve goes, on which threads, and from which seed.
#[derive(Args, Clone, Copy, Debug)]
pub struct SolveOptions {
    /// End a solve after this time: seconds, or with a unit (90s, 10m, 2h). Without it the work is
    /// fixed
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Relative gap between cost and bound at which to end, optimal: a fraction or a percentage
    /// [default: 0.01%; `solve` with a time limit then goes on for four times as long again, at
    /// most for half of the limit, for what is better still]
    #[arg(short, long, value_name = "GAP", value_parser = parse_gap)]
    pub gap: Option<f64>,
    /// Nodes of the tree solved side by side; changes the tree. 0 for four, and with a time limit
    /// for one per thread if those are more
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub lanes: u16,
    /// Threads and seed
    #[command(flatten)]
    pub workers: WorkerOptions,
}

impl SolveOptions {
    /// Settings of a solve with these.
    pub fn settings(&self) -> Settings {
        let settings = Settings {
            time_limit: self.time_limit,
            lanes: usize::from(self.lanes),
            ..self.workers.settings()
        };
        match self.gap {
            Some(gap) => settings.with_gap(gap),
            None => settings,
        }
    }
}
