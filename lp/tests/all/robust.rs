//! Bases that are bad or already optimal, programs constructed to cycle, and interrupted solves.

use crate::support::{End, FAMILIES, Rng};
use remat_lp::{
    Algorithm, Basis, ColId, Limits, LpOutcome, Model, ModelBuilder, Sense, Settings, Solver,
    VarStatus, certificate, proven_bound,
};
use std::sync::Arc;

fn random_basis(r: &mut Rng, model: &Model) -> Basis {
    let mut pick = |basic_one_in: usize| match r.below(2 * basic_one_in) {
        0 | 1 => VarStatus::Basic,
        k if k % 2 == 0 => VarStatus::AtLower,
        _ => VarStatus::AtUpper,
    };
    Basis {
        cols: (0..model.num_cols()).map(|_| pick(3)).collect(),
        rows: (0..model.num_rows()).map(|_| pick(2)).collect(),
    }
}

#[test]
fn any_basis_leads_to_the_end_the_program_was_made_for() {
    for (name, make) in FAMILIES {
        for seed in 0..12 {
            let mut r = Rng::new(7000 + seed);
            let size = 5 + r.below(40);
            let (model, end) = make(&mut r, size);
            let model = Arc::new(model);
            for scaling in [true, false] {
                for algorithm in [Algorithm::Auto, Algorithm::Dual, Algorithm::Primal] {
                    let settings = Settings {
                        scaling,
                        algorithm,
                        ..Default::default()
                    };
                    let mut s = Solver::new(model.clone(), settings);
                    s.set_basis(&random_basis(&mut r, &model)).unwrap();
                    let outcome = s.solve();
                    let what = format!("{name}, seed {seed}, scaling {scaling}, {algorithm:?}");
                    if let Err(e) = certificate::check(&model, &outcome, 1e-6) {
                        panic!("{what}: {e}");
                    }
                    let right = match end {
                        End::Optimal(_) => outcome.optimal().is_some(),
                        End::Infeasible => matches!(outcome, LpOutcome::Infeasible(_)),
                        End::Unbounded => matches!(outcome, LpOutcome::Unbounded(_)),
                    };
                    assert!(right, "{what}: {outcome:?}");
                    if let (End::Optimal(Some(z)), Some(found)) = (end, outcome.optimal()) {
                        assert!(
                            (found.objective - z).abs() <= 1e-6 * (1.0 + z.abs()),
                            "{what}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn textbook_cycles_end_without_perturbation() {
    // Beale 1955, and Marshall & Suurballe 1969: Dantzig's rule cycles.
    let beale = (
        vec![-0.75, 150.0, -0.02, 6.0],
        vec![
            (vec![0.25, -60.0, -0.04, 9.0], 0.0),
            (vec![0.5, -90.0, -0.02, 3.0], 0.0),
            (vec![0.0, 0.0, 1.0, 0.0], 1.0),
        ],
        Some(-0.05),
    );
    let marshall = (
        vec![-10.0, 57.0, 9.0, 24.0],
        vec![
            (vec![0.5, -5.5, -2.5, 9.0], 0.0),
            (vec![0.5, -1.5, -0.5, 1.0], 0.0),
            (vec![1.0, 0.0, 0.0, 0.0], 1.0),
        ],
        Some(-1.0),
    );
    for (cost, rows, best) in [beale, marshall] {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x: Vec<ColId> = cost.iter().map(|&c| b.add_col(c, 0.0..)).collect();
        for (row, side) in rows {
            b.add_row(..=side, x.iter().copied().zip(row));
        }
        let model = Arc::new(b.build().unwrap());
        for algorithm in [Algorithm::Primal, Algorithm::Dual] {
            let settings = Settings {
                algorithm,
                perturbation: false,
                scaling: false,
                ..Default::default()
            };
            let outcome = Solver::new(model.clone(), settings).solve();
            certificate::check(&model, &outcome, 1e-9).unwrap();
            assert_eq!(
                outcome.optimal().map(|s| (s.objective * 1e9).round() / 1e9),
                best
            );
        }
    }
}

#[test]
fn an_optimal_basis_with_free_columns_at_upper_bounds_takes_no_pivot() {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let n = 200;
    let keep: Vec<ColId> = (0..n).map(|_| b.add_col(0.0, 0.0..=1.0)).collect();
    let make: Vec<ColId> = (0..n)
        .map(|i| b.add_col(1.0 + i as f64, 0.0..=1.0))
        .collect();
    for i in 0..n {
        b.add_row(1.0.., [(keep[i], 1.0), (make[i], 1.0)]);
    }
    let mut s = Solver::new(b.build().unwrap(), Settings::default());
    let mut basis = s.basis();
    for c in keep {
        basis.cols[c.index()] = VarStatus::AtUpper;
    }
    s.set_basis(&basis).unwrap();
    assert_eq!(s.solve().optimal().unwrap().objective, 0.0);
    assert_eq!(s.stats().iterations(), 0);
}

#[test]
fn unfinished_solves_know_a_bound_that_holds_and_rises() {
    for (name, make) in &FAMILIES[..7] {
        let mut r = Rng::new(17);
        let (model, _) = make(&mut r, 40);
        let model = Arc::new(model);
        let sign = if model.sense() == Sense::Minimise {
            1.0
        } else {
            -1.0
        };
        let best = Solver::new(model.clone(), Settings::default())
            .solve()
            .optimal()
            .unwrap()
            .objective;
        let slack = 1e-7 * (1.0 + best.abs());
        let mut s = Solver::new(
            model.clone(),
            Settings {
                algorithm: Algorithm::Dual,
                ..Default::default()
            },
        );
        s.set_limits(Limits {
            iterations: Some(5),
            ..Default::default()
        });
        let last = loop {
            let outcome = s.solve();
            let (bound, y) = s.dual_bound();
            assert!(sign * (best - bound) >= -slack, "{name}: {bound} of {best}");
            assert_eq!(bound, certificate::safe_bound(&model, &y));
            if outcome.optimal().is_some() {
                break outcome;
            }
        };
        let (bound, _) = proven_bound(&model, last.optimal().unwrap());
        assert!(
            sign * (best - bound) >= -slack && sign * (best - bound) <= 1e-5 * (1.0 + best.abs()),
            "{name}: {bound} of {best}"
        );
    }
}
