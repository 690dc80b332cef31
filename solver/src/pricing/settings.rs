//! What a user may set, and what comes out.

use crate::mip::outcome::SolveStatus;
use crate::mip::settings::Limits;

/// Tolerances and switches of a branch-price-and-cut search.
///
/// ```
/// use remat_solver::pricing::PriceSettings;
/// let s = PriceSettings { smoothing: 0.0, ..Default::default() };
/// assert_eq!(s.columns_per_round, 100);
/// ```
#[derive(Clone, Debug)]
pub struct PriceSettings {
    /// Limits. Ticks are those of the linear programs; a limit on memory is refused.
    pub limits: Limits,
    /// Settings of the linear programming core.
    pub lp: remat_lp::Settings,
    /// Stop when `incumbent - bound <= relative_gap * |incumbent|`.
    pub relative_gap: f64,
    /// Stop when `incumbent - bound <= absolute_gap`.
    pub absolute_gap: f64,
    /// A column pays if its reduced cost is below minus this times one plus its cost.
    pub reduced_cost_tolerance: f64,
    /// Largest distance from an integer that counts as none.
    pub integrality_tolerance: f64,
    /// Columns added at most after one solve.
    pub columns_per_round: usize,
    /// Weight of the stability centre in dual smoothing; 0 turns it off.
    pub smoothing: f64,
    /// Columns dear and separated rows slack for so many solves leave the linear program; 0 for never.
    pub purge_age: u32,
    /// Columns (and rows) that the pool holds at most.
    pub pool_limit: usize,
    /// Look for columns that pay in the pool before pricing. Not worth it where pricing is quicker than looking.
    pub pool_pricing: bool,
    /// Rounds of cuts at the root.
    pub root_cut_rounds: usize,
    /// Rounds of cuts at other nodes.
    pub node_cut_rounds: usize,
    /// Candidates of a branching tried in the restricted master; 0 or 1 takes the first. More of them make fewer nodes: on
    /// three assignments of 40 jobs 6 candidates took 654 nodes and 18 s, none 1,022 nodes and 11 s; where pricing is dear
    /// nodes count for more.
    pub strong_branching: usize,
    /// Diving with pricing and the restricted master as an integer program.
    pub heuristics: bool,
    /// Nodes between dives; dives come at the root and then after so many nodes of a worker.
    pub dive_every: u64,
    /// Nodes between solves of the restricted master as an integer program (the first one comes after the root).
    pub restricted_every: u64,
    /// Nodes a worker does in one go, following one child after the other.
    pub plunge: u64,
    /// Most plunges in a round. The tree depends on it.
    pub round_width: usize,
    /// Worker threads. The tree does not depend on it.
    pub threads: usize,
    /// Only solutions better than this are wanted.
    pub cutoff: Option<f64>,
    /// Progress lines on standard error.
    pub log: bool,
}

impl Default for PriceSettings {
    fn default() -> Self {
        PriceSettings {
            limits: Limits::default(),
            lp: remat_lp::Settings::default(),
            relative_gap: 1e-7,
            absolute_gap: 1e-9,
            reduced_cost_tolerance: 1e-7,
            integrality_tolerance: 1e-6,
            columns_per_round: 100,
            smoothing: 0.5,
            purge_age: 15,
            pool_limit: 50_000,
            pool_pricing: true,
            root_cut_rounds: 30,
            node_cut_rounds: 3,
            strong_branching: 3,
            heuristics: true,
            dive_every: 50,
            restricted_every: 100,
            plunge: 20,
            round_width: 4,
            threads: 1,
            cutoff: None,
            log: false,
        }
    }
}

/// Counters of a branch-price-and-cut search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PriceInfo {
    /// Nodes done.
    pub nodes: u64,
    /// Solves of restricted masters, dives and strong branching not counted.
    pub lp_solves: u64,
    /// Simplex iterations, all of them.
    pub lp_iterations: u64,
    /// Deterministic work units of the linear programs.
    pub ticks: u64,
    /// Calls of [`super::Pricer::price`].
    pub pricings: u64,
    /// Calls of [`super::Pricer::price`] with a Farkas proof.
    pub farkas_pricings: u64,
    /// Calls of [`super::Pricer::bound`].
    pub bounds: u64,
    /// Smoothed prices at which nothing paid under the master's own.
    pub mispricings: u64,
    /// Columns that came from pricing.
    pub priced_columns: u64,
    /// Columns that came from the pool.
    pub pool_columns: u64,
    /// Rows that were separated.
    pub separated_rows: u64,
    /// Rows that came back from the pool.
    pub pool_rows: u64,
    /// Columns that left a linear program.
    pub purged_columns: u64,
    /// Rows that left a linear program.
    pub purged_rows: u64,
    /// Nodes closed by their bound while columns still paid.
    pub early_prunes: u64,
    /// Nodes that Farkas pricing proved infeasible.
    pub infeasible_nodes: u64,
    /// Dives.
    pub dives: u64,
    /// Restricted masters solved as integer programs.
    pub restricted_masters: u64,
    /// Candidates that the check of the domain refused.
    pub refused: u64,
    /// Proven bound at the end of the root node.
    pub root_bound: f64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl PriceInfo {
    /// Adds the counters of a worker; iterations and ticks are read off the masters.
    pub(crate) fn add(&mut self, other: &PriceInfo) {
        self.nodes += other.nodes;
        self.lp_solves += other.lp_solves;
        self.pricings += other.pricings;
        self.farkas_pricings += other.farkas_pricings;
        self.bounds += other.bounds;
        self.mispricings += other.mispricings;
        self.priced_columns += other.priced_columns;
        self.pool_columns += other.pool_columns;
        self.separated_rows += other.separated_rows;
        self.pool_rows += other.pool_rows;
        self.purged_columns += other.purged_columns;
        self.purged_rows += other.purged_rows;
        self.early_prunes += other.early_prunes;
        self.infeasible_nodes += other.infeasible_nodes;
        self.dives += other.dives;
        self.restricted_masters += other.restricted_masters;
        self.refused += other.refused;
    }
}

/// A solution, accepted by the check of the domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent<C> {
    /// Objective that the check returned, offset included.
    pub objective: f64,
    /// Columns with their integral values.
    pub columns: Vec<(C, f64)>,
    /// Who found it.
    pub found_by: &'static str,
}

/// The result of a branch-price-and-cut search.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceResult<C> {
    /// Why it ended.
    pub status: SolveStatus,
    /// The best solution found.
    pub incumbent: Option<Incumbent<C>>,
    /// No solution is better than this; proven. Infinite if there is none at all.
    pub bound: f64,
    /// Counters.
    pub info: PriceInfo,
}

/// What makes a search impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PriceError {
    /// The linear programming core refused a row or column: the domain gave a coefficient that is not finite, or bounds
    /// that cross.
    #[error(transparent)]
    Model(#[from] remat_lp::ModelError),
    /// A setting makes no sense.
    #[error("setting `{name}` is {value}: {expected}")]
    Setting {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The solution carried along (`BranchAndPrice::with_debug_solution`) contradicts the search: a defect of the
    /// domain or of the search.
    #[error("the debug solution of objective {objective} contradicts {what}")]
    DebugSolution {
        /// Objective of the solution.
        objective: f64,
        /// What it contradicts.
        what: String,
    },
}
