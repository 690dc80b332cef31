//! Bounds on the optimum that are valid for any multipliers and despite all rounding.
//!
//! The bound of Neumaier & Shcherbina needs a finite bound wherever a reduced cost may have the
//! wrong sign, be it by 1e-17. If a column lacks that bound in the model, the rows imply one: with
//! all other columns at their extremes, a row leaves a column only so much room (*implied bounds*).
//! Implied bounds hold for every feasible point, so the result stays valid. A reduced cost of 1e-15
//! times an implied bound of 1e6 hardly weakens the result.

use crate::model::Model;
use crate::sum2::Sum2;

/// Most sweeps over the rows for implied bounds; a bound found in one sweep may imply others in the
/// next.
const IMPLIED_ROUNDS: usize = 8;

/// A bound on the optimum that is valid for any `y`: a lower bound when minimising, an upper bound
/// when maximising. Infinite if `y` proves no bound. Accounts for all rounding errors of its
/// computation.
///
/// ```
/// use remat_lp::{certificate::safe_bound, ModelBuilder, Sense};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(2.0, 0.0..=10.0);
/// b.add_row(3.0.., [(x, 1.0)]);
/// let model = b.build().unwrap();
/// let bound = safe_bound(&model, &[2.0]);
/// assert!(bound <= 6.0 && bound > 6.0 - 1e-12);
/// assert!(safe_bound(&model, &[7.0]) <= 6.0);
/// ```
pub fn safe_bound(model: &Model, y: &[f64]) -> f64 {
    let sign = model.sense.sign();
    if y.len() != model.num_rows() {
        return -sign * f64::INFINITY;
    }
    let y = priced(model, y);
    match least(
        model,
        true,
        |i| (y[i], y[i]),
        |j| reduced_cost(model, true, &y, j),
    ) {
        Ok(low) => sign * low,
        Err(_) => -sign * f64::INFINITY,
    }
}

/// Multipliers of the minimised program. Multipliers that price an infinite side become 0, which is
/// allowed because any multipliers give a bound.
pub(super) fn priced(model: &Model, y: &[f64]) -> Vec<f64> {
    let sign = model.sense.sign();
    let minimised: Vec<f64> = y.iter().map(|v| sign * v).collect();
    priced_sides(model, &minimised)
}

/// Multipliers, with 0 where they price an infinite side.
pub(super) fn priced_sides(model: &Model, y: &[f64]) -> Vec<f64> {
    let usable = y.iter().enumerate().map(|(i, &v)| {
        let side = if v > 0.0 {
            model.row_lower[i]
        } else {
            model.row_upper[i]
        };
        if v.is_finite() && side.is_finite() {
            v
        } else {
            0.0
        }
    });
    usable.collect()
}

/// Rows and columns whose multiplier or reduced cost has the wrong sign for a side without a bound.
/// They leave the bound infinite.
#[derive(Debug)]
pub(super) struct OpenSides {
    pub rows: Vec<usize>,
    pub cols: Vec<usize>,
}

/// The least value of `y . r + (c - A^T y) . x` over the boxes of row activities `r` and columns
/// `x`, given intervals of the multipliers and reduced costs. If `with_cost`, the result includes
/// the objective's constant, and bounds implied by rows are used. A Farkas proof uses neither.
pub(super) fn least(
    model: &Model,
    with_cost: bool,
    multiplier: impl Fn(usize) -> (f64, f64),
    reduced_cost: impl Fn(usize) -> (f64, f64),
) -> Result<f64, OpenSides> {
    let mut total = Bounded::new(if with_cost {
        model.sense.sign() * model.offset
    } else {
        0.0
    });
    let mut open = OpenSides {
        rows: Vec::new(),
        cols: Vec::new(),
    };
    for i in 0..model.num_rows() {
        let side = (model.row_lower[i], model.row_upper[i]);
        if !add_least(&mut total, multiplier(i), side) {
            open.rows.push(i);
        }
    }
    let mut costs = Vec::new();
    for j in 0..model.num_cols() {
        let reduced = reduced_cost(j);
        let side = (model.col_lower[j], model.col_upper[j]);
        if !add_least(&mut total, reduced, side) {
            open.cols.push(j);
            costs.push(reduced);
        }
    }
    if with_cost && !open.cols.is_empty() {
        let (lower, upper) = implied_bounds(model, open.cols.iter().copied());
        let mut costs = costs.into_iter();
        open.cols.retain(|&j| {
            let reduced = costs.next().unwrap_or((f64::NAN, f64::NAN));
            !add_least(&mut total, reduced, (lower[j], upper[j]))
        });
    }
    let low = total.interval().0;
    if open.rows.is_empty() && open.cols.is_empty() && !low.is_nan() {
        Ok(low)
    } else {
        Err(open)
    }
}

pub(super) fn reduced_cost(model: &Model, with_cost: bool, y: &[f64], j: usize) -> (f64, f64) {
    let cost = if with_cost {
        model.sense.sign() * model.cost[j]
    } else {
        0.0
    };
    let mut d = Bounded::new(cost);
    for (i, v) in model.col_entries(j) {
        d.add_product(-v, y[i]);
    }
    d.interval()
}

/// Adds the least of `d * x` over the four corners; returns false if it is unbounded below.
fn add_least(total: &mut Bounded, (low, high): (f64, f64), (l, u): (f64, f64)) -> bool {
    if low == 0.0 && high == 0.0 {
        return true;
    }
    if !low.is_finite() || !high.is_finite() {
        return false;
    }
    if (low < 0.0 && u == f64::INFINITY) || (high > 0.0 && l == f64::NEG_INFINITY) {
        return false;
    }
    let corners = [(low, l), (low, u), (high, l), (high, u)];
    let (a, b) = corners
        .into_iter()
        .filter(|&(_, x)| x.is_finite())
        .min_by(|p, q| (p.0 * p.1).total_cmp(&(q.0 * q.1)))
        .unwrap_or((0.0, 0.0));
    total.add_product(a, b);
    true
}

/// Bounds of all columns, with implied bounds in place of infinite ones, rounded outwards. Stops as
/// soon as all `wanted` columns have both bounds.
pub(super) fn implied_bounds(
    model: &Model,
    wanted: impl Iterator<Item = usize> + Clone,
) -> (Vec<f64>, Vec<f64>) {
    let (mut lower, mut upper) = (model.col_lower.clone(), model.col_upper.clone());
    for _ in 0..IMPLIED_ROUNDS {
        let mut changed = false;
        for i in 0..model.num_rows() {
            changed |= imply_from_row(model, i, &mut lower, &mut upper);
        }
        let missing = |j: usize| !(lower[j].is_finite() && upper[j].is_finite());
        if !changed || !wanted.clone().any(missing) {
            break;
        }
    }
    (lower, upper)
}

/// Derives the bounds that row `i` implies for columns that lack a bound in the model.
fn imply_from_row(model: &Model, i: usize, lower: &mut [f64], upper: &mut [f64]) -> bool {
    let (row_lower, row_upper) = (model.row_lower[i], model.row_upper[i]);
    let mut changed = false;
    // Treats the row as `a x >= row_lower`, then as `-a x >= -row_upper`. The largest activity of
    // the other columns leaves a least contribution for this column.
    for (flip, side) in [(1.0, row_lower), (-1.0, -row_upper)] {
        if !side.is_finite() {
            continue;
        }
        let best = |v: f64, j: usize, lower: &[f64], upper: &[f64]| {
            if flip * v > 0.0 { upper[j] } else { lower[j] }
        };
        let mut rest = Bounded::new(0.0);
        let mut infinite = (0, usize::MAX);
        for (j, v) in model.row_entries(i) {
            let x = best(v, j, lower, upper);
            if x.is_finite() {
                rest.add_product(flip * v, x);
            } else {
                infinite = (infinite.0 + 1, j);
            }
        }
        for (j, v) in model.row_entries(i) {
            let v = flip * v;
            // A positive coefficient gets a lower bound, a negative one an upper bound.
            let given = if v > 0.0 {
                model.col_lower[j]
            } else {
                model.col_upper[j]
            };
            if given.is_finite() || infinite.0 > 1 || (infinite.0 == 1 && infinite.1 != j) {
                continue;
            }
            let mut need = rest;
            if infinite.0 == 0 {
                need.add_product(-v, best(flip * v, j, lower, upper));
            }
            need.negate();
            need.add_product(1.0, side);
            let bound = need.interval().0 / v;
            if !bound.is_finite() {
                continue;
            }
            // The division rounds once more.
            let slack = 4.0 * f64::EPSILON * bound.abs() + f64::MIN_POSITIVE;
            if v > 0.0 && bound - slack > lower[j] {
                changed |= !lower[j].is_finite();
                lower[j] = bound - slack;
            } else if v < 0.0 && bound + slack < upper[j] {
                changed |= !upper[j].is_finite();
                upper[j] = bound + slack;
            }
        }
    }
    changed
}

/// A compensated sum with a bound on its error (Ogita, Rump & Oishi 2005, Proposition 5.5,
/// generously rounded up).
#[derive(Clone, Copy)]
pub(super) struct Bounded {
    sum: Sum2,
    size: f64,
    terms: f64,
    /// True while no operation has been rounded.
    exact: bool,
}

impl Bounded {
    pub(super) fn new(start: f64) -> Self {
        Bounded {
            sum: Sum2::new(start),
            size: start.abs(),
            terms: 1.0,
            exact: true,
        }
    }

    pub(super) fn add_product(&mut self, a: f64, b: f64) {
        self.sum.add_product(a, b);
        let size = (a * b).abs();
        // The error of a product is representable unless it underflows.
        let known = size > 1e-280 || a == 0.0 || b == 0.0;
        self.exact &= known && self.sum.is_exact();
        self.size += size;
        self.terms += 1.0;
    }

    fn negate(&mut self) {
        self.sum.negate();
    }

    pub(super) fn interval(&self) -> (f64, f64) {
        let v = self.sum.value();
        let n = 4.0 * self.terms * f64::EPSILON;
        // The subnormal guard covers products whose error term underflows.
        let error = if self.exact {
            0.0
        } else {
            2.0 * f64::EPSILON * v.abs() + n * n * self.size + self.terms * 1e-300
        };
        (v - error, v + error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColId, ModelBuilder, Sense};

    #[test]
    fn rows_bound_columns_that_the_model_leaves_open() {
        // min -x - y, x + y + z = 10, x - y <= 3, x, y, z >= 0: -10. Multipliers that leave a wrong
        // sign of 1e-9.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x: Vec<ColId> = [-1.0, -1.0, 0.0].map(|c| b.add_col(c, 0.0..)).to_vec();
        b.add_row(10.0, x.iter().map(|&c| (c, 1.0)));
        b.add_row(..=3.0, [(x[0], 1.0), (x[1], -1.0)]);
        let model = b.build().unwrap();
        let bound = safe_bound(&model, &[-1.0 + 1e-9, 0.0]);
        assert!(bound <= -10.0 && bound > -10.0 - 1e-6, "{bound}");
        // Through a chain of rows, and for free columns.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, ..);
        let y = b.add_col(0.0, ..);
        b.add_row(-1.0..=2.0, [(y, 1.0)]);
        b.add_row(1.0, [(x, 3.0), (y, -3.0)]);
        let model = b.build().unwrap();
        let bound = safe_bound(&model, &[1.0 + 1e-10, 1.0 / 3.0]);
        let truth = -1.0 + 1.0 / 3.0;
        assert!(bound <= truth && bound > truth - 1e-8, "{bound}");
        // No row bounds this column.
        let mut b = ModelBuilder::new(Sense::Maximise);
        let x = b.add_col(1.0, 0.0..);
        b.add_row(1.0.., [(x, 1.0)]);
        assert_eq!(safe_bound(&b.build().unwrap(), &[0.0]), f64::INFINITY);
    }
}
