//! The barrier method, with crossover and without, against the simplex method and certificates.

use crate::support::{End, FAMILIES, Rng, netlib_dir};
use remat_lp::presolve::PresolveSettings;
use remat_lp::{
    Algorithm, Barrier, BarrierEnd, BarrierPoint, BarrierSettings, ColId, LimitKind, Limits,
    LpOutcome, Model, ModelBuilder, ModelError, NewCol, Sense, Settings, Solver, certificate, mps,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn with(algorithm: Algorithm) -> Settings {
    Settings {
        algorithm,
        ..Settings::default()
    }
}

/// Optimal point of the barrier method without crossover, with its reported values checked.
fn central(what: &str, model: &Arc<Model>) -> BarrierPoint {
    let end = Barrier::new(model.clone(), BarrierSettings::default()).solve();
    let BarrierEnd::Optimal(p) = end else {
        panic!("{what}: {end:?}")
    };
    assert!(p.primal_residual.max(p.dual_residual) <= 1e-8, "{what}");
    let gap = (p.primal_objective - p.dual_objective).abs();
    assert!(
        gap <= 1e-8 * (1.0 + p.primal_objective.abs()) * 1.5,
        "{what}"
    );
    p
}

/// Solves by barrier and crossover, checks the vertex and its basis, and compares.
fn crossed_over(what: &str, model: &Arc<Model>, presolved: bool) -> LpOutcome {
    let on = PresolveSettings::default();
    let settings = with(Algorithm::Barrier);
    let limits = Limits::default();
    let outcome = remat_lp::solve(model, &settings, &limits, presolved.then_some(&on)).outcome;
    if let Err(e) = certificate::check(model, &outcome, 1e-6) {
        panic!("{what}: {e}");
    }
    if let LpOutcome::Optimal(s) = &outcome {
        assert_eq!(s.basis.num_basic(), model.num_rows(), "{what}");
        let mut again = Solver::new(model.clone(), with(Algorithm::Auto));
        again.set_basis(&s.basis).unwrap();
        let there = again.solve();
        let off = (there.optimal().unwrap().objective - s.objective).abs();
        assert!(off <= 1e-7 * (1.0 + s.objective.abs()), "{what}");
        assert!(again.stats().iterations() <= 3, "{what}");
    }
    outcome
}

#[test]
fn programs_end_as_they_were_made_to() {
    let mut central_points = 0;
    for (name, make) in FAMILIES {
        for seed in 0..24 {
            let mut r = Rng::new(7000 + seed);
            let size = 2 + r.below(if seed < 18 { 10 } else { 60 });
            let (model, end) = make(&mut r, size);
            let model = Arc::new(model);
            let what = format!("{name}, seed {seed}, size {size}");
            let outcome = crossed_over(&what, &model, seed % 2 == 0);
            match (end, &outcome) {
                (End::Optimal(_), LpOutcome::Optimal(s)) => {
                    let simplex = Solver::new(model.clone(), with(Algorithm::Dual)).solve();
                    let expected = simplex.optimal().unwrap().objective;
                    let off = (s.objective - expected).abs() / (1.0 + expected.abs());
                    assert!(off < 1e-7, "{what}: {} {expected}", s.objective);
                    let alone = Barrier::new(model.clone(), BarrierSettings::default()).solve();
                    if let BarrierEnd::Optimal(p) = alone {
                        central_points += 1;
                        let off = (p.primal_objective - expected).abs() / (1.0 + expected.abs());
                        assert!(off < 1e-6, "{what}: {} {expected}", p.primal_objective);
                        let bound = certificate::safe_bound(&model, &p.y);
                        let over = model.sense().sign() * (bound - expected);
                        assert!(over <= 1e-7 * (1.0 + expected.abs()), "{what}: {bound}");
                    }
                }
                (End::Infeasible, LpOutcome::Infeasible(_))
                | (End::Unbounded, LpOutcome::Unbounded(_)) => {}
                _ => panic!("{what}: {end:?} expected, found {outcome:?}"),
            }
            match Barrier::new(model.clone(), BarrierSettings::default()).solve() {
                BarrierEnd::Infeasible(ray) => {
                    assert_eq!(end, End::Infeasible, "{what}");
                    certificate::check_farkas(&model, &ray).unwrap();
                }
                BarrierEnd::Optimal(_) => assert!(matches!(end, End::Optimal(_)), "{what}"),
                BarrierEnd::Unsettled(_) => {}
                BarrierEnd::Limit(kind, _) => panic!("{what}: {kind:?}"),
            }
        }
    }
    assert!(central_points > 150, "{central_points}");
}

/// Free columns, a dense column, ranges, fixed columns, empty rows and columns, a free row.
fn of_all_kinds(dense: usize) -> Model {
    let mut b = ModelBuilder::new(Sense::Maximise);
    let free = b.add_col(-1.0, ..);
    let wide = b.add_col(-2.0, 0.0..);
    let fixed = b.add_col(5.0, 3.0..=3.0);
    let empty = b.add_col(1.0, -1.0..=4.0);
    let boxed: Vec<ColId> = (0..dense)
        .map(|k| b.add_col(1.0 + (k % 7) as f64, 0.0..=2.0))
        .collect();
    for (k, &x) in boxed.iter().enumerate() {
        let bounds = -1.0..=2.0 + (k % 3) as f64;
        b.add_row(bounds, [(x, 2.0), (wide, -1.0), (free, 0.01)]);
    }
    b.add_row(..=1.0, []);
    b.add_row(.., [(free, 1.0), (fixed, 1.0)]);
    b.add_row(1.0..=1.0, [(free, 1.0), (fixed, -1.0), (wide, 0.5)]);
    b.add_row(..=100.0, [(empty, 0.0), (wide, 1.0)]);
    b.build().unwrap()
}

#[test]
fn kinds_of_rows_and_columns() {
    for dense in [3, 40, 450] {
        let model = Arc::new(of_all_kinds(dense));
        let what = format!("{dense} rows");
        let simplex = Solver::new(model.clone(), with(Algorithm::Dual)).solve();
        let expected = simplex.optimal().unwrap().objective;
        for presolved in [false, true] {
            let outcome = crossed_over(&what, &model, presolved);
            let found = outcome.optimal().unwrap().objective;
            assert!((found - expected).abs() < 1e-7 * expected.abs(), "{what}");
        }
        let p = central(&what, &model);
        assert!(
            (p.primal_objective - expected).abs() < 1e-6 * expected.abs(),
            "{what}"
        );
        assert_eq!((p.x[2], p.x.len(), p.y.len()), (3.0, 4 + dense, dense + 4));
        for (j, z) in p.z.iter().enumerate() {
            // Multipliers are reduced costs.
            let d = model.col(ColId(j as u32)).map(|(i, v)| v * p.y[i.index()]);
            let d = model.costs()[j] - d.sum::<f64>();
            assert!((z - d).abs() < 1e-5, "{what}: column {j}, {z} {d}");
        }
    }
}

#[test]
fn programs_without_rows_or_room() {
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.add_col(1.0, -2.0..=5.0);
    b.add_col(-1.0, 0.0..=3.0);
    let model = Arc::new(b.build().unwrap());
    let outcome = crossed_over("no rows", &model, false);
    assert_eq!(outcome.optimal().unwrap().objective, -5.0);
    assert!((central("no rows", &model).primal_objective + 5.0).abs() < 1e-6);
    // Only one point is feasible, so there is no interior.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(1.0, 0.0..);
    let y = b.add_col(2.0, 0.0..);
    b.add_row(..=0.0, [(x, 1.0), (y, 1.0)]);
    b.add_row(0.0..=0.0, [(x, 1.0), (y, -1.0)]);
    let outcome = crossed_over("a point", &Arc::new(b.build().unwrap()), false);
    assert_eq!(outcome.optimal().unwrap().objective, 0.0);
}

#[test]
fn limits_hold_within_the_method() {
    let (model, _) = FAMILIES[0].1(&mut Rng::new(3), 60);
    let model = Arc::new(model);
    let raised = Arc::new(AtomicBool::new(true));
    let cases = [
        (
            LimitKind::Iterations,
            Limits {
                iterations: Some(3),
                ..Limits::default()
            },
        ),
        (
            LimitKind::Ticks,
            Limits {
                ticks: Some(1),
                ..Limits::default()
            },
        ),
        (
            LimitKind::Interrupt,
            Limits {
                interrupt: Some(raised),
                ..Limits::default()
            },
        ),
    ];
    for (kind, limits) in cases {
        let mut barrier = Barrier::new(model.clone(), BarrierSettings::default());
        barrier.set_limits(limits.clone());
        assert!(matches!(barrier.solve(), BarrierEnd::Limit(k, _) if k == kind));
        assert!(barrier.iterations() <= 3);
        let mut solver = Solver::new(model.clone(), with(Algorithm::Barrier));
        solver.set_limits(limits);
        assert_eq!(solver.solve(), LpOutcome::Limit(kind));
        // Continues afterwards.
        solver.set_limits(Limits::default());
        assert!(solver.solve().optimal().is_some());
    }
}

#[test]
fn a_loose_point_starts_the_next_program() {
    let (mut warm, mut cold, mut ends) = (0, 0, 0);
    for seed in 0..12 {
        let (model, _) = FAMILIES[4].1(&mut Rng::new(seed), 30);
        let loose = BarrierSettings {
            gap_tolerance: 1e-2,
            ..BarrierSettings::default()
        };
        let mut first = Barrier::new(model.clone(), loose);
        let BarrierEnd::Optimal(point) = first.solve() else {
            continue;
        };
        // Adds a column that is attractive at these duals.
        let mut solver = Solver::new(model, Settings::default());
        let rows = solver.model().num_rows() as u32;
        let entries: Vec<_> = (0..rows.min(4))
            .map(|i| (remat_lp::RowId(i), 1.0))
            .collect();
        let value: f64 = entries.iter().map(|e| point.y[e.0.index()]).sum();
        let worth = value - solver.model().sense().sign() * (0.1 + 0.1 * value.abs());
        solver
            .add_cols(&[NewCol::new(worth, 0.0..=5.0, entries)])
            .unwrap();
        let grown = solver.model().clone();
        let expected = solver.solve().optimal().unwrap().objective;
        let mut from_point = Barrier::new(grown.clone(), BarrierSettings::default());
        let end = from_point.solve_from(&point).unwrap();
        let mut afresh = Barrier::new(grown.clone(), BarrierSettings::default());
        afresh.solve();
        if let BarrierEnd::Optimal(p) = end {
            let off = (p.primal_objective - expected).abs();
            assert!(off < 1e-6 * (1.0 + expected.abs()), "seed {seed}");
            ends += 1;
        }
        warm += from_point.iterations();
        cold += afresh.iterations();
        assert!(matches!(
            first.solve_from(&BarrierPoint {
                x: vec![0.0; grown.num_cols() + 1],
                ..point
            }),
            Err(ModelError::Length { .. })
        ));
    }
    assert!(ends >= 10, "{ends}");
    assert!(warm < cold, "{warm} iterations warm, {cold} cold");
}

#[test]
fn the_same_run_twice_is_the_same() {
    let (model, _) = FAMILIES[7].1(&mut Rng::new(5), 40);
    let model = Arc::new(model);
    let run = || {
        let mut solver = Solver::new(model.clone(), with(Algorithm::Barrier));
        (solver.solve(), solver.stats())
    };
    assert_eq!(run(), run());
}

#[test]
fn netlib_by_barrier_and_crossover() {
    let Some(dir) = netlib_dir() else { return };
    for (name, objective) in [
        ("afiro", -464.753142857143),
        ("share1b", -76589.3185791859),
        ("scfxm1", 18416.7590283489),
        ("grow7", -47787811.8147115),
    ] {
        let path = dir.join(format!("{name}.mps.gz"));
        if !path.is_file() {
            continue;
        }
        let model = Arc::new(mps::read(path).unwrap());
        let outcome = crossed_over(name, &model, true);
        let found = outcome.optimal().unwrap().objective;
        assert!(
            (found - objective).abs() <= 1e-8 * objective.abs(),
            "{name}: {found}"
        );
    }
}
