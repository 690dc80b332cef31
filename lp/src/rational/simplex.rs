//! The simplex method in rational numbers on a dictionary, where each basic variable is a linear
//! form in the nonbasic ones (Chvátal 1983), with bounds, two phases and Bland's rule. It is meant
//! for leaves of a proof that doubles cannot decide, and for small programs, since all numbers
//! grow.

use super::{Rational, one, total};
use crate::outcome::VarStatus;
use num_traits::{Signed, Zero};
use std::collections::BTreeMap;

type LinearForm = BTreeMap<usize, Rational>;
/// A bound; `None` if there is no bound.
pub type RationalBound = Option<Rational>;
use RationalBound as Bound;
/// Entries of a row, and its sides.
pub type RationalRow<'a> = (&'a [(usize, Rational)], (RationalBound, RationalBound));

/// Largest number of variables (columns and row activities); larger programs take too long.
const MOST_VARIABLES: usize = 3_000;
/// Largest number of pivots; Bland's rule terminates, but may take long.
const MOST_PIVOTS: usize = 20_000;

/// Minimises a cost over columns within bounds and rows within sides.
///
/// ```
/// use remat_lp::rational::{Rational, RationalEnd, RationalLp};
/// // min x, 3 x >= 1
/// let q = |v: i64| Rational::from(v);
/// let row = [(0, q(3))];
/// let mut lp = RationalLp::new(&[q(1)], vec![(None, None)], &[(&row, (Some(q(1)), None))]).unwrap();
/// let Some(RationalEnd::Optimal { x, y }) = lp.solve(&|| false) else { panic!() };
/// assert_eq!((x[0].clone() * q(3), y[0].clone() * q(3)), (q(1), q(1)));
/// ```
pub struct RationalLp {
    columns: usize,
    bounds: Vec<(Bound, Bound)>,
    /// Value of each variable.
    value: Vec<Rational>,
    /// Basic variables, each with its linear form in the nonbasic ones.
    basic: BTreeMap<usize, LinearForm>,
    cost: LinearForm,
}

/// End of a solve.
#[derive(Debug)]
pub enum RationalEnd {
    /// An optimum.
    Optimal {
        /// Dual of each row.
        y: Vec<Rational>,
        /// Value of each column.
        x: Vec<Rational>,
    },
    /// No point is feasible.
    Infeasible {
        /// Multipliers of rows that prove infeasibility together with the bounds; a positive one
        /// prices the lower side of its row.
        y: Vec<Rational>,
    },
    /// The cost decreases without limit.
    Unbounded {
        /// A feasible point.
        x: Vec<Rational>,
        /// The direction, by column.
        direction: Vec<Rational>,
    },
}

/// A change of a nonbasic variable.
struct NonbasicStep {
    enters: usize,
    up: bool,
    length: Rational,
    /// The basic variable that blocks it; `None` if it reaches its own other bound.
    leaves: Option<usize>,
}

impl RationalLp {
    /// Creates a program; `None` if it is too large.
    pub fn new(
        cost: &[Rational],
        bounds: Vec<(RationalBound, RationalBound)>,
        rows: &[RationalRow<'_>],
    ) -> Option<Self> {
        let columns = bounds.len();
        if columns + rows.len() > MOST_VARIABLES {
            return None;
        }
        let nearest = |(lower, upper): &(Bound, Bound)| match (lower, upper) {
            (Some(l), _) => l.clone(),
            (None, Some(u)) => u.clone(),
            (None, None) => Rational::zero(),
        };
        let mut value: Vec<Rational> = bounds.iter().map(nearest).collect();
        let mut all = bounds;
        let mut basic = BTreeMap::new();
        for (i, (entries, sides)) in rows.iter().enumerate() {
            value.push(total(entries.iter().map(|(j, a)| a * &value[*j])));
            all.push(sides.clone());
            basic.insert(columns + i, entries.iter().cloned().collect());
        }
        let priced = cost.iter().cloned().enumerate();
        Some(RationalLp {
            columns,
            bounds: all,
            value,
            basic,
            cost: priced.filter(|(_, c)| !c.is_zero()).collect(),
        })
    }

    /// Solves the program; `None` if it takes too long or is stopped.
    pub fn solve(&mut self, stopped: &dyn Fn() -> bool) -> Option<RationalEnd> {
        for _ in 0..MOST_PIVOTS {
            if stopped() {
                return None;
            }
            let violated = self.violation();
            let form = violated.as_ref().unwrap_or(&self.cost);
            let Some((enters, up)) = self.entering(form) else {
                return Some(match violated {
                    Some(form) => RationalEnd::Infeasible {
                        y: self.multipliers(&form, true),
                    },
                    None => RationalEnd::Optimal {
                        y: self.multipliers(&self.cost, false),
                        x: self.value[..self.columns].to_vec(),
                    },
                });
            };
            let Some(step) = self.ratio(enters, up) else {
                return Some(self.unbounded(enters, up));
            };
            self.take(step);
        }
        None
    }

    /// Status of a variable (columns, then rows) in the final basis.
    pub fn status(&self, variable: usize) -> VarStatus {
        let (lower, upper) = &self.bounds[variable];
        let at = |bound: &Bound| bound.as_ref() == Some(&self.value[variable]);
        if self.basic.contains_key(&variable) {
            VarStatus::Basic
        } else if at(lower) {
            VarStatus::AtLower
        } else if at(upper) {
            VarStatus::AtUpper
        } else {
            VarStatus::Free
        }
    }

    /// Reduced cost of each column in the final basis.
    pub fn reduced_costs(&self) -> Vec<Rational> {
        let of = |j: usize| self.cost.get(&j).cloned().unwrap_or_default();
        (0..self.columns).map(of).collect()
    }

    fn unbounded(&self, enters: usize, up: bool) -> RationalEnd {
        let sign = if up { one() } else { -one() };
        let rate = |j: usize| match self.basic.get(&j) {
            Some(form) => form.get(&enters).map_or(Rational::ZERO, |a| a * &sign),
            None if j == enters => sign.clone(),
            None => Rational::ZERO,
        };
        RationalEnd::Unbounded {
            x: self.value[..self.columns].to_vec(),
            direction: (0..self.columns).map(rate).collect(),
        }
    }

    /// Gradient of the sum of violations over the nonbasic variables; `None` if no basic variable
    /// is violated.
    fn violation(&self) -> Option<LinearForm> {
        let mut sum = LinearForm::new();
        let mut any = false;
        for (&b, form) in &self.basic {
            let sign = match self.side_violated(b) {
                None => continue,
                Some(up) => up,
            };
            any = true;
            for (&j, a) in form {
                let entry = sum.entry(j).or_default();
                match sign {
                    true => *entry += a,
                    false => *entry -= a,
                }
            }
        }
        any.then(|| {
            sum.retain(|_, a| !a.is_zero());
            sum
        })
    }

    /// `Some(true)` above the upper bound, `Some(false)` below the lower one.
    fn side_violated(&self, variable: usize) -> Option<bool> {
        let (v, (lower, upper)) = (&self.value[variable], &self.bounds[variable]);
        if lower.as_ref().is_some_and(|l| v < l) {
            Some(false)
        } else if upper.as_ref().is_some_and(|u| v > u) {
            Some(true)
        } else {
            None
        }
    }

    /// The first nonbasic variable that can decrease the form by moving within its bounds, and its
    /// direction.
    fn entering(&self, form: &LinearForm) -> Option<(usize, bool)> {
        form.iter().find_map(|(&j, slope)| {
            let up = slope.is_negative();
            let (lower, upper) = &self.bounds[j];
            let stop = if up { upper } else { lower };
            let is_free = stop.as_ref().is_none_or(|stop| *stop != self.value[j]);
            is_free.then_some((j, up))
        })
    }

    /// The longest step that violates no satisfied bound and satisfies at most one violated bound;
    /// ties go to the first variable. `None` if no variable blocks it.
    fn ratio(&self, enters: usize, up: bool) -> Option<NonbasicStep> {
        let (lower, upper) = &self.bounds[enters];
        let own = if up { upper } else { lower };
        let mut best: Option<(Rational, Option<usize>)> = own
            .as_ref()
            .map(|stop| ((stop - &self.value[enters]).abs(), None));
        for (&b, form) in &self.basic {
            let Some(slope) = form.get(&enters) else {
                continue;
            };
            let rises = slope.is_positive() == up;
            let (lower, upper) = &self.bounds[b];
            // A violated variable that moves towards the violated bound stops there; a move away
            // from it is covered by the gradient.
            let stop = match (self.side_violated(b), rises) {
                (None, true) => upper,
                (None, false) => lower,
                (Some(false), true) => lower,
                (Some(true), false) => upper,
                (Some(_), _) => &None,
            };
            let Some(stop) = stop else {
                continue;
            };
            let length = (stop - &self.value[b]).abs() / slope.abs();
            if best.as_ref().is_none_or(|(least, _)| length < *least) {
                best = Some((length, Some(b)));
            }
        }
        best.map(|(length, leaves)| NonbasicStep {
            enters,
            up,
            length,
            leaves,
        })
    }

    fn take(&mut self, step: NonbasicStep) {
        let NonbasicStep {
            enters,
            up,
            length,
            leaves,
        } = step;
        let change = if up { length } else { -length };
        self.value[enters] += &change;
        for (&b, form) in &self.basic {
            if let Some(slope) = form.get(&enters) {
                self.value[b] += slope * &change;
            }
        }
        if let Some(leaves) = leaves {
            self.pivot(enters, leaves);
        }
    }

    /// Makes `enters` basic in place of `leaves`.
    fn pivot(&mut self, enters: usize, leaves: usize) {
        let Some(mut form) = self.basic.remove(&leaves) else {
            return;
        };
        let Some(slope) = form.remove(&enters) else {
            return;
        };
        // leaves = slope enters + form, solved for `enters`.
        for a in form.values_mut() {
            *a = -(&*a / &slope);
        }
        form.insert(leaves, one() / &slope);
        let cost = std::iter::once(&mut self.cost);
        for other in self.basic.values_mut().chain(cost) {
            let Some(factor) = other.remove(&enters) else {
                continue;
            };
            for (&j, a) in &form {
                let entry = other.entry(j).or_default();
                *entry += &factor * a;
                if entry.is_zero() {
                    other.remove(&j);
                }
            }
        }
        self.basic.insert(enters, form);
    }

    /// Multipliers of rows: from a form over nonbasic variables, and, `with_violated`, from the
    /// violated basic variables that the form sums up.
    fn multipliers(&self, form: &LinearForm, with_violated: bool) -> Vec<Rational> {
        let mut y = vec![Rational::zero(); self.bounds.len() - self.columns];
        for (&j, a) in form.range(self.columns..) {
            y[j - self.columns] = a.clone();
        }
        if with_violated {
            for (&b, _) in self.basic.range(self.columns..) {
                match self.side_violated(b) {
                    Some(true) => y[b - self.columns] -= one(),
                    Some(false) => y[b - self.columns] += one(),
                    None => {}
                }
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(a: i64, b: i64) -> Rational {
        Rational::from_parts_signed(a.into(), b.into())
    }

    type WholeRow<'a> = (&'a [(usize, i64)], (Bound, Bound));

    fn solved(
        cost: &[i64],
        bounds: &[(Option<i64>, Option<i64>)],
        rows: &[WholeRow<'_>],
    ) -> Option<RationalEnd> {
        let number = |v: &Option<i64>| v.map(|v| q(v, 1));
        let bounds = bounds.iter().map(|(l, u)| (number(l), number(u))).collect();
        let cost: Vec<Rational> = cost.iter().map(|&c| q(c, 1)).collect();
        let entries: Vec<Vec<(usize, Rational)>> = (rows.iter())
            .map(|(row, _)| row.iter().map(|&(j, a)| (j, q(a, 1))).collect())
            .collect();
        let sides = rows.iter().map(|(_, sides)| sides.clone());
        let rows: Vec<_> = entries.iter().map(Vec::as_slice).zip(sides).collect();
        RationalLp::new(&cost, bounds, &rows)?.solve(&|| false)
    }

    #[test]
    fn optima_are_exact() {
        // max x + y with 3 x + y <= 1, x + 3 y <= 1: both 1/4, duals 1/4 each.
        let sides = (None, Some(q(1, 1)));
        let rows = [
            (&[(0, 3), (1, 1)][..], sides.clone()),
            (&[(0, 1), (1, 3)][..], sides),
        ];
        let bounds = [(Some(0), None), (Some(0), None)];
        let Some(RationalEnd::Optimal { y, x }) = solved(&[-1, -1], &bounds, &rows) else {
            panic!("there is an optimum");
        };
        assert_eq!((y, x), (vec![q(-1, 4); 2], vec![q(1, 4); 2]));
        // Without the rows the program is unbounded.
        let Some(RationalEnd::Unbounded { direction, .. }) = solved(&[-1, -1], &bounds, &[]) else {
            panic!("nothing stops it");
        };
        assert_eq!(direction, [q(1, 1), q(0, 1)]);
    }

    #[test]
    fn tiny_contradictions_are_found() {
        // x + y <= 2 and x + y >= 2 + 1e-30, from a start that is far from both.
        let tiny = Rational::from_parts(1.into(), dashu_int::UBig::from(10u8).pow(30));
        let form = &[(0, 1), (1, 1)][..];
        let rows = [
            (form, (None, Some(q(2, 1)))),
            (form, (Some(q(2, 1) + tiny), None)),
        ];
        let bounds = [(Some(0), Some(9)), (None, None)];
        let Some(RationalEnd::Infeasible { y }) = solved(&[1, 0], &bounds, &rows) else {
            panic!("nothing is feasible");
        };
        assert!(!y[0].is_zero() && &y[0] + &y[1] == q(0, 1), "{y:?}");
    }
}
