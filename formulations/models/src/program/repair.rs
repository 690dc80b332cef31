//! Points that the search's tolerance moved off a special constraint.
//!
//! A row of the linear model may be missed by the tolerance, and a special constraint is several
//! rows. A step of `1e-6` along a piece with a slope of a million changes its value by 1. Such a
//! point is solved again with its integers fixed and next to no tolerance.

use super::{Answer, Compiled, Ending, Point, SPECIAL_TOLERANCE};
use remat_lp::{ColId, Limits, LpOutcome, Settings, Solver};
use remat_solver::mip::Solution;

/// Tolerance of the simplex in the second solve.
const TIGHT: f64 = 1e-9;
/// Limit on its iterations.
const ITERATIONS: u64 = 100_000;

/// Checks points against special constraints by their definitions, and computes objectives from
/// them. Points that violate them are solved again, or removed if that does not help. `solutions`
/// are the points in the model, if a search found them; `tolerance` is the tolerance of its rows.
pub(super) fn check(
    compiled: &Compiled,
    mut answer: Answer,
    solutions: &[Solution],
    tolerance: f64,
) -> Answer {
    let Some(program) = &compiled.source else {
        return answer;
    };
    let tolerance = tolerance.max(SPECIAL_TOLERANCE);
    let is_right = |point: &Point| {
        let violated = program.violated_special(&point.x);
        violated.is_none_or(|(_, violation)| violation <= tolerance)
    };
    let had = answer.points.len();
    let points = std::mem::take(&mut answer.points).into_iter().enumerate();
    let kept = points.filter_map(|(k, point)| {
        if is_right(&point) {
            return Some(point);
        }
        let again = solved_again(compiled, &solutions.get(k)?.x)?;
        is_right(&again).then_some(again)
    });
    answer.points = kept.collect();
    if answer.points.is_empty() && had > 0 {
        answer.ending = Ending::Numeric;
    }
    if !program.products().is_empty() || !program.pieces().is_empty() {
        for point in &mut answer.points {
            point.objective = program.objective_of(&point.x);
        }
    }
    answer
}

/// The best point with the integers of one.
fn solved_again(compiled: &Compiled, x: &[f64]) -> Option<Point> {
    if compiled.quadratic.is_some() {
        return None;
    }
    let settings = Settings {
        primal_tolerance: TIGHT,
        ..Settings::default()
    };
    let model = &compiled.model;
    let mut solver = Solver::new(model.clone(), settings);
    solver.set_limits(Limits {
        iterations: Some(ITERATIONS),
        ..Limits::default()
    });
    for (j, &value) in x.iter().enumerate() {
        let col = ColId(j as u32);
        if model.is_integer(col) {
            solver.set_col_bounds(col, value..=value).ok()?;
        }
    }
    let LpOutcome::Optimal(solution) = solver.solve() else {
        return None;
    };
    let values = solution.x.iter().zip(x).enumerate();
    let values = values.map(
        |(j, (&new, &old))| match model.is_integer(ColId(j as u32)) {
            true => old,
            false => new,
        },
    );
    let values: Vec<f64> = values.collect();
    Some(Point {
        objective: model.objective(&values),
        x: compiled.by_col(&values, f64::NAN),
    })
}
