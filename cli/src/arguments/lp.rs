//! Arguments of `lp`.

use clap::{Args, ValueEnum};
use remat_formulations::options::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const LP_ABOUT: &str = "\
Solve a linear program by the simplex or the barrier method.

The file is MPS (fixed or free format) or CPLEX LP, plain or gzipped. Integer markers are ignored: the relaxation is solved. \
Independent code checks the result against the original model.";

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Method of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LpMethod {
    /// Barrier if size and structure make it faster, else dual, or primal if the starting basis is
    /// primal feasible and not dual feasible
    Auto,
    /// Dual simplex
    Dual,
    /// Primal simplex
    Primal,
    /// Barrier method, then crossover to a vertex
    Barrier,
}

/// `remat-bb lp`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb lp afiro.mps.gz
  remat-bb lp diet.lp --solution diet.sol --json

`remat-bb schema lp` describes the object that --json prints.

Exit codes: 0 optimal or unbounded, 2 bad usage or input, 3 proven infeasible, 4 limit reached.")]
pub struct LpArguments {
    /// Linear program: MPS, or CPLEX LP (.lp), plain or gzipped
    pub file: PathBuf,
    /// Reduce the program before solving
    #[arg(long, value_enum, value_name = "on|off", default_value = "on")]
    pub presolve: Switch,
    /// Scale rows and columns
    #[arg(long, value_enum, value_name = "on|off", default_value = "on")]
    pub scaling: Switch,
    /// Simplex or barrier method
    #[arg(
        long,
        alias = "method",
        value_enum,
        value_name = "METHOD",
        default_value = "auto"
    )]
    pub algorithm: LpMethod,
    /// Refine an optimal solution until residuals are below 1e-9
    ///
    /// Residuals are in the model's own units.
    #[arg(long)]
    pub refine: bool,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// End after this number of iterations, of simplex and barrier together
    #[arg(long, value_name = "N")]
    pub iteration_limit: Option<u64>,
    /// Write the solution: column names and values
    #[arg(long, value_name = "FILE.sol")]
    pub solution: Option<PathBuf>,
    /// Solve with rows and columns in a random order
    ///
    /// Each seed has another order. The solution is in the order of the file.
    #[arg(long, value_name = "SEED", hide_short_help = true)]
    pub permute: Option<u64>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No log and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
