//! Columns that the rows keep within their bounds: an equation determines the value of such a
//! column, and both are removed.

use super::precision::BOUNDING_ENTRY;
use super::{PostsolveStep, WorkingProblem};

/// Limit on the entries of an equation to substitute.
const LONGEST: usize = 50;
/// Limit on the rows of the column.
const MOST_ROWS: usize = 8;
/// Lower limits on the column's entry relative to the largest of its equation, and of its column.
const LEAST_IN_ROW: f64 = 0.01;
const LEAST_IN_COLUMN: f64 = 0.05;

/// Substitutes continuous columns whose bounds the rows imply (Andersen & Andersen 1995), each by
/// an equation, if the number of entries does not grow.
pub(super) fn run(w: &mut WorkingProblem) {
    let mut at = w.occurrences();
    let is_equation = |w: &WorkingProblem, i: usize| {
        let fits = (2..=LONGEST).contains(&w.rows[i].len());
        w.row_alive[i] && fits && w.row_lower[i] == w.row_upper[i] && w.is_precise(i)
    };
    let mut equations: Vec<usize> = (0..w.rows.len()).filter(|&i| is_equation(w, i)).collect();
    equations.sort_by_key(|&i| w.rows[i].len());
    for i in equations {
        if is_equation(w, i)
            && let Some((j, a)) = choose(w, &mut at, i)
        {
            substitute(w, &mut at, i, (j, a));
        }
    }
}

/// The column of an equation that is cheapest to substitute.
fn choose(w: &WorkingProblem, at: &mut [Vec<u32>], i: usize) -> Option<(usize, f64)> {
    let largest = w.rows[i].iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    let len = w.rows[i].len() as isize;
    let mut best = None;
    let mut least = 1;
    for &(j, a) in &w.rows[i] {
        let j = j as usize;
        if w.integer[j] || w.is_needed(j) || a.abs() < LEAST_IN_ROW * largest {
            continue;
        }
        let held = |r: &u32| w.rows[*r as usize].iter().any(|e| e.0 as usize == j);
        at[j].retain(|r| w.row_alive[*r as usize] && held(r));
        let count = at[j].len() as isize;
        let fill = (count - 1) * (len - 2) - len;
        if at[j].len() > MOST_ROWS || fill >= least {
            continue;
        }
        let entry = |r: &u32| entry(w, *r as usize, j).abs();
        let tallest = at[j].iter().map(entry).fold(0.0, f64::max);
        let takes = |r: &u32| w.may_take(*r as usize, i, entry(r) / a);
        if a.abs() >= LEAST_IN_COLUMN * tallest
            && is_implied_free(w, &at[j], j)
            && at[j].iter().all(takes)
        {
            least = fill;
            best = Some((j, a));
        }
    }
    best
}

fn entry(w: &WorkingProblem, i: usize, j: usize) -> f64 {
    let found = w.rows[i].iter().find(|e| e.0 as usize == j);
    found.map_or(0.0, |e| e.1)
}

/// Returns whether the rows alone keep a column within its bounds.
fn is_implied_free(w: &WorkingProblem, rows: &[u32], j: usize) -> bool {
    let (mut lower, mut upper) = (w.lower[j].is_finite(), w.upper[j].is_finite());
    for &r in rows {
        if !lower && !upper {
            break;
        }
        let (least, most) = implied(w, r as usize, j);
        lower &= least < w.lower[j];
        upper &= most > w.upper[j];
    }
    !lower && !upper
}

/// Bounds of a column that a row implies.
fn implied(w: &WorkingProblem, i: usize, j: usize) -> (f64, f64) {
    let (mut low, mut high, mut a) = (0.0, 0.0, 0.0);
    for &(k, v) in &w.rows[i] {
        let k = k as usize;
        if k == j {
            a = v;
        } else if v > 0.0 {
            low += v * w.lower[k];
            high += v * w.upper[k];
        } else {
            low += v * w.upper[k];
            high += v * w.lower[k];
        }
    }
    // a x lies between these two.
    let (least, most) = (w.row_lower[i] - high, w.row_upper[i] - low);
    match a > 0.0 {
        _ if a.abs() < BOUNDING_ENTRY => (f64::NEG_INFINITY, f64::INFINITY),
        true => (least / a, most / a),
        false => (most / a, least / a),
    }
}

/// Substitutes the column by its equation in all other rows.
fn substitute(w: &mut WorkingProblem, at: &mut [Vec<u32>], i: usize, (j, a): (usize, f64)) {
    let constant = w.row_lower[i] / a;
    let others = w.rows[i].iter().filter(|e| e.0 as usize != j);
    let terms: Vec<(u32, f64)> = others.map(|e| (e.0, -e.1 / a)).collect();
    for r in std::mem::take(&mut at[j]) {
        let row = r as usize;
        if row == i {
            continue;
        }
        let factor = entry(w, row, j);
        w.rows[row].retain(|e| e.0 as usize != j);
        w.add_multiple(row, &terms, factor);
        w.note_taken(row, i, factor / a);
        w.row_lower[row] -= factor * constant;
        w.row_upper[row] -= factor * constant;
        for &(k, _) in &terms {
            if !at[k as usize].contains(&r) {
                at[k as usize].push(r);
            }
        }
    }
    w.shift_cost(&terms, constant, w.cost[j]);
    w.col_alive[j] = false;
    w.steps.push(PostsolveStep::Aggregated {
        col: j as u32,
        constant,
        terms,
    });
    w.kill_row(i);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::problem::{Problem, Sparse};

    /// `x0 + x1 + x2 = 4` and `x0 + 2 x3 <= 9`, columns from 0 to `upper`; x1 to x3 are integer.
    fn program(upper: [f64; 4]) -> WorkingProblem {
        let mut rows = Sparse::default();
        rows.push(vec![(0, 1.0), (1, 1.0), (2, 1.0)]);
        rows.push(vec![(0, 1.0), (3, 2.0)]);
        WorkingProblem::new(&Problem {
            cost: vec![3.0, 1.0, 0.0, -1.0],
            offset: 0.0,
            lower: vec![0.0; 4],
            upper: upper.to_vec(),
            integer: vec![false, true, true, true],
            row_lower: vec![4.0, f64::NEG_INFINITY],
            row_upper: vec![4.0, 9.0],
            cols: rows.transpose(4),
            rows,
            exact: vec![true; 2],
            unit: 1.0,
            objective_step: 0.0,
        })
    }

    #[test]
    fn a_column_that_rows_bound_goes_with_its_equation() {
        let mut w = program([4.0, 2.0, 2.0, 5.0]);
        run(&mut w);
        assert_eq!(w.col_alive, [false, true, true, true]);
        assert_eq!(w.row_alive, [false, true]);
        assert_eq!(w.rows[1], [(1, -1.0), (2, -1.0), (3, 2.0)]);
        assert_eq!((w.row_upper[1], w.offset), (5.0, 12.0));
        assert_eq!(w.cost[1..], [-2.0, -3.0, -1.0]);
    }

    #[test]
    fn a_column_with_a_bound_of_its_own_stays() {
        // The rows allow x0 below 0, or above 3.
        for upper in [[4.0, 3.0, 2.0, 5.0], [3.0, 2.0, 2.0, 5.0]] {
            let mut w = program(upper);
            run(&mut w);
            assert_eq!((w.changes, w.col_alive[0]), (0, true));
        }
    }
}
