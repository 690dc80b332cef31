//! The solver against itself in all its ways of solving a program, and each against the
//! certificates.

use crate::support::{End, FAMILIES, Rng};
use remat_lp::presolve::PresolveSettings;
use remat_lp::{
    Algorithm, ColId, Limits, LpOutcome, Model, NewCol, NewRow, RowId, Settings, Solver,
    certificate,
};
use std::sync::Arc;

/// Ways to solve: method, scaling, perturbation, presolve.
const WAYS: [(Algorithm, bool, bool, bool); 7] = [
    (Algorithm::Dual, true, true, false),
    (Algorithm::Primal, true, true, false),
    (Algorithm::Dual, false, true, false),
    (Algorithm::Primal, false, false, false),
    (Algorithm::Dual, true, false, false),
    (Algorithm::Auto, true, true, true),
    (Algorithm::Primal, true, true, true),
];

fn solve(model: &Arc<Model>, way: (Algorithm, bool, bool, bool)) -> LpOutcome {
    let (algorithm, scaling, perturbation, presolve) = way;
    let settings = Settings {
        algorithm,
        scaling,
        perturbation,
        ..Settings::default()
    };
    let on = PresolveSettings::default();
    remat_lp::solve(
        model,
        &settings,
        &Limits::default(),
        presolve.then_some(&on),
    )
    .outcome
}

fn check(what: &str, model: &Arc<Model>, end: End, outcome: &LpOutcome) {
    if let Err(e) = certificate::check(model, outcome, 1e-6) {
        panic!("{what}: {e}");
    }
    match (end, outcome) {
        (End::Optimal(expected), LpOutcome::Optimal(s)) => {
            if let Some(expected) = expected {
                let off = (s.objective - expected).abs() / (1.0 + expected.abs());
                assert!(off < 1e-7, "{what}: {} instead of {expected}", s.objective);
            }
            let bound = certificate::safe_bound(model, &s.y);
            let over = (bound - s.objective)
                * match model.sense() {
                    remat_lp::Sense::Minimise => 1.0,
                    remat_lp::Sense::Maximise => -1.0,
                };
            assert!(
                over <= 1e-7 * (1.0 + s.objective.abs()),
                "{what}: bound {bound} beyond {}",
                s.objective
            );
        }
        (End::Infeasible, LpOutcome::Infeasible(_)) | (End::Unbounded, LpOutcome::Unbounded(_)) => {
        }
        _ => panic!("{what}: {end:?} expected, found {outcome:?}"),
    }
}

fn every_way(name: &str, seed: u64, size: usize, model: Model, end: End) {
    let model = Arc::new(model);
    let mut first: Option<f64> = None;
    for way in WAYS {
        let what = format!("{name}, seed {seed}, size {size}, {way:?}");
        let outcome = solve(&model, way);
        check(&what, &model, end, &outcome);
        if let Some(s) = outcome.optimal() {
            let expected = *first.get_or_insert(s.objective);
            let off = (s.objective - expected).abs() / (1.0 + expected.abs());
            assert!(
                off < 1e-7,
                "{what}: {} here, {expected} the first way",
                s.objective
            );
        }
    }
}

#[test]
fn small_programs_end_as_they_were_made_to() {
    for (name, make) in FAMILIES {
        for seed in 0..60 {
            let mut r = Rng::new(seed);
            let size = 2 + r.below(10);
            let (model, end) = make(&mut r, size);
            every_way(name, seed, size, model, end);
        }
    }
}

#[test]
fn medium_programs_end_as_they_were_made_to() {
    for (name, make) in FAMILIES {
        for seed in 100..106 {
            let mut r = Rng::new(seed);
            let size = 30 + r.below(60);
            let (model, end) = make(&mut r, size);
            every_way(name, seed, size, model, end);
        }
    }
}

/// Simulates branch and bound: bounds are tightened and relaxed, cuts and columns are added and
/// deleted. Warm must equal cold at every step.
fn dive(name: &str, model: Model, seed: u64, steps: usize) {
    let mut r = Rng::new(seed);
    let model = Arc::new(model);
    let settings = Settings {
        lazy_rows: Some(0).filter(|_| !seed.is_multiple_of(3)),
        ..Default::default()
    };
    let mut warm = Solver::new(model.clone(), settings);
    let mut changed: Vec<ColId> = Vec::new();
    let (rows, cols) = (model.num_rows(), model.num_cols());
    let mut last = warm.solve();
    for step in 0..steps {
        let now = warm.model().clone();
        match r.below(9) {
            0..=3 => {
                // Fix a column at an integer next to its value.
                let j = ColId(r.below(now.num_cols()) as u32);
                let b = now.col_bounds(j);
                let x = last.optimal().map_or(0.0, |s| s.value(j));
                let v = if r.once_in(2) { x.floor() } else { x.ceil() };
                if v >= b.lower && v <= b.upper {
                    warm.set_col_bounds(j, v).unwrap();
                    changed.push(j);
                }
            }
            4 | 5 => {
                // Return upwards, as if to another node.
                for j in changed.drain(..) {
                    if j.index() < cols {
                        warm.set_col_bounds(j, model.col_bounds(j)).unwrap();
                    }
                }
            }
            6 => {
                let mut entries: Vec<(ColId, f64)> = Vec::new();
                for _ in 0..4 {
                    let j = ColId(r.below(now.num_cols()) as u32);
                    if entries.iter().all(|e| e.0 != j) {
                        entries.push((j, r.int(1, 3)));
                    }
                }
                let at: f64 = entries
                    .iter()
                    .map(|&(j, v)| v * last.optimal().map_or(1.0, |s| s.value(j)))
                    .sum();
                warm.add_rows(&[NewRow::new(..=at + r.real(-0.3, 2.0), entries)])
                    .unwrap();
            }
            7 => {
                let entries: Vec<(RowId, f64)> = (0..rows)
                    .filter(|_| r.once_in(8))
                    .map(|i| (RowId(i as u32), 1.0))
                    .collect();
                let cost = r.int(-2, 30);
                warm.add_cols(&[NewCol::new(cost, 0.0..=2.0, entries)])
                    .unwrap();
            }
            _ => {
                let extra: Vec<RowId> = (rows..now.num_rows())
                    .filter(|_| r.once_in(2))
                    .map(|i| RowId(i as u32))
                    .collect();
                warm.delete_rows(&extra).unwrap();
                if r.once_in(3) {
                    let extra: Vec<ColId> =
                        (cols..now.num_cols()).map(|j| ColId(j as u32)).collect();
                    changed.retain(|j| j.index() < cols);
                    warm.delete_cols(&extra).unwrap();
                }
            }
        }
        last = warm.solve();
        let what = format!("{name}, seed {seed}, step {step}");
        if let Err(e) = certificate::check(warm.model(), &last, 1e-6) {
            panic!("{what}, warm: {e}");
        }
        let cold = Solver::new(warm.model().clone(), Settings::default()).solve();
        match (&last, &cold) {
            (LpOutcome::Optimal(a), LpOutcome::Optimal(b)) => {
                let off = (a.objective - b.objective).abs() / (1.0 + b.objective.abs());
                assert!(
                    off < 1e-7,
                    "{what}: {} warm, {} cold",
                    a.objective,
                    b.objective
                );
            }
            (LpOutcome::Infeasible(_), LpOutcome::Infeasible(_))
            | (LpOutcome::Unbounded(_), LpOutcome::Unbounded(_)) => {}
            _ => panic!("{what}: {last:?} warm, {cold:?} cold"),
        }
    }
}

#[test]
fn diving_warm_equals_cold() {
    for (name, make) in FAMILIES {
        for seed in 0..10 {
            let mut r = Rng::new(1000 + seed);
            let size = 8 + r.below(25);
            let (model, end) = make(&mut r, size);
            if matches!(end, End::Optimal(_)) {
                dive(name, model, seed, 120);
            }
        }
    }
}

#[test]
fn files_keep_the_program() {
    use remat_lp::{lp_format, mps};
    for (name, make) in FAMILIES {
        for seed in 0..10 {
            let (model, _) = make(&mut Rng::new(seed), 12);
            let by_lp = lp_format::parse(&lp_format::to_string(&model), name).unwrap();
            assert_eq!(by_lp.costs(), model.costs(), "{name}");
            assert_eq!(
                (by_lp.col_lower(), by_lp.col_upper()),
                (model.col_lower(), model.col_upper()),
                "{name}"
            );
            assert_eq!(
                (by_lp.row_lower(), by_lp.row_upper()),
                (model.row_lower(), model.row_upper()),
                "{name}"
            );
            assert!(
                by_lp.matrix_by_rows() == model.matrix_by_rows()
                    && by_lp.offset() == model.offset(),
                "{name}"
            );
            let by_mps = mps::parse(&mps::to_string(&model), mps::MpsFormat::Free).unwrap();
            assert_eq!(by_mps.costs(), model.costs(), "{name}");
            assert!(by_mps.matrix_by_rows() == model.matrix_by_rows(), "{name}");
        }
    }
}
