//! `remat-bb lp`.

use clap::{Args, ValueEnum};
use remat_formulations::options::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const LP_ABOUT: &str = "\
Solve a linear program by the simplex or the barrier method: MPS (fixed or free format) or CPLEX LP, plain or gzipped. Integer markers are \
ignored: the relaxation is solved. The result is checked against the original model, without the solver's own \
numbers, before it is shown.";

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Method that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LpMethod {
    /// Barrier where the program's size and structure make it faster; else dual, unless the
    /// starting basis is primal feasible and not dual feasible
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

The object that --json prints has the fields status (optimal, infeasible, unbounded, limit or interrupted), version, objective, \
bound (proven by the dual values, safe in floating point), model, rows, cols, nonzeros, relaxed_integers, presolved (rows, columns, \
nonzeros), lp_iterations, barrier_iterations, crossover_pushes (among lp_iterations), factorisations, seconds, certificate (accepted, none, or why not), primal_violation, \
dual_violation, primal_residual and dual_residual (of the basic solution, in the model's units), and permuted (the seed of \
--permute). What is not known is null.

Exit codes: 0 optimal or unbounded, 2 bad usage or input, 3 proven infeasible, 4 limit reached.")]
pub struct LpArguments {
    /// Linear program: MPS, or CPLEX LP where the name ends in .lp; plain or gzipped
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
    /// Refine an optimal solution until residuals are below 1e-9 in the model's own units
    #[arg(long)]
    pub refine: bool,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// End after so many iterations, of the simplex and the barrier method together
    #[arg(long, value_name = "N")]
    pub iteration_limit: Option<u64>,
    /// Write the solution here (column names and values)
    #[arg(long, value_name = "FILE.sol")]
    pub solution: Option<PathBuf>,
    /// Solve the program with its rows and columns in a random order, another one for each seed; the
    /// solution is in the file's own
    #[arg(long, value_name = "SEED")]
    pub permute: Option<u64>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No log and no notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
