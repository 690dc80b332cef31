//! Detects infeasibility by bounds that rows imply for columns, propagated from row to row. Implied
//! bounds are degenerate for the simplex, so they are used only for the proof and then discarded.
//! Brearley, Mitra & Williams 1975 call the technique tightening.
//!
//! Each implied bound stands for its row. Where a ray prices the bound, it prices the row instead,
//! so the impossible row leads back to a proof (docs/inside/decisions/059).

use super::stack::{BoundSide, PostsolveState};
use super::work::{Entries, WorkingModel};

/// Sweeps over the rows with changed columns.
const SWEEPS: usize = 3;
/// Least improvement of a finite bound, relative to the larger of its size and one.
const GAIN: f64 = 1e-3;
/// Largest bound that may imply others; larger ones are too inaccurate.
const HUGE: f64 = 1e9;

/// A bound of a column that a row implies.
struct Implied {
    row: usize,
    col: usize,
    a: f64,
    side: BoundSide,
}

/// A row that the bounds of its columns, some of them implied, make infeasible.
pub(super) struct RowContradiction {
    row: usize,
    /// The bound of the row that cannot be met.
    side: BoundSide,
    /// Implied bounds in the order of their derivation.
    implied: Vec<Implied>,
}

impl RowContradiction {
    /// Writes the ray over the remaining rows and columns: multipliers and reduced costs.
    pub fn ray(&self, w: &mut WorkingModel, s: &mut PostsolveState) {
        let sign = if self.side == BoundSide::Lower {
            1.0
        } else {
            -1.0
        };
        let mut price = |s: &mut PostsolveState, i: usize, y: f64| {
            s.y[i] += y;
            for (j, a) in w.row(i) {
                s.d[j as usize] -= a * y;
            }
        };
        price(s, self.row, sign);
        for b in self.implied.iter().rev() {
            let d = s.d[b.col];
            if (d > 0.0 && b.side == BoundSide::Lower) || (d < 0.0 && b.side == BoundSide::Upper) {
                price(s, b.row, d / b.a);
                s.d[b.col] = 0.0;
            }
        }
    }
}

/// Known bounds of columns, and the rows that imply them.
struct ImpliedBounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
    implied: Vec<Implied>,
}

/// Searches for an infeasible row.
pub(super) fn find(w: &mut WorkingModel) -> Option<RowContradiction> {
    let mut bounds = ImpliedBounds {
        lower: w.lower.clone(),
        upper: w.upper.clone(),
        implied: Vec::new(),
    };
    let mut due = vec![true; w.num_rows()];
    let mut entries = Entries::new();
    let mut changed = Vec::new();
    for _ in 0..SWEEPS {
        for i in 0..w.num_rows() {
            if !std::mem::take(&mut due[i]) || !w.row_is_alive(i) {
                continue;
            }
            entries.clear();
            entries.extend(w.row(i));
            if let Some(side) = bounds.sweep(w, i, &entries, &mut changed) {
                return Some(RowContradiction {
                    row: i,
                    side,
                    implied: bounds.implied,
                });
            }
            for j in changed.drain(..) {
                w.col(j).for_each(|(k, _)| due[k as usize] = true);
            }
        }
    }
    None
}

/// One extreme of a row's activity: the sum of its finite terms and the number of infinite ones.
#[derive(Clone, Copy, Default)]
struct Extreme {
    sum: f64,
    infinite: usize,
}

impl Extreme {
    fn add(&mut self, v: f64) {
        if v.is_finite() {
            self.sum += v;
        } else {
            self.infinite += 1;
        }
    }

    /// The sum without one of its terms; `None` if infinite terms remain.
    fn without(&self, v: f64) -> Option<f64> {
        match (v.is_finite(), self.infinite) {
            (true, 0) => Some(self.sum - v),
            (false, 1) => Some(self.sum),
            _ => None,
        }
    }
}

impl ImpliedBounds {
    /// Least and greatest contribution of an entry.
    fn terms(&self, j: usize, a: f64) -> (f64, f64) {
        let (p, q) = (a * self.lower[j], a * self.upper[j]);
        if a > 0.0 { (p, q) } else { (q, p) }
    }

    /// Tightens the bounds that row `i` implies and records the columns in `changed`. Returns the
    /// bound of the row that cannot be met, if any.
    fn sweep(
        &mut self,
        w: &WorkingModel,
        i: usize,
        entries: &Entries,
        changed: &mut Vec<usize>,
    ) -> Option<BoundSide> {
        let (lower, upper) = (w.row_lower[i], w.row_upper[i]);
        let (mut min, mut max, mut size) = (Extreme::default(), Extreme::default(), 0.0f64);
        for &(j, a) in entries {
            let (p, q) = self.terms(j as usize, a);
            min.add(p);
            max.add(q);
            for v in [p, q].into_iter().filter(|v| v.is_finite()) {
                size += v.abs();
            }
        }
        let tol = w.row_impossible(i) + 1e-9 * size;
        if min.infinite == 0 && min.sum > upper + tol {
            return Some(BoundSide::Upper);
        }
        if max.infinite == 0 && max.sum < lower - tol {
            return Some(BoundSide::Lower);
        }
        let least = upper.is_finite() && min.infinite <= 1;
        let most = lower.is_finite() && max.infinite <= 1;
        if !least && !most {
            return None;
        }
        for &(j, a) in entries {
            let col = j as usize;
            let (p, q) = self.terms(col, a);
            let from_upper = min.without(p).filter(|_| least);
            let from_lower = max.without(q).filter(|_| most);
            let tighter = [
                (from_upper.map(|rest| (upper - rest) / a), BoundSide::Upper),
                (from_lower.map(|rest| (lower - rest) / a), BoundSide::Lower),
            ];
            for (bound, side) in tighter {
                let side = side.times(a);
                if let Some(v) = bound
                    && self.improves(col, side, v)
                {
                    match side {
                        BoundSide::Lower => self.lower[col] = v,
                        BoundSide::Upper => self.upper[col] = v,
                    }
                    let row = i;
                    self.implied.push(Implied { row, col, a, side });
                    changed.push(col);
                }
            }
        }
        None
    }

    fn improves(&self, j: usize, side: BoundSide, v: f64) -> bool {
        let (old, gain) = match side {
            BoundSide::Lower => (self.lower[j], v - self.lower[j]),
            BoundSide::Upper => (self.upper[j], self.upper[j] - v),
        };
        let least = if old.is_finite() {
            GAIN * old.abs().max(1.0)
        } else {
            0.0
        };
        v.abs() < HUGE && gain > least
    }
}
