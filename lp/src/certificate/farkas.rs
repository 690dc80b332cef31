//! Proofs of infeasibility.
//!
//! The combined row `y^T A x` is at least the combination of its sides (a positive multiplier
//! prices the lower side of its row, a negative one the upper side). It is at most the activity
//! that the bounds of the columns allow. Differences are compared with the sums of the absolute
//! terms: a difference within the rounding of the model's numbers proves no contradiction.

use super::bound::{implied_bounds, priced_sides};
use super::exact::infeasibility;
use super::{CertificateError, DATA_NOISE, length};
use crate::model::Model;
use crate::outcome::FarkasRay;
use crate::sum2::Sum2;

/// Elementary operations for a proof in rational numbers.
const EXACT_WORK: u64 = 20_000_000;
/// Share of its terms up to which a coefficient may be noise of the multipliers.
const MULTIPLIER_NOISE: f64 = 1e-9;
/// Assumed bound of a column without one, if its coefficient may be noise and rational numbers do
/// not settle it.
const FAR: f64 = 1e12;
/// Share of all terms that the contradiction must exceed under this assumption.
const FAR_MARGIN: f64 = 1e-9;

/// Checks that the multipliers combine the rows to one that the columns' bounds contradict. With
/// `side_i` the lower side of row `i` if `y_i > 0` and the upper side if `y_i < 0`,
/// `sum_i y_i side_i` must be more than `y^T A x` at every `x` within its bounds.
///
/// If bounds of the model cross ([`Model::crossed`]), any multipliers are accepted. Multipliers on
/// infinite sides are taken as 0. A coefficient of the combined row may have the wrong sign for a
/// column without a bound only in one of three cases:
/// - the coefficient is within rounding (8 units of the last digit of its terms);
/// - nearby multipliers prove the contradiction in rational numbers;
/// - the coefficient may be noise, and the contradiction holds for all columns within their implied
///   bounds or within 1e12.
///
/// # Errors
/// The two sides of the comparison.
pub fn check_farkas(model: &Model, ray: &FarkasRay) -> Result<(), CertificateError> {
    proof(model, &ray.y).map(|_| ())
}

/// Multipliers with the sign that [`check_farkas`] requires and 0 for infinite sides. `None` if
/// neither they nor their negatives are a proof.
pub(crate) fn oriented(model: &Model, mut y: Vec<f64>) -> Option<FarkasRay> {
    for _ in 0..2 {
        if let Ok(y) = proof(model, &y) {
            return Some(FarkasRay { y });
        }
        y.iter_mut().for_each(|v| *v = -*v);
    }
    None
}

/// The multipliers of a proof: the given ones, or nearby ones if rational numbers were needed.
fn proof(model: &Model, given: &[f64]) -> Result<Vec<f64>, CertificateError> {
    length("y", given.len(), model.num_rows())?;
    if model.crossed().is_some() {
        return Ok(given.to_vec());
    }
    let y = priced_sides(model, given);
    let mut combined = Combined::new(model, &y);
    if combined.open.is_empty() && combined.exceeds(0.0, DATA_NOISE) {
        return Ok(y);
    }
    if !combined.open.is_empty() {
        if let Some((least, moved)) = infeasibility(model, &y, EXACT_WORK)
            && least > DATA_NOISE * combined.size
        {
            return Ok(priced_sides(model, &moved));
        }
        combined.imply(model);
        let rest: f64 = combined.open.iter().map(|o| o.w.abs() * FAR).sum();
        let share = if combined.open.is_empty() {
            DATA_NOISE
        } else {
            FAR_MARGIN
        };
        if combined.open.iter().all(OpenColumn::may_be_noise) && combined.exceeds(rest, share) {
            return Ok(y);
        }
    }
    Err(CertificateError::NoContradiction {
        need: combined.need.value(),
        have: match combined.open.is_empty() {
            true => combined.have.value(),
            false => f64::INFINITY,
        },
        noise: DATA_NOISE * combined.size,
    })
}

/// A coefficient of the combined row whose column has no bound on the side that counts.
struct OpenColumn {
    col: usize,
    w: f64,
    size: f64,
}

impl OpenColumn {
    fn may_be_noise(&self) -> bool {
        self.w.abs() <= MULTIPLIER_NOISE * self.size
    }
}

/// The combined row.
struct Combined {
    need: Sum2,
    have: Sum2,
    /// Sum of the absolute terms of both.
    size: f64,
    open: Vec<OpenColumn>,
}

impl Combined {
    fn new(model: &Model, y: &[f64]) -> Combined {
        let mut found = Combined {
            need: Sum2::default(),
            have: Sum2::default(),
            size: 0.0,
            open: Vec::new(),
        };
        for (i, &v) in y.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            let side = if v > 0.0 {
                model.row_lower[i]
            } else {
                model.row_upper[i]
            };
            found.need.add_product(v, side);
            found.size += (v * side).abs();
        }
        for j in 0..model.num_cols() {
            let (mut sum, mut size) = (Sum2::default(), 0.0);
            for (i, v) in model.col_entries(j) {
                sum.add_product(v, y[i]);
                size += (v * y[i]).abs();
            }
            let w = sum.value();
            if size == 0.0 {
                continue;
            }
            let bound = if w > 0.0 {
                model.col_upper[j]
            } else {
                model.col_lower[j]
            };
            if bound.is_finite() {
                found.add_column(w, size, bound);
            } else if w.abs() > DATA_NOISE * size {
                found.open.push(OpenColumn { col: j, w, size });
            }
        }
        found
    }

    /// Applies bounds that rows imply to coefficients that may be noise. Larger coefficients may
    /// not use them, since those rows are not part of the proof.
    fn imply(&mut self, model: &Model) {
        let noise = self.open.iter().filter(|o| o.may_be_noise());
        let (lower, upper) = implied_bounds(model, noise.map(|o| o.col));
        for o in std::mem::take(&mut self.open) {
            let bound = if o.w > 0.0 {
                upper[o.col]
            } else {
                lower[o.col]
            };
            if bound.is_finite() && o.may_be_noise() {
                self.add_column(o.w, o.w.abs(), bound);
            } else {
                self.open.push(o);
            }
        }
    }

    fn add_column(&mut self, w: f64, size: f64, bound: f64) {
        self.have.add_product(w, bound);
        self.size += size * bound.abs();
    }

    /// Returns whether the rows' requirement exceeds the columns' largest activity plus `rest` by
    /// more than a share of the terms.
    fn exceeds(&self, rest: f64, share: f64) -> bool {
        let mut margin = self.need;
        margin.add(-self.have.value());
        margin.value() - rest > share * (self.size + rest)
    }
}
