//! User settings: tolerances, strategy, limits.

use crate::model::CONTRADICTION;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Primary solution method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Primal if the basis is primal but not dual feasible (after new columns), dual otherwise.
    #[default]
    Auto,
    /// Dual simplex, with a primal clean-up if needed.
    Dual,
    /// Primal simplex, with a dual clean-up if needed.
    Primal,
    /// Barrier method, crossover to a basis, and a clean-up by the simplex method. It starts afresh
    /// and ignores the present basis.
    Barrier,
}

/// Limits of one call of [`Solver::solve`](crate::Solver::solve). By default there are no limits.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Stop after this number of simplex iterations.
    pub iterations: Option<u64>,
    /// Stop after this amount of deterministic work (about one unit per matrix or factor entry
    /// touched).
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
    /// Largest accepted violation of a bound or row, in the model's units.
    pub primal_tolerance: f64,
    /// Largest accepted wrong-signed reduced cost, in the model's units. If all costs are below 1,
    /// they are first multiplied by a power of two ([`cost_scale`](crate::cost_scale)).
    pub dual_tolerance: f64,
    /// Primary method.
    pub algorithm: Algorithm,
    /// Geometric scaling of rows and columns by powers of two.
    pub scaling: bool,
    /// Cost perturbation in the dual, bound perturbation in the primal, against stalling.
    pub perturbation: bool,
    /// Seed of the perturbations and of random tie breaking. The same seed gives the same answer.
    pub seed: u64,
    /// Largest number of basis changes between factorisations.
    pub max_updates: usize,
    /// Enables lazy rows if basic columns have at least this many entries in slack rows. Rows that
    /// are slack at the last optimum are then left out of the factorisation until one of them is
    /// violated. When attractive columns and violated rows arrive together, the primal simplex
    /// handles the columns before the dual handles the rows. `None` disables both. The optimum is
    /// the same.
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
