//! User settings: tolerances, strategy, limits.

use crate::model::CONTRADICTION;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Method that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Primal if the basis is primal but not dual feasible (columns arrived), dual otherwise.
    #[default]
    Auto,
    /// Dual simplex, with a primal clean-up where needed.
    Dual,
    /// Primal simplex, with a dual clean-up where needed.
    Primal,
    /// Barrier method, crossover to a basis, and a clean-up by the simplex method. It starts afresh,
    /// whatever the present basis.
    Barrier,
}

/// Limits of one call of [`Solver::solve`](crate::Solver::solve). The default has none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Stop after so many simplex iterations.
    pub iterations: Option<u64>,
    /// Stop after so much deterministic work (about one unit per matrix or factor entry touched).
    pub ticks: Option<u64>,
    /// Stop with [`LpOutcome::CutoffReached`](crate::LpOutcome::CutoffReached) as soon as the
    /// optimum is known to be no better than this, in the model's own sense and units.
    pub objective_cutoff: Option<f64>,
    /// Stop soon after another thread sets this.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// Tolerances and switches of a [`Solver`](crate::Solver).
///
/// ```
/// let s = remat_lp::Settings { scaling: false, ..Default::default() };
/// assert_eq!(s.primal_tolerance, 1e-7);
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Largest violation of a bound or row, in the model's units, that counts as none.
    pub primal_tolerance: f64,
    /// Largest wrong-signed reduced cost, in the model's units, that counts as none.
    pub dual_tolerance: f64,
    /// Method that leads.
    pub algorithm: Algorithm,
    /// Geometric scaling of rows and columns by powers of two.
    pub scaling: bool,
    /// Cost perturbation in the dual, bound perturbation in the primal, against stalling.
    pub perturbation: bool,
    /// Seed of the perturbations and of random tie breaking. Same seed, same answer.
    pub seed: u64,
    /// Refactor after at most so many basis changes.
    pub max_updates: usize,
    /// Rows that are out of the way at the last optimum are left out of the factorisation until one
    /// of them is violated, if basic columns have at least so many entries in them; and where
    /// attractive columns and violated rows arrive together, the primal takes the columns before
    /// the dual takes the rows. `None`: neither. The end is the same.
    pub lazy_rows: Option<usize>,
    /// Refine optimal solutions until residuals and wrong reduced costs are below 1e-9 in the
    /// model's units, where double precision allows it ([`refine`](crate::refine)).
    pub refine: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            primal_tolerance: CONTRADICTION,
            dual_tolerance: 1e-7,
            algorithm: Algorithm::Auto,
            scaling: true,
            perturbation: true,
            seed: 1,
            max_updates: 500,
            lazy_rows: Some(10_000),
            refine: false,
        }
    }
}
