//! Columns with one entry that only loosen their row: any such column of an equation (its cost
//! moves to the other columns), and a column without cost of an inequality. The row's range absorbs
//! them.

use super::stack::{BoundSide, PostsolveState, ReductionRecord, dot};
use super::work::{Entries, Stop, WorkingModel, cancel};
use crate::outcome::VarStatus;

/// One absorbed column, with the row's sides before it.
struct Taken {
    col: usize,
    a: f64,
    cost: f64,
    lower: f64,
    upper: f64,
    row_lower: f64,
    row_upper: f64,
}

impl Taken {
    fn bound(&self, side: BoundSide) -> f64 {
        if side == BoundSide::Lower {
            self.lower
        } else {
            self.upper
        }
    }

    /// The bound at which the nonbasic column leaves the row, basic, within its sides; `None` if
    /// neither bound does.
    fn resting_place(&self, activity: f64) -> Option<(f64, VarStatus)> {
        let tol = 1e-9 * (1.0 + activity.abs());
        let fits = |v: &f64| {
            let r = activity + self.a * v;
            v.is_finite() && r >= self.row_lower - tol && r <= self.row_upper + tol
        };
        if fits(&self.lower) {
            Some((self.lower, VarStatus::AtLower))
        } else if fits(&self.upper) {
            Some((self.upper, VarStatus::AtUpper))
        } else {
            None
        }
    }
}

struct Slacks {
    row: usize,
    /// The row without the absorbed columns.
    entries: Entries,
    taken: Vec<Taken>,
}

impl ReductionRecord for Slacks {
    fn undo(&self, s: &mut PostsolveState) {
        let mut activity = dot(&self.entries, &s.x);
        for t in self.taken.iter().rev() {
            give_back(self.row, t, activity, s);
            activity += t.a * s.x[t.col];
        }
    }
}

/// Restores one column. `activity` is the activity of the row without it.
fn give_back(row: usize, t: &Taken, activity: f64, s: &mut PostsolveState) {
    let j = t.col;
    let equation = t.row_lower == t.row_upper;
    s.d[j] = -t.a * s.y[row];
    if let Some(side) = s.row_side(row, false) {
        // The widened row is at a bound: so are the row and the column, at the bound that widened
        // it.
        let at = if t.a > 0.0 { side.times(-1.0) } else { side };
        s.x[j] = t.bound(at);
        s.col[j] = at.status();
        s.row[row] = side.status();
    } else if equation {
        s.x[j] = (t.row_lower - activity) / t.a;
        s.col[j] = VarStatus::Basic;
        s.row[row] = VarStatus::AtLower;
    } else if let Some((value, status)) = t.resting_place(activity) {
        s.x[j] = value;
        s.col[j] = status;
        s.row[row] = VarStatus::Basic;
    } else {
        // The row must be at a bound, and the column makes up the difference.
        let value = |bound: f64| (bound - activity) / t.a;
        let tol = 1e-9 * (1.0 + activity.abs());
        let inside =
            |b: f64| b.is_finite() && value(b) >= t.lower - tol && value(b) <= t.upper + tol;
        if inside(t.row_lower) {
            s.x[j] = value(t.row_lower);
            (s.col[j], s.row[row]) = (VarStatus::Basic, VarStatus::AtLower);
        } else if inside(t.row_upper) {
            s.x[j] = value(t.row_upper);
            (s.col[j], s.row[row]) = (VarStatus::Basic, VarStatus::AtUpper);
        } else {
            s.x[j] = if t.lower.is_finite() {
                t.lower
            } else {
                t.upper.min(0.0)
            };
            s.col[j] = if t.lower.is_finite() {
                VarStatus::AtLower
            } else if t.upper.is_finite() {
                VarStatus::AtUpper
            } else {
                VarStatus::Free
            };
        }
    }
    if equation {
        s.y[row] += s.cost(t.cost) / t.a;
    }
}

/// Returns whether the cost of column `j` can move to the other columns of its row without more
/// columns becoming dual infeasible at an infinite bound (docs/inside/decisions/059).
fn keeps_dual_feasibility(w: &WorkingModel, entries: &Entries, j: usize, price: f64) -> bool {
    let wrong = |k: usize, cost: f64| {
        (cost < 0.0 && w.upper[k] == f64::INFINITY)
            || (cost > 0.0 && w.lower[k] == f64::NEG_INFINITY)
    };
    let mut balance = -i64::from(wrong(j, w.cost[j]));
    for &(k, v) in entries {
        let k = k as usize;
        if k != j && w.col_is_alive(k) {
            balance +=
                i64::from(wrong(k, cancel(w.cost[k], -v * price))) - i64::from(wrong(k, w.cost[k]));
        }
    }
    balance <= 0
}

/// Absorbs the columns with one entry into row `i` as far as possible.
pub(super) fn row(w: &mut WorkingModel, i: usize) -> Result<bool, Stop> {
    let entries = w.row_entries(i);
    let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    let mut taken = Vec::new();
    let mut left = entries.len();
    for &(j, a) in &entries {
        let j = j as usize;
        let equation = w.row_is_equation(i);
        // One column is kept: no reduction interprets a row without columns.
        if w.col_len(j) != 1 || left <= 1 || a.abs() < 1e-3 * largest || w.lower[j] == w.upper[j] {
            continue;
        }
        if w.cost[j] != 0.0 && !(equation && keeps_dual_feasibility(w, &entries, j, w.cost[j] / a))
        {
            continue;
        }
        let (l, u, cost) = (w.lower[j], w.upper[j], w.cost[j]);
        let (low, high) = if a > 0.0 {
            (a * l, a * u)
        } else {
            (a * u, a * l)
        };
        taken.push(Taken {
            col: j,
            a,
            cost,
            lower: l,
            upper: u,
            row_lower: w.row_lower[i],
            row_upper: w.row_upper[i],
        });
        if cost != 0.0 {
            let price = cost / a;
            w.offset += price * w.row_lower[i];
            for &(k, v) in &entries {
                let k = k as usize;
                if k != j && w.col_is_alive(k) {
                    w.cost[k] = cancel(w.cost[k], -v * price);
                    w.touch_col(k);
                }
            }
        }
        w.row_lower[i] -= high;
        w.row_upper[i] -= low;
        w.remove_col(j);
        left -= 1;
    }
    if taken.is_empty() {
        return Ok(false);
    }
    w.touch_row(i);
    w.touch_cols_of(i);
    let entries = w.row_entries(i);
    w.push(Slacks {
        row: i,
        entries,
        taken,
    });
    Ok(true)
}
