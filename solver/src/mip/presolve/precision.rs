//! Precision of rows under reductions.
//!
//! The sides of a row of decimals over integer columns stay exact, as integers. Any other row is
//! accurate to the rounding of its largest term. A reduction may rewrite it while that rounding is
//! small compared with [`contradiction`](crate::mip::problem::contradiction). Rows above that limit
//! stay unchanged: a large term that leaves its row would leave a rounding error that no tolerance
//! covers.

use super::WorkingProblem;
use crate::mip::check::dot;
use crate::mip::exact::scaled;
use crate::mip::problem::SIDE_ROUNDING;

/// Assumed size of a column without a bound.
const UNBOUNDED_SIZE: f64 = 1e4;

/// Limit below which sums of integers in doubles are exact.
const WHOLE_LIMIT: f64 = 1e15;

/// Rounding of a double, relative.
const ROUNDING: f64 = f64::EPSILON / 2.0;

/// Smallest entry with which a row may replace a bound of its column: the row's tolerance is a
/// thousand times larger in units of the column.
pub(super) const BOUNDING_ENTRY: f64 = 1e-3;

/// Sides of a row, and the rounding in them.
pub(super) struct Sides {
    pub lower: f64,
    pub upper: f64,
    pub rounding: f64,
}

impl WorkingProblem {
    /// Sides of a row after the terms of fixed columns are moved to them. `None` if the rounding
    /// would matter for the remaining entries.
    pub(super) fn moved_sides(&self, i: usize, gone: &[bool]) -> Option<Sides> {
        let row = &self.rows[i];
        let terms = row.iter().filter(|e| gone[e.0 as usize]);
        let terms: Vec<(f64, f64)> = terms.map(|e| (e.1, self.lower[e.0 as usize])).collect();
        let terms = terms.as_slice();
        let sides = [self.row_lower[i], self.row_upper[i]];
        if let Some(scale) = self.exact_scale(i) {
            let [lower, upper] = sides.map(|side| moved_exactly(side, terms, scale));
            return Some(Sides {
                lower: lower?,
                upper: upper?,
                rounding: self.row_rounding[i],
            });
        }
        let [lower, upper] = sides.map(|side| moved_nearly(side, terms));
        let rounding = self.row_rounding[i] + lower.1.max(upper.1);
        let (lower, upper) = (lower.0, upper.0);
        let least = lower.abs().min(upper.abs());
        // A row of small entries is scaled up, and its rounding with it.
        let left = row.iter().filter(|e| !gone[e.0 as usize]);
        let left = left.map(|e| e.1.abs()).reduce(f64::max);
        let entry = left.unwrap_or(1.0).min(1.0);
        let is_small = rounding <= SIDE_ROUNDING * entry.max(1e-3 * least);
        is_small.then_some(Sides {
            lower,
            upper,
            rounding,
        })
    }

    /// Largest absolute value of a column.
    pub(super) fn largest_value(&self, j: u32) -> f64 {
        let end = |v: f64| match v.is_finite() {
            true => v.abs(),
            false => UNBOUNDED_SIZE,
        };
        end(self.lower[j as usize]).max(end(self.upper[j as usize]))
    }

    /// Returns whether a row may be rewritten in doubles: the rounding of its largest term or side
    /// is small, or its terms are integers.
    pub(super) fn is_precise(&self, i: usize) -> bool {
        let sides = [self.row_lower[i], self.row_upper[i]];
        let sides = || sides.iter().filter(|s| s.is_finite());
        let largest_side = sides().fold(0.0, |m: f64, s| m.max(s.abs()));
        let (mut largest, mut sum, mut whole) = (largest_side, largest_side, true);
        for &(j, a) in &self.rows[i] {
            let term = a.abs() * self.largest_value(j);
            largest = largest.max(term);
            sum += term;
            whole &= self.integer[j as usize] && a.fract() == 0.0;
        }
        whole &= sides().all(|s| s.fract() == 0.0);
        ROUNDING * largest <= SIDE_ROUNDING || (whole && sum <= WHOLE_LIMIT)
    }

    /// Returns whether a row can take a multiple of an equation.
    pub(super) fn may_take(&self, i: usize, equation: usize, factor: f64) -> bool {
        let taken = factor.abs() * self.row_rounding[equation];
        self.row_rounding[i] + taken <= SIDE_ROUNDING && self.is_precise(i)
    }

    /// Notes that a row took a multiple of an equation.
    pub(super) fn note_taken(&mut self, i: usize, equation: usize, factor: f64) {
        self.row_rounding[i] += factor.abs() * self.row_rounding[equation];
    }

    /// Returns whether a row with this entry may replace a bound of the entry's column.
    pub(super) fn may_bound(&self, i: usize, entry: f64) -> bool {
        entry.abs() >= BOUNDING_ENTRY && self.is_precise(i)
    }
}

/// A side minus terms, all in integers.
fn moved_exactly(side: f64, terms: &[(f64, f64)], scale: f64) -> Option<f64> {
    if !side.is_finite() {
        return Some(side);
    }
    let whole = |v: f64, scale: f64| Some(scaled(v, scale)? as i128);
    let sum = terms.iter().try_fold(whole(side, scale)?, |sum, &(a, v)| {
        sum.checked_sub(whole(a, scale)?.checked_mul(whole(v, 1.0)?)?)
    })?;
    let moved = sum as f64 / scale;
    (scaled(moved, scale)? as i128 == sum).then_some(moved)
}

/// A side minus terms, and the added rounding.
fn moved_nearly(side: f64, terms: &[(f64, f64)]) -> (f64, f64) {
    if !side.is_finite() {
        return (side, 0.0);
    }
    let moved = side - terms.iter().map(|(a, v)| a * v).sum::<f64>();
    let sum = terms.iter().map(|&(a, v)| (-a, v)).chain([(side, 1.0)]);
    // Numbers that are not integers are rounded decimals.
    let own = |v: f64| match v.fract() == 0.0 {
        true => 0.0,
        false => ROUNDING * v.abs(),
    };
    let parts = terms
        .iter()
        .map(|&(a, v)| own(a) * v.abs() + own(v) * a.abs());
    let rounding = own(side) + parts.sum::<f64>() + (moved - dot(sum)).abs();
    (moved, rounding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::presolve::columns;
    use crate::mip::problem::Problem;

    fn reduced(text: &str) -> WorkingProblem {
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        assert!(columns::fix(&mut w).is_ok());
        w
    }

    #[test]
    fn exact_sides_move_in_whole_numbers() {
        // In doubles the difference is 1000000.2400000001.
        let w = reduced(
            "Minimize\n c: - m\nSubject To\n r: 0.07 f + 0.11 m <= 1000000.31\nBounds\n f = 1\n m <= 1e8\n\
             General\n f m\nEnd\n",
        );
        assert_eq!(w.col_alive, [true, false]);
        assert_eq!(w.row_upper[0], 1000000.24);
    }

    #[test]
    fn a_large_term_stays_where_its_rounding_would_count() {
        let row = |entry: &str| {
            format!(
                "Minimize\n c: y\nSubject To\n r: 7e8 f + {entry} y - {entry} z = 700000000.000006\nBounds\n f = 1\n \
                 y <= 9\n z <= 9\nGeneral\n f\nEnd\n"
            )
        };
        // The side is accurate only to 6e-8.
        assert!(reduced(&row("0.000002")).col_alive[1]);
        // The side is integral, so no precision is lost.
        let whole = row("0.5").replace("700000000.000006", "700000004");
        let w = reduced(&whole);
        assert_eq!((w.col_alive[1], w.row_lower[0]), (false, 4.0));
    }

    #[test]
    fn entries_that_cancel_nearly_stay_where_they_count() {
        let text =
            "Minimize\n c: y\nSubject To\n r: 3 y + z <= 9\nBounds\n y <= 1e9\n z <= 9\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        let y = w.rows[0].iter().find(|e| e.1 == 3.0).unwrap().0;
        // 1e-12 of the entry amounts to 0.003 in the row.
        w.add_multiple(0, &[(y, 1.0)], -3.0 + 2.9e-12);
        assert_eq!(w.rows[0].len(), 2);
        w.add_multiple(0, &[(y, w.rows[0][0].1)], -1.0);
        assert_eq!(w.rows[0].len(), 1);
    }
}
