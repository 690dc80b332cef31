//! Columns that are fixed or without entries.

use super::stack::{PostsolveState, ReductionRecord};
use super::work::{Entries, Stop, WorkingModel};
use crate::outcome::VarStatus;

/// A column fixed at a value.
struct FixedCol {
    col: usize,
    value: f64,
    cost: f64,
    status: VarStatus,
    entries: Entries,
}

impl ReductionRecord for FixedCol {
    fn undo(&self, s: &mut PostsolveState) {
        s.x[self.col] = self.value;
        s.d[self.col] = s.reduced_cost(self.cost, &self.entries);
        s.col[self.col] = self.status;
    }
}

/// Removes a column: moves its contribution into the bounds of its rows. `status` tells which bound
/// has the value.
pub(super) fn fix(w: &mut WorkingModel, j: usize, value: f64, status: VarStatus) {
    let entries = w.col_entries(j);
    for &(i, a) in &entries {
        w.shift_row(i as usize, -a * value);
    }
    w.offset += w.cost[j] * value;
    w.remove_col(j);
    w.push(FixedCol {
        col: j,
        value,
        cost: w.cost[j],
        status,
        entries,
    });
}

/// Removes a column with equal bounds, or an empty column at the bound its cost favours.
pub(super) fn col(w: &mut WorkingModel, j: usize) -> Result<bool, Stop> {
    let (l, u, c) = (w.lower[j], w.upper[j], w.cost[j]);
    if l == u {
        fix(w, j, l, VarStatus::AtLower);
        return Ok(true);
    }
    if w.col_len(j) > 0 {
        return Ok(false);
    }
    let (value, status) = if c > 0.0 || (c == 0.0 && l.is_finite() && (l.abs() <= u.abs())) {
        (l, VarStatus::AtLower)
    } else if c < 0.0 || u.is_finite() {
        (u, VarStatus::AtUpper)
    } else if l.is_finite() {
        (l, VarStatus::AtLower)
    } else {
        (0.0, VarStatus::Free)
    };
    if !value.is_finite() {
        return Err(Stop::DualInfeasible);
    }
    fix(w, j, value, status);
    Ok(true)
}
