//! Sums of rows that promise cuts: a row, with variable bounds in place of continuous columns and
//! then with rows that eliminate those that are left (Marchand & Wolsey 2001). All in doubles: what
//! comes out are multipliers, and any will do.

use super::cuts::nearer;
use super::tree::CertifiedTree;
use num_traits::ToPrimitive;
use remat_lp::{ColId, RowId, Solution};

/// Most rows in a sum, variable bounds aside.
const LENGTH: usize = 6;
/// Divisors tried for a sum.
const DIVISORS: usize = 8;
/// Longer rows are left to the tableau.
const ROW_LENGTH_LIMIT: usize = 500;

/// Continuous columns that a path goes on with: in a flow balance, arcs into the nodes so far or
/// out of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DerivedArcs {
    Any,
    In,
    Out,
}

/// Multipliers of rows, or coefficients of columns.
type Sum = Vec<(usize, f64)>;

/// A column or row as a distance from a bound or side: the sign, the bound, and whether it is
/// integer.
#[derive(Clone, Copy)]
struct Distance {
    sign: f64,
    bound: f64,
    value: f64,
    integer: bool,
}

pub(super) struct Aggregation<'a> {
    tree: &'a CertifiedTree<'a>,
    solution: &'a Solution,
    cols: Vec<Option<Distance>>,
    rows: Vec<Option<Distance>>,
    /// All kinds of paths and more divisors, as at the root.
    thorough: bool,
}

impl<'a> Aggregation<'a> {
    pub fn new(tree: &'a CertifiedTree<'a>, s: &'a Solution, thorough: bool) -> Self {
        let distance = |lower, upper, at: f64, integer| {
            let (side, sign) = nearer(lower, upper, at)?;
            let (bound, sign) = (side.value.to_f64()?, f64::from(sign));
            Some(Distance {
                sign,
                bound,
                value: (sign * (at - bound)).max(0.0),
                integer,
            })
        };
        let columns = tree.lower.iter().zip(&tree.upper).zip(&tree.m.integer);
        let cols = (columns.zip(&s.x))
            .map(|(((l, u), &integer), &v)| distance(l, u, v, integer))
            .collect();
        let rows = (tree.rows.iter().zip(&s.row_activity))
            .map(|(r, &v)| {
                let whole = |(j, a): &(usize, crate::mip::exact::Rational)| {
                    tree.m.integer[*j] && a.is_integer()
                };
                let mut d = distance(&r.lower, &r.upper, v, false)?;
                d.integer = d.bound.fract() == 0.0 && r.entries.iter().all(whole);
                Some(d)
            })
            .collect();
        Aggregation {
            tree,
            solution: s,
            cols,
            rows,
            thorough,
        }
    }

    /// Multipliers of rows whose rounding cuts the point off, as far as doubles tell; the deepest
    /// first.
    pub fn promising(&self, most: usize) -> Vec<Sum> {
        let mut out = Vec::new();
        for start in 0..self.tree.rows.len() {
            if self.tree.rows[start].entries.len() > ROW_LENGTH_LIMIT {
                continue;
            }
            let kinds = [DerivedArcs::Any, DerivedArcs::In, DerivedArcs::Out];
            for arcs in kinds.into_iter().take(if self.thorough { 3 } else { 1 }) {
                self.path(start, arcs, &mut out);
            }
        }
        out.sort_by(|a, b| b.0.total_cmp(&a.0));
        out.truncate(most);
        out.into_iter().map(|e| e.1).collect()
    }

    fn path(&self, start: usize, arcs: DerivedArcs, out: &mut Vec<(f64, Sum)>) {
        let mut rows = vec![(start, 1.0)];
        for length in 1..=LENGTH {
            let sum = self.sum(&rows);
            let (with_bounds, left) = self.substituted(&rows, &sum);
            // The start alone is the same for all kinds of paths.
            if length > 1 || arcs == DerivedArcs::Any {
                let same = with_bounds.len() == rows.len();
                for y in [&with_bounds, &rows].into_iter().skip(usize::from(same)) {
                    if let Some((e, d)) = self.best_divisor(y) {
                        out.push((e, y.iter().map(|&(i, v)| (i, v / d)).collect()));
                    }
                }
            }
            // The deepest continuous column goes next, one with a variable bound if there is no
            // other.
            let mut deepest: Vec<(f64, usize, f64)> = (sum.iter())
                .filter(|e| !self.tree.m.integer[e.0] && self.depth(e.0) > 1e-6)
                .filter(|e| match arcs {
                    DerivedArcs::Any => left.contains(e),
                    DerivedArcs::In => e.1 > 0.0,
                    DerivedArcs::Out => e.1 < 0.0,
                })
                .map(|&(j, v)| (self.depth(j), j, v))
                .collect();
            deepest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let Some(next) = deepest
                .into_iter()
                .find_map(|(_, j, a)| self.eliminating(&rows, j, a))
            else {
                return;
            };
            rows.push(next);
        }
    }

    /// The coefficients of the columns, in the columns' order.
    fn sum(&self, rows: &[(usize, f64)]) -> Sum {
        let model = self.tree.lp.model();
        let mut all: Vec<(usize, f64)> = Vec::new();
        for &(i, v) in rows {
            all.extend(model.row(RowId(i as u32)).map(|(j, a)| (j.index(), v * a)));
        }
        all.sort_by_key(|e| e.0);
        let mut out: Vec<(usize, f64)> = Vec::new();
        for (j, v) in all {
            match out.last_mut() {
                Some(last) if last.0 == j => last.1 += v,
                _ => out.push((j, v)),
            }
        }
        out.retain(|e| e.1.abs() > 1e-9);
        out
    }

    fn depth(&self, j: usize) -> f64 {
        self.cols[j].map_or(f64::INFINITY, |d| d.value)
    }

    /// The sum with variable bounds (rows of one continuous and one integer column) in place of the
    /// continuous columns inside their bounds, and such columns that have none.
    fn substituted(&self, rows: &[(usize, f64)], sum: &[(usize, f64)]) -> (Sum, Sum) {
        let model = self.tree.lp.model();
        let (mut out, mut left) = (rows.to_vec(), Vec::new());
        for &(j, v) in sum {
            if self.tree.m.integer[j] || self.depth(j) <= 1e-6 {
                continue;
            }
            let variable_bound = model
                .col(ColId(j as u32))
                .filter_map(|(i, a)| {
                    let row = &self.tree.rows[i.index()].entries;
                    let mixed = row.len() == 2 && row.iter().any(|e| self.tree.m.integer[e.0]);
                    let slack = self.rows[i.index()]?.value / a.abs();
                    (mixed && slack < self.depth(j) && rows.iter().all(|r| r.0 != i.index()))
                        .then_some((slack, i.index(), -v / a))
                })
                .min_by(|a, b| a.0.total_cmp(&b.0));
            match variable_bound {
                Some((_, i, factor)) => out.push((i, factor)),
                None => left.push((j, v)),
            }
        }
        (out, left)
    }

    /// The tight row that eliminates a column best, with its multiplier.
    fn eliminating(&self, rows: &[(usize, f64)], j: usize, v: f64) -> Option<(usize, f64)> {
        let model = self.tree.lp.model();
        model
            .col(ColId(j as u32))
            .filter_map(|(i, a)| {
                let i = i.index();
                let length = self.tree.rows[i].entries.len();
                let factor = -v / a;
                let usable = length <= ROW_LENGTH_LIMIT
                    && rows.iter().all(|r| r.0 != i)
                    && (1e-5..=1e5).contains(&factor.abs());
                let slack = self.rows[i]?.value;
                let value = self.solution.y[i].abs() - slack - 1e-3 * length as f64;
                (usable && slack <= 1e-1 * a.abs()).then_some((value, i, factor))
            })
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            .map(|(_, i, factor)| (i, factor))
    }

    /// The divisor, with a sign, by which a sum is rounded to the deepest cut, and how deep that
    /// is.
    fn best_divisor(&self, y: &[(usize, f64)]) -> Option<(f64, f64)> {
        let sum = self.sum(y);
        let mut divisors: Vec<f64> = vec![1.0];
        for &(j, a) in &sum {
            let inside = self.tree.m.integer[j] && self.depth(j) > 1e-6;
            if inside && divisors.iter().all(|d| (d - a.abs()).abs() > 1e-9 * d) {
                divisors.push(a.abs());
            }
        }
        divisors.truncate(DIVISORS);
        for k in 0..if self.thorough { divisors.len() } else { 0 } {
            divisors.extend([2.0, 4.0, 8.0].map(|part| divisors[k] / part));
        }
        let mut best: Option<(f64, f64)> = None;
        for d in divisors.into_iter().flat_map(|d| [d, -d]) {
            if let Some(e) = self.efficacy(y, &sum, d)
                && best.is_none_or(|b| e > b.0)
            {
                best = Some((e, d));
            }
        }
        best.filter(|b| b.0 > 1e-3)
    }

    /// Depth to which a rounding cuts, in distances.
    fn efficacy(&self, y: &[(usize, f64)], sum: &[(usize, f64)], divisor: f64) -> Option<f64> {
        let mut rhs = 0.0;
        let mut terms: Vec<(f64, f64, bool)> = Vec::with_capacity(y.len() + sum.len());
        for &(i, v) in y {
            let d = self.rows[i]?;
            let v = v / divisor;
            rhs += v * d.bound;
            let r = &self.tree.rows[i];
            let equation = match (&r.lower, &r.upper) {
                (Some(l), Some(u)) => l.line == u.line,
                _ => false,
            };
            if !equation {
                terms.push((-v * d.sign, d.value, d.integer));
            }
        }
        for &(j, a) in sum {
            let a = a / divisor;
            if self.tree.m.integer[j] && (a - a.round()).abs() < 1e-9 {
                terms.push((a, self.solution.x[j], true));
                continue;
            }
            let d = self.cols[j]?;
            rhs -= a * d.bound;
            terms.push((a * d.sign, d.value, d.integer));
        }
        let f0 = rhs - rhs.floor();
        if !(0.02..=0.98).contains(&f0) {
            return None;
        }
        let (mut activity, mut norm) = (0.0, 0.0);
        for (a, value, integer) in terms {
            let c = if integer {
                let f = a - (a + 1e-9).floor();
                a - f + (f.max(0.0) / f0).min(1.0)
            } else {
                a.max(0.0) / f0
            };
            activity += c * value;
            norm += c * c;
        }
        let e = (rhs.floor() + 1.0 - activity) / f64::sqrt(norm).max(1e-9);
        e.is_finite().then_some(e)
    }
}
