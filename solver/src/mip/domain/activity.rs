//! Activities of the rows within the bounds, updated with every change of a bound. A row is
//! propagated again only if it may tighten a bound (Achterberg 2007, section 7.1). In a long row
//! with exactly one column at 1, a change then costs one step instead of a pass over the row.
//!
//! Updates accumulate rounding. Propagation itself therefore sums up afresh, and so does a test of
//! a side near its activity.

use crate::mip::problem::Problem;

/// Changes after which the activities are summed up afresh, at the next reset.
const DRIFT_LIMIT: u64 = 1_000_000;

/// Allowance for rounding, relative to the largest contribution of a row.
const DRIFT: f64 = 1e-9;

/// Sum of one side's contributions, and the number of infinite ones.
#[derive(Clone, Copy, Debug, Default)]
struct SideActivity {
    finite: f64,
    infinite: u32,
}

impl SideActivity {
    fn add(&mut self, value: f64, largest: &mut f64) {
        if value.is_finite() {
            self.finite += value;
            *largest = largest.max(value.abs());
        } else {
            self.infinite += 1;
        }
    }

    fn remove(&mut self, value: f64) {
        if value.is_finite() {
            self.finite -= value;
        } else {
            self.infinite -= 1;
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ActivityRow {
    least: SideActivity,
    largest: SideActivity,
    /// Largest change by one column: coefficient times the width of the problem's bounds.
    span: f64,
    /// The largest contribution so far.
    size: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Activities {
    rows: Vec<ActivityRow>,
    changes: u64,
}

impl Activities {
    /// Sums within the given bounds, which must lie within the problem's.
    pub fn new(p: &Problem, lower: &[f64], upper: &[f64]) -> Activities {
        let row = |i: usize| {
            let mut row = ActivityRow::default();
            let (index, value) = p.rows.vector(i);
            for (&j, &a) in index.iter().zip(value) {
                let j = j as usize;
                let (l, u) = (lower[j], upper[j]);
                let (low, high) = if a > 0.0 { (l, u) } else { (u, l) };
                row.least.add(a * low, &mut row.size);
                row.largest.add(a * high, &mut row.size);
                row.span = row.span.max(a.abs() * (p.upper[j] - p.lower[j]));
            }
            row
        };
        Activities {
            rows: (0..p.num_rows()).map(row).collect(),
            changes: 0,
        }
    }

    /// Returns whether a side of a row holds for all points; `None` if the activity is too near the
    /// side.
    pub fn settle(&self, p: &Problem, i: usize, lower: bool) -> Option<bool> {
        let row = &self.rows[i];
        let (sum, room) = if lower {
            (row.least, row.least.finite - p.row_lower[i])
        } else {
            (row.largest, p.row_upper[i] - row.largest.finite)
        };
        let drift = DRIFT * row.size.max(1.0);
        match sum.infinite {
            _ if room == f64::INFINITY => Some(true),
            0 if room > drift => Some(true),
            0 if room >= -drift => None,
            _ => Some(false),
        }
    }

    pub fn have_drifted(&self) -> bool {
        self.changes > DRIFT_LIMIT
    }

    /// Applies a change of a bound of column `j` without reporting rows, for undo.
    pub fn revert(&mut self, p: &Problem, j: usize, upper: bool, moved: (f64, f64)) {
        self.change(p, j, upper, moved, |_| {});
    }

    /// Applies a change of a bound of column `j`, and reports the rows that may propagate.
    pub fn change(
        &mut self,
        p: &Problem,
        j: usize,
        upper: bool,
        (from, to): (f64, f64),
        mut tell: impl FnMut(usize),
    ) {
        let (index, value) = p.cols.vector(j);
        self.changes += index.len() as u64;
        for (&i, &a) in index.iter().zip(value) {
            let i = i as usize;
            let row = &mut self.rows[i];
            // Distance to the side that the sum must not cross.
            let (sum, room) = if (a > 0.0) == upper {
                row.largest.remove(a * from);
                row.largest.add(a * to, &mut row.size);
                (row.largest, row.largest.finite - p.row_lower[i])
            } else {
                row.least.remove(a * from);
                row.least.add(a * to, &mut row.size);
                (row.least, p.row_upper[i] - row.least.finite)
            };
            let speaks = room < f64::INFINITY
                && (sum.infinite == 1
                    || sum.infinite == 0 && room < row.span + DRIFT * row.size.max(1.0));
            if speaks {
                tell(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::domain::Domain;
    use remat_lp::random::SplitMix64;
    use remat_lp::{ModelBuilder, Sense};

    /// Integer columns, some of them unbounded, in rows with small coefficients of both signs.
    fn random_problem(random: &mut SplitMix64) -> Problem {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let cols: Vec<_> = (0..8)
            .map(|_| {
                let c = match random.below(4) {
                    0 => b.add_col(1.0, 0.0..),
                    _ => b.add_col(1.0, 0.0..=(1 + random.below(4)) as f64),
                };
                b.set_integer(c, true);
                c
            })
            .collect();
        for _ in 0..6 {
            let mut entries = Vec::new();
            for &c in &cols {
                if random.below(2) == 0 {
                    let size = 1.0 + random.below(3) as f64;
                    entries.push((c, if random.below(2) == 0 { size } else { -size }));
                }
            }
            let low = -(random.below(6) as f64);
            match random.below(3) {
                0 => b.add_row(low.., entries),
                1 => b.add_row(..=-low, entries),
                _ => b.add_row(low..=-low, entries),
            };
        }
        Problem::from_model(&b.build().unwrap())
    }

    #[test]
    fn no_row_is_left_out_that_has_something_to_say() {
        let mut random = SplitMix64::new(5);
        let mut changed = 0;
        for _ in 0..500 {
            let p = random_problem(&mut random);
            let mut d = Domain::new(&p);
            d.enqueue_all(&p);
            if !d.propagate(&p) {
                continue;
            }
            let mut marks = Vec::new();
            for _ in 0..30 {
                match random.below(6) {
                    0 => {
                        let mark = marks.pop().unwrap_or(d.mark());
                        d.undo(&p, mark);
                    }
                    1 => {
                        let (lower, upper) = (d.lower.clone(), d.upper.clone());
                        d.reset(&p, &p.lower, &p.upper);
                        d.reset(&p, &lower, &upper);
                        marks.clear();
                    }
                    _ => {
                        marks.push(d.mark());
                        let j = random.below(8);
                        let top = d.upper[j].min(d.lower[j] + 3.0);
                        let value =
                            d.lower[j] + random.below((top - d.lower[j]) as usize + 1) as f64;
                        d.fix(&p, j, value);
                    }
                }
                if d.infeasible || !d.propagate(&p) {
                    let mark = marks.pop().unwrap();
                    d.undo(&p, mark);
                    continue;
                }
                let (lower, upper) = (d.lower.clone(), d.upper.clone());
                d.enqueue_all(&p);
                assert!(d.propagate(&p));
                assert_eq!((&d.lower, &d.upper), (&lower, &upper));
                changed += 1;
            }
        }
        assert!(changed > 1_000, "{changed}");
    }

    #[test]
    fn activities_that_have_drifted_are_summed_anew() {
        let p = random_problem(&mut SplitMix64::new(1));
        let mut d = Domain::new(&p);
        let finite = (0..8).find(|&j| p.upper[j] < 10.0).unwrap();
        while !d.activities.have_drifted() {
            d.tighten_upper(&p, finite, 0.0);
            d.undo(&p, 0);
        }
        let upper: Vec<f64> = p.upper.iter().map(|u| u.min(1.0)).collect();
        d.reset(&p, &p.lower, &upper);
        assert!(!d.activities.have_drifted());
        let fresh = Activities::new(&p, &p.lower, &upper);
        for (a, b) in d.activities.rows.iter().zip(&fresh.rows) {
            assert_eq!(
                (a.least.finite, a.largest.finite),
                (b.least.finite, b.largest.finite)
            );
            assert_eq!(
                (a.least.infinite, a.largest.infinite),
                (b.least.infinite, b.largest.infinite)
            );
        }
    }
}
