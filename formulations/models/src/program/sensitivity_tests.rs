//! Ranges against solves with costs, sides and bounds moved.

use super::*;
use proptest::prelude::*;
use remat_lp::Sense;
use std::sync::Arc;

/// Distance beyond an end at which a number is set.
const BEYOND: f64 = 0.05;

fn solved(program: &Program) -> Answer {
    solve_program(program, &ProgramSettings::default(), Arc::new(())).unwrap()
}

/// Numbers without equal combinations: vertices are not degenerate.
fn number(range: std::ops::Range<i32>) -> impl Strategy<Value = f64> {
    (range, 0u16..u16::MAX).prop_map(|(whole, part)| f64::from(whole) + f64::from(part) / 65536.0)
}

fn programs() -> impl Strategy<Value = Program> {
    let cols = prop::collection::vec((number(-4..5), number(2..6)), 4);
    let rows = prop::collection::vec(
        (
            prop::collection::vec(number(-3..4), 4),
            number(1..9),
            any::<bool>(),
        ),
        3,
    );
    (cols, rows, any::<bool>()).prop_map(|(cols, rows, maximise)| {
        let mut p = Program::default();
        p.set_sense(if maximise {
            Sense::Maximise
        } else {
            Sense::Minimise
        });
        let made: Vec<_> = cols
            .iter()
            .map(|&(cost, upper)| {
                p.add_col(-1.5, upper, cost, Kind::Continuous, None)
                    .unwrap()
            })
            .collect();
        for (factors, side, less) in rows {
            let entries: Vec<_> = made.iter().copied().zip(factors).collect();
            let (lower, upper) = match less {
                true => (-INFINITE, side),
                false => (-side, INFINITE),
            };
            p.add_row(&entries, lower, upper, None).unwrap();
        }
        p
    })
}

/// Checks a range: within it the objective is on the line with the slope, beyond it not.
fn on_the_line(
    (low, high): Range,
    at: f64,
    slope: f64,
    objective: f64,
    what: &str,
    moved: impl Fn(f64) -> Answer,
) {
    assert!(
        low <= at + 1e-7 && at <= high + 1e-7,
        "{what}: {at} in {low}..{high}"
    );
    let line = |to: f64| objective + slope * (to - at);
    for inside in [low.max(at - 50.0), high.min(at + 50.0)] {
        let inside = 0.999 * inside + 0.001 * at;
        let found = moved(inside);
        assert_eq!(
            found.ending,
            Ending::Optimal,
            "{what} = {inside} in {low}..{high}"
        );
        let (a, b) = (found.points[0].objective, line(inside));
        assert!(
            (a - b).abs() <= 1e-6 * b.abs().max(1.0),
            "{what} = {inside}: {a}, {b}"
        );
    }
    for beyond in [low - BEYOND, high + BEYOND] {
        if !beyond.is_finite() || (beyond - at).abs() > 50.0 {
            continue;
        }
        let found = moved(beyond);
        if let Some(point) = found.points.first() {
            let b = line(beyond);
            assert!(
                (point.objective - b).abs() > 1e-9,
                "{what} = {beyond}, beyond {low}..{high}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn ranges_end_where_the_basis_does(program in programs()) {
        let answer = solved(&program);
        let Some(point) = answer.points.first() else { return Ok(()) };
        let duals = answer.duals.as_ref().unwrap();
        let ranges = sensitivity(&program, duals).unwrap().unwrap();
        let objective = point.objective;
        let with = |change: &dyn Fn(&mut Program)| {
            let mut moved = program.clone();
            change(&mut moved);
            solved(&moved)
        };
        for col in program.cols() {
            let k = col.index();
            let (cost, x) = (program.cost(col).unwrap(), point.x[k]);
            on_the_line(ranges.costs[k], cost, x, objective, "a cost", |to| {
                with(&|p| p.set_cost(col, to).unwrap())
            });
            let (lower, upper) = program.col_bounds(col).unwrap();
            let reduced = duals.reduced_costs[k];
            let slope = |at: f64| if x == at { reduced } else { 0.0 };
            on_the_line(ranges.lower[k], lower, slope(lower), objective, "a lower bound", |to| {
                with(&|p| p.set_col_bounds(col, to, upper).unwrap())
            });
            on_the_line(ranges.upper[k], upper, slope(upper), objective, "an upper bound", |to| {
                with(&|p| p.set_col_bounds(col, lower, to).unwrap())
            });
        }
        for row in program.rows() {
            let (lower, upper) = program.row_bounds(row).unwrap();
            let at = if upper.is_finite() { upper } else { lower };
            let y = duals.rows[row.index()];
            on_the_line(ranges.sides[row.index()], at, y, objective, "a side", |to| {
                let (lower, upper) = if upper.is_finite() { (lower, to) } else { (to, upper) };
                with(&|p| p.set_row_bounds(row, lower, upper).unwrap())
            });
        }
    }
}
