//! Every way a solve can end, on problems of some size.

use crate::support::netlib;
use remat_lp::{
    Algorithm, Bounds, ColId, LimitKind, Limits, LpOutcome, Model, ModelBuilder, NewRow, Sense,
    Settings, Solver, certificate, lp_format, mps, presolve,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A transport-like assignment problem: n! optimal bases, massively degenerate.
fn assignment(n: usize, cost: impl Fn(usize, usize) -> f64) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<Vec<ColId>> = (0..n)
        .map(|i| (0..n).map(|j| b.add_col(cost(i, j), 0.0..)).collect())
        .collect();
    for i in 0..n {
        b.add_row(1.0, cols[i].iter().map(|&c| (c, 1.0)));
        b.add_row(1.0, cols.iter().map(|row| (row[i], 1.0)));
    }
    b.build().unwrap()
}

#[test]
fn degenerate_assignment_problems_are_integral_and_optimal() {
    // Cost i * j: pairing the largest with the smallest is optimal, sum of i * (n - 1 - i).
    for n in [5, 20, 40] {
        let model = Arc::new(assignment(n, |i, j| (i * j) as f64));
        let best: usize = (0..n).map(|i| i * (n - 1 - i)).sum();
        for algorithm in [Algorithm::Dual, Algorithm::Primal] {
            let mut s = Solver::new(
                model.clone(),
                Settings {
                    algorithm,
                    ..Default::default()
                },
            );
            let outcome = s.solve();
            let solution = outcome.optimal().unwrap();
            assert!(
                (solution.objective - best as f64).abs() < 1e-6,
                "{}",
                solution.objective
            );
            assert!(
                solution
                    .x
                    .iter()
                    .all(|x| x.abs() < 1e-7 || (x - 1.0).abs() < 1e-7)
            );
            certificate::check(&model, &outcome, 1e-7).unwrap();
        }
    }
}

#[test]
fn an_optimum_cut_off_makes_a_verified_contradiction() {
    for name in [
        "afiro", "adlittle", "sc105", "share1b", "scagr7", "stocfor1", "bandm", "israel", "brandy",
        "scsd1",
    ] {
        let Some(model) = netlib(name) else { return };
        let costs: Vec<(ColId, f64)> = model
            .costs()
            .iter()
            .enumerate()
            .filter(|(_, c)| **c != 0.0)
            .map(|(j, &c)| (ColId(j as u32), c))
            .collect();
        let mut s = Solver::new(model, Settings::default());
        let best = s.solve().optimal().unwrap().objective - s.model().offset();
        s.add_rows(&[NewRow::new(..=best - 0.01 * best.abs(), costs.clone())])
            .unwrap();
        for _ in 0..2 {
            let outcome = s.solve();
            assert!(
                matches!(outcome, LpOutcome::Infeasible(_)),
                "{name}: {outcome:?}"
            );
            certificate::check(s.model(), &outcome, 1e-7).unwrap_or_else(|e| panic!("{name}: {e}"));
            // Also from scratch, in the second round with the primal.
            s = Solver::new(
                s.model().clone(),
                Settings {
                    algorithm: Algorithm::Primal,
                    ..Default::default()
                },
            );
        }
    }
}

#[test]
fn a_missing_bound_makes_a_verified_ray() {
    // A small case like Netlib's blend: profit grows along x = y without limit.
    let mut b = ModelBuilder::new(Sense::Maximise);
    let cols: Vec<ColId> = (0..30)
        .map(|k| b.add_col(if k == 0 { 1.0 } else { 0.0 }, 0.0..))
        .collect();
    for w in cols.windows(2) {
        b.add_row(..=1.0, [(w[0], 1.0), (w[1], -1.0)]);
    }
    let model = b.build().unwrap();
    for algorithm in [Algorithm::Dual, Algorithm::Primal] {
        let mut s = Solver::new(
            model.clone(),
            Settings {
                algorithm,
                ..Default::default()
            },
        );
        let outcome = s.solve();
        assert!(matches!(outcome, LpOutcome::Unbounded(_)), "{outcome:?}");
        certificate::check(&model, &outcome, 1e-7).unwrap();
    }
}

#[test]
fn badly_scaled_rows_and_columns_do_not_hurt() {
    let n = 12;
    let scale = |k: usize| 10f64.powi((k % 5) as i32 * 2 - 4);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let plain = assignment(n, |i, j| ((i * 7 + j * 3) % 11) as f64);
    for j in 0..plain.num_cols() {
        // x = scale * x'
        b.add_col(plain.costs()[j] * scale(j), 0.0..);
    }
    for i in 0..plain.num_rows() {
        let r = scale(i + 2);
        let row = remat_lp::RowId(i as u32);
        b.add_row(
            r,
            plain
                .row(row)
                .map(|(c, v)| (c, v * r * scale(c.index())))
                .collect::<Vec<_>>(),
        );
    }
    let bad = b.build().unwrap();
    let truth = Solver::new(plain, Settings::default())
        .solve()
        .optimal()
        .unwrap()
        .objective;
    for scaling in [true, false] {
        let outcome = Solver::new(
            bad.clone(),
            Settings {
                scaling,
                ..Default::default()
            },
        )
        .solve();
        let z = outcome.optimal().unwrap().objective;
        assert!(
            (z - truth).abs() < 1e-6 * (1.0 + truth.abs()),
            "{z} instead of {truth}"
        );
    }
}

#[test]
fn a_cutoff_ends_the_solve_with_a_bound_that_holds() {
    let mut cut = 0;
    for name in ["sctap1", "scsd6", "ship04s", "degen2", "fit1d"] {
        let Some(model) = netlib(name) else { return };
        let model = Arc::new(model);
        let best = Solver::new(model.clone(), Settings::default())
            .solve()
            .optimal()
            .unwrap()
            .objective;
        for share in [0.5, 0.1, 0.01] {
            let cutoff = best - share * best.abs();
            let mut s = Solver::new(
                model.clone(),
                Settings {
                    algorithm: Algorithm::Dual,
                    ..Default::default()
                },
            );
            s.set_limits(Limits {
                objective_cutoff: Some(cutoff),
                ..Default::default()
            });
            let outcome = s.solve();
            match &outcome {
                LpOutcome::CutoffReached { bound, .. } => {
                    assert!(
                        *bound >= cutoff && *bound <= best + 1e-6 * best.abs(),
                        "{name}: {bound} of {best}"
                    );
                    certificate::check(&model, &outcome, 1e-9).unwrap();
                    cut += 1;
                }
                LpOutcome::Optimal(s) => assert!((s.objective - best).abs() < 1e-6 * best.abs()),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
    assert!(cut > 0, "no cutoff was ever reached");
}

#[test]
fn limits_stop_and_the_next_call_goes_on() {
    let Some(model) = netlib("bandm") else { return };
    let model = Arc::new(model);
    let best = Solver::new(model.clone(), Settings::default())
        .solve()
        .optimal()
        .unwrap()
        .objective;
    let mut s = Solver::new(model.clone(), Settings::default());
    s.set_limits(Limits {
        iterations: Some(50),
        ..Default::default()
    });
    let mut calls = 0;
    let objective = loop {
        calls += 1;
        let before = s.stats().iterations();
        match s.solve() {
            LpOutcome::Limit(LimitKind::Iterations) => {
                assert!(s.stats().iterations() - before <= 51)
            }
            LpOutcome::Optimal(o) => break o.objective,
            other => panic!("{other:?}"),
        }
        assert!(calls < 200);
    };
    assert!(calls > 3);
    assert!((objective - best).abs() < 1e-8 * best.abs());

    let flag = Arc::new(AtomicBool::new(true));
    let mut s = Solver::new(model.clone(), Settings::default());
    s.set_limits(Limits {
        interrupt: Some(flag),
        ..Default::default()
    });
    assert_eq!(s.solve(), LpOutcome::Limit(LimitKind::Interrupt));
    let mut s = Solver::new(model, Settings::default());
    s.set_limits(Limits {
        ticks: Some(20_000),
        ..Default::default()
    });
    assert_eq!(s.solve(), LpOutcome::Limit(LimitKind::Ticks));
}

/// `min x + y` with `0 <= y <= 3`, a row with both columns, and `sides` for the row or for `x`.
fn with_sides(sides: Bounds, of_row: bool) -> Arc<Model> {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(1.0, if of_row { Bounds::NONNEGATIVE } else { sides });
    let y = b.add_col(1.0, 0.0..=3.0);
    let row = if of_row { sides } else { Bounds::NONNEGATIVE };
    b.add_row(row, [(x, 1.0), (y, 1.0)]);
    Arc::new(b.build().unwrap())
}

/// Solves with and without presolve; both must decide feasibility and prove it.
fn assert_judged(model: &Arc<Model>, feasible: bool, which: &str) {
    let presolve = presolve::PresolveSettings::default();
    for presolve in [None, Some(&presolve)] {
        let (settings, limits) = (Settings::default(), Limits::default());
        let outcome = remat_lp::solve(model, &settings, &limits, presolve).outcome;
        certificate::check(model, &outcome, 1e-6).unwrap();
        let found = matches!(outcome, LpOutcome::Optimal(_));
        assert_eq!(found, feasible, "{which}: {outcome:?}");
    }
}

#[test]
fn crossed_sides_are_infeasible_and_nearly_equal_ones_are_not() {
    for of_row in [false, true] {
        for (apart, feasible) in [(1e-9, true), (9e-8, true), (2e-7, false), (5.0, false)] {
            let model = with_sides(Bounds::new(2.0 + apart, 2.0), of_row);
            assert_eq!(model.crossed().is_none(), feasible);
            assert_judged(&model, feasible, &format!("{of_row} {apart:e}"));
            for text in [mps::to_string(&model), lp_format::to_string(&model)] {
                let read = if text.contains("ROWS") {
                    mps::parse(&text, mps::MpsFormat::Free).unwrap()
                } else {
                    lp_format::parse(&text, "t.lp").unwrap()
                };
                // A row with crossing sides becomes two rows in MPS.
                let outcome = Solver::new(read, Settings::default()).solve();
                let found = matches!(outcome, LpOutcome::Optimal(_));
                assert_eq!(found, feasible, "{text}");
            }
        }
    }
}

#[test]
fn rows_that_miss_each_other_by_little_are_judged_alike_with_presolve_and_without() {
    for (apart, feasible) in [(3e-9, true), (5e-8, true), (5e-7, false), (1e-4, false)] {
        for entries in 1..4 {
            let mut b = ModelBuilder::new(Sense::Minimise);
            let columns: Vec<ColId> = (0..entries).map(|_| b.add_col(1.0, 0.0..=9.0)).collect();
            b.add_row(..=3.0, columns.iter().map(|&c| (c, 1.0)));
            b.add_row(3.0 + apart.., columns.iter().map(|&c| (c, 1.0)));
            let model = Arc::new(b.build().unwrap());
            assert_judged(&model, feasible, &format!("{entries} {apart:e}"));
        }
    }
}

/// Rounding repeatedly destroys the feasibility of bases that phase 1 finds.
#[test]
fn phases_that_undo_each_other_come_to_an_end() {
    let text = "Minimize
 obj: 4 x - 4 z + 3 y
Subject To
 a: 2451.1 y - 0.000018777 x <= 64489.50550082257
 b: 7010.8 x + 0.000000011351 y - 68.189 z <= -4621.238075963657
 c: 0.00000007815 y - 9513.6 z <= 95.70798476401656
 d: 886.75 x - 5688.8 y - 0.096485 z >= -150258.20024654182
 e: 71074 x - 723.3 y + 0.000000024909 z <= -65895.15270378166
Bounds
 x free
 -inf <= y <= 27
 z >= -3
End
";
    for algorithm in [Algorithm::Dual, Algorithm::Primal] {
        let model = Arc::new(lp_format::parse(text, "t.lp").unwrap());
        let settings = Settings {
            algorithm,
            ..Settings::default()
        };
        let solved = remat_lp::solve(&model, &settings, &Limits::default(), None);
        let outcome = &solved.outcome;
        assert!(
            matches!(outcome, LpOutcome::Unbounded(_)),
            "{algorithm:?}: {outcome:?}"
        );
    }
}
