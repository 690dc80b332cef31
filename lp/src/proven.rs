//! Computes a finite safe bound near the optimum from an optimal solution.
//!
//! [`certificate::safe_bound`] gives no finite bound if a column without a bound has a reduced cost
//! of the wrong sign, be it by 1e-17. At an optimal basis every basic column's reduced cost is zero
//! up to rounding, so half of them have the wrong sign. A small move of the dual solution into the
//! interior corrects this (Steffy & Wolter, *Valid linear programming bounds for exact
//! mixed-integer programming*, 2013, shift the duals towards an interior point).
//!
//! Here every cost is made slightly worse for its column, and the simplex continues from the
//! optimal basis, mostly without a pivot. The reduced costs of the true costs then have the right
//! sign by that amount. Free columns and columns on a ray without cost (such as a free column in
//! two halves) have no interior in any dual solution. Their reduced costs must cancel without
//! rounding. Multipliers on a coarse grid often achieve this, and rational ones
//! ([`certificate::exact_bound`]) always do. The interior keeps such columns few: nine of Netlib's
//! 61 problems need rational multipliers, for 1 to 81 columns, in 1 to 100 ms.

use crate::certificate;
use crate::ids::ColId;
use crate::model::Model;
use crate::outcome::{LpOutcome, Solution};
use crate::settings::{Algorithm, Limits, Settings};
use crate::solver::Solver;
use std::sync::Arc;

/// Distances into the interior, relative to the terms of a reduced cost; the first one that works
/// weakens the bound least.
const SHIFTS: [f64; 3] = [1e-11, 1e-9, 1e-7];
/// Relative distance to the optimum at which the search for a better bound ends.
const ENOUGH_SHARE: f64 = 1e-8;
/// Largest number of pivots, in addition to a share of the rows.
const PIVOTS: u64 = 1000;

/// Largest number of rays without cost that are removed from the shift.
const RAYS: usize = 100;
/// Grids to which the multipliers are rounded.
const GRIDS: [f64; 4] = [
    0.0,
    1.0 / (1u64 << 40) as f64,
    1.0 / (1u64 << 32) as f64,
    1.0 / (1u64 << 24) as f64,
];

/// A bound on the optimum that is valid in spite of all rounding, and its multipliers. The bound is
/// infinite if no tried multipliers prove one. If [`certificate::safe_bound`] of the multipliers is
/// infinite, [`certificate::exact_bound`] gives the bound.
///
/// ```
/// use remat_lp::{proven_bound, ModelBuilder, Sense, Settings, Solver};
/// use std::sync::Arc;
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(0.1, 0.0..);
/// let y = b.add_col(0.3, 0.0..);
/// b.add_row(1.0.., [(x, 0.1), (y, 0.7)]);
/// let model = Arc::new(b.build()?);
/// let outcome = Solver::new(model.clone(), Settings::default()).solve();
/// let solution = outcome.optimal().unwrap();
/// let (bound, _) = proven_bound(&model, solution);
/// assert!(bound <= solution.objective + 1e-15 && bound > solution.objective - 1e-9);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
pub fn proven_bound(model: &Arc<Model>, solution: &Solution) -> (f64, Vec<f64>) {
    let sign = model.sense.sign();
    let far = ENOUGH_SHARE * (1.0 + solution.objective.abs());
    let near = |bound: f64| sign * (solution.objective - bound) <= far;
    let mut best = (
        certificate::safe_bound(model, &solution.y),
        solution.y.clone(),
    );
    if solution.y.len() != model.num_rows() {
        return best;
    }
    for shift in SHIFTS {
        if near(best.0) {
            break;
        }
        if let Some(found) = from_interior(model, solution, shift, near)
            && sign * (found.0 - best.0) > 0.0
        {
            best = found;
        }
    }
    if !near(best.0) {
        // No sufficiently small shift worked: all offending columns take part in the rational
        // solution.
        let bound = certificate::exact_bound(model, &solution.y);
        if sign * (bound - best.0) > 0.0 {
            best = (bound, solution.y.clone());
        }
    }
    best
}

/// The bound from multipliers at least `shift` in the interior; `near` tells whether a bound is
/// close enough to the optimum.
fn from_interior(
    model: &Arc<Model>,
    solution: &Solution,
    shift: f64,
    near: impl Fn(f64) -> bool,
) -> Option<(f64, Vec<f64>)> {
    let sign = model.sense.sign();
    let mut moved = Model::clone(model);
    for j in 0..model.num_cols() {
        let terms: f64 = model
            .col_entries(j)
            .map(|(i, v)| (v * solution.y[i]).abs())
            .sum();
        let size = shift * (model.cost[j].abs() + terms).max(1e-3);
        moved.cost[j] += model.sense.sign()
            * match (
                model.col_lower[j].is_finite(),
                model.col_upper[j].is_finite(),
            ) {
                (true, false) => -size,
                (false, true) => size,
                _ => 0.0,
            };
    }
    let mut solver = Solver::new(
        moved,
        Settings {
            algorithm: Algorithm::Auto,
            dual_tolerance: (1e-2 * shift).clamp(1e-12, 1e-9),
            perturbation: false,
            scaling: false,
            ..Default::default()
        },
    );
    solver.set_basis(&solution.basis).ok()?;
    solver.set_limits(Limits {
        iterations: Some(PIVOTS + model.num_rows() as u64 / 10),
        ..Default::default()
    });
    for _ in 0..RAYS {
        match solver.solve() {
            LpOutcome::Optimal(interior) => {
                // The finest grid with a bound near the optimum is used; a coarser one may give a
                // weaker bound.
                let tried = GRIDS.iter().map(|&grid| {
                    let y = rounded(&interior.y, grid);
                    (certificate::safe_bound(model, &y), y)
                });
                let exact = std::iter::once_with(|| {
                    let y = interior.y.clone();
                    (certificate::exact_bound(model, &y), y)
                });
                let mut best: Option<(f64, Vec<f64>)> = None;
                for found in tried.chain(exact).filter(|(bound, _)| bound.is_finite()) {
                    let enough = near(found.0);
                    if best.as_ref().is_none_or(|b| sign * (found.0 - b.0) > 0.0) {
                        best = Some(found);
                    }
                    if enough {
                        break;
                    }
                }
                return best;
            }
            // No dual solution has an interior along a ray without cost, so its columns keep their
            // true costs.
            LpOutcome::Unbounded(ray) => {
                let largest = ray.direction.iter().fold(0.0f64, |a, d| a.max(d.abs()));
                for (j, d) in ray.direction.iter().enumerate() {
                    if d.abs() > 1e-12 * largest {
                        solver.set_cost(ColId(j as u32), model.cost[j]).ok()?;
                    }
                }
            }
            _ => return None,
        }
    }
    None
}

/// Multipliers rounded to multiples of `grid`, where equalities between them hold without rounding
/// errors; unchanged if `grid` is zero.
fn rounded(y: &[f64], grid: f64) -> Vec<f64> {
    y.iter()
        .map(|&v| {
            if grid == 0.0 {
                v
            } else {
                (v / grid).round() * grid
            }
        })
        .collect()
}
