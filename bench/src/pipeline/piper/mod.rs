//! Piper's networks on equal devices, without tensor and data parallelism.
//!
//! A stage is a difference of two downsets. With `k` stages from it to the end it holds `k`
//! micro-batches, and all sends of a stage are part of its time, both as in Piper (Tarnawski,
//! Narayanan and Phanishayee, NeurIPS 2021). The objective is `sum_s T_s + (n - 1) max_s T_s`.
//!
//! | module | concept |
//! |---|---|
//! | `network` | the files |
//! | `stage` | recomputation in one stage |
//! | `intervals` | all stages |
//! | `reference` | Piper's own plan |
//! | `plan` | the best plan, and the replay |
//! | `chart` | the picture |

mod chart;
mod intervals;
mod network;
mod plan;
mod reference;
mod stage;
#[cfg(test)]
mod tests;

use crate::clock::Stopwatch;
use crate::pipeline::{PipelineBenchError, Table, files, gap_percent};
use clap::Args;
use intervals::Recomputation;
use network::{MEMORY_UNITS, Network, TIME_UNITS};
use plan::{Counted, Plan, Problem};
use std::path::PathBuf;

pub use chart::draw;

/// `remat-bench pipeline piper`
#[derive(Args, Debug)]
pub struct PiperArguments {
    /// Folder with Piper's networks (.json, .json.gz), or with a folder `piper` that has them
    pub data: PathBuf,
    /// Numbers of devices
    #[arg(long, value_delimiter = ',', default_value = "8,16,32")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=512))]
    pub devices: Vec<u64>,
    /// Micro-batches for each device; 0 for the number in the file
    #[arg(long, value_delimiter = ',', default_value = "1,4,0")]
    pub microbatches: Vec<u64>,
    /// Memory of a device in GiB; 0 for the memory in the file
    #[arg(long, value_delimiter = ',', default_value = "1.5,2,4,6,8,0")]
    pub gib: Vec<f64>,
    /// Write the table to this file too (CSV)
    #[arg(long)]
    pub csv: Option<PathBuf>,
    /// Draw the table to this file (SVG)
    #[arg(long)]
    pub svg: Option<PathBuf>,
}

/// The line above the rows. Times are in the unit of the file; seconds are processor time for both
/// plans.
pub const HEADER: &str = "instance,recomputation,devices,microbatches,budget_bytes,stages,\
                          changed_layers,objective,bound,gap_percent,seconds,piper_stages,\
                          piper_objective,saved_percent,slowest,piper_slowest";

/// Runs the comparison; returns whether no plan was above Piper's and every plan could run.
///
/// # Errors
/// [`PipelineBenchError`] of the first network that cannot be read.
pub fn run(arguments: &PiperArguments) -> Result<bool, PipelineBenchError> {
    let inner = arguments.data.join("piper");
    let folder = match inner.is_dir() {
        true => &inner,
        false => &arguments.data,
    };
    let mut is_right = true;
    let (csv, svg) = (arguments.csv.as_deref(), arguments.svg.as_deref());
    let mut table = Table::new(HEADER, csv, svg)?;
    for path in files(folder, "", &[".json", ".json.gz"])? {
        let network = Network::read(&path)?;
        if let Err(reason) = network.downsets() {
            println!("skipped: {}: {reason}", network.name);
            continue;
        }
        for problem in problems(&network, arguments) {
            let row = row(&problem);
            let row = row.map_err(|e| PipelineBenchError::Content(path.clone(), e))?;
            if let Some(row) = row {
                table.line(&row.text);
                is_right &= row.is_right;
            }
        }
    }
    if let Some(svg) = svg {
        table.files.write(svg, &draw("--svg", &table.text)?)?;
    }
    table.write()?;
    Ok(is_right)
}

/// The problems of one network; the smallest budgets come first.
fn problems<'a>(network: &'a Network, arguments: &PiperArguments) -> Vec<Problem<'a>> {
    let mut all = Vec::new();
    for &gib in &arguments.gib {
        let budget = match gib > 0.0 {
            true => (gib * f64::from(1 << 30) * MEMORY_UNITS) as u64,
            false => network.memory,
        };
        for &devices in &arguments.devices {
            for &each in &arguments.microbatches {
                let microbatches = match each {
                    0 => network.microbatches,
                    _ => each.saturating_mul(devices),
                };
                for recomputation in [Recomputation::Whole, Recomputation::Layers] {
                    all.push(Problem {
                        network,
                        recomputation,
                        budget,
                        devices,
                        microbatches,
                    });
                }
            }
        }
    }
    all
}

struct Row {
    text: String,
    is_right: bool,
}

/// One line; `None` if no plan fits.
fn row(problem: &Problem<'_>) -> Result<Option<Row>, String> {
    let watch = Stopwatch::start();
    let (ours, piper) = problem.solve()?;
    let seconds = watch.seconds();
    let (Some(ours), Some(piper)) = (&ours, &piper) else {
        return match ours.is_none() && piper.is_none() {
            true => Ok(None),
            false => Err("one search found a plan where the other one found no plan".into()),
        };
    };
    let (our, their) = (problem.replay(ours)?, problem.replay(piper)?);
    Ok(Some(Row {
        text: line(problem, seconds, (ours, our), (piper, their)),
        is_right: our.objective <= their.objective && ours.bound <= our.objective,
    }))
}

fn line(
    problem: &Problem<'_>,
    seconds: f64,
    (ours, our): (&Plan, Counted),
    (piper, their): (&Plan, Counted),
) -> String {
    let recomputation = match problem.recomputation {
        Recomputation::Whole => "whole",
        Recomputation::Layers => "layers",
    };
    let changed: usize = ours.stages.iter().map(|s| s.changed.len()).sum();
    let time = |units: u64| units as f64 / TIME_UNITS;
    let (value, bound) = (our.objective as f64, ours.bound as f64);
    format!(
        "{},{recomputation},{},{},{},{},{changed},{},{},{:.4},{seconds:.3},{},{},{:.3},{},{}",
        problem.network.name,
        problem.devices,
        problem.microbatches,
        (problem.budget as f64 / MEMORY_UNITS) as u64,
        ours.stages.len(),
        time(our.objective),
        time(ours.bound),
        gap_percent(value, bound),
        piper.stages.len(),
        time(their.objective),
        gap_percent(their.objective as f64, value),
        time(our.slowest),
        time(their.slowest),
    )
}
