//! Mixed-integer programs and their equivalents in other units: the answers must agree, and the
//! work must be similar (metamorphic testing; Chen, Cheung & Yiu 1998).
//!
//! | module | concept |
//! |---|---|
//! | `variant` | programs derived from a program, with the relation of their optima |
//! | `shop` | job shops, whose big-M and placeholders for infinity are parameters |

pub mod shop;
pub mod variant;

use crate::netlib::{self, BenchError};
use remat_lp::Model;
use remat_solver::mip::{Limits, Settings, SolveStatus, Solver};
use std::path::PathBuf;
use std::sync::Arc;

/// Factor of a variant's ticks within which its work counts as the same.
pub const SAME_WORK: f64 = 1.5;

/// Ticks that every solve has at hand, so that small programs are not compared by their last node.
const SPARE_TICKS: u64 = 20_000_000;

/// A variant ends at this multiple of its limit for the same work.
const PATIENCE: u64 = 4;

/// Relative difference of two optima that counts as rounding. Gaps are 1e-7.
const ROUNDING: f64 = 1e-6;

/// Arguments of `remat-bench metamorphic`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folders with .mps and .lp files, plain or gzipped, or such files
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Ticks of a program's first solve; programs that need more are left out
    #[arg(long, default_value_t = 1_000_000_000)]
    pub ticks: u64,
    /// Only files whose names contain one of these
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Seed of all random choices
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// End of one solve.
#[derive(Clone, Debug)]
pub struct MetamorphicRun {
    /// End of the search.
    pub status: SolveStatus,
    /// The point and its objective, if there is one.
    pub best: Option<(Vec<f64>, f64)>,
    /// Bound on the objective.
    pub bound: f64,
    /// Nodes of the tree.
    pub nodes: u64,
    /// Simplex iterations.
    pub pivots: u64,
    /// Work, in ticks.
    pub ticks: u64,
}

/// A variant's answer beside the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same answer with similar work.
    Same,
    /// The same answer, or none before the limit, with more work.
    Slower,
    /// Another answer.
    Wrong,
}

/// Solves a program on one thread.
///
/// # Errors
/// The solver refuses the program.
pub fn solve(
    model: &Arc<Model>,
    limits: Limits,
    seed: u64,
) -> Result<MetamorphicRun, Box<dyn std::error::Error>> {
    let settings = Settings {
        limits,
        threads: 1,
        seed,
        ..Settings::default()
    };
    let result = Solver::new(model.clone(), settings).run()?;
    Ok(MetamorphicRun {
        status: result.status,
        best: result.solution.map(|s| (s.x, s.objective)),
        bound: result.dual_bound,
        nodes: result.info.nodes,
        pivots: result.info.lp_iterations,
        ticks: result.info.ticks,
    })
}

/// The ticks within which a variant must end, if its program took these.
pub fn same_work(ticks: u64) -> u64 {
    (SAME_WORK * ticks as f64) as u64 + SPARE_TICKS
}

/// Compares a variant, whose objective is `factor` times the program's, with the program, which is
/// solved to the end.
pub fn compare(plain: &MetamorphicRun, other: &MetamorphicRun, factor: f64) -> Comparison {
    let objective = |run: &MetamorphicRun| run.best.as_ref().map(|b| b.1);
    let is_same = match (objective(plain), objective(other)) {
        _ if other.status != plain.status => other.status == SolveStatus::TickLimit,
        (Some(a), Some(b)) => (a - b / factor).abs() <= ROUNDING * a.abs().max(1e-3),
        (a, b) => a.is_none() && b.is_none(),
    };
    match is_same {
        false => Comparison::Wrong,
        true if other.ticks > same_work(plain.ticks) => Comparison::Slower,
        true => Comparison::Same,
    }
}

/// Shifted geometric mean of ratios of work.
struct MeanRatio {
    logs: f64,
    count: u32,
}

impl MeanRatio {
    fn add(&mut self, plain: u64, other: u64) {
        let shifted = |ticks: u64| (ticks + SPARE_TICKS) as f64;
        self.logs += (shifted(other) / shifted(plain)).ln();
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        (self.logs / f64::from(self.count.max(1))).exp()
    }
}

/// Solves every program and its variants, and hands a table to `say`, line by line. Returns whether
/// all answers agree and the mean work of each variant is similar.
///
/// # Errors
/// A folder or file that cannot be read, or a program that the solver refuses.
pub fn run(
    args: &Arguments,
    mut say: impl FnMut(&str),
) -> Result<bool, Box<dyn std::error::Error>> {
    let mut is_clean = true;
    let variants = variant::all();
    let mut means: Vec<MeanRatio> = (variants.iter())
        .map(|_| MeanRatio {
            logs: 0.0,
            count: 0,
        })
        .collect();
    say(
        "program                          variant           ticks/1e6   ratio    nodes   pivots  end",
    );
    for path in files(args)? {
        let name = netlib::stem(&path);
        let model = Arc::new(netlib::read(&path)?);
        let limits = Limits {
            ticks: Some(args.ticks),
            ..Limits::default()
        };
        let plain = solve(&model, limits, args.seed)?;
        let is_done = matches!(plain.status, SolveStatus::Optimal | SolveStatus::Infeasible);
        let end = format!("{:?}", plain.status).to_lowercase();
        say(&line(&name, "as it is", &plain, plain.ticks, &end));
        if !is_done {
            continue;
        }
        for (variant, mean) in variants.iter().zip(&mut means) {
            let Some(other) = variant.of(&model, plain.best.as_ref().map(|b| b.0.as_slice()))
            else {
                continue;
            };
            let limits = Limits {
                ticks: Some(PATIENCE * same_work(plain.ticks)),
                ..Limits::default()
            };
            let run = solve(&Arc::new(other), limits, args.seed)?;
            mean.add(plain.ticks, run.ticks);
            let verdict = compare(&plain, &run, variant.factor());
            is_clean &= verdict != Comparison::Wrong;
            let end = format!("{verdict:?}").to_lowercase();
            say(&line(&name, &variant.to_string(), &run, plain.ticks, &end));
        }
    }
    say("");
    for (variant, mean) in variants.iter().zip(&means) {
        let ratio = mean.mean();
        is_clean &= ratio <= SAME_WORK;
        say(&format!(
            "{:<16} {:>4} programs, {ratio:.3} times the work in the shifted geometric mean",
            variant.to_string(),
            mean.count
        ));
    }
    Ok(is_clean)
}

fn files(args: &Arguments) -> Result<Vec<PathBuf>, BenchError> {
    let mut files = Vec::new();
    for path in &args.paths {
        files.extend(netlib::files(path)?);
    }
    let wanted = |path: &PathBuf| {
        let name = netlib::stem(path);
        args.only.is_empty() || args.only.iter().any(|o| name.contains(o.as_str()))
    };
    files.retain(wanted);
    Ok(files)
}

fn line(name: &str, variant: &str, run: &MetamorphicRun, plain: u64, end: &str) -> String {
    format!(
        "{name:<32} {variant:<16} {:>10.1} {:>7.2} {:>8} {:>8}  {end}",
        run.ticks as f64 / 1e6,
        run.ticks as f64 / plain.max(1) as f64,
        run.nodes,
        run.pivots,
    )
}
