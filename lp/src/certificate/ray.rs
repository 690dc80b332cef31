//! Proofs that the objective is unbounded.

use super::{CertificateError, activities, check_point, length};
use crate::model::Model;
use crate::outcome::Ray;
use crate::sum2::Sum2;

/// Share of its terms up to which the change of a row along a direction may be rounding.
const DIRECTION_NOISE: f64 = 1e-12;
/// Least change of the objective, as a share of its terms.
const GAIN_SHARE: f64 = 1e-9;

/// Checks that the point is feasible within `tol`, that the objective improves along the direction,
/// and that the direction respects all bounds. The test is exact for columns and up to rounding for
/// rows.
pub(super) fn check_ray(model: &Model, ray: &Ray, tol: f64) -> Result<(), CertificateError> {
    check_point(model, &ray.x, tol)?;
    length("direction", ray.direction.len(), model.num_cols())?;
    let no = |reason: String| Err(CertificateError::NoRay { reason });
    let is_finite = ray.direction.iter().all(|d| d.is_finite());
    if !is_finite || ray.direction.iter().all(|d| *d == 0.0) {
        return no("the direction is zero or not finite".into());
    }
    let (mut gain, mut size) = (Sum2::default(), 0.0);
    for (j, &d) in ray.direction.iter().enumerate() {
        gain.add_product(model.cost[j], d);
        size += (model.cost[j] * d).abs();
    }
    let gain = -model.sense.sign() * gain.value();
    if gain.is_nan() || gain <= GAIN_SHARE * size {
        return no(format!("the objective improves by {gain:e} along it"));
    }
    let columns = (ray.direction.iter().enumerate()).map(|(j, &d)| {
        (
            "column",
            j,
            (d, 0.0),
            model.col_lower[j],
            model.col_upper[j],
        )
    });
    let rows = activities(model, &ray.direction)
        .enumerate()
        .map(|(i, d)| ("row", i, d, model.row_lower[i], model.row_upper[i]));
    for (what, k, (d, size), l, u) in columns.chain(rows) {
        let noise = DIRECTION_NOISE * size;
        if d.is_nan() || (d > noise && u.is_finite()) || (d < -noise && l.is_finite()) {
            return no(format!("{what} {k} leaves its bound at rate {d:e}"));
        }
    }
    Ok(())
}
