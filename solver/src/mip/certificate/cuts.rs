//! Cuts of a proof: mixed-integer rounding of rows of the simplex tableau (Gomory 1960) and of
//! other sums of rows (Marchand & Wolsey 2001), in rational numbers, each with its proof.
//!
//! A sum of rows is an identity `sum a_k t_k = b` over distances `t_k >= 0` to bounds and sides.
//! Let `pi` be its coefficients of integer columns, rounded. The rounded cut holds on both sides of
//! the split `pi t <= floor(b)`, `pi t >= ceil(b)` (Cook, Kannan & Schrijver 1990). On either side
//! it is the sum of that inequality and multiples of `t_k >= 0`. Its coefficients may be rounded up
//! further, because the sums absorb the difference. Numbers therefore stay short, however many cuts
//! build on one another.

use super::aggregation::{Aggregation, AggregationCandidate};
use super::tree::{ActiveBound, CertifiedTree, RelaxationRow};
use super::{ConstraintSense, entries};
use crate::mip::exact::{Rational, double, floor, nearby, one, shortened};
use num_traits::{Signed, Zero};
use remat_lp::{Bounds, ColId, LpOutcome, ModelError, NewRow, RowId, Solution, VarStatus};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Limit on rounds, and rounds in which the bound must gain a hundredth of the gap.
const ROUNDS: usize = 40;
const PATIENCE: usize = 6;
/// The same limits after sides have been closed.
const LATER_ROUNDS: usize = 10;
const LATER_PATIENCE: usize = 3;
/// Rounds at a node of the tree.
const NODE_ROUNDS: usize = 3;
/// Limits on tableau rows tried in a round, at the root and at a node; three times as many other
/// sums are tried.
const SOURCES: usize = 60;
const NODE_SOURCES: usize = 20;
/// Limit on the cuts taken in a round.
const TAKEN: usize = 30;
/// Significant bits of a cut's coefficients.
const BITS: usize = 18;
/// Right-hand sides with a smaller fraction give steep cuts.
const FRACTION: f64 = 0.02;
/// Largest ratio of a cut's coefficients.
const STEEPNESS: f64 = 1e7;

/// A distance `sign (form - value) >= 0`, where `form` is a column or a row, and its line.
struct DistanceTerm {
    column: bool,
    index: usize,
    sign: i32,
    /// `None` for an integer column with an integer coefficient, which needs no distance.
    side: Option<ActiveBound>,
    /// Coefficients in the identity, in the split, and in the cut.
    a: Rational,
    pi: Rational,
    c: Rational,
}

/// A cut `form >= side`, with its proof.
struct Rounding {
    form: Vec<(usize, Rational)>,
    side: Rational,
    split: Vec<(usize, Rational)>,
    /// The split is `<= below` or `>= below + 1`.
    below: Rational,
    /// Multipliers of lines in the two cases, and the multiplier of the case itself in the first.
    parts: [BTreeMap<usize, Rational>; 2],
    factor: Rational,
    efficacy: f64,
    /// The cut in doubles; in `scaled`, columns are measured in units of their present values.
    row: Vec<(usize, f64)>,
    scaled: Vec<(usize, f64)>,
    norm: f64,
}

fn signed(sign: i32, v: &Rational) -> Rational {
    if sign < 0 { -v.clone() } else { v.clone() }
}

/// The nearer one of the existing sides, and the sign of the distance to it.
pub(super) fn nearer<'a>(
    lower: &'a Option<ActiveBound>,
    upper: &'a Option<ActiveBound>,
    at: f64,
) -> Option<(&'a ActiveBound, i32)> {
    let distance = |s: &Option<ActiveBound>| {
        s.as_ref()
            .map_or(f64::INFINITY, |s| (at - double(&s.value)).abs())
    };
    if distance(lower) <= distance(upper) {
        lower.as_ref().map(|s| (s, 1))
    } else {
        upper.as_ref().map(|s| (s, -1))
    }
}

fn add(sum: &mut BTreeMap<usize, Rational>, at: usize, v: Rational) {
    *sum.entry(at).or_insert_with(Rational::zero) += v;
}

fn nonzero(sum: BTreeMap<usize, Rational>) -> Vec<(usize, Rational)> {
    sum.into_iter().filter(|(_, v)| !v.is_zero()).collect()
}

impl CertifiedTree<'_> {
    /// Adds cuts to the relaxation until they gain too little, then removes the slack ones.
    pub(super) fn strengthen(&mut self, first: bool) -> Result<(), ModelError> {
        let (rounds, patience) = if first {
            (ROUNDS, PATIENCE)
        } else {
            (LATER_ROUNDS, LATER_PATIENCE)
        };
        let mut reference: Option<(f64, usize)> = None;
        for round in 0..rounds {
            let Some(s) = self.relaxed() else {
                return Ok(());
            };
            if s.objective >= self.cutoff {
                return Ok(());
            }
            match reference {
                Some((before, at)) => {
                    let gap = if self.cutoff.is_finite() {
                        self.cutoff - before
                    } else {
                        before.abs().max(1.0)
                    };
                    if s.objective > before + 0.01 * gap {
                        reference = Some((s.objective, round));
                    } else if round >= at + patience {
                        break;
                    }
                }
                None => reference = Some((s.objective, round)),
            }
            let cuts = self.separate(&s, true);
            if cuts.is_empty() {
                break;
            }
            self.drop_slack(&s)?;
            for c in cuts {
                self.install(c)?;
            }
        }
        match self.relaxed() {
            Some(s) => self.drop_slack(&s),
            None => Ok(()),
        }
    }

    /// Adds cuts that hold below a node only, because they use its assumptions. Returns the outcome
    /// of the relaxation with them.
    pub(super) fn strengthen_node(
        &mut self,
        s: &Solution,
    ) -> Result<Option<LpOutcome>, ModelError> {
        let mut last = None;
        let mut point = s.clone();
        for _ in 0..NODE_ROUNDS {
            let cuts = self.separate(&point, false);
            if cuts.is_empty() {
                break;
            }
            for c in cuts {
                self.install(c)?;
            }
            self.limit_to_cutoff();
            let outcome = self.lp.solve();
            let next = outcome.optimal().cloned();
            last = Some(outcome);
            match next {
                Some(n) => point = n,
                None => break,
            }
        }
        Ok(last)
    }

    /// Removes cuts until `count` rows remain.
    pub(super) fn drop_rows_from(&mut self, count: usize) -> Result<(), ModelError> {
        let gone: Vec<RowId> = (count..self.rows.len()).map(|i| RowId(i as u32)).collect();
        self.rows.truncate(count);
        self.lp.delete_rows(&gone)
    }

    pub(super) fn relaxed(&mut self) -> Option<Solution> {
        self.lp.set_limits(self.relaxation_limits());
        self.lp.solve().optimal().cloned()
    }

    fn drop_slack(&mut self, s: &Solution) -> Result<(), ModelError> {
        let base = self.m.rows.len();
        let slack = |i: usize| i >= base && s.basis.rows[i] == VarStatus::Basic;
        let gone: Vec<RowId> = (base..s.basis.rows.len())
            .filter(|&i| slack(i))
            .map(|i| RowId(i as u32))
            .collect();
        let mut i = 0;
        self.rows.retain(|_| {
            i += 1;
            i > s.basis.rows.len() || !slack(i - 1)
        });
        self.lp.delete_rows(&gone)
    }

    /// The best roundings that differ enough from each other.
    fn separate(&mut self, s: &Solution, thorough: bool) -> Vec<Rounding> {
        let most = if thorough { SOURCES } else { NODE_SOURCES };
        let taken_limit = if thorough {
            TAKEN + self.m.rows.len() / 6
        } else {
            TAKEN
        };
        let mut sources: Vec<(f64, usize)> = (0..self.m.cost.len())
            .filter(|&j| self.m.integer[j] && s.basis.cols[j] == VarStatus::Basic)
            .map(|j| ((s.x[j] - s.x[j].floor() - 0.5).abs(), j))
            .filter(|f| f.0 < 0.5 - FRACTION)
            .collect();
        sources.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        sources.truncate(most);
        let mut tableau = Vec::new();
        for (_, j) in sources {
            if self.stop.load(Ordering::Relaxed) {
                return Vec::new();
            }
            let Some(y) = self.lp.tableau_multipliers(ColId(j as u32)) else {
                continue;
            };
            // The multipliers of basic rows are noise.
            let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let y: Vec<(usize, f64)> = (y.into_iter().enumerate())
                .filter(|(i, v)| v.abs() > 1e-9 * largest && s.basis.rows[*i] != VarStatus::Basic)
                .collect();
            tableau.push(y);
        }
        let sums = Aggregation::new(self, s, thorough);
        let mut found = sums.promising(3 * most);
        tableau.iter().for_each(|y| sums.roundings(y, &mut found));
        // All in doubles so far: rational numbers are worth their time only for likely cuts.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(2 * taken_limit);
        let mut found: Vec<Rounding> = (found.iter())
            .filter_map(|(_, candidate)| self.rounding(s, candidate))
            .collect();
        found.sort_by(|a, b| b.efficacy.total_cmp(&a.efficacy));
        let mut taken: Vec<Rounding> = Vec::new();
        let mut dense = vec![0.0; self.m.cost.len()];
        for cut in found {
            for &(j, a) in &cut.scaled {
                dense[j] = a;
            }
            let parallel = taken.iter().any(|t| {
                let dot: f64 = t.scaled.iter().map(|&(j, a)| a * dense[j]).sum();
                dot > 0.9 * cut.norm * t.norm
            });
            for &(j, _) in &cut.row {
                dense[j] = 0.0;
            }
            if !parallel && taken.len() < taken_limit {
                taken.push(cut);
            }
        }
        taken
    }

    /// The terms of the identity given by multipliers of the rows, and its right-hand side.
    fn identity(
        &self,
        s: &Solution,
        candidate: &AggregationCandidate,
    ) -> Option<(Vec<DistanceTerm>, Rational)> {
        let mut rhs = Rational::zero();
        let mut alpha: BTreeMap<usize, Rational> = BTreeMap::new();
        let mut terms = Vec::new();
        let term = |column, index, sign, side, a: Rational| DistanceTerm {
            column,
            index,
            sign,
            side,
            pi: Rational::zero(),
            c: Rational::zero(),
            a,
        };
        for &(i, v) in &candidate.rows {
            let v = nearby(v)?;
            let row = &self.rows[i];
            let (side, sign) = nearer(&row.lower, &row.upper, s.row_activity[i])?;
            for (j, a) in &row.entries {
                add(&mut alpha, *j, &v * a);
            }
            rhs += &v * &side.value;
            terms.push(term(false, i, sign, Some(side.clone()), signed(-sign, &v)));
        }
        for (j, a) in nonzero(alpha) {
            if self.m.integer[j] && a.is_int() {
                terms.push(term(true, j, 1, None, a));
                continue;
            }
            let (mut side, mut sign) = nearer(&self.lower[j], &self.upper[j], s.x[j])?;
            if candidate.complemented.contains(&j) {
                let other = if sign > 0 {
                    &self.upper[j]
                } else {
                    &self.lower[j]
                };
                (side, sign) = (other.as_ref()?, -sign);
            }
            rhs -= &a * &side.value;
            terms.push(term(true, j, sign, Some(side.clone()), signed(sign, &a)));
        }
        Some((terms, rhs))
    }

    /// The form of a term.
    fn form(&self, t: &DistanceTerm) -> impl Iterator<Item = (usize, Rational)> {
        let row: &[(usize, Rational)] = if t.column {
            &[]
        } else {
            &self.rows[t.index].entries
        };
        let own = t.column.then(|| (t.index, one()));
        row.iter().cloned().chain(own)
    }

    fn is_integer(&self, t: &DistanceTerm) -> bool {
        if t.column {
            return self.m.integer[t.index];
        }
        (t.side.as_ref()).is_some_and(|s| s.value.is_int())
            && (self.rows[t.index].entries.iter()).all(|(j, a)| self.m.integer[*j] && a.is_int())
    }

    fn is_equation(&self, t: &DistanceTerm) -> bool {
        let same = |r: &RelaxationRow| match (&r.lower, &r.upper) {
            (Some(l), Some(u)) => l.line == u.line,
            _ => false,
        };
        !t.column && same(&self.rows[t.index])
    }

    /// Rounds a sum of rows; `None` if that gives no useful cut.
    fn rounding(&self, s: &Solution, candidate: &AggregationCandidate) -> Option<Rounding> {
        let (mut terms, rhs) = self.identity(s, candidate)?;
        let whole = floor(&rhs);
        let f0 = &rhs - &whole;
        let rest = double(&f0);
        if !(FRACTION..=1.0 - FRACTION).contains(&rest) {
            return None;
        }
        let factor = (one() - &f0) / &f0;
        for t in &mut terms {
            if self.is_integer(t) {
                t.pi = floor(&t.a);
                let f = &t.a - &t.pi;
                if f > f0 {
                    t.pi += one();
                    t.c = t.pi.clone();
                } else {
                    t.c = &t.pi + shortened(&(f / &f0), BITS, true);
                }
            } else if t.a.is_positive() && !self.is_equation(t) {
                t.c = shortened(&(&t.a / &f0), BITS, true);
            }
        }
        // Substitutes the columns for the distances.
        let (mut form, mut split) = (BTreeMap::new(), BTreeMap::new());
        let mut side = &whole + one();
        let mut below = whole;
        let mut parts = [BTreeMap::new(), BTreeMap::new()];
        for t in &terms {
            for (j, v) in self.form(t) {
                let v = signed(t.sign, &v);
                add(&mut form, j, &t.c * &v);
                add(&mut split, j, &t.pi * &v);
            }
            if let Some(bound) = &t.side {
                side += signed(t.sign, &(&t.c * &bound.value));
                below += signed(t.sign, &(&t.pi * &bound.value));
                let first = &t.c - &t.a / &f0 + &factor * &t.pi;
                add(&mut parts[0], bound.line, signed(t.sign, &first));
                add(&mut parts[1], bound.line, signed(t.sign, &(&t.c - &t.pi)));
            }
        }
        let split = nonzero(split);
        if split.is_empty() {
            return None;
        }
        // Long coefficients are rounded at the expense of the side.
        let mut short = Vec::new();
        for (j, v) in nonzero(form) {
            let Some((bound, sign)) = nearer(&self.lower[j], &self.upper[j], s.x[j]) else {
                short.push((j, v));
                continue;
            };
            // A coefficient may be rounded up if the column is near its lower bound, down near its
            // upper bound.
            let rounded = shortened(&v, BITS + 6, sign > 0);
            let change = &rounded - &v;
            if !change.is_zero() {
                side += &change * &bound.value;
                for p in &mut parts {
                    add(p, bound.line, change.clone());
                }
            }
            if !rounded.is_zero() {
                short.push((j, rounded));
            }
        }
        let side = shortened(&side, BITS + 24, false);
        let row: Vec<(usize, f64)> = (short.iter()).map(|(j, v)| (*j, double(v))).collect();
        // The unit of a continuous column is arbitrary, so its present value sets it.
        let unit = |j: usize| {
            if self.m.integer[j] {
                1.0
            } else {
                s.x[j].abs().clamp(1.0, 1e6)
            }
        };
        let scaled: Vec<(usize, f64)> = row.iter().map(|&(j, a)| (j, a * unit(j))).collect();
        let norm = scaled.iter().map(|e| e.1 * e.1).sum::<f64>().sqrt();
        let activity: f64 = row.iter().map(|&(j, a)| a * s.x[j]).sum();
        let efficacy = (double(&side) - activity) / norm;
        let sizes = || row.iter().map(|e| e.1.abs());
        let steep = sizes().fold(0.0, f64::max) > STEEPNESS * sizes().fold(f64::INFINITY, f64::min);
        // NaN if no coefficient remains.
        let shallow = efficacy.is_nan() || efficacy <= 1e-4;
        if steep || shallow || row.len() > 200 + self.m.cost.len() / 4 {
            return None;
        }
        Some(Rounding {
            form: short,
            side,
            split,
            below,
            parts,
            factor,
            efficacy,
            row,
            scaled,
            norm,
        })
    }

    /// Writes the proof of a cut and adds it to the relaxation.
    fn install(&mut self, cut: Rounding) -> Result<(), ModelError> {
        let text = |e: &[(usize, Rational)]| entries(e.iter().map(|(j, v)| (*j, v)));
        let (form, split) = (text(&cut.form), text(&cut.split));
        let [first, second] = cut.parts.map(nonzero);
        let above = &cut.below + one();
        let low = self
            .proof
            .assume(ConstraintSense::AtMost, &cut.below, &split);
        let mut parts = first;
        parts.push((low, -cut.factor));
        let with_low =
            (self.proof).combine(ConstraintSense::AtLeast, &cut.side, &form, &parts, false);
        let high = self.proof.assume(ConstraintSense::AtLeast, &above, &split);
        let mut parts = second;
        parts.push((high, one()));
        let with_high =
            (self.proof).combine(ConstraintSense::AtLeast, &cut.side, &form, &parts, false);
        let line = self.proof.unsplit(
            ConstraintSense::AtLeast,
            &cut.side,
            &form,
            (with_low, low),
            (with_high, high),
        );
        let lower = double(&cut.side);
        self.lp.add_rows(&[NewRow::new(
            Bounds::new(lower, f64::INFINITY),
            cut.row.iter().map(|&(j, a)| (ColId(j as u32), a)),
        )])?;
        self.rows.push(RelaxationRow {
            entries: cut.form,
            lower: Some(ActiveBound {
                value: cut.side,
                line,
            }),
            upper: None,
        });
        Ok(())
    }
}
