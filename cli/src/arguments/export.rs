//! Arguments of `export`.

use super::memory::variant;
use clap::{Args, ValueEnum};
use remat_instances::Semantics;
use remat_instances::order::Variant;
use std::path::PathBuf;
use std::str::FromStr;

/// The integer programs that can be written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportedProgram {
    /// Checkmate's program as published (Jain et al., MLSys 2020, section 4)
    CheckmateOriginal,
    /// The same without frontier-advancing stages, for comparison
    CheckmateUnpartitioned,
    /// The interval form of Checkmate's program: a binary for every stretch of time that a tensor may
    /// spend in memory
    CheckmateInterval,
    /// MONeT's program as published (Shah et al., ICLR 2021)
    MonetOriginal,
    /// The same with the tighter of the paper's bounds on local memory (appendix B)
    MonetTight,
    /// OLLA's program of order and addresses together (arXiv 2210.12924, 9)
    Olla,
    /// OLLA's program of the order (14)
    OllaOrder,
    /// OLLA's program of addresses for given lives (15)
    OllaPlace,
}

impl ExportedProgram {
    /// Semantics of the schedules that it is about.
    pub fn semantics(self) -> Semantics {
        match self {
            ExportedProgram::MonetOriginal | ExportedProgram::MonetTight => Semantics::Monet,
            _ => Semantics::Checkmate,
        }
    }

    /// Returns whether it is one of OLLA's, which have no budget.
    pub fn is_olla(self) -> bool {
        use ExportedProgram::{Olla, OllaOrder, OllaPlace};
        matches!(self, Olla | OllaOrder | OllaPlace)
    }
}

/// Time steps that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportSteps {
    /// Number of steps.
    Count(u32),
    /// As many as operators.
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

OLLA's programs (olla, olla-order, olla-place) are of a graph that `order` takes, without a budget; olla-place is of a table of \
lives (.csv) as `place` takes it, or of a graph and an order. Their values are in bytes, resident memory included where there is a graph and no \
given order.

The object that --json prints has the fields version, instance, instance_sha256, formulation, budget_bytes, unit_bytes, rows, columns, nonzeros, \
published_rows and published_nonzeros (with fixings and bounds counted as rows, as the published runs did; null for \
checkmate-interval, checkmate-unpartitioned and OLLA's), file, infeasible_because, and variant and steps (of OLLA's programs).

Exit codes: 0 written, 2 bad usage or input, 3 infeasible: some node does not fit the budget, so nothing does (not told of \
monet-tight, which charges less). The program is written all the same, where it can be stated: checkmate-interval cannot.")]
pub struct ExportArguments {
    /// Instance file, or zoo:MODEL?parameter=value&...; for OLLA's programs a graph (remat-order/1)
    /// as well, or a table of lives (.csv)
    pub instance: PathBuf,
    /// File to write: MPS (.mps) or CPLEX LP (.lp), gzipped where .gz follows
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Memory budget, as for `solve`; OLLA's programs have none
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Integer program to write
    #[arg(short, long, value_enum, value_name = "F")]
    pub formulation: ExportedProgram,
    /// Size that one unit of memory in the program stands for, such as 1KiB [default, and the most: a
    /// power of two near a thousandth of the budget]; not for checkmate-interval and OLLA's programs,
    /// which choose their own
    #[arg(long, value_name = "SIZE")]
    pub unit: Option<String>,
    /// Edges that orders respect, as for `order`: free, sound, sound+rng or ctl [default:
    /// sound+rng]; of OLLA's programs
    #[arg(long, value_name = "V", value_parser = variant())]
    pub variant: Option<Variant>,
    /// Time steps of olla and olla-order: a number, or operators for one step each, so that no
    /// order is lost [default: as published, the number of operators on the longest path and 1% more]
    #[arg(long, value_name = "T", conflicts_with = "timestep_factor")]
    pub steps: Option<ExportSteps>,
    /// Factor of the published number of time steps [default: 1]
    #[arg(long, value_name = "X", value_parser = factor)]
    pub timestep_factor: Option<f64>,
    /// Order whose lives olla-place is of, as `order --out` writes it [default: that of the program]
    #[arg(long, value_name = "ORDER.json")]
    pub order: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a line
    #[arg(long)]
    pub json: bool,
}
