//! Columns whose reduced cost has the same sign in every dual solution; they are fixed at a bound
//! (Andersen & Andersen 1995).

use super::empty::fix;
use super::stack::BoundSide;
use super::work::{Stop, WorkingModel};

/// Fixes column `j` if its cost and all its rows favour the same direction or are neutral. Here the
/// bounds on duals follow from the rows' signs alone (with `>=` a dual is nonnegative), and a tie
/// is harmless.
pub(super) fn col(w: &mut WorkingModel, j: usize) -> Result<bool, Stop> {
    let no_lower = |i: usize| w.row_lower[i] == f64::NEG_INFINITY;
    let no_upper = |i: usize| w.row_upper[i] == f64::INFINITY;
    // Lowering x_j lowers the activity if a > 0, which is safe for a row without a lower bound.
    let down =
        w.cost[j] >= 0.0 && w.col_all(j, |i, a| if a > 0.0 { no_lower(i) } else { no_upper(i) });
    let up =
        w.cost[j] <= 0.0 && w.col_all(j, |i, a| if a > 0.0 { no_upper(i) } else { no_lower(i) });
    let (l, u) = (w.lower[j], w.upper[j]);
    if down && l.is_finite() {
        fix(w, j, l, BoundSide::Lower.status());
    } else if up && u.is_finite() {
        fix(w, j, u, BoundSide::Upper.status());
    } else if (down && w.cost[j] > 0.0) || (up && w.cost[j] < 0.0) {
        return Err(Stop::DualInfeasible);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Bounds of a row's dual, and the columns that imply them.
#[derive(Clone, Copy)]
struct DualBounds {
    lower: f64,
    upper: f64,
    lower_by: Option<usize>,
    upper_by: Option<usize>,
}

/// Fixes columns whose reduced cost is bounded away from zero. Columns with one entry and an
/// infinite bound give the bounds on the duals. Strict inequality is needed: complementary
/// slackness then holds in every optimal solution. A column that bounds a dual is not fixed in the
/// same pass, since the bound depends on it.
pub(super) fn all(w: &mut WorkingModel) -> Result<(), Stop> {
    let bounds = dual_bounds(w);
    for j in 0..w.num_cols() {
        if !w.col_is_alive(j) || w.lower[j] == w.upper[j] {
            continue;
        }
        let (mut least, mut most, mut size) = (w.cost[j], w.cost[j], w.cost[j].abs());
        let mut defines = false;
        for (i, a) in w.col(j) {
            let b = &bounds[i as usize];
            defines |= b.lower_by == Some(j) || b.upper_by == Some(j);
            let (low, high) = if a > 0.0 {
                (a * b.lower, a * b.upper)
            } else {
                (a * b.upper, a * b.lower)
            };
            least -= high;
            most -= low;
            size += [low, high]
                .iter()
                .filter(|v| v.is_finite())
                .fold(0.0f64, |m, v| m.max(v.abs()));
        }
        if defines {
            continue;
        }
        let margin = 1e-7 + 1e-9 * size;
        let side = if least > margin {
            BoundSide::Lower
        } else if most < -margin {
            BoundSide::Upper
        } else {
            continue;
        };
        let value = if side == BoundSide::Lower {
            w.lower[j]
        } else {
            w.upper[j]
        };
        if !value.is_finite() {
            return Err(Stop::DualInfeasible);
        }
        fix(w, j, value, side.status());
    }
    Ok(())
}

fn dual_bounds(w: &mut WorkingModel) -> Vec<DualBounds> {
    let inf = f64::INFINITY;
    let mut bounds: Vec<DualBounds> = (0..w.num_rows())
        .map(|i| DualBounds {
            lower: if w.row_upper[i] == inf { 0.0 } else { -inf },
            upper: if w.row_lower[i] == -inf { 0.0 } else { inf },
            lower_by: None,
            upper_by: None,
        })
        .collect();
    for j in 0..w.num_cols() {
        if !w.col_is_alive(j) || w.col_len(j) != 1 {
            continue;
        }
        let (no_lower, no_upper) = (w.lower[j] == -inf, w.upper[j] == inf);
        if !(no_lower || no_upper) {
            continue;
        }
        let cost = w.cost[j];
        let Some((i, a)) = w.col(j).next() else {
            continue;
        };
        let b = &mut bounds[i as usize];
        let price = cost / a;
        // Without an upper bound, c - a y >= 0; without a lower bound, c - a y <= 0.
        let (caps, lifts) = if a > 0.0 {
            (no_upper, no_lower)
        } else {
            (no_lower, no_upper)
        };
        if caps && price < b.upper {
            (b.upper, b.upper_by) = (price, Some(j));
        }
        if lifts && price > b.lower {
            (b.lower, b.lower_by) = (price, Some(j));
        }
    }
    // If bounds cross, there is no dual solution; the solver will report it.
    for b in &mut bounds {
        if b.lower > b.upper {
            *b = DualBounds {
                lower: -inf,
                upper: inf,
                lower_by: b.lower_by,
                upper_by: b.upper_by,
            };
        }
    }
    bounds
}
