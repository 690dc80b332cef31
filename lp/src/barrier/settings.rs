//! Settings of the barrier method, and its tunable numbers.

/// Tolerances and switches of a [`Barrier`](super::Barrier).
///
/// ```
/// let loose = remat_lp::BarrierSettings { gap_tolerance: 1e-3, ..Default::default() };
/// assert_eq!(loose.residual_tolerance, 1e-8);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierSettings {
    /// Largest final residual of the rows and bounds, relative to one plus the largest right-hand
    /// side, and of the reduced costs, relative to one plus the largest cost.
    pub residual_tolerance: f64,
    /// Largest final difference between primal and dual objective, relative to one plus the
    /// objective. Column generation stops early with a loose one.
    pub gap_tolerance: f64,
    /// Scale rows and columns.
    pub scaling: bool,
    /// Largest number of iterations.
    pub max_iterations: u64,
    /// Numbers not meant to be set by users.
    pub tuning: BarrierTuning,
}

impl Default for BarrierSettings {
    fn default() -> Self {
        BarrierSettings {
            residual_tolerance: 1e-8,
            gap_tolerance: 1e-8,
            scaling: true,
            max_iterations: 200,
            tuning: BarrierTuning::default(),
        }
    }
}

/// Tunable numbers of the barrier method. Evidence: `bench/results/lp-barrier.csv`,
/// `docs/inside/decisions/087-barrier.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierTuning {
    /// Columns with more entries than this share of the rows are kept out of the factorisation.
    pub dense_share: f64,
    /// Entries up to which no column counts as dense.
    pub dense_entries: usize,
    /// Largest number of columns kept out of the factorisation.
    pub dense_cols: usize,
    /// Centrality correctors an iteration, at most (Gondzio 1996).
    pub correctors: usize,
    /// Share of the largest step that is always taken (Mehrotra 1992).
    pub step_share: f64,
    /// Relative residual at which the conjugate gradients that refine a solve stop.
    pub refine_residual: f64,
    /// Steps of conjugate gradients a solve, at most.
    pub refine_steps: usize,
    /// Proximal term of free columns, in units of the barrier parameter over the square of
    /// one plus the column's value.
    pub free_proximity: f64,
    /// Pivots of the factorisation below this share of the matrix's diagonal are replaced.
    pub least_pivot: f64,
}

impl Default for BarrierTuning {
    fn default() -> Self {
        BarrierTuning {
            dense_share: 0.1,
            dense_entries: 200,
            dense_cols: 200,
            correctors: 2,
            step_share: 0.9,
            refine_residual: 1e-10,
            refine_steps: 30,
            free_proximity: 0.01,
            least_pivot: 1e-16,
        }
    }
}
