//! Consequences of a row's column bounds: the row is infeasible, redundant, redundant on one side,
//! or forces every column to a bound (Andersen & Andersen, *Presolving in linear programming*,
//! 1995).

use super::empty::fix;
use super::stack::{BoundSide, PostsolveState, ReductionRecord};
use super::work::{Entries, Stop, WorkingModel};
use crate::outcome::VarStatus;

/// A row implied by the rest of the program.
struct RedundantRow {
    row: usize,
}

impl ReductionRecord for RedundantRow {
    fn undo(&self, s: &mut PostsolveState) {
        s.row_is_slack(self.row);
    }
}

/// A row whose bound equals the extreme of its activity; its columns were fixed at the bounds that
/// attain it.
struct ForcingRow {
    row: usize,
    /// The attained bound of the row: `Lower` by the greatest activity, `Upper` by the least.
    side: BoundSide,
    entries: Entries,
    /// True for each entry whose column was not fixed before; the sign of its reduced cost matters.
    movable: Vec<bool>,
}

impl ReductionRecord for ForcingRow {
    /// The restored columns have reduced costs without this row's dual, some with the wrong sign
    /// for their forced bound. The least dual that corrects them all makes one reduced cost exactly
    /// zero; its column becomes basic.
    fn undo(&self, s: &mut PostsolveState) {
        let sign = if self.side == BoundSide::Lower {
            1.0
        } else {
            -1.0
        };
        let mut dual = 0.0;
        let mut basic = None;
        for (&(j, a), _) in self.entries.iter().zip(&self.movable).filter(|e| *e.1) {
            let needed = sign * s.d[j as usize] / a;
            if needed > dual {
                dual = needed;
                basic = Some(j as usize);
            }
        }
        let Some(basic) = basic else {
            s.row_is_slack(self.row);
            return;
        };
        let y = sign * dual;
        s.y[self.row] = y;
        s.row[self.row] = self.side.status();
        for &(j, a) in &self.entries {
            s.d[j as usize] -= a * y;
        }
        s.d[basic] = 0.0;
        s.col[basic] = VarStatus::Basic;
    }
}

/// Reduces one row. Always detects infeasible rows and removes empty ones, whose activity is zero;
/// the other cases need `all`.
pub(super) fn row(w: &mut WorkingModel, i: usize, all: bool) -> Result<bool, Stop> {
    let (lower, upper) = (w.row_lower[i], w.row_upper[i]);
    let tol = w.row_tolerance(i);
    let rough = w.activity(i);
    let binds_below = lower.is_finite() && rough.min() < lower - tol;
    let binds_above = upper.is_finite() && rough.max() > upper + tol;
    let can_be_left = rough.min() < upper - tol && rough.max() > lower + tol;
    let one_sided = lower == f64::NEG_INFINITY || upper == f64::INFINITY;
    if can_be_left && ((binds_below && binds_above) || (one_sided && (binds_below || binds_above)))
    {
        return Ok(false);
    }
    let activity = w.exact_activity(i);
    let (min, max) = (activity.min(), activity.max());
    if min > upper + w.row_impossible(i) {
        return Err(Stop::Infeasible(vec![(i, -1.0)]));
    }
    if max < lower - w.row_impossible(i) {
        return Err(Stop::Infeasible(vec![(i, 1.0)]));
    }
    let (below, above) = (lower <= min + tol, upper >= max - tol);
    if !all && w.row_len(i) > 0 {
        return Ok(false);
    }
    if (below && above) || w.row_len(i) == 0 {
        w.push(RedundantRow { row: i });
        w.remove_row(i);
        return Ok(true);
    }
    if max.is_finite() && max <= lower + tol {
        force(w, i, BoundSide::Lower);
        return Ok(true);
    }
    if min.is_finite() && min >= upper - tol {
        force(w, i, BoundSide::Upper);
        return Ok(true);
    }
    // A side that cannot bind is dropped, which fixes the sign of the dual.
    if (below && lower.is_finite()) || (above && upper.is_finite()) {
        if below {
            w.row_lower[i] = f64::NEG_INFINITY;
        } else {
            w.row_upper[i] = f64::INFINITY;
        }
        w.touch_cols_of(i);
    }
    Ok(false)
}

fn force(w: &mut WorkingModel, i: usize, side: BoundSide) {
    let entries = w.row_entries(i);
    w.remove_row(i);
    let movable = entries
        .iter()
        .map(|e| w.lower[e.0 as usize] < w.upper[e.0 as usize])
        .collect();
    w.push(ForcingRow {
        row: i,
        side,
        entries: entries.clone(),
        movable,
    });
    for (j, a) in entries {
        let j = j as usize;
        // The greatest activity puts columns with positive coefficients at upper bounds.
        if (a > 0.0) == (side == BoundSide::Lower) {
            fix(w, j, w.upper[j], VarStatus::AtUpper);
        } else {
            fix(w, j, w.lower[j], VarStatus::AtLower);
        }
    }
}
