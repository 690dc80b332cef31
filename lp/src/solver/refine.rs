//! Iterative refinement: reduces the residuals of an optimal solution, in the model's own units, as
//! far as double precision allows.
//!
//! Residuals are computed with twice the working precision. The distances of the present solution
//! to bounds, sides and costs define a linear program with the same matrix. It is magnified and
//! solved from the present basis; its solution, divided by the magnification, corrects the present
//! one. If the basis was not exactly optimal, this takes pivots (Gleixner, Steffy & Wolter,
//! *Iterative refinement for linear programming*, INFORMS J. Computing 28, 2016).
//!
//! Rows are written as equations with a column for the activity, since an activity has a cost once
//! duals are subtracted from the costs.

use super::Solver;
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelBuilder};
use crate::outcome::{Basis, LpOutcome, Solution, VarStatus};
use crate::scaling::power_of_two;
use crate::settings::{Algorithm, Settings};
use crate::sum2::Sum2;
use std::sync::Arc;

/// Residuals and wrong-signed reduced costs at which refinement ends.
const GOAL: f64 = 1e-10;
/// Largest magnification; with a larger one, the tolerance of 1e-7 in the magnified program would
/// be stricter than the goal.
const LARGEST: f64 = (1u64 << 14) as f64;
const ROUNDS: usize = 8;

/// Residuals of a basic solution: largest values over rows and columns, unscaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residuals {
    /// Violation of a bound or side, or distance of a nonbasic variable from its bound.
    pub primal: f64,
    /// Reduced cost of the wrong sign, or nonzero reduced cost of a basic column or row.
    pub dual: f64,
}

/// Measures a solution in the model's units, with compensated sums.
///
/// # Panics
/// If the solution does not fit the model.
pub fn residuals(model: &Model, s: &Solution) -> Residuals {
    let mut found = Residuals {
        primal: 0.0,
        dual: 0.0,
    };
    let sign = model.sense.sign();
    let mut take = |status, v: f64, d: f64, l: f64, u: f64| {
        let rest = match status {
            VarStatus::AtLower => (v - l).abs(),
            VarStatus::AtUpper => (v - u).abs(),
            _ => 0.0,
        };
        found.primal = found.primal.max(l - v).max(v - u).max(rest);
        let d = sign * d;
        found.dual = found.dual.max(match status {
            VarStatus::Basic | VarStatus::Free => d.abs(),
            _ if l == u => 0.0,
            VarStatus::AtLower => -d,
            VarStatus::AtUpper => d,
        });
    };
    for j in 0..model.num_cols() {
        let d = reduced_cost(model, j, &s.y);
        take(
            s.basis.cols[j],
            s.x[j],
            d,
            model.col_lower[j],
            model.col_upper[j],
        );
    }
    for i in 0..model.num_rows() {
        let (l, u) = (model.row_lower[i], model.row_upper[i]);
        take(s.basis.rows[i], activity(model, i, &s.x, 0.0), s.y[i], l, u);
    }
    found
}

/// The solution refined as far as possible; unchanged if refinement gives no gain. `settings`
/// belong to the solver that found it.
///
/// ```
/// use remat_lp::{refine::{refine, residuals}, ModelBuilder, Sense, Settings, Solver};
/// use std::sync::Arc;
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(0.1, 0.0..);
/// let y = b.add_col(0.3, 0.0..);
/// b.add_row(1e6.., [(x, 1e-3), (y, 7.0)]);
/// b.add_row(3e-4.., [(x, 1e-9), (y, -1e-6)]);
/// let model = Arc::new(b.build()?);
/// let settings = Settings::default();
/// let outcome = Solver::new(model.clone(), settings.clone()).solve();
/// let s = refine(&model, outcome.optimal().unwrap(), &settings);
/// assert!(residuals(&model, &s).primal <= 1e-9 && residuals(&model, &s).dual <= 1e-9);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
///
/// # Panics
/// If the solution does not fit the model.
pub fn refine(model: &Arc<Model>, solution: &Solution, settings: &Settings) -> Solution {
    let mut best = solution.clone();
    let mut found = residuals(model, &best);
    if found.primal <= GOAL && found.dual <= GOAL {
        return best;
    }
    let Some(mut correction) = Correction::new(model, settings) else {
        return best;
    };
    for _ in 0..ROUNDS {
        let Some(next) = correction.round(&best, found) else {
            break;
        };
        let now = residuals(model, &next);
        let goal = |r: Residuals| r.primal.max(GOAL) * r.dual.max(GOAL);
        let worse = now.primal.max(now.dual) > 2.0 * found.primal.max(found.dual).max(GOAL);
        if worse || goal(now) > 0.5 * goal(found) {
            break;
        }
        (best, found) = (next, now);
        if found.primal <= GOAL && found.dual <= GOAL {
            break;
        }
    }
    best
}

/// The magnified residual program: the model's columns, then a column for each row's activity; all
/// rows are equations.
struct Correction<'a> {
    model: &'a Model,
    solver: Solver,
}

impl<'a> Correction<'a> {
    fn new(model: &'a Model, settings: &Settings) -> Option<Self> {
        let mut b = ModelBuilder::new(model.sense);
        for _ in 0..model.num_cols() {
            b.add_col(0.0, 0.0);
        }
        for i in 0..model.num_rows() {
            let activity = b.add_col(0.0, 0.0);
            b.add_row(
                0.0,
                model
                    .row_entries(i)
                    .map(|(j, v)| (ColId(j as u32), v))
                    .chain([(activity, -1.0)]),
            );
        }
        let settings = Settings {
            algorithm: Algorithm::Auto,
            perturbation: false,
            refine: false,
            ..settings.clone()
        };
        let mut solver = Solver::new(b.build().ok()?, settings);
        // Its events would look like events of the refined program.
        solver.core_mut().emits_events = false;
        Some(Correction { model, solver })
    }

    /// Magnifies the residuals, solves for a correction and applies it. `None` if there is no
    /// correction.
    fn round(&mut self, s: &Solution, found: Residuals) -> Option<Solution> {
        let model = self.model;
        let (m, n) = (model.num_rows(), model.num_cols());
        let magnification =
            |r: f64| power_of_two(1.0 / r.max(f64::MIN_POSITIVE)).clamp(1.0, LARGEST);
        let (primal_scale, dual_scale) = (magnification(found.primal), magnification(found.dual));
        let rest = |bound: f64, value: f64| primal_scale * (bound - value);
        for j in 0..n {
            let (l, u) = (model.col_lower[j], model.col_upper[j]);
            self.set_col(j, rest(l, s.x[j]), rest(u, s.x[j]))?;
            self.set_cost(j, dual_scale * reduced_cost(model, j, &s.y))?;
        }
        for i in 0..m {
            let value = activity(model, i, &s.x, 0.0);
            let (l, u) = (model.row_lower[i], model.row_upper[i]);
            self.set_col(n + i, rest(l, value), rest(u, value))?;
            self.set_cost(n + i, dual_scale * s.y[i])?;
            // The rounded activity differs slightly from the sum over the columns.
            let side = -primal_scale * activity(model, i, &s.x, -value);
            self.solver.set_row_bounds(RowId(i as u32), side).ok()?;
        }
        let cols = s.basis.cols.iter().chain(&s.basis.rows).copied().collect();
        let rows = vec![VarStatus::AtLower; m];
        self.solver.set_basis(&Basis { cols, rows }).ok()?;
        let LpOutcome::Optimal(c) = self.solver.solve() else {
            return None;
        };
        // A solution of the model exists only if all equations' own variables are nonbasic.
        if c.basis.rows.contains(&VarStatus::Basic) {
            return None;
        }
        let x: Vec<f64> = (0..n)
            .map(|j| match c.basis.cols[j] {
                VarStatus::AtLower => model.col_lower[j],
                VarStatus::AtUpper => model.col_upper[j],
                _ => s.x[j] + c.x[j] / primal_scale,
            })
            .collect();
        let y: Vec<f64> = (0..m)
            .map(|i| match c.basis.cols[n + i] {
                VarStatus::Basic => 0.0,
                _ => s.y[i] + c.y[i] / dual_scale,
            })
            .collect();
        let mut cols = c.basis.cols;
        let rows = cols.split_off(n);
        Some(Solution {
            objective: model.objective(&x),
            row_activity: (0..m).map(|i| activity(model, i, &x, 0.0)).collect(),
            reduced_costs: (0..n).map(|j| reduced_cost(model, j, &y)).collect(),
            x,
            y,
            basis: Basis { cols, rows },
        })
    }

    fn set_col(&mut self, j: usize, lower: f64, upper: f64) -> Option<()> {
        let bounds = Bounds::new(lower, upper);
        self.solver.set_col_bounds(ColId(j as u32), bounds).ok()
    }

    fn set_cost(&mut self, j: usize, cost: f64) -> Option<()> {
        self.solver.set_cost(ColId(j as u32), cost).ok()
    }
}

/// `row . x + start`.
fn activity(model: &Model, i: usize, x: &[f64], start: f64) -> f64 {
    let mut sum = Sum2::new(start);
    for (j, v) in model.row_entries(i) {
        sum.add_product(v, x[j]);
    }
    sum.value()
}

/// `cost - column . y`, in the model's sense.
fn reduced_cost(model: &Model, j: usize, y: &[f64]) -> f64 {
    let mut sum = Sum2::new(model.cost[j]);
    for (i, v) in model.col_entries(j) {
        sum.add_product(-v, y[i]);
    }
    sum.value()
}
