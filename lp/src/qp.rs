//! Convex quadratic programs: a linear model with a quadratic part of the objective.
//!
//! The barrier method finds a point and multipliers; a second solve with the guessed active bounds
//! as equations removes its last errors. An answer is optimal only if its residuals, computed from
//! the model as given, are within the tolerance ([`certificate::kkt`]). If the barrier method does
//! not end, linear programs decide whether there is a feasible point and an unbounded direction.

use crate::barrier::{Barrier, BarrierEnd, BarrierSettings};
use crate::certificate::{self, Kkt, check_kkt, safe_quadratic_bound};
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::outcome::{FarkasRay, LimitKind, LpOutcome, Ray};
use crate::quadratic::{NotConvex, Quadratic};
use crate::scaling::power_of_two;
use crate::settings::{Limits, Settings};
use crate::solver;
use std::sync::Arc;

/// Range of the largest coefficient of an objective that is not scaled.
const SIZES: std::ops::RangeInclusive<f64> = 0.1..=1e3;
/// Tolerances of the barrier method, below those of the answer.
const RESIDUAL: f64 = 1e-10;
const GAP: f64 = 1e-11;
/// Slope of the objective, as a share of the largest cost, from which a direction counts as
/// improving.
const SLOPE: f64 = 1e-9;

/// Room that rows and bounds get, relative to 1 + their size, if the method fails without: it needs
/// points between the sides, and some programs have none.
const ROOM: f64 = 1e-8;

/// Settings of [`solve`].
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticSettings {
    /// Largest residual of an optimal answer, in the terms of [`Kkt`].
    pub tolerance: f64,
    /// Scale rows and columns.
    pub scaling: bool,
}

impl Default for QuadraticSettings {
    fn default() -> Self {
        QuadraticSettings {
            tolerance: 1e-6,
            scaling: true,
        }
    }
}

/// An optimal solution, in the model's units and sense.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticSolution {
    /// Objective with its quadratic part and constant.
    pub objective: f64,
    /// Value of every column.
    pub x: Vec<f64>,
    /// Activity of every row.
    pub row_activity: Vec<f64>,
    /// Dual value of every row.
    pub y: Vec<f64>,
    /// Reduced cost of every column, `c + Qx - A'y`.
    pub reduced_costs: Vec<f64>,
    /// Residuals of the optimality conditions.
    pub kkt: Kkt,
    /// Bound that the multipliers prove in spite of rounding
    /// ([`certificate::safe_quadratic_bound`]); infinite if they prove none.
    pub bound: f64,
}

/// Outcome of [`solve`].
#[derive(Clone, Debug, PartialEq)]
pub enum QuadraticOutcome {
    /// Optimal within the tolerance.
    Optimal(Box<QuadraticSolution>),
    /// No feasible point exists.
    Infeasible(FarkasRay),
    /// The objective is unbounded along a ray on which its quadratic part vanishes.
    Unbounded(Ray),
    /// A limit, or numerical trouble.
    Limit(LimitKind),
}

impl QuadraticOutcome {
    /// The solution, if optimal.
    pub fn optimal(&self) -> Option<&QuadraticSolution> {
        match self {
            QuadraticOutcome::Optimal(solution) => Some(solution),
            _ => None,
        }
    }
}

/// The result of [`solve`].
#[derive(Clone, Debug, PartialEq)]
pub struct QuadraticSolved {
    /// The outcome.
    pub outcome: QuadraticOutcome,
    /// Iterations of the barrier method.
    pub barrier_iterations: u64,
    /// Iterations of the simplex method, for proofs of infeasibility and unboundedness.
    pub lp_iterations: u64,
    /// Deterministic work.
    pub ticks: u64,
}

/// Solves a convex quadratic program. Integrality of columns is ignored. Of the limits, iterations
/// count for each run of the barrier method; an objective cutoff is ignored.
///
/// ```
/// use remat_lp::{Limits, ModelBuilder, Quadratic, Sense, qp};
/// // min x^2 + y^2, x + y >= 2
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let (x, y) = (b.add_col(0.0, 0.0..), b.add_col(0.0, 0.0..));
/// b.add_row(2.0.., [(x, 1.0), (y, 1.0)]);
/// let model = std::sync::Arc::new(b.build()?);
/// let q = Quadratic::of_products(2, [(x, x, 1.0), (y, y, 1.0)])?;
/// let solved = qp::solve(&model, &q, &Default::default(), &Limits::default())?;
/// let solution = solved.outcome.optimal().unwrap();
/// assert!((solution.objective - 2.0).abs() < 1e-9 && (solution.y[0] - 2.0).abs() < 1e-7);
/// assert!(solution.kkt.largest() < 1e-9 && solution.bound <= 2.0 && solution.bound > 1.99999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NotConvex`].
///
/// # Panics
/// If the quadratic part has another number of columns than the model.
pub fn solve(
    model: &Arc<Model>,
    quadratic: &Quadratic,
    settings: &QuadraticSettings,
    limits: &Limits,
) -> Result<QuadraticSolved, NotConvex> {
    assert_eq!(quadratic.num_cols(), model.num_cols(), "columns of Q");
    quadratic.check_convex(model.sense.sign())?;
    let mut run = Run {
        model,
        quadratic,
        settings,
        limits,
        solved: QuadraticSolved {
            outcome: QuadraticOutcome::Limit(LimitKind::Numerical),
            barrier_iterations: 0,
            lp_iterations: 0,
            ticks: 0,
        },
    };
    run.solved.outcome = match FarkasRay::of_crossed(model) {
        Some(ray) => QuadraticOutcome::Infeasible(ray),
        None => run.solve(),
    };
    Ok(run.solved)
}

struct Run<'a> {
    model: &'a Arc<Model>,
    quadratic: &'a Quadratic,
    settings: &'a QuadraticSettings,
    limits: &'a Limits,
    solved: QuadraticSolved,
}

/// A model whose sides are wider by a share of their size.
fn widened(model: &Model, room: f64) -> Model {
    let mut model = model.clone();
    let down = |side: &mut f64| *side -= room * (1.0 + side.abs());
    let up = |side: &mut f64| *side += room * (1.0 + side.abs());
    model
        .col_lower
        .iter_mut()
        .chain(&mut model.row_lower)
        .for_each(down);
    model
        .col_upper
        .iter_mut()
        .chain(&mut model.row_upper)
        .for_each(up);
    model
}

/// A point and multipliers of rows, with their residuals.
struct Found {
    x: Vec<f64>,
    y: Vec<f64>,
    kkt: Kkt,
}

impl Run<'_> {
    fn solve(&mut self) -> QuadraticOutcome {
        let mut decided = false;
        let first = self.settings.scaling;
        for (scaling, room) in [(first, 0.0), (!first, 0.0), (first, ROOM), (!first, ROOM)] {
            let (end, found) = match room > 0.0 {
                true => self.barrier(&Arc::new(widened(self.model, room)), scaling),
                false => self.barrier(self.model, scaling),
            };
            match end {
                BarrierEnd::Infeasible(ray) if room == 0.0 => {
                    return QuadraticOutcome::Infeasible(ray);
                }
                BarrierEnd::Infeasible(_) => {}
                BarrierEnd::Limit(kind, _) => return QuadraticOutcome::Limit(kind),
                BarrierEnd::Optimal(_) | BarrierEnd::Unsettled(_) => {}
            }
            if let Some(found) = found {
                let polished = self.polished(&found);
                let better = polished.filter(|p| p.kkt.largest() < found.kkt.largest());
                if let Some(solution) = self.accepted(better.unwrap_or(found)) {
                    return QuadraticOutcome::Optimal(Box::new(solution));
                }
            }
            if !std::mem::replace(&mut decided, true)
                && let Some(outcome) = self.by_linear_programs()
            {
                return outcome;
            }
        }
        QuadraticOutcome::Limit(LimitKind::Numerical)
    }

    /// Runs the barrier method on a model with this objective.
    fn barrier(&mut self, model: &Arc<Model>, scaling: bool) -> (BarrierEnd, Option<Found>) {
        let entries = self.quadratic.matrix.value.iter();
        let sizes = model.cost.iter().chain(entries).map(|v| v.abs());
        let size = sizes.fold(0.0, f64::max);
        let factor = match size > 0.0 && !SIZES.contains(&size) {
            true => power_of_two(1.0 / size),
            false => 1.0,
        };
        let mut scaled = (model.clone(), self.quadratic.clone());
        if factor != 1.0 {
            let model = Arc::make_mut(&mut scaled.0);
            model.cost.iter_mut().for_each(|c| *c *= factor);
            model.offset *= factor;
            scaled.1.matrix.value.iter_mut().for_each(|v| *v *= factor);
        }
        let settings = BarrierSettings {
            scaling,
            residual_tolerance: RESIDUAL,
            gap_tolerance: GAP,
            ..BarrierSettings::default()
        };
        let mut barrier = Barrier::new(scaled.0, settings).with_quadratic(scaled.1);
        barrier.set_limits(self.limits.clone());
        let end = barrier.solve();
        self.solved.barrier_iterations += barrier.iterations();
        self.solved.ticks += barrier.ticks();
        let found = end.point().and_then(|point| {
            let y = point.y.iter().map(|y| y / factor).collect();
            self.found(point.x.clone(), y)
        });
        (end, found)
    }

    /// A point moved into the bounds of its columns, with multipliers that price finite sides only.
    fn found(&self, mut x: Vec<f64>, mut y: Vec<f64>) -> Option<Found> {
        let (model, sign) = (self.model, self.model.sense.sign());
        for (j, x) in x.iter_mut().enumerate() {
            *x = x.max(model.col_lower[j]).min(model.col_upper[j]);
        }
        for (i, y) in y.iter_mut().enumerate() {
            let side = match sign * *y > 0.0 {
                true => model.row_lower[i],
                false => model.row_upper[i],
            };
            if !side.is_finite() {
                *y = 0.0;
            }
        }
        let is_finite = x.iter().chain(&y).all(|v| v.is_finite());
        let kkt = certificate::kkt(model, self.quadratic, &x, &y).ok()?;
        is_finite.then_some(Found { x, y, kkt })
    }

    /// Solves the equations of the bounds that seem active.
    fn polished(&mut self, found: &Found) -> Option<Found> {
        let mut model = Model::clone(self.model);
        let sign = model.sense.sign();
        let reduced = self.reduced_costs(found);
        let sides = |at: f64, d: f64, l: f64, u: f64| {
            if l == u {
                (l, u)
            } else if d > 0.0 && at - l < d {
                (l, l)
            } else if d < 0.0 && u - at < -d {
                (u, u)
            } else {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
        };
        for (j, d) in reduced.iter().enumerate() {
            let (l, u) = (model.col_lower[j], model.col_upper[j]);
            (model.col_lower[j], model.col_upper[j]) = sides(found.x[j], sign * d, l, u);
        }
        let activity = self.activity(&found.x);
        for (i, at) in activity.into_iter().enumerate() {
            let (l, u) = (model.row_lower[i], model.row_upper[i]);
            (model.row_lower[i], model.row_upper[i]) = sides(at, sign * found.y[i], l, u);
        }
        self.barrier(&Arc::new(model), false).1
    }

    fn activity(&self, x: &[f64]) -> Vec<f64> {
        let row = |i: usize| {
            let mut sum = crate::sum2::Sum2::default();
            let entries = self.model.row(RowId(i as u32));
            entries.for_each(|(j, v)| sum.add_product(v, x[j.index()]));
            sum.value()
        };
        (0..self.model.num_rows()).map(row).collect()
    }

    fn reduced_costs(&self, found: &Found) -> Vec<f64> {
        let gradient = self.quadratic.gradient(&found.x);
        let reduced = |j: usize| {
            let mut sum = crate::sum2::Sum2::new(self.model.cost[j]);
            sum.add(gradient[j]);
            let entries = self.model.col(ColId(j as u32));
            entries.for_each(|(i, v)| sum.add_product(-v, found.y[i.index()]));
            sum.value()
        };
        (0..self.model.num_cols()).map(reduced).collect()
    }

    /// The solution, if its residuals are within the tolerance.
    fn accepted(&self, found: Found) -> Option<QuadraticSolution> {
        let (model, quadratic) = (self.model, self.quadratic);
        let tolerance = self.settings.tolerance;
        let kkt = check_kkt(model, quadratic, &found.x, &found.y, tolerance).ok()?;
        Some(QuadraticSolution {
            objective: kkt.objective,
            row_activity: self.activity(&found.x),
            reduced_costs: self.reduced_costs(&found),
            kkt,
            bound: safe_quadratic_bound(model, quadratic, &found.x, &found.y),
            x: found.x,
            y: found.y,
        })
    }

    /// Decides by linear programs whether there is a feasible point and a direction along which the
    /// objective falls for ever.
    fn by_linear_programs(&mut self) -> Option<QuadraticOutcome> {
        let mut feasible = Model::clone(self.model);
        feasible.cost.fill(0.0);
        let x = match self.linear(feasible) {
            LpOutcome::Optimal(solution) => solution.x,
            LpOutcome::Infeasible(ray) => return Some(QuadraticOutcome::Infeasible(ray)),
            LpOutcome::Limit(kind) if kind != LimitKind::Numerical => {
                return Some(QuadraticOutcome::Limit(kind));
            }
            _ => return None,
        };
        let direction = match self.linear(self.recession()?) {
            LpOutcome::Optimal(solution) => solution.x,
            _ => return None,
        };
        let sign = self.model.sense.sign();
        let slope: f64 = direction
            .iter()
            .zip(&self.model.cost)
            .map(|(d, c)| sign * c * d)
            .sum();
        let steepest = self.model.cost.iter().fold(0.0f64, |a, c| a.max(c.abs()));
        (slope < -SLOPE * steepest).then_some(QuadraticOutcome::Unbounded(Ray { x, direction }))
    }

    /// The program of directions in a unit box along which no bound and no curvature stops a point.
    fn recession(&self) -> Option<Model> {
        let model = self.model;
        let side = |bound: f64, open: f64| if bound.is_finite() { 0.0 } else { open };
        let mut b = ModelBuilder::new(Sense::Minimise);
        for j in 0..model.num_cols() {
            let bounds = (
                side(model.col_lower[j], -1.0),
                side(model.col_upper[j], 1.0),
            );
            b.add_col(
                model.sense.sign() * model.cost[j],
                Bounds::new(bounds.0, bounds.1),
            );
        }
        for i in 0..model.num_rows() {
            let bounds = Bounds::new(
                side(model.row_lower[i], f64::NEG_INFINITY),
                side(model.row_upper[i], f64::INFINITY),
            );
            b.add_row(bounds, model.row(RowId(i as u32)));
        }
        for col in self.quadratic.columns() {
            b.add_row(0.0..=0.0, self.quadratic.row(col));
        }
        b.build().ok()
    }

    fn linear(&mut self, model: Model) -> LpOutcome {
        let model = Arc::new(model);
        let presolve = Default::default();
        let limits = Limits {
            objective_cutoff: None,
            ..self.limits.clone()
        };
        let solved = solver::solve(&model, &Settings::default(), &limits, Some(&presolve));
        self.solved.lp_iterations += solved.stats.iterations();
        self.solved.ticks += solved.stats.ticks;
        solved.outcome
    }
}
