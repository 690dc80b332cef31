//! Reductions that compare columns: parallel ones are merged, dominated ones are fixed (Gamrath,
//! Koch, Martin, Miltenberger & Weninger 2015, *Progress in presolving for mixed integer
//! programming*).

use super::matrix::Entries;
use super::{PostsolveStep, WorkingProblem};

/// Merges pairs of columns of one type with proportional entries and costs.
pub(super) fn merge_parallel(w: &mut WorkingProblem) {
    let mut gone = vec![false; w.cost.len()];
    w.with_columns(|w, columns| merge(w, columns, &mut gone));
    if gone.contains(&true) {
        for i in 0..w.rows.len() {
            if w.rows[i].iter().any(|e| gone[e.0 as usize]) {
                w.rows[i].retain(|e| !gone[e.0 as usize]);
            }
        }
    }
}

/// Merges parallel columns, and marks the removed ones.
fn merge(w: &mut WorkingProblem, columns: &[Entries], gone: &mut [bool]) {
    let mut order: Vec<(u64, usize)> = Vec::new();
    for (j, column) in columns.iter().enumerate() {
        if !w.col_alive[j] || column.is_empty() || w.is_needed(j) {
            continue;
        }
        let first = column[0].1;
        let mut hash = 2 * column.len() as u64 + u64::from(w.integer[j]);
        for &(i, a) in column {
            let ratio = (a / first * 1e4).round() as i64 as u64;
            hash = (hash ^ u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ratio)
                .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                .rotate_left(23);
        }
        order.push((hash, j));
    }
    order.sort_unstable();
    for at in 0..order.len() {
        let (hash, j) = order[at];
        if gone[j] {
            continue;
        }
        for &(h, k) in order[at + 1..].iter().take(100) {
            if h != hash {
                break;
            }
            if gone[k] || w.integer[j] != w.integer[k] {
                continue;
            }
            let (a, b) = (&columns[j], &columns[k]);
            let f = b[0].1 / a[0].1;
            // Exact comparison: the merged problem must be equivalent to the last digit.
            let parallel = a.len() == b.len()
                && (a.iter().zip(b)).all(|(x, y)| x.0 == y.0 && f * x.1 == y.1)
                && w.cost[k] == f * w.cost[j];
            if !parallel || !(1e-3..=1e3).contains(&f.abs()) || (w.integer[j] && f.abs() != 1.0) {
                continue;
            }
            let (own, other) = ((w.lower[j], w.upper[j]), (w.lower[k], w.upper[k]));
            let (low, high) = if f > 0.0 {
                (f * other.0, f * other.1)
            } else {
                (f * other.1, f * other.0)
            };
            (w.lower[j], w.upper[j]) = (own.0 + low, own.1 + high);
            gone[k] = true;
            w.col_alive[k] = false;
            w.steps.push(PostsolveStep::Merged {
                kept: j as u32,
                gone: k as u32,
                factor: f,
                own,
                other,
            });
            w.changes += 1;
        }
    }
}

/// Fixes dominated columns at their lower bounds.
///
/// `j` dominates `k` if moving a unit from `k` to `j` violates no row and does not raise the cost.
/// `k` is unnecessary if `j` has no upper bound, or if rows imply that bound. It is also
/// unnecessary if `j` at its upper bound satisfies every row that `k` helps.
pub(super) fn fix_dominated(w: &mut WorkingProblem) {
    w.with_columns(fix);
}

fn fix(w: &mut WorkingProblem, columns: &[Entries]) {
    let mut ticks = 20 * columns.iter().map(Vec::len).sum::<usize>() + 100_000;
    for k in 0..columns.len() {
        if !w.col_alive[k] || w.lower[k] == w.upper[k] || !w.lower[k].is_finite() {
            continue;
        }
        if w.is_needed(k) {
            continue;
        }
        // Rows helped by a larger value of the column. A dominating column has entries in all of
        // them.
        let good = |w: &WorkingProblem, i: u32, a: f64| {
            let i = i as usize;
            (a < 0.0 && w.row_upper[i].is_finite()) || (a > 0.0 && w.row_lower[i].is_finite())
        };
        let helped = columns[k].iter().filter(|&&(i, a)| good(w, i, a));
        let Some(&(row, _)) = helped.min_by_key(|e| (w.rows[e.0 as usize].len(), e.0)) else {
            continue;
        };
        let candidates: Vec<u32> = w.rows[row as usize].iter().map(|e| e.0).collect();
        for j in candidates {
            let j = j as usize;
            if j == k || w.integer[j] != w.integer[k] || w.cost[j] > w.cost[k] || w.is_needed(j) {
                continue;
            }
            let cost = columns[j].len() + columns[k].len();
            if ticks < cost {
                return;
            }
            ticks -= cost;
            if w.lower[j] == w.upper[j] || !dominates(w, &columns[j], &columns[k]) {
                continue;
            }
            let work: usize = (columns[j].iter())
                .map(|e| w.rows[e.0 as usize].len())
                .sum();
            if ticks < work {
                return;
            }
            ticks -= work;
            let without_end = w.upper[j] == f64::INFINITY
                || (columns[j].iter()).any(|&(i, a)| most_left(w, i as usize, j, a) <= w.upper[j]);
            let enough = || {
                let helped = columns[k].iter().filter(|&&(i, a)| good(w, i, a));
                w.cost[k] >= 0.0
                    && w.upper[j].is_finite()
                    && helped.clone().all(|&(i, _)| satisfied(w, i as usize, j, k))
            };
            if without_end || enough() {
                w.upper[k] = w.lower[k];
                w.changes += 1;
                break;
            }
        }
    }
}

/// Returns whether moving a unit from the second column to the first violates no row.
fn dominates(w: &WorkingProblem, first: &[(u32, f64)], second: &[(u32, f64)]) -> bool {
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    loop {
        let (i, change) = match (a.peek(), b.peek()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x.0 == y.0 => {
                let both = (x.0, x.1 - y.1);
                a.next();
                b.next();
                both
            }
            (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
                let one = (x.0, x.1);
                a.next();
                one
            }
            (_, Some(y)) => {
                let one = (y.0, -y.1);
                b.next();
                one
            }
            (Some(_), None) => return false,
        };
        let i = i as usize;
        if (change > 0.0 && w.row_upper[i].is_finite())
            || (change < 0.0 && w.row_lower[i].is_finite())
        {
            return false;
        }
    }
}

/// The least activity of a row without some columns; of the negated row for its lower side.
fn least(w: &WorkingProblem, i: usize, sign: f64, without: &[usize]) -> f64 {
    (w.rows[i].iter())
        .filter(|e| !without.contains(&(e.0 as usize)))
        .map(|&(j, a)| {
            let a = sign * a;
            let j = j as usize;
            if a > 0.0 {
                a * w.lower[j]
            } else {
                a * w.upper[j]
            }
        })
        .sum()
}

/// The largest value that a row allows for a column.
fn most_left(w: &WorkingProblem, i: usize, j: usize, a: f64) -> f64 {
    let (sign, side) = if a > 0.0 {
        (1.0, w.row_upper[i])
    } else {
        (-1.0, -w.row_lower[i])
    };
    if side.is_finite() && w.may_bound(i, a) {
        (side - least(w, i, sign, &[j])) / a.abs()
    } else {
        f64::INFINITY
    }
}

/// Returns whether a row holds for any values of the other columns, with `j` at its upper and `k`
/// at its lower bound. Both help it.
fn satisfied(w: &WorkingProblem, i: usize, j: usize, k: usize) -> bool {
    let own = |c: usize| {
        let entry = w.rows[i].iter().find(|e| e.0 as usize == c);
        entry.map_or(0.0, |e| e.1)
    };
    let fixed = own(j) * w.upper[j] + own(k) * w.lower[k];
    let lower = || -least(w, i, -1.0, &[j, k]);
    let upper = w.row_upper[i];
    // The largest activity counts for the upper side, the smallest for the lower one.
    w.is_precise(i)
        && (!upper.is_finite() || fixed + lower() <= upper)
        && (!w.row_lower[i].is_finite() || fixed + least(w, i, 1.0, &[j, k]) >= w.row_lower[i])
}
