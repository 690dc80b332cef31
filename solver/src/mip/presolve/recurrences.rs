//! Columns that are sums of binaries: `u_0 = a x`, `u_k = u_(k-1) + b x`. They are substituted
//! everywhere, so that only their bounds remain, as rows of binaries. These rows are longer, but
//! they are knapsacks: covers, cliques and coefficient tightening cannot see them through a chain
//! of equations.

use super::precision::BOUNDING_ENTRY;
use super::{PostsolveStep, WorkingProblem};

/// Eliminates the recurrences of the given columns. Each step takes one equation with a single
/// column that is not binary.
pub(super) fn eliminate(w: &mut WorkingProblem, around: &[usize]) {
    let of = connected(w, around);
    let nonzeros = |w: &WorkingProblem| w.rows.iter().map(Vec::len).sum::<usize>();
    let mut total = nonzeros(w);
    let most = FILL_FACTOR_LIMIT * total + 20_000;
    let mut occurrences = w.occurrences();
    let mut queue: Vec<usize> = (0..w.rows.len()).filter(|&i| of[i]).collect();
    queue.reverse();
    while let Some(i) = queue.pop() {
        if !w.row_alive[i] || w.row_lower[i] != w.row_upper[i] {
            continue;
        }
        let mut states = w.rows[i].iter().filter(|e| is_state(w, e.0));
        let (Some(&(j, a)), None) = (states.next(), states.next()) else {
            continue;
        };
        let x = j as usize;
        let largest = w.rows[i].iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
        let rows: Vec<usize> = {
            let mut rows: Vec<usize> = (occurrences[x].iter().map(|&r| r as usize))
                .filter(|&r| r != i && w.rows[r].iter().any(|e| e.0 == j))
                .collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let fill = rows.len() * w.rows[i].len();
        // The expression for an integer state must be integral by itself.
        let whole = |v: f64| (v / a).fract() == 0.0 && (v / a).abs() < 1e9 && (v / a) * a == v;
        let implied_integer = || {
            let others = |e: &(u32, f64)| w.integer[e.0 as usize] && whole(e.1);
            whole(w.row_lower[i]) && w.rows[i].iter().all(others)
        };
        if w.is_needed(x) || (w.integer[x] && !implied_integer()) {
            continue;
        }
        if a.abs() < 1e-3 * largest || rows.len() > 8 || total + fill > most {
            continue;
        }
        let takes = |r: usize| {
            let entry = w.rows[r].iter().find(|e| e.0 == j);
            entry.is_none_or(|e| w.may_take(r, i, e.1 / a))
        };
        if !w.is_precise(i) || !rows.iter().all(|&r| takes(r)) {
            continue;
        }
        total += fill;
        let (lower, upper) = bounds_of_its_own(w, j, &rows);
        let side = w.row_lower[i];
        let terms: Vec<(u32, f64)> = (w.rows[i].iter().filter(|e| e.0 != j))
            .map(|&(k, v)| (k, -v / a))
            .collect();
        for r in rows {
            let Some(at) = w.rows[r].iter().position(|e| e.0 == j) else {
                continue;
            };
            let c = w.rows[r].swap_remove(at).1;
            w.row_lower[r] -= c * side / a;
            w.row_upper[r] -= c * side / a;
            w.add_multiple(r, &terms, c);
            w.note_taken(r, i, c / a);
            for t in &terms {
                occurrences[t.0 as usize].push(r as u32);
            }
            if of.get(r).copied().unwrap_or(false) {
                queue.push(r);
            }
        }
        w.shift_cost(&terms, side / a, w.cost[x]);
        // a x = side - rest, x within its bounds.
        let (low, high) = if a > 0.0 {
            (a * lower, a * upper)
        } else {
            (a * upper, a * lower)
        };
        w.row_lower[i] = side - high;
        w.row_upper[i] = side - low;
        w.rows[i].retain(|e| e.0 != j);
        w.col_alive[x] = false;
        w.steps.push(PostsolveStep::Aggregated {
            col: j,
            constant: side / a,
            terms,
        });
        if w.row_lower[i] == f64::NEG_INFINITY && w.row_upper[i] == f64::INFINITY {
            w.kill_row(i);
        }
        w.changes += 1;
    }
}

/// Bounds of a column that other rows do not imply: implied bounds need no row. These rows stay,
/// and so do the bounds they use, because columns eliminated later come from later equations.
fn bounds_of_its_own(w: &WorkingProblem, j: u32, rows: &[usize]) -> (f64, f64) {
    let x = j as usize;
    let (mut lower, mut upper) = (w.lower[x], w.upper[x]);
    for &r in rows {
        let (l, u) = implied(w, r, j);
        if l >= w.lower[x] {
            lower = f64::NEG_INFINITY;
        }
        if u <= w.upper[x] {
            upper = f64::INFINITY;
        }
    }
    (lower, upper)
}

/// Returns whether a column is a state, determined by binaries.
fn is_state(w: &WorkingProblem, j: u32) -> bool {
    !w.is_binary(j as usize)
}

/// Limit on the growth of nonzeros, as a factor.
const FILL_FACTOR_LIMIT: usize = 4;

/// Equations with states that are connected to the given columns.
fn connected(w: &mut WorkingProblem, around: &[usize]) -> Vec<bool> {
    let mut of = vec![false; w.rows.len()];
    let occurrences = w.occurrences();
    let w = &*w;
    let is_one = |i: usize| {
        w.row_alive[i]
            && w.row_lower[i] == w.row_upper[i]
            && w.rows[i].iter().any(|e| is_state(w, e.0))
    };
    let mut open: Vec<usize> = Vec::new();
    let reach = |j: usize, of: &mut Vec<bool>, open: &mut Vec<usize>| {
        for &i in &occurrences[j] {
            let i = i as usize;
            if !of[i] && is_one(i) {
                of[i] = true;
                open.push(i);
            }
        }
    };
    for &j in around {
        reach(j, &mut of, &mut open);
    }
    while let Some(i) = open.pop() {
        for e in w.rows[i].iter().filter(|e| is_state(w, e.0)) {
            reach(e.0 as usize, &mut of, &mut open);
        }
    }
    of
}

/// Bounds that a row implies for one of its columns.
fn implied(w: &WorkingProblem, r: usize, j: u32) -> (f64, f64) {
    let (mut min, mut max, mut own) = (0.0, 0.0, 0.0);
    for &(k, v) in &w.rows[r] {
        if k == j {
            own = v;
            continue;
        }
        let (l, u) = (w.lower[k as usize], w.upper[k as usize]);
        if v > 0.0 {
            (min, max) = (min + v * l, max + v * u);
        } else {
            (min, max) = (min + v * u, max + v * l);
        }
    }
    if own.abs() < BOUNDING_ENTRY {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let (l, u) = ((w.row_lower[r] - max) / own, (w.row_upper[r] - min) / own);
    let (l, u) = if own > 0.0 { (l, u) } else { (u, l) };
    let plain = |v: f64, none: f64| if v.is_nan() { none } else { v };
    (plain(l, f64::NEG_INFINITY), plain(u, f64::INFINITY))
}
