//! Every Netlib problem in `../shared`, solved to the reference objective from several starts, with
//! certificates.

use crate::support::netlib_dir;
use remat_lp::presolve::PresolveSettings;
use remat_lp::{
    Algorithm, Basis, Limits, LpOutcome, Model, Settings, Solver, VarStatus, certificate, mps,
    proven_bound,
};
use std::path::Path;
use std::sync::Arc;

/// Names and objectives of the reference table, smallest problems first.
fn reference(dir: &Path) -> Vec<(String, f64, usize)> {
    let text = std::fs::read_to_string(dir.join("reference.csv")).unwrap();
    let mut rows: Vec<_> = text
        .lines()
        .skip(1)
        .map(|l| {
            let f: Vec<&str> = l.split(',').collect();
            (
                f[0].to_string(),
                f[5].parse().unwrap(),
                f[3].parse().unwrap(),
            )
        })
        .collect();
    rows.sort_by_key(|r| r.2);
    rows
}

struct Lcg(u64);
impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// A random choice of as many basic variables as rows: often singular, which the solver must
/// repair.
fn random_basis(model: &Model, rng: &mut Lcg) -> Basis {
    let (m, n) = (model.num_rows(), model.num_cols());
    let mut pool: Vec<usize> = (0..m + n).collect();
    for k in 0..m {
        let swap = k + rng.below(m + n - k);
        pool.swap(k, swap);
    }
    let mut basis = Basis {
        cols: vec![VarStatus::AtLower; n],
        rows: vec![VarStatus::AtLower; m],
    };
    for status in basis.cols.iter_mut().chain(&mut basis.rows) {
        if rng.below(2) == 0 {
            *status = VarStatus::AtUpper;
        }
    }
    for &j in &pool[..m] {
        *if j < n {
            &mut basis.cols[j]
        } else {
            &mut basis.rows[j - n]
        } = VarStatus::Basic;
    }
    basis
}

fn solve_all(settings: &Settings, random_start: bool, largest: usize) {
    let Some(dir) = netlib_dir() else { return };
    let mut rng = Lcg(17);
    let mut count = 0;
    for (name, objective, nonzeros) in reference(&dir) {
        if nonzeros > largest {
            continue;
        }
        let model = mps::read(dir.join(format!("{name}.mps.gz"))).unwrap();
        let basis = random_start.then(|| random_basis(&model, &mut rng));
        let mut solver = Solver::new(model, settings.clone());
        if let Some(basis) = basis {
            solver.set_basis(&basis).unwrap();
        }
        let outcome = solver.solve();
        let LpOutcome::Optimal(solution) = &outcome else {
            panic!("{name}: {outcome:?}")
        };
        let error = (solution.objective - objective).abs() / objective.abs().max(1.0);
        assert!(
            error < 1e-8,
            "{name}: {} instead of {objective}",
            solution.objective
        );
        if let Err(e) = certificate::check(solver.model(), &outcome, 1e-6) {
            panic!("{name}: {e}");
        }
        let bound = certificate::safe_bound(solver.model(), &solution.y);
        assert!(
            bound <= objective + 1e-6 * objective.abs().max(1.0),
            "{name}: bound {bound} above {objective}"
        );
        assert_eq!(
            solution.basis.num_basic(),
            solver.model().num_rows(),
            "{name}"
        );
        count += 1;
    }
    assert!(count > 30);
}

#[test]
fn cold_with_scaling() {
    solve_all(&Settings::default(), false, usize::MAX);
}

#[test]
fn cold_without_scaling() {
    solve_all(
        &Settings {
            scaling: false,
            ..Default::default()
        },
        false,
        usize::MAX,
    );
}

#[test]
fn random_basis_with_scaling() {
    solve_all(&Settings::default(), true, 25_000);
}

#[test]
fn random_basis_without_scaling_or_perturbation() {
    solve_all(
        &Settings {
            scaling: false,
            perturbation: false,
            ..Default::default()
        },
        true,
        12_000,
    );
}

#[test]
fn primal_in_the_lead() {
    solve_all(
        &Settings {
            algorithm: Algorithm::Primal,
            ..Default::default()
        },
        false,
        12_000,
    );
}

#[test]
fn a_restored_optimal_basis_needs_no_pivots() {
    let Some(dir) = netlib_dir() else { return };
    for (name, objective, nonzeros) in reference(&dir) {
        if nonzeros > 6_000 {
            continue;
        }
        let model = Arc::new(mps::read(dir.join(format!("{name}.mps.gz"))).unwrap());
        let mut first = Solver::new(model.clone(), Settings::default());
        let basis = first.solve().optimal().unwrap().basis.clone();
        let mut second = Solver::new(
            model,
            Settings {
                perturbation: false,
                ..Default::default()
            },
        );
        second.set_basis(&basis).unwrap();
        let solution = second.solve().optimal().unwrap().clone();
        assert!(
            (solution.objective - objective).abs() <= 1e-8 * objective.abs().max(1.0),
            "{name}"
        );
        assert!(
            second.stats().iterations() <= 3,
            "{name}: {} pivots",
            second.stats().iterations()
        );
    }
}

#[test]
fn bounds_are_proven_in_spite_of_rounding() {
    let Some(dir) = netlib_dir() else { return };
    let mut count = 0;
    for (name, objective, _) in reference(&dir) {
        let model = Arc::new(mps::read(dir.join(format!("{name}.mps.gz"))).unwrap());
        for reductions in [None, Some(PresolveSettings::default())] {
            let (settings, limits) = (Settings::default(), Limits::default());
            let solved = remat_lp::solve(&model, &settings, &limits, reductions.as_ref());
            let (bound, y) = proven_bound(&model, solved.outcome.optimal().unwrap());
            assert_eq!(bound, certificate::exact_bound(&model, &y), "{name}");
            // The reference objective has ten digits.
            let short = (objective - bound) / objective.abs().max(1.0);
            assert!(
                short > -1e-9 && short < 1e-8,
                "{name}: {bound} of {objective}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 122);
}
