//! Mixed-integer rounding of rows and of paths of rows (Marchand & Wolsey 2001). Each step of a
//! path eliminates a continuous column far from its bounds by another row.

use super::accumulator::Accumulator;
use super::implications::Implication;
use super::mir;
use super::shift::BoundSubstitution;
use super::{Context, Cut};
use crate::mip::problem::Problem;
use remat_lp::{ColId, RowId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Bounds of continuous columns by multiples of integer ones: `x <= factor * y + constant`, and
/// likewise from below.
#[derive(Clone, Debug, Default)]
pub(crate) struct VariableBounds {
    upper: Vec<Vec<(u32, f64, f64)>>,
    lower: Vec<Vec<(u32, f64, f64)>>,
}

impl VariableBounds {
    /// Derives them from the rows with two columns, and from the implications of probing.
    pub fn new(p: &Problem, implications: &[Implication]) -> Self {
        let n = p.num_cols();
        let mut v = VariableBounds {
            upper: vec![Vec::new(); n],
            lower: vec![Vec::new(); n],
        };
        for i in 0..p.num_rows() {
            let (index, value) = p.rows.vector(i);
            if index.len() != 2 {
                continue;
            }
            for (x, y) in [(0, 1), (1, 0)] {
                let (jx, jy) = (index[x] as usize, index[y] as usize);
                let (a, b) = (value[x], value[y]);
                let range = p.upper[jy] - p.lower[jy];
                if p.integer[jx]
                    || !p.integer[jy]
                    || range > 1e4
                    || a.abs() < 1e-9
                    || (b / a).abs() > 1e7
                {
                    continue;
                }
                // a x + b y <= side: x <= side / a - b / a y if a > 0, else >=.
                for (side, is_upper) in [(p.row_upper[i], true), (p.row_lower[i], false)] {
                    if side.is_finite() {
                        let list = if (a > 0.0) == is_upper {
                            &mut v.upper
                        } else {
                            &mut v.lower
                        };
                        list[jx].push((index[y], -b / a, side / a));
                    }
                }
            }
        }
        for i in implications {
            if !p.integer[i.col as usize] {
                let list = if i.upper { &mut v.upper } else { &mut v.lower };
                list[i.col as usize].push((i.binary, i.factor, i.constant));
            }
        }
        v
    }

    /// The tightest upper bound at a point.
    pub fn best_upper(&self, j: usize, x: &[f64]) -> Option<&(u32, f64, f64)> {
        self.upper[j]
            .iter()
            .min_by(|a, b| (a.1 * x[a.0 as usize] + a.2).total_cmp(&(b.1 * x[b.0 as usize] + b.2)))
    }

    /// The tightest lower bound at a point.
    pub fn best_lower(&self, j: usize, x: &[f64]) -> Option<&(u32, f64, f64)> {
        self.lower[j]
            .iter()
            .max_by(|a, b| (a.1 * x[a.0 as usize] + a.2).total_cmp(&(b.1 * x[b.0 as usize] + b.2)))
    }
}

/// Limit on the rows of a path: longer ones found no better bounds and took half as long again
/// (decision 096).
const AGGREGATED_ROW_LIMIT: usize = 6;

/// Consecutive rows without a cut after which the rest, which are less promising, are skipped.
const FAILURE_LIMIT: usize = 1_000;

/// Adds a row to an aggregation: its slack is the distance to the nearer side.
fn add_row(
    c: &Context<'_>,
    acc: &mut Accumulator,
    slacks: &mut Vec<(u32, f64, bool)>,
    row: usize,
    factor: f64,
) {
    let b = c.model.row_bounds(RowId(row as u32));
    let activity = c.solution.row_activity[row];
    let upper = b.upper - activity <= activity - b.lower;
    acc.add_row(c.model, row, factor);
    if upper {
        acc.side.add(factor * b.upper);
        if b.lower != b.upper {
            slacks.push((row as u32, factor, true));
        }
    } else {
        acc.side.add(factor * b.lower);
        if b.lower != b.upper {
            slacks.push((row as u32, -factor, false));
        }
    }
}

/// Distance of a continuous column to its nearest bound, variable bounds included.
fn depth(c: &Context<'_>, j: usize) -> f64 {
    let x = &c.solution.x;
    let mut d = (x[j] - c.lower[j]).min(c.upper[j] - x[j]);
    if let Some(&(y, f, k)) = c.tables.variable_bounds.best_upper(j, x) {
        d = d.min(f * x[y as usize] + k - x[j]);
    }
    if let Some(&(y, f, k)) = c.tables.variable_bounds.best_lower(j, x) {
        d = d.min(x[j] - f * x[y as usize] - k);
    }
    d
}

/// Tries every promising row as a start, including cuts of earlier rounds.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let m = c.model.num_rows();
    let x = &c.solution.x;
    let mut starts: Vec<(f64, usize)> = Vec::new();
    for i in 0..m {
        let (mut fractional, mut length, mut norm) = (0, 0, 0.0);
        for (j, a) in c.model.row(RowId(i as u32)) {
            let v = x[j.index()];
            if c.problem.integer[j.index()] && (v - v.round()).abs() > 1e-6 {
                fractional += 1;
            }
            length += 1;
            norm += a * a;
        }
        if length > 1000 {
            continue;
        }
        let y = c.solution.y[i].abs();
        let s = slack(c, i).max(0.0) / f64::sqrt(norm).max(1e-9);
        // Rows of the problem precede cuts.
        let rank = if i < c.problem.num_rows() { 1e3 } else { 0.0 };
        let score =
            rank + f64::from(fractional) * 0.1 + y.min(1.0) + if s < 1e-6 { 1.0 } else { -s };
        // Cuts far from binding yield no useful start.
        if score.is_finite() && (rank > 0.0 || s < 1e-3) {
            starts.push((score, i));
        }
    }
    starts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut acc = Accumulator::new(c.problem.num_cols());
    let mut work = 0usize;
    let mut tried = Tried::new();
    let allowed = c.effort.aggregation_limit(c.problem.rows.index.len());
    let mut failures = 0;
    for &(_, start) in &starts {
        if work > allowed || out.len() > 3_000 || failures > FAILURE_LIMIT {
            break;
        }
        let before = out.len();
        for arcs in [Arcs::In, Arcs::Out, Arcs::Any] {
            if !path(c, start, arcs, (&mut acc, &mut tried), &mut work, out) {
                break;
            }
        }
        failures = if out.len() > before { 0 } else { failures + 1 };
    }
    c.spent.set(c.spent.get() + 2 * work as u64);
}

/// Distance of a row to its nearer side.
fn slack(c: &Context<'_>, i: usize) -> f64 {
    let b = c.model.row_bounds(RowId(i as u32));
    let a = c.solution.row_activity[i];
    (b.upper - a).min(a - b.lower)
}

/// Rounded aggregations, and whether each gave a cut.
type Tried = HashMap<Vec<(u32, i64)>, bool>;

/// Identity of an aggregation: its rows, and their factors relative to the first one, to nine
/// digits. Paths from different starts often reach the same one.
fn identity(used: &[(u32, f64)]) -> Vec<(u32, i64)> {
    let mut sorted = used.to_vec();
    sorted.sort_by_key(|f| f.0);
    let first = sorted[0].1;
    let digits = |f: f64| (f / first * 1e9).round() as i64;
    sorted.iter().map(|&(i, f)| (i, digits(f))).collect()
}

/// Kinds of continuous columns by which a path continues: in a flow balance, arcs into the nodes so
/// far, or arcs out of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arcs {
    In,
    Out,
    Any,
}

/// Rounds a row, then the row plus one that eliminates a continuous column, and so on. Returns
/// whether there was a second row.
fn path(
    c: &Context<'_>,
    start: usize,
    arcs: Arcs,
    (acc, tried): (&mut Accumulator, &mut Tried),
    work: &mut usize,
    out: &mut Vec<Cut>,
) -> bool {
    acc.clear();
    let mut slacks = Vec::new();
    add_row(c, acc, &mut slacks, start, 1.0);
    // Rows so far, and their factors.
    let mut used = vec![(start as u32, 1.0)];
    loop {
        *work += 2 * acc.index.len();
        let mut found = false;
        // The sum of one row is the same for every kind of path.
        if arcs == Arcs::In || used.len() > 1 {
            match tried.entry(identity(&used)) {
                Entry::Occupied(before) => found = *before.get(),
                Entry::Vacant(new) => {
                    *work += 20 * acc.index.len();
                    for sign in [1.0, -1.0] {
                        let base = acc.base(&slacks, sign);
                        found |= mir::separate(c, &base, &BoundSubstitution::ALL, out);
                    }
                    new.insert(found);
                }
            }
        }
        if (found && used.len() > 1) || used.len() >= AGGREGATED_ROW_LIMIT {
            return true;
        }
        // The continuous column deepest inside its bounds, and a tight row to eliminate it.
        let mut candidates: Vec<(f64, usize)> = acc
            .index
            .iter()
            .map(|&j| j as usize)
            .filter(|&j| !c.problem.integer[j] && acc.value[j].abs() > 1e-9)
            .filter(|&j| match arcs {
                Arcs::In => acc.value[j] > 0.0,
                Arcs::Out => acc.value[j] < 0.0,
                Arcs::Any => true,
            })
            .map(|j| (depth(c, j), j))
            .filter(|d| d.0 > 1e-6)
            .collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut chosen = None;
        for &(_, j) in candidates.iter().take(5) {
            let mut best: Option<(f64, usize, f64)> = None;
            for (i, a) in c.model.col(ColId(j as u32)) {
                let i = i.index();
                if used.iter().any(|u| u.0 as usize == i)
                    || a.abs() < 1e-6
                    || i >= c.problem.num_rows()
                {
                    continue;
                }
                let s = slack(c, i).max(0.0);
                let (mut length, mut largest) = (0, 0.0f64);
                for (_, a) in c.model.row(RowId(i as u32)) {
                    length += 1;
                    largest = largest.max(a.abs());
                }
                *work += length;
                if length > 500 || s > 1e-1 * largest {
                    continue;
                }
                let value = c.solution.y[i].abs() - s - 0.001 * length as f64;
                if best.is_none_or(|b| value > b.0) {
                    best = Some((value, i, -acc.value[j] / a));
                }
            }
            if let Some((_, i, f)) = best {
                chosen = Some((i, f, j));
                break;
            }
        }
        let Some((i, factor, j)) = chosen else {
            return used.len() > 1 || arcs != Arcs::Any;
        };
        if !(1e-5..=1e5).contains(&factor.abs()) {
            return true;
        }
        add_row(c, acc, &mut slacks, i, factor);
        acc.value[j] = 0.0;
        used.push((i as u32, factor));
    }
}
