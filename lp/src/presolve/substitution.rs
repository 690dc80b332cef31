//! Columns whose bounds never bind because rows imply them. A row then defines the column, and both
//! are removed (Andersen & Andersen 1995; Gondzio, *Presolve analysis of linear programs*, 1997).
//!
//! A column of one entry may also be removed with an inequality: its cost determines the side of
//! the row that binds. A column of a few entries needs an equation, which is added to the column's
//! other rows.

use super::stack::{BoundSide, PostsolveState, ReductionRecord, dot};
use super::work::{Entries, Stop, WorkingModel, cancel};
use crate::outcome::VarStatus;

struct SubstitutedColumn {
    row: usize,
    col: usize,
    a: f64,
    cost: f64,
    /// The binding side of the row, and its value.
    side: BoundSide,
    rhs: f64,
    row_entries: Entries,
    col_entries: Entries,
}

impl ReductionRecord for SubstitutedColumn {
    fn undo(&self, s: &mut PostsolveState) {
        s.x[self.col] = (self.rhs - dot(&self.row_entries, &s.x)) / self.a;
        s.y[self.row] = s.reduced_cost(self.cost, &self.col_entries) / self.a;
        s.d[self.col] = 0.0;
        s.col[self.col] = VarStatus::Basic;
        s.row[self.row] = self.side.status();
    }
}

/// Largest number of entries of a removed column, largest net fill-in, and least size of the pivot
/// relative to the largest entries of its row and of its column.
const MAX_COL: usize = 3;
const MAX_FILL: usize = 4;
const STABLE: f64 = 0.05;
/// Largest implied bound that is trusted; larger ones are too inaccurate.
const HUGE: f64 = 1e9;

/// Bounds of column `j` that row `i` implies.
fn implied(w: &mut WorkingModel, i: usize, j: usize, a: f64) -> (f64, f64) {
    let (lower, upper) = (w.row_lower[i], w.row_upper[i]);
    let (min, max) = w.activity(i).without(a, w.lower[j], w.upper[j]);
    let (p, q) = ((lower - max) / a, (upper - min) / a);
    let (p, q) = if a > 0.0 { (p, q) } else { (q, p) };
    (
        if p.abs() < HUGE { p } else { f64::NEG_INFINITY },
        if q.abs() < HUGE { q } else { f64::INFINITY },
    )
}

/// Returns whether the rows imply both bounds of a column.
fn is_implied_free(w: &mut WorkingModel, j: usize, entries: &Entries) -> bool {
    let (l, u) = (w.lower[j], w.upper[j]);
    let (mut lower_done, mut upper_done) = (l == f64::NEG_INFINITY, u == f64::INFINITY);
    for &(i, a) in entries {
        if lower_done && upper_done {
            break;
        }
        let (p, q) = implied(w, i as usize, j, a);
        lower_done |= p >= l - 1e-9 * (1.0 + l.abs());
        upper_done |= q <= u + 1e-9 * (1.0 + u.abs());
    }
    lower_done && upper_done
}

/// Tries to remove column `j` with one of its rows.
pub(super) fn col(w: &mut WorkingModel, j: usize) -> Result<bool, Stop> {
    if w.col_len(j) > MAX_COL {
        return Ok(false);
    }
    let entries = w.col_entries(j);
    if !is_implied_free(w, j, &entries) {
        return Ok(false);
    }
    let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    let mut best: Option<(usize, f64, usize)> = None;
    for &(i, a) in &entries {
        let i = i as usize;
        let usable = if entries.len() == 1 {
            w.cost[j] != 0.0 || w.row_is_equation(i)
        } else {
            w.row_is_equation(i)
        };
        if !usable || a.abs() < STABLE * largest {
            continue;
        }
        let len = w.row_len(i);
        // The row's entries are added to every other row of the column; the row and the column
        // vanish.
        let fill = (len - 1) * (entries.len() - 1);
        let gone = len + entries.len() - 1;
        let row_max = w.row(i).fold(0.0f64, |m, e| m.max(e.1.abs()));
        if fill > gone + MAX_FILL || a.abs() < STABLE * row_max * 0.2 {
            continue;
        }
        if best.is_none_or(|b| len < b.2) {
            best = Some((i, a, len));
        }
    }
    let Some((i, a, _)) = best else {
        return Ok(false);
    };
    let cost = w.cost[j];
    let price = cost / a;
    let side = if w.row_is_equation(i) || price > 0.0 {
        BoundSide::Lower
    } else {
        BoundSide::Upper
    };
    let rhs = if side == BoundSide::Lower {
        w.row_lower[i]
    } else {
        w.row_upper[i]
    };
    if !rhs.is_finite() {
        return Err(Stop::DualInfeasible);
    }
    let row_entries = w.row_without(i, j);
    let col_entries = w.col_without(j, i);
    w.remove_row(i);
    w.remove_col(j);
    w.offset += price * rhs;
    for &(k, v) in &row_entries {
        let k = k as usize;
        w.cost[k] = cancel(w.cost[k], -v * price);
        w.touch_col(k);
    }
    for &(s, v) in &col_entries {
        let factor = v / a;
        w.shift_row(s as usize, -factor * rhs);
        for &(k, e) in &row_entries {
            w.add_to_entry(s as usize, k as usize, -factor * e);
        }
    }
    w.push(SubstitutedColumn {
        row: i,
        col: j,
        a,
        cost,
        side,
        rhs,
        row_entries,
        col_entries,
    });
    Ok(true)
}
