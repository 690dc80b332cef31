//! What the workers of a round share, and what each hands back.

use crate::branching::pseudocost::{Observation, PseudoCosts};
use crate::debug_solution::DebugSolution;
use crate::presolve::Postsolve;
use crate::problem::Problem;
use crate::relaxation::ExtraRow;
use crate::settings::Settings;
use crate::solver::Extensions;
use crate::tree::Node;
use remat_lp::Model;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of who found a solution. (Under its own name, `serde` would try to borrow it.)
type Finder = &'static str;

/// A checked solution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Incumbent {
    /// Minimised form.
    pub objective: f64,
    /// In the columns of the working problem.
    pub x: Vec<f64>,
    /// In the columns of the model given.
    pub original: Vec<f64>,
    #[serde(with = "finder")]
    pub found_by: Finder,
}

/// Names of finders outlive the process in state files.
mod finder {
    use serde::{Deserialize, Deserializer, Serializer};

    const KNOWN: [&str; 12] = [
        "reduced costs",
        "crossover",
        "local branching",
        "relaxation",
        "rounding",
        "dive",
        "jump",
        "pump",
        "RINS",
        "RENS",
        "mutation",
        "start",
    ];

    pub fn serialize<S: Serializer>(name: &&'static str, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<&'static str, D::Error> {
        let name = String::deserialize(d)?;
        let known = KNOWN.iter().find(|k| **k == name);
        Ok(known.copied().unwrap_or("run before"))
    }
}

/// What all workers see and none changes during a round.
pub(crate) struct Shared {
    pub problem: Arc<Problem>,
    pub original: Arc<Model>,
    pub postsolve: Postsolve,
    pub settings: Settings,
    pub extensions: Extensions,
    /// Global rows beyond the problem's.
    pub rows: Vec<Arc<ExtraRow>>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub pseudo: PseudoCosts,
    pub incumbent: Option<Incumbent>,
    pub cutoff: f64,
    pub lower_bound: f64,
    pub locks: Vec<(usize, usize)>,
    /// A known solution that debug builds carry along.
    pub debug: Option<DebugSolution>,
    pub stop: Arc<AtomicBool>,
    /// Simplex iterations of the root's first relaxation, a measure of what one is worth.
    pub root_iterations: u64,
}

impl Shared {
    /// The value solutions must be below, given the best one known.
    pub fn cutoff_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        let gap = s.absolute_gap.max(s.relative_gap * objective.abs());
        let mut cutoff = objective - gap;
        let step = self.problem.objective_step;
        if step > 0.0 {
            cutoff = cutoff.min(objective - step + 1e-6 * step.min(1.0));
        }
        cutoff
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a worker hands back.
#[derive(Default)]
pub(crate) struct Report {
    pub open: Vec<Node>,
    pub solutions: Vec<Incumbent>,
    /// Solutions that are not better than the best, where a pool is wanted.
    pub others: Vec<Incumbent>,
    pub observations: Vec<Observation>,
    pub rows: Vec<Arc<ExtraRow>>,
    /// Relaxation of the last node that was split.
    pub relaxed: Option<Vec<f64>>,
    /// Bounds that strong branching and reduced costs found at the root: they hold everywhere.
    pub root_bounds: Option<(Vec<f64>, Vec<f64>)>,
    pub nodes: u64,
    pub strong: u64,
    pub refused: u64,
    /// Least bound among leaves that could not be settled.
    pub unresolved_bound: f64,
}

impl Report {
    pub fn new() -> Report {
        Report {
            unresolved_bound: f64::INFINITY,
            ..Default::default()
        }
    }
}
