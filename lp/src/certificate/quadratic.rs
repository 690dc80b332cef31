//! Checks and bounds of convex quadratic programs.
//!
//! A point is optimal for a convex objective if it is optimal for the objective's linearisation at
//! that point: these are the conditions of Karush, Kuhn and Tucker. The bound of a linearisation is
//! valid at every point `w` and for all multipliers (Dorn 1960, *Duality in quadratic
//! programming*).

use super::bound::{Bounded, OpenSides, least, priced};
use super::{CertificateError, activities, check_point, length, outside};
use crate::model::Model;
use crate::quadratic::Quadratic;
use crate::sum2::Sum2;

/// Least share of a column's own curvature that the bound of columns without limits uses.
const LEAST_SHARE: f64 = 1e-6;

/// Residuals of the optimality conditions at a point with multipliers, computed from the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kkt {
    /// Largest violation of a row or column bound.
    pub primal: f64,
    /// Largest part of the gradient `c + Qx - A'y` that no finite bound of its column can balance,
    /// over 1 + the largest gradient of the objective.
    pub stationarity: f64,
    /// Largest dual value of a row that belongs to an infinite side, over the same.
    pub dual: f64,
    /// Largest product of a multiplier and the distance to its bound, over 1 + |objective|.
    pub complementarity: f64,
    /// `|primal - dual objective|`, over 1 + |primal objective|.
    pub gap: f64,
    /// Objective of the point.
    pub objective: f64,
}

impl Kkt {
    /// The largest of all residuals.
    pub fn largest(&self) -> f64 {
        let all = [
            self.primal,
            self.stationarity,
            self.dual,
            self.complementarity,
            self.gap,
        ];
        all.into_iter().fold(0.0, |a: f64, v| match v.is_nan() {
            true => f64::INFINITY,
            false => a.max(v),
        })
    }
}

/// Measures the optimality conditions of a quadratic program at a point and multipliers of the rows
/// (in the model's sense), without a tolerance.
///
/// ```
/// use remat_lp::{ColId, ModelBuilder, Quadratic, Sense, certificate};
/// // min x^2 - 2 x, x <= 3
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(-2.0, ..=3.0);
/// let q = Quadratic::of_products(1, [(x, x, 1.0)])?;
/// let model = b.build()?;
/// assert_eq!(certificate::kkt(&model, &q, &[1.0], &[])?.largest(), 0.0);
/// assert!(certificate::kkt(&model, &q, &[1.5], &[])?.largest() > 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CertificateError::Length`] if a vector does not fit the model.
pub fn kkt(
    model: &Model,
    quadratic: &Quadratic,
    x: &[f64],
    y: &[f64],
) -> Result<Kkt, CertificateError> {
    length("x", x.len(), model.num_cols())?;
    length("y", y.len(), model.num_rows())?;
    let sign = model.sense.sign();
    let gradient = quadratic.gradient(x);
    let square = quadratic.value(x);
    let objective = model.objective(x) + square;
    let size = 1.0 + objective.abs();
    let steepest = model.cost.iter().chain(&gradient);
    let scale = 1.0 + steepest.fold(0.0f64, |a, v| a.max(v.abs()));
    let mut found = Kkt {
        objective,
        ..Kkt::default()
    };
    let mut dual = Sum2::new(sign * (model.offset - square));
    // A multiplier, its value and its bounds; returns the part that no bound balances.
    let mut price = |d: f64, at: f64, l: f64, u: f64| {
        found.primal = found.primal.max(outside(at, l, u));
        let side = if d > 0.0 { l } else { u };
        if !side.is_finite() {
            return d.abs();
        }
        dual.add_product(d, side);
        found.complementarity = found.complementarity.max((d * (at - side)).abs() / size);
        0.0
    };
    let (mut open_cols, mut open_rows) = (0.0f64, 0.0f64);
    for j in 0..model.num_cols() {
        let mut d = Sum2::new(sign * model.cost[j]);
        d.add(sign * gradient[j]);
        for (i, v) in model.col_entries(j) {
            d.add_product(-v, sign * y[i]);
        }
        let open = price(d.value(), x[j], model.col_lower[j], model.col_upper[j]);
        open_cols = if open.is_nan() {
            f64::NAN
        } else {
            open_cols.max(open)
        };
    }
    for (i, (activity, _)) in activities(model, x).enumerate() {
        let open = price(
            sign * y[i],
            activity,
            model.row_lower[i],
            model.row_upper[i],
        );
        open_rows = if open.is_nan() {
            f64::NAN
        } else {
            open_rows.max(open)
        };
    }
    found.stationarity = open_cols / scale;
    found.dual = open_rows / scale;
    found.gap = (objective - sign * dual.value()).abs() / size;
    Ok(found)
}

/// Checks that a point is optimal within `tol`: feasible, relative to the size of its values, with
/// all other residuals of [`kkt`] at most `tol`.
///
/// # Errors
/// The first reason to reject it.
pub(crate) fn check_kkt(
    model: &Model,
    quadratic: &Quadratic,
    x: &[f64],
    y: &[f64],
    tol: f64,
) -> Result<Kkt, CertificateError> {
    let found = kkt(model, quadratic, x, y)?;
    check_point(model, x, tol)?;
    for (what, violation) in [("column", found.stationarity), ("row", found.dual)] {
        if violation.is_nan() || violation > tol {
            return Err(CertificateError::DualViolation {
                what,
                index: 0,
                violation,
            });
        }
    }
    let worst = found.gap.max(found.complementarity);
    if !found.gap.is_finite() || worst > tol {
        let primal = found.objective;
        return Err(CertificateError::Gap {
            primal,
            dual: primal - model.sense.sign() * worst * (1.0 + primal.abs()),
        });
    }
    Ok(found)
}

/// A bound on the optimum of a quadratic program that is valid for any multipliers `y` (in the
/// model's sense) and any point `w`, despite all rounding; infinite if a column has no limit. The
/// quadratic part must be convex ([`Quadratic::check_convex`]).
///
/// It is the least value of the linearisation at `w`, as in [`safe_bound`](super::safe_bound). For
/// columns without bounds it uses a part of their curvature.
pub fn safe_quadratic_bound(model: &Model, quadratic: &Quadratic, w: &[f64], y: &[f64]) -> f64 {
    let sign = model.sense.sign();
    let none = -sign * f64::INFINITY;
    let fits = w.len() == model.num_cols() && y.len() == model.num_rows();
    if !fits || !w.iter().all(|v| v.is_finite()) {
        return none;
    }
    let y = priced(model, y);
    // -1/2 w'Qw, with intervals of Qw.
    let mut total = Bounded::new(0.0);
    for j in 0..w.len() {
        let mut gradient = Bounded::new(0.0);
        quadratic
            .matrix
            .iter(j)
            .for_each(|(i, v)| gradient.add_product(sign * v, w[i]));
        let (low, high) = gradient.interval();
        let half = -0.5 * w[j];
        total.add_product(half, if half > 0.0 { low } else { high });
    }
    let reduced = |j: usize| {
        let mut d = Bounded::new(sign * model.cost[j]);
        quadratic
            .matrix
            .iter(j)
            .for_each(|(i, v)| d.add_product(sign * v, w[i]));
        model
            .col_entries(j)
            .for_each(|(i, v)| d.add_product(-v, y[i]));
        d.interval()
    };
    let low = match least(model, true, |i| (y[i], y[i]), reduced) {
        Ok(low) => Some(low),
        Err(OpenSides { rows, cols }) if rows.is_empty() => {
            curved_share(quadratic, sign, &cols).and_then(|share| {
                let mut is_open = vec![false; w.len()];
                cols.iter().for_each(|&j| is_open[j] = true);
                for &j in &cols {
                    let (low, high) = reduced(j);
                    let largest = low.abs().max(high.abs());
                    let (a, b) = (low * w[j], high * w[j]);
                    total.add_product(if a < b { low } else { high }, w[j]);
                    // Rounded up.
                    let fall = largest / (2.0 * share) * (1.0 + 1e-15);
                    total.add_product(-largest, fall);
                }
                let closed = |j: usize| if is_open[j] { (0.0, 0.0) } else { reduced(j) };
                least(model, true, |i| (y[i], y[i]), closed).ok()
            })
        }
        Err(_) => None,
    };
    let Some(low) = low else { return none };
    total.add_product(1.0, low);
    let bound = total.interval().0;
    if bound.is_nan() { none } else { sign * bound }
}

/// A curvature that may be taken from each of these columns without losing convexity.
fn curved_share(quadratic: &Quadratic, sign: f64, cols: &[usize]) -> Option<f64> {
    let own = |j: usize| -> f64 {
        let entries = quadratic.matrix.iter(j).filter(|e| e.0 == j);
        entries.map(|e| sign * e.1).sum()
    };
    let least = cols.iter().map(|&j| own(j)).fold(f64::INFINITY, f64::min);
    let mut share = 0.5 * least;
    while share > LEAST_SHARE * least {
        if quadratic.is_convex_beyond(sign, cols, share) {
            return Some(share);
        }
        share /= 8.0;
    }
    None
}
