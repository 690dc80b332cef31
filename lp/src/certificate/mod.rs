//! Checks outcomes against their model, in the model's own units, sharing no code with the simplex.
//!
//! All sums are compensated ([Ogita, Rump & Oishi 2005]: as accurate as if computed with twice the
//! precision). [`safe_bound`] goes further: its result is a valid bound for any `y` and accounts
//! for every rounding error (Neumaier & Shcherbina, *Safe bounds in linear and mixed-integer linear
//! programming*, 2004). [`exact_bound`] uses rational numbers where doubles do not suffice.

mod bound;
mod exact;
mod farkas;
mod quadratic;
mod ray;

use crate::model::Model;
use crate::outcome::{LpOutcome, Solution};
use crate::sum2::Sum2;
pub use bound::safe_bound;
pub use exact::exact_bound;
pub use farkas::check_farkas;
pub(crate) use farkas::oriented;
pub(crate) use quadratic::check_kkt;
pub use quadratic::{Kkt, kkt, safe_quadratic_bound};
use ray::check_ray;

/// Share of a sum's absolute terms that may be rounding of decimals to doubles: their last digits,
/// and errors of the arithmetic before they were written.
const DATA_NOISE: f64 = 8.0 * f64::EPSILON;

/// Measurements of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Largest violation of a row or column bound.
    pub primal_violation: f64,
    /// Largest reduced cost or dual of the wrong sign, over `1 + largest cost`.
    pub dual_violation: f64,
    /// `|primal - dual objective| / (1 + |primal objective|)`.
    pub gap: f64,
}

/// Reason why an outcome is not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CertificateError {
    /// A vector does not fit the model.
    #[error("{what} has {found} entries, the model needs {expected}")]
    Length {
        /// Name of the vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The right length.
        expected: usize,
    },
    /// A bound is violated by more than the tolerance.
    #[error("{what} {index} is outside its bounds by {violation:e}")]
    PrimalViolation {
        /// "row" or "column".
        what: &'static str,
        /// Its index.
        index: usize,
        /// By how much.
        violation: f64,
    },
    /// A reduced cost or dual has the wrong sign.
    #[error("the dual of {what} {index} has the wrong sign by {violation:e}")]
    DualViolation {
        /// "row" or "column".
        what: &'static str,
        /// Its index.
        index: usize,
        /// By how much.
        violation: f64,
    },
    /// Primal and dual objective differ.
    #[error("primal objective {primal} and dual objective {dual} differ")]
    Gap {
        /// Objective of `x`.
        primal: f64,
        /// Objective of `y`.
        dual: f64,
    },
    /// The multipliers do not combine to a contradiction.
    #[error(
        "the combined row is possible: it is at least {need:e}, the columns give up to {have:e}, \
         and rounding {noise:e}"
    )]
    NoContradiction {
        /// Least value the rows allow.
        need: f64,
        /// Largest value the columns can give.
        have: f64,
        /// Largest part of either that may be rounding.
        noise: f64,
    },
    /// The direction does not improve the objective, or leaves the feasible set.
    #[error("not a ray: {reason}")]
    NoRay {
        /// Description of the fault.
        reason: String,
    },
    /// The bound claimed is not supported by the multipliers.
    #[error("the bound {claimed} is not supported: the multipliers prove {proven}")]
    Bound {
        /// The bound claimed.
        claimed: f64,
        /// The bound proven.
        proven: f64,
    },
}

/// Checks an outcome with tolerance `tol` (absolute for values near one, relative for larger ones).
/// Limits need no check.
///
/// # Errors
/// The first reason to reject it.
pub fn check(model: &Model, outcome: &LpOutcome, tol: f64) -> Result<Report, CertificateError> {
    match outcome {
        LpOutcome::Optimal(s) => check_solution(model, s, tol),
        LpOutcome::Infeasible(ray) => check_farkas(model, ray).map(|()| Report::default()),
        LpOutcome::Unbounded(ray) => check_ray(model, ray, tol).map(|()| Report::default()),
        LpOutcome::CutoffReached { bound, y } => {
            let proven = safe_bound(model, y);
            let short = model.sense.sign() * (bound - proven);
            if short <= tol * (1.0 + bound.abs()) {
                Ok(Report::default())
            } else {
                Err(CertificateError::Bound {
                    claimed: *bound,
                    proven,
                })
            }
        }
        LpOutcome::Limit(_) => Ok(Report::default()),
    }
}

fn length(what: &'static str, found: usize, expected: usize) -> Result<(), CertificateError> {
    if found == expected {
        Ok(())
    } else {
        Err(CertificateError::Length {
            what,
            found,
            expected,
        })
    }
}

/// The row activities of a point, and the sums of their absolute terms.
fn activities<'a>(model: &'a Model, x: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    (0..model.num_rows()).map(|i| {
        let (mut sum, mut size) = (Sum2::default(), 0.0);
        for (j, v) in model.row_entries(i) {
            sum.add_product(v, x[j]);
            size += (v * x[j]).abs();
        }
        (sum.value(), size)
    })
}

fn outside(v: f64, l: f64, u: f64) -> f64 {
    (l - v).max(v - u).max(0.0)
}

fn check_point(model: &Model, x: &[f64], tol: f64) -> Result<f64, CertificateError> {
    length("x", x.len(), model.num_cols())?;
    let mut worst = 0.0f64;
    let columns = x.iter().enumerate().map(|(j, &v)| {
        (
            "column",
            j,
            (v, 0.0),
            model.col_lower[j],
            model.col_upper[j],
        )
    });
    let rows = activities(model, x)
        .enumerate()
        .map(|(i, v)| ("row", i, v, model.row_lower[i], model.row_upper[i]));
    for (what, index, (v, size), l, u) in columns.chain(rows) {
        let violation = outside(v, l, u);
        if violation.is_nan() || violation > tol * (1.0 + v.abs()) + DATA_NOISE * size {
            return Err(CertificateError::PrimalViolation {
                what,
                index,
                violation,
            });
        }
        worst = worst.max(violation);
    }
    Ok(worst)
}

/// Reduced costs of the minimised program and the magnitude of their terms.
fn reduced_costs<'a>(model: &'a Model, y: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let sign = model.sense.sign();
    (0..model.num_cols()).map(move |j| {
        let mut sum = Sum2::new(sign * model.cost[j]);
        let mut size = model.cost[j].abs();
        for (i, v) in model.col_entries(j) {
            sum.add_product(-v, sign * y[i]);
            size += (v * y[i]).abs();
        }
        (sum.value(), size)
    })
}

fn check_solution(model: &Model, s: &Solution, tol: f64) -> Result<Report, CertificateError> {
    length("y", s.y.len(), model.num_rows())?;
    let primal_violation = check_point(model, &s.x, tol)?;
    let sign = model.sense.sign();
    let scale = 1.0 + model.cost.iter().fold(0.0f64, |a, c| a.max(c.abs()));
    // The dual objective: every dual times the bound it prices; a dual that prices an infinite
    // bound must vanish.
    let mut dual = Sum2::new(sign * model.offset);
    let mut dual_violation = 0.0f64;
    let mut terms = 0.0f64;
    let mut price = |what, index, (d, size): (f64, f64), l: f64, u: f64| {
        let bound = if d > 0.0 { l } else { u };
        if bound.is_finite() {
            dual.add_product(d, bound);
            terms += (size * bound).abs();
            return Ok(());
        }
        dual_violation = dual_violation.max(d.abs() / scale);
        if d.is_nan() || d.abs() > tol * scale + DATA_NOISE * size {
            return Err(CertificateError::DualViolation {
                what,
                index,
                violation: d.abs(),
            });
        }
        Ok(())
    };
    for (j, d) in reduced_costs(model, &s.y).enumerate() {
        price("column", j, d, model.col_lower[j], model.col_upper[j])?;
    }
    for (i, &y) in s.y.iter().enumerate() {
        price(
            "row",
            i,
            (sign * y, y.abs()),
            model.row_lower[i],
            model.row_upper[i],
        )?;
    }
    let primal = model.objective(&s.x);
    let dual = sign * dual.value();
    // Rounding of the numbers moves the dual objective by a share of its terms.
    let apart = (primal - dual).abs();
    let gap = (apart - DATA_NOISE * terms).max(0.0) / (1.0 + primal.abs());
    // Tolerances of single values add up in the objectives; a gap of 100 tolerances still proves
    // optimality.
    if !apart.is_finite()
        || gap > 100.0 * tol
        || (s.objective - primal).abs() > tol * (1.0 + primal.abs())
    {
        return Err(CertificateError::Gap { primal, dual });
    }
    Ok(Report {
        primal_violation,
        dual_violation,
        gap,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, ColId, FarkasRay, ModelBuilder, Ray, Sense};

    fn model() -> Model {
        // max x + y, x + y <= 4, x - y >= -2, 0 <= x, y <= 3
        let mut b = ModelBuilder::new(Sense::Maximise);
        let x = b.add_col(1.0, 0.0..=3.0);
        let y = b.add_col(1.0, 0.0..=3.0);
        b.add_row(..=4.0, [(x, 1.0), (y, 1.0)]);
        b.add_row(-2.0.., [(x, 1.0), (y, -1.0)]);
        b.build().unwrap()
    }

    fn solution(x: [f64; 2], y: [f64; 2], objective: f64) -> LpOutcome {
        LpOutcome::Optimal(Solution {
            objective,
            x: x.to_vec(),
            row_activity: vec![x[0] + x[1], x[0] - x[1]],
            y: y.to_vec(),
            reduced_costs: vec![0.0; 2],
            basis: Default::default(),
        })
    }

    #[test]
    fn accepts_the_optimum_and_nothing_else() {
        let m = model();
        assert!(check(&m, &solution([2.0, 2.0], [1.0, 0.0], 4.0), 1e-9).is_ok());
        let e = |o: LpOutcome| check(&m, &o, 1e-9).unwrap_err();
        assert!(matches!(
            e(solution([3.0, 2.0], [1.0, 0.0], 5.0)),
            CertificateError::PrimalViolation { .. }
        ));
        assert!(matches!(
            e(solution([2.0, 1.0], [1.0, 0.0], 3.0)),
            CertificateError::Gap { .. }
        ));
        assert!(matches!(
            e(solution([2.0, 2.0], [-1.0, 0.0], 4.0)),
            CertificateError::DualViolation { .. }
        ));
        assert!(matches!(
            e(solution([2.0, 2.0], [1.0, 0.0], 4.5)),
            CertificateError::Gap { .. }
        ));
    }

    #[test]
    fn farkas_and_rays_are_told_from_impostors() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(-1.0, 0.0..);
        let y = b.add_col(0.0, 0.0..);
        b.add_row(..=1.0, [(x, 1.0), (y, -1.0)]);
        b.add_row(2.0.., [(x, 1.0), (y, -1.0)]);
        let m = b.build().unwrap();
        assert!(check_farkas(&m, &FarkasRay { y: vec![-1.0, 1.0] }).is_ok());
        assert_eq!(oriented(&m, vec![1.0, -1.0]).unwrap().y, [-1.0, 1.0]);
        for wrong in [[1.0, -1.0], [1.0, 1.0]] {
            assert!(check_farkas(&m, &FarkasRay { y: wrong.to_vec() }).is_err());
        }
        assert!(check_farkas(&m, &FarkasRay { y: vec![0.0, 0.0] }).is_err());
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(-1.0, 0.0..);
        let y = b.add_col(0.0, 0.0..);
        b.add_row(..=1.0, [(x, 1.0), (y, -1.0)]);
        let m = b.build().unwrap();
        let ray = |d: [f64; 2]| {
            LpOutcome::Unbounded(Ray {
                x: vec![0.0, 0.0],
                direction: d.to_vec(),
            })
        };
        assert!(check(&m, &ray([1.0, 1.0]), 1e-9).is_ok());
        assert!(check(&m, &ray([1.0, 0.0]), 1e-9).is_err());
        assert!(check(&m, &ray([0.0, 1.0]), 1e-9).is_err());
    }

    #[test]
    fn what_cancels_is_no_proof() {
        // 4 x = 20 and 5 x = 25 have a solution; multipliers that differ in the last digit.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(-1.0, 0.0..);
        b.add_row(20.0, [(x, 4.0)]);
        b.add_row(25.0, [(x, 5.0)]);
        let m = b.build().unwrap();
        for last in [0.8, 0.8 + 2e-16, 0.8 - 2e-16, 0.8 + 1e-12] {
            for sign in [1.0, -1.0] {
                let y = vec![sign, -sign * last];
                assert!(oriented(&m, y).is_none(), "{sign} {last}");
            }
        }
        // Not parallel: a point with x = 4e10.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let (x, y) = (b.add_col(0.0, ..), b.add_col(0.0, 0.0..));
        b.add_row(5.0.., [(x, 1.0), (y, 1.0)]);
        b.add_row(..=1.0, [(x, 1.0), (y, 1.0 - 1e-10)]);
        let m = b.build().unwrap();
        assert!(oriented(&m, vec![1.0, -1.0]).is_none());
        // A direction for which a small entry matters.
        let mut b = ModelBuilder::new(Sense::Maximise);
        let (x, y) = (b.add_col(0.0, 0.0..=9.0), b.add_col(1.0, 0.0..));
        b.add_row(..=6e6, [(x, 1e6), (y, 1e-6)]);
        let m = b.build().unwrap();
        let direction = vec![0.0, 1.0];
        let x = vec![0.0, 0.0];
        assert!(check(&m, &LpOutcome::Unbounded(Ray { x, direction }), 1e-6).is_err());
    }

    #[test]
    fn safe_bounds_hold_for_arbitrary_multipliers() {
        let m = model();
        let mut k = 1u64;
        for _ in 0..1000 {
            k = k.wrapping_mul(6364136223846793005).wrapping_add(99);
            let y = [
                (k >> 40) as f64 / 1e6 - 8.0,
                (k >> 20 & 0xfffff) as f64 / 1e5 - 5.0,
            ];
            assert!(safe_bound(&m, &y) >= 4.0);
        }
        assert!((safe_bound(&m, &[1.0, 0.0]) - 4.0).abs() < 1e-12);
        // An infinite bound is harmless if the rows imply one; otherwise no bound is proven.
        let mut free = m.clone();
        free.col_upper[0] = f64::INFINITY;
        let bound = safe_bound(&free, &[0.0, 0.0]);
        assert!((4.0..=7.0 + 1e-12).contains(&bound), "{bound}");
        free.col_lower = vec![f64::NEG_INFINITY; 2];
        free.col_upper = vec![f64::INFINITY; 2];
        assert_eq!(safe_bound(&free, &[0.0, 0.0]), f64::INFINITY);
        assert_eq!(free.col_bounds(ColId(0)), Bounds::FREE);
    }
}
