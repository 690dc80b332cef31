//! Convex quadratic programs against their optimality conditions, computed here from dense data.

use super::support::Rng;
use remat_lp::qp::{self, QuadraticOutcome, QuadraticSettings};
use remat_lp::{Bounds, ColId, Limits, Model, ModelBuilder, Quadratic, Sense};
use std::sync::Arc;

fn solve(model: &Arc<Model>, quadratic: &Quadratic) -> QuadraticOutcome {
    let settings = QuadraticSettings::default();
    qp::solve(model, quadratic, &settings, &Limits::default())
        .unwrap()
        .outcome
}

/// A program with `Q = F'F` of any rank, all kinds of rows and bounds, and a feasible point.
fn random(rng: &mut Rng, sense: Sense) -> (Arc<Model>, Quadratic) {
    let (n, m, rank) = (1 + rng.below(20), rng.below(12), rng.below(12));
    let mut b = ModelBuilder::new(sense);
    let inside: Vec<f64> = (0..n).map(|_| rng.int(-5, 5)).collect();
    let sign = sense.sign();
    for &at in &inside {
        // Free columns have no cost, so that a missing curvature cannot leave them unbounded.
        let (bounds, cost) = match rng.below(4) {
            0 => (Bounds::FREE, 0.0),
            1 => (
                Bounds::new(at, at + rng.real(0.0, 6.0)),
                rng.real(-3.0, 3.0),
            ),
            2 => (
                Bounds::new(at - rng.real(0.0, 3.0), f64::INFINITY),
                sign * rng.real(0.0, 3.0),
            ),
            _ => (Bounds::new(-8.0, 8.0), rng.real(-30.0, 30.0)),
        };
        b.add_col(cost, bounds);
    }
    for _ in 0..m {
        let mut entries: Vec<(ColId, f64)> = Vec::new();
        for j in 0..n {
            if rng.once_in(2) {
                entries.push((ColId(j as u32), rng.int(-4, 4)));
            }
        }
        let at: f64 = entries.iter().map(|(c, v)| v * inside[c.index()]).sum();
        let bounds = match rng.below(4) {
            0 => Bounds::new(at, at),
            1 => Bounds::new(at - rng.real(0.0, 4.0), f64::INFINITY),
            2 => Bounds::new(f64::NEG_INFINITY, at),
            _ => Bounds::new(at - 3.0, at + rng.real(0.0, 4.0)),
        };
        b.add_row(bounds, entries);
    }
    let mut products = Vec::new();
    for _ in 0..rank {
        let f: Vec<f64> = (0..n)
            .map(|_| {
                if rng.once_in(2) {
                    rng.real(-2.0, 2.0)
                } else {
                    0.0
                }
            })
            .collect();
        for a in 0..n {
            for c in 0..n {
                products.push((ColId(a as u32), ColId(c as u32), sign * 0.5 * f[a] * f[c]));
            }
        }
    }
    let quadratic = Quadratic::of_products(n, products).unwrap();
    (Arc::new(b.build().unwrap()), quadratic)
}

/// The largest violation of feasibility, stationarity and complementarity, from dense data.
fn residual(model: &Model, quadratic: &Quadratic, x: &[f64], y: &[f64]) -> f64 {
    let sign = model.sense().sign();
    let mut gradient = model.costs().to_vec();
    for (a, b, factor) in quadratic.products() {
        gradient[a.index()] += factor * x[b.index()];
        gradient[b.index()] += factor * x[a.index()];
    }
    let mut worst = 0.0f64;
    let mut judge = |at: f64, multiplier: f64, bounds: Bounds| {
        worst = worst.max(bounds.lower - at).max(at - bounds.upper);
        // A positive multiplier needs the lower bound, a negative one the upper bound.
        let side = if multiplier > 0.0 {
            bounds.lower
        } else {
            bounds.upper
        };
        worst = worst.max(multiplier.abs().min((at - side).abs()));
    };
    for (i, &y) in y.iter().enumerate() {
        let row = remat_lp::RowId(i as u32);
        let at: f64 = model.row(row).map(|(c, v)| v * x[c.index()]).sum();
        model
            .row(row)
            .for_each(|(c, v)| gradient[c.index()] -= v * y);
        judge(at, sign * y, model.row_bounds(row));
    }
    for (j, (&x, gradient)) in x.iter().zip(gradient).enumerate() {
        judge(x, sign * gradient, model.col_bounds(ColId(j as u32)));
    }
    worst
}

#[test]
fn random_programs_meet_the_optimality_conditions() {
    let mut rng = Rng::new(84);
    for case in 0..200 {
        let sense = if case % 2 == 0 {
            Sense::Minimise
        } else {
            Sense::Maximise
        };
        let (model, quadratic) = random(&mut rng, sense);
        let outcome = solve(&model, &quadratic);
        let Some(s) = outcome.optimal() else {
            panic!("case {case}: {outcome:?}");
        };
        let worst = residual(&model, &quadratic, &s.x, &s.y);
        assert!(worst <= 1e-6, "case {case}: residual {worst:e}");
        let size = 1.0 + s.objective.abs();
        let ahead = sense.sign() * (s.bound - s.objective);
        assert!(
            ahead <= 1e-7 * size,
            "case {case}: the bound is beyond the optimum by {ahead:e}"
        );
        if s.bound.is_finite() {
            assert!(
                ahead >= -1e-5 * size,
                "case {case}: the bound is short by {ahead:e}"
            );
        }
    }
}

#[test]
fn bounds_hold_for_any_point_and_multipliers() {
    let mut rng = Rng::new(7);
    for case in 0..100 {
        let sense = if case % 2 == 0 {
            Sense::Minimise
        } else {
            Sense::Maximise
        };
        let (model, quadratic) = random(&mut rng, sense);
        let Some(optimum) = solve(&model, &quadratic).optimal().map(|s| s.objective) else {
            panic!("case {case}");
        };
        for _ in 0..20 {
            let w: Vec<f64> = (0..model.num_cols()).map(|_| rng.real(-9.0, 9.0)).collect();
            let y: Vec<f64> = (0..model.num_rows()).map(|_| rng.real(-9.0, 9.0)).collect();
            let bound = remat_lp::certificate::safe_quadratic_bound(&model, &quadratic, &w, &y);
            let ahead = sense.sign() * (bound - optimum);
            assert!(
                ahead <= 1e-6 * (1.0 + optimum.abs()),
                "case {case}: {bound} {optimum}"
            );
        }
    }
}

#[test]
fn infeasible_and_unbounded_programs_have_proofs() {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let (x, y) = (b.add_col(-1.0, 0.0..), b.add_col(-1.0, ..));
    b.add_row(..=4.0, [(x, 1.0)]);
    let open = b.clone();
    b.add_row(5.0.., [(x, 1.0)]);
    let q = Quadratic::of_products(2, [(x, x, 1.0)]).unwrap();
    let infeasible = Arc::new(b.build().unwrap());
    let QuadraticOutcome::Infeasible(ray) = solve(&infeasible, &q) else {
        panic!("infeasible");
    };
    assert!(remat_lp::certificate::check_farkas(&infeasible, &ray).is_ok());
    let QuadraticOutcome::Unbounded(ray) = solve(&Arc::new(open.build().unwrap()), &q) else {
        panic!("unbounded");
    };
    assert_eq!((ray.direction[0], ray.direction[1]), (0.0, 1.0));
    // Curvature along y bounds it.
    let q = Quadratic::of_products(2, [(y, y, 0.25)]).unwrap();
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.add_col(-1.0, 0.0..=1.0);
    b.add_col(-1.0, ..);
    let s = solve(&Arc::new(b.build().unwrap()), &q);
    let s = s.optimal().unwrap();
    assert!(
        (s.x[1] - 2.0).abs() < 1e-9 && (s.objective + 2.0).abs() < 1e-9,
        "{s:?}"
    );
    assert!(s.bound <= -2.0 && s.bound > -2.0 - 1e-6, "{}", s.bound);
}

#[test]
fn objectives_of_any_size_are_solved() {
    let mut rng = Rng::new(11);
    for case in 0..30 {
        let (model, quadratic) = random(&mut rng, Sense::Minimise);
        let plain = solve(&model, &quadratic);
        let plain = plain.optimal().unwrap();
        let factor = [1e-6, 1e3, 1e6][case % 3];
        let (scaled, _) = {
            let mut b = ModelBuilder::new(Sense::Minimise);
            for j in 0..model.num_cols() {
                b.add_col(factor * model.costs()[j], model.col_bounds(ColId(j as u32)));
            }
            for i in 0..model.num_rows() {
                let row = remat_lp::RowId(i as u32);
                b.add_row(model.row_bounds(row), model.row(row).collect::<Vec<_>>());
            }
            (Arc::new(b.build().unwrap()), ())
        };
        let products = quadratic.products().map(|(a, b, v)| (a, b, factor * v));
        let q = Quadratic::of_products(model.num_cols(), products).unwrap();
        let found = solve(&scaled, &q);
        let found = found.optimal().unwrap_or_else(|| panic!("case {case}"));
        let apart = (found.objective / factor - plain.objective).abs();
        assert!(
            apart <= 1e-6 * (1.0 + plain.objective.abs()),
            "case {case}: {apart:e}"
        );
    }
}
