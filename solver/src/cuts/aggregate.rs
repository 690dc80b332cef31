//! Mixed-integer rounding of rows and of paths of rows: a continuous column far from its bounds is eliminated with
//! another row, up to a few times (Marchand & Wolsey 2001).

use super::mir::{self, Base};
use super::{Context, Cut};
use crate::problem::Problem;
use remat_lp::RowId;

/// Bounds of continuous columns by multiples of integer ones: `x <= factor * y + constant`, and from below.
#[derive(Clone, Debug, Default)]
pub(crate) struct VariableBounds {
    upper: Vec<Vec<(u32, f64, f64)>>,
    lower: Vec<Vec<(u32, f64, f64)>>,
}

impl VariableBounds {
    /// Reads them off the rows with two columns.
    pub fn new(p: &Problem) -> Self {
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
        v
    }

    /// The tightest at a point.
    pub fn best_upper(&self, j: usize, x: &[f64]) -> Option<&(u32, f64, f64)> {
        self.upper[j]
            .iter()
            .min_by(|a, b| (a.1 * x[a.0 as usize] + a.2).total_cmp(&(b.1 * x[b.0 as usize] + b.2)))
    }

    /// The tightest at a point.
    pub fn best_lower(&self, j: usize, x: &[f64]) -> Option<&(u32, f64, f64)> {
        self.lower[j]
            .iter()
            .max_by(|a, b| (a.1 * x[a.0 as usize] + a.2).total_cmp(&(b.1 * x[b.0 as usize] + b.2)))
    }
}

/// Sparse accumulator of an aggregation.
struct Accumulator {
    value: Vec<f64>,
    index: Vec<u32>,
    present: Vec<bool>,
}

impl Accumulator {
    fn add(&mut self, j: usize, v: f64) {
        if !self.present[j] {
            self.present[j] = true;
            self.index.push(j as u32);
        }
        self.value[j] += v;
    }

    fn clear(&mut self) {
        for &j in &self.index {
            self.value[j as usize] = 0.0;
            self.present[j as usize] = false;
        }
        self.index.clear();
    }

    fn base(&self, slacks: &[(u32, f64, bool)], rhs: f64, sign: f64) -> Base {
        Base {
            entries: self
                .index
                .iter()
                .map(|&j| (j, sign * self.value[j as usize]))
                .filter(|e| e.1 != 0.0)
                .collect(),
            slacks: slacks.iter().map(|&(r, f, u)| (r, sign * f, u)).collect(),
            rhs: sign * rhs,
        }
    }
}

const MOST_ROWS: usize = 12;

/// Adds a row to an aggregation: the slack is the distance to the side that is nearer.
fn add_row(
    c: &Context<'_>,
    acc: &mut Accumulator,
    slacks: &mut Vec<(u32, f64, bool)>,
    rhs: &mut f64,
    row: usize,
    factor: f64,
) {
    let b = c.model.row_bounds(RowId(row as u32));
    let activity = c.solution.row_activity[row];
    let upper = b.upper - activity <= activity - b.lower;
    for (j, a) in c.model.row(RowId(row as u32)) {
        acc.add(j.index(), factor * a);
    }
    if upper {
        *rhs += factor * b.upper;
        if b.lower != b.upper {
            slacks.push((row as u32, factor, true));
        }
    } else {
        *rhs += factor * b.lower;
        if b.lower != b.upper {
            slacks.push((row as u32, -factor, false));
        }
    }
}

/// Distance of a continuous column to its nearest bound, variable bounds included.
fn depth(c: &Context<'_>, j: usize) -> f64 {
    let x = &c.solution.x;
    let mut d = (x[j] - c.lower[j]).min(c.upper[j] - x[j]);
    if let Some(&(y, f, k)) = c.variable_bounds.best_upper(j, x) {
        d = d.min(f * x[y as usize] + k - x[j]);
    }
    if let Some(&(y, f, k)) = c.variable_bounds.best_lower(j, x) {
        d = d.min(x[j] - f * x[y as usize] - k);
    }
    d
}

/// Tries every promising row as a start.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let m = c.problem.num_rows();
    let n = c.problem.num_cols();
    let slack = |i: usize| {
        let b = c.model.row_bounds(RowId(i as u32));
        let a = c.solution.row_activity[i];
        (b.upper - a).min(a - b.lower)
    };
    let mut starts: Vec<(f64, usize)> = (0..m)
        .filter(|&i| c.problem.rows.len(i) <= 1000)
        .map(|i| {
            let fractional = c
                .problem
                .rows
                .iter(i)
                .filter(|&(j, _)| {
                    c.problem.integer[j] && (c.solution.x[j] - c.solution.x[j].round()).abs() > 1e-6
                })
                .count();
            let norm = c
                .problem
                .rows
                .iter(i)
                .map(|(_, a)| a * a)
                .sum::<f64>()
                .sqrt();
            let y = c.solution.y[i].abs();
            let s = slack(i).max(0.0) / norm.max(1e-9);
            (
                fractional as f64 * 0.1 + y.min(1.0) + if s < 1e-6 { 1.0 } else { -s },
                i,
            )
        })
        .filter(|s| s.0.is_finite())
        .collect();
    starts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut acc = Accumulator {
        value: vec![0.0; n],
        index: Vec::new(),
        present: vec![false; n],
    };
    let mut work = 0usize;
    let allowed = 20 * c.problem.rows.index.len() + 200_000;
    for &(_, start) in &starts {
        if work > allowed || out.len() > 2_000 {
            break;
        }
        acc.clear();
        let (mut slacks, mut rhs) = (Vec::new(), 0.0);
        add_row(c, &mut acc, &mut slacks, &mut rhs, start, 1.0);
        let mut used = vec![start];
        loop {
            work += 20 * acc.index.len();
            let mut found = false;
            for sign in [1.0, -1.0] {
                let base = acc.base(&slacks, rhs, sign);
                for with in [true, false] {
                    if let Some(cut) = mir::separate(c, &base, with) {
                        out.push(cut);
                        found = true;
                        break;
                    }
                }
            }
            if found || used.len() >= MOST_ROWS {
                break;
            }
            // The continuous column deepest inside its bounds, and a tight row to eliminate it.
            let mut candidates: Vec<(f64, usize)> = acc
                .index
                .iter()
                .map(|&j| j as usize)
                .filter(|&j| !c.problem.integer[j] && acc.value[j].abs() > 1e-9)
                .map(|j| (depth(c, j), j))
                .filter(|d| d.0 > 1e-6)
                .collect();
            candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut chosen = None;
            for &(_, j) in candidates.iter().take(5) {
                let mut best: Option<(f64, usize, f64)> = None;
                for (i, a) in c.problem.cols.iter(j) {
                    if used.contains(&i) || c.problem.rows.len(i) > 500 {
                        continue;
                    }
                    let s = slack(i).max(0.0);
                    if s > 1e-1
                        * c.problem
                            .rows
                            .iter(i)
                            .map(|(_, a)| a.abs())
                            .fold(0.0, f64::max)
                        || a.abs() < 1e-6
                    {
                        continue;
                    }
                    let value = c.solution.y[i].abs() - s - 0.001 * c.problem.rows.len(i) as f64;
                    if best.is_none_or(|b| value > b.0) {
                        best = Some((value, i, -acc.value[j] / a));
                    }
                }
                if let Some((_, i, f)) = best {
                    chosen = Some((i, f, j));
                    break;
                }
            }
            let Some((i, factor, j)) = chosen else { break };
            if !(1e-5..=1e5).contains(&factor.abs()) {
                break;
            }
            add_row(c, &mut acc, &mut slacks, &mut rhs, i, factor);
            acc.value[j] = 0.0;
            used.push(i);
        }
    }
}
