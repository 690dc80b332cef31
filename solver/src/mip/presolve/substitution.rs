//! Columns that the rows keep within their bounds: an equation determines the value of such a
//! column, and both are removed. An inequality serves as well where some optimum has it tight.

use super::precision::BOUNDING_ENTRY;
use super::{PostsolveStep, WorkingProblem};

/// Limit on the entries of a row to substitute.
const LONGEST: usize = 50;
/// Limit on the rows of the column.
const MOST_ROWS: usize = 16;
/// Limit on the entries that the substitution of an inequality may add; of an equation, none.
const MOST_FILL: isize = 10;
/// Lower limits on the column's entry relative to the largest of its row, and of its column.
const LEAST_IN_ROW: f64 = 0.01;
const LEAST_IN_COLUMN: f64 = 0.05;

/// A column to substitute, its entry, and the side at which its row is an equation.
struct Choice {
    col: usize,
    entry: f64,
    side: f64,
}

/// Substitutes continuous columns whose bounds the rows imply (Andersen & Andersen 1995), each by
/// an equation or a tight inequality, if few entries are added.
pub(super) fn run(w: &mut WorkingProblem) {
    let mut at = w.occurrences();
    let fits = |w: &WorkingProblem, i: usize| {
        w.row_alive[i] && (2..=LONGEST).contains(&w.rows[i].len()) && w.is_precise(i)
    };
    let mut rows: Vec<usize> = (0..w.rows.len()).filter(|&i| fits(w, i)).collect();
    rows.sort_by_key(|&i| (w.row_lower[i] != w.row_upper[i], w.rows[i].len()));
    for i in rows {
        if fits(w, i)
            && let Some(choice) = choose(w, &mut at, i)
        {
            substitute(w, &mut at, i, choice);
        }
    }
}

/// The column of a row that is cheapest to substitute.
fn choose(w: &WorkingProblem, at: &mut [Vec<u32>], i: usize) -> Option<Choice> {
    let largest = w.rows[i].iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    let mut best = None;
    let is_equation = w.row_lower[i] == w.row_upper[i];
    let mut least = if is_equation { 1 } else { MOST_FILL + 1 };
    for &(j, a) in &w.rows[i] {
        let j = j as usize;
        if w.integer[j] || w.is_needed(j) || a.abs() < LEAST_IN_ROW * largest {
            continue;
        }
        let held = |r: &u32| w.rows[*r as usize].iter().any(|e| e.0 as usize == j);
        at[j].retain(|r| w.row_alive[*r as usize] && held(r));
        if at[j].len() > MOST_ROWS {
            continue;
        }
        let Some(side) = tight_side(w, &at[j], i, j) else {
            continue;
        };
        let entry = |r: &u32| entry(w, *r as usize, j).abs();
        let tallest = at[j].iter().map(entry).fold(0.0, f64::max);
        let takes = |r: &u32| w.may_take(*r as usize, i, entry(r) / a);
        if a.abs() < LEAST_IN_COLUMN * tallest
            || !is_implied_free(w, &at[j], j)
            || !at[j].iter().all(takes)
        {
            continue;
        }
        let fill = fill(w, &at[j], i);
        if fill < least {
            least = fill;
            best = Some(Choice {
                col: j,
                entry: a,
                side,
            });
        }
    }
    best
}

/// The side of row `i` that some optimum meets with equality, for a column that the rows keep
/// within its bounds. The column can move there if that costs nothing and no other row resists.
fn tight_side(w: &WorkingProblem, rows: &[u32], i: usize, j: usize) -> Option<f64> {
    let (lower, upper) = (w.row_lower[i], w.row_upper[i]);
    if lower == upper {
        return Some(upper);
    }
    // The side of a row that stops the column on its way.
    let stop = |r: usize, up: bool| match (entry(w, r, j) > 0.0) == up {
        true => w.row_upper[r],
        false => w.row_lower[r],
    };
    let moves = |up: bool| {
        let is_cheap = if up {
            w.cost[j] <= 0.0
        } else {
            w.cost[j] >= 0.0
        };
        let is_open = |&r: &u32| r as usize == i || stop(r as usize, up).is_infinite();
        is_cheap && stop(i, up).is_finite() && rows.iter().all(is_open)
    };
    [true, false]
        .into_iter()
        .find(|&up| moves(up))
        .map(|up| stop(i, up))
}

/// Entries that the substitution of one column by row `i` adds, less those removed.
fn fill(w: &WorkingProblem, rows: &[u32], i: usize) -> isize {
    let length = w.rows[i].len() as isize;
    let others = rows.iter().filter(|&&r| r as usize != i);
    let added = others.map(|&r| {
        let shared = |e: &&(u32, f64)| w.rows[r as usize].iter().any(|f| f.0 == e.0);
        // The column itself is shared, and leaves the row.
        length - w.rows[i].iter().filter(shared).count() as isize - 1
    });
    added.sum::<isize>() - length
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
fn substitute(w: &mut WorkingProblem, at: &mut [Vec<u32>], i: usize, choice: Choice) {
    let (j, a) = (choice.col, choice.entry);
    let constant = choice.side / a;
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
    use remat_lp::{ModelBuilder, Sense};

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

    /// `paid - 2 time - 9 off >= -9` and `time - 3 share >= 0`, with this cost and upper bound of
    /// the time; `more` adds a row that keeps the time below the share.
    fn waived(cost: f64, upper: f64, more: bool) -> WorkingProblem {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let paid = b.add_col(1.0, 0.0..);
        let time = b.add_col(cost, 0.0..=upper);
        let off = b.add_col(0.0, 0.0..=1.0);
        b.set_integer(off, true);
        let share = b.add_col(0.0, 0.0..=1.0);
        b.add_row(-9.0.., [(paid, 1.0), (time, -2.0), (off, -9.0)]);
        b.add_row(0.0.., [(time, 1.0), (share, -3.0)]);
        b.add_row(1.0.., [(share, 4.0), (off, 1.0)]);
        if more {
            b.add_row(..=4.0, [(time, 1.0), (share, 1.0)]);
        }
        WorkingProblem::new(&Problem::from_model(&b.build().unwrap()))
    }

    #[test]
    fn an_inequality_that_some_optimum_meets_is_an_equation() {
        let mut w = waived(0.0, f64::INFINITY, false);
        run(&mut w);
        // The shorter row comes first: time = 3 share.
        assert_eq!((w.col_alive[1], w.row_alive[1]), (false, false));
        let step = PostsolveStep::Aggregated {
            col: 1,
            constant: 0.0,
            terms: vec![(3, 3.0)],
        };
        assert!(w.steps.contains(&step), "{:?}", w.steps);
        assert_eq!(w.rows[0], [(0, 1.0), (2, -9.0), (3, -6.0)]);
        assert_eq!(w.row_lower[0], -9.0);
    }

    #[test]
    fn an_inequality_stays_where_its_column_costs_or_is_held_elsewhere() {
        for (cost, upper, more) in [
            (1.0, f64::INFINITY, false),
            (0.0, 2.0, false),
            (0.0, f64::INFINITY, true),
        ] {
            let mut w = waived(cost, upper, more);
            run(&mut w);
            assert!(w.row_alive[0], "{cost} {upper} {more}");
        }
    }
}
