//! Coefficient tightening before the tree of a proof (Savelsbergh 1994). Some rows can be violated
//! only with an integer column at its bound. The column's coefficient and the side are then reduced
//! until the row is tight otherwise. Each change is proven by a split on the column: at the bound
//! the row itself implies the new row, elsewhere the bounds of all columns do.

use super::ConstraintSense;
use super::entries;
use super::tree::{ActiveBound, CertifiedTree, relaxation_settings};
use crate::mip::exact::{Rational, double, one};
use num_traits::Signed;
use remat_lp::{Bounds, ColId, ModelBuilder, ModelError, Sense, Solver};

/// Limit on a row's length: each change adds a line as long as the row.
const ROW_LENGTH_LIMIT: usize = 100;
/// Limit on the changes of one row.
const CHANGES: usize = 200;

impl CertifiedTree<'_> {
    /// Tightens coefficients of the model's rows with the bounds in force.
    pub(super) fn tighten_coefficients(&mut self) -> Result<(), ModelError> {
        let mut changed = false;
        for i in 0..self.m.rows.len() {
            let row = &self.rows[i];
            if row.lower.is_some() == row.upper.is_some() || row.entries.len() > ROW_LENGTH_LIMIT {
                continue;
            }
            for _ in 0..CHANGES {
                let row = &self.rows[i];
                let integer = |&k: &usize| self.m.integer[row.entries[k].0];
                let found = (0..row.entries.len())
                    .filter(integer)
                    .find_map(|k| Some((k, self.excess(i, k)?)));
                let Some((k, excess)) = found else {
                    break;
                };
                self.tighten(i, k, &excess);
                changed = true;
            }
        }
        if changed { self.rebuild() } else { Ok(()) }
    }

    /// 1 for a row with an upper side, -1 for a row with a lower side.
    fn direction(&self, i: usize) -> i32 {
        if self.rows[i].upper.is_some() { 1 } else { -1 }
    }

    /// The bound of a column with the largest contribution to a row in its direction; `true` for
    /// the upper bound.
    fn extreme(&self, i: usize, j: usize, a: &Rational) -> (bool, Option<&ActiveBound>) {
        let up = a.is_positive() == (self.direction(i) > 0);
        let bound = if up { &self.upper[j] } else { &self.lower[j] };
        (up, bound.as_ref())
    }

    /// The amount by which a row's side exceeds the row's reach while a column is off its bound.
    /// `None` unless it is positive and the row can be violated.
    fn excess(&self, i: usize, k: usize) -> Option<Rational> {
        let row = &self.rows[i];
        let sign = Rational::from(self.direction(i));
        let side = row.upper.as_ref().or(row.lower.as_ref())?;
        let mut most = Rational::ZERO;
        for (j, a) in &row.entries {
            most += a * &self.extreme(i, *j, a).1?.value;
        }
        let over = (most - &side.value) * sign;
        let (j, a) = &row.entries[k];
        let (l, u) = (self.lower[*j].as_ref()?, self.upper[*j].as_ref()?);
        let excess = a.abs() - &over;
        let whole = l.value.is_int() && u.value.is_int() && l.value < u.value;
        (whole && over.is_positive() && excess.is_positive()).then_some(excess)
    }

    /// Writes the proof of a tighter coefficient, and updates the row.
    fn tighten(&mut self, i: usize, k: usize, excess: &Rational) {
        let sign = Rational::from(self.direction(i));
        let row = &self.rows[i];
        let Some(side) = row.upper.clone().or(row.lower.clone()) else {
            return;
        };
        let sense = match row.upper {
            Some(_) => ConstraintSense::AtMost,
            None => ConstraintSense::AtLeast,
        };
        let (j, a) = row.entries[k].clone();
        let (up, Some(bound)) = self.extreme(i, j, &a) else {
            return;
        };
        // The change of the coefficient subtracts the excess from the column's contribution.
        let change = if up { -excess * &sign } else { excess * &sign };
        let tighter = &a + &change;
        let value = &side.value + &change * &bound.value;
        let at_bound = bound.value.clone();
        let beside = if up {
            &at_bound - one()
        } else {
            &at_bound + one()
        };
        let mut form = row.entries.clone();
        form[k].1 = tighter.clone();
        form.retain(|e| !e.1.is_zero());
        let mut parts: Vec<(usize, Rational)> = Vec::with_capacity(row.entries.len());
        for (other, b) in row.entries.iter().filter(|e| e.0 != j) {
            if let Some(bound) = self.extreme(i, *other, b).1 {
                parts.push((bound.line, b.clone()));
            }
        }
        let text = entries(form.iter().map(|(j, v)| (*j, v)));
        let own = format!("1 {j} 1");
        let (at, off) = match up {
            true => (ConstraintSense::AtLeast, ConstraintSense::AtMost),
            false => (ConstraintSense::AtMost, ConstraintSense::AtLeast),
        };
        let proof = &mut *self.proof;
        let here = proof.assume(at, &at_bound, &own);
        let first = [(side.line, one()), (here, change)];
        let first = proof.combine(sense, &value, &text, &first, false);
        let elsewhere = proof.assume(off, &beside, &own);
        parts.push((elsewhere, tighter));
        let second = proof.combine(sense, &value, &text, &parts, false);
        let line = proof.unsplit(sense, &value, &text, (first, here), (second, elsewhere));
        let row = &mut self.rows[i];
        row.entries = form;
        let side = Some(ActiveBound { value, line });
        match sense {
            ConstraintSense::AtMost => row.upper = side,
            _ => row.lower = side,
        }
    }

    /// Rebuilds the relaxation from the present rows and bounds.
    fn rebuild(&mut self) -> Result<(), ModelError> {
        let old = self.lp.model().clone();
        let mut builder = ModelBuilder::new(Sense::Minimise);
        builder.set_offset(old.offset());
        for (j, cost) in old.costs().iter().enumerate() {
            builder.add_col(*cost, old.col_bounds(ColId(j as u32)));
        }
        let number =
            |s: &Option<ActiveBound>, none: f64| s.as_ref().map_or(none, |s| double(&s.value));
        for row in &self.rows {
            let bounds = Bounds::new(
                number(&row.lower, f64::NEG_INFINITY),
                number(&row.upper, f64::INFINITY),
            );
            let entries = row
                .entries
                .iter()
                .map(|(j, a)| (ColId(*j as u32), double(a)));
            builder.add_row(bounds, entries);
        }
        self.lp = Solver::new(builder.build()?, relaxation_settings());
        Ok(())
    }
}
