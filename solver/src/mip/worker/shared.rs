//! Data that the workers of a round share, and what each hands back.

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
    /// True if the observers know of it.
    #[serde(skip)]
    pub is_told: bool,
}

impl Incumbent {
    /// The solution in terms of the model given.
    pub fn solution(&self, model: &Model) -> Solution {
        Solution {
            objective: model.objective(&self.original),
            x: self.original.clone(),
            found_by: self.found_by,
        }
    }

    /// Tells observers, if there are any and nobody was told yet.
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

/// Names of finders outlive the process in state files.
mod finder {
    use serde::{Deserialize, Deserializer, Serializer};

    const KNOWN: [&str; 13] = [
        "reduced costs",
        "crossover",
        "local branching",
        "relaxation",
        "rounding",
        "dive",
        "jump",
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

/// Data that workers without rounds look at while they plunge.
pub(crate) struct Live {
    /// The bits of the value solutions must be below.
    cutoff: AtomicU64,
    /// Workers that have nothing to do.
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

    /// Only the thread of the search does this.
    pub fn lower_cutoff(&self, cutoff: f64) {
        if cutoff < self.cutoff() {
            self.cutoff.store(cutoff.to_bits(), Ordering::Relaxed);
        }
    }
}

/// Data that all workers see and none changes during a round.
#[derive(Clone)]
pub(crate) struct RoundShared {
    pub problem: Arc<Problem>,
    pub original: Arc<Model>,
    pub postsolve: Arc<Postsolve>,
    pub settings: Settings,
    pub extensions: Extensions,
    /// True if somebody watches the nodes.
    pub watches_nodes: bool,
    /// Counts of parts go here.
    pub statistics: Option<Arc<Statistics>>,
    /// True if the search emits events.
    pub emits_events: bool,
    /// Global rows beyond the problem's.
    pub rows: Vec<Arc<ExtraRow>>,
    /// Rows for propagation only.
    pub conflicts: Vec<Conflict>,
    pub clauses: Vec<Learned>,
    /// Set where there is any.
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
    /// Tables for the separators, made when the first of them asks.
    pub tables: Arc<OnceLock<Tables>>,
    pub stop: Stop,
    /// Simplex iterations of the root's first relaxation, a measure of what one is worth.
    pub root_iterations: u64,
    /// Set in an opportunistic search.
    pub live: Option<Arc<Live>>,
    /// Told of solutions as they are found: the observers while one worker searches alone, or
    /// nobody, as the order of what several find is known at the end of their round.
    pub audience: Vec<Arc<dyn Observer>>,
    /// Threads of the search that have nothing to do while one worker searches alone.
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

    /// The value solutions must be below, given the best one known, to be better by more than
    /// rounding: deductions rest on it, whatever the gaps are, so that a search that has closed its
    /// tree has proven the objective and not the gap.
    pub fn cutoff_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        let absolute = s.absolute_gap.min(ABSOLUTE_ROUNDING);
        let relative = s.relative_gap.min(RELATIVE_ROUNDING);
        self.below(objective, absolute.max(relative * objective.abs()))
    }

    /// The bound from which nodes are left as they are, given the best solution: its gaps are met.
    pub fn limit_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        self.below(
            objective,
            s.absolute_gap.max(s.relative_gap * objective.abs()),
        )
    }

    /// The same for the best solution known.
    pub fn limit(&self) -> f64 {
        let best = self.incumbent.as_ref();
        best.map_or(self.cutoff, |s| {
            self.limit_for(s.objective).min(self.cutoff)
        })
    }

    fn below(&self, objective: f64, gap: f64) -> f64 {
        let step = self.problem.objective_step;
        match step > 0.0 {
            true => (objective - gap).min(objective - step + 1e-6 * step.min(1.0)),
            false => objective - gap,
        }
    }

    /// Returns whether a plunge should hand back what it has.
    pub fn paused(&self) -> bool {
        self.stopped() || (self.live.as_ref()).is_some_and(|l| l.pause.load(Ordering::Relaxed))
    }

    pub fn stopped(&self) -> bool {
        self.stop.is_raised()
    }
}

/// Differences of two objectives that are rounding, where the gaps of the settings are not smaller:
/// absolute, and as a share of the objective.
const ABSOLUTE_ROUNDING: f64 = 1e-9;
const RELATIVE_ROUNDING: f64 = 1e-7;

/// Report that a worker hands back.
#[derive(Default)]
pub(crate) struct WorkerReport {
    pub open: Vec<TreeNode>,
    pub solutions: Vec<Incumbent>,
    /// Solutions that are not better than the best, where a pool is wanted.
    pub others: Vec<Incumbent>,
    pub observations: Vec<Observation>,
    pub rows: Vec<Arc<ExtraRow>>,
    /// Rows learned from closed nodes, and the numbers of those that were of use.
    pub learned: Vec<Arc<ExtraRow>>,
    pub used: Vec<u64>,
    /// The same for clauses.
    pub clauses: Vec<Arc<Clause>>,
    pub used_clauses: Vec<u64>,
    /// Relaxation of the last node that was split.
    pub relaxed: Option<Vec<f64>>,
    /// Bounds that strong branching and reduced costs found at the root: they hold everywhere.
    pub root_bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// Changes of nodes, where somebody watches; bounds in minimised form.
    pub events: Vec<NodeEvent>,
    pub nodes: u64,
    /// Nodes that it was given and began with.
    pub plunges: u64,
    pub strong: u64,
    pub refused: u64,
    /// Least bound among leaves that are left: within the gaps, or numerically unsettled.
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
