//! The solver for users: a model, a basis, and all data kept between solves.
//!
//! - `afresh.rs`: a fresh start through presolve.
//! - `answer.rs`: converts the scaled working state to outcomes in the model's units.
//! - `basis.rs`: snapshots of the basis, and rows of its tableau.
//! - `interior.rs`: the barrier method with crossover.
//! - `change.rs`: bounds, costs, rows and columns that change between solves.

mod accept;
mod afresh;
mod answer;
mod basis;
mod change;
mod interior;
mod presolved;
pub mod refine;

use crate::compressed::Compressed;
use crate::model::Model;
use crate::outcome::{FarkasRay, LimitKind, LpOutcome};
use crate::scaling::Scaling;
use crate::settings::{Algorithm, Limits, Settings};
use crate::simplex::{Core, CoreEnd, WorkBudget};
use interior::InteriorEnd;
pub use presolved::{Solved, solve};
use refine::refine;
use std::sync::Arc;

/// Largest number of repeated solves for an optimum outside the tolerances in the model's units.
const ATTEMPTS: usize = 3;
/// Multiple of the tolerances up to which a solution is accepted after these attempts.
const NEAR: f64 = 1e3;

/// Counters since the solver was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pivots of the dual simplex on the boxed phase 1 problem.
    pub dual_phase1: u64,
    /// Pivots of the dual simplex.
    pub dual_phase2: u64,
    /// Pivots of the primal simplex while infeasible.
    pub primal_phase1: u64,
    /// Pivots of the primal simplex.
    pub primal_phase2: u64,
    /// Iterations of the barrier method.
    pub barrier: u64,
    /// Variables that a crossover pushed to a bound or into the basis.
    pub crossover: u64,
    /// Variables moved from one bound to the other without a pivot.
    pub bound_flips: u64,
    /// Factorisations of the basis.
    pub factorisations: u64,
    /// Deterministic work units.
    pub ticks: u64,
}

impl Stats {
    /// All pivots, and the pushes of crossovers.
    pub fn iterations(&self) -> u64 {
        self.dual_phase1
            + self.dual_phase2
            + self.primal_phase1
            + self.primal_phase2
            + self.crossover
    }
}

/// A linear program being solved, changed and solved again.
///
/// ```
/// use remat_lp::{ColId, ModelBuilder, Sense, Settings, Solver};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(1.0, 0.0..=9.0);
/// b.add_row(2.0.., [(x, 1.0)]);
/// let mut s = Solver::new(b.build()?, Settings::default());
/// assert_eq!(s.solve().optimal().unwrap().objective, 2.0);
/// s.set_col_bounds(x, 5.0..=9.0)?;
/// assert_eq!(s.solve().optimal().unwrap().objective, 5.0);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
///
/// A clone is an independent solver at the same basis with the same factorisation; workers of a
/// parallel search start from one. Clones share the model until one of them changes it.
#[derive(Clone)]
pub struct Solver {
    model: Arc<Model>,
    settings: Settings,
    limits: Limits,
    scaling: Scaling,
    core: Core,
    /// True if bounds of the original model crossed.
    crossed: bool,
    /// True if costs changed since the last solve.
    costs_changed: bool,
    /// Work done in solvers of presolved programs.
    elsewhere: Stats,
}

impl Solver {
    /// A solver at the slack basis of a model. A shared model is copied only when it is changed
    /// through the solver.
    pub fn new(model: impl Into<Arc<Model>>, settings: Settings) -> Solver {
        let model = model.into();
        let (a, at) = (
            Compressed::from(model.cols.clone()),
            Compressed::from(model.rows.clone()),
        );
        let mut scaling = if settings.scaling {
            Scaling::geometric(&a, &at)
        } else {
            Scaling::identity(model.num_rows(), model.num_cols())
        };
        scaling.cost = Scaling::of_costs(&model.cost);
        let core = build_core(&model, (a, at), &scaling, &settings);
        Solver {
            crossed: model.crossed().is_some(),
            costs_changed: false,
            model,
            settings,
            limits: Limits::default(),
            scaling,
            core,
            elsewhere: Stats::default(),
        }
    }

    /// The model after all changes. If a clone of it is kept, the next change copies the model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The settings given at construction.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings, which may be changed between solves. Scaling is fixed at construction.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Sets the limits of each following call of [`Solver::solve`].
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The working state, for [`crate::kernels`].
    pub(crate) fn core_mut(&mut self) -> &mut Core {
        &mut self.core
    }

    /// Counters since construction.
    pub fn stats(&self) -> Stats {
        let c = &self.core.count;
        let own = Stats {
            dual_phase1: c.dual_phase1,
            dual_phase2: c.dual_phase2,
            primal_phase1: c.primal_phase1,
            primal_phase2: c.primal_phase2,
            barrier: 0,
            crossover: c.crossover,
            bound_flips: c.flips,
            factorisations: c.factorisations,
            ticks: self.core.total_ticks(),
        };
        own.plus(&self.elsewhere)
    }

    /// Solves from the present basis with the method in the settings.
    pub fn solve(&mut self) -> LpOutcome {
        self.solve_with(self.settings.algorithm)
    }

    /// Solves from the present basis with the given primary method.
    pub fn solve_with(&mut self, algorithm: Algorithm) -> LpOutcome {
        if self.crossed {
            match FarkasRay::of_crossed(&self.model) {
                Some(ray) => return LpOutcome::Infeasible(ray),
                None => self.crossed = false,
            }
        }
        if std::mem::take(&mut self.costs_changed) {
            self.scale_costs();
        }
        self.core.objective_factor = 1.0 / self.cost_unit();
        self.core.objective_offset = self.model.offset;
        let mut outcome = self.run(algorithm);
        if let (true, LpOutcome::Optimal(s)) = (self.settings.refine, &mut outcome) {
            *s = refine(&self.model, s, &self.settings);
            // The basis belongs to this model.
            let _ = self.set_basis(&s.basis);
        }
        self.core.report_end();
        outcome
    }

    fn run(&mut self, algorithm: Algorithm) -> LpOutcome {
        let mut budget = self.budget();
        self.core.primal_tol = self.settings.primal_tolerance;
        self.core.dual_tol = self.settings.dual_tolerance;
        let mut algorithm = algorithm;
        if algorithm == Algorithm::Barrier {
            match self.cross_over(&mut budget) {
                Ok(()) => {}
                Err(InteriorEnd::Infeasible(ray)) => return LpOutcome::Infeasible(ray),
                Err(InteriorEnd::Limit(kind)) => return LpOutcome::Limit(kind),
            }
        }
        let mut perturb = self.settings.perturbation;
        let mut attempt = 0;
        loop {
            match self.core.optimise(&budget, algorithm, perturb) {
                CoreEnd::Optimal => {
                    let solution = self.solution();
                    let (primal, dual) = self.unscaled_violation(&solution);
                    attempt += 1;
                    let (primal_goal, dual_goal) = (
                        self.settings.primal_tolerance * 1.001,
                        self.settings.dual_tolerance * 1.001,
                    );
                    if primal <= primal_goal && dual <= dual_goal {
                        return LpOutcome::Optimal(solution);
                    }
                    if attempt > ATTEMPTS {
                        let near = primal <= NEAR * primal_goal && dual <= NEAR * dual_goal;
                        return if near {
                            LpOutcome::Optimal(solution)
                        } else {
                            LpOutcome::Limit(LimitKind::Numerical)
                        };
                    }
                    // Feasible when scaled, but not when unscaled: try fresh factors first, then
                    // tighter tolerances.
                    if self.core.factor.updates() > 0 {
                        self.core.factored = false;
                    }
                    self.core.primal_valid = false;
                    self.core.dual_valid = false;
                    if primal > primal_goal {
                        self.core.primal_tol =
                            (self.core.primal_tol * (primal_goal / primal).max(0.01)).max(1e-9);
                    }
                    if dual > dual_goal {
                        self.core.dual_tol =
                            (self.core.dual_tol * (dual_goal / dual).max(0.01)).max(1e-9);
                    }
                    algorithm = Algorithm::Auto;
                    perturb = false;
                }
                CoreEnd::Infeasible => return self.infeasible(),
                CoreEnd::Unbounded(q) => return self.unbounded(q),
                CoreEnd::Cutoff => {
                    if let Some(outcome) = self.cutoff() {
                        return outcome;
                    }
                    // The perturbed costs passed the cutoff, the true costs do not: continue
                    // without it.
                    budget.cutoff = None;
                    algorithm = Algorithm::Dual;
                }
                CoreEnd::Limit(kind) => return LpOutcome::Limit(kind),
            }
        }
    }

    /// Factor from the model's costs to the minimised ones of the simplex method.
    fn cost_unit(&self) -> f64 {
        self.model.sense.sign() * self.scaling.cost
    }

    /// Fits the factor of the costs to the present costs.
    fn scale_costs(&mut self) {
        let factor = Scaling::of_costs(&self.model.cost);
        if factor == self.scaling.cost {
            return;
        }
        self.scaling.cost = factor;
        let unit = self.cost_unit();
        for j in 0..self.core.n {
            let cost = unit * self.model.cost[j] * self.scaling.col[j];
            self.core.cost[j] = cost;
            self.core.wc[j] = cost;
        }
        self.core.dual_valid = false;
    }

    fn budget(&self) -> WorkBudget {
        let unit = self.cost_unit();
        WorkBudget {
            iterations: self
                .limits
                .iterations
                .map(|l| l.saturating_add(self.core.count.iterations())),
            ticks: self
                .limits
                .ticks
                .map(|l| l.saturating_add(self.core.total_ticks())),
            cutoff: self.limits.objective_cutoff.map(|c| {
                let c = unit * (c - self.model.offset);
                c + 1e-9 * (1.0 + c.abs())
            }),
            limits: self.limits.clone(),
        }
    }
}

/// The scaled program, from the model and copies of its columns and rows.
fn build_core(
    model: &Model,
    (mut a, mut at): (Compressed, Compressed),
    scaling: &Scaling,
    settings: &Settings,
) -> Core {
    let (m, n) = (model.num_rows(), model.num_cols());
    let unit = model.sense.sign() * scaling.cost;
    for j in 0..n {
        for pos in a.start[j]..a.start[j + 1] {
            a.value[pos] *= scaling.row[a.index[pos] as usize] * scaling.col[j];
        }
    }
    for i in 0..m {
        for pos in at.start[i]..at.start[i + 1] {
            at.value[pos] *= scaling.row[i] * scaling.col[at.index[pos] as usize];
        }
    }
    let mut lower: Vec<f64> = (0..n)
        .map(|j| model.col_lower[j] / scaling.col[j])
        .collect();
    let mut upper: Vec<f64> = (0..n)
        .map(|j| model.col_upper[j] / scaling.col[j])
        .collect();
    lower.extend((0..m).map(|i| -model.row_upper[i] * scaling.row[i]));
    upper.extend((0..m).map(|i| -model.row_lower[i] * scaling.row[i]));
    let mut cost: Vec<f64> = (0..n)
        .map(|j| unit * model.cost[j] * scaling.col[j])
        .collect();
    cost.resize(n + m, 0.0);
    Core::new(a, at, lower, upper, cost, settings)
}
