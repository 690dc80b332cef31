//! Bounds and infeasibility proofs that hold in spite of rounding (Neumaier & Shcherbina 2004).
//! They use column bounds that may be tighter than the linear program's. Propagation finds finite
//! bounds for columns without their own: a reduced cost of 1e-15 then weakens the bound slightly
//! instead of making it infinite.

use remat_lp::{ColId, Model, RowId};

/// A sum with a bound on its rounding error.
#[derive(Clone, Copy, Default)]
struct Guarded {
    sum: f64,
    size: f64,
    terms: f64,
}

impl Guarded {
    fn add(&mut self, v: f64) {
        self.sum += v;
        self.size += v.abs();
        self.terms += 1.0;
    }

    /// Error bound of recursive summation of rounded products: `|error| <= (terms + 1) eps * size`
    /// (Higham 2002, section 3.1), doubled.
    fn error(&self) -> f64 {
        2.0 * (self.terms + 2.0) * f64::EPSILON * self.size
    }
}

/// `min (c - A^T y) x` over the box, plus `y . side`, with usable multipliers only. Costs count if
/// `with_cost`. A reduced cost up to `noise` towards an infinite bound is ignored.
fn combine(
    model: &Model,
    y: &[f64],
    lower: &[f64],
    upper: &[f64],
    with_cost: bool,
    noise: f64,
) -> f64 {
    let mut total = Guarded::default();
    let mut usable = y.to_vec();
    for (i, v) in usable.iter_mut().enumerate() {
        if v.abs() < 1e-14 {
            *v = 0.0;
            continue;
        }
        let b = model.row_bounds(RowId(i as u32));
        let side = if *v > 0.0 { b.lower } else { b.upper };
        if side.is_finite() {
            total.add(*v * side);
        } else {
            *v = 0.0;
        }
    }
    if with_cost {
        total.add(model.offset());
    }
    for j in 0..model.num_cols() {
        let mut d = Guarded::default();
        if with_cost {
            d.add(model.costs()[j]);
        }
        for (i, a) in model.col(ColId(j as u32)) {
            if usable[i.index()] != 0.0 {
                d.add(-a * usable[i.index()]);
            }
        }
        if d.size == 0.0 {
            continue;
        }
        let e = d.error();
        let (low, high) = (d.sum - e, d.sum + e);
        let b = model.col_bounds(ColId(j as u32));
        let (l, u) = (lower[j].max(b.lower), upper[j].min(b.upper));
        let least = [(low, l), (low, u), (high, l), (high, u)]
            .into_iter()
            .map(|(d, x)| if d == 0.0 { 0.0 } else { d * x })
            .fold(f64::INFINITY, f64::min);
        if least == f64::NEG_INFINITY || least.is_nan() {
            if d.sum.abs() <= noise {
                continue;
            }
            return f64::NEG_INFINITY;
        }
        total.add(least);
    }
    total.sum - total.error()
}

/// The row `entries . x <= rhs` that holds for all points of the rows within the bounds. With a
/// cutoff, it holds for points whose objective is at most the cutoff. For a proof of infeasibility,
/// the multipliers need the sign that proves it.
///
/// `None` if a column without bounds would need its rounding covered.
pub(crate) fn proof_row(
    model: &Model,
    y: &[f64],
    lower: &[f64],
    upper: &[f64],
    cutoff: Option<f64>,
) -> Option<(Vec<(u32, f64)>, f64)> {
    if y.len() != model.num_rows() || y.iter().any(|v| !v.is_finite()) {
        return None;
    }
    // cost . x - y . (A x) <= cutoff - y . side
    let mut rhs = Guarded::default();
    if let Some(c) = cutoff {
        rhs.add(c);
        rhs.add(-model.offset());
    }
    let mut usable = y.to_vec();
    for (i, v) in usable.iter_mut().enumerate() {
        let b = model.row_bounds(RowId(i as u32));
        let side = if *v > 0.0 { b.lower } else { b.upper };
        if v.abs() < 1e-14 || !side.is_finite() {
            *v = 0.0;
        } else {
            rhs.add(-*v * side);
        }
    }
    let mut entries = Vec::new();
    for j in 0..model.num_cols() {
        let mut d = Guarded::default();
        if cutoff.is_some() {
            d.add(model.costs()[j]);
        }
        for (i, a) in model.col(ColId(j as u32)) {
            if usable[i.index()] != 0.0 {
                d.add(-a * usable[i.index()]);
            }
        }
        if d.size == 0.0 {
            continue;
        }
        // Any coefficient within the error is possible: the row holds with this one if its side
        // covers the difference.
        let reach = lower[j].abs().max(upper[j].abs());
        if !reach.is_finite() {
            return None;
        }
        rhs.add(d.error() * reach);
        if d.sum.abs() > d.error() {
            entries.push((j as u32, d.sum));
        } else {
            rhs.add(d.error() * reach);
        }
    }
    Some((entries, rhs.sum + rhs.error()))
}

/// A lower bound on the minimum of a minimised model, over the tighter of its own and the given
/// bounds.
pub(crate) fn bound(model: &Model, y: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
    if y.len() != model.num_rows() || y.iter().any(|v| !v.is_finite()) {
        return f64::NEG_INFINITY;
    }
    combine(model, y, lower, upper, true, 0.0)
}

/// The value of [`bound`] if reduced costs up to `noise` times the largest cost are ignored on
/// columns with an infinite bound. All others count.
pub(crate) fn bound_but_for_noise(
    model: &Model,
    y: &[f64],
    lower: &[f64],
    upper: &[f64],
    noise: f64,
) -> f64 {
    if y.len() != model.num_rows() || y.iter().any(|v| !v.is_finite()) {
        return f64::NEG_INFINITY;
    }
    let largest = model.costs().iter().fold(1.0f64, |a, c| a.max(c.abs()));
    combine(model, y, lower, upper, true, noise * largest)
}

/// Returns whether the multipliers prove that the rows are infeasible within the bounds.
pub(crate) fn farkas_holds(model: &Model, y: &[f64], lower: &[f64], upper: &[f64]) -> bool {
    if y.len() != model.num_rows() || y.iter().any(|v| !v.is_finite()) {
        return false;
    }
    if combine(model, y, lower, upper, false, 0.0) > 0.0 {
        return true;
    }
    let opposite: Vec<f64> = y.iter().map(|v| -v).collect();
    combine(model, &opposite, lower, upper, false, 0.0) > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn bounds_of_the_domain_replace_missing_ones() {
        // min x + y, x + y >= 2, both nonnegative without upper bounds; the multiplier is slightly
        // too large.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(1.0, 0.0..);
        b.add_row(2.0.., [(x, 1.0), (y, 1.0)]);
        let m = b.build().unwrap();
        let inf = [f64::INFINITY; 2];
        assert_eq!(
            bound(&m, &[1.0 + 1e-12], &[0.0; 2], &inf),
            f64::NEG_INFINITY
        );
        let v = bound(&m, &[1.0 + 1e-12], &[0.0; 2], &[10.0; 2]);
        assert!(v <= 2.0 && v > 2.0 - 1e-9);
    }

    #[test]
    fn a_contradiction_is_recognised_with_either_sign() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(0.0, 0.0..=1.0);
        b.add_row(2.0.., [(x, 1.0)]);
        let m = b.build().unwrap();
        assert!(farkas_holds(&m, &[1.0], &[0.0], &[1.0]));
        assert!(farkas_holds(&m, &[-1.0], &[0.0], &[1.0]));
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(0.0, 0.0..=2.0);
        b.add_row(2.0.., [(x, 1.0)]);
        let m = b.build().unwrap();
        assert!(!farkas_holds(&m, &[1.0], &[0.0], &[2.0]));
        assert!(farkas_holds(&m, &[1.0], &[0.0], &[1.5]));
    }
}
