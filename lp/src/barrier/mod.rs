//! A primal-dual interior point method, for programs where the simplex method takes too many
//! pivots, and for points in the middle of the optimal face.
//!
//! - `program.rs`: the scaled program in standard form.
//! - `cholesky.rs`, `normal.rs`: normal equations, dense columns apart, refined by conjugate
//!   gradients.
//! - `augmented.rs`: the augmented system, for quadratic objectives.
//! - `newton.rs`, `step.rs`: directions and steps (Mehrotra's predictor and corrector, Gondzio's
//!   centrality correctors).
//! - `start.rs`: starting points, cold and warm. `iterate.rs`: points and their residuals.
//! - `run.rs`: the loop and its ends. `report.rs`: its events.
//! - `settings.rs`: tolerances and tunable numbers.
//!
//! [`Algorithm::Barrier`](crate::Algorithm::Barrier) continues from the point to a vertex with its
//! basis (`crate::crossover`).

mod augmented;
mod choice;
mod cholesky;
mod iterate;
mod newton;
mod normal;
mod program;
mod report;
mod run;
mod settings;
mod start;
mod step;

use crate::model::{Model, ModelError};
use crate::outcome::{FarkasRay, LimitKind};
use crate::quadratic::Quadratic;
use crate::settings::Limits;
pub(crate) use choice::pays;
use program::BarrierProgram;
use run::BarrierRun;
pub use settings::{BarrierSettings, BarrierTuning};
use std::sync::Arc;

/// A point of the barrier method, in the model's units and sense; duals have the signs of
/// [`Solution`](crate::Solution).
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierPoint {
    /// Value of every column. Within bounds up to the residuals of the method.
    pub x: Vec<f64>,
    /// Dual value of every row.
    pub y: Vec<f64>,
    /// Multiplier of every column's bounds: near `cost - A^T y`. When minimising, it is positive at
    /// lower bounds and negative at upper ones; when maximising, the signs are reversed.
    pub z: Vec<f64>,
    /// Average product of a distance to a bound and its multiplier, in units of the objective.
    pub mu: f64,
    /// Objective of `x`, offset included.
    pub primal_objective: f64,
    /// Objective of `(y, z)`, offset included. Not a proven bound: for that see
    /// [`safe_bound`](crate::certificate::safe_bound) of `y`.
    pub dual_objective: f64,
    /// Largest residual of rows and bounds, relative to one plus the largest right-hand side, in
    /// the scaled program.
    pub primal_residual: f64,
    /// Largest residual of the reduced costs, relative to one plus the largest cost, in the scaled
    /// program.
    pub dual_residual: f64,
}

/// Ending of a run of the barrier method.
#[derive(Clone, Debug, PartialEq)]
pub enum BarrierEnd {
    /// Residuals and gap are within the tolerances of the settings.
    Optimal(BarrierPoint),
    /// No feasible point exists; the proof was checked
    /// ([`check_farkas`](crate::certificate::check_farkas)).
    Infeasible(FarkasRay),
    /// The iterates diverge or stagnate: the program may be infeasible, unbounded, or hard. The
    /// point is the best one met.
    Unsettled(BarrierPoint),
    /// A limit ended the run, at this point.
    Limit(LimitKind, BarrierPoint),
}

impl BarrierEnd {
    /// The last or best point; `None` if the program is infeasible.
    pub fn point(&self) -> Option<&BarrierPoint> {
        match self {
            BarrierEnd::Optimal(p) | BarrierEnd::Unsettled(p) | BarrierEnd::Limit(_, p) => Some(p),
            BarrierEnd::Infeasible(_) => None,
        }
    }
}

/// The barrier method on a model, without crossover: the point is near the middle of the optimal
/// face and its duals are central. For a vertex use
/// [`Algorithm::Barrier`](crate::Algorithm::Barrier) in a [`Solver`](crate::Solver).
///
/// ```
/// use remat_lp::{Barrier, BarrierEnd, BarrierSettings, ModelBuilder, Sense};
/// // min x + y, x + y >= 2: every point between (0, 2) and (2, 0) is optimal.
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(1.0, 0.0..);
/// let y = b.add_col(1.0, 0.0..);
/// b.add_row(2.0.., [(x, 1.0), (y, 1.0)]);
/// let mut barrier = Barrier::new(b.build()?, BarrierSettings::default());
/// let BarrierEnd::Optimal(p) = barrier.solve() else { panic!() };
/// assert!((p.primal_objective - 2.0).abs() < 1e-6 && (p.y[0] - 1.0).abs() < 1e-6);
/// assert!((p.x[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
///
/// Sources: S. Mehrotra 1992; J. Gondzio 1996; for columns generated at central duals J. Gondzio,
/// P. González-Brevis & P. Munari, *New developments in the primal-dual column generation
/// technique*, European J. of Operational Research 224 (2013).
pub struct Barrier {
    model: Arc<Model>,
    quadratic: Option<Arc<Quadratic>>,
    settings: BarrierSettings,
    limits: Limits,
    iterations: u64,
    ticks: u64,
}

impl Barrier {
    /// A barrier method for a model.
    pub fn new(model: impl Into<Arc<Model>>, settings: BarrierSettings) -> Barrier {
        Barrier {
            model: model.into(),
            quadratic: None,
            settings,
            limits: Limits::default(),
            iterations: 0,
            ticks: 0,
        }
    }

    /// Adds a quadratic part to the objective, which must be convex
    /// ([`Quadratic::check_convex`]). Reduced costs are those of its linearisation at the point.
    pub fn with_quadratic(mut self, quadratic: impl Into<Arc<Quadratic>>) -> Barrier {
        let quadratic = quadratic.into();
        self.quadratic = (!quadratic.is_empty()).then_some(quadratic);
        self
    }

    /// Sets the limits of each following solve. The iteration limit counts barrier iterations; an
    /// objective cutoff is ignored.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Iterations of all solves.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Deterministic work of all solves, about one unit per matrix or factor entry touched.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Solves from Mehrotra's starting point.
    pub fn solve(&mut self) -> BarrierEnd {
        self.run(None)
    }

    /// Solves from a point of this model or of one with fewer rows or columns at the end: missing
    /// values and duals count as zero. The point is shifted into the interior. It saves iterations
    /// if it is not too near the boundary, as after a solve with loose tolerances.
    ///
    /// ```
    /// use remat_lp::{Barrier, BarrierEnd, BarrierSettings, ModelBuilder, Sense};
    /// let model = |columns: usize| {
    ///     let mut b = ModelBuilder::new(Sense::Minimise);
    ///     let cols: Vec<_> = (0..columns).map(|k| (b.add_col(3.0 - k as f64, 0.0..), 1.0)).collect();
    ///     b.add_row(2.0.., cols);
    ///     b.build()
    /// };
    /// let loose = BarrierSettings { gap_tolerance: 1e-2, ..Default::default() };
    /// let BarrierEnd::Optimal(p) = Barrier::new(model(1)?, loose).solve() else { panic!() };
    /// let mut next = Barrier::new(model(2)?, BarrierSettings::default());
    /// let BarrierEnd::Optimal(q) = next.solve_from(&p)? else { panic!() };
    /// assert!((q.primal_objective - 4.0).abs() < 1e-6);
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelError::Length`] if the point has more columns or rows than the model.
    pub fn solve_from(&mut self, start: &BarrierPoint) -> Result<BarrierEnd, ModelError> {
        let (m, n) = (self.model.num_rows(), self.model.num_cols());
        for (what, expected, found) in [
            ("columns of the starting point", n, start.x.len()),
            ("rows of the starting point", m, start.y.len()),
        ] {
            if found > expected {
                return Err(ModelError::Length {
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(self.run(Some(start)))
    }

    fn run(&mut self, start: Option<&BarrierPoint>) -> BarrierEnd {
        if let Some(ray) = FarkasRay::of_crossed(&self.model) {
            return BarrierEnd::Infeasible(ray);
        }
        let mut program = BarrierProgram::new(&self.model, self.settings.scaling);
        let quadratic = self.quadratic.as_deref();
        if let Some(quadratic) = quadratic {
            program = program.with_quadratic(&self.model, quadratic);
        }
        let (settings, limits) = (&self.settings, &self.limits);
        let mut run = BarrierRun::new(&self.model, &program, settings, limits, quadratic);
        let end = run.solve(start);
        self.iterations += run.iterations;
        self.ticks += run.ticks();
        end
    }
}
