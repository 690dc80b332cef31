//! An equation in two columns, `a x + b z = r`, expresses one of them by the other (Andersen &
//! Andersen 1995).

use super::stack::{BoundSide, PostsolveState, ReductionRecord};
use super::work::{Entries, Stop, WorkingModel, cancel};
use crate::outcome::VarStatus;

struct Doubleton {
    row: usize,
    /// The eliminated column, `x`, with its coefficient, cost, bounds and other entries.
    gone: usize,
    a: f64,
    cost: f64,
    lower: f64,
    upper: f64,
    entries: Entries,
    /// The column that stays, `z`.
    kept: usize,
    b: f64,
    rhs: f64,
    /// True if the bound of `z` comes from a bound of `x`.
    lower_from_gone: bool,
    upper_from_gone: bool,
    fixed: bool,
}

impl ReductionRecord for Doubleton {
    fn undo(&self, s: &mut PostsolveState) {
        let (x, z, a, b) = (self.gone, self.kept, self.a, self.b);
        let alone = s.reduced_cost(self.cost, &self.entries);
        let side = s.col_side(z, self.fixed);
        let disguised = match side {
            Some(BoundSide::Lower) => self.lower_from_gone,
            Some(BoundSide::Upper) => self.upper_from_gone,
            None => false,
        };
        s.row[self.row] = VarStatus::AtLower;
        match side {
            Some(side) if disguised => {
                // x is at its own bound, which the bound of z only mirrored: z becomes basic.
                let mirrored = side.times(-a * b);
                s.y[self.row] = s.d[z] / b + alone / a;
                s.d[x] = -(a / b) * s.d[z];
                s.d[z] = 0.0;
                s.col[z] = VarStatus::Basic;
                s.col[x] = mirrored.status();
                s.x[x] = if mirrored == BoundSide::Lower {
                    self.lower
                } else {
                    self.upper
                };
            }
            _ => {
                s.x[x] = (self.rhs - b * s.x[z]) / a;
                s.y[self.row] = alone / a;
                s.d[x] = 0.0;
                s.col[x] = VarStatus::Basic;
                if let Some(side) = side {
                    s.col[z] = side.status();
                }
            }
        }
    }
}

/// Largest number of entries of an eliminated column, and largest ratio of the coefficients.
const MAX_ENTRIES: usize = 12;
const MAX_RATIO: f64 = 1e3;

/// Eliminates a column by an equation with two entries, if the substitution is cheap and stable.
pub(super) fn row(w: &mut WorkingModel, i: usize) -> Result<bool, Stop> {
    let entries = w.row_entries(i);
    let &[(p, ap), (q, aq)] = entries.as_slice() else {
        return Ok(false);
    };
    let (p, q) = (p as usize, q as usize);
    let (x, a, z, b) = if w.col_len(p) <= w.col_len(q) {
        (p, ap, q, aq)
    } else {
        (q, aq, p, ap)
    };
    let ratio = b / a;
    if w.col_len(x) > MAX_ENTRIES || ratio.abs() > MAX_RATIO || ratio.abs() < 1.0 / MAX_RATIO {
        return Ok(false);
    }
    let rhs = w.row_lower[i];
    // x = rhs / a - ratio z: its bounds as bounds of z.
    let (lx, ux) = (w.lower[x], w.upper[x]);
    let (at_l, at_u) = ((rhs - a * lx) / b, (rhs - a * ux) / b);
    let (zl, zu) = if ratio > 0.0 {
        (at_u, at_l)
    } else {
        (at_l, at_u)
    };
    let (l, u) = (w.lower[z], w.upper[z]);
    let tol = |v: f64| 1e-10 * (1.0 + v.abs());
    let lower_from_gone = zl > l + if l.is_finite() { tol(l) } else { 0.0 };
    let upper_from_gone = zu < u - if u.is_finite() { tol(u) } else { 0.0 };
    let mut new_l = if lower_from_gone { zl } else { l };
    let mut new_u = if upper_from_gone { zu } else { u };
    if new_l > new_u {
        if lower_from_gone && !upper_from_gone {
            new_l = new_u;
        } else {
            new_u = new_l;
        }
    }
    let others = w.col_without(x, i);
    let cost = w.cost[x];
    w.remove_row(i);
    w.remove_col(x);
    for &(s, v) in &others {
        w.shift_row(s as usize, -v * rhs / a);
        w.add_to_entry(s as usize, z, -v * ratio);
    }
    w.offset += cost * rhs / a;
    w.cost[z] = cancel(w.cost[z], -cost * ratio);
    w.push(Doubleton {
        row: i,
        gone: x,
        a,
        cost,
        lower: lx,
        upper: ux,
        entries: others,
        kept: z,
        b,
        rhs,
        lower_from_gone,
        upper_from_gone,
        fixed: new_l == new_u,
    });
    w.set_bounds(z, new_l, new_u);
    w.touch_col(z);
    Ok(true)
}
