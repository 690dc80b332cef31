//! Columns that are multiples of one another. With costs in the same ratio they merge into one
//! column, with the sum of their ranges. Otherwise the more expensive one is fixed at a bound if
//! the cheaper one can always replace it (Andersen & Andersen 1995).

use super::duplicate_rows::{WINDOW, candidates, multiple};
use super::empty::fix;
use super::stack::{BoundSide, PostsolveState, ReductionRecord};
use super::work::{Stop, WorkingModel};
use crate::outcome::VarStatus;

/// Two columns merged into `kept + factor * gone`.
struct DuplicateCol {
    kept: usize,
    gone: usize,
    factor: f64,
    kept_bounds: (f64, f64),
    gone_bounds: (f64, f64),
}

impl DuplicateCol {
    fn value(bounds: (f64, f64), side: BoundSide) -> f64 {
        if side == BoundSide::Lower {
            bounds.0
        } else {
            bounds.1
        }
    }

    /// Splits a basic sum: one column is put at a bound, the other becomes basic.
    fn divide(&self, s: &mut PostsolveState, sum: f64) {
        let tol = 1e-9 * (1.0 + sum.abs());
        let inside = |v: f64, b: (f64, f64)| v >= b.0 - tol && v <= b.1 + tol;
        let (k, g) = (self.kept, self.gone);
        for (side, v) in [
            (BoundSide::Lower, self.gone_bounds.0),
            (BoundSide::Upper, self.gone_bounds.1),
        ] {
            let rest = sum - self.factor * v;
            if v.is_finite() && inside(rest, self.kept_bounds) {
                (s.x[g], s.col[g]) = (v, side.status());
                (s.x[k], s.col[k]) = (rest, VarStatus::Basic);
                return;
            }
        }
        for (side, v) in [
            (BoundSide::Lower, self.kept_bounds.0),
            (BoundSide::Upper, self.kept_bounds.1),
        ] {
            let rest = (sum - v) / self.factor;
            if v.is_finite() && inside(rest, self.gone_bounds) {
                (s.x[k], s.col[k]) = (v, side.status());
                (s.x[g], s.col[g]) = (rest, VarStatus::Basic);
                return;
            }
        }
        // Reached only if neither column has a bound.
        (s.x[g], s.col[g]) = (0.0, VarStatus::Free);
        (s.x[k], s.col[k]) = (sum, VarStatus::Basic);
    }
}

impl ReductionRecord for DuplicateCol {
    fn undo(&self, s: &mut PostsolveState) {
        let sum = s.x[self.kept];
        s.d[self.gone] = self.factor * s.d[self.kept];
        match s.col_side(self.kept, false) {
            Some(side) => {
                // At an end of the sum's range, each column is at an end of its own range.
                let other = side.times(self.factor);
                s.x[self.kept] = Self::value(self.kept_bounds, side);
                s.x[self.gone] = Self::value(self.gone_bounds, other);
                s.col[self.kept] = side.status();
                s.col[self.gone] = other.status();
            }
            None => self.divide(s, sum),
        }
    }
}

/// Merges or fixes all duplicate columns.
pub(super) fn all(w: &mut WorkingModel) -> Result<(), Stop> {
    let cols: Vec<usize> = (0..w.num_cols())
        .filter(|&j| w.col_is_alive(j) && w.col_len(j) > 0)
        .collect();
    for group in candidates(&cols, |j, entries| entries.extend(w.col(j))) {
        for k in 0..group.len() {
            for l in k + 1..group.len().min(k + 1 + WINDOW) {
                let (j, g) = (group[k].0, group[l].0);
                if w.col_is_alive(j)
                    && w.col_is_alive(g)
                    && let Some(factor) = multiple(&group[k].1, &group[l].1)
                {
                    pair(w, j, g, factor)?;
                }
            }
        }
    }
    Ok(())
}

/// Merges or fixes a pair: column `g` is `factor` times column `j`.
fn pair(w: &mut WorkingModel, j: usize, g: usize, factor: f64) -> Result<(), Stop> {
    let difference = w.cost[g] - factor * w.cost[j];
    let size = w.cost[g].abs() + (factor * w.cost[j]).abs();
    if difference.abs() <= 1e-13 * size {
        merge(w, j, g, factor);
        return Ok(());
    }
    if difference.abs() <= 1e-9 * size + 1e-9 {
        return Ok(());
    }
    if dominated(w, j, g, factor, difference)? {
        return Ok(());
    }
    // The same test with the roles exchanged.
    dominated(w, g, j, 1.0 / factor, -difference / factor).map(drop)
}

/// Fixes `g` if its reduced cost, `difference + factor * d_j`, has a known sign because `j` has an
/// infinite bound.
fn dominated(
    w: &mut WorkingModel,
    j: usize,
    g: usize,
    factor: f64,
    difference: f64,
) -> Result<bool, Stop> {
    // Without an upper bound, d_j >= 0; without a lower bound, d_j <= 0.
    let (nonnegative, nonpositive) = (w.upper[j] == f64::INFINITY, w.lower[j] == f64::NEG_INFINITY);
    let (grows, falls) = if factor > 0.0 {
        (nonnegative, nonpositive)
    } else {
        (nonpositive, nonnegative)
    };
    let side = if difference > 0.0 && grows {
        BoundSide::Lower
    } else if difference < 0.0 && falls {
        BoundSide::Upper
    } else {
        return Ok(false);
    };
    let value = if side == BoundSide::Lower {
        w.lower[g]
    } else {
        w.upper[g]
    };
    if !value.is_finite() {
        return Err(Stop::DualInfeasible);
    }
    fix(w, g, value, side.status());
    Ok(true)
}

fn merge(w: &mut WorkingModel, j: usize, g: usize, factor: f64) {
    let (kept_bounds, gone_bounds) = ((w.lower[j], w.upper[j]), (w.lower[g], w.upper[g]));
    let (p, q) = (factor * gone_bounds.0, factor * gone_bounds.1);
    let (p, q) = if factor > 0.0 { (p, q) } else { (q, p) };
    let (l, u) = (kept_bounds.0 + p, kept_bounds.1 + q);
    // A free sum may be nonbasic at zero, which no pair of nonbasic values need add up to.
    if (l == f64::NEG_INFINITY && u == f64::INFINITY) || !(1e-3..=1e3).contains(&factor.abs()) {
        return;
    }
    w.remove_col(g);
    w.push(DuplicateCol {
        kept: j,
        gone: g,
        factor,
        kept_bounds,
        gone_bounds,
    });
    w.set_bounds(j, l, u);
}
