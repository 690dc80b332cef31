//! Bounds that are valid in spite of all rounding, on programs that leave the multipliers no room.

use crate::support::Rng;
use remat_lp::certificate::{exact_bound, safe_bound};
use remat_lp::{Bounds, Model, ModelBuilder, Sense, Settings, Solver, proven_bound};
use std::sync::Arc;

/// Dense equations in free and nonnegative columns, around a planted pair of solutions that satisfy
/// complementary slackness. Returns the model and its optimum. With `whole` numbers the optimum is
/// exact, otherwise exact up to rounding. In that case the nonnegative columns also have upper
/// bounds, since otherwise rounding alone could create an improving ray.
fn free_and_dense(r: &mut Rng, whole: bool) -> (Model, f64) {
    let m = 2 + r.below(12);
    let free = 1 + r.below(m);
    let others = m + r.below(m);
    let scale = if whole { 1.0 } else { 0.1 };
    let y: Vec<f64> = (0..m).map(|_| scale * r.int(-9, 9)).collect();
    let maximise = r.once_in(2);
    let sign = if maximise { -1.0 } else { 1.0 };
    let mut b = ModelBuilder::new(if maximise {
        Sense::Maximise
    } else {
        Sense::Minimise
    });
    let mut rows = vec![Vec::new(); m];
    let mut activity = vec![0.0; m];
    let mut objective = 0.0;
    for j in 0..free + others {
        let column: Vec<f64> = (0..m).map(|_| scale * r.int(-20, 20)).collect();
        let priced: f64 = column.iter().zip(&y).map(|(a, y)| a * y).sum();
        let room = Bounds::new(0.0, if whole { f64::INFINITY } else { 50.0 });
        // Free; or basic; or nonbasic at zero, with a reduced cost that may also be zero.
        let (bounds, value, reduced) = match j {
            _ if j < free => (Bounds::FREE, r.int(-5, 5), 0.0),
            _ if r.once_in(2) => (room, r.int(0, 5), 0.0),
            _ => (room, 0.0, r.int(0, 9)),
        };
        let cost = priced + sign * reduced;
        let col = b.add_col(cost, bounds);
        objective += cost * value;
        for (i, &v) in column.iter().enumerate().filter(|e| *e.1 != 0.0) {
            rows[i].push((col, v));
            activity[i] += v * value;
        }
    }
    for (row, v) in rows.into_iter().zip(activity) {
        b.add_row(v, row);
    }
    (b.build().unwrap(), objective)
}

/// Distance of the bound from the objective on the valid side; negative for an invalid bound.
fn short(model: &Model, bound: f64, objective: f64) -> f64 {
    match model.sense() {
        Sense::Minimise => objective - bound,
        Sense::Maximise => bound - objective,
    }
}

#[test]
fn free_columns_in_dense_equations() {
    let mut rational = 0;
    for seed in 0..400 {
        let (model, objective) = free_and_dense(&mut Rng::new(seed), seed % 2 == 0);
        let model = Arc::new(model);
        let outcome = Solver::new(model.clone(), Settings::default()).solve();
        let solution = outcome.optimal().unwrap();
        let (bound, y) = proven_bound(&model, solution);
        let size = 1.0 + objective.abs();
        let short = short(&model, bound, objective) / size;
        let least = if seed % 2 == 0 { 0.0 } else { -1e-12 };
        assert!(
            short >= least && short <= 1e-6,
            "{seed}: {bound} of {objective}"
        );
        rational += usize::from(safe_bound(&model, &y).is_infinite());
    }
    assert!(rational > 150, "{rational} by rational multipliers");
}

#[test]
fn bounds_hold_whatever_the_multipliers_are() {
    let (mut finite, mut tight) = (0, 0);
    for seed in 0..300 {
        let r = &mut Rng::new(1000 + seed);
        let (model, optimum) = free_and_dense(r, true);
        let outcome = Solver::new(model.clone(), Settings::default()).solve();
        let solution = outcome.optimal().unwrap();
        for size in [0.0, 1e-14, 1e-9, 1e-3, 1.0] {
            let y: Vec<f64> = solution
                .y
                .iter()
                .map(|v| v + size * r.real(-1.0, 1.0))
                .collect();
            let bound = exact_bound(&model, &y);
            // With whole numbers the optimum is exact, and so is the comparison.
            let short = short(&model, bound, optimum);
            assert!(short >= 0.0, "{seed}: {bound} of {optimum}");
            finite += usize::from(short.is_finite());
            tight += usize::from(short <= 1e-6 * (1.0 + optimum.abs()));
        }
    }
    assert!(
        finite > 300 && tight > 300,
        "{finite} finite, {tight} tight"
    );
}

#[test]
fn dependent_free_columns_agree_exactly_or_not_at_all() {
    // Two free columns, the second three times the first, cost included; but in doubles 0.3 is not
    // three times 0.1.
    for (cost, triple, bounded) in [(0.25, 0.75, true), (0.1, 0.3, false)] {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(cost, ..);
        let z = b.add_col(triple, ..);
        b.add_row(7.0, [(x, 1.25), (z, 3.75)]);
        b.add_row(1.0, [(x, 0.5), (z, 1.5)]);
        let model = b.build().unwrap();
        let bound = exact_bound(&model, &[cost / 1.25 + 1e-16, 0.0]);
        assert_eq!(bound.is_finite(), bounded, "{bound}");
    }
}
