//! Bounds of columns implied by rows, derived before the tree of a proof (Savelsbergh 1994), each
//! as a line. They shorten the tree considerably where other rows are multiples of them
//! (`x <= 1000 y`). Without any bound of a column, noise in its reduced cost would spoil the
//! leaves.

use super::ConstraintSense;
use super::tree::{ActiveBound, CertifiedTree};
use crate::mip::exact::{Rational, ceiling, floor, one, shortened};
use num_traits::Signed;
use remat_lp::ModelError;

/// Limit on passes over the rows.
const PASSES: usize = 5;
/// Longer rows only give bounds to columns without one.
const ROW_LENGTH_LIMIT: usize = 60;
/// Significant bits of a continuous column's bound.
const BITS: usize = 48;

impl CertifiedTree<'_> {
    /// Rounds the bounds of integer columns, and adds the bounds implied by rows.
    pub(super) fn tighten_bounds(&mut self) -> Result<(), ModelError> {
        self.round_bounds();
        for _ in 0..PASSES {
            if !self.imply_bounds() {
                break;
            }
        }
        (0..self.m.cost.len()).try_for_each(|j| self.sync(j))
    }

    /// Rounds fractional bounds of integer columns, each by a line.
    fn round_bounds(&mut self) {
        for j in 0..self.m.cost.len() {
            if !self.m.integer[j] {
                continue;
            }
            let form = format!("1 {j} 1");
            if let Some(s) = &mut self.lower[j]
                && !s.value.is_int()
            {
                let (part, sense) = ([(s.line, one())], ConstraintSense::AtLeast);
                s.line = self.proof.combine_rounded(sense, &s.value, &form, &part);
                s.value = ceiling(&s.value);
            }
            if let Some(s) = &mut self.upper[j]
                && !s.value.is_int()
            {
                let (part, sense) = ([(s.line, one())], ConstraintSense::AtMost);
                s.line = self.proof.combine_rounded(sense, &s.value, &form, &part);
                s.value = floor(&s.value);
            }
        }
    }

    /// A contradiction from a column whose bounds cross, if there is one: rounding may cause it.
    pub(super) fn crossed(&mut self) -> Option<usize> {
        let (by, parts) = (self.lower.iter().zip(&self.upper)).find_map(|(lower, upper)| {
            let (lower, upper) = (lower.as_ref()?, upper.as_ref()?);
            let by = &lower.value - &upper.value;
            by.is_positive()
                .then(|| (by, [(lower.line, one()), (upper.line, -one())]))
        })?;
        let parts = parts.map(|(line, factor)| (line, factor / &by));
        Some((self.proof).combine(ConstraintSense::AtLeast, &one(), "0", &parts, false))
    }

    /// One pass over the rows. Returns whether a bound moved.
    fn imply_bounds(&mut self) -> bool {
        let mut moved = false;
        for i in 0..self.m.rows.len() {
            for (j, a) in &self.rows[i].entries.clone() {
                for up in [false, true] {
                    let have = if up { &self.upper[*j] } else { &self.lower[*j] };
                    if have.is_some() && self.rows[i].entries.len() > ROW_LENGTH_LIMIT {
                        continue;
                    }
                    // An upper bound comes from the row's upper side if the coefficient is
                    // positive.
                    let high = up == a.is_positive();
                    let row = &self.rows[i];
                    let side = if high { &row.upper } else { &row.lower };
                    let Some(side) = side else {
                        continue;
                    };
                    let Some((exact, parts)) = self.implied(i, *j, a, up, side) else {
                        continue;
                    };
                    let round = self.m.integer[*j];
                    let value = match (round, up) {
                        (false, _) => shortened(&exact, BITS, up),
                        (true, true) => floor(&exact),
                        (true, false) => ceiling(&exact),
                    };
                    if !self.is_worth_having(*j, up, &value) {
                        continue;
                    }
                    moved = true;
                    let sense = if up {
                        ConstraintSense::AtMost
                    } else {
                        ConstraintSense::AtLeast
                    };
                    let form = format!("1 {j} 1");
                    let line = match round {
                        true => self.proof.combine_rounded(sense, &exact, &form, &parts),
                        false => self.proof.combine(sense, &value, &form, &parts, false),
                    };
                    let of = if up { &mut self.upper } else { &mut self.lower };
                    of[*j] = Some(ActiveBound { value, line });
                }
            }
        }
        moved
    }

    /// Returns whether a bound is new or enough of an improvement for a line. Crossing bounds are
    /// left to the tree.
    fn is_worth_having(&self, j: usize, up: bool, value: &Rational) -> bool {
        let (lower, upper) = (&self.lower[j], &self.upper[j]);
        let (have, other) = if up { (upper, lower) } else { (lower, upper) };
        let ahead = |a: &Rational, b: &Rational| if up { a - b } else { b - a };
        if (other.as_ref()).is_some_and(|o| ahead(value, &o.value).is_negative()) {
            return false;
        }
        let Some(have) = have else {
            return true;
        };
        let gain = ahead(&have.value, value);
        let Some(other) = other else {
            return gain.is_positive();
        };
        let range = ahead(&have.value, &other.value);
        gain.is_positive() && (self.m.integer[j] || gain * Rational::from(20) >= range)
    }

    /// Bound that a row implies for one of its columns, and the constraints that prove it.
    fn implied(
        &self,
        row: usize,
        col: usize,
        a: &Rational,
        up: bool,
        side: &ActiveBound,
    ) -> Option<(Rational, Vec<(usize, Rational)>)> {
        let mut value = &side.value / a;
        let mut parts = vec![(side.line, one() / a)];
        for (k, b) in self.rows[row].entries.iter().filter(|(k, _)| *k != col) {
            let ratio = b / a;
            let of = if ratio.is_positive() == up {
                &self.lower[*k]
            } else {
                &self.upper[*k]
            };
            let bound = of.as_ref()?;
            value -= &ratio * &bound.value;
            parts.push((bound.line, -ratio));
        }
        Some((value, parts))
    }
}
