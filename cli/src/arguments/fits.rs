//! Arguments of `fits`.

use clap::Args;
use remat_formulations::options::parse_duration;
use std::time::Duration;

pub(super) const FITS_ABOUT: &str = "\
Tell whether a training step fits into an amount of memory: as it is, with recomputation, or not at all.

STEP is a training graph, or FILE.py:NAME in the Python package. There NAME is a function without arguments that returns \
(model, inputs) or (model, inputs, optimizer). The file is run, but the step is not: its operators compute only sizes, so \
the model may be larger than this machine. The Python form estimates the step of eager torch with its optimizer; a graph \
has no optimizer.

A step that needs recomputation gets a quick plan, and its cost. `solve` finds cheaper ones.";

/// `remat-bb fits`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb fits train.py:step --budget 24GiB
  remat-bb fits train.py:step --budget cuda --json
  remat-bb fits zoo:resnet50 --budget 1GiB

`remat-bb schema fits` describes the object that --json prints for a graph. For a Python file `breakdown`, `activations` and \
`peaks` are added.

Exit codes: 0 the step fits, as it is or with recomputation, 2 bad usage or input, 3 proven: no stage schedule fits, 4 no \
plan was found that fits.")]
pub struct FitsArguments {
    /// Instance file, zoo:MODEL?parameter=value&..., or FILE.py:NAME
    #[arg(value_name = "STEP")]
    pub step: String,
    /// Memory: bytes, with a unit (24GiB), a share of the step's peak (60%); cuda for this GPU
    #[arg(short, long, value_name = "B")]
    pub budget: String,
    /// FILE.py:NAME: device of the step, cpu or cuda
    #[arg(long, value_name = "D")]
    pub device: Option<String>,
    /// FILE.py:NAME: gradients of earlier steps are in memory
    #[arg(long)]
    pub accumulate: bool,
    /// Graphs: time of the search if no heuristic fits
    #[arg(short, long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
}
