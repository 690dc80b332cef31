//! Reductions of single columns.

use super::precision::Sides;
use super::{Infeasible, PostsolveStep, WorkingProblem};
use crate::mip::problem::contradiction;
use remat_lp::{Bounds, CONTRADICTION};

/// Dual fixing, empty columns, and removal of fixed columns.
pub(crate) fn fix(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let n = w.cost.len();
    let (mut down, mut up) = (vec![0u32; n], vec![0u32; n]);
    for i in 0..w.rows.len() {
        if !w.row_alive[i] {
            continue;
        }
        let (l, u) = (w.row_lower[i].is_finite(), w.row_upper[i].is_finite());
        for &(j, a) in &w.rows[i] {
            let j = j as usize;
            if (a > 0.0 && l) || (a < 0.0 && u) {
                down[j] += 1;
            }
            if (a > 0.0 && u) || (a < 0.0 && l) {
                up[j] += 1;
            }
        }
    }
    let mut gone = vec![false; n];
    for j in 0..n {
        if !w.col_alive[j] {
            continue;
        }
        if w.lower[j] > w.upper[j] {
            return Err(Infeasible);
        }
        let c = w.cost[j];
        if w.lower[j] != w.upper[j] && !w.is_needed(j) {
            // Moving towards the bound violates no row and does not worsen the objective.
            if c >= 0.0 && down[j] == 0 && w.lower[j].is_finite() {
                w.upper[j] = w.lower[j];
            } else if c <= 0.0 && up[j] == 0 && w.upper[j].is_finite() {
                w.lower[j] = w.upper[j];
            } else if c == 0.0 && down[j] == 0 && up[j] == 0 {
                let v = Bounds::new(w.lower[j], w.upper[j]).nearest(0.0);
                (w.lower[j], w.upper[j]) = (v, v);
            }
        }
        gone[j] = w.lower[j] == w.upper[j] && w.lower[j].abs() < 1e9;
    }
    let moved = move_out(w, &mut gone);
    for j in (0..n).filter(|&j| gone[j]) {
        w.col_alive[j] = false;
        w.offset += w.cost[j] * w.lower[j];
        w.steps.push(PostsolveStep::Fixed {
            col: j as u32,
            value: w.lower[j],
        });
        w.changes += 1;
    }
    for (i, sides) in moved {
        let is_exact = w.exact_scale(i).is_some();
        (w.row_lower[i], w.row_upper[i]) = (sides.lower, sides.upper);
        w.row_rounding[i] = sides.rounding;
        w.rows[i].retain(|e| !gone[e.0 as usize]);
        let is_missed = sides.lower > 0.0 || sides.upper < 0.0;
        if is_exact && w.rows[i].is_empty() && is_missed {
            return Err(Infeasible);
        }
    }
    Ok(())
}

/// The sides of rows without the removed fixed columns. Columns of rows that would lose precision
/// stay.
fn move_out(w: &WorkingProblem, gone: &mut [bool]) -> Vec<(usize, Sides)> {
    let rows: Vec<usize> = (0..w.rows.len())
        .filter(|&i| w.row_alive[i] && w.rows[i].iter().any(|e| gone[e.0 as usize]))
        .collect();
    loop {
        let mut moved = Vec::new();
        let mut is_stable = true;
        for &i in &rows {
            match w.moved_sides(i, gone) {
                _ if !w.rows[i].iter().any(|e| gone[e.0 as usize]) => {}
                Some(sides) => moved.push((i, sides)),
                None => {
                    is_stable = false;
                    for e in &w.rows[i] {
                        gone[e.0 as usize] = false;
                    }
                }
            }
        }
        if is_stable {
            return moved;
        }
    }
}

pub(super) fn is_whole(v: f64) -> bool {
    v.fract() == 0.0 && v.abs() < 1e9
}

/// Removes a column that occurs in a single equation only: it is a slack, and the equation becomes
/// a range.
pub(crate) fn slacks(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let occurrences = w.occurrences();
    let mut touched = vec![false; w.rows.len()];
    for j in 0..w.cost.len() {
        if !w.col_alive[j] || occurrences[j].len() != 1 || w.lower[j] == w.upper[j] {
            continue;
        }
        if w.is_needed(j) {
            continue;
        }
        let i = occurrences[j][0] as usize;
        if touched[i] || !w.row_alive[i] || w.row_lower[i] != w.row_upper[i] || w.rows[i].len() < 2
        {
            continue;
        }
        if !w.is_precise(i) {
            continue;
        }
        let Some(&(_, a)) = w.rows[i].iter().find(|e| e.0 as usize == j) else {
            continue;
        };
        let others = || w.rows[i].iter().filter(|e| e.0 as usize != j);
        let largest = others().fold(0.0f64, |m, e| m.max(e.1.abs()));
        if a.abs() < 1e-3 * largest || a.abs() < 1e-4 {
            continue;
        }
        let side = w.row_lower[i];
        if w.integer[j]
            && !(is_whole(side / a)
                && others()
                    .all(|e| w.integer[e.0 as usize] && is_whole(e.1 / a) && (e.1 / a) * a == e.1))
        {
            continue;
        }
        // a x = side - rest, x in [l, u].
        touched[i] = true;
        let terms: Vec<(u32, f64)> = others().map(|e| (e.0, -e.1 / a)).collect();
        let (l, u) = (w.lower[j], w.upper[j]);
        let (low, high) = if a > 0.0 {
            (a * l, a * u)
        } else {
            (a * u, a * l)
        };
        w.row_lower[i] = side - high;
        w.row_upper[i] = side - low;
        w.shift_cost(&terms, side / a, w.cost[j]);
        w.rows[i].retain(|e| e.0 as usize != j);
        w.col_alive[j] = false;
        w.steps.push(PostsolveStep::Aggregated {
            col: j as u32,
            constant: side / a,
            terms,
        });
        w.changes += 1;
    }
    Ok(())
}

/// Replaces x by y everywhere, by an equation `a x + b y = side`.
pub(crate) fn doubletons(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let mut occurrences = w.occurrences();
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || w.rows[i].len() != 2 || w.row_lower[i] != w.row_upper[i] {
            continue;
        }
        let (e, f) = (w.rows[i][0], w.rows[i][1]);
        let of = |x: (u32, f64)| &occurrences[x.0 as usize][..];
        // Continuous columns are replaced before integer ones, short ones before long ones.
        let rank = |x: (u32, f64)| (w.integer[x.0 as usize], of(x).len());
        let (first, second) = if rank(e) <= rank(f) { (e, f) } else { (f, e) };
        let (x, y) = if may_replace(w, i, of(first), first, second) {
            (first, second)
        } else if may_replace(w, i, of(second), second, first) {
            (second, first)
        } else {
            continue;
        };
        let (jx, jy) = (x.0 as usize, y.0 as usize);
        let (factor, constant) = (-y.1 / x.1, w.row_lower[i] / x.1);
        let (l, u) = bounds_through(w, (jx, jy), factor, constant);
        if l > u {
            if w.integer[jy] || l > u + contradiction(u) {
                return Err(Infeasible);
            }
            continue;
        }
        (w.lower[jy], w.upper[jy]) = (l, u);
        for r in std::mem::take(&mut occurrences[jx]) {
            if r as usize != i && w.row_alive[r as usize] {
                let is_new = replace_in_row(w, r as usize, (i, x), y.0, (factor, constant));
                if is_new {
                    occurrences[jy].push(r);
                }
            }
        }
        let c = w.cost[jx];
        w.offset += c * constant;
        let new = w.cost[jy] + c * factor;
        let noise = 1e-12 * (w.cost[jy].abs() + (c * factor).abs());
        w.cost[jy] = if new.abs() <= noise { 0.0 } else { new };
        w.col_alive[jx] = false;
        w.steps.push(PostsolveStep::Aggregated {
            col: x.0,
            constant,
            terms: vec![(y.0, factor)],
        });
        w.kill_row(i);
    }
    Ok(())
}

/// Returns whether equation `i` may replace `x`, which is in the rows `of`, by `y`.
fn may_replace(w: &WorkingProblem, i: usize, of: &[u32], x: (u32, f64), y: (u32, f64)) -> bool {
    let ratio = (y.1 / x.1).abs();
    if w.is_needed(x.0 as usize) {
        return false;
    }
    if !(1e-3..=1e3).contains(&ratio) || of.len() > 20 {
        return false;
    }
    let takes = |&r: &u32| {
        let entry = w.rows[r as usize].iter().find(|e| e.0 == x.0);
        entry.is_none_or(|e| w.may_take(r as usize, i, e.1 / x.1))
    };
    if !w.is_precise(i) || !of.iter().all(takes) {
        return false;
    }
    // An integer x needs an integral expression; a continuous one has no such condition.
    let side = w.row_lower[i];
    !w.integer[x.0 as usize]
        || (w.integer[y.0 as usize]
            && is_whole(y.1 / x.1)
            && is_whole(side / x.1)
            && (y.1 / x.1) * x.1 == y.1
            && (side / x.1) * x.1 == side)
}

/// Bounds of `y` where `x = factor * y + constant`: its own, and those implied by the bounds of
/// `x`.
fn bounds_through(
    w: &WorkingProblem,
    (x, y): (usize, usize),
    factor: f64,
    constant: f64,
) -> (f64, f64) {
    let mut sides = (w.lower[x], w.upper[x]);
    if factor < 0.0 {
        sides = (sides.1, sides.0);
    }
    let at = |side: f64| (side - constant) / factor;
    let (mut l, mut u) = (at(sides.0), at(sides.1));
    if w.integer[y] {
        let missed = |side: f64| {
            // In units of the column: a small part of a large side would be many of them.
            let rounding = 4.0 * f64::EPSILON * (side.abs() + constant.abs());
            match w.integer[x] {
                true => 1e-9,
                false => (CONTRADICTION + rounding) / factor.abs(),
            }
        };
        l = (l - missed(sides.0)).ceil();
        u = (u + missed(sides.1)).floor();
    }
    (w.lower[y].max(l), w.upper[y].min(u))
}

/// Replaces column `x` of equation `i` by `factor * y + constant` in row `r`. Returns whether `y`
/// is new there.
fn replace_in_row(
    w: &mut WorkingProblem,
    r: usize,
    (i, x): (usize, (u32, f64)),
    y: u32,
    (factor, constant): (f64, f64),
) -> bool {
    let Some(at) = w.rows[r].iter().position(|e| e.0 == x.0) else {
        return false;
    };
    let a = w.rows[r].swap_remove(at).1;
    w.row_lower[r] -= a * constant;
    w.row_upper[r] -= a * constant;
    let place = w.rows[r].iter().position(|e| e.0 == y);
    match place {
        Some(k) => {
            let old = w.rows[r][k].1;
            let new = old + a * factor;
            if w.is_cancelled(y, new, old.abs() + (a * factor).abs()) {
                w.rows[r].swap_remove(k);
            } else {
                w.rows[r][k].1 = new;
            }
        }
        None => w.rows[r].push((y, a * factor)),
    }
    w.note_taken(r, i, a / x.1);
    place.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::problem::Problem;

    #[test]
    fn a_bound_goes_to_its_own_side_of_the_other_column() {
        // x is 5.5 - y: x >= 0 implies y <= 5, regardless of the upper bound of x.
        let text =
            "Maximize\n c: y\nSubject To\n r: x + y = 5.5\nBounds\n y <= 100\nGeneral\n y\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        assert!(doubletons(&mut w).is_ok());
        let y = w.integer.iter().position(|i| *i).unwrap();
        assert_eq!((w.lower[y], w.upper[y]), (0.0, 5.0));
    }

    #[test]
    fn a_large_bound_is_met_to_the_unit() {
        let text = "Minimize\n c: y\nSubject To\n r: x - y = 0\nBounds\n x >= 2000000000001\n y <= 1e13\nGeneral\n y\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let mut w = WorkingProblem::new(&Problem::from_model(&model));
        assert!(doubletons(&mut w).is_ok());
        let y = w.integer.iter().position(|i| *i).unwrap();
        assert!(
            [0.0, 2000000000001.0].contains(&w.lower[y]),
            "{}",
            w.lower[y]
        );
    }
}
