//! Check of a point against the original model, independent of the search.
//!
//! Rows over integer columns are summed exactly if their numbers are integers or decimals with up
//! to nine places. The sum has 128 bits, after scaling by a power of ten. Other rows are tested
//! with the given tolerance, by compensated sums (Ogita, Rump & Oishi 2005).

use crate::mip::exact::{decimal_scale, scaled};
use remat_lp::{ColId, Model, RowId};

/// Reason to refuse a point.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The point has the wrong number of values, or a value that is not finite.
    #[error("the point does not fit the model")]
    Shape,
    /// An integer column has a fractional value.
    #[error("integer column {col} has the value {value}")]
    Fractional {
        /// Index of the column.
        col: usize,
        /// Its value.
        value: f64,
    },
    /// A column is outside its bounds.
    #[error("column {col} with value {value} is outside its bounds")]
    Column {
        /// Index of the column.
        col: usize,
        /// Its value.
        value: f64,
    },
    /// A row is outside its bounds.
    #[error("row {row} with activity {activity} is outside its bounds")]
    Row {
        /// Index of the row.
        row: usize,
        /// Its activity.
        activity: f64,
    },
}

/// Exact activity of a row, and whether it is outside its bounds. `None` unless the row consists of
/// decimals over integer columns.
fn exact_row(model: &Model, id: RowId, x: &[f64]) -> Option<(f64, bool)> {
    let b = model.row_bounds(id);
    if !model.row(id).all(|(j, _)| model.is_integer(j)) {
        return None;
    }
    let sides = [b.lower, b.upper].into_iter().filter(|s| s.abs() < 1e20);
    let values: Vec<f64> = model.row(id).map(|(_, a)| a).chain(sides).collect();
    let scale = decimal_scale(&values)?;
    let sum = model.row(id).try_fold(0i128, |sum, (j, a)| {
        as_integer(scaled(a, scale)?)?
            .checked_mul(as_integer(x[j.index()])?)?
            .checked_add(sum)
    })?;
    let side = |s: f64| scaled(s, scale).and_then(as_integer);
    let below = b.lower > -1e20 && side(b.lower).is_none_or(|s| sum < s);
    let above = b.upper < 1e20 && side(b.upper).is_none_or(|s| sum > s);
    Some((sum as f64 / scale, below || above))
}

fn as_integer(v: f64) -> Option<i128> {
    (v.fract() == 0.0 && v.abs() <= 9e15).then_some(v as i128)
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let p = s - a;
    (s, (a - (s - p)) + (b - p))
}

/// A compensated sum of products.
pub(crate) fn dot(terms: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut high, mut low) = (0.0, 0.0);
    for (a, b) in terms {
        let p = a * b;
        low += a.mul_add(b, -p);
        let (s, e) = two_sum(high, p);
        high = s;
        low += e;
    }
    high + low
}

/// Checks a point and returns its objective in the model's sense.
///
/// `tolerance` is absolute (a billionth of the side if that is more). It does not apply to
/// integrality, which must be exact, nor to rows of integers or decimals over integer columns.
///
/// # Errors
/// The first reason to refuse it.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(2.0, 0.0..=9.0);
/// b.set_integer(x, true);
/// b.add_row(3.0.., [(x, 2.0)]);
/// let model = b.build().unwrap();
/// assert_eq!(remat_solver::mip::check_point(&model, &[2.0], 1e-6), Ok(4.0));
/// assert!(remat_solver::mip::check_point(&model, &[1.5], 1e-6).is_err());
/// ```
pub fn check_point(model: &Model, x: &[f64], tolerance: f64) -> Result<f64, Refusal> {
    if x.len() != model.num_cols() || x.iter().any(|v| !v.is_finite()) {
        return Err(Refusal::Shape);
    }
    let outside = |v: f64, l: f64, u: f64, tol: f64| {
        // Large sides extend the tolerance only by their own precision: 1e-6 of a big-M would hide
        // violations.
        let slack = |side: f64| tol.max(1e-9 * side.abs());
        v < l - slack(l) || v > u + slack(u)
    };
    // An integer is compared exactly with an integral side; a fractional side may contain rounding.
    let outside_exactly = |v: f64, l: f64, u: f64| {
        let slack = |side: f64| {
            if side.fract() == 0.0 {
                0.0
            } else {
                1e-9 * side.abs().max(1.0)
            }
        };
        v < l - slack(l) || v > u + slack(u)
    };
    for (col, &value) in x.iter().enumerate() {
        let id = ColId(col as u32);
        let b = model.col_bounds(id);
        let integer = model.is_integer(id);
        if integer && value.fract() != 0.0 {
            return Err(Refusal::Fractional { col, value });
        }
        let out = if integer {
            outside_exactly(value, b.lower, b.upper)
        } else {
            outside(value, b.lower, b.upper, tolerance)
        };
        if out {
            return Err(Refusal::Column { col, value });
        }
    }
    for row in 0..model.num_rows() {
        let id = RowId(row as u32);
        let b = model.row_bounds(id);
        let (activity, out) = match exact_row(model, id, x) {
            Some(exact) => exact,
            None => {
                let a = dot(model.row(id).map(|(j, a)| (a, x[j.index()])));
                (a, outside(a, b.lower, b.upper, tolerance))
            }
        };
        if out {
            return Err(Refusal::Row { row, activity });
        }
    }
    Ok(model.objective(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn decimal_rows_have_no_tolerance_and_no_rounding() {
        let row = |side: f64, a: f64| {
            let mut b = ModelBuilder::new(Sense::Minimise);
            let x = b.add_col(1.0, 0.0..=9.0);
            let y = b.add_col(1.0, 0.0..=9.0);
            b.set_integer(x, true);
            b.set_integer(y, true);
            b.add_row(..=side, [(x, a), (y, 0.2)]);
            b.build().unwrap()
        };
        // In doubles 0.1 + 0.2 is more than 0.3.
        assert!(check_point(&row(0.3, 0.1), &[1.0, 1.0], 0.0).is_ok());
        // A violation below any tolerance that must still be refused.
        let over = check_point(&row(0.3, 0.1000001), &[1.0, 1.0], 1e-6);
        assert!(matches!(over, Err(Refusal::Row { row: 0, .. })));
    }

    #[test]
    fn integer_rows_have_no_tolerance() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..=1e9);
        let y = b.add_col(1.0, 0.0..=1e9);
        b.set_integer(x, true);
        b.set_integer(y, true);
        b.add_row(1e9..=1e9, [(x, 1.0), (y, 1.0)]);
        let m = b.build().unwrap();
        assert_eq!(check_point(&m, &[1e9, 0.0], 1e-6), Ok(1e9));
        assert!(matches!(
            check_point(&m, &[1e9, 1.0], 1e-6),
            Err(Refusal::Row { row: 0, .. })
        ));
    }
}
