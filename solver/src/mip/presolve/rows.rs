//! Reductions of single rows, and comparisons of rows.

use super::{Infeasible, WorkingProblem};
use crate::mip::exact::scaled;
use crate::mip::problem::{MOST_SCALED, SIDE_ROUNDING, contradiction, gcd};

/// Limit on the error of a bound from a row, as a part of an integer column's unit.
const INTEGER_PART: f64 = 1e-3;

/// Drops redundant sides and rows, turns singletons into bounds, tightens coefficients of integer
/// columns.
pub(crate) fn simplify(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let mut largest = vec![0.0f64; w.cost.len()];
    for (j, a) in w.rows.iter().flatten() {
        let largest = &mut largest[*j as usize];
        *largest = largest.max(a.abs());
    }
    for i in 0..w.rows.len() {
        if !w.row_alive[i] {
            continue;
        }
        match w.rows[i].len() {
            0 => {
                let (l, u) = (w.row_lower[i], w.row_upper[i]);
                if l > contradiction(l) || u < -contradiction(u) {
                    return Err(Infeasible);
                }
                w.kill_row(i);
                continue;
            }
            1 => {
                singleton(w, i, &largest)?;
                continue;
            }
            _ => divide(w, i)?,
        }
        let (mut min, mut max, mut size) = (0.0, 0.0, 0.0f64);
        for &(j, a) in &w.rows[i] {
            let (l, u) = (w.lower[j as usize], w.upper[j as usize]);
            let (low, high) = if a > 0.0 {
                (a * l, a * u)
            } else {
                (a * u, a * l)
            };
            min += low;
            max += high;
            for v in [low, high] {
                if v.is_finite() {
                    size = size.max(v.abs());
                }
            }
        }
        let (l, u) = (w.row_lower[i], w.row_upper[i]);
        let noise = 1e-12 * size * w.rows[i].len() as f64;
        let tol = |s: f64| contradiction(s) + noise;
        if (u.is_finite() && min > u + tol(u)) || (l.is_finite() && max < l - tol(l)) {
            return Err(Infeasible);
        }
        // A side is redundant only if it holds without tolerance.
        if u.is_finite() && max <= u - noise {
            w.row_upper[i] = f64::INFINITY;
            w.changes += 1;
        }
        if l.is_finite() && min >= l + noise {
            w.row_lower[i] = f64::NEG_INFINITY;
            w.changes += 1;
        }
        match (w.row_lower[i].is_finite(), w.row_upper[i].is_finite()) {
            (false, false) => w.kill_row(i),
            (false, true) if max.is_finite() => tighten(w, i, max, 1.0, noise),
            (true, false) if min.is_finite() => tighten(w, i, -min, -1.0, noise),
            _ => {}
        }
    }
    Ok(())
}

/// Divides a row of decimals over integer columns by the greatest common divisor of its
/// coefficients, and rounds its sides to possible activities.
fn divide(w: &mut WorkingProblem, i: usize) -> Result<(), Infeasible> {
    let Some(scale) = w.exact_scale(i) else {
        return Ok(());
    };
    let row = &w.rows[i];
    let sides = [w.row_lower[i], w.row_upper[i]];
    let whole = |v: f64| scaled(v, scale).unwrap_or(v * scale);
    let divisor = row.iter().fold(0, |g, e| gcd(g, whole(e.1).abs() as u64)) as f64;
    let lower = (whole(sides[0]) / divisor).ceil();
    let upper = (whole(sides[1]) / divisor).floor();
    if lower > upper {
        return Err(Infeasible);
    }
    // Decimals with many places stay unchanged: large integers are no better.
    let largest = row.iter().fold(0.0f64, |m, e| m.max(whole(e.1).abs()));
    let large = scale != 1.0 && largest / divisor > MOST_SCALED;
    if large || (scale == divisor && [lower, upper] == sides) {
        return Ok(());
    }
    for e in &mut w.rows[i] {
        e.1 = whole(e.1) / divisor;
    }
    (w.row_lower[i], w.row_upper[i]) = (lower, upper);
    w.changes += 1;
    Ok(())
}

/// Converts `l <= a x <= u` to bounds.
fn singleton(w: &mut WorkingProblem, i: usize, largest: &[f64]) -> Result<(), Infeasible> {
    let (j, a) = w.rows[i][0];
    let j = j as usize;
    if !w.integer[j] && w.row_rounding[i] * largest[j] > SIDE_ROUNDING * a.abs() {
        // The rounding of this row could contradict another row.
        return Ok(());
    }
    let (mut low, mut high) = (w.row_lower[i], w.row_upper[i]);
    if a < 0.0 {
        (low, high) = (high, low);
    }
    let (mut l, mut u) = (low / a, high / a);
    if w.integer[j] {
        (l, u) = match w.exact_scale(i) {
            Some(scale) => whole_ends([low, high], a, scale),
            None => {
                // The row is removed, so its tolerance must be added. The addition is limited to a
                // small part of the column's unit if some value remains.
                let rounded =
                    |miss: &dyn Fn(f64) -> f64| ((l - miss(low)).ceil(), (u + miss(high)).floor());
                let tolerance = |side: f64| contradiction(side) / a.abs();
                let part = |side: f64| {
                    let rounding = 4.0 * f64::EPSILON * (side / a).abs();
                    tolerance(side).min(INTEGER_PART).max(rounding)
                };
                let (tight_l, tight_u) = rounded(&part);
                match tight_l.max(w.lower[j]) <= tight_u.min(w.upper[j]) {
                    true => (tight_l, tight_u),
                    false => rounded(&tolerance),
                }
            }
        };
    }
    let (nl, nu) = (w.lower[j].max(l), w.upper[j].min(u));
    if nl > nu {
        if w.integer[j] || (nl - nu) * a.abs() > contradiction(a * nu) {
            return Err(Infeasible);
        }
        let v = if nl == w.lower[j] { nl } else { nu };
        (w.lower[j], w.upper[j]) = (v, v);
    } else {
        (w.lower[j], w.upper[j]) = (nl, nu);
    }
    w.kill_row(i);
    Ok(())
}

/// The integers between two sides of `a x`, computed in integers after scaling.
fn whole_ends(sides: [f64; 2], a: f64, scale: f64) -> (f64, f64) {
    let whole = |v: f64| scaled(v, scale).map(|v| v as i128);
    let end = |side: f64, up: bool| match (whole(side), whole(a)) {
        (Some(side), Some(a)) if a != 0 => {
            let (floor, rest) = (side.div_euclid(a), side.rem_euclid(a));
            // The Euclidean quotient by a negative number is the next integer above.
            let (is_whole, is_below) = (rest == 0, a > 0);
            match (is_whole, is_below, up) {
                (true, ..) | (_, true, false) | (_, false, true) => floor as f64,
                (_, true, true) => (floor + 1) as f64,
                (_, false, false) => (floor - 1) as f64,
            }
        }
        _ => side / a,
    };
    (end(sides[0], true), end(sides[1], false))
}

/// Coefficient tightening of one row with one finite side, by the bounds of its columns.
pub(super) fn tighten_one(w: &mut WorkingProblem, i: usize) {
    let sign = if w.row_upper[i].is_finite() {
        1.0
    } else {
        -1.0
    };
    let (mut max, mut size) = (0.0, 0.0f64);
    for &(j, a) in &w.rows[i] {
        let j = j as usize;
        let high = sign
            * a
            * if sign * a > 0.0 {
                w.upper[j]
            } else {
                w.lower[j]
            };
        max += high;
        size = size.max(high.abs());
    }
    if max.is_finite() {
        let noise = 1e-12 * size * w.rows[i].len() as f64;
        tighten(w, i, max, sign, noise);
    }
}

/// Coefficient tightening of `sign * row <= side`, whose largest activity is `max`. If an integer
/// column one step from its most restrictive bound makes the row redundant, its coefficient can
/// shrink.
fn tighten(w: &mut WorkingProblem, i: usize, max: f64, sign: f64, noise: f64) {
    let mut max = max;
    let mut side = if sign > 0.0 {
        w.row_upper[i]
    } else {
        -w.row_lower[i]
    };
    let mut changed = false;
    for k in 0..w.rows[i].len() {
        let (j, a) = w.rows[i][k];
        let j = j as usize;
        let a = sign * a;
        if !w.integer[j] || w.lower[j] == w.upper[j] {
            continue;
        }
        let d = side - (max - a.abs());
        // Only for a worthwhile change that is no cancellation: a nearly cancelled coefficient
        // would be noise, and later a divisor.
        if d <= 1e-4 * a.abs().max(1e-3) + 10.0 * noise
            || d >= (1.0 - 1e-6) * a.abs() - 10.0 * noise
        {
            continue;
        }
        let at = if a > 0.0 { w.upper[j] } else { w.lower[j] };
        if at.abs() > 1e6 || !(changed || w.is_precise(i)) {
            continue;
        }
        let smaller = if a > 0.0 { a - d } else { a + d };
        let moved = (smaller - a) * at;
        side += moved;
        max += moved;
        w.rows[i][k].1 = sign * smaller;
        changed = true;
    }
    if changed {
        w.changes += 1;
        if sign > 0.0 {
            w.row_upper[i] = side;
        } else {
            w.row_lower[i] = -side;
        }
    }
}

/// Keeps one of several rows that are multiples of each other.
pub(crate) fn parallel(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let mut order: Vec<(u64, usize)> = Vec::new();
    for i in 0..w.rows.len() {
        if w.row_alive[i] && w.rows[i].len() >= 2 {
            if !w.rows[i].is_sorted_by_key(|e| e.0) {
                w.rows[i].sort_unstable_by_key(|e| e.0);
            }
            let first = w.rows[i][0].1;
            let mut hash = w.rows[i].len() as u64;
            for &(j, a) in &w.rows[i] {
                // Ratios are rounded coarsely, so that equal ones meet; the exact test follows
                // below.
                let ratio = (a / first * 1e4).round() as i64 as u64;
                hash = (hash ^ u64::from(j).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ratio)
                    .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                    .rotate_left(23);
            }
            order.push((hash, i));
        }
    }
    order.sort_unstable();
    let mut k = 0;
    while k < order.len() {
        let mut end = k + 1;
        while end < order.len() && order[end].0 == order[k].0 {
            let (a, b) = (order[k].1, order[end].1);
            if let Some(f) = multiple(&w.rows[a], &w.rows[b])
                && [a, b].into_iter().all(|r| w.is_precise(r))
            {
                // Row b is f times row a.
                let (mut l, mut u) = (w.row_lower[b] / f, w.row_upper[b] / f);
                if f < 0.0 {
                    (l, u) = (u, l);
                }
                let (l, u) = (w.row_lower[a].max(l), w.row_upper[a].min(u));
                if l > u + contradiction(u) {
                    return Err(Infeasible);
                }
                if l <= u {
                    (w.row_lower[a], w.row_upper[a]) = (l, u);
                    w.kill_row(b);
                }
            }
            end += 1;
        }
        k = end;
    }
    Ok(())
}

fn multiple(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<f64> {
    if a.len() != b.len() || a.first()?.0 != b.first()?.0 {
        return None;
    }
    let f = b.first()?.1 / a.first()?.1;
    // Exact proportionality only: the remaining row must be equivalent to the last digit.
    a.iter()
        .zip(b)
        .all(|(x, y)| x.0 == y.0 && (f * x.1 - y.1).abs() <= 1e-14 * y.1.abs())
        .then_some(f)
}
