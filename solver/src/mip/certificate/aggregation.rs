//! Sums of rows that promise cuts: a row, with variable bounds in place of continuous columns, then
//! with rows that eliminate the remaining ones (Marchand & Wolsey 2001). All in doubles: the
//! results are multipliers, and any multipliers are valid.

use super::cuts::nearer;
use super::tree::CertifiedTree;
use crate::mip::exact::double;
use remat_lp::{ColId, RowId, Solution};

/// Limit on the rows of a sum, variable bounds aside.
const LENGTH: usize = 6;
/// The same limit at the root.
const ROOT_LENGTH: usize = 12;
/// Integer columns for which the other bound is tried.
const COMPLEMENTS: usize = 20;
/// Divisors tried for a sum.
const DIVISORS: usize = 8;
/// Longer rows are left to the tableau cuts.
const ROW_LENGTH_LIMIT: usize = 500;

/// Kinds of continuous columns by which a path continues: in a flow balance, arcs into the nodes so
/// far, or arcs out of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DerivedArcs {
    Any,
    In,
    Out,
}

/// Multipliers of rows, or coefficients of columns.
type Multipliers = Vec<(usize, f64)>;

/// Multipliers of rows, and the columns to be measured from their farther bound.
pub(super) struct AggregationCandidate {
    pub rows: Multipliers,
    pub complemented: Vec<usize>,
}

/// A row of one continuous and one integer column, as a bound of the continuous one.
#[derive(Clone, Copy)]
struct VariableBound {
    row: usize,
    /// The continuous column's coefficient.
    coefficient: f64,
    /// Distance of the row from its side, in units of the column.
    slack: f64,
}

/// A column or row as a distance from a bound or side: the sign, the bound, and whether it is
/// integer.
#[derive(Clone, Copy)]
struct Distance {
    sign: f64,
    bound: f64,
    value: f64,
    integer: bool,
}

/// A column of a sum: its coefficient, its distance, and its value.
struct SumColumn {
    coefficient: f64,
    distance: Option<Distance>,
    value: f64,
    integer: bool,
}

/// A sum of rows, ready to be rounded with many divisors.
struct Prepared {
    /// The side.
    side: f64,
    /// Coefficient and value of each row's distance, and `true` if it is integer. Equations have no
    /// distance.
    slacks: Vec<(f64, f64, bool)>,
    columns: Vec<SumColumn>,
}

/// The largest integer not above a number of moderate size, without a function call.
#[inline]
fn floor(v: f64) -> f64 {
    let t = v as i64 as f64;
    if t > v { t - 1.0 } else { t }
}

pub(super) struct Aggregation<'a> {
    tree: &'a CertifiedTree<'a>,
    solution: &'a Solution,
    cols: Vec<Option<Distance>>,
    /// Distance from the farther bound, for integer columns.
    farther: Vec<Option<Distance>>,
    /// The tightest variable bound of each column.
    variable: Vec<Option<VariableBound>>,
    rows: Vec<Option<Distance>>,
    /// All kinds of paths and more divisors, as at the root.
    thorough: bool,
}

impl<'a> Aggregation<'a> {
    pub fn new(tree: &'a CertifiedTree<'a>, s: &'a Solution, thorough: bool) -> Self {
        let distance = |lower, upper, at: f64, integer| {
            let (side, sign) = nearer(lower, upper, at)?;
            let (bound, sign) = (double(&side.value), f64::from(sign));
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
                    tree.m.integer[*j] && a.is_int()
                };
                let mut d = distance(&r.lower, &r.upper, v, false)?;
                d.integer = d.bound.fract() == 0.0 && r.entries.iter().all(whole);
                Some(d)
            })
            .collect();
        let columns = tree.lower.iter().zip(&tree.upper).zip(&tree.m.integer);
        let farther = (columns.zip(&s.x))
            .map(|(((l, u), &integer), &v)| {
                let (Some(lower), Some(upper)) = (l, u) else {
                    return None;
                };
                let near = nearer(l, u, v)?.1;
                let (side, sign) = if near > 0 {
                    (upper, -1.0)
                } else {
                    (lower, 1.0)
                };
                let bound = double(&side.value);
                integer.then_some(Distance {
                    sign,
                    bound,
                    value: (sign * (v - bound)).max(0.0),
                    integer,
                })
            })
            .collect();
        let mut out = Aggregation {
            tree,
            solution: s,
            cols,
            farther,
            variable: Vec::new(),
            rows,
            thorough,
        };
        out.variable = (0..s.x.len()).map(|j| out.variable_bound(j)).collect();
        out
    }

    fn variable_bound(&self, j: usize) -> Option<VariableBound> {
        if self.tree.m.integer[j] {
            return None;
        }
        let model = self.tree.lp.model();
        let bound = |(i, a): (RowId, f64)| {
            let entries = &self.tree.rows[i.index()].entries;
            let mixed = entries.len() == 2 && entries.iter().any(|e| self.tree.m.integer[e.0]);
            let slack = self.rows[i.index()].filter(|_| mixed)?.value / a.abs();
            Some(VariableBound {
                row: i.index(),
                coefficient: a,
                slack,
            })
        };
        let bounds = model.col(ColId(j as u32)).filter_map(bound);
        bounds.min_by(|a, b| a.slack.total_cmp(&b.slack))
    }

    /// Multipliers of rows whose rounding cuts the point off, computed in doubles; the deepest
    /// first.
    pub fn promising(&self, most: usize) -> Vec<(f64, AggregationCandidate)> {
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
        out
    }

    /// The roundings of a sum with three substitutions: variable bounds at least as tight as
    /// bounds, tighter ones only, and no substitution.
    pub fn roundings(&self, rows: &[(usize, f64)], out: &mut Vec<(f64, AggregationCandidate)>) {
        let sum = self.sum(rows);
        let mut before = usize::MAX;
        for tie in [Some(1e-9), Some(-1e-6), None] {
            let y = self.substituted(rows, &sum, tie);
            if y.len() != before {
                out.extend(self.best(&y));
            }
            before = y.len();
        }
    }

    fn path(&self, start: usize, arcs: DerivedArcs, out: &mut Vec<(f64, AggregationCandidate)>) {
        let mut rows = vec![(start, 1.0)];
        for length in 1..=if self.thorough { ROOT_LENGTH } else { LENGTH } {
            let sum = self.sum(&rows);
            let mut found = false;
            // The sum of one row is the same for all kinds of paths.
            if length > 1 || arcs == DerivedArcs::Any {
                let before = out.len();
                self.roundings(&rows, out);
                found = out.len() > before;
            }
            if found && length > 1 {
                return;
            }
            // The deepest continuous column is eliminated next.
            let mut deepest: Vec<(f64, usize, f64)> = (sum.iter())
                .filter(|e| !self.tree.m.integer[e.0])
                .filter(|e| match arcs {
                    DerivedArcs::Any => true,
                    DerivedArcs::In => e.1 > 0.0,
                    DerivedArcs::Out => e.1 < 0.0,
                })
                .map(|&(j, v)| (self.inner_depth(&rows, j), j, v))
                .filter(|e| e.0 > 1e-6)
                .collect();
            deepest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let Some(next) =
                (deepest.into_iter().take(5)).find_map(|(_, j, a)| self.eliminating(&rows, j, a))
            else {
                return;
            };
            rows.push(next);
        }
    }

    /// The coefficients of a sum, in the order of the columns.
    fn sum(&self, rows: &[(usize, f64)]) -> Multipliers {
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

    /// The tightest variable bound of a column, unless the sum already contains its row.
    fn unused(&self, rows: &[(usize, f64)], j: usize) -> Option<VariableBound> {
        self.variable[j].filter(|b| rows.iter().all(|r| r.0 != b.row))
    }

    /// Distance of a column to its nearest bound, variable bounds included.
    fn inner_depth(&self, rows: &[(usize, f64)], j: usize) -> f64 {
        let variable = self.unused(rows, j).map_or(f64::INFINITY, |b| b.slack);
        self.depth(j).min(variable)
    }

    /// The sum with variable bounds in place of continuous columns' bounds, where they are farther
    /// by at most `tie`.
    fn substituted(
        &self,
        rows: &[(usize, f64)],
        sum: &[(usize, f64)],
        tie: Option<f64>,
    ) -> Multipliers {
        let mut out = rows.to_vec();
        let Some(tie) = tie else {
            return out;
        };
        for &(j, v) in sum {
            if let Some(b) = self.unused(&out, j)
                && b.slack <= self.depth(j) + tie
            {
                out.push((b.row, -v / b.coefficient));
            }
        }
        out
    }

    /// The tight row that best eliminates a column, with its multiplier.
    fn eliminating(&self, rows: &[(usize, f64)], j: usize, v: f64) -> Option<(usize, f64)> {
        let model = self.tree.lp.model();
        model
            .col(ColId(j as u32))
            .filter_map(|(i, a)| {
                let i = i.index();
                let length = self.tree.rows[i].entries.len();
                let factor = -v / a;
                let usable = i < self.tree.m.rows.len()
                    && length <= ROW_LENGTH_LIMIT
                    && rows.iter().all(|r| r.0 != i)
                    && (1e-5..=1e5).contains(&factor.abs());
                let slack = self.rows[i]?.value;
                let value = self.solution.y[i].abs() - slack - 1e-3 * length as f64;
                (usable && slack <= 1e-1 * a.abs()).then_some((value, i, factor))
            })
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            .map(|(_, i, factor)| (i, factor))
    }

    /// The divisor with a sign and the columns from their other bounds for the deepest rounding of
    /// a sum, with the depth.
    fn best(&self, y: &[(usize, f64)]) -> Option<(f64, AggregationCandidate)> {
        let sum = self.sum(y);
        let mut prepared = self.prepared(y, &sum)?;
        let mut divisors: Vec<f64> = vec![1.0];
        for &(j, a) in &sum {
            let inside = self.tree.m.integer[j] && self.depth(j) > 1e-6;
            if inside && divisors.iter().all(|d| (d - a.abs()).abs() > 1e-9 * d) {
                divisors.push(a.abs());
            }
        }
        divisors.truncate(DIVISORS);
        let mut best: Option<(f64, f64)> = None;
        let mut terms = Vec::new();
        let mut try_all = |divisors: &[f64], best: &mut Option<(f64, f64)>| {
            for d in divisors.iter().flat_map(|&d| [d, -d]) {
                if let Some(e) = prepared.efficacy(d, &mut terms)
                    && best.is_none_or(|b| e > b.0)
                {
                    *best = Some((e, d));
                }
            }
        };
        try_all(&divisors, &mut best);
        if let Some((_, d)) = best.filter(|_| self.thorough) {
            try_all(&[2.0, 4.0, 8.0].map(|part| d / part), &mut best);
        }
        let (mut depth, divisor) = best.filter(|b| b.0 > -0.1)?;
        // Columns from their other bound, those nearest to the middle first, while that helps.
        let mut order: Vec<(f64, usize)> = (prepared.columns.iter().enumerate())
            .filter_map(|(k, c)| {
                let (near, far) = (c.distance?, self.farther[sum[k].0]?);
                (near.value > 1e-6).then_some((far.value - near.value, k))
            })
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut complemented = Vec::new();
        for (_, k) in order.into_iter().take(COMPLEMENTS) {
            let before = prepared.columns[k].distance;
            prepared.columns[k].distance = self.farther[sum[k].0];
            match prepared.efficacy(divisor, &mut terms) {
                Some(e) if e > depth + 1e-9 => {
                    depth = e;
                    complemented.push(sum[k].0);
                }
                _ => prepared.columns[k].distance = before,
            }
        }
        let rows = y.iter().map(|&(i, v)| (i, v / divisor)).collect();
        (depth > 1e-3).then_some((depth, AggregationCandidate { rows, complemented }))
    }

    fn prepared(&self, y: &[(usize, f64)], sum: &[(usize, f64)]) -> Option<Prepared> {
        let mut side = 0.0;
        let mut slacks = Vec::with_capacity(y.len());
        for &(i, v) in y {
            let d = self.rows[i]?;
            side += v * d.bound;
            let r = &self.tree.rows[i];
            let equation = match (&r.lower, &r.upper) {
                (Some(l), Some(u)) => l.line == u.line,
                _ => false,
            };
            if !equation {
                slacks.push((-v * d.sign, d.value, d.integer));
            }
        }
        let column = |&(j, coefficient): &(usize, f64)| SumColumn {
            coefficient,
            distance: self.cols[j],
            value: self.solution.x[j],
            integer: self.tree.m.integer[j],
        };
        Some(Prepared {
            side,
            slacks,
            columns: sum.iter().map(column).collect(),
        })
    }
}

impl Prepared {
    /// Depth, in distances, of the cut that rounds the sum over a divisor.
    fn efficacy(&self, divisor: f64, terms: &mut Vec<(f64, f64, bool)>) -> Option<f64> {
        let share = 1.0 / divisor;
        let mut rhs = self.side * share;
        terms.clear();
        for c in &self.columns {
            let a = c.coefficient * share;
            if c.integer && (a - floor(a + 0.5)).abs() < 1e-9 {
                terms.push((a, c.value, true));
                continue;
            }
            let d = c.distance?;
            rhs -= a * d.bound;
            terms.push((a * d.sign, d.value, d.integer));
        }
        let f0 = rhs - rhs.floor();
        if !(0.02..=0.98).contains(&f0) {
            return None;
        }
        let (mut activity, mut norm) = (0.0, 0.0);
        let slacks = self
            .slacks
            .iter()
            .map(|&(a, v, integer)| (a * share, v, integer));
        for (a, value, integer) in slacks.chain(terms.iter().copied()) {
            let c = if integer {
                let f = a - floor(a + 1e-9);
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
