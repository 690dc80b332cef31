//! Data shared by the workers of a round, and their reports.

use crate::mip::branching::pseudocost::{Observation, PseudoCosts};
use crate::mip::clock::Stop;
use crate::mip::control::{NodeEvent, Observer};
use crate::mip::cuts::Tables;
use crate::mip::debug_solution::DebugSolution;
use crate::mip::domain::clauses::{Clause, Learned};
use crate::mip::extend::Extensions;
use crate::mip::outcome::Solution;
use crate::mip::presolve::Postsolve;
use crate::mip::problem::Problem;
use crate::mip::relaxation::ExtraRow;
use crate::mip::relaxation::conflict::Conflict;
use crate::mip::settings::Settings;
use crate::mip::statistics::Statistics;
use crate::mip::symmetry::Symmetry;
use crate::mip::tree::TreeNode;
use remat_lp::Model;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The name of a solution's finder. (Under its own name, `serde` would try to borrow it.)
type Finder = &'static str;

/// A checked solution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Incumbent {
    /// In minimised form.
    pub objective: f64,
    /// In the columns of the working problem.
    pub x: Vec<f64>,
    /// In the columns of the original model.
    pub original: Vec<f64>,
    #[serde(with = "finder")]
    pub found_by: Finder,
    /// True if it was reported to the observers.
    #[serde(skip)]
    pub is_told: bool,
}

impl Incumbent {
    /// The solution in terms of the original model.
    pub fn solution(&self, model: &Model) -> Solution {
        Solution {
            objective: model.objective(&self.original),
            x: self.original.clone(),
            found_by: self.found_by,
        }
    }

    /// Reports the solution to the observers, if there are any and it was not reported yet.
    pub fn tell(&mut self, model: &Model, observers: &[Arc<dyn Observer>]) {
        if self.is_told || observers.is_empty() {
            return;
        }
        let solution = self.solution(model);
        for o in observers {
            o.incumbent(&solution);
        }
        self.is_told = true;
    }
}

/// Maps finders' names from state files to static strings: the files outlive their process.
mod finder {
    use serde::{Deserialize, Deserializer, Serializer};

    const KNOWN: [&str; 14] = [
        "reduced costs",
        "crossover",
        "local branching",
        "relaxation",
        "rounding",
        "dive",
        "jump",
        "exchange",
        "fixing",
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

/// Data that workers of an opportunistic search read during a plunge.
pub(crate) struct Live {
    /// The bits of the upper limit on new solutions' objectives.
    cutoff: AtomicU64,
    /// Number of idle workers.
    pub hungry: AtomicUsize,
    /// True if plunges should end.
    pub pause: AtomicBool,
}

impl Live {
    pub fn new(cutoff: f64) -> Live {
        Live {
            cutoff: AtomicU64::new(cutoff.to_bits()),
            hungry: AtomicUsize::new(0),
            pause: AtomicBool::new(false),
        }
    }

    pub fn cutoff(&self) -> f64 {
        f64::from_bits(self.cutoff.load(Ordering::Relaxed))
    }

    /// Called only by the thread of the search.
    pub fn lower_cutoff(&self, cutoff: f64) {
        if cutoff < self.cutoff() {
            self.cutoff.store(cutoff.to_bits(), Ordering::Relaxed);
        }
    }
}

/// Data that all workers read and that no worker changes during a round.
#[derive(Clone)]
pub(crate) struct RoundShared {
    pub problem: Arc<Problem>,
    pub original: Arc<Model>,
    pub postsolve: Arc<Postsolve>,
    pub settings: Settings,
    pub extensions: Extensions,
    /// True if an observer watches the nodes.
    pub watches_nodes: bool,
    /// Collector of component counts.
    pub statistics: Option<Arc<Statistics>>,
    /// True if the search emits events.
    pub emits_events: bool,
    /// Global rows in addition to the problem's.
    pub rows: Vec<Arc<ExtraRow>>,
    /// Rows for propagation only.
    pub conflicts: Vec<Conflict>,
    pub clauses: Vec<Learned>,
    /// `Some` if the problem has symmetry.
    pub symmetry: Option<Arc<Symmetry>>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub pseudo: PseudoCosts,
    pub incumbent: Option<Incumbent>,
    pub cutoff: f64,
    pub lower_bound: f64,
    /// A known solution that debug builds carry along.
    pub debug: Option<DebugSolution>,
    pub locks: Arc<Vec<(usize, usize)>>,
    /// Tables for the separators, built at their first use.
    pub tables: Arc<OnceLock<Tables>>,
    pub stop: Stop,
    /// Simplex iterations of the root's first relaxation, a measure of the work of one relaxation.
    pub root_iterations: u64,
    /// `Some` in an opportunistic search.
    pub live: Option<Arc<Live>>,
    /// Observers of solutions at the time of their discovery. Only a worker that searches alone has
    /// them; the order of several workers' solutions is known only at the end of their round.
    pub audience: Vec<Arc<dyn Observer>>,
    /// Threads of the search that are idle while one worker searches alone.
    pub idle: Option<Arc<rayon::ThreadPool>>,
}

impl RoundShared {
    pub fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| {
            let probing = self.settings.probing && self.settings.nesting == 0;
            Tables::new(
                &self.problem,
                (&self.lower, &self.upper),
                probing,
                self.stop.flag(),
            )
        })
    }

    /// The upper limit on new solutions' objectives, given the incumbent's: an improvement must
    /// exceed rounding. Deductions use this limit regardless of the gaps, so a search that has
    /// closed its tree has proven the objective, not only the gap.
    pub fn cutoff_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        let absolute = self.absolute_gap().min(ABSOLUTE_ROUNDING);
        let relative = s.relative_gap.min(RELATIVE_ROUNDING);
        self.below(objective, absolute.max(relative * objective.abs()))
    }

    /// The bound at which nodes are left unexplored, given the incumbent's objective: its gaps are
    /// met.
    pub fn limit_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        self.below(
            objective,
            self.absolute_gap().max(s.relative_gap * objective.abs()),
        )
    }

    /// The absolute gap of the settings. A gap that is only rounding is rounding in any units: it
    /// does not grow with the scale of the costs.
    pub fn absolute_gap(&self) -> f64 {
        let (gap, scale) = (self.settings.absolute_gap, self.problem.scale());
        if gap <= ABSOLUTE_ROUNDING {
            gap * scale.min(1.0)
        } else {
            gap * scale
        }
    }

    /// The same bound for the present incumbent.
    pub fn limit(&self) -> f64 {
        let best = self.incumbent.as_ref();
        best.map_or(self.cutoff, |s| {
            self.limit_for(s.objective).min(self.cutoff)
        })
    }

    fn below(&self, objective: f64, gap: f64) -> f64 {
        let step = self.problem.objective_step;
        match self.problem.step_below(objective) {
            Some(next) => (objective - gap).min(next + 1e-6 * step.min(1.0)),
            None => objective - gap,
        }
    }

    /// Returns whether a plunge should return its nodes.
    pub fn paused(&self) -> bool {
        self.stopped() || (self.live.as_ref()).is_some_and(|l| l.pause.load(Ordering::Relaxed))
    }

    pub fn stopped(&self) -> bool {
        self.stop.is_raised()
    }
}

/// Differences of two objectives that count as rounding, unless the gaps of the settings are
/// smaller: absolute, and as a share of the objective.
const ABSOLUTE_ROUNDING: f64 = 1e-9;
const RELATIVE_ROUNDING: f64 = 1e-7;

/// Report that a worker hands back.
#[derive(Default)]
pub(crate) struct WorkerReport {
    pub open: Vec<TreeNode>,
    pub solutions: Vec<Incumbent>,
    /// Solutions no better than the incumbent, if a pool is wanted.
    pub others: Vec<Incumbent>,
    pub observations: Vec<Observation>,
    pub rows: Vec<Arc<ExtraRow>>,
    /// Rows learned from closed nodes, and the numbers of the useful ones.
    pub learned: Vec<Arc<ExtraRow>>,
    pub used: Vec<u64>,
    /// Clauses learned, and the numbers of the useful ones.
    pub clauses: Vec<Arc<Clause>>,
    pub used_clauses: Vec<u64>,
    /// Relaxation of the last split node.
    pub relaxed: Option<Vec<f64>>,
    /// Bounds found by strong branching and reduced costs at the root: they hold everywhere.
    pub root_bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// Changes of nodes, if an observer watches them; bounds in minimised form.
    pub events: Vec<NodeEvent>,
    pub nodes: u64,
    /// Number of its nodes that started a plunge.
    pub plunges: u64,
    pub strong: u64,
    pub refused: u64,
    /// Least bound among the remaining leaves: within the gaps, or numerically unresolved.
    pub left_bound: f64,
}

impl WorkerReport {
    pub fn new() -> WorkerReport {
        WorkerReport {
            left_bound: f64::INFINITY,
            ..Default::default()
        }
    }
}
