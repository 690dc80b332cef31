//! Rows with one column, which become bounds of that column.

use super::stack::{BoundSide, PostsolveState, ReductionRecord};
use super::work::{Stop, WorkingModel};
use crate::outcome::VarStatus;

struct SingletonRow {
    row: usize,
    col: usize,
    a: f64,
    /// True if this bound of the column came from the row.
    lower_from_row: bool,
    upper_from_row: bool,
    /// True if the column's bounds became equal.
    fixed: bool,
}

impl ReductionRecord for SingletonRow {
    /// A column at the row's bound passes its reduced cost to the row and becomes basic.
    fn undo(&self, s: &mut PostsolveState) {
        let side = s.col_side(self.col, self.fixed);
        let from_row = match side {
            Some(BoundSide::Lower) => self.lower_from_row,
            Some(BoundSide::Upper) => self.upper_from_row,
            None => false,
        };
        match side {
            Some(side) if from_row => {
                s.y[self.row] = s.d[self.col] / self.a;
                s.row[self.row] = side.times(self.a).status();
                s.d[self.col] = 0.0;
                s.col[self.col] = VarStatus::Basic;
            }
            _ => {
                s.row_is_slack(self.row);
                if let Some(side) = side {
                    s.col[self.col] = side.status();
                }
            }
        }
    }
}

/// Bounds beyond this, from a row with a small coefficient, are noise.
const HUGE: f64 = 1e12;

/// Turns a row with one entry into bounds.
pub(super) fn row(w: &mut WorkingModel, i: usize) -> Result<bool, Stop> {
    let Some((j, a)) = w.row(i).next() else {
        return Ok(false);
    };
    let j = j as usize;
    let (p, q) = (w.row_lower[i] / a, w.row_upper[i] / a);
    let (p, q) = if a > 0.0 { (p, q) } else { (q, p) };
    if [p, q].iter().any(|v| v.is_finite() && v.abs() > HUGE) {
        return Ok(false);
    }
    let (l, u) = (w.lower[j], w.upper[j]);
    let tol = |v: f64| 1e-10 * (1.0 + v.abs());
    let lower_from_row = p > l + if l.is_finite() { tol(l) } else { 0.0 };
    let upper_from_row = q < u - if u.is_finite() { tol(u) } else { 0.0 };
    let mut new_l = if lower_from_row { p } else { l };
    let mut new_u = if upper_from_row { q } else { u };
    if new_l > new_u {
        // The gap is small, since larger ones were found infeasible: the column's own bound is
        // kept, or the row is an equation.
        if lower_from_row && !upper_from_row {
            new_l = new_u;
        } else {
            new_u = new_l;
        }
    }
    w.remove_row(i);
    w.push(SingletonRow {
        row: i,
        col: j,
        a,
        lower_from_row,
        upper_from_row,
        fixed: new_l == new_u,
    });
    w.set_bounds(j, new_l, new_u);
    Ok(true)
}
