//! Leaves of a proof's tree: sums of rows and bounds with multipliers from the duals of a
//! relaxation.

use super::ConstraintSense;
use super::tree::CertifiedTree;
use crate::mip::exact::{Rational, binary, double, one};
use num_traits::{Signed, Zero};
use remat_lp::{ColId, RowId};

impl CertifiedTree<'_> {
    /// A line that closes the node, by the goal's bound or as infeasible. It is tried with more and
    /// more digits.
    pub(super) fn leaf(&mut self, y: &[f64], with_cost: bool) -> Option<usize> {
        if with_cost && self.goal.is_none() {
            return None;
        }
        let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if largest == 0.0 && !with_cost {
            return None;
        }
        // The scale of a ray is arbitrary.
        let norm = if with_cost { 1.0 } else { 1.0 / largest };
        [Some(4), Some(12), Some(24), None]
            .into_iter()
            .find_map(|places| self.combination(y, norm, with_cost, places))
    }

    fn combination(
        &mut self,
        y: &[f64],
        norm: f64,
        with_cost: bool,
        places: Option<i32>,
    ) -> Option<usize> {
        let y = y.iter().map(|v| binary(v * norm, places));
        let y: Vec<Rational> = y.collect::<Option<_>>()?;
        if !self.is_promising(&y, with_cost) {
            return None;
        }
        self.sum(&y, with_cost)
    }

    /// Estimates in doubles whether a sum may reach the required side, because rational numbers
    /// take much longer.
    fn is_promising(&self, y: &[Rational], with_cost: bool) -> bool {
        let model = self.lp.model();
        let (mut total, mut size) = (0.0, 0.0);
        let mut rest = match with_cost {
            true => model.costs().to_vec(),
            false => vec![0.0; model.num_cols()],
        };
        let mut count = |factor: f64, side: f64| {
            total += factor * side;
            size += (factor * side).abs();
        };
        for (i, v) in y.iter().enumerate().filter(|(_, v)| !v.is_zero()) {
            let (row, v) = (RowId(i as u32), double(v));
            let bounds = model.row_bounds(row);
            let side = if v > 0.0 { bounds.lower } else { bounds.upper };
            if side.is_finite() {
                count(v, side);
                model.row(row).for_each(|(j, a)| rest[j.index()] -= v * a);
            }
        }
        for (j, d) in rest.into_iter().enumerate() {
            let bounds = model.col_bounds(ColId(j as u32));
            let side = if d > 0.0 { bounds.lower } else { bounds.upper };
            if side.is_finite() {
                count(d, side);
            } else if d.abs() > 1e-6 {
                return false;
            }
        }
        let needed = if with_cost {
            self.cutoff - model.offset()
        } else {
            0.0
        };
        total >= needed - 1e-9 * (size + needed.abs()).max(1.0)
    }

    /// A line from these multipliers of rows; multipliers of the wrong sign are ignored.
    pub(super) fn sum(&mut self, y: &[Rational], with_cost: bool) -> Option<usize> {
        let m = self.m;
        let mut rest: Vec<Rational> = if with_cost {
            m.cost.clone()
        } else {
            vec![Rational::zero(); m.cost.len()]
        };
        let mut parts: Vec<(usize, Rational)> = Vec::new();
        let mut total = Rational::zero();
        for (i, v) in y.iter().enumerate() {
            if v.is_zero() {
                continue;
            }
            let row = &self.rows[i];
            let side = if v.is_positive() {
                &row.lower
            } else {
                &row.upper
            };
            // A multiplier of the wrong sign is noise.
            let Some(side) = side else {
                continue;
            };
            total += v * &side.value;
            for (j, a) in &row.entries {
                rest[*j] -= v * a;
            }
            parts.push((side.line, v.clone()));
        }
        for (j, d) in rest.into_iter().enumerate() {
            if d.is_zero() {
                continue;
            }
            let side = if d.is_positive() {
                &self.lower[j]
            } else {
                &self.upper[j]
            };
            let side = side.as_ref()?;
            total += &d * &side.value;
            parts.push((side.line, d));
        }
        let goal = self.goal.filter(|_| with_cost);
        match (goal, self.assumed_better) {
            (Some(goal), None) => {
                if total < goal.bound {
                    return None;
                }
                let form = goal.form.as_str();
                let sense = ConstraintSense::AtLeast;
                Some((self.proof).combine(sense, &goal.bound, form, &parts, false))
            }
            (Some(goal), Some(better)) => {
                total -= &goal.bound - &goal.step;
                parts.push((better, -goal.step.clone()));
                self.contradiction(&total, &parts)
            }
            (None, _) => self.contradiction(&total, &parts),
        }
    }

    /// A line that proves infeasibility, if a sum without columns has a positive side.
    fn contradiction(&mut self, side: &Rational, parts: &[(usize, Rational)]) -> Option<usize> {
        let sense = ConstraintSense::AtLeast;
        side.is_positive()
            .then(|| self.proof.combine(sense, &one(), "0", parts, false))
    }
}
