//! Arguments of `export`.

use super::memory::variant;
use clap::{Args, ValueEnum};
use remat_instances::Semantics;
use remat_instances::order::Variant;
use std::path::PathBuf;
use std::str::FromStr;

/// Integer programs for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportedProgram {
    /// Checkmate's published program (Jain et al., MLSys 2020, section 4)
    CheckmateOriginal,
    /// Checkmate's program without frontier-advancing stages, for comparison
    CheckmateUnpartitioned,
    /// Checkmate's interval form: a binary for every stretch of time that a tensor may spend in
    /// memory
    CheckmateInterval,
    /// MONeT's published program (Shah et al., ICLR 2021)
    MonetOriginal,
    /// MONeT's program with the tighter of the paper's bounds on local memory (appendix B)
    MonetTight,
    /// OLLA's program of order and addresses together (arXiv 2210.12924, 9)
    Olla,
    /// OLLA's program of the order (14)
    OllaOrder,
    /// OLLA's program of addresses for given lives (15)
    OllaPlace,
}

impl ExportedProgram {
    /// Semantics of its schedules.
    pub fn semantics(self) -> Semantics {
        match self {
            ExportedProgram::MonetOriginal | ExportedProgram::MonetTight => Semantics::Monet,
            _ => Semantics::Checkmate,
        }
    }

    /// Returns whether it is one of OLLA's programs, which have no budget.
    pub fn is_olla(self) -> bool {
        use ExportedProgram::{Olla, OllaOrder, OllaPlace};
        matches!(self, Olla | OllaOrder | OllaPlace)
    }
}

/// Requested time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSteps {
    /// Number of steps.
    Count(u32),
    /// One step for each operator.
    Operators,
}

impl FromStr for ExportSteps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("operators", _) => Ok(ExportSteps::Operators),
            (_, Ok(steps)) if steps > 0 => Ok(ExportSteps::Count(steps)),
            _ => Err("give a number of steps from 1 on, or operators for one step each".into()),
        }
    }
}

/// A factor of the published number of steps.
fn factor(text: &str) -> Result<f64, String> {
    let known = text.parse::<f64>().ok();
    let known = known.filter(|f| f.is_finite() && *f > 0.0);
    known.ok_or_else(|| "give a number larger than 0, such as 1.5".into())
}

/// `remat-bb export`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb export zoo:resnet18 --budget 80% --formulation checkmate-original resnet18.mps.gz
  remat-bb export graph.json --budget 6GiB --formulation monet-original --unit 1KiB program.lp
  remat-bb export zoo:unet --formulation olla-order --steps operators order.mps.gz
  remat-bb export zoo:unet --formulation olla-order --variant free order.lp
  remat-bb export lives.csv --formulation olla-place place.mps

OLLA's programs (olla, olla-order, olla-place) take a graph as `order` takes it, without a budget. olla-place takes a table \
of lives (.csv) as `place` takes it, or a graph and an order. Their values are in bytes, and include resident memory for a \
graph without a given order.

`remat-bb schema export` describes the object that --json prints.

Exit codes: 0 written, 2 bad usage or input, 3 infeasible: some node exceeds the budget, so no plan fits (not reported for \
monet-tight, which charges less). The program is still written if it can be stated; checkmate-interval cannot.")]
pub struct ExportArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...
    ///
    /// OLLA's programs also take a graph (remat-order/1) or a table of lives (.csv).
    pub instance: PathBuf,
    /// File to write: MPS (.mps) or CPLEX LP (.lp), gzipped if .gz follows
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Memory budget, as for `solve`; not for OLLA's programs
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Integer program to write
    #[arg(short, long, value_enum, value_name = "F")]
    pub formulation: ExportedProgram,
    /// Size of one unit of memory in the program, such as 1KiB
    ///
    /// Default, and the most: a power of two near a thousandth of the budget. checkmate-interval
    /// and OLLA's programs choose their own unit.
    #[arg(long, value_name = "SIZE")]
    pub unit: Option<String>,
    /// Edges that orders respect, as for `order` [default: sound+rng]
    ///
    /// OLLA's programs have this option.
    #[arg(long, value_name = "V", value_parser = variant())]
    pub variant: Option<Variant>,
    /// Time steps of olla and olla-order: a number, or `operators`
    ///
    /// `operators` has one step for each operator, which keeps all orders. Default: the published
    /// number, operators on the longest path and 1% more.
    #[arg(long, value_name = "T", conflicts_with = "timestep_factor")]
    pub steps: Option<ExportSteps>,
    /// Factor for the published number of time steps [default: 1]
    #[arg(long, value_name = "X", value_parser = factor)]
    pub timestep_factor: Option<f64>,
    /// Order for olla-place, from `order --out` [default: the program's]
    #[arg(long, value_name = "ORDER.json")]
    pub order: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a line
    #[arg(long)]
    pub json: bool,
}
