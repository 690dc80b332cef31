//! User settings: tolerances, switches, limits.

use crate::mip::outcome::SolveError;
use crate::threads::pool;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Limits of a solve, all disabled by default. Only `seconds` and `interrupt` depend on the clock:
/// with the other limits, the same input gives the same tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Wall-clock seconds.
    pub seconds: Option<f64>,
    /// Nodes of the tree.
    pub nodes: Option<u64>,
    /// Deterministic work units (about one per matrix entry touched).
    pub ticks: Option<u64>,
    /// Bytes of open nodes in memory. With a folder for node files
    /// ([`crate::mip::Control::node_files`]) the least promising nodes are moved there; without it,
    /// the search ends.
    pub memory_bytes: Option<u64>,
    /// Flag by which another thread stops the search at the next node.
    #[serde(skip)]
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Confirmation of claims about models whose numbers lie far apart. A small model is solved in
/// rational numbers. A claim of infeasibility is tested by a second search without presolve.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confirmation {
    /// Ratio of a row's largest number to its smallest coefficient from which on the row is wide.
    /// Infinite disables the test. Below 1e9, doubles with a tolerance of 1e-7 can distinguish the
    /// terms.
    pub row_ratio: f64,
    /// Size from which on sides and bounds are large. Infinite disables the test. From 1e12 on, a
    /// tolerance of 1e-12 of them is a whole unit.
    pub side_size: f64,
    /// Limit on the entries of a model that is solved in rational numbers: a node takes
    /// milliseconds.
    pub entries: usize,
    /// Limit on the columns of such a model.
    pub columns: usize,
    /// Limit on the nodes of the tree in rational numbers: some seconds.
    pub nodes: u64,
    /// Limit on the ticks of that tree's relaxations: about 0.7 s. Numbers far apart may make them
    /// cycle.
    pub ticks: u64,
}

impl Confirmation {
    /// Limits that disable the confirmation of claims.
    pub fn none() -> Confirmation {
        Confirmation {
            row_ratio: f64::INFINITY,
            side_size: f64::INFINITY,
            ..Confirmation::default()
        }
    }
}

impl Default for Confirmation {
    fn default() -> Confirmation {
        Confirmation {
            row_ratio: 1e9,
            side_size: 1e12,
            entries: 120,
            columns: 40,
            nodes: 1_000,
            ticks: 100_000_000,
        }
    }
}

/// Order in which open nodes are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeSelection {
    /// Smallest bound first.
    BestBound,
    /// Smallest estimate of the best solution below first, periodically the best bound.
    #[default]
    BestEstimate,
    /// Deepest first.
    DepthFirst,
}

/// Tolerances and switches of a solve.
///
/// ```
/// let s = remat_solver::mip::Settings { cuts: false, ..Default::default() };
/// assert_eq!(s.integrality_tolerance, 1e-6);
/// ```
///
/// Any format of `serde` can supply them. Missing settings keep their defaults; an unknown name is
/// an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Limits.
    pub limits: Limits,
    /// Stop when `primal - dual <= relative_gap * |primal|`.
    pub relative_gap: f64,
    /// Stop when `primal - dual <= absolute_gap`, in the model's units. Values up to 1e-9 count as
    /// rounding: if costs are small, they are gaps of the scaled objective.
    pub absolute_gap: f64,
    /// Largest violation of a row or bound in a solution (or a billionth of the side, if that is
    /// more).
    pub feasibility_tolerance: f64,
    /// Largest distance from an integer that counts as integral in the linear relaxation. Solutions
    /// are rounded exactly.
    pub integrality_tolerance: f64,
    /// Objective (in the model's sense) that solutions must improve on.
    pub cutoff: Option<f64>,
    /// Prune only by verified Farkas proofs and by bounds that cover all rounding errors.
    pub safe_bounds: bool,
    /// Confirm the claim of the search in rational numbers: [`crate::mip::SolveResult::exact`].
    /// With gaps of 0 the answer is the exact optimum of the file's decimals.
    pub exact: bool,
    /// Confirmation of claims about models whose numbers lie far apart.
    pub confirmation: Confirmation,
    /// Reduce the model first.
    pub presolve: bool,
    /// Repeat presolve and the root if the root fixes many columns.
    pub restarts: bool,
    /// Probe binaries in presolve.
    pub probing: bool,
    /// Bound propagation at nodes.
    pub propagation: bool,
    /// Fix by reduced costs.
    pub reduced_cost_fixing: bool,
    /// Learn rows for propagation from closed nodes.
    pub conflicts: bool,
    /// Learn clauses over bounds from closed nodes, at the first unique implication point.
    pub clauses: bool,
    /// Tighten bounds at nodes by symmetry of the program. Disabled if extensions branch, separate
    /// or propagate, because they may break the symmetry of the rows.
    pub symmetry: bool,
    /// Cutting planes at the root.
    pub cuts: bool,
    /// Cutting planes at nodes of the tree, valid below them.
    pub local_cuts: bool,
    /// Limit on separation rounds at the root.
    pub cut_rounds: usize,
    /// Primal heuristics.
    pub heuristics: bool,
    /// Heuristics that solve restricted programs (RINS, RENS).
    pub sub_mips: bool,
    /// Strong branching until a column has this many observations in each direction; 0 disables it.
    pub reliability: u32,
    /// Order of nodes.
    pub node_selection: NodeSelection,
    /// Worker threads. The tree does not depend on their number, unless `opportunistic` is set.
    pub threads: usize,
    /// Workers take nodes as soon as they are idle instead of in rounds. This is faster on several
    /// threads, but the tree and the choice among optimal solutions depend on timing.
    pub opportunistic: bool,
    /// Number of best solutions to keep for [`crate::mip::SolveResult::pool`].
    pub pool_size: usize,
    /// Limit on the lanes of a parallel round. The tree depends on it.
    pub round_width: usize,
    /// Points to start from, one number per column of the model; infeasible ones are ignored.
    #[serde(skip)]
    pub starts: Vec<Vec<f64>>,
    /// A point known to be feasible. Debug builds stop if a cut, a reduction or a pruned node loses
    /// it although it is better than the incumbent. Ignored in release builds.
    #[serde(skip)]
    pub debug_solution: Option<Vec<f64>>,
    /// Number of enclosing searches: restricted programs have restricted programs themselves, up to
    /// a depth.
    #[doc(hidden)]
    #[serde(skip)]
    pub nesting: u32,
    /// Seed of all pseudo-random choices.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            limits: Limits::default(),
            relative_gap: 1e-7,
            absolute_gap: 1e-9,
            feasibility_tolerance: 1e-6,
            integrality_tolerance: 1e-6,
            cutoff: None,
            safe_bounds: true,
            exact: false,
            confirmation: Confirmation::default(),
            presolve: true,
            restarts: true,
            probing: true,
            propagation: true,
            reduced_cost_fixing: true,
            conflicts: true,
            clauses: true,
            symmetry: true,
            cuts: true,
            local_cuts: true,
            cut_rounds: 60,
            heuristics: true,
            sub_mips: true,
            reliability: 4,
            node_selection: NodeSelection::default(),
            threads: 1,
            opportunistic: false,
            pool_size: 1,
            round_width: 4,
            starts: Vec::new(),
            debug_solution: None,
            nesting: 0,
            seed: 0,
        }
    }
}

/// Limit on threads, for every command.
pub const MOST_THREADS: usize = 1024;

impl Settings {
    /// Ticks at which a restricted program ends immediately; other searches end between plunges.
    pub(crate) fn hard_ticks(&self) -> Option<u64> {
        self.limits.ticks.filter(|_| self.nesting > 0)
    }

    /// Checks every value. [`Solver::run`](crate::mip::Solver::run) calls it; programs that read
    /// settings may call it earlier.
    ///
    /// ```
    /// let s = remat_solver::mip::Settings { cutoff: Some(f64::NAN), ..Default::default() };
    /// let problem = s.validate().unwrap_err().to_string();
    /// assert_eq!(problem, "setting `cutoff` is NaN: a finite number is needed");
    /// ```
    ///
    /// # Errors
    /// [`SolveError::Setting`] for the first invalid value, with a description of valid ones.
    pub fn validate(&self) -> Result<(), SolveError> {
        let from = |low: f64, high: f64| move |v: f64| (low..high).contains(&v);
        let tolerance = |v: f64| (1e-10..=1e-3).contains(&v);
        let count = |high: usize| move |v: f64| (1.0..=high as f64).contains(&v);
        type Check<'a> = (&'static str, f64, &'a dyn Fn(f64) -> bool, &'static str);
        let checks: [Check<'_>; 11] = [
            (
                "relative_gap",
                self.relative_gap,
                &from(0.0, 1.0),
                "a number from 0 to below 1",
            ),
            (
                "absolute_gap",
                self.absolute_gap,
                &from(0.0, f64::INFINITY),
                "a finite number not below 0",
            ),
            (
                "feasibility_tolerance",
                self.feasibility_tolerance,
                &tolerance,
                "a number from 1e-10 to 1e-3",
            ),
            (
                "integrality_tolerance",
                self.integrality_tolerance,
                &tolerance,
                "a number from 1e-10 to 1e-3",
            ),
            (
                "cutoff",
                self.cutoff.unwrap_or(0.0),
                &f64::is_finite,
                "a finite number",
            ),
            (
                "limits.seconds",
                self.limits.seconds.unwrap_or(0.0),
                &from(0.0, MOST_SECONDS),
                "a number of seconds from 0 to 1e12",
            ),
            (
                "confirmation.row_ratio",
                self.confirmation.row_ratio,
                &|v| v >= 1.0,
                "a number not below 1, or inf",
            ),
            (
                "confirmation.side_size",
                self.confirmation.side_size,
                &|v| v >= 1.0,
                "a number not below 1, or inf",
            ),
            (
                "threads",
                self.threads as f64,
                &count(MOST_THREADS),
                "a number from 1 to 1024",
            ),
            (
                "pool_size",
                self.pool_size as f64,
                &count(100_000),
                "a number from 1 to 100000",
            ),
            (
                "round_width",
                self.round_width as f64,
                &count(255),
                "a number from 1 to 255",
            ),
        ];
        for (name, value, is_right, expected) in checks {
            if !is_right(value) {
                return Err(SolveError::Setting {
                    name,
                    value: value.to_string(),
                    expected,
                });
            }
        }
        Ok(())
    }
}

impl Settings {
    /// The seed of the first random number.
    pub(crate) fn first_seed(&self) -> u64 {
        self.seed.wrapping_add(1)
    }
}

/// Limit on a time, below the overflow of clocks.
const MOST_SECONDS: f64 = 1e12;

/// Threads for the rounds of a search; `None` if one is enough, or if the system has no more.
pub(crate) fn thread_pool(threads: usize) -> Option<Arc<rayon::ThreadPool>> {
    (threads > 1).then(|| pool(threads))?.ok().map(Arc::new)
}
