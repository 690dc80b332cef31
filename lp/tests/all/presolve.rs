//! Presolve over Netlib: the restored solution and basis are optimal for the original.

use crate::support::netlib_dir;
use remat_lp::presolve::{PresolveOutcome, PresolveSettings, Presolved};
use remat_lp::{LpOutcome, Model, Settings, Solution, Solver, VarStatus, certificate, mps};
use std::path::Path;
use std::sync::Arc;

fn problems(dir: &Path, largest: usize) -> Vec<(String, Arc<Model>)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(".mps.gz") {
            let model = mps::read(&path).unwrap();
            if model.num_nonzeros() <= largest {
                out.push((name.to_string(), Arc::new(model)));
            }
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// Checks that every nonbasic variable is at the bound of its status, and that every basic one has
/// reduced cost zero.
fn check_statuses(name: &str, model: &Model, s: &Solution) {
    let check = |what: &str, k: usize, status: VarStatus, v: f64, dual: f64, l: f64, u: f64| {
        let at = match status {
            VarStatus::Basic => {
                assert!(
                    dual.abs() < 1e-6,
                    "{name}: basic {what} {k} has dual {dual}"
                );
                return;
            }
            VarStatus::AtLower => l,
            VarStatus::AtUpper => u,
            VarStatus::Free => 0.0,
        };
        let off = (v - at).abs() / (1.0 + at.abs());
        assert!(
            off < 1e-6,
            "{name}: {what} {k} is {status:?} of [{l}, {u}] but has the value {v}"
        );
    };
    for (j, &status) in s.basis.cols.iter().enumerate() {
        check(
            "column",
            j,
            status,
            s.x[j],
            s.reduced_costs[j],
            model.col_lower()[j],
            model.col_upper()[j],
        );
    }
    for (i, &status) in s.basis.rows.iter().enumerate() {
        check(
            "row",
            i,
            status,
            s.row_activity[i],
            s.y[i],
            model.row_lower()[i],
            model.row_upper()[i],
        );
    }
}

/// Solves with presolve. Returns the objective and the number of pivots on the original from the
/// restored basis.
fn restored(name: &str, model: &Arc<Model>, presolve: &PresolveSettings) -> (f64, u64) {
    let PresolveOutcome::Reduced(p) = Presolved::new(model, presolve) else {
        panic!("{name}: feasible and bounded")
    };
    assert!(p.model().num_rows() <= model.num_rows() && p.model().num_cols() <= model.num_cols());
    let LpOutcome::Optimal(s) = Solver::new(p.model().clone(), Settings::default()).solve() else {
        panic!("{name}: the reduced program must be optimal")
    };
    let whole = p.postsolve(&s);
    assert_eq!(whole.basis.num_basic(), model.num_rows(), "{name}");
    check_statuses(name, model, &whole);
    let objective = whole.objective;
    let basis = whole.basis.clone();
    if let Err(e) = certificate::check(model, &LpOutcome::Optimal(whole), 1e-6) {
        panic!("{name}: {e}");
    }
    // Perturbed costs would move an optimal basis.
    let settings = Settings {
        perturbation: false,
        ..Settings::default()
    };
    let mut solver = Solver::new(model.clone(), settings);
    solver.set_basis(&basis).unwrap();
    let LpOutcome::Optimal(again) = solver.solve() else {
        panic!("{name}: from the restored basis")
    };
    let difference = (again.objective - objective).abs() / (1.0 + objective.abs());
    assert!(
        difference < 1e-7,
        "{name}: {objective} restored, {} solved again",
        again.objective
    );
    (objective, solver.stats().iterations())
}

#[test]
fn restored_bases_are_optimal() {
    let Some(dir) = netlib_dir() else { return };
    let mut pivots = 0;
    let mut worst = Vec::new();
    for (name, model) in problems(&dir, 50_000) {
        let (_, needed) = restored(&name, &model, &PresolveSettings::default());
        pivots += needed;
        if needed > 0 {
            worst.push((name, needed));
        }
    }
    println!("{pivots} pivots in all: {worst:?}");
    assert!(
        pivots <= 5,
        "{pivots} pivots from restored bases: {worst:?}"
    );
}

#[test]
fn each_reduction_alone_is_undone() {
    let Some(dir) = netlib_dir() else { return };
    let none = PresolveSettings::minimal();
    let alone = [
        PresolveSettings {
            singleton_rows: true,
            ..none.clone()
        },
        PresolveSettings {
            forcing: true,
            ..none.clone()
        },
        PresolveSettings {
            doubletons: true,
            ..none.clone()
        },
        PresolveSettings {
            slacks: true,
            ..none.clone()
        },
        PresolveSettings {
            substitution: true,
            ..none.clone()
        },
        PresolveSettings {
            dominated: true,
            ..none.clone()
        },
        PresolveSettings {
            duplicate_rows: true,
            ..none.clone()
        },
        PresolveSettings {
            duplicate_cols: true,
            ..none.clone()
        },
    ];
    for (name, model) in problems(&dir, 5_000) {
        let LpOutcome::Optimal(direct) = Solver::new(model.clone(), Settings::default()).solve()
        else {
            panic!("{name}")
        };
        for settings in &alone {
            let (objective, pivots) = restored(&name, &model, settings);
            let difference = (objective - direct.objective).abs() / (1.0 + objective.abs());
            assert!(
                difference < 1e-8,
                "{name} with {settings:?}: {objective} instead of {}",
                direct.objective
            );
            assert!(
                pivots <= 1,
                "{name} with {settings:?}: {pivots} pivots from the restored basis"
            );
        }
    }
}
